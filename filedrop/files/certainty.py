"""Whether this process may change files that other hosts may serve by now: a question of its own clock alone.

Where several hosts share a journal, each gives signs of life to the database, and is certain for a while after each
that was answered, counted from when it asked. When that time is over, another host may have replaced it. So each call
that changes a file asks here right before, and so does a request before its last bytes. Where it isn't certain, it
waits: for the next answer, or for the end of the process, if another host has replaced it indeed. Nothing is said of it
to the callers: for them a call took long.

With a journal in a file, this process is certain for ever.
"""

from __future__ import annotations

import math
import sys
import threading
import time

if sys.platform == "linux":

    def elapsed() -> float:
        """Seconds by a clock that nobody sets, and that goes on while the machine is suspended."""
        return time.clock_gettime(time.CLOCK_BOOTTIME)

else:  # Windows and macOS: several hosts are Linux's

    def elapsed() -> float:
        """Seconds by a clock that nobody sets."""
        return time.monotonic()


class Certainty:
    """Until when this process is certain, by `elapsed`."""

    def __init__(self) -> None:
        self._until = math.inf
        self._changed = threading.Condition()

    def last_until(self, moment: float) -> None:
        """From now on this process is certain until then; whoever waits goes on, if that is to come."""
        with self._changed:
            self._until = moment
            self._changed.notify_all()

    def is_certain(self) -> bool:
        """Whether it is certain now."""
        return self._until == math.inf or elapsed() < self._until

    def wait(self) -> None:
        """Return when it is certain."""
        if not self.is_certain():
            with self._changed:
                self._changed.wait_for(self.is_certain)


CERTAINTY = Certainty()
"""This process's: one sign of life stands for all that it does."""
