"""The circuit breaker of an account: whether requests may be made now, and if not, why.

During an outage there is one probe, a GET, at growing intervals, instead of a request for each file. An account begins
as `unknown`: the first probe checks the login and learns the access point's clock before anything is posted. Callers
report failed requests here; after an outage, a refused login or a wrong address, no request is made until the next
probe. A refused login is probed again as soon as it has been changed.

A document's request may fail for the document's own sake, whatever the answer says. So a probe follows at once: if it
succeeds, only that document waits. Several different documents in a row count against the access point.
"""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import TYPE_CHECKING

from filedrop.errors import AccessPointError, ConfigError, Interrupted, Unauthorized, Unavailable, WrongAddress
from filedrop.model.report import AccessReport
from filedrop.pauses import LOGIN

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    import structlog

    from filedrop.model.report import Condition
    from filedrop.pauses import Backoff

NO_LOGIN = frozenset({"refused", "no password"})  # conditions that end as soon as the login is another
OFTEN = 2.0  # seconds between checks whether a refused login has been changed
FAILURES_IN_A_ROW = 3  # of different documents: then the access point is at fault


class CircuitBreaker:
    """One account's circuit breaker. Thread-safe.

    `probe` makes a GET and raises its error. `login_changed`: whether the login has changed since it was refused.
    `retry`: the pauses between probes in an outage.
    """

    def __init__(
        self,
        probe: Callable[[], None],
        *,
        retry: Backoff,
        steady: Callable[[], float],
        log: structlog.stdlib.BoundLogger,
        login_changed: Callable[[], bool],
        now: Callable[[], datetime],
    ) -> None:
        self._probe = probe
        self._login_changed = login_changed
        self._now = now
        self._retry = retry
        self._steady = steady
        self._log = log
        self._condition: Condition = "unknown"
        self._why = ""
        self._next_probe = 0.0
        self._next_attempt: datetime | None = None
        self._failures = 0
        self._by_documents = False
        self._in_a_row: set[str] = set()  # the documents that failed since one got a clear answer
        self._alone: set[str] = set()  # the documents that were not taken, though the access point was there
        self._lock = threading.Lock()

    @property
    def report(self) -> AccessReport:
        """The present state."""
        return AccessReport(self._condition, self._why, self._next_attempt)

    @property
    def ready(self) -> bool:
        """Whether requests may be made now. Never probes."""
        return self._condition == "ok"

    def wait(self) -> float:
        """Seconds until the next probe is due; 0 where it is due now or not needed."""
        if self.ready or (self._condition in NO_LOGIN and self._login_changed()):
            return 0.0
        return max(0.0, self._next_probe - self._steady())

    def rest(self) -> float:
        """Seconds for which `allows` need not be called."""
        wait = self.wait()
        return min(wait, OFTEN) if self._condition in NO_LOGIN else wait

    def allows(self) -> bool:
        """Whether requests may be made now. Probes if that is due; one thread probes, and the others use its result."""
        if self.ready:
            return True
        with self._lock:
            if self.ready or self.wait() > 0:
                return self.ready
            try:
                self._probe()
            except AccessPointError as error:
                self._trip(error)
            else:
                self._reset()
            return self.ready

    def allows_again(self) -> bool:
        """Whether requests may still be made. Probes now: for a failed request that may itself be at fault."""
        with self._lock:
            if self.ready:
                self._condition = "unknown"
                self._next_probe = 0.0
        return self.allows()

    def record_failure(self, error: AccessPointError, document: str = "") -> None:
        """Record that a request ended in this error; `document` is the id of its document, if any.

        A document's failure pauses the account only if a probe fails too, or after several different documents have
        failed in a row. A Retry-After is honoured without a probe, unless a document waits alone already. Not probed:
        an unclear answer, and a refused login, which the client has probed.
        """
        is_outage = isinstance(error, (Unauthorized, Unavailable, WrongAddress))
        with self._lock:
            if is_outage and self._condition not in ("ok", "unknown"):
                return  # the errors of several senders at once are one outage
            if is_outage and (not document or isinstance(error, Unauthorized)):
                self._trip(error, by_documents=bool(document))
                return
            if not document or isinstance(error, Interrupted):
                return
            asks_for_a_pause = bool(error.retry_after) and not self._alone
            self._in_a_row.add(document)
            if is_outage:
                self._alone.add(document)
            if len(self._in_a_row) >= FAILURES_IN_A_ROW or asks_for_a_pause:
                self._in_a_row.clear()
                self._trip(error, by_documents=True)
            elif is_outage:
                try:
                    self._probe()
                except AccessPointError:
                    self._trip(error, by_documents=True)

    def record_success(self, document: str) -> None:
        """Record that a document got a clear answer; `document` is its id."""
        if self._in_a_row or self._failures or self._alone:
            with self._lock:
                self._in_a_row.clear()
                self._alone.discard(document)
                self._by_documents = False
                self._failures = 0

    def _trip(self, error: AccessPointError, *, by_documents: bool = False) -> None:
        self._by_documents |= by_documents
        self._failures += 1
        retry, before = self._retry, self._condition
        if isinstance(error, Unauthorized):
            self._condition = "no password" if isinstance(error.__cause__, ConfigError) else "refused"
            retry = retry.bound(LOGIN)
        elif isinstance(error, WrongAddress):
            self._condition = "wrong address"
        else:
            self._condition = "away"
        asked = error.retry_after
        pause = asked if asked and asked > timedelta(0) else timedelta(seconds=retry.seconds(self._failures))
        self._why = str(error)
        self._next_probe = self._steady() + pause.total_seconds()
        self._next_attempt = self._now() + pause
        if before != self._condition:  # logged once for an outage, not at each probe
            self._log.warning("account.paused", condition=self._condition, why=self._why)

    def _reset(self) -> None:
        if self._condition != "unknown":
            self._log.info("account.back", was=self._condition)
        self._condition = "ok"
        self._why, self._next_attempt = "", None
        if not self._by_documents:  # else GET may work while POST fails: wait for a document's clear answer
            self._failures = 0
