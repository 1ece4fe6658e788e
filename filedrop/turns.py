"""Where very many wait, several are taken together, and two threads of an account at a time work through theirs.

What is written of several is written once for all of them. More threads at work would wait for each other:
Python has one lock for all threads of a process, and whoever calls the system gives it away and has to get it back. It
is politeness, nothing depends on it: who has waited for a moment goes on all the same, so that a disk which is slow
under one thread, or hangs, holds up no other.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

TOGETHER = 16  # documents or messages at most that are taken together
MANY = 4.0  # times as many must wait for each worker
OPEN = 256  # files at most that all workers of one way have open: a process may have a thousand
AT_ONCE = 2
PATIENCE = 0.02  # seconds


def together(waiting: int, workers: int) -> int:
    """How many each of so many workers is to take together, where so many wait."""
    return max(1, min(TOGETHER, OPEN // workers, int(waiting / (MANY * workers))))


class Turns:
    """So many at a time, or nearly. For any thread."""

    def __init__(self, at_once: int = AT_ONCE, patience: float = PATIENCE) -> None:
        self._free, self._patience = threading.Semaphore(at_once), patience

    @contextmanager
    def one(self, documents: int) -> Iterator[None]:
        """Within this it is this thread's turn to work through so many documents. A single one waits for no turn."""
        taken = documents > 1 and self._free.acquire(timeout=self._patience)
        try:
            yield
        finally:
            if taken:
                self._free.release()
