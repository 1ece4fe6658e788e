"""A filedrop that goes a step at a time, in the thread of whoever asks, by clocks that move only when they are told to.

    clock = Clock()
    life = Life(world, clock)
    life.turn()              # its loops ask what is due
    life.do(0)               # one of the jobs that may be done now, as the thread whose job it is would
    clock.pass_on(60)

Nothing of filedrop is replaced but what is handed to it anyway: its clocks, and its threads. So whatever can happen
between two steps can happen in any order, and again in the same one.
"""

from __future__ import annotations

import math
import threading
import time
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from support.backoffs import ONCE
from support.documents import invoice

from filedrop import config
from filedrop.daemon.daemon import Daemon
from filedrop.outbound.mailbox import Closed, Touched, Written
from filedrop.outbound.pipeline import OutboundPipeline
from filedrop.process.clock import Clockwork
from filedrop.process.lock import locked_state
from filedrop.process.pool import Pool, Task

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from support.faults import Fault
    from support.world import World

    from filedrop.process.folder_worker import Served


# The times of the configuration's defaults, since they cost nothing here: but for fewer looks while nothing happens.
RULES = {"settle": "2s", "rescan": "2m", "doubt": "15m", "track": "1m", "retry": "{first: 5s, longest: 15m}"}
# Long ago, so that every file's change lies in its future and tells nothing; what our clock saw of it does.
BEGINNING = datetime(2020, 6, 1, 12, 0, tzinfo=UTC)
AFTER_FAILURE = 2.0  # seconds until a loop whose turn failed takes the next, or the recorder tries again
FEW = 10  # turns that do nothing and want the next at once: likewise
MANY = 100_000  # jobs after which it goes round and round
TICK = 0.002  # seconds that pass at each look at a clock, so that no two moments are one


class Clock:
    """The time of a world. filedrop's own wall clock is wrong by `skew`; its computer has `slept` for so long."""

    def __init__(self) -> None:
        self.passed = 0.0
        self.slept = timedelta(0)
        self.skew = timedelta(0)
        self._later: list[tuple[float, Callable[[], object]]] = []

    def later(self, seconds: float, what: Callable[[], object]) -> None:
        """Let this happen when so many seconds have passed."""
        self._later.append((self.passed + seconds, what))

    def pass_on(self, seconds: float) -> None:
        """Let time go by, and what was to happen meanwhile happen."""
        until = self.passed + seconds
        self._later.sort(key=lambda one: one[0])
        while self._later and self._later[0][0] <= until:
            self.passed, what = self._later.pop(0)
            what()
        self.passed = max(self.passed, until)

    def true(self) -> datetime:
        """The access point's clock."""
        return BEGINNING + timedelta(seconds=self.passed) + self.slept

    def now(self) -> datetime:
        """What filedrop's wall clock says."""
        self.passed += TICK
        return (self.true() + self.skew).astimezone()

    def steady(self) -> float:
        """What filedrop's monotonic clock says."""
        return self.passed


class Hands(Pool):
    """A pool without threads: tasks wait until somebody does them, in whatever order."""

    def __init__(
        self,
        workers: int,
        *,
        name: str,
        attempt: Callable[[str, Callable[[], object]], object],
        each: int | None = None,
        on_lull: Callable[[], object] = lambda: None,
    ) -> None:
        super().__init__(workers, name=name, attempt=attempt, each=each, on_lull=on_lull)
        self.tasks: list[Task] = []
        self._doing = 0

    def submit(self, task: Task) -> None:
        self.tasks.append(task)

    def is_idle(self) -> bool:
        return not self.tasks and not self._doing

    def do(self, index: int) -> None:
        """Do one of the tasks that wait."""
        task = self.tasks.pop(index)
        self._doing += 1
        try:
            self._attempt(self._name, task.run)
        finally:
            self._doing -= 1

    def close(self, patience: float = 0.0) -> None:  # noqa: ARG002 - none of them hangs
        left, self.tasks = self.tasks, []
        for task in left:
            (task.never_began or task.run)()


