"""A thread that takes turns, when woken or due, until stopped. Failed turns are retried with growing pauses."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from filedrop.errors import Changed, FiledropError
from filedrop.pauses import TURN

if TYPE_CHECKING:
    from collections.abc import Callable

    import structlog

LONGEST_SLEEP = 60.0  # seconds between two turns at most, however late the next is due


def attempt(log: structlog.stdlib.BoundLogger, what: str, job: Callable[[], object]) -> bool:
    """Run a job; False if it failed, which is logged: work goes on."""
    error = unforeseen(job)
    if error is None or isinstance(error, Changed):  # another thread or process took the step
        return True
    log_failure(log, what, error)
    return False


def unforeseen(job: Callable[[], object]) -> Exception | None:
    """Run a job, and return the error with which it ended, or None. The one place that catches every exception."""
    try:
        job()
    except Exception as error:  # noqa: BLE001 - the caller reports it
        return error
    return None


def log_failure(log: structlog.stdlib.BoundLogger, what: str, error: Exception) -> None:
    """Log an error: with its trace where there is no sentence for it."""
    if isinstance(error, FiledropError | OSError):
        log.error("work.failed", what=what, why=str(error))
    else:
        log.error("work.failed", what=what, exc_info=error)


class Loop:
    """A thread that takes turns. `turn` returns the seconds until the next one."""

    def __init__(
        self, name: str, turn: Callable[[], float], *, stopped: threading.Event, log: structlog.stdlib.BoundLogger
    ) -> None:
        self._turn = turn
        self._stopped = stopped
        self._log = log
        self._woken = threading.Event()
        self._wanted = LONGEST_SLEEP
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def wake(self) -> None:
        """Take a turn now."""
        self._woken.set()

    def is_alive(self) -> bool:
        """Whether the thread is alive."""
        return self._thread.is_alive()

    def join(self, patience: float) -> None:
        """Wait for the end, `patience` seconds at most, after `stopped` was set and the loop was woken."""
        self._thread.join(patience)

    def _run(self) -> None:
        failures = 0
        while True:
            self._woken.clear()  # before the look at `stopped`: whoever sets that wakes us afterwards
            if self._stopped.is_set():
                return
            self._wanted = LONGEST_SLEEP
            if attempt(self._log, self._thread.name, self._take_turn):
                failures = 0
            else:
                failures += 1
                self._wanted = TURN.seconds(failures)
            self._woken.wait(max(0.0, min(self._wanted, LONGEST_SLEEP)))

    def _take_turn(self) -> None:
        self._wanted = self._turn()
