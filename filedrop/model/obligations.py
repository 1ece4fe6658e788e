"""What is owed, and for how long it may stand still before that is reported: all patiences of filedrop (contract 7)."""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple

FAILED_FOR = 120.0  # seconds for which an error is shown though its job has succeeded since: two of its longest pauses
FORGOTTEN_AFTER = 7200.0  # seconds after which an error is shown no longer, as its job isn't even tried any more
STANDSTILL = 300.0  # seconds in which something happens with everything that is owed
IMPATIENT = -STANDSTILL  # the patience of what needs none
COPIED = 26 * 3600.0  # seconds until a journal has its next daily copy
RESTARTS = 8  # starts within the last hour that a person may have wanted
COMPLETED = timedelta(minutes=15)  # in which a ready file or a PDF follows its document
AN_HOUR = 3600.0
HALF_A_DAY = 12 * AN_HOUR  # of the last day in all, in which an account was away
A_MOMENT = 60.0  # seconds after a start, in which what stood still before may go on
SILENT = timedelta(minutes=5)  # for which a daemon may report nothing, though it reports each minute
SLOWEST = 20_000.0  # bytes each second at least, of an upload that isn't too slow


class Owed(NamedTuple):
    """Something that is owed: about which folder, account or part, and the sentence that says what stands still.

    `mark` changes whenever something happens with it. One that stays the same for STANDSTILL and `patience` (seconds)
    is a standstill, whatever the cause. `since`: the moment for it, in seconds since 1970, where there is one; then its
    age decides, not that of the mark. `advice`: what to do, where a restart doesn't help.
    """

    about: str
    what: str
    mark: object = None
    patience: float = 0.0
    since: float | None = None
    advice: str = ""
