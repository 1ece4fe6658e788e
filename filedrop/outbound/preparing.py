"""What is posted in place of a dropped file (contract 1, Preparation): made before the first request, and then kept.

The copy, `NAME.posted`, is beside the document before its row says "sending", and the row has its digest: so each retry
posts the same bytes, whatever the settings say by then. A copy that is missing or another one is made again, which
happens only to a document that certainly isn't at the access point.
"""

from __future__ import annotations

import io
from contextlib import closing, suppress
from typing import TYPE_CHECKING

from filedrop import identify
from filedrop.errors import DocumentError
from filedrop.files import NO_FILE, Drafts, discard
from filedrop.files.rights import explain
from filedrop.model.document import Need, State
from filedrop.model.fault import Fault
from filedrop.model.prepared import Prepared
from filedrop.outbound.identified import is_answer
from filedrop.outbound.upload import Changing, OpenedDocument
from filedrop.outbound.validating import Judgement
from filedrop.outbound.waiting import log_need
from filedrop.prepare import applied, edits_of, ids_to_write
from filedrop.storage.names import POSTED

if TYPE_CHECKING:
    from filedrop.config import Outbound
    from filedrop.files import Entry
    from filedrop.model.document import Document
    from filedrop.outbound.context import Context
    from filedrop.outbound.validating import Validating
    from filedrop.prepare import IdChange
    from filedrop.storage.folders import OutboundFolder


def must_judge(validating: Validating, document: Document, opened: OpenedDocument, rules: Outbound) -> bool:
    """Whether a document that is about to be posted must be prepared or validated before, by its company's settings."""
    return validating.must_judge(document, rules) or bool(changes_of(document, opened, rules))


def judge(
    shared: Context, validating: Validating, folder: OutboundFolder, document: Document, opened: OpenedDocument
) -> Judgement | None:
    """Prepare and validate a waiting document, as far as it must be. Called in a validator's thread.

    None where filedrop is stopping: it waits as before.
    """
    judgement: Judgement | None = prepare(shared, folder, document, opened)
    if judgement and judgement.passes and validating.must_judge(document, shared.rules):
        judgement = validating.judge(document, opened, shared.rules, local=folder.local)
    if judgement is None or not judgement.passes:
        discard_unsent(folder, document, opened)
    return judgement


def changes_of(document: Document, opened: OpenedDocument, rules: Outbound) -> list[IdChange]:
    """What is to be changed in a document before it is posted; nothing where it has its copy, or was posted as it is.

    `rules`: the settings of its company.
    """
    if not rules.prepare.ids or opened.copy is not None or opened.reading is None or is_answer(document):
        return []
    if document.prepared is None and any(event.event == "sending" for event in document.history):
        return []
    return ids_to_write({"sender": document.sender, "receiver": document.receiver}, opened.reading)


def prepare(shared: Context, folder: OutboundFolder, document: Document, opened: OpenedDocument) -> Judgement:
    """Make the copy of a waiting document that is posted, if anything is to be changed. In a validator's thread."""
    changes = changes_of(document, opened, shared.rules)
    if not changes:
        return Judgement(document, passes=True)
    entry, upload = _copy_of(folder, document), opened.upload(local=folder.local)
    try:
        edits = edits_of(upload.chunks(), changes, company=document.company)
        with Drafts(entry.directory) as drafts:
            draft = drafts.write_pieces(applied(upload.chunks(), edits))
            if not upload.unchanged():
                raise Changing
            drafts.flush()
            drafts.replace(draft, entry)
        entry.directory.sync()
        opened.post_instead(_read(entry, shared.rules.max_size), {change.role: change.ids for change in changes})
    except Changing:  # the next look at it puts it back
        return _waits(shared, document, "the file was changed", soon=True)
    except DocumentError as error:
        discard_copy(folder, document)  # it is there where it is too large
        return Judgement(document.failed(shared.now(), Fault.of(*error.texts)), passes=False)
    except OSError as error:
        return _waits(shared, document, f"{entry} can't be written: {explain(error, entry.path.parent)}")
    return Judgement(document, passes=True)


def prepare_in_memory(document: Document, opened: OpenedDocument, rules: Outbound) -> Fault | None:
    """Have posted what would be, without a copy on the disk; the fault where it can't be. For commands."""
    changes = changes_of(document, opened, rules)
    if not changes:
        return None
    upload = opened.upload(local=True)
    try:
        edits = edits_of(upload.chunks(), changes, company=document.company)
        content = b"".join(applied(upload.chunks(), edits))
        reading = identify.read(io.BytesIO(content), max_size=rules.max_size)
    except DocumentError as error:
        return Fault.of(*error.texts)
    copy = OpenedDocument(io.BytesIO(content), opened.status, content, reading)
    opened.post_instead(copy, {change.role: change.ids for change in changes})
    return None


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
    discard(_copy_of(folder, document))


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


def _copy_of(folder: OutboundFolder, document: Document) -> Entry:
    return folder.at("sending") / f"{document.file}{POSTED}"


def _read(entry: Entry, max_size: int) -> OpenedDocument:
    """A copy, opened and read. Raises OSError, DocumentError, Changing."""
    copy = OpenedDocument.open(entry)
    try:
        copy.read(max_size)
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
