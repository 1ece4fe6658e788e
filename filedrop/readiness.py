"""When is a dropped file ready? Pure: what was seen and what time it is come in, a verdict comes out (contract 1).

A file's writer is done when the system has told that it was closed or moved in, or when the file has not changed for
`settle`: by the time of its last change where the file system's clock is ours (local, Linux), elsewhere by our own
clock since we first saw it like this, and there for at least ten seconds. The time of a change is asked for once, when
we first see the file like this: a clock that is set makes no file older.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import timedelta

    from filedrop.errors import DocumentError
    from filedrop.files import Seal

SETTLE_ELSEWHERE = 10.0  # seconds: a server's clock and its clients' caches are not ours


@dataclass(frozen=True, slots=True)
class Seen:
    """What we remember of a file that wasn't ready: how it looks, since when (monotonic seconds), what was wrong."""

    seal: Seal
    since: float
    fault: DocumentError | None = None


@dataclass(frozen=True, slots=True)
class Clock:
    """One moment on both of our clocks: `steady` never jumps, `wall` (seconds since 1970) is what files carry."""

    steady: float
    wall: float


def unchanged_for(seen: Seen | None, seal: Seal, changed: float, now: Clock, *, local: bool) -> float:
    """For how many seconds a file has been as it is now; `changed` is its ctime in seconds since 1970.

    A change time in the future (the clock was set back) tells nothing; our own clock does.
    """
    if seen and seen.seal == seal:
        return now.steady - seen.since
    return max(0.0, now.wall - changed) if local else 0.0


def wait_for_writer(unchanged: float, *, settle: timedelta, closed: bool, local: bool) -> float:
    """How many seconds more the writer may need; 0 where it is done. `closed`: the system told so, nothing since."""
    if closed:
        return 0.0
    wanted = settle.total_seconds() if local else max(settle.total_seconds(), SETTLE_ELSEWHERE)
    return max(0.0, wanted - unchanged)
