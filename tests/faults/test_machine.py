"""People, the wire, the clocks, other filedrops and the plug do what they like, in any order: nothing is lost or twice.

A state machine (hypothesis) chooses what happens next. filedrop goes a step at a time (support.stepping), by clocks
that move only when the machine says so; at any of its side effects something else may come in between. What must be
true after each step, and when everything is working again, is said in support.ledger.

No story has every misfortune in it: swarm testing (Groce and others, 2012). hypothesis draws for each story which rules
it has (`RuleStrategy` in hypothesis/stateful.py, by `FeatureFlags`); of the kinds of one rule's argument, those of the
wire, the story draws some itself (`Story.begin`).
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.database import DirectoryBasedExampleDatabase
from hypothesis.internal.conjecture.providers import AVAILABLE_PROVIDERS, HypothesisProvider
from hypothesis.stateful import precondition, rule, run_state_machine_as_test
from support.known import document
from support.matrix import draw_seed, is_full
from support.plug import Disk
from support.several import Several
from support.story import lengths, nths
from support.surroundings import NAMES, names, numbers, places, some, uploads
from support.unwritable import refuse_writes

FULL = is_full()
STORIES = 10_000


class Machine(Several):
    """Whatever may happen to the filedrop that serves the folders."""

    @rule()
    def turn(self) -> None:
        self.driven(lambda: self.alive().turn())

    @precondition(lambda self: self.life is not None and self.life.jobs)
    @rule(index=some)
    def do(self, index: int) -> None:
        self.driven(lambda: self.alive().do(index % len(self.alive().jobs)))

    @rule(seconds=lengths)
    def go_on(self, seconds: float) -> None:
        self.driven(lambda: self.alive().go_on(seconds))

    @precondition(lambda self: self.life is not None)
    @rule()
    def stop(self) -> None:
        if self.life is not None:
            self.driven(self.life.stop)
            self.life = None

    @precondition(lambda self: self.life is not None)
    @rule()
    def crash(self) -> None:
        if self.life is not None:
            self.life.drop()
            self.life = None
            self.ledger.ended += 1

    @rule(nth=nths, seconds=lengths)
    def killed_in_between(self, nth: int, seconds: float) -> None:
        self.in_between(nth, seconds, self.kill)

    @rule(name=names, number=numbers, kinds=st.lists(uploads, max_size=1), nth=nths)
    def killed_while_a_document_goes(self, name: str, number: int, kinds: list[str], nth: int) -> None:
        """In its own rule, since chance alone seldom has one killed between a request and the row of its answer."""
        self.uploads_go_wrong(kinds)
        self.alive()
        self.drop(name, number, told=True)
        self.in_between(nth, 5.0, self.kill)

    @rule(nth=nths, seconds=lengths)
    def power_cut(self, nth: int, seconds: float) -> None:
        disk = self.tap.disk = Disk(self.base / "lost")

        def cut() -> None:
            disk.forget()
            self.kill()

        self.in_between(nth, seconds, cut)
        self.tap.disk = None
        shutil.rmtree(self.base / "lost", ignore_errors=True)

    @rule(nth=nths, seconds=lengths, number=st.sampled_from([errno.ENOSPC, errno.EIO]))
    def the_disk_fails_in_between(self, nth: int, seconds: float, number: int) -> None:
        def fail() -> None:
            if self.tap.steps[-1] in ("create", "fsync", "place", "rename", "replace", "mkdir"):
                raise OSError(number, os.strerror(number))

        self.in_between(nth, seconds, fail)

    @precondition(lambda self: self.people.papers)
    @rule(nth=nths, seconds=lengths, which=some, where=places, name=st.sampled_from(["", *NAMES]))
    def a_person_moves_in_between(self, nth: int, seconds: float, which: int, where: str, name: str) -> None:
        def move() -> None:
            self.people.move(which, where, name, beside=False)
            self.ledger.people_moved()  # now: filedrop goes on, and may learn of it only where it lies then

        self.in_between(nth, seconds, move)

    @rule(nth=nths, seconds=lengths, name=names, number=numbers)
    def a_drop_in_between(self, nth: int, seconds: float, name: str, number: int) -> None:
        self.in_between(nth, seconds, lambda: self.people.drop(name, number, document(number)))

    @precondition(lambda self: self.people.writers)
    @rule(nth=nths, seconds=lengths)
    def a_writer_in_between(self, nth: int, seconds: float) -> None:
        self.in_between(nth, seconds, self.people.write_on)

    @rule(nth=nths, seconds=lengths, index=some, take_turn=st.booleans())
    def another_thread_in_between(self, nth: int, seconds: float, index: int, *, take_turn: bool) -> None:
        def other() -> None:
            life = self.life
            if life is None or not life.free():
                return
            if take_turn:
                life.turn()
            if life.jobs:
                life.do(index % len(life.jobs))

        self.in_between(nth, seconds, other)

    @rule(status=st.sampled_from([0, 7]), hangs=st.booleans())
    def the_validator_fails(self, status: int, *, hangs: bool) -> None:
        self.validator_says(status, hangs=hangs)

    @precondition(lambda self: self.life is not None)
    @rule(on=st.booleans())
    def the_journal_cannot_be_written(self, *, on: bool) -> None:
        if self.life is not None:
            refuse_writes(self.life.journal, refuses=on)


# hypothesis's own backend makes five of six stories by copying parts of the one before: values that are equal by that
# are equal often enough here, and the others cost as much as a new story. Any other name draws each anew.
AVAILABLE_PROVIDERS["each anew"] = HypothesisProvider
BOUNDED = settings(
    backend="each anew",
    phases=[Phase.generate],
    max_examples=STORIES if FULL else 30,
    stateful_step_count=60 if FULL else 40,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    database=DirectoryBasedExampleDatabase(Path(tempfile.gettempdir()) / "filedrop-examples"),
)


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.tries(BOUNDED.max_examples, STORIES)
def test_machine() -> None:
    """Whatever happens, in whatever order: no document is lost or sent twice, no message is lost or delivered twice."""
    run_state_machine_as_test(seed(draw_seed())(Machine), settings=BOUNDED)
