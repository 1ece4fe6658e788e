"""What is posted in place of a dropped file (contract 1, Preparation): made before the first request, and then kept.

The copy, `NAME.posted`, is beside the document before its row says "sending", and the row has its digest: so each retry
posts the same bytes, whatever the settings say by then. A copy that is missing or another one is made again, which
happens only to a document that certainly isn't at the access point.
"""

from __future__ import annotations

import io
from contextlib import closing, suppress
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING

from filedrop import identify
from filedrop.errors import DocumentError
from filedrop.files import NO_FILE, Drafts, discard
from filedrop.files.patience import LOCALLY, asking
from filedrop.files.rights import explain
from filedrop.model.document import Need, State, participant_key
from filedrop.model.fault import Fault
from filedrop.model.prepared import Prepared
from filedrop.outbound.identified import is_answer
from filedrop.outbound.pdfs import FoundPdf, is_same, read_pdf
from filedrop.outbound.unreachable import ask, must_ask
from filedrop.outbound.upload import Changing, OpenedDocument
from filedrop.outbound.validating import Judgement
from filedrop.outbound.waiting import log_need
from filedrop.prepare import applied, attachments, id_edits, ids_to_write, may_have_attachments, pdf_edits
from filedrop.storage.names import PDF_SUFFIXES, POSTED, beside, pdf_name, pdfs_beside
from filedrop.texts import Text

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator

    from filedrop.config import Outbound
    from filedrop.files import Entry
    from filedrop.files.patience import Ask
    from filedrop.identify import Reading
    from filedrop.model.document import Document
    from filedrop.outbound.context import Context
    from filedrop.outbound.validating import Validating
    from filedrop.storage.company_folders import OutboundFolder


def must_judge(validating: Validating, document: Document, opened: OpenedDocument, rules: Outbound) -> bool:
    """Whether a document that is about to be posted must be judged before, by its company's settings."""
    is_changed = may_be_prepared(document, opened) and bool(
        (document.pdf and rules.prepare.puts_pdfs)
        or (rules.prepare.ids and ids_to_write(_ids_of(document), read_of(opened)))
    )
    is_checked = must_have_attachment(document, rules) or validating.must_judge(document, rules)
    return is_changed or is_checked or must_ask(document, rules)


def judge(
    shared: Context, validating: Validating, folder: OutboundFolder, document: Document, opened: OpenedDocument
) -> Judgement | None:
    """Ask for the receiver of a waiting document, prepare and validate it, as far as it must be.

    Called in a validator's thread. None where filedrop is stopping: it waits as before.
    """
    judgement: Judgement | None = Judgement(document, passes=True)
    if must_ask(document, shared.rules):  # first: what is sent another way needn't be valid for the network
        judgement = Judgement(*ask(shared, document))
    if judgement and judgement.passes:
        judgement = prepare(shared, folder, document, opened)
    if judgement and judgement.passes and validating.must_judge(document, shared.rules):
        judgement = validating.judge(document, opened, shared.rules, local=folder.local)
    if judgement is None or not judgement.passes:
        discard_unsent(folder, document, opened)
    return judgement


def may_be_prepared(document: Document, opened: OpenedDocument) -> bool:
    """Whether a document may be changed before it is posted: it has no copy yet, and was not posted as it is."""
    if opened.copy is not None or is_answer(document):
        return False
    return document.prepared is not None or not document.was_posted


def must_have_attachment(document: Document, rules: Outbound) -> bool:
    """Whether the receiver takes no document without an attachment. `rules`: the settings of the company."""
    patterns, receiver = rules.attachment_required, participant_key(document.receiver or "")
    if not patterns or document.unclear or is_answer(document):
        return False
    return any(fnmatchcase(receiver, pattern.lower()) for pattern in patterns)


