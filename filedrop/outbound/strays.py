"""Strays: files that nobody will ever send (contract 1, "Files that nobody will send").

Their names aren't documents', or a person has put them into a place for filedrop's own files. The worker in a folder
looks for them after each comparison, and in `archive/` once an hour. A stray is reported when it was seen unchanged for
a minute, because a file may just be being moved: in `sent/`, a document's file comes before its row. Only a few names
of each place are followed, however many there are; of the others, only the number is known.
"""

from __future__ import annotations

import math
import stat
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from filedrop import identify
from filedrop.files import FileStamp, changed_at, open_regular
from filedrop.outbound.readiness import Clock, Seen, unchanged_for
from filedrop.storage import sidecar
from filedrop.storage.hold import holds
from filedrop.storage.marker import MARKER
from filedrop.storage.names import (
    A_PDF,
    NEVER_DOCUMENTS,
    PDF_WITH_INVOICE,
    POSTED,
    Names,
    is_conflict_copy,
    is_of_the_system,
    is_temporary,
    may_be_shortened,
    stem,
    unnumbered,
)
from filedrop.texts.languages import marked

if TYPE_CHECKING:
    import os
    from collections.abc import Generator, Iterable, Iterator, Mapping

    from filedrop.files import Entry
    from filedrop.outbound.desk import Desk
    from filedrop.storage.company_folders import OutboundFolder

FOLLOWED = 100  # names of each place
UNCHANGED = 60.0  # seconds until a stray is reported,
WHILE_WRITTEN = 3600.0  # and one whose name is that of a file that a program is writing
ARCHIVE_EVERY = 3600.0  # seconds between two listings of `archive/`
MONTHS = 3  # of `archive/` that are listed at most
LISTED_AT_ONCE = 1000  # names
ALMOST = 0.75  # of the letters of a name, as difflib counts them: all but one of `sent`
PIECE = 1 << 16  # bytes of a PDF that are read at once,
PIECES = 200  # and how many of these at most

NO_DOCUMENT = marked("files with such a name are never sent")
NO_FILE = marked("it is a folder or a link: filedrop sends only files that are in outbound/ itself")
LIKE_OURS = marked(
    "its name is almost that of a folder of filedrop's own (sending, sent, failed, not-on-peppol, archive): rename it "
    "back"
)
CONFLICT_COPY = marked(
    "it is another version of a file with a similar name. Compare the two: delete this one, or send it by giving it a "
    "name that isn't similar"
)
READY_ALONE = marked("it shows that a file is ready, and that file isn't there")
BEING_WRITTEN = marked("its name is that of an unfinished file, so it isn't sent")
PDF_ALONE = marked("it is a PDF, and no document of its name is next to it")
PDF_WITHOUT_INVOICE = marked("a PDF is sent only in the invoice of its name, and there is none")
PDF_OF_FAILED = marked("its document is in failed/: move it back to outbound/, and it is sent with this PDF")
PDF_OF_UNREACHABLE = marked("its document is in not-on-peppol/: put the PDF next to it")
PDF_TOO_LATE = marked("the document of its name was sent before, without this PDF")
COPY_ALONE = marked("it was posted for a document that isn't there any more")
PUT_THERE = marked("filedrop didn't put it there, so it was not sent from here")


class PossibleStray(NamedTuple):
    """A name that may be a stray's: after how many seconds it is reported, and why."""

    patience: float
    name: str
    why: str


@dataclass(frozen=True, slots=True)
class Stray:
    """A stray in `place` ("" is `outbound/` itself), and since when it is as it is now, in seconds since 1970."""

    place: str
    name: str
    why: str
    since: float


@dataclass(slots=True)
class Strays:
    """The strays of one folder. The worker in that folder changes it; other threads read `found` and `number`.

    `found` is None until the first look that others could have led to a report. `number` counts those, too, that are
    in none of the lists.
    """

    found: tuple[Stray, ...] | None = None
    number: int = 0
    candidates: dict[str, tuple[list[PossibleStray], int]] = field(default_factory=dict)
    seen: dict[tuple[str, str], Seen] = field(default_factory=dict)
    pdfs: dict[tuple[str, str], tuple[FileStamp, str]] = field(default_factory=dict)
    first_look: float = math.inf
    next_in_archive: float = -math.inf


