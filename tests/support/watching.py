"""A filedrop that goes a step at a time, and what its status says of it every half a minute.

    watching = Watching(world, clock)
    watching.pass_on(3600)
    watching.troubles        # what stands still, and what failed

Its jobs may hang: `hang` blocks the thread that calls it until `release`. A job that hangs keeps what it holds, and
nobody else does it. That threads are alive, other tests show.
"""

from __future__ import annotations

import threading
import time
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from support.stepping import AFTER_FAILURE, Hands, Life

from filedrop.alerts.teller import Teller
from filedrop.cli.serving import Serving
from filedrop.cli.status import checked
from filedrop.daemon import evidence
from filedrop.daemon.evidence import Evidence, Facts
from filedrop.model.report import Kept
from filedrop.process.clock import Clockwork
from filedrop.process.loop import Loop
from filedrop.status import daemon_file, folders, page_file, status_file
from filedrop.status.survey import Survey, part_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from support.stepping import Clock
    from support.world import World

    from filedrop.status.model import Status

BLOCKED = 5.0  # seconds after which a job is held up by one that hangs
AT_ONCE = 20  # jobs before the clock goes on: a job that does nothing may be due for ever


class Stuck(BaseException):
    """The main loop hangs."""


class Watching(Life):
    """`status`: the last one. `is_stuck`: the main loop hangs, so that daemon.json gets old."""

    every = evidence.EVERY

    def __init__(self, world: World, clock: Clock, *, before: Kept = Kept()) -> None:  # noqa: B008 - frozen
        self._is_hung = threading.Event()
        self._released = threading.Event()
        self._at_work: threading.Thread | None = None
        self.is_stuck = False
        super().__init__(world, clock)
        self.world = world
        self.service.is_healthy = lambda: True  # type: ignore[method-assign] - it has no threads,
        self.service.workers.relieve = lambda: None  # type: ignore[method-assign] - nor is it to get some
        self._evidence = Evidence(world._log, self.service.now, self.service.steady, before)
        self._survey = Survey(self.service.config, self.service.journal)
        self.status: Status = self._survey.look(part_of(self.service.report()), running=True, now=clock.now())

    @property
    def kept(self) -> Kept:
        """What is kept for the next run."""
        return self._evidence.kept

    @property
    def troubles(self) -> Mapping[str, str]:
        """What stands still, and what failed."""
        return self.status["troubles"]

    def pass_on(self, seconds: float) -> None:
        """Let so much time pass, and all be done that is due meanwhile, with a look every half a minute."""
        until = self._clock.passed + seconds
        try:
            self._pass_on(until)
        except Stuck:
            self.is_stuck = True
        self._clock.pass_on(until - self._clock.passed)

    def _pass_on(self, until: float) -> None:
        pages = self.service.pages.turn
        while self._clock.passed < until:
            end = self._clock.passed + min(self.every, until - self._clock.passed)
            while self._clock.passed < end:
                waits: list[float] = []
                self.service.guard.attempt("turn", lambda: waits.append(self.turn()))  # noqa: B023 - called at once
                self.service.guard.attempt("jobs", self.do_all)
                wait = waits[0] if waits else AFTER_FAILURE
                self._clock.pass_on(min(max(wait, AFTER_FAILURE), max(end - self._clock.passed, AFTER_FAILURE)))
            self._work("tick", self.service.tick)
            if pages not in self._under_way:
                self._alone(pages, lambda: self.service.guard.attempt("pages", pages))
            self._work("report", self._look)

    def hang(self, *_: object, **__: object) -> None:  # type: ignore[override]
        """Never return. Nothing goes on any more where that is amid a question of the main loop, as `due` is."""
        if threading.current_thread() is threading.main_thread():
            raise Stuck
        if threading.current_thread() is self._at_work:
            self._is_hung.set()
        self._released.wait()

    def release(self) -> None:
        """Let what hangs return, at the end of a test."""
        self._released.set()

    def do_all(self, *, but: str = "") -> None:
        """Do what may be done, and what follows from it."""
        self._idle_turns = 0
        for _ in range(AT_ONCE):
            jobs = [job for name, job in self._jobs() if name != but]
            if not jobs:
                return
            jobs[0]()

    def _hands(self):  # type: ignore[no-untyped-def] # noqa: ANN202 - as it has it
        yield from super()._hands()
        for pool in (self.service.commands._pool, self.service.copies._pool):
            assert isinstance(pool, Hands)
            yield pool

    def _jobs(self) -> list[tuple[str, Callable[[], None]]]:
        return [(name, self._job(job)) for name, job in super()._jobs()]

    def _job(self, job: Callable[[], None]) -> Callable[[], None]:
        return lambda: self._in_a_thread(job) and None

    def _alone(self, what: object, job: Callable[[], object]) -> None:
        self._in_a_thread(lambda: super(Watching, self)._alone(what, job))

    def _work(self, what: str, job: Callable[[], object]) -> None:
        """A part of the main loop."""
        if not self.is_stuck:
            self.is_stuck = not self._in_a_thread(lambda: self.service.guard.attempt(what, job))

    def _in_a_thread(self, job: Callable[[], object]) -> bool:
        """Whether a job has ended, in a thread of its own; False if it hangs."""
        if threading.current_thread() is not threading.main_thread():
            job()
            return True
        self._is_hung.clear()
        self._at_work = thread = threading.Thread(target=job, daemon=True)
        thread.start()
        begun = time.monotonic()
        while thread.is_alive() and not self._is_hung.is_set():
            thread.join(0.05)
            if self.service.workers.hung_after < 0 and time.monotonic() - begun > BLOCKED:
                break  # it waits for what the job that hangs holds
        if thread.is_alive():
            self.service.workers.hung_after = (
                -1.0
            )  # a folder that hangs does so at once: our clock isn't the computer's
        return not thread.is_alive()

    def _look(self) -> None:
        snapshots = self._survey.snapshots.items()
        files = {path: there.counts for path, there in snapshots if not there.trouble}
        self._evidence.look(lambda: Facts(self.service, files, {}, None))
        part = part_of(self._evidence.added_to(self.service.report()))
        self.status = self._survey.look(part, running=True, now=self._clock.now())


