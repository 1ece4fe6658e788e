"""The look for the PDF of a dropped file that is ready: the file waits for it, in the scanner's memory."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from typing import TYPE_CHECKING

from filedrop.files import FileStamp, InUse, changed_at, is_closed, open_regular, place
from filedrop.outbound.pdfs import NO_PDF, PdfLook, look_into, missing
from filedrop.outbound.readiness import SOON, Clock, wait_for_writer
from filedrop.storage import sidecar
from filedrop.storage.names import PDF_SUFFIXES, pdf_name, pdfs_of, stem
from filedrop.storage.own_name import moved_back

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from filedrop.errors import DocumentError
    from filedrop.outbound.desk import Desk


def look_for_pdf(desk: Desk, name: str, status: os.stat_result, *, is_awaited: bool) -> PdfLook | None:
    """The PDF for a file in `outbound/` that is ready; None while that waits, and then the scanner remembers it.

    `is_awaited`: the file waits for a PDF that isn't there. Raises OSError, JournalError.
    """
    rules, here = desk.shared.rules, desk.folder.at() / name
    pdfs = pdfs_of(here)
    if not pdfs:
        left = _left_in_failed(desk, name, status)
        return left if left.found is not None or not is_awaited else _look_without(desk, name, status)
    pdf, pdf_status = pdfs[0]
    if wait := _wait(desk, pdf.name, pdf_status):
        _remember(desk, name, status, pdf.name, wait)
        return None
    try:
        look = look_into(here, status, pdfs, desk.folder.company, rules.prepare)
    except (FileNotFoundError, InUse):
        _remember(desk, name, status, pdf.name, SOON)
        return None
    patience = rules.incomplete_after.total_seconds() - _unchanged(desk, pdf.name, pdf_status)
    if not look.may_change or patience <= 0:
        return look
    _remember(desk, name, status, pdf.name, patience, fault=look.refusal)
    return None


def return_pdfs(desk: Desk, pdfs: Iterable[str]) -> None:
    """Move PDFs that are alone in `sending/` back to `outbound/`: the move of their document was cut off."""
    here, sending = desk.folder.at(), desk.folder.at("sending")
    before = dict[str, str]()  # the names in `outbound/`, by the stems here
    for note, document in desk.folder.notes("sending"):
        if note.endswith(".json") and (name := sidecar.name_before(sending / note)):
            before[stem(document)] = name
    for pdf in pdfs:
        with suppress(FileNotFoundError, FileExistsError):
            place(sending / pdf, here / pdf_name(before.get(stem(pdf), pdf), pdf))
            desk.scanner.wake()


def _look_without(desk: Desk, name: str, status: os.stat_result) -> PdfLook | None:
    """What becomes of a file without a PDF: it waits, goes alone, or fails."""
    rules, prepare = desk.shared.rules, desk.shared.rules.prepare
    is_required = prepare.pdf == "require"
    longest = rules.incomplete_after if is_required else prepare.pdf_wait
    if not (desk.folder.local or is_required):  # no event tells of it
        longest = max(longest, rules.rescan)
    refusal = missing(name) if is_required else None
    patience = longest.total_seconds() - desk.scanner.unchanged(name, status, _clock(desk))
    if patience <= 0 or desk.folder.ready.ends:  # the ready file says that both are there
        return PdfLook(refusal=refusal)
    _remember(desk, name, status, pdf_name(name, PDF_SUFFIXES[0]), patience, fault=refusal)
    return None


def _left_in_failed(desk: Desk, name: str, status: os.stat_result) -> PdfLook:
    """The PDF of a document that a person has moved back without it, if both are as they were."""
    here, left = desk.folder.at() / name, desk.folder.at("failed") / name
    document = moved_back(left, desk.folder.id, desk.shared.journal)
    if document is None or document.pdf is None:
        return NO_PDF
    pdf, before = left.with_name(pdf_name(name, document.pdf.name)), document.pdf
    try:
        with open_regular(here) as file:  # a corrected document has another PDF
            if hashlib.file_digest(file, "sha256").hexdigest() != document.sha256:
                return NO_PDF
        look = look_into(here, status, [(pdf, pdf.lstat())], document.company, desk.shared.rules.prepare)
    except OSError:
        return NO_PDF
    found = look.found.file if look.found else before
    is_same = found.sha256 == before.sha256 if found.sha256 and before.sha256 else found.size == before.size
    return look if is_same else NO_PDF


def _remember(
    desk: Desk, name: str, status: os.stat_result, pdf: str, wait: float, *, fault: DocumentError | None = None
) -> None:
    """Remember a file that waits for this PDF, for so many seconds at most."""
    now = _clock(desk)
    unchanged, again = desk.scanner.unchanged(name, status, now), min(wait, desk.shared.rules.rescan.total_seconds())
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
    return wait_for_writer(unchanged, settle=desk.shared.rules.settle, closed=closed, local=desk.folder.local)


def _unchanged(desk: Desk, name: str, status: os.stat_result) -> float:
    """For how many seconds a PDF has been as it is."""
    return desk.scanner.pdf_unchanged(name, FileStamp.of(status), changed_at(status), _clock(desk))


def _clock(desk: Desk) -> Clock:
    return Clock(desk.shared.steady(), desk.shared.now().timestamp())
