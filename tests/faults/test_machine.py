"""People, the wire, the clocks and the plug do what they like, in any order: nothing is lost, nothing is twice.

A state machine (hypothesis) chooses what happens next. filedrop goes a step at a time (support.stepping), by clocks
that move only when the machine says so; at any of its side effects something else may come in between. What must be
true after each step, and when all is well again, is said in support.ledger.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import sys
import tempfile
import threading
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, seed, settings
from hypothesis import strategies as st
from hypothesis.database import DirectoryBasedExampleDatabase
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from support.documents import invoice
from support.faults import cut_after, failed_after, instead, reset_before, unreadable_after
from support.ledger import Ledger, document, number_of
from support.people import People
from support.plug import Disk, Tap
from support.rights import as_anyone
from support.stepping import RULES, Clock, Life
from support.world import PASSWORD, World

from filedrop.errors import FiledropError

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.faults import Exchange, Fault, Request

SEED = "FILEDROP_TEST_SEED"  # the environment variable that repeats a run
FULL = os.environ.get("FILEDROP_MATRIX") == "full"
SHELF = Path("/dev/shm") if Path("/dev/shm").is_dir() else None  # noqa: S108 - worlds that are thrown away: in memory, where there is some

DOUBT = 900.0  # seconds, by RULES
LONGEST_REST = 12 * 3600.0  # seconds until everything must have settled: some pauses grow to an hour
NAMES = ("invoice.xml", "other.xml")
KNOWN_REASON = instead(400, "Wrong recipientId value: 0192:810418052", ("Content-Type", "text/plain;charset=UTF-8"))
A_DATABASE = "could not execute statement: insert into message (document_id) values (?)"
WEB_PAGE = instead(200, "<html>Maintenance</html>", ("Content-Type", "text/html"))


def cut_before(exchange: Exchange) -> None:
    """The request was read, and reached nobody."""
    exchange.cut()


def unexplained_after(exchange: Exchange) -> None:
    """The access point has done what was asked, and a database fault comes back as 400."""
    exchange.arrive()
    exchange.answer(400, A_DATABASE, [("Content-Type", "text/plain;charset=UTF-8")])


def in_another_way(exchange: Exchange) -> None:
    """The access point writes its times as another of its machines would."""
    answer = exchange.arrive()
    body = answer.body.replace(b"+00:00</received>", b"Z</received>").replace(b"+01:00</received>", b"+0100</received>")
    exchange.answer(answer.status, body)


UPLOADS: dict[str, tuple[str, Fault | None]] = {
    "reset": ("unclear", reset_before),
    "cut before": ("unclear", cut_before),
    "cut after": ("unclear", cut_after),
    "500 before": ("unclear", instead(500)),
    "500 after": ("unclear", failed_after),
    "201 unreadable": ("unclear", unreadable_after),
    "201 out of nothing": ("unclear", instead(201, "<a>")),
    "late": ("unclear", None),
    "400 database": ("unexplained", instead(400, A_DATABASE)),
    "400 database after": ("unexplained", unexplained_after),
    "400 known": ("refused", KNOWN_REASON),
    "413": ("refused", instead(413, "Too large")),
    "401": ("refused", instead(401, "Not your participant")),
    "429": ("never", instead(429)),
    "503 for a while": ("never", instead(503, "", ("Retry-After", "600"))),
    "404": ("never", instead(404)),
}
QUESTIONS: dict[str, Fault] = {
    "reset": reset_before, "cut": cut_after, "500": failed_after, "503": instead(503), "401": instead(401),
    "404": instead(404), "a web page": WEB_PAGE, "204": instead(204), "other times": in_another_way,
}  # fmt: skip
ASKED = ("", "GET /messages", "GET /outbox", "GET /inbox", "GET /statistics", "POST /inbox")
TAKING = ("GET /inbox", "GET /messages/", "POST /inbox")

numbers = st.integers(0, 3)
kinds = st.sampled_from(sorted(UPLOADS))
nths = st.integers(1, 25)
lengths = st.sampled_from([0.1, 5.0, 400.0, 2000.0])  # seconds that filedrop runs
some = st.integers(0, 7)
names = st.sampled_from(NAMES)
places = st.sampled_from(["", "sending", "sent", "failed", "desk"])


class Killed(BaseException):
    """It was killed; nothing more that it does has any effect."""


class Machine(RuleBasedStateMachine):
    """One world, and whatever may happen in it."""

    def __init__(self) -> None:
        super().__init__()
        self.base = Path(tempfile.mkdtemp(dir=SHELF))
        self.clock = Clock()
        self.life: Life | None = None
        self.late: list[Request] = []
        self.tap = Tap(self.before, thread=threading.get_ident())
        self.comes: tuple[int, Callable[[], object]] | None = None
        self.dead = False
        self.patch = pytest.MonkeyPatch()

    @initialize(quirks=st.booleans(), refuses=st.booleans(), slow=st.booleans(), many=st.booleans())
    def begin(self, *, quirks: bool, refuses: bool, slow: bool, many: bool) -> None:
        if many:  # documents and messages are taken together, as if very many waited
            self.patch.setattr("filedrop.turns.MANY", 0.001)
        self.world = World(
            self.base, quirks=quirks, read_timeout="60s", deliver_after=90.0 if slow else 0.0, inbound={"poll": "5m"},
            outbound=RULES | {"duplicates": "refuse" if refuses else "allow"}, clock=self.clock.true,
        )  # fmt: skip
        self.people = People(self.world)
        self.ledger = Ledger(self.world, self.people, refuses)
        self.go_on(5.0)

    # People

    @rule(name=names, number=numbers, told=st.booleans())
    def drop(self, name: str, number: int, *, told: bool) -> None:
        self.people.drop(name, number, document(number))
        self.tell(name, told=told)

    @rule(name=names, number=numbers, at=st.sampled_from([0, 700, -3]))
    def begin_writing(self, name: str, number: int, at: int) -> None:
        content = document(number)
        self.people.begin(name, number, content, at % len(content))

    @precondition(lambda self: self.people.writers)
    @rule()
    def write_on(self) -> None:
        self.people.write_on()

    @precondition(lambda self: self.people.papers)
    @rule(which=some, where=places, name=st.sampled_from(["", *NAMES]), beside=st.booleans(), told=st.booleans())
    def move(self, which: int, where: str, name: str, *, beside: bool, told: bool) -> None:
        moved = self.people.move(which, where, name, beside=beside)
        if moved and where == "":
            self.tell(moved, told=told)

    @precondition(lambda self: self.people.papers)
    @rule(which=some)
    def remove(self, which: int) -> None:
        self.people.remove(which)

    @precondition(lambda self: self.people.papers)
    @rule(which=some, where=st.sampled_from([None, "", "sent"]))
    def meddle(self, which: int, where: str | None) -> None:
        self.people.meddle(which, where)

    @precondition(lambda self: self.people.papers)
    @rule(which=some, readable=st.booleans())
    def rights(self, which: int, *, readable: bool) -> None:
        self.people.rights(which, readable=readable)

    @precondition(lambda self: self.world.delivered())
    @rule(which=some)
    def take(self, which: int) -> None:
        self.people.take(which)

    @rule(on=st.booleans())
    def hold(self, *, on: bool) -> None:
        self.people.hold(on=on)

    def tell(self, name: str, *, told: bool) -> None:
        """What the system may tell of a file in `outbound/`: that it was closed, or moved in."""
        if self.life is not None and told:
            self.life.lane.closed.add(name)
            self.life.lane.look_now()

    # The wire

    @rule(number=some)
    def receive(self, number: int) -> None:
        self.world.receive(invoice(f"in-{len(self.world.received)}-{number}"))

    @rule(kinds=st.lists(kinds, min_size=1, max_size=3))
    def uploads_go_wrong(self, kinds: list[str]) -> None:
        self.world.front.next("POST /outbox", *[self.upload(kind) for kind in kinds])

    @rule(name=names, number=numbers, kinds=st.lists(kinds, max_size=2), seconds=lengths)
    def a_document_goes(self, name: str, number: int, kinds: list[str], seconds: float) -> None:
        self.uploads_go_wrong(kinds)
        self.alive()
        self.drop(name, number, told=True)
        self.go_on(seconds)

    @rule(
        faults=st.lists(st.sampled_from(sorted(QUESTIONS)), max_size=2), line=st.sampled_from(TAKING), seconds=lengths
    )
    def a_message_comes(self, faults: list[str], line: str, seconds: float) -> None:
        self.receive(0)
        self.world.front.next(line, *[QUESTIONS[kind] for kind in faults])
        self.go_on(seconds)

    @rule(kind=st.sampled_from(sorted(QUESTIONS)), line=st.sampled_from(ASKED), times=st.integers(1, 3))
    def questions_go_wrong(self, kind: str, line: str, times: int) -> None:
        fault = QUESTIONS[kind]
        self.world.front.next(
            lambda request: request.line.startswith(line) and request.line != "POST /outbox", *[fault] * times
        )

    @rule(kind=st.sampled_from(sorted(QUESTIONS)))
    def everything_goes_wrong(self, kind: str) -> None:
        self.world.front.always(lambda request: request.line != "POST /outbox", QUESTIONS[kind])
        self.world.front.always("POST /outbox", self.upload("404"))

    @rule()
    def the_wire_is_well(self) -> None:
        self.world.front.heal()

    @rule(right=st.booleans())
    def password(self, *, right: bool) -> None:
        self.world.password_file.write_text(PASSWORD if right else "wrong")

    @precondition(lambda self: self.late)
    @rule()
    def what_was_late_arrives(self) -> None:
        while self.late:
            self.world.front.ask(self.late.pop(0))

    def upload(self, kind: str) -> Fault:
        """An upload goes wrong like this, and the ledger hears of it."""
        means, fault = UPLOADS[kind]

        def heard(exchange: Exchange) -> None:
            self.ledger.heard[number_of(exchange.request.body)][means] += 1
            if fault is None:
                self.late.append(exchange.request)
                self.clock.later(DOUBT - 60, self.what_was_late_arrives)  # at the latest: the one limit (contract 6)
                exchange.cut()
            else:
                fault(exchange)

        return heard

    # Time

    @rule(seconds=st.sampled_from([0.5, 1.5, 2.5]))
    def a_moment_passes(self, seconds: float) -> None:
        self.clock.pass_on(seconds)

    @rule(seconds=st.sampled_from([30.0, 130.0, 950.0, 4000.0]))
    def time_passes(self, seconds: float) -> None:
        if self.life is not None:
            self.driven(self.life.do_all)  # no job takes so long
        self.clock.pass_on(seconds)

    @rule(hours=st.sampled_from([0, -72, -1, 1, 720, 175_000]))
    def the_clock_is_set(self, hours: int) -> None:
        self.clock.skew = timedelta(hours=hours)

    # filedrop

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
        self.in_between(nth, seconds, lambda: self.people.move(which, where, name, beside=False))

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

    @precondition(lambda self: self.life is not None)
    @rule(on=st.booleans())
    def the_journal_cannot_be_written(self, *, on: bool) -> None:
        if self.life is not None:
            self.life.journal._writer.execute(f"PRAGMA query_only={int(on)}")

    def alive(self) -> Life:
        """The filedrop that runs; it is started where none does."""
        if self.life is None:
            self.life = Life(self.world, self.clock)
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
            if self.life is not None:  # else it couldn't start, and said why
                raise
        except Killed:
            assert self.life is None or self.dead
            if self.life is not None:
                self.life.drop()
                self.life = None
            self.ledger.ended += 1
        finally:
            self.dead = False
            self.tap.take_out()

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
        problems = list(self.ledger.broken())
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
            if hasattr(self, "world"):
                self.world.__exit__()
            for writer in self.people.writers if hasattr(self, "people") else ():
                writer.file.close()
            shutil.rmtree(self.base)

    def everything_settles(self) -> None:
        """When the world is well again, everything comes to where it belongs, and stays there."""
        self.the_wire_is_well()
        self.what_was_late_arrives()
        self.password(right=True)
        self.people.hold(on=False)
        while self.people.writers:
            self.people.write_on()
        self.people.all_rights()
        self.the_journal_cannot_be_written(on=False)
        until = self.clock.passed + LONGEST_REST
        while (problems := list(self.ledger.unsettled())) and self.clock.passed < until:
            self.go_on(120)
            self.nothing_is_broken()
        assert not problems, "\n".join([*problems, str(self.world)])


BOUNDED = settings(
    max_examples=10_000 if FULL else 150,
    stateful_step_count=60 if FULL else 40,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    database=DirectoryBasedExampleDatabase(Path(tempfile.gettempdir()) / "filedrop-examples"),
)


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_machine() -> None:
    """Whatever happens, in whatever order: no document is lost or sent twice, no message is lost or delivered twice."""
    number = int(os.environ.get(SEED) or secrets.randbits(32))
    print(f"{SEED}={number}")  # noqa: T201 - pytest shows it when the test fails
    run_state_machine_as_test(seed(number)(Machine), settings=BOUNDED)
