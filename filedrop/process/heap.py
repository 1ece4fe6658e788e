"""The heap of glibc's malloc, which keeps what was freed: after a burst, or after the first page was made."""

import ctypes
import time
from contextlib import suppress

M_ARENA_MAX = -8  # malloc.h of glibc
TRIMMED_EVERY = 10.0  # seconds; it takes a tenth of a millisecond where nothing is free


class Heap:
    """One heap: with one for each thread, what a burst has freed is kept from the other threads."""

    def __init__(self) -> None:
        self._due = 0.0  # time.monotonic
        with suppress(OSError, AttributeError, TypeError):  # not glibc
            ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)

    def trim(self) -> None:
        """Give the system back what is free, every few seconds."""
        if time.monotonic() >= self._due:
            self._due = time.monotonic() + TRIMMED_EVERY
            with suppress(OSError, AttributeError, TypeError):
                ctypes.CDLL(None).malloc_trim(0)
