"""Survives errors: one that nobody foresaw costs the job in which it happens, and no other, and status shows it."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from filedrop.errors import Changed, ClosedJournal, FiledropError, JournalError
from filedrop.model.obligations import FAILED_FOR, FORGOTTEN_AFTER

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import structlog

T = TypeVar("T")
LONGEST_ERROR = 200  # characters of an error


class _Failure(NamedTuple):
    """What failed: the sentence, in which round, and from when until when it is shown."""

    why: str
    round: int
    shown_from: float
    shown_until: float


class Guard:
    """Runs jobs, survives their errors, and keeps a sentence about each. Thread-safe.

    Without a `log`, nothing else is left of an error. `steady`: the monotonic clock, in seconds.
    """

    def __init__(
        self, log: structlog.stdlib.BoundLogger | None = None, steady: Callable[[], float] = time.monotonic
    ) -> None:
        self._failed: dict[str, _Failure] = {}
        self._round = 0
        self._log = log
        self._steady = steady

    @property
    def troubles(self) -> Mapping[str, str]:
        """By what it is about, the sentence about each job that failed lately, and whatever else was noted."""
        now = self._steady()
        failures = list(self._failed.items())
        return {what: failure.why for what, failure in failures if failure.shown_from <= now < failure.shown_until}

    def attempt(self, what: str, job: Callable[[], object]) -> Exception | None:
        """Run a job that is run again and again. Returns the error with which it ended, None if it succeeded.

        An error is logged. It is one of the `troubles` until the job has succeeded and FAILED_FOR has passed: others
        may run under the same name. The journal reports its own errors.
        """
        error = unforeseen(job)
        if error is None or isinstance(error, Changed):  # another thread or process took the step
            if failure := self._failed and self._failed.get(what):
                until = min(failure.shown_until, self._steady() + FAILED_FOR)
                self._failed[what] = failure._replace(shown_until=until)
            return None
        if not isinstance(error, JournalError):
            self._note_error(what, error)
        if not isinstance(error, ClosedJournal):
            log_failure(self._log, what, error)
        return error

    def make(self, part: str, job: Callable[[], T], otherwise: T) -> T:
        """What the job returns; `otherwise` after an unforeseen error, which is logged when it is new.

        Raises FiledropError and OSError as the job does: the caller knows what to do then.
        """
        made: list[T] = []
        error = unforeseen(lambda: made.append(job()))
        if isinstance(error, FiledropError | OSError):
            raise error
        if error is None:
            self.note_success(part)
            return made[0]
        if part not in self._failed:
            log_failure(self._log, part, error)
        self._note_error(part, error)
        return otherwise

    def begin(self) -> None:
        """Begin a round of `make`: parts that the last one no longer had are forgotten."""
        self._failed = {part: failure for part, failure in self._failed.items() if failure.round == self._round}
        self._round += 1

    def note(self, about: str, why: str, event: str = "", /, *, patience: float = 0.0, **facts: str) -> None:
        """Note what is wrong, as a sentence, until `note_success`. What is new is logged as this event.

        It is shown if it is still wrong after `patience`, in seconds.
        """
        before = self._failed.get(about)
        if self._log and event and (before is None or before.why != why):
            self._log.error(event, **facts or {"why": why})
        since = before.shown_from if before else self._steady() + patience
        self._failed[about] = _Failure(why, self._round, since, math.inf)

    def note_success(self, about: str) -> None:
        """Note that nothing is wrong with it."""
        if about in self._failed:
            self._failed.pop(about, None)

    def _note_error(self, what: str, error: Exception) -> None:
        now = self._steady()
        self._failed[what] = _Failure(_sentence(what, error), self._round, now, now + FORGOTTEN_AFTER)


def unforeseen(job: Callable[[], object]) -> Exception | None:
    """Run a job, and return the error with which it ended, or None. The one place that catches every exception."""
    try:
        job()
    except Exception as error:  # noqa: BLE001 - the caller reports it
        return error
    return None


def log_failure(log: structlog.stdlib.BoundLogger | None, what: str, error: Exception) -> None:
    """Log an error: with its trace where there is no sentence for it."""
    if log and isinstance(error, FiledropError | OSError):
        log.error("work.failed", what=what, why=str(error))
    elif log:
        log.error("work.failed", what=what, exc_info=error)


def _sentence(what: str, error: Exception) -> str:
    if isinstance(error, FiledropError | OSError):
        return f"{what}: {error}"
    return f"{what}: an error in filedrop; please report it ({f'{type(error).__name__}: {error}'[:LONGEST_ERROR]})"
