"""One account: its access point, and the turns of its way out and its way in."""

from __future__ import annotations

import math
import time
from functools import partial
from typing import TYPE_CHECKING

from filedrop.accesspoint import AccessPoint
from filedrop.desk import Desk, InboundDesk
from filedrop.directory import Directory
from filedrop.document import State, participant_key
from filedrop.errors import AccessPointError
from filedrop.folders import InboundFolder
from filedrop.inbound import WayIn
from filedrop.lane import lane_of
from filedrop.looks import Looks
from filedrop.loop import Loop, attempt
from filedrop.onward import Onward
from filedrop.outbound import WayOut
from filedrop.porter import Porter
from filedrop.standing import Standing
from filedrop.tracking import Tracking

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Sequence

    import structlog

    from filedrop import config
    from filedrop.clockwork import Clockwork
    from filedrop.document import Document
    from filedrop.identify.mapping import Rules
    from filedrop.journal import Journal
    from filedrop.lane import Lane
    from filedrop.watcher import Watcher

DISTANT = 3600.0  # seconds: nothing is due
SETTLED_AFTER = 1.0  # seconds for which moves may wait for others, to be settled together while somebody works
AFTER_FAILURE = 30.0  # seconds until a look or a tracking that failed is tried again, or `retry.longest`, if shorter


