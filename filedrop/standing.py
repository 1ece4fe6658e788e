"""How an account stands: may it be spoken to now, and if not, why not?

An outage is one probe, a GET, not one request per file. An account begins as `unknown`: the first probe lets us in
and tells the access point's clock before anything is posted. Whoever hears that it is away, refuses the login or isn't
there says so here; from then on nobody asks until the next probe, whose pauses grow.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Literal

from filedrop.errors import AccessPointError, Interrupted, Unauthorized, Unavailable, WrongAddress
from filedrop.moments import backoff

if TYPE_CHECKING:
    from collections.abc import Callable

    import structlog

Condition = Literal["unknown", "ok", "away", "refused", "wrong address"]
SOME_MINUTES = timedelta(minutes=3)  # between probes of a login that was refused: enough, and no hammering (contract 6)
LONGEST_RETRY_AFTER = timedelta(hours=1)  # contract 6
UNCLEAR_IN_A_ROW = 3  # different documents without a clear answer, one after the other: it isn't the documents


@dataclass(frozen=True, slots=True)
class Report:
    """An account's standing for people: `why` is a sentence, "" when all is well."""

    condition: Condition
    why: str


class Standing:
    """One account's standing. Thread-safe; `probe` raises what the access point answered to a GET."""

    def __init__(
        self,
        probe: Callable[[], None],
        *,
        first: timedelta,
        longest: timedelta,
        steady: Callable[[], float],
        log: structlog.stdlib.BoundLogger,
    ) -> None:
        self._probe = probe
        self._first = first
        self._longest = longest
        self._steady = steady
        self._log = log
        self._condition: Condition = "unknown"
        self._why = ""
        self._next_probe = 0.0
        self._failures = 0
        self._by_documents = False
        self._unclear: set[str] = set()
        self._lock = threading.Lock()

    @property
    def report(self) -> Report:
        """How it stands now."""
        return Report(self._condition, self._why)

    @property
    def ready(self) -> bool:
        """May requests be made now, as far as is known?"""
        return self._condition == "ok"

    def wait(self) -> float:
        """Seconds until the next probe is due; 0 when it is, or when none is needed."""
        return 0.0 if self.ready else max(0.0, self._next_probe - self._steady())

    def see(self) -> bool:
        """May requests be made now? Probes, if that is due. One thread probes; the others take its answer."""
        if self.ready:
            return True
        with self._lock:
            if self.ready or self._steady() < self._next_probe:
                return self.ready
            try:
                self._probe()
            except AccessPointError as error:
                self._fell(error)
            else:
                self._rose()
            return self.ready

    def see_again(self) -> bool:
        """May requests be made all the same? Asked after one that failed, perhaps for reasons of its own."""
        with self._lock:
            if self.ready:
                self._condition = "unknown"
                self._next_probe = 0.0
        return self.see()

    def heard(self, error: AccessPointError, document: str = "") -> None:
        """A request ended in this error; `document` is the id of the one it was about.

        An unclear answer speaks against the access point only after several different documents got one in a row.
        """
        with self._lock:
            if isinstance(error, (Unauthorized, Unavailable, WrongAddress)):
                if self._condition in ("ok", "unknown"):  # what four workers hear at once is one outage
                    self._fell(error, by_documents=bool(document))
            elif document and not isinstance(error, Interrupted):
                self._unclear.add(document)
                if len(self._unclear) >= UNCLEAR_IN_A_ROW:
                    self._unclear.clear()
                    self._fell(error, by_documents=True)

    def answered(self) -> None:
        """A document got a clear answer."""
        if self._unclear or self._failures:
            with self._lock:
                self._unclear.clear()
                self._by_documents = False
                self._failures = 0

    def _fell(self, error: AccessPointError, *, by_documents: bool = False) -> None:
        self._by_documents |= by_documents
        self._failures += 1
        pause = backoff(self._failures, self._first, self._longest)
        before = self._condition
        if isinstance(error, Unauthorized):
            self._condition = "refused"
            pause = backoff(self._failures, min(SOME_MINUTES, self._longest), self._longest)
        elif isinstance(error, WrongAddress):
            self._condition = "wrong address"
        else:
            self._condition = "away"
        if isinstance(error, Unavailable) and error.retry_after is not None:
            pause = min(max(error.retry_after, timedelta(0)), LONGEST_RETRY_AFTER)
        self._why = str(error)
        self._next_probe = self._steady() + pause.total_seconds()
        if before != self._condition:  # an outage is said once, not at each probe
            self._log.warning("account.paused", condition=self._condition, why=self._why)

    def _rose(self) -> None:
        if self._condition != "unknown":
            self._log.info("account.back", was=self._condition)
        self._condition = "ok"
        self._why = ""
        if not self._by_documents:  # else only a document's clear answer shows that more than GET works
            self._failures = 0