def prepare(shared: Context, folder: OutboundFolder, document: Document, opened: OpenedDocument) -> Judgement:
    """Make the copy of a waiting document that is posted, if anything is to be changed. In a validator's thread."""
    ask, where = asking(local=folder.local), folder.path / "sending"
    try:
        copy, found = ask(partial(_copy_of, folder, document)), ask(partial(_pdf_of, folder, document))
        pdf = found if shared.rules.prepare.puts_pdfs else None
        if may_be_prepared(document, opened):
            keep = partial(_kept, copy, shared.rules.max_size, ask)
            post_instead(opened, document, shared.rules, document.company, keep, pdf=pdf, local=folder.local)
        demand_attachment(document, opened, shared.rules, local=folder.local)
    except Changing:  # the next look at it puts it back
        return _waits(shared, document, "the file was changed", soon=True)
    except DocumentError as error:
        with suppress(OSError):  # what stays is never posted
            discard_copy(folder, document)  # it is there where it is too large
        return Judgement(document.failed(shared.now(), Fault.of(*error.texts)), passes=False)
    except OSError as error:
        why = f"{where / document.file}{POSTED} can't be written: {explain(error, where)}"
        return _waits(shared, document, why)
    return Judgement(document, passes=True)


def post_instead(
    opened: OpenedDocument,
    document: Document,
    rules: Outbound,
    company: str,
    keep: Callable[[Iterable[bytes]], OpenedDocument],
    *,
    pdf: FoundPdf | None = None,
    local: bool = True,
) -> None:
    """Have posted what is to be posted in place of a file that was read, if anything is to be changed in it.

    `document` has the ids of the request. `rules`: the settings of the company. `keep` keeps the pieces, and opens
    and reads what it kept. `pdf`: the one of the same name. Raises DocumentError, OSError, Changing.
    """
    reading, upload = read_of(opened), opened.upload(local=local)
    changes = ids_to_write(_ids_of(document), reading) if rules.prepare.ids else []
    edits = id_edits(upload.chunks(), changes, company=company) if changes else []
    changed = {change.role: [change.before, change.after] for change in changes}
    if pdf is not None:
        pdf_pieces = partial(_asked, asking(local=local), pdf.pieces)
        if added := pdf_edits(upload.chunks, reading, pdf.file, pdf_pieces, company=company):
            edits += added
            changed["pdf"] = ["", pdf.file.name]

    def pieces() -> Iterator[bytes]:
        yield from applied(upload.chunks(), edits)
        if not upload.unchanged():
            raise Changing

    if edits:
        opened.post_instead(keep(pieces()), changed)


def demand_attachment(document: Document, opened: OpenedDocument, rules: Outbound, *, local: bool = True) -> None:
    """Raise DocumentError where what is posted must have an attachment and has none. Raises OSError."""
    if not must_have_attachment(document, rules) or not may_have_attachments(read_of(opened)):
        return
    if not any(sha256 for _, sha256 in attachments(opened.upload(local=local).chunks())):
        receiver = document.receiver_name or document.receiver
        facts = {"receiver": receiver, "id": document.receiver, "pdf": pdf_name(document.file, PDF_SUFFIXES[0])}
        text = "no-attachment/receiver-pdf" if rules.prepare.puts_pdfs else "no-attachment/receiver"
        raise DocumentError(Text.of(text, **facts))


def in_memory(max_size: int | None, status: os.stat_result, pieces: Iterable[bytes]) -> OpenedDocument:
    """A copy that is kept in memory, for commands. `status`: that of the file."""
    content = b"".join(pieces)
    return OpenedDocument(io.BytesIO(content), status, content, identify.read(io.BytesIO(content), max_size=max_size))


def keep_copy(folder: OutboundFolder, document: Document, opened: OpenedDocument, rules: Outbound) -> None:
    """Have a document's copy posted, if it has been posted before and is as it was then. Raises OSError.

    Any other copy of a document that certainly isn't at the access point is removed. What the disk refuses, stays.
    """
    prepared = document.prepared
    copy = _read_if_any(_copy_of(folder, document), rules.max_size) if prepared and prepared.changed else None
    if prepared and copy is not None and copy.reading is not None:
        if copy.reading.sha256 == prepared.sha256:
            opened.post_instead(copy, prepared.changed)
            return
        copy.close()
    if document.state is State.WAITING:
        with suppress(OSError):
            discard_copy(folder, document)


def discard_unsent(folder: OutboundFolder, document: Document, opened: OpenedDocument | None) -> None:
    """Remove the copy of a document that isn't posted now, and that no row names. What the disk refuses, stays."""
    if opened is not None and opened.copy is not None and document.prepared is None:
        opened.drop_copy()
        with suppress(OSError):
            discard_copy(folder, document)