class Account:
    """What the daemon does for one account, in threads of its own. Raises FiledropError when it can't be set up."""

    def __init__(
        self,
        settings: config.Config,
        account: config.Account,
        companies: Sequence[config.Company],
        journal: Journal,
        *,
        mapping: Rules,
        unassigned: InboundFolder | None,
        watcher: Watcher | None,
        stopped: threading.Event,
        clockwork: Clockwork,
        log: structlog.stdlib.BoundLogger,
    ) -> None:
        now, steady = clockwork.now, clockwork.steady
        self.name = account.name
        self._log = log = log.bind(account=account.name)
        self._stopped = stopped
        self._watcher = watcher
        self._steady = steady
        self._poll_every = settings.inbound.poll.total_seconds()
        self._next_poll = -math.inf
        self._was_ready = False
        self._errands: set[str] = set()
        self._not_before: dict[str, float] = {}
        self._after_failure = min(AFTER_FAILURE, settings.outbound.retry.longest.total_seconds())
        self.access_point = AccessPoint(account.login, stopped=stopped, pauses=clockwork.pauses, monotonic=steady)
        self.porter = Porter(account.login, self.access_point, log)
        retry = settings.outbound.retry
        self.standing = Standing(
            self.access_point.probe, first=retry.first, longest=retry.longest, steady=steady, log=log
        )
        self.desk = Desk(
            account=account.name,
            access_point=self.access_point,
            standing=self.standing,
            directory=Directory(
                self.access_point, cache=settings.outbound.directory_cache, steady=time.monotonic, log=log
            ),
            journal=journal,
            rules=settings.outbound,
            now=now,
            steady=steady,
            log=log,
            porter=self.porter,
        )
        self._loop_out = Loop(f"out-{account.name}", self._turn_out, stopped=stopped, log=log)
        self._loop_in = Loop(f"in-{account.name}", self._turn_in, stopped=stopped, log=log)
        crew, workers = partial(clockwork.crew, attempt=partial(attempt, log)), settings.outbound.workers
        self._crew_out = crew(workers, name=f"out-{account.name}", on_idle=self._loop_out.wake)
        self._crew_in = crew(workers, name=f"in-{account.name}", on_idle=self._loop_in.wake)
        self.lanes = [
            lane_of(settings, company, path, mapping, wake=self._loop_out.wake)
            for company in companies
            for path in company.outbound
        ]
        self.onward = Onward(self.desk, self._ready)
        self.way_out = WayOut(self.desk, self.onward, self._crew_out.give, self._waiting)
        self.looks = Looks(self.desk)
        self._tracking = Tracking(self.desk)
        inbound = {
            company.name: InboundFolder(company.inbound, company=company.name, below=settings.root)
            for company in companies
        }
        self.way_in = WayIn(
            InboundDesk(
                account=account.name,
                access_point=self.access_point,
                standing=self.standing,
                journal=journal,
                rules=settings.inbound,
                unassigned=unassigned,
                porter=self.porter,
                now=now,
                steady=steady,
                log=log,
                folders={
                    participant_key(participant): inbound[company.name]
                    for company in companies
                    for participant in company.participants
                },
            ),
            self._crew_in.give,
            workers,
        )

    def start(self) -> None:
        """Begin to take turns."""
        self.way_in.take_up()
        self._loop_out.start()
        self._loop_in.start()

    def wake(self) -> None:
        """Look at the clock and at `stopped` again."""
        self._loop_out.wake()
        self._loop_in.wake()

    def healthy(self) -> bool:
        """Are both loops still taking turns?"""
        return self._loop_out.alive() and self._loop_in.alive()

    def close(self, deadline: float) -> None:
        """End, at the latest at `deadline` (monotonic): what isn't clear by then is in doubt. To be stopped before."""
        self.wake()
        for crew in (self._crew_out, self._crew_in):
            crew.close(max(0.0, deadline - time.monotonic()))
        for loop in (self._loop_out, self._loop_in):
            loop.join(max(0.0, deadline - time.monotonic()))
        attempt(self._log, "settle", partial(self.way_out.close, self.lanes))
        attempt(self._log, "settle", self.way_in.settle)
        self.porter.close()
        self.access_point.close()

    def quiet(self) -> bool:
        """Has everything that can be done now been done? (`run --once`)

        What waits for its writer or is in doubt isn't; what is held, incomplete, or waits for the access point to
        come back or for a journal that can be written is.
        """
        if self._errands or not (self._crew_out.idle() and self._crew_in.idle()):
            return False
        return bool(self.desk.journal.trouble) or self._is_done()

    def _is_done(self) -> bool:
        if self.standing.report.condition == "unknown" or not self._has_looked_round():
            return False
        if not self.standing.ready:
            return True
        if self.way_in.summary.last_poll is None or self.way_in.again or self._next_poll <= self._steady():
            return False
        if self.looks.undecided() or not all(self._lane_quiet(lane) for lane in self.lanes):
            return False
        tracking = self._tracking.wait()
        return tracking is None or tracking > 0 or "track" in self._not_before

    def _lane_quiet(self, lane: Lane) -> bool:
        if lane.trouble or lane.folder.stuck():
            return True
        if lane.sweeping or lane.woken or lane.waits_for_writers():
            return False
        counts = self.desk.journal.counts(lane.folder.id)
        return not counts.get(State.SENDING) and (lane.folder.held() or not counts.get(State.WAITING))

    def _turn_out(self) -> float:
        """Give out what is due, and say in how many seconds the next is."""
        idle = self._crew_out.idle()
        if not idle:
            self._crew_out.relieve()
        for folder, settle in self.onward.moved.take(math.inf if idle else self._steady() - SETTLED_AFTER):
            self._crew_out.give(folder, settle)
        if not self.standing.ready and self.standing.wait() <= 0:
            self._errand("probe", self.standing.see)
        ready = self._ready()
        if ready and not self._was_ready:
            for lane in self.lanes:
                if State.WAITING in self.desk.journal.counts(lane.folder.id):
                    lane.woken = True
        self._was_ready = ready
        waits = [DISTANT if idle else 1.0]  # while somebody works, a folder may begin to hang
        waits += [self._look_at(lane) for lane in self.lanes]
        if ready:
            waits += [self._do_when_due("look", self.looks.look, self.looks.wait())]
            waits += [self._do_when_due("track", self._tracking.track, self._tracking.wait())]
        elif not self.standing.ready:
            waits += [self.standing.wait() or DISTANT]  # while it is being asked: its answer wakes us
        self.porter.see(sum(len(lane.given) for lane in self.lanes), self._steady())
        return min(waits)

    def _waiting(self) -> int:
        return sum(len(lane.ready) for lane in self.lanes)

    def _ready(self) -> bool:
        """May documents be posted and looked for? What was sent before must be known, from whatever folder it was."""
        return self.standing.ready and self._has_looked_round() and not self._stopped.is_set()

    def _has_looked_round(self) -> bool:
        return all(lane.swept or lane.folder.stuck() for lane in self.lanes)

    def _look_at(self, lane: Lane) -> float:
        """Sweep a lane if that is due; in how many seconds it is."""
        wait = lane.due() - self._steady()
        if wait > 0:  # as mostly, and there may be hundreds
            return wait
        if not (lane.sweeping or lane.folder.stuck()):
            lane.sweeping, lane.woken = True, False
            self._crew_out.give(lane.folder, partial(self._sweep, lane))
        return DISTANT

    def _do_when_due(self, what: str, find: Callable[[], list[Document]], wait: float | None) -> float:
        """Look or track if that is due, and put away what came to an end; in how many seconds it is."""
        if wait is None:
            return DISTANT
        wait = max(wait, self._not_before.get(what, 0.0) - self._steady())
        if wait <= 0:
            self._errand(what, partial(self._conclude, find))
        return max(wait, 0.0) or DISTANT

    def _errand(self, what: str, errand: Callable[[], object]) -> None:
        """Have something done for the account by the crew, unless it is being done."""
        if what in self._errands:
            return
        self._errands.add(what)

        def run() -> None:
            self._not_before[what] = self._steady() + self._after_failure
            try:
                errand()
                del self._not_before[what]
            except AccessPointError as error:
                self.standing.heard(error)
                self._log.warning("errand.failed", errand=what, why=str(error))
            finally:
                self._errands.discard(what)
                self._loop_out.wake()

        self._crew_out.give(None, run)

    def _sweep(self, lane: Lane) -> None:
        try:
            self.way_out.sweep(lane)
            if self._watcher is not None:
                with lane.folder.busy():
                    self._watcher.watch(lane)
        finally:
            lane.sweeping, lane.swept = False, True
            self._loop_out.wake()

    def _conclude(self, find: Callable[[], list[Document]]) -> None:
        self.way_out.concluded({lane.folder.id: lane for lane in self.lanes}, find())

    def _turn_in(self) -> float:
        """Poll the inbox when that is due."""
        if self._crew_in.idle():
            if self.way_in.again:
                self._next_poll = -math.inf
            self.way_in.settle()
        else:
            self._crew_in.relieve()
        if self._steady() < self._next_poll:
            self.porter.see(self.way_in.waiting, self._steady())
            return self._next_poll - self._steady() if self._crew_in.idle() else 1.0
        if not self.standing.see():
            return max(self.standing.wait(), 0.1)
        try:
            self.way_in.poll()
        except AccessPointError as error:
            self.standing.heard(error)
            self._log.warning("poll.failed", why=str(error))
        self.porter.see(self.way_in.waiting, self._steady())
        self._next_poll = self._steady() + self._poll_every
        return 1.0