class WatchingAll(Watching):
    """One that also writes its files of the status, and whose alerts look.

    `check`: what `status --check` prints, and its exit status. The threads of status.json are awaited for a moment.
    """

    every = 2 * evidence.EVERY

    def __init__(self, world: World, clock: Clock) -> None:
        self._patch = pytest.MonkeyPatch()
        for module in (status_file, daemon_file, page_file, folders):
            ticking = SimpleNamespace(monotonic=lambda: time.monotonic() + clock.passed)  # joins wait by it, too
            self._patch.setattr(module, "time", ticking)
        self._patch.setattr(status_file, "datetime", SimpleNamespace(now=clock.now))
        super().__init__(world, clock)
        service, clockwork = self.service, Clockwork(clock.now, clock.steady)
        self._serving = Serving(service.config, service, world._log)
        self._serving.__dict__["_evidence"] = self._evidence
        self._teller = Teller(service.config, service.journal, world._log, clockwork=clockwork)
        # One that was never started: its turns are taken here.
        stopped = threading.Event()
        self._teller._loop = Loop("alerts", lambda: 60.0, progress=lambda: 0, stopped=stopped, guard=service.guard)
        self._serving.__dict__["_teller"] = self._teller
        self._serving._status_file._patience = BLOCKED / 10

    def check(self) -> tuple[str, int]:
        """What `status --check` prints now, and its exit status; what daemon.json says, while the journal hangs."""
        part, found = daemon_file.read(self.service.config.state), list[tuple[str, int]]()
        for journal in (self.service.journal, None):
            survey = Survey(self.service.config, journal)
            take = partial(survey.look, part, running=True, now=self._clock.now())
            asked = threading.Thread(
                target=lambda take=take: found.append(checked(take(), self._clock.now())), daemon=True
            )
            asked.start()
            asked.join(BLOCKED)
            if found or not asked.is_alive():
                break
        return found[0] if found else ("the command ends with an error", 1)

    def drop(self) -> None:
        """End."""
        self._serving._status_file.wait()
        super().drop()
        self._patch.undo()

    def _look(self) -> None:
        self._serving.report()
        self._serving._status_file.wait()
        turn, guard = self._teller.turn, self.service.guard
        if self._teller._reports and turn not in self._under_way:
            self._alone(turn, lambda: guard.attempt("alerts", lambda: turn(self._teller._reports[-1])))
