"""Answers to received documents become documents of the company's first outbound folder (`inbound.answers`).

An answer is in the journal with its bytes and the id of its document (inbound/answers). The worker in the folder writes
the document's row, places its file, and notes that. A step that was cut off is repeated: the row shows whether the
document exists, and until the note, no comparison takes the file for missing. Then it is a document like every other,
but for its ids: they are those of the message that it answers, and no mapping rule changes them.

Answers to one document arrive in their order. The later one becomes a document when the one before has ended. An answer
that never left is dropped for the later one, unless the company's own software has dropped it as a file: that is sent.
"""

from __future__ import annotations

import hashlib
import io
from contextlib import suppress
from typing import TYPE_CHECKING

from filedrop import identify
from filedrop.errors import Changed
from filedrop.files import create_whole, open_regular
from filedrop.model.document import State
from filedrop.model.invoice_response import DOCUMENT_ID, PROCESS_ID
from filedrop.outbound.context import new_document
from filedrop.outbound.identified import ANSWER, is_answer, with_facts
from filedrop.storage.names import shortened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from filedrop.journal import InvoiceAnswer
    from filedrop.model.document import Document
    from filedrop.outbound.desk import Desk

_SOURCES = dict.fromkeys(("sender", "receiver", "document_id", "process_id"), ANSWER)


def place_answers(desk: Desk) -> None:
    """Make documents of the answers that the company owes. Raises JournalError.

    What can't be placed now is left to the next scan.
    """
    journal, folder = desk.journal, desk.folder
    for answer in journal.answers.owed(folder.company):
        document = journal.documents.by_id(answer.document)
        if document is None:
            if not folder.takes_answers:
                continue
            if journal.answers.sent_before(answer) or journal.answers.is_followed(answer):
                journal.answers.record_placed(answer)
                continue
            former = journal.answers.document_before(answer)
            if former is not None and not _ends(desk, former):
                continue
            document = journal.documents.record(_document(desk, answer))
            desk.log.info("document.claimed", **document.log_facts)
        if document.folder == folder.id:
            with desk.health.tolerant():
                _place(desk, answer, document)
                journal.answers.record_placed(answer)


def _ends(desk: Desk, former: Document) -> bool:
    """Whether the answer before another one has ended; one of filedrop's own that never left ends now.

    Raises JournalError.
    """
    may_end = is_answer(former) and former.state is State.WAITING and former.folder == desk.folder.id
    if may_end and not desk.handover.has(former.id):
        with desk.health.tolerant(), suppress(Changed):  # the next scan continues
            _remove(desk, former)
            desk.handover.forget_put_off([former.id])
            desk.journal.documents.record(former.replaced(desk.now()))
            desk.log.info("answer.replaced", **former.log_facts)
            return True
    return former.state.finished


def _remove(desk: Desk, former: Document) -> None:
    """Remove the file that filedrop made of an answer. Raises OSError.

    It goes before the row is written: with its row alone, it would count as not recorded.
    After a crash in between, it is an answer whose file is missing, and dropped all the same.
    """
    file = desk.folder.at(former.place) / former.file
    try:
        with open_regular(file) as opened:
            is_its_own = hashlib.file_digest(opened, "sha256").hexdigest() == former.sha256
    except FileNotFoundError:
        return
    if is_its_own:
        file.unlink(missing_ok=True)
        file.directory.sync()


def _document(desk: Desk, answer: InvoiceAnswer) -> Document:
    """The document of an answer, whose file isn't there yet."""
    reading = identify.read(io.BytesIO(answer.content))
    file = next(_free_names(desk, answer.file))
    document = new_document(desk.shared, desk.folder, file, file, reading.size)
    return with_facts(document, reading).but(
        id=answer.document,
        sender=answer.sender,
        receiver=answer.receiver,
        document_id=DOCUMENT_ID,
        process_id=PROCESS_ID,
        channel=desk.identification.channel,
        sources=_SOURCES,
    )


def _place(desk: Desk, answer: InvoiceAnswer, document: Document) -> None:
    """Place the file of an answer's document, unless it is there. Raises OSError, JournalError."""
    sending = desk.folder.at("sending")
    while document.place == "sending" and not document.state.finished:
        try:
            create_whole(sending / document.file, answer.content)
            break
        except FileExistsError:
            with open_regular(sending / document.file) as file:
                if file.read(len(answer.content) + 1) == answer.content:  # placed before a crash
                    break
            moved = document.at("sending", next(_free_names(desk, answer.file)))
            try:
                document = desk.journal.documents.record(moved)
            except Changed:  # the next scan continues
                raise FileExistsError(document.file) from None
    sending.sync()
    desk.moves.note_found(document.id)


def _free_names(desk: Desk, wanted: str) -> Iterator[str]:
    """Names in `sending/` that are free there and in no row."""
    journal, folder = desk.journal, desk.folder
    for name in folder.free_names(folder.at("sending"), shortened(wanted)):
        if not journal.documents.spoken_of(folder.id, [("sending", name)]):
            yield name
