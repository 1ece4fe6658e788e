"""The look for the PDF of a dropped file that is ready: the file waits for it, in the scanner's memory."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from filedrop.files import FileStamp, InUse, changed_at, is_closed, place
from filedrop.outbound.pdfs import NO_PDF, PdfLook, look_into, missing
from filedrop.outbound.readiness import SOON, Clock, wait_for_writer
from filedrop.storage import sidecar
from filedrop.storage.names import PDF_SUFFIXES, pdf_name, pdfs_of, stem
from filedrop.storage.own_name import former

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from filedrop.config.prepare import Prepare
    from filedrop.errors import DocumentError
    from filedrop.files import Where
    from filedrop.identify import Reading
    from filedrop.journal import Journal
    from filedrop.outbound.desk import Desk
    from filedrop.storage.company_folders import OutboundFolder


def look_for_pdf(
    desk: Desk, name: str, status: os.stat_result, reading: Reading | None, *, is_awaited: bool
) -> PdfLook | None:
    """The PDF for a file in `outbound/` that is ready; None while that waits, and then the scanner remembers it.

    `reading`: what was read of the file, None where it wasn't read now, or can't be. `is_awaited`: the file waits for a
    PDF that isn't there. Raises OSError, JournalError.
    """
    rules, here = desk.rules, desk.folder.at() / name
    pdfs, had_pdf = pdfs_of(here), False
    if not pdfs and reading is not None:
        pdfs, had_pdf = left_pdfs(desk.folder, desk.folder.id, desk.journal, name, reading, prepare=rules.prepare)
    if not pdfs:
        return _look_without(desk, name, status, is_required=had_pdf) if is_awaited else NO_PDF
    pdf, pdf_status = pdfs[0]
    awaited = "" if had_pdf else pdf.name  # the one in `failed/` is found by what is read of the document
    if wait := _wait(desk, pdf.name, pdf_status):
        _remember(desk, name, status, awaited, wait)
        return None
    try:
        look = look_into(here, status, pdfs, desk.folder.company, rules.prepare)
    except (FileNotFoundError, InUse):
        _remember(desk, name, status, awaited, SOON)
        return None
    patience = rules.incomplete_after.total_seconds() - _unchanged(desk, pdf.name, pdf_status)
    if not look.may_change or patience <= 0:
        return look
    _remember(desk, name, status, awaited, patience, fault=look.refusal)
    return None


def return_pdfs(desk: Desk, pdfs: Iterable[str]) -> None:
    """Move PDFs that are alone in `sending/` back to `outbound/`: the move of their document was cut off."""
    here, sending = desk.folder.at(), desk.folder.at("sending")
    notes = ((note, document) for note, document in desk.folder.notes("sending") if note.endswith(".json"))
    before = {stem(document): sidecar.name_before(sending / note) for note, document in notes}
    for pdf in pdfs:
        with suppress(FileNotFoundError, FileExistsError):
            place(sending / pdf, here / pdf_name(before.get(stem(pdf)) or pdf, pdf))
            desk.scanner.wake()


def _look_without(desk: Desk, name: str, status: os.stat_result, *, is_required: bool) -> PdfLook | None:
    """What becomes of a file without a PDF: it waits, goes alone, or fails. `is_required`: it had one before."""
    rules, prepare = desk.rules, desk.rules.prepare
    is_required |= prepare.pdf == "require"
    longest = rules.incomplete_after if is_required else prepare.pdf_wait
    if not (desk.folder.local or is_required):  # no event tells of it
        longest = max(longest, rules.rescan)
    refusal = missing(name) if is_required else None
    patience = longest.total_seconds() - desk.scanner.unchanged(name, status, _clock(desk))
    if patience <= 0 or desk.folder.ready.ends:  # the ready file says that both are there
        return PdfLook(refusal=refusal)
    _remember(desk, name, status, pdf_name(name, PDF_SUFFIXES[0]), patience, fault=refusal)
    return None


def left_pdfs(
    folder: OutboundFolder, folder_id: str, journal: Journal, name: str, reading: Reading, *, prepare: Prepare
) -> tuple[list[tuple[Where, os.stat_result]], bool]:
    """The PDFs that a document left when it was moved back without one, and whether it must have one, as before.

    An unchanged document gets what has its name there: its PDF was left, or a person has put a better one in its place.
    A changed one, or a copy of one that is still there, gets none, and needs one. Raises OSError, JournalError.
    """
    by_sidecar = former(folder.at() / name, folder.ended(), folder_id, journal)
    document = by_sidecar or journal.documents.unsent_with_pdf(folder_id, reading)
    if document is None or document.pdf is None:
        return [], False
    left = folder.at(document.place) / document.file
    pdfs, is_itself = pdfs_of(left), document.sha256 == reading.sha256 and not left.exists()
    return pdfs if is_itself else [], prepare.puts_pdfs and bool(by_sidecar or pdfs)


def _remember(
    desk: Desk, name: str, status: os.stat_result, pdf: str, wait: float, *, fault: DocumentError | None = None
) -> None:
    """Remember a file that waits for this PDF, for so many seconds at most."""
    now = _clock(desk)
    unchanged, again = desk.scanner.unchanged(name, status, now), min(wait, desk.rules.rescan.total_seconds())
    stamp = FileStamp.of(status)
    desk.scanner.remember(name, stamp, now.steady, look_again=again, unchanged=unchanged, fault=fault, waits_for=pdf)


def _wait(desk: Desk, name: str, status: os.stat_result) -> float:
    """How many more seconds the writer of a PDF may need."""
    if desk.folder.ready.ends:
        return 0.0
    try:
        closed = is_closed(desk.folder.at() / name) and desk.folder.local
    except InUse:
        return SOON
    closed |= desk.scanner.is_closed(name)
    unchanged = _unchanged(desk, name, status)
    return wait_for_writer(unchanged, settle=desk.rules.settle, closed=closed, local=desk.folder.local)


def _unchanged(desk: Desk, name: str, status: os.stat_result) -> float:
    """For how many seconds a PDF has been as it is."""
    return desk.scanner.pdf_unchanged(name, FileStamp.of(status), changed_at(status), _clock(desk))


def _clock(desk: Desk) -> Clock:
    return Clock(desk.steady(), desk.now().timestamp())
