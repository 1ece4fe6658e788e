"""Months of `archive/` that are wholly older than `keep.archive` are removed, with their rows of the journal.

A sidecar goes with the document that it stands beside; whatever else a person has put there stays. What the journal has
as unfinished stays, too, wherever its file lies. A month is old enough only where our clock and the access point's say
so: one may have been set. A document stays while another version of it is held in `outbound/`: without its row, that
would be sent.
"""

from __future__ import annotations

import math
import re
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING

from filedrop.model.document import State
from filedrop.outbound.filing import companions
from filedrop.storage import sidecar
from filedrop.storage.names import REJECTED_NOTE, beside

if TYPE_CHECKING:
    from collections.abc import Container, Iterator
    from datetime import datetime

    from filedrop.files import Directory
    from filedrop.model.document import Document
    from filedrop.outbound.desk import Desk

EVERY = 3600.0  # seconds between two rounds
LONGEST_STEP = 0.05  # seconds that a step takes, about: documents that are sent meanwhile wait for it
PAUSE = 0.1  # seconds between two steps
NOTED_EVERY = 60.0  # seconds between two notes of how far it is
UNTIL_KNOWN = 10.0  # seconds until the access point's clock, and what is in `outbound/`, may be known
ROWS_AT_ONCE = 200
ANY_ZONE = timedelta(days=1)  # a month's name is from the access point's time zone
_MONTH = re.compile(r"\d{4}-\d{2}")


class Retention:
    """What removes old months in one folder, a little at a time. `next` (steady): when the next step is due."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._round: Iterator[None] | None = None
        self._knows_copies = False
        self.next = -math.inf if desk.shared.keep_archive else math.inf

    def step(self) -> None:
        """Remove some of what is too old. Raises JournalError."""
        shared = self._desk.shared
        self.next = shared.steady() + EVERY
        if self._round is None:
            before = self._kept_from() if self._has_looked() else None
            if before is None:
                self.next = shared.steady() + UNTIL_KNOWN
                return
            self._round = self._remove(before)
        with self._desk.health.tolerant():
            for _ in self._round:
                self.next = shared.steady() + PAUSE
                return
        self._round = None  # at its end, or where the disk refused: the next round begins anew
        self._desk.health.report_progress("")

    def _has_looked(self) -> bool:
        """Whether all that was in `outbound/` at the start was looked at: until then, copies aren't known as such."""
        scanner = self._desk.scanner
        self._knows_copies |= not (scanner.ready or scanner.has_more or scanner.waits_for_writers())
        return self._knows_copies

    def _originals(self) -> set[str]:
        """The names of documents of which other versions are held in `outbound/`."""
        return {seen.copy_of for seen in self._desk.scanner.seen.values() if seen.copy_of}

    def _kept_from(self) -> datetime | None:
        """What was delivered before this moment is too old; None while that can't be told."""
        shared, theirs = self._desk.shared, self._desk.shared.access_point.clock()
        if theirs is None or shared.keep_archive is None:
            return None
        return min(shared.now(), theirs.astimezone()) - shared.keep_archive

    def _remove(self, before: datetime) -> Iterator[None]:
        """Remove what is too old, in slices. Raises OSError, JournalError."""
        folder, journal = self._desk.folder, self._desk.journal
        first_kept = (before - ANY_ZONE).strftime("%Y-%m")
        for month in folder.months():
            if _MONTH.fullmatch(month) and month < first_kept:
                yield from self._remove_month(month, before)
        place = f"archive/{first_kept}"
        while journal.removal.forget_archived(
            folder.id, folder.company, before, place, ROWS_AT_ONCE, kept=self._originals()
        ):
            yield
        while journal.engine.shrink():
            yield

    def _remove_month(self, month: str, before: datetime) -> Iterator[None]:
        folder, shared, removed, noted = self._desk.folder, self._desk.shared, 0, -math.inf
        facts = {"company": folder.company, "folder": str(folder.path)}
        rows: list[str] = []  # to be forgotten by id: the company may have been called otherwise
        sidecars = [name for name in folder.at(f"archive/{month}").names() if name.endswith(".json")]
        until, kept = shared.steady() + LONGEST_STEP, self._originals()
        for number, name in enumerate(sidecars, 1):
            within = folder.at(f"archive/{month}")
            with self._desk.health.tolerant():  # one that can't be removed now keeps neither the others nor the rows
                document_id = self._remove_document(within, name, before, kept)
                rows += [document_id] if document_id else []
            if shared.steady() >= until:
                removed += shared.journal.removal.forget(rows)
                rows = []
                if shared.steady() >= noted + NOTED_EVERY:
                    noted, of = shared.steady(), len(sidecars)
                    how_far = f"old documents are being removed: {number:,} of {of:,} in archive/{month}"
                    self._desk.health.report_progress(how_far)
                    shared.log.info("archive.removing", **facts, month=month, documents=number, of=of)
                yield
                until, kept = shared.steady() + LONGEST_STEP, self._originals()
        removed += shared.journal.removal.forget(rows)
        with suppress(OSError):  # a person has put something there
            (folder.at("archive") / month).rmdir()
        if removed:
            shared.log.info("archive.removed", **facts, month=month, documents=removed)

    def _remove_document(self, within: Directory, name: str, before: datetime, kept: Container[str]) -> str | None:
        """Remove a document and its sidecar, if that is one, and old by our clock too. Returns its id if it was.

        `kept`: the names of documents that are kept.
        """
        content = sidecar.read(within / name) or {}
        if content.get("state") != State.DELIVERED:  # a person's: a received document with its sidecar, say
            return None
        document_id = sidecar.id_in(content)
        row = self._desk.journal.documents.by_id(document_id) if document_id else None
        if document_id is None or (row and not (row.state.finished and _ended(row) < before)):
            return None
        if row and row.dropped_as in kept:
            return None
        document = within / name.removesuffix(".json")
        document.unlink(missing_ok=True)
        restored = sidecar.restore(content, folder="", company="", place="")
        for end in companions(restored) if restored else ():
            beside(document, end).unlink(missing_ok=True)
        if content.get("responses") and sidecar.is_rejection_note(note := document.beside(REJECTED_NOTE)):
            note.unlink(missing_ok=True)
        (within / name).unlink(missing_ok=True)  # the last: without it the document would stay
        return document_id


def _ended(document: Document) -> datetime:
    """When it came to its end, by our clock; a row that a sidecar has restored may tell no history."""
    return document.history[-1].at if document.history else document.claimed
