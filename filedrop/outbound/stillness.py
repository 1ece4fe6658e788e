"""Whether a folder and the journal are still as the last rescan left them, so that the next one would find nothing.

A rescan lists four folders and asks the journal a dozen questions: with hundreds of companies, most of what an idle
daemon does. So a rescan that found nothing to do is repeated only when a folder's times (storage/entry_times) or
anything in the journal has changed; and every few minutes in any case. Files that are written to while they wait are
looked at by themselves (outbound/scanner).
"""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING

from filedrop.errors import JournalError
from filedrop.storage.entry_times import LOOKED_THROUGH_AFTER, OUTBOUND, entry_times

if TYPE_CHECKING:
    from filedrop.outbound.desk import Desk
    from filedrop.outbound.reconcile import Reconciliation


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
        steady, strays = self._desk.steady(), self._reconciliation.strays
        is_recent = steady < min(self._until, strays.next_in_archive)
        return is_recent and self._still is not None and self._still == self._look()

    def begin(self) -> None:
        """Note what the folder is like before a rescan."""
        self._still, self._begun = None, self._look()

    def note(self) -> None:
        """Note that the rescan has ended. Raises JournalError."""
        begun, self._begun = self._begun, None
        if begun is not None and self._has_nothing_to_do():
            self._still, self._until = begun, self._desk.steady() + LOOKED_THROUGH_AFTER * random.uniform(0.5, 1)  # noqa: S311 - not all folders at once

    def _look(self) -> object:
        """What changes with each entry of the folders and with each commit; None where that can't be told."""
        folder, shared = self._desk.folder, self._desk.shared
        times = entry_times(folder, OUTBOUND, shared.now())
        try:
            version = shared.journal.engine.version() if times else None
        except JournalError:  # the rescan reports it
            version = None
        return (version, times) if version is not None else None

    def _has_nothing_to_do(self) -> bool:
        """Whether nothing in the folder waits for time to pass, or for another attempt."""
        desk, journal = self._desk, self._desk.journal
        is_well = not (desk.health.trouble or desk.health.warnings or desk.scanner.seen or desk.scanner.ready)
        return (
            is_well
            and self._reconciliation.has_found_nothing
            and not journal.responses.owed(desk.folder.id, desk.folder.company, desk.now())
            and not journal.answers.owed(desk.folder.company)
        )
