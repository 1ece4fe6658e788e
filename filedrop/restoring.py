"""Restoring the rows of a folder that knows more than the journal, because that is new, or an older copy of itself.

Sidecars are rows enough. What they don't tell of may have been posted: it is looked for before it is sent.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from filedrop import sidecar
from filedrop.document import Document, State
from filedrop.files import open_regular
from filedrop.marker import why_outdated

if TYPE_CHECKING:
    from collections.abc import Iterator

    from filedrop.desk import Desk
    from filedrop.folders import OutboundFolder
    from filedrop.lane import Lane

ROWS_AT_ONCE = 500


class Restoring:
    """Restores what the journal doesn't know in the outbound folders of one account."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def see_outdated(self, lane: Lane) -> None:
        """Is the journal older than the folder's marker? Then nothing that it takes for waiting is trusted any more."""
        desk, folder = self._desk, lane.folder
        missing = folder.changes - desk.journal.changes(folder.id).marked
        if missing <= 0:
            return
        lane.outdated = why_outdated(missing)
        desk.log.error("journal.outdated", company=folder.company, folder=str(folder.path), why=lane.outdated)
        waiting = [row for row in desk.journal.lying_in(folder.id, "sending") if row.state is State.WAITING]
        suspects = [document.suspected(desk.now(), desk.access_point.identity) for document in waiting]
        desk.journal.unsettle(folder.id, folder.changes, suspects)

    def restore(self, lane: Lane) -> None:
        """Bring the rows up to what lies in the folder. Raises OSError, JournalError."""
        journal, batch = self._desk.journal, list[Document]()
        for document in self._restored(lane.folder):
            row = journal.document(document.id)
            if row is None:
                batch.append(document)
            elif row.folder == document.folder and _whereabouts(row) != _whereabouts(document):
                batch.append(replace(document, revision=row.revision))
            if len(batch) >= ROWS_AT_ONCE:
                with lane.folder.not_busy():  # however much lies there, a folder that answers doesn't hang
                    journal.record_all(batch)
                batch = []
        journal.record_all(batch)
        self._let_go_of_strangers(lane.folder)

    def _restored(self, folder: OutboundFolder) -> Iterator[Document]:
        """The documents that lie there with a sidecar of ours. What was moved on last comes last."""
        months = sorted(month.name for month in (folder.path / "archive").iterdir() if month.is_dir())
        for place in ("sent", "failed", *(f"archive/{month}" for month in months)):
            names = frozenset(folder.names(place))
            for name in sorted(names):
                if name.endswith(".json") and name.removesuffix(".json") in names:
                    content = sidecar.read(folder.path / place / name)
                    document = (
                        sidecar.restore(content, folder=folder.id, company=folder.company, place=place)
                        if content
                        else None
                    )
                    if document is not None and document.home == place:
                        yield document

    def _let_go_of_strangers(self, folder: OutboundFolder) -> None:
        """Documents whose name another one's file has by now: their own files were taken since."""
        journal, now = self._desk.journal, self._desk.now()
        strangers = [
            document
            for place, is_its_own in (("sending", _has_its_bytes), ("sent", _has_its_sidecar))
            for document in journal.lying_in(folder.id, place)
            if not is_its_own(folder, document)
        ]
        journal.record_all(document.gone(now) for document in strangers)


def _whereabouts(document: Document) -> tuple[State, str, str]:
    return document.state, document.place, document.file


def _has_its_bytes(folder: OutboundFolder, document: Document) -> bool:
    """What has gone altogether is left to the sweeps, which find out whether a person has taken it."""
    with suppress(OSError), open_regular(folder.path / document.place / document.file) as file:
        return not document.sha256 or hashlib.file_digest(file, "sha256").hexdigest() == document.sha256
    return True


def _has_its_sidecar(folder: OutboundFolder, document: Document) -> bool:
    return sidecar.identity_of(folder.path / document.place / f"{document.file}.json") in (None, document.id)