def look_for_strays(
    desk: Desk,
    strays: Strays,
    sending: Iterable[str],
    copies: Mapping[str, Iterable[str]],
    *,
    sent: bool,
    archive: bool,
) -> Generator[None, None, None]:
    """Look at all places, in slices. Raises OSError, JournalError.

    `sending`: the names in `sending/` that no document has. `copies`: of posted copies and PDFs without their
    documents, the names by place. `sent`: whether there are such names in `sent/`. `archive`:
    whether `archive/` may be listed now, if that is due.
    """
    steady = desk.steady()
    places: dict[str, Iterator[PossibleStray | None]] = {
        "": _in_outbound(desk),
        "sending": (_candidate(desk, name, PUT_THERE) for name in sending),
        "sent": _in_sent(desk) if sent else iter(()),
    }
    for place, names in copies.items():
        pdf_alone = PDF_ALONE if desk.folder.has_pdfs else PUT_THERE
        lone = [_candidate(desk, name, COPY_ALONE if name.endswith(POSTED) else pdf_alone) for name in names]
        places[place] = chain(places.get(place, ()), lone)
    if archive and steady >= strays.next_in_archive:
        strays.next_in_archive = steady + ARCHIVE_EVERY
        months = desk.folder.months()
        places |= {place: iter(()) for place in strays.candidates if place.startswith("archive")}
        places["archive"] = (_document(desk, name) for name in desk.folder.documents("archive"))
        places |= {f"archive/{month}": _in_month(desk, month) for month in _recent(desk, months)}
    for place, candidates in places.items():
        strays.candidates[place] = yield from _first(candidates)
    _confirm(desk, strays)


def _recent(desk: Desk, months: list[str]) -> list[str]:
    """The folders of this month and the last one, by our clock; those of later ones, too, in which clocks differ."""
    today = desk.now()
    last = f"{today.year - 1}-12" if today.month == 1 else f"{today.year}-{today.month - 1:02}"
    return [month for month in months if month >= last][:MONTHS]


def _first(candidates: Iterator[PossibleStray | None]) -> Generator[None, None, tuple[list[PossibleStray], int]]:
    """The candidates that are reported first, at most FOLLOWED, and the number of all; of all that is yielded."""
    few, number = list[PossibleStray](), 0
    for seen, candidate in enumerate(candidates, 1):
        if candidate is not None:
            few.append(candidate)
            number += candidate.patience == UNCHANGED
            if len(few) > 2 * FOLLOWED:
                few = sorted(few)[:FOLLOWED]
        if seen % LISTED_AT_ONCE == 0:
            yield
    return sorted(few)[:FOLLOWED], number


def _confirm(desk: Desk, strays: Strays) -> None:
    """Report the candidates that are still there, and have been as they are for long enough."""
    now = Clock(desk.steady(), desk.now().timestamp())
    seen, found, number = dict[tuple[str, str], Seen](), list[Stray](), 0
    pdfs = dict[tuple[str, str], tuple[FileStamp, str]]()
    stems = desk.scanner.stems() if desk.folder.has_pdfs else set[str]()  # of the documents that wait for their PDFs
    for place, (candidates, total) in strays.candidates.items():
        reported = 0
        for candidate in candidates:
            key = place, candidate.name
            status = _status(desk.folder, place, candidate.name)
            if status is None or (place == "" and desk.folder.is_pdf(candidate.name) and stem(candidate.name) in stems):
                continue
            stamp, local = FileStamp.of(status), desk.folder.local and place == ""
            unchanged = unchanged_for(strays.seen.get(key), stamp, changed_at(status), now, local=local)
            seen[key] = Seen(stamp, now.steady - unchanged)
            if unchanged >= candidate.patience:
                why = candidate.why
                if place == "" and desk.folder.is_pdf(candidate.name):
                    why = _why_pdf_alone(desk, candidate.name)
                elif candidate.why == NO_DOCUMENT:
                    before = strays.pdfs.get(key)  # each file is read once
                    is_same = before and before[0] == stamp
                    pdfs[key] = before if before and is_same else (stamp, _why_no_pdf(desk, candidate.name))
                    why = pdfs[key][1] or why
                found.append(Stray(place, candidate.name, why, now.wall - unchanged))
                reported += 1
        number += reported + (max(0, total - len(candidates)) if reported else 0)
    strays.seen, strays.number, strays.pdfs = seen, number, pdfs
    strays.first_look = min(strays.first_look, now.steady)
    if found or now.steady - strays.first_look >= UNCHANGED:
        strays.found = tuple(found)


def _why_pdf_alone(desk: Desk, name: str) -> str:
    """Why a PDF in `outbound/`, by its name a document's, isn't sent."""
    folder, documents = desk.folder, [f"{stem(name)}{suffix}" for suffix in (".xml", ".XML")]
    for ended, why in zip(folder.ended(), (PDF_OF_FAILED, PDF_OF_UNREACHABLE), strict=False):
        if any((ended / document).exists() for document in documents):
            return why
    is_late = any(desk.journal.documents.has_had(folder.id, document, document) for document in documents)
    return PDF_TOO_LATE if is_late else PDF_WITHOUT_INVOICE


