"""A thread that takes turns, when woken or due, until stopped. Failed turns are retried with growing pauses."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from filedrop.pauses import TURN

if TYPE_CHECKING:
    from collections.abc import Callable

    from filedrop.process.guard import Guard

LONGEST_SLEEP = 60.0  # seconds between two turns at most, however late the next is due


class Loop:
    """A thread that takes turns. `turn` returns the seconds until the next one; `guard` survives its errors."""

    def __init__(self, name: str, turn: Callable[[], float], *, stopped: threading.Event, guard: Guard) -> None:
        self._turn = turn
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
        failures = 0
        while True:
            self._woken.clear()  # before the look at `stopped`: whoever sets that wakes us afterwards
            if self._stopped.is_set():
                return
            self._wanted = LONGEST_SLEEP
            if self._guard.attempt(self._thread.name, self._take_turn) is None:
                failures = 0
            else:
                failures += 1
                self._wanted = TURN.seconds(failures)
            self._woken.wait(max(0.0, min(self._wanted, LONGEST_SLEEP)))

    def _take_turn(self) -> None:
        self._wanted = self._turn()
