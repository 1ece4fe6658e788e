"""Readiness of a dropped file (contract 1). Pure: observations and the time are arguments.

A file's writer is done when the system reports that the file was closed or moved in, or when the file has not changed
for `settle`. Where the file system's clock is ours (local), `settle` counts from the last change. Elsewhere it counts
by our own clock from when we first saw the file like this, and is at least ten seconds. The time of the change is used
only at that first sight: setting a clock makes no file older. Windows tells besides who has a file open: while somebody
writes it, it isn't ready, whatever else says so. Where ready files are configured, these alone tell (claim).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import timedelta

    from filedrop.errors import DocumentError
    from filedrop.files import FileStamp

SETTLE_ELSEWHERE = 10.0  # seconds: the server has its own clock, its clients have caches
SOON, LATER = 0.02, 2.0  # seconds until another look at a file that somebody has open, at first and in the end


@dataclass(frozen=True, slots=True)
class Seen:
    """What is remembered of a file that wasn't ready: its stamp, since when (monotonic seconds), what was wrong.

    `waits_for`: the PDF that it lacks. `copy_of`: the document of which it is another version: it isn't sent.
    """

    stamp: FileStamp
    since: float
    fault: DocumentError | None = None
    waits_for: str = ""
    copy_of: str = ""


@dataclass(frozen=True, slots=True)
class Clock:
    """One moment on both of our clocks: `steady` never jumps, `wall` (seconds since 1970) is that of file times."""

    steady: float
    wall: float


def unchanged_for(seen: Seen | None, stamp: FileStamp, changed: float, now: Clock, *, local: bool) -> float:
    """For how many seconds a file has been as it is now; `changed` is its ctime in seconds since 1970.

    A change time in the future (the clock was set back) counts as now.
    """
    if seen and seen.stamp == stamp:
        return now.steady - seen.since
    return max(0.0, now.wall - changed) if local else 0.0


def wait_for_writer(unchanged: float, *, settle: timedelta, closed: bool, local: bool) -> float:
    """How many more seconds the writer may need, 0 if it is done. `closed`: reported, and no write since."""
    if closed:
        return 0.0
    wanted = settle.total_seconds() if local else max(settle.total_seconds(), SETTLE_ELSEWHERE)
    return max(0.0, wanted - unchanged)


def look_again(in_use_for: float) -> float:
    """In how many seconds to look again at a file that somebody has had open for so long: a tenth of that more."""
    return min(max(SOON, in_use_for / 10), LATER)
