"""The clocks of the daemon."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from filedrop.pauses import REQUEST, Backoff
from filedrop.process.pool import Pool
from filedrop.times import now

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True)
class Clockwork:
    """The daemon's clocks and threads: wall clock with its offset, monotonic clock in seconds, class of the pools.

    `retry`: how a request that never arrived is tried again. `chance`: see `Backoff`.
    """

    now: Callable[[], datetime] = now
    steady: Callable[[], float] = time.monotonic
    pool: type[Pool] = Pool
    retry: Backoff = REQUEST
    chance: Callable[[], float] = random.random

    def backoff(self, first: timedelta, longest: timedelta) -> Backoff:
        """The policy with these pauses."""
        return Backoff(first, longest, chance=self.chance)


REAL = Clockwork()  # the computer's clocks and threads
