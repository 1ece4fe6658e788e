"""Hold files: while one is in an outbound folder, nothing of that folder is posted (contract 1, Hold).

People write them, by hand and on systems that hide or add endings. So the stem counts, in any case and with any
endings, and a listing finds it. Senders ask before each post: a few spellings are looked up each time, which costs
microseconds, and the folder is listed once a second for the others. On a share with very many files a listing takes
seconds: then it is listed less often. Where other computers use the folder, this one may remember for a while that a
name is missing; a listing asks the server. There, the folder is listed before each post, unless that takes long.
"""

from __future__ import annotations

import math
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator

    from filedrop.files import Directory, Entry

HOLD = "HOLD"  # the file that `filedrop hold` creates
USUAL = (HOLD, "HOLD.txt", "hold", "hold.txt")  # looked up before each post
LISTED_EVERY = 1.0  # seconds between two listings on a disk of this computer,
PER_LISTING = 9.0  # and as many times as long as the last one took: posts have nine tenths of the time


def is_hold_name(name: str) -> bool:
    """Whether a regular file with this name in `outbound/` holds the folder: its stem is HOLD, in any case."""
    return name.partition(".")[0].upper() == HOLD


def hold_files(folder: Directory) -> Iterator[str]:
    """The names of all hold files in an outbound folder, lazily. Raises OSError."""
    return (entry.name for entry in folder.scan() if holds(entry))


class HoldFiles:
    """What all threads together know of the hold files in one outbound folder. Thread-safe.

    Moments are of the steady clock, in seconds. `stopwatch` measures how long a listing takes, in seconds.
    """

    def __init__(self, stopwatch: Callable[[], float] = time.monotonic) -> None:
        self._known = ""
        self._next = -math.inf  # when the next listing is due
        self._stopwatch = stopwatch
        self._looking = threading.Lock()

    @property
    def known(self) -> str:
        """The name of the hold file that was found last; "" where none was there."""
        return self._known

    def find(self, folder: Directory, now: float | None) -> str:
        """The name of a hold file, "" where there is none. Raises OSError.

        At `now`, the folder is listed if that is due; without `now`, in any case, as when a hold file is gone: another
        may be there.
        """
        with self._looking:
            for name in (self._known, *USUAL) if self._known else USUAL:
                if _is_there(folder / name):
                    self._known = name
                    return name
            was_known, self._known = self._known, ""
            if not (was_known or now is None or now >= self._next):
                return ""
            begun = self._stopwatch()
            found = next(hold_files(folder), "")
            took = self._stopwatch() - begun
            if found:  # else a listing elsewhere may have noted one meanwhile
                self._known = found
            if now is not None:
                self._next = now + took + max(_pause(folder), PER_LISTING * took)
            return self._known

    def listed(self, folder: Directory, now: float | None) -> Iterator[os.DirEntry[str]]:
        """The entries of a folder, listed from `now` on; the hold files among them are noted. Raises OSError."""
        for entry in folder.scan():
            if holds(entry):
                self._known = entry.name
            yield entry
        if now is not None:
            self._next = max(self._next, now + _pause(folder))


def _pause(folder: Directory) -> float:
    """How many seconds lie between two listings at least."""
    return LISTED_EVERY if folder.abilities.local else 0.0


def holds(entry: os.DirEntry[str]) -> bool:
    """Whether this entry of an `outbound/` is a hold file. Raises OSError."""
    return entry.name == HOLD or (is_hold_name(entry.name) and entry.is_file(follow_symlinks=False))


def _is_there(entry: Entry) -> bool:
    return entry.exists() if entry.name == HOLD else entry.is_file()
