"""A filedrop that goes a step at a time, in the thread of whoever asks, by clocks that move only when they are told to.

    clock = Clock()
    life = Life(world, clock)
    life.turn()              # its loops look what is due, and give out jobs
    life.do(0)               # one of these jobs, as a thread of the crew would do it
    clock.pass_on(60)

Nothing of filedrop is replaced but what is handed to it anyway: its clocks, and its threads. So whatever can happen
between two steps can happen in any order, and again in the same one.
"""

from __future__ import annotations

import inspect
import threading
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from filedrop import config
from filedrop.clockwork import Clockwork
from filedrop.crew import Crew
from filedrop.loop import attempt
from filedrop.service import Service, sole_use

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.world import World

    from filedrop.folders import Folder
    from filedrop.lane import Lane

# The times of the configuration's defaults, since they cost nothing here: but for fewer looks while nothing happens.
RULES = {"settle": "2s", "rescan": "2m", "doubt": "15m", "track": "1m", "retry": "{first: 5s, longest: 15m}"}
# Long ago, so that every file's change lies in its future and tells nothing; what our clock saw of it does.
BEGINNING = datetime(2020, 6, 1, 12, 0, tzinfo=UTC)
AFTER_FAILURE = 2.0  # seconds until a loop whose turn failed takes the next, as `filedrop.loop` has it
TICK = 0.002  # seconds that pass at each look at a clock, so that no two moments are one


class Clock:
    """The time of a world. filedrop's own wall clock is wrong by `skew`."""

    def __init__(self) -> None:
        self.passed = 0.0
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
        return BEGINNING + timedelta(seconds=self.passed)

    def now(self) -> datetime:
        """What filedrop's wall clock says."""
        self.passed += TICK
        return (self.true() + self.skew).astimezone()

    def steady(self) -> float:
        """What filedrop's monotonic clock says."""
        return self.passed


class Hands(Crew):
    """A crew without threads: jobs wait until somebody does them, in whatever order."""

    def __init__(
        self,
        workers: int,
        *,
        name: str,
        attempt: Callable[[str, Callable[[], object]], bool],
        on_idle: Callable[[], None],
    ) -> None:
        super().__init__(workers, name=name, attempt=attempt, on_idle=on_idle)
        self.jobs: list[Callable[[], object]] = []
        self._doing = 0

    def give(self, folder: Folder | None, job: Callable[[], object]) -> None:  # noqa: ARG002 - none hangs here
        self.jobs.append(job)

    def idle(self) -> bool:
        return not self.jobs and not self._doing

    def do(self, index: int) -> None:
        """Do one of the jobs that wait."""
        job = self.jobs.pop(index)
        self._doing += 1
        try:
            self._attempt(self._name, job)
        finally:
            self._doing -= 1
        if self.idle():
            self._on_idle()


class Life:
    """One run of filedrop in a world."""

    def __init__(self, world: World, clock: Clock) -> None:
        self._log = world._log
        self._clock = clock
        with ExitStack() as stack:
            self.journal = stack.enter_context(sole_use(world.state))
            clockwork = Clockwork(clock.now, clock.steady, Hands, pauses=())
            self.service = Service(
                config.parse(world.config_text()), self.journal, stopped=threading.Event(), log=self._log,
                watch=False, clockwork=clockwork,
            )  # fmt: skip
            self._stack = stack.pop_all()
        self._hands: list[Any] = [
            hands for account in self.service.accounts for hands in (account._crew_out, account._crew_in)
        ]
        for account in self.service.accounts:
            account.way_in.take_up()

    @property
    def lane(self) -> Lane:
        """The only outbound folder's."""
        (lane,) = self.service.accounts[0].lanes
        return lane

    @property
    def jobs(self) -> list[str]:
        """The jobs that wait, by what they are called: `sweep`, `claim`, `step`, `settle`, `look`, `track`, ..."""
        return [_name(job) for hands in self._hands for job in hands.jobs]

    def turn(self) -> float:
        """Let each loop take a turn; in how many seconds the first wants the next.

        One that gives out nothing and wants the next at once would turn round and round while nothing happens.
        """
        waits: list[float] = []
        before = self.jobs
        for account in self.service.accounts:
            for take_turn in (account._turn_out, account._turn_in):
                if not attempt(self._log, "turn", partial(_append, waits, take_turn)):
                    waits.append(AFTER_FAILURE)
        assert min(waits) > 0 or self.jobs != before, "it turns round and round"
        return min(waits)

    def do(self, index: int) -> None:
        """Do one of the jobs that wait, counted over all crews."""
        for hands in self._hands:
            if index < len(hands.jobs):
                hands.do(index)
                return
            index -= len(hands.jobs)
        raise IndexError

    def do_all(self, *, but: str = "") -> None:
        """Do the jobs that wait, and those that they give out; but leave one of this name waiting."""
        while (index := next((i for i, name in enumerate(self.jobs) if name != but), None)) is not None:
            self.do(index)

    def do_others(self) -> None:
        """Do the jobs that wait, and those that they give out; but leave the first waiting, as if its folder hung."""
        while len(self.jobs) > 1:
            self.do(1)

    def go_on(self, seconds: float) -> None:
        """Let so much time pass, and everything be done that is due meanwhile."""
        until = self._clock.passed + seconds
        while self._clock.passed < until:
            wait = self.turn()
            self.do_all()
            self._clock.pass_on(min(max(wait, 0.01), max(until - self._clock.passed, 0.0)))

    def free(self) -> bool:
        """May another thread do whatever it wants? False while this one holds a lock that it would wait for."""
        account = self.service.accounts[0]
        folders = [*account.way_in._desk.folders.values(), *(lane.folder for lane in account.lanes)]
        locks = [self.journal._writer_lock, account.standing._lock, account.onward.moved._lock]
        return not any(lock.locked() for lock in [*locks, *(folder._taking_up for folder in folders)])

    def stop(self) -> None:
        """End as a daemon that was asked to."""
        for account in self.service.accounts:
            attempt(self._log, "settle", partial(account.way_out.close, account.lanes))
            attempt(self._log, "settle", account.way_in.settle)
        self.drop()

    def drop(self) -> None:
        """End as a daemon that was killed: whatever it had in hand is left as it lies."""
        self._stack.close()
        for account in self.service.accounts:
            account.access_point.close()


def _name(job: Any) -> str:
    if isinstance(job, partial):
        return job.func.__name__.strip("_")
    inside = inspect.getclosurevars(job).nonlocals
    return str(inside.get("what") or job.__name__)


def _append(waits: list[float], take_turn: Callable[[], float]) -> None:
    waits.append(take_turn())
