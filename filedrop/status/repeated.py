"""Received documents that may be duplicates (contract 10).

A duplicate counts where it was placed: a person who moves it away, or answers it by that, has dealt with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from filedrop.status.model import Item, message_label
from filedrop.storage.company_folders import received_paths
from filedrop.texts.languages import Translatable, marked
from filedrop.times import stated

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

    from filedrop.config import Company
    from filedrop.journal import Journal, MessageRow
    from filedrop.status.folders import FolderSnapshot

REPEATED = marked("The same document was received before, as {file} (message {number})")


class Repeated(NamedTuple):
    """A company's message that may be a duplicate, and the name of the earlier document, "" where it isn't known."""

    company: Company
    row: MessageRow
    earlier: str

    def paths(self) -> Iterator[Path]:
        """Where to look for the two documents."""
        yield self._path
        yield from self._earlier_paths()

    def item(self, snapshots: Mapping[Path, FolderSnapshot]) -> Item | None:
        """The duplicate with the earlier document where it is now; None where the duplicate isn't there any more.

        `snapshots`: what lies in each folder, with those of the `paths` that are there.
        """
        folder = self.company.inbound
        snapshot = snapshots.get(folder)
        is_known = snapshot is not None and not snapshot.trouble
        there = snapshot.there if snapshot else ()
        if is_known and self._path not in there:
            return None
        file = next((path.relative_to(folder).as_posix() for path in self._earlier_paths() if path in there), "")
        return Item(
            name=self.row.file,
            known=message_label(self.row.msg_no),
            path=str(self._path),
            why=Translatable.of(REPEATED, file=file or self.earlier or "?", number=self.row.repeats),
            do=[],
            since=stated(self.row.placed),
            order=self.row.placed.timestamp() if self.row.placed else 0.0,
        )

    @property
    def _path(self) -> Path:
        return self.company.inbound / self.row.file

    def _earlier_paths(self) -> Sequence[Path]:
        return received_paths(self.company.inbound, self.earlier) if self.earlier else ()


def repeated_since(journal: Journal, company: Company, since: datetime) -> list[Repeated]:
    """A company's received documents that came before, of those placed since then. Raises JournalError."""
    rows = journal.messages.repeats(company.name, since)
    names = journal.messages.earlier_names(rows)
    return [Repeated(company, row, earlier) for row, earlier in zip(rows, names, strict=True)]
