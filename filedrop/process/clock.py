"""The clocks of the daemon."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from filedrop.process.pool import Pool

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def now() -> datetime:
    """The wall clock, with its offset."""
    return datetime.now().astimezone()


@dataclass(frozen=True, slots=True)
class Clockwork:
    """The daemon's clocks and threads: wall clock with its offset, monotonic clock in seconds, class of the pools.

    `pauses` are the seconds between attempts at a request that never arrived.
    """

    now: Callable[[], datetime] = now
    steady: Callable[[], float] = time.monotonic
    pool: type[Pool] = Pool
    pauses: Sequence[float] = (0.5, 1.5)


REAL = Clockwork()  # the computer's clocks and threads