def without_copy(folder: OutboundFolder, document: Document, opened: OpenedDocument) -> Document:
    """A document that failed before its first request, without its copy: nothing was sent."""
    if document.prepared is None or [event.event for event in document.history].count("sending") > 1:
        return document
    document = document.but(prepared=None, posted_meaning=None)
    discard_unsent(folder, document, opened)
    return document


def discard_copy(folder: OutboundFolder, document: Document) -> None:
    """Remove the copy of a document in `sending/` of which nothing was sent. Raises OSError."""
    asking(local=folder.local)(lambda: discard(_copy_of(folder, document)))


def has_other_pdf(folder: OutboundFolder, document: Document) -> bool:
    """Whether the PDF of a document that could not be prepared is missing or another one. Raises OSError."""
    found = _pdf_of(folder, document) if document.needs is Need.PREPARED else None
    return found is not None and not is_same(found)


def with_copy(folder: OutboundFolder, document: Document, rules: Outbound) -> Document:
    """A document in `sending/` that may have been posted, with the copy beside it, if the journal doesn't know one.

    Anybody may have put that there: a message with its content may be the document, but it is never posted. Raises
    OSError.
    """
    copy = None if document.prepared else _read_if_any(_copy_of(folder, document), rules.max_size)
    if copy is None:
        return document
    with closing(copy):
        reading = copy.reading
    if reading is None:
        return document
    return document.but(prepared=Prepared(reading.size, reading.sha256, {}), posted_meaning=reading.meaning)


def with_pdf(folder: OutboundFolder, document: Document) -> Document:
    """A document in `sending/` that has no row, with the PDF beside it. Raises OSError."""
    entry = folder.at("sending") / document.file
    pdfs = pdfs_beside(entry, folder.names_document)
    return document.but(pdf=read_pdf(entry.with_name(pdfs[0]))[0].file) if pdfs else document


def _pdf_of(folder: OutboundFolder, document: Document) -> FoundPdf | None:
    """The PDF of a document in `sending/`."""
    if document.pdf is None:
        return None
    return FoundPdf(beside(folder.at("sending") / document.file, document.pdf.name), document.pdf)


def _copy_of(folder: OutboundFolder, document: Document) -> Entry:
    return folder.at("sending") / f"{document.file}{POSTED}"


def _ids_of(document: Document) -> dict[str, str | None]:
    return {"sender": document.sender, "receiver": document.receiver}


def read_of(opened: OpenedDocument) -> Reading:
    """What was read of a file."""
    if opened.reading is None:
        raise ValueError("the file was not read")
    return opened.reading


def _asked(ask: Ask, pieces: Callable[[], Iterator[bytes]]) -> Iterator[bytes]:
    """The pieces, each through `ask`. Raises OSError, and what `pieces` raises."""
    left = pieces()
    while piece := ask(partial(next, left, b"")):
        yield piece


def _kept(entry: Entry, max_size: int, ask: Ask, pieces: Iterable[bytes]) -> OpenedDocument:
    """A copy that is kept on the disk, opened and read. Raises OSError, DocumentError, and what `pieces` raises."""
    with Drafts(entry.directory, ask) as drafts:
        draft = drafts.write_pieces(pieces)
        drafts.flush()
        drafts.replace(draft, entry)
    ask(entry.directory.sync)
    return _read(entry, max_size, ask)


def _read(entry: Entry, max_size: int, ask: Ask = LOCALLY) -> OpenedDocument:
    """A copy, opened and read. Raises OSError, DocumentError, Changing."""
    copy = ask(partial(OpenedDocument.open, entry))
    try:
        copy.read(max_size, ask=ask)
    except BaseException:
        copy.close()
        raise
    return copy


def _read_if_any(entry: Entry, max_size: int) -> OpenedDocument | None:
    """A copy, opened and read; None where there is none that can be a document. Raises OSError."""
    try:
        return _read(entry, max_size)
    except (FileNotFoundError, DocumentError, Changing):
        return None
    except OSError as error:
        if error.errno in NO_FILE:
            return None
        raise


def _waits(shared: Context, document: Document, why: str, *, soon: bool = False) -> Judgement:
    now = shared.now()
    due = now if soon else shared.retry.due(now, document.attempts + 1)
    waits = document.waits_for(now, Need.PREPARED, why, due=due)
    log_need(shared.log, waits, before=document)
    return Judgement(waits.but(attempts=document.attempts + 1), passes=False)
