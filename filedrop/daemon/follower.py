"""Follows one account's posted documents: its probe, its doubts, its deliveries. It touches no folder."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from filedrop.errors import AccessPointError, Interrupted, Unauthorized, Unavailable, WrongAddress
from filedrop.model.document import State
from filedrop.outbound.mailbox import Returned
from filedrop.outbound.resolver import DoubtResolver
from filedrop.outbound.tracking import Tracking
from filedrop.pauses import LOOK

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from filedrop.model.document import Document
    from filedrop.outbound.context import Context
    from filedrop.outbound.pipeline import OutboundPipeline
    from filedrop.process.folder_worker import FolderWorkers

DISTANT = 3600.0  # seconds: nothing is due
TOGETHER = 5.0  # seconds at most between two trackings, so that what is due by then shares one reading of the lists
A_TENTH = 10  # or this part of `track`, if that is shorter


class Follower:
    """Follows one account's documents; `turn` is for one thread. Documents that are decided go back to their folders.

    `is_hindered`: documents could not be looked for in the last turn; as soon as they can, a turn is due.
    """

    def __init__(self, shared: Context, pipelines: Sequence[OutboundPipeline], workers: FolderWorkers) -> None:
        self.resolver = DoubtResolver(shared, pipelines, workers)
        self.tracking = Tracking(shared, pipelines)
        self.is_hindered = False
        self._shared = shared
        self._pipelines = pipelines
        self._retry = shared.retry.bound(LOOK)
        self._together = min(TOGETHER, shared.rules.track.total_seconds() / A_TENTH)
        self._not_before: dict[str, float] = {}  # by task (steady)
        self._failed: set[str] = set()  # tasks
        self._fails_since: dict[str, float] = {}  # by task: the access point can't be asked (steady)

    def turn(self) -> float:
        """Do what is due. Returns the seconds until the next turn."""
        breaker = self._shared.breaker
        self.is_hindered = True  # before the questions: when their answers change, the account looks at this
        if not breaker.ready and not breaker.allows():
            return breaker.rest() or DISTANT
        if not self._shared.account.ready():
            return DISTANT
        self.is_hindered = False
        try:
            return self._follow()
        finally:
            self.is_hindered = not self._shared.account.ready()

    def _follow(self) -> float:
        breaker = self._shared.breaker
        waits = [
            self._go("look", self.resolver.resolve, self.resolver.wait, apart=0.0),
            self._go("track", self.tracking.track, self.tracking.wait, apart=self._together),
        ]
        return min(waits) if breaker.ready else breaker.rest()

    def is_done(self) -> bool:
        """Whether all that can be asked now was asked, with or without success.

        Looks for what is in doubt count as without success when they have failed for as long as `doubt`.
        """
        fails = self._shared.steady() - self._fails_since.get("look", math.inf)
        if self.resolver.undecided() and fails < self._shared.rules.doubt.total_seconds():
            return False
        wait = self.tracking.wait()
        return wait is None or wait > 0 or "track" in self._failed

    def failed(self, error: AccessPointError, event: str, **facts: str) -> None:
        """Record the failure of a request. Logged, unless the request was interrupted by our own stop.

        A list may be refused alone: the account is asked after before it counts as away, its login or address as wrong.
        """
        breaker = self._shared.breaker
        may_be_one_list = isinstance(error, Unauthorized | WrongAddress | Unavailable) and not error.retry_after
        if not (may_be_one_list and breaker.allows_again()):
            breaker.record_failure(error)
        if not isinstance(error, Interrupted):
            self._shared.log.warning(event, **facts, why=str(error))

    def _go(
        self, what: str, find: Callable[[], list[Document]], due_in: Callable[[], float | None], *, apart: float
    ) -> float:
        """Run one task if it is due, and `apart` (seconds) after the last time. Returns the seconds until then."""
        steady, wait = self._shared.steady, due_in()
        if wait is None:
            return DISTANT
        wait = max(wait, self._not_before.get(what, 0.0) - steady())
        if wait > 0:
            return wait
        pause = self._retry.seconds()
        self._not_before[what] = steady() + pause
        self._failed.add(what)
        try:
            changed = find()
        except (AccessPointError, OSError) as error:
            self._fails_since.setdefault(what, steady())
            if isinstance(error, OSError):  # what may be a document in doubt can't be kept to be compared
                raise
            self.failed(error, "errand.failed", errand=what)
            return pause
        self._not_before[what] = steady() + apart
        self._failed.discard(what)
        self._fails_since.pop(what, None)
        for document in changed:
            self._give_back(document)
        wait = due_in()
        return DISTANT if wait is None else max(wait, apart)

    def _give_back(self, document: Document) -> None:
        if document.state is not State.DOUBT:
            for pipeline in self._pipelines:
                if pipeline.folder.id == document.folder:
                    pipeline.put(Returned(document))