class Life:
    """One run of filedrop in a world. `state`: its own, where that isn't the world's."""

    def __init__(self, world: World, clock: Clock, *, state: Path | None = None) -> None:
        state = state or world.state
        text = world.config_text().replace(f"state: {world.state}\n", f"state: {state}\n")
        self._log = world._log
        self._clock = clock
        self.validator_hangs = False  # whatever it was given has no end
        self._idle_turns = 0  # in a row
        self._records_at = 0.0  # when the recorder may try again
        self._under_way: set[object] = set()  # what only one thread does at a time
        with ExitStack() as stack:
            self.journal = stack.enter_context(locked_state(state))
            clockwork = Clockwork(clock.now, clock.steady, Hands, retry=ONCE, chance=ONCE.chance)
            self.service = Daemon(
                _parsed(text), self.journal, stopped=threading.Event(), log=self._log,
                watch=False, clockwork=clockwork,
            )  # fmt: skip
            self._stack = stack.pop_all()

    @property
    def pipeline(self) -> OutboundPipeline:
        """The only outbound folder's."""
        (pipeline,) = self.service.accounts[0].pipelines
        return pipeline

    @property
    def jobs(self) -> list[str]:
        """What may be done now: `step`, `deliver`, `record`, `judge`, `send`, `fetched`, `mark_read`."""
        return [name for name, _ in self._jobs()]

    def _jobs(self) -> list[tuple[str, Callable[[], None]]]:
        workers = self.service.workers
        found: list[tuple[str, Callable[[], None]]] = []
        for one in sorted(workers._turns, key=lambda one: str(one.folder.path)):
            if one not in workers._busy and workers.due(one) <= self._clock.steady():
                name = "step" if isinstance(one, OutboundPipeline) else "deliver"
                found.append((name, partial(self.serve, one)))
        if self._has_to_record() and "recorder" not in self._under_way and self._records_at <= self._clock.steady():
            found.append(("record", partial(self._alone, "recorder", self._record)))
        for hands in self._hands():
            for index, task in enumerate(hands.tasks):
                found.append((_name(task.run), partial(hands.do, index)))
        return [job for job in found if job[0] != "judge" or not self.validator_hangs]

    def _hands(self) -> Iterator[Hands]:
        pools = [pool for account in self.service.accounts for pool in (account.senders, account.fetchers)]
        for pool in (*pools, self.service.validators):
            assert isinstance(pool, Hands)
            yield pool

    def serve(self, one: Served) -> None:
        """Take a step in a folder."""
        workers = self.service.workers
        workers._busy[one] = time.monotonic()
        workers.serve(one)

    def _has_to_record(self) -> bool:
        recorder = self.service.recorder
        return bool(recorder._unwritten) or not recorder._queue.empty()

    def _record(self) -> None:
        if self.service.guard.attempt("recorder", self.service.recorder.step):
            self._records_at = self._clock.steady() + AFTER_FAILURE

    def _alone(self, what: object, job: Callable[[], object]) -> None:
        self._under_way.add(what)
        try:
            job()
        finally:
            self._under_way.discard(what)

    def hang(self, one: Served) -> None:
        """From now on its folder doesn't answer, and a thread waits for it.

        It counts as unavailable when the test says so, by `hung_after`: here, the computer's clock says nothing.
        """
        self.service.workers._busy[one] = time.monotonic()
        self.service.workers.hung_after = math.inf

    def answer(self, one: Served) -> None:
        """It does again."""
        del self.service.workers._busy[one]

    def turn(self) -> float:
        """Let each loop take a turn; in how many seconds the first wants the next, or a folder is to be served.

        One that does nothing and wants the next at once would turn round and round while nothing happens.
        """
        waits: list[float] = []
        before = self.jobs
        for account in self.service.accounts:
            account.tick()
            waits += [self._take(turn) for turn in (account.follow, account.poll) if turn not in self._under_way]
        now = self._clock.steady()
        workers = self.service.workers
        waits += [workers.due(served) - now for served in workers._turns if served not in workers._busy]
        if self._has_to_record():
            waits.append(self._records_at - now)
        wait = max(min(waits, default=1.0), 0.0)
        self._idle_turns = 0 if wait or self.jobs or self.jobs != before else self._idle_turns + 1
        assert self._idle_turns < FEW, f"it turns round and round: {waits}"
        return wait

    def _take(self, turn: Callable[[], float]) -> float:
        """Take a loop's turn. Returns the seconds until its next one."""
        waits: list[float] = []
        self._alone(turn, lambda: self.service.guard.attempt("turn", lambda: waits.append(turn())))
        return waits[0] if waits else AFTER_FAILURE

    def do(self, index: int) -> None:
        """Do one of the jobs that may be done."""
        _, job = self._jobs()[index]
        job()

    def do_all(self, *, but: str = "") -> None:
        """Do what may be done, and what follows from it; but leave those of one name."""
        for _ in range(MANY):
            index = next((i for i, name in enumerate(self.jobs) if name != but), None)
            if index is None:
                return
            self.do(index)
        raise AssertionError("it goes on and on")

    def do_each(self, name: str) -> None:
        """Do what may be done that is called so."""
        while name in self.jobs:
            self.do(self.jobs.index(name))

    def go_on(self, seconds: float, *, until: Callable[[], object] = lambda: False) -> None:
        """Let so much time pass, and everything be done that is due meanwhile; no longer than until this holds."""
        end = self._clock.passed + seconds
        while self._clock.passed < end and not until():
            wait = self.turn()
            self.do_all()
            self._clock.pass_on(min(max(wait, 0.01), max(end - self._clock.passed, 0.0)))

    def touch(self) -> None:
        """Report that something has happened in the only outbound folder, as a file event does."""
        touch(self.pipeline)

    def report_closed(self, name: str) -> None:
        """Report that a file's writer has closed it, as a file event does."""
        report_closed(self.pipeline, name)

    def take(self, world: World, name: str, *faults: Fault) -> None:
        """Drop an invoice whose upload meets with these faults, and take it as far as it goes at once."""
        world.front.next("POST /outbox", *faults)
        world.drop(name, invoice(name))
        self.touch()
        for _ in range(6):  # it is seen, has settled, is posted, and looked for
            self.go_on(10)

    def free(self) -> bool:
        """May another thread do whatever it wants? False while this one holds a lock that it would wait for."""
        account = self.service.accounts[0]
        folders = [one.folder for one in (*account.pipelines, *account.deliveries)]
        locks = [self.journal.engine._writer_lock, account.breaker._lock]
        return not any(lock.locked() for lock in [*locks, *(folder._taking_up for folder in folders)])

    def stop(self) -> None:
        """End as a daemon that was asked to."""
        self.service.validating.close()
        for hands in self._hands():
            hands.close()
        self.service.guard.attempt("recorder", self.service.recorder.step)
        for served in self.service.workers._turns:
            self.service.guard.attempt("end", served.close)
        self.drop()

    def drop(self) -> None:
        """End as a daemon that was killed: whatever it had in hand is left as it lies."""
        self._stack.close()
        for account in self.service.accounts:
            account.access_point.close()


def touch(pipeline: OutboundPipeline) -> None:
    """Report that something has happened in a folder, as a file event does."""
    pipeline.put(Touched())


def report_closed(pipeline: OutboundPipeline, name: str) -> None:
    """Report that a file's writer has closed it, as a file event does."""
    pipeline.put(Closed(name))


def report_written(pipeline: OutboundPipeline, name: str) -> None:
    """Report that a file is written again, as a file event does."""
    pipeline.put(Written(name))


def under_way(pipeline: OutboundPipeline) -> set[str]:
    """The ids of a folder's documents that senders or validators have, or that wait for room after a verdict."""
    return pipeline.desk.handover._under_way


@lru_cache(maxsize=8)
def _parsed(text: str) -> config.Config:
    return config.parse(text)


def _name(job: Any) -> str:
    return str((job.func if isinstance(job, partial) else job).__name__.strip("_"))
