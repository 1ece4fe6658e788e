"""The branch in a folder's marker: if a journal has two databases, which one's filedrop serves the folder.

A journal that begins a branch (journal/folders) names it in each marker. A filedrop that works with another database
of the journal reads that before each step, and each second while it posts or moves documents, and stops. So nothing is
done here before it has had some seconds for that: it may just be posting what waits.
"""

from __future__ import annotations

import math
import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from filedrop.errors import FolderUnavailable
from filedrop.storage.marker import read_marker

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from filedrop.files import Directory
    from filedrop.journal import Journal
    from filedrop.journal.folders import Changes
    from filedrop.storage.marker import Marker

ACCEPT = "filedrop journal accept"
UNKNOWN = (
    "the journal doesn't know all that was done here: its database was restored, copied or upgraded, or filedrop works "
    "with a copy of it, such as a former server. Make sure that filedrop runs with one database only; if that is this "
    f"one, run: {ACCEPT}"
)
OTHERS_STOP = 5.0  # seconds
LOOK_EVERY = 1.0  # seconds


class Branching:
    """The branch of the folder at `path`, which `opened` returns."""

    def __init__(self, path: Path, opened: Callable[[], Directory]) -> None:
        self._path = path
        self._opened = opened
        self._rests_until = self._looked = -math.inf

    @property
    def rest(self) -> float:
        """The seconds for which nothing is to be done in the folder, because the journal has begun a branch there."""
        return max(0.0, self._rests_until - time.monotonic())

    def begin(self, here: Directory, marker: Marker, journal: Journal, changes: Changes) -> Marker:
        """Have the marker name the journal's branch, and return it. Raises OSError, or FolderUnavailable for now."""
        if marker.branch != changes.branch:
            journal.folders.suspect(marker.folder)  # first: afterwards, nothing shows that it is to be done
            marker = replace(marker, branch=changes.branch)
            marker.replace(here)
            here.sync()
            self._rests_until = time.monotonic() + OTHERS_STOP
        if self.rest:
            raise FolderUnavailable(
                f"{self._path}: filedrop begins here in a few seconds. The journal is in another database than before, "
                "and a filedrop that still works with the former one must stop here first"
            )
        return marker

    def unknown(self, journal: Journal) -> str | None:
        """The branch in the marker as that is now, if the journal doesn't know what was done here. Raises OSError."""
        marker = read_marker(self._opened())
        if marker is None or marker.journal != journal.id:
            return None
        changes = journal.folders.changes(marker.folder)
        return None if journal.folders.knows(changes, marker.branch, marker.changes) else marker.branch

    def check(self, journal: Journal) -> None:
        """Raise FolderUnavailable where another database's filedrop has the folder by now. Raises OSError."""
        if why := self._why_not(journal):
            raise FolderUnavailable(why)

    def look(self, journal: Journal, now: float) -> str:
        """Why nothing may be moved here any more, as `check` says it; looked for once a second (steady clock)."""
        if now - self._looked < LOOK_EVERY:
            return ""
        self._looked = now
        with suppress(OSError):  # the next step reports it
            return self._why_not(journal)
        return ""

    def _why_not(self, journal: Journal) -> str:
        is_anothers = journal.engine.is_shared and self.unknown(journal) is not None
        return f"{self._path}: {UNKNOWN}" if is_anothers else ""
