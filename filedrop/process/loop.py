"""A thread that takes turns, when woken or due, until stopped.

Turns that fail are followed by growing pauses, and so are those of which nothing comes that want the next one at once.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from filedrop.pauses import Pausing

if TYPE_CHECKING:
    from collections.abc import Callable

    from filedrop.process.guard import Guard

LONGEST_SLEEP = 60.0  # seconds between two turns at most, however late the next is due


class Loop:
    """A thread that takes turns. `turn` returns the seconds until the next one; `guard` survives its errors.

    `progress`: a number that changes with whatever comes of a turn.
    """

    def __init__(
        self,
        name: str,
        turn: Callable[[], float],
        *,
        progress: Callable[[], int],
        stopped: threading.Event,
        guard: Guard,
    ) -> None:
        self._turn = turn
        self._progress = progress
        self._stopped = stopped
        self._guard = guard
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
        pausing = Pausing()
        while True:
            self._woken.clear()  # before the look at `stopped`: whoever sets that wakes us afterwards
            if self._stopped.is_set():
                return
            self._wanted, before = 0.0, self._progress()
            error = self._guard.attempt(self._thread.name, self._go_round)
            now, is_idle = time.monotonic(), self._wanted <= 0 and self._progress() == before
            pausing.note(now, has_failed=error is not None, is_idle=is_idle)
            self._woken.wait(max(0.0, min(self._wanted, LONGEST_SLEEP), pausing.until - now))

    def _go_round(self) -> None:
        self._wanted = self._turn()
