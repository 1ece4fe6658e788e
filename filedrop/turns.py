"""Where many documents are worked through, two threads of an account at a time do so: more would wait for each other.

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

AT_ONCE = 2
PATIENCE = 0.02  # seconds


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