def _why_no_pdf(desk: Desk, name: str) -> str:
    """Why a file in `outbound/` isn't sent, if it is a PDF; "" where it is none, or can't be read."""
    try:
        with open_regular(desk.folder.at() / name) as file:
            head = file.read(PIECE)
            if not identify.is_pdf(head):
                return ""
            more = (file.read(PIECE) for _ in range(PIECES))
            return PDF_WITH_INVOICE if identify.named_invoice(chain([head], more)) else A_PDF
    except OSError:
        return ""


def _status(folder: OutboundFolder, place: str, name: str) -> os.stat_result | None:
    """The status of a candidate that is still there; None for one beside its document, or a sidecar of ours."""
    try:
        entry = folder.at(place) / name
        status = entry.lstat()
    except OSError:  # gone, or the place is
        return None
    return None if place == "" and stat.S_ISREG(status.st_mode) and _belongs(entry, folder) else status


def _belongs(entry: Entry, folder: OutboundFolder) -> bool:
    """Whether this is a note, sidecar or ready file whose document is there, or a sidecar that is cleared away soon."""
    for end in (*NEVER_DOCUMENTS, *folder.ready.ends):
        base = entry.name.removesuffix(end)
        if base not in ("", entry.name) and entry.with_name(base).exists():
            return True
    return entry.name.endswith(".json") and sidecar.read(entry) is not None


def _in_outbound(desk: Desk) -> Iterator[PossibleStray | None]:
    folder = desk.folder
    for entry in folder.at().scan():
        name = entry.name
        seen = desk.scanner.seen.get(name)
        if seen is not None and seen.copy_of:
            yield PossibleStray(UNCHANGED, name, CONFLICT_COPY)
        elif holds(entry) or folder.is_dropped(entry) or name == MARKER or name in folder.subfolders:
            yield None
        elif entry.is_file(follow_symlinks=False):
            yield _candidate(desk, name, NO_DOCUMENT)
        else:
            is_hidden = name.startswith(".") or is_of_the_system(name)
            why = LIKE_OURS if get_close_matches(name.lower(), folder.subfolders, 1, ALMOST) else NO_FILE
            yield None if is_hidden or desk.folder.expects(name) else PossibleStray(UNCHANGED, name, why)


def _candidate(desk: Desk, name: str, why: str) -> PossibleStray | None:
    """A file that is no document by its name; None where such names are expected."""
    if is_of_the_system(name) or desk.folder.expects(name):
        return None
    if name.endswith(desk.folder.ready.ends):
        return PossibleStray(WHILE_WRITTEN, name, READY_ALONE)
    if is_temporary(name):
        return PossibleStray(WHILE_WRITTEN, name, BEING_WRITTEN)
    return PossibleStray(UNCHANGED, name, CONFLICT_COPY if why == NO_DOCUMENT and is_conflict_copy(name) else why)


def _document(desk: Desk, name: str) -> PossibleStray | None:
    return PossibleStray(UNCHANGED, name, PUT_THERE) if desk.folder.names_document(name) else None


def _in_sent(desk: Desk) -> Iterator[PossibleStray | None]:
    """Files in `sent/` that have neither a row nor a sidecar."""
    known, folder = Names(), desk.folder
    for name, _ in desk.journal.documents.files_in(folder.id, "sent"):
        known.add(name)
        yield None
    for name in folder.names("sent"):
        if name.endswith(".json"):
            known.add(name.removesuffix(".json"))
        yield None
    for name in folder.documents("sent"):
        if name in known or folder.may_be_pdf(name):  # what of these is alone is in `copies`
            yield None
        else:
            yield _document(desk, name) or _candidate(desk, name, PUT_THERE)


def _in_month(desk: Desk, month: str) -> Iterator[PossibleStray | None]:
    """Documents in a folder of `archive/` that have neither a sidecar nor a row."""
    within, known = desk.folder.at("archive").folder(month), Names()
    for name in within.names():
        if name.endswith(".json"):
            known.add(name.removesuffix(".json"))
        yield None
    for entry in within.scan():
        name = entry.name
        is_known = name in known or not desk.folder.names_document(name) or may_be_shortened(name)
        if (
            is_known
            or not entry.is_file(follow_symlinks=False)
            or desk.journal.documents.has_had(desk.folder.id, name, unnumbered(name))
        ):
            yield None
        else:
            yield PossibleStray(UNCHANGED, name, PUT_THERE)
