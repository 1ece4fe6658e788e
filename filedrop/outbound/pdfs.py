"""The PDF of a document's name: which file that is, and whether it may go into the document.

`invoice.xml` has `invoice.pdf` next to it. The PDF is claimed with its document, and moves with it (outbound/filing).
"""

from __future__ import annotations

import hashlib
import re
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from filedrop.errors import DocumentError
from filedrop.files import FileStamp, InUse, open_known, open_regular
from filedrop.files.rights import explain
from filedrop.identify import is_pdf
from filedrop.model.prepared import PdfFile
from filedrop.outbound.upload import Changing
from filedrop.prepare import may_have_attachments
from filedrop.storage.names import PDF_SUFFIXES, Names, pdf_name, pdfs_of, stem
from filedrop.texts import Text
from filedrop.texts.printable import size
from filedrop.times import from_seconds

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from filedrop.config.prepare import Prepare
    from filedrop.files import Where
    from filedrop.identify import Reading

PIECE = 1 << 18  # bytes that are read at once
_END, _WITHIN = b"%%EOF", 1024  # the end of a PDF is in its last bytes (ISO 32000-1, Annex H, 3.4.4),
_PADDING = b"\0\t\n\f\r "  # not counting those by which some programs fill up a block (iTextSharp)
_OBJECT = re.compile(rb"\d+[\0\t\n\f\r ]+\d+[\0\t\n\f\r ]+obj\b")
_FIRST_PART = re.compile(rb"startxref[\0\t\n\f\r ]+0[\0\t\n\f\r ]*\Z")  # of a linearized one (Annex F)


class FoundPdf(NamedTuple):
    """A PDF, where it is, and its stamp when it was looked at; None for one that is in `sending/`."""

    where: Where
    file: PdfFile
    stamp: FileStamp | None = None

    def pieces(self) -> Iterator[bytes]:
        """Its bytes. Raises OSError, and Changing where these aren't the ones that were read before."""
        digest = hashlib.sha256()
        try:
            with open_regular(self.where) as file:
                for piece in iter(partial(file.read, PIECE), b""):
                    digest.update(piece)
                    yield piece
        except FileNotFoundError:
            raise Changing from None
        except OSError as error:
            raise OSError(error.errno, f"{self.where.name} can't be read: {error.strerror}") from error
        if digest.hexdigest() != self.file.sha256:
            raise Changing


class PdfLook(NamedTuple):
    """The PDF that goes with a document, None where there is none, and why the document fails by it, if it does.

    `may_change`: the PDF may yet be completed.
    """

    found: FoundPdf | None = None
    refusal: DocumentError | None = None
    may_change: bool = False


NO_PDF = PdfLook()


def pdf_for(
    file: Where,
    status: os.stat_result,
    reading: Reading,
    company: str,
    prepare: Prepare,
    *,
    left: Callable[[], tuple[list[tuple[Where, os.stat_result]], bool]],
) -> FoundPdf | None:
    """The PDF that would go with a document that was read, for commands. Raises DocumentError, OSError.

    `left`: if none is next to it, the PDFs that it left in `failed/`, and whether it must have one.
    """
    if not prepare.has_pdfs:
        return None
    pdfs, had_pdf = pdfs_of(file), False
    if not pdfs:
        pdfs, had_pdf = left()
    look = look_into(file, status, pdfs, company, prepare) if pdfs else NO_PDF
    if look.refusal is not None:
        raise look.refusal
    if look.found is None and (had_pdf or prepare.pdf == "require") and may_have_attachments(reading):
        raise missing(file.name)
    return look.found


def look_into(
    document: Where,
    status: os.stat_result,
    pdfs: Sequence[tuple[Where, os.stat_result]],
    company: str,
    prepare: Prepare,
) -> PdfLook:
    """What is wrong with the PDFs of a document's name, if anything is. Raises FileNotFoundError, InUse."""
    (pdf, pdf_status), *others = pdfs
    if others:
        return PdfLook(None, _refusal("two", document, pdf, company, other=others[0][0].name))
    unread = FoundPdf(pdf, PdfFile(pdf.name, pdf_status.st_size, ""), FileStamp.of(pdf_status))
    if pdf_status.st_size > prepare.pdf_size:
        limits = {"size": size(pdf_status.st_size), "limit": size(prepare.pdf_size)}
        return PdfLook(unread, _refusal("size", document, pdf, company, **limits))
    if status.st_mtime - pdf_status.st_mtime > prepare.pdf_older.total_seconds():
        written, pdf_written = (from_seconds(file.st_mtime).isoformat() for file in (status, pdf_status))
        return PdfLook(unread, _refusal("older", document, pdf, company, written=written, pdf_written=pdf_written))
    try:
        found, is_whole = read_pdf(pdf)
    except (FileNotFoundError, InUse):
        raise
    except OSError as error:
        refusal = _refusal("unreadable", document, pdf, company, reason=explain(error))
        return PdfLook(unread, refusal, may_change=True)
    return PdfLook(found, None if is_whole else _refusal("incomplete", document, pdf, company), may_change=not is_whole)


def read_pdf(pdf: Where) -> tuple[FoundPdf, bool]:
    """A PDF that was read, and whether it is whole; one that is cut may have an end further up. Raises OSError."""
    digest, head, tail, count = hashlib.sha256(), b"", b"", 0
    file, status = open_known(pdf)
    with file:
        for piece in iter(partial(file.read, PIECE), b""):
            digest.update(piece)
            head = head or piece[:_WITHIN]
            tail += piece
            end = len(tail.rstrip(_PADDING))
            tail = tail[max(0, end - 2 * _WITHIN) : end + 1]
            count += len(piece)
    found = FoundPdf(pdf, PdfFile(pdf.name, count, digest.hexdigest()), FileStamp.of(status))
    before, end_mark, behind = tail.rstrip(_PADDING).rpartition(_END)
    is_cut = _OBJECT.search(behind) or (b"/Linearized" in head and _FIRST_PART.search(before))
    return found, is_pdf(head) and bool(end_mark) and len(behind) < _WITHIN and not is_cut


def is_same(found: FoundPdf) -> bool:
    """Whether the PDF is still as it was read. Raises OSError."""
    try:
        for _ in found.pieces():
            pass
    except Changing:
        return False
    return True


def without_document(pdfs: Iterable[str], documents: Iterable[str]) -> frozenset[str]:
    """Those PDFs, by their names, that are beside none of these documents."""
    stems = Names(map(stem, documents))
    return frozenset(pdf for pdf in pdfs if stem(pdf) not in stems)


def missing(document: str) -> DocumentError:
    """The fault of a document without the PDF that it must have."""
    return DocumentError(Text.of("no-attachment/pdf", pdf=pdf_name(document, PDF_SUFFIXES[0]), document=document))


def _refusal(why: str, document: Where, pdf: Where, company: str, **facts: str) -> DocumentError:
    named = {"document": document.name, "pdf": pdf.name, "company": company}
    return DocumentError(Text.of(f"not-prepared/pdf-{why}", **named, **facts))
