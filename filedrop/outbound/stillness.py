"""Whether a folder and the journal are still as the last rescan left them, so that the next one would find nothing.

A rescan lists four folders and asks the journal a dozen questions: with hundreds of companies, most of what an idle
daemon does. On a disk of this computer, a folder's times change with each entry that is added, removed or renamed. So a
rescan that found nothing to do is repeated only when one of these times or anything in the journal has changed; and
every few minutes in any case. Files that are written to while they wait are looked at by themselves (outbound/scanner).
"""

from __future__ import annotations

import math
import os
import sys
from typing import TYPE_CHECKING

from filedrop.errors import JournalError
from filedrop.files.directory import literal

if TYPE_CHECKING:
    from filedrop.outbound.desk import Desk
    from filedrop.outbound.reconcile import Reconciliation

ANYWAY = 300.0  # seconds after which a folder is looked through in any case
COARSE = 2.0  # seconds: some file systems have no finer times, so a change just before may not have changed them
_PLACES = ("", "sending", "sent", "failed")


class Stillness:
    """What one folder was like when a rescan began that found nothing to do. For the worker in it."""

    def __init__(self, desk: Desk, reconciliation: Reconciliation) -> None:
        self._desk = desk
        self._reconciliation = reconciliation
        self._begun: object = None
        self._still: object = None
        self._until = -math.inf

    def holds(self) -> bool:
        """Whether a rescan that is due would find nothing."""
        steady, strays = self._desk.shared.steady(), self._reconciliation.strays
        is_recent = steady < min(self._until, strays.next_in_archive)
        return is_recent and self._still is not None and self._still == self._look()

    def begin(self) -> None:
        """Note what the folder is like before a rescan."""
        self._still, self._begun = None, self._look()

    def note(self) -> None:
        """Note that the rescan has ended. Raises JournalError."""
        begun, self._begun = self._begun, None
        if begun is not None and self._has_nothing_to_do():
            self._still, self._until = begun, self._desk.shared.steady() + ANYWAY

    def _look(self) -> object:
        """What changes with each entry of the folders and with each commit; None where that can't be told."""
        folder, shared = self._desk.folder, self._desk.shared
        if sys.platform == "win32" or not folder.local:  # Windows' times weren't tried
            return None
        path = literal(folder.path)
        try:
            version = shared.journal.engine.version()
            found = [os.stat(f"{path}/{place}", follow_symlinks=False) for place in _PLACES]  # noqa: PTH116 - quicker
        except (OSError, ValueError, JournalError):  # the rescan reports it
            return None
        changed = max(max(status.st_mtime, status.st_ctime) for status in found)
        if version is None or shared.now().timestamp() - changed < COARSE:
            return None
        return version, [(status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns) for status in found]

    def _has_nothing_to_do(self) -> bool:
        """Whether nothing in the folder waits for time to pass, or for another attempt."""
        desk, journal = self._desk, self._desk.shared.journal
        is_well = not (desk.health.trouble or desk.health.warning or desk.scanner.seen or desk.scanner.ready)
        return (
            is_well
            and self._reconciliation.has_found_nothing
            and not journal.responses.owed(desk.folder.id, desk.folder.company, desk.shared.now())
            and not journal.answers.owed(desk.folder.company)
        )
