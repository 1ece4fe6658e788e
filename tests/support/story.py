"""A story: one world, one filedrop that goes a step at a time, and what comes in between.

What must be true after each step, and when everything is working again, is said in support.ledger.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
import threading
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from support.commands import ask
from support.known import document
from support.ledger import Ledger
from support.misfortunes import QUESTIONS, UPLOADS
from support.neighbour import Neighbour
from support.people import People
from support.plug import Tap
from support.promises import meaning
from support.reused import Shelf
from support.rights import as_anyone
from support.stepping import RULES, Clock, Life
from support.unwritable import refuse_writes
from support.world import PASSWORD, World
from werkzeug.http import http_date

from filedrop.accesspoint import breaker
from filedrop.errors import FiledropError

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.faults import Request

SHELF = Path("/dev/shm") if Path("/dev/shm").is_dir() else None  # noqa: S108 - worlds that are thrown away: in memory, where there is some
ACCESS_POINTS = Shelf(SHELF)
LONGEST_REST = 12 * 3600.0  # seconds until everything must have settled: some pauses grow to an hour
SECRET = 4  # the number of a document that lies elsewhere

dates = st.sampled_from([None, 0, -3600, -8, 8, 3600])  # seconds by which `Date` is ahead of what messages say
nths = st.integers(1, 25)
lengths = st.sampled_from([0.1, 5.0, 400.0, 2000.0])  # seconds that filedrop runs


class Killed(BaseException):
    """It was killed; nothing more that it does has any effect."""


class Story(RuleBasedStateMachine):
    """One world, and the filedrop that serves its folders, where it runs: `life`.

    `uploads` and `questions`: the kinds of misfortune of the wire that this story knows.
    """

    def __init__(self) -> None:
        super().__init__()
        self.base = Path(tempfile.mkdtemp(prefix="filedrop-story-", dir=SHELF))
        self.clock = Clock()
        self.validator = self.base / "validator"
        self.life: Life | None = None
        self.validator_says(0)
        self.late: list[Request] = []
        self.tap = Tap(self.before, thread=threading.get_ident())
        self.comes: tuple[int, Callable[[], object]] | None = None
        self.dead = False
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(breaker, "OFTEN", 60.0)  # a refused login's turns are else two thirds of all

    @initialize(
        quirks=st.booleans(), validates=st.booleans(), refuses=st.booleans(), slow=st.booleans(), date=dates,
        uploads=st.sets(st.sampled_from(sorted(UPLOADS)), min_size=1),
        questions=st.sets(st.sampled_from(sorted(QUESTIONS)), min_size=1),
    )  # fmt: skip
    def begin(
        self,
        *,
        quirks: bool,
        validates: bool,
        refuses: bool,
        slow: bool,
        date: int | None,
        uploads: set[str],
        questions: set[str],
    ) -> None:
        self.uploads, self.questions = sorted(uploads), sorted(questions)
        self.world = World(
            self.base, quirks=quirks, read_timeout="60s", deliver_after=90.0 if slow else 0.0, inbound={"poll": "5m"},
            outbound=RULES | {
                "duplicates": "refuse" if refuses else "allow", "validate": "refuse" if validates else '"off"',
            },
            more=f"validation: {{command: [/bin/sh, {self.validator}], timeout: 10m}}", clock=self.clock.true,
            sandbox=ACCESS_POINTS.take,
        )  # fmt: skip
        self.people = People(self.world)
        self.ledger = Ledger(self.world, self.people, refuses)
        self.neighbour = Neighbour(self.world, document(SECRET))
        self.date_is(date)
        self.driven(lambda: self.alive().go_on(5.0))

    def date_is(self, date: int | None) -> None:
        """The access point's `Date` is so many seconds ahead from now on; None: there is none."""

        def shown() -> str | None:
            return None if date is None else http_date(self.clock.true() + timedelta(seconds=date))

        self.world.front.date = shown

    def validator_says(self, status: int, *, hangs: bool = False) -> None:
        """From now on the validator ends with this status, or not at all."""
        draft = self.base / "validator's draft"
        draft.write_text(f"exit {status}\n")
        draft.replace(self.validator)
        self.validator_hangs = hangs
        if self.life is not None:
            self.life.validator_hangs = hangs

    @precondition(lambda self: self.late)
    @rule()
    def what_was_late_arrives(self) -> None:
        while self.late:
            self.world.front.ask(self.late.pop(0))

    def alive(self) -> Life:
        """The filedrop that runs; it is started where none does."""
        if self.life is None:
            self.life = Life(self.world, self.clock)
            self.life.validator_hangs = self.validator_hangs
        return self.life

    def in_between(self, nth: int, seconds: float, comes: Callable[[], object]) -> None:
        """While filedrop runs so long, something comes in between: before its n-th side effect."""
        self.comes = (len(self.tap.steps) + nth, comes)
        self.driven(lambda: self.alive().go_on(seconds))
        self.comes = None

    def driven(self, move: Callable[[], object]) -> None:
        """A move of filedrop's, whose side effects are watched, and which may kill it."""
        self.tap.put_in()
        try:
            with as_anyone():
                move()
        except FiledropError:
            if self.life is not None and not self.dead:  # else it couldn't start, and said why
                raise
        except Killed:
            assert self.dead
        finally:
            self.tap.take_out()  # who is dead lets go of what it holds, and doesn't touch anything any more
            if self.dead:  # told by this: another error may have come in the place of Killed
                if self.life is not None:
                    self.life.drop()
                    self.life = None
                self.ledger.ended += 1
                self.dead = False

    def before(self, _what: str) -> None:
        """A side effect comes: has something been waiting for it?"""
        if self.dead:
            raise Killed
        if self.comes is not None and len(self.tap.steps) >= self.comes[0]:
            (_, comes), self.comes = self.comes, None
            comes()

    def kill(self) -> None:
        """It is the end of filedrop: nothing that it still does has any effect."""
        self.dead = True
        raise Killed

    # What must be true

    @invariant()
    def nothing_is_broken(self) -> None:
        problems = [*self.ledger.broken(), *self.neighbour.broken()]
        assert not problems, "\n".join([*problems, str(self.world)])

    def teardown(self) -> None:
        try:
            if hasattr(self, "world") and sys.exc_info()[0] is None:
                self.everything_settles()
        finally:
            self.patch.undo()
            self.tap.take_out()
            if self.life is not None:
                self.life.drop()
            if hasattr(self, "ledger"):
                self.ledger.close()
            if hasattr(self, "world"):
                self.world.__exit__()
                ACCESS_POINTS.put_back(self.world.servers)
            for writer in self.people.writers if hasattr(self, "people") else ():
                writer.file.close()
            shutil.rmtree(self.base)

    def everything_settles(self) -> None:
        """When the world is well again, everything comes to where it belongs, and stays there."""
        self.neighbour.withdraw()
        self.world.front.heal()
        self.what_was_late_arrives()
        self.validator_says(0)
        self.world.password_file.write_text(PASSWORD)
        self.people.hold(on=False)
        while self.people.writers:
            self.people.write_on()
        self.people.all_rights()
        if self.life is not None:
            refuse_writes(self.life.journal, refuses=False)
        until = self.clock.passed + LONGEST_REST
        while (problems := list(self.ledger.unsettled())) and self.clock.passed < until:
            self.driven(lambda: self.alive().go_on(120))
            self.a_person_decides()
            self.nothing_is_broken()
        assert not problems, "\n".join([*problems, str(self.world)])

    def a_person_decides(self) -> None:
        """What only a person can tell, as where the clocks disagree, is said by one who has looked there."""
        for note in (self.world.outbound / "sending").glob("*.why.txt"):
            question = " ".join(note.read_text().split())
            for document_id in re.findall(r"filedrop resolve (\w+) --sent", question):
                with suppress(FileNotFoundError, KeyError, ValueError):  # none of it may be there any more
                    self.a_person_says_of(document_id)

    def a_person_says_of(self, document_id: str) -> None:
        """The document is one of the messages that hold the same; where all are other documents', it isn't there."""
        store, means = self.world.sandbox.store, meaning(self.ledger.content_of(document_id))
        like = [message.msg_no for message in store.sent("acme") if meaning(store.content(message.msg_no)) == means]
        for number in like:
            answer = ask(self.world, "resolve", document_id, "--sent", str(number))
            if "already belongs to another document" not in answer.says:
                return
        if like:
            ask(self.world, "resolve", document_id, "--send-again")
