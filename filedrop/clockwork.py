"""What drives an account: the clocks it looks at, the threads that work for it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from filedrop.crew import Crew

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def now() -> datetime:
    """The wall clock, with its offset."""
    return datetime.now().astimezone()


@dataclass(frozen=True, slots=True)
class Clockwork:
    """What drives an account: the wall clock with its offset, the monotonic clock in seconds, its crews of threads.

    `pauses` are the seconds between attempts at a request that never arrived.
    """

    now: Callable[[], datetime] = now
    steady: Callable[[], float] = time.monotonic
    crew: type[Crew] = Crew
    pauses: Sequence[float] = (0.5, 1.5)
