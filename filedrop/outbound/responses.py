"""Receivers' responses are written into the row and the sidecar of the document that they are about.

The journal knows the document when the response comes, or when the document is recorded (journal/responses), and which
documents lack one. The worker in the document's folder writes it: only that worker changes the document's sidecar.
A folder that the configuration no longer names has no worker. Its documents' responses are written by a worker of the
company to which they were delivered, where the sidecar is now: a person may have moved it to that company's folder.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

from filedrop.files import Directory, discard, replace_whole
from filedrop.files.patience import within
from filedrop.model.document import Event, State
from filedrop.model.response import AMBIGUOUS, KEPT, REJECTED
from filedrop.outbound.filing import has_copy
from filedrop.readable import meaning, reason_in
from filedrop.storage import sidecar
from filedrop.storage.marker import is_marked
from filedrop.storage.names import REJECTED_NOTE
from filedrop.texts.form import filled
from filedrop.texts.languages import date
from filedrop.texts.note import ANSWER, BY_ACCESS_POINT, BY_RECEIVER, REASON

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from filedrop.files import Entry
    from filedrop.model.document import Document
    from filedrop.model.response import Response
    from filedrop.outbound.desk import Desk

PATIENCE = 1.0  # seconds for a folder that nobody serves to answer


def write_responses(desk: Desk) -> None:
    """Write the responses that documents of this folder lack, and those that nobody else writes. Raises JournalError.

    What can't be written now is left to the next scan.
    """
    journal, folder = desk.journal, desk.folder
    owed = sorted(journal.responses.owed(folder.id, folder.company, desk.now()), key=attrgetter("document"))
    if not owed:
        return
    documents = {
        document.id: document for document in journal.documents.by_ids({response.document for response in owed})
    }
    for document_id, group in groupby(owed, key=attrgetter("document")):
        responses = sorted(group, key=attrgetter("at", "msg_no", "nth"))
        document = documents.get(document_id)
        if document_id == AMBIGUOUS:
            _report_ambiguous(desk, responses)
        elif document is None:  # it was removed from the archive meanwhile
            journal.responses.record_written(responses)
        elif _may_write(desk, document):
            with desk.health.tolerant():
                _write(desk, document, responses)


def _may_write(desk: Desk, document: Document) -> bool:
    """Whether the document is in its place, and that is in this folder or in one that nobody serves."""
    if document.place != document.home or desk.handover.has(document.id):  # it is on its way there
        return False
    return document.folder == desk.folder.id or not desk.folder.serves(desk.journal.folders.path(document.folder))


def _write(desk: Desk, document: Document, responses: Sequence[Response]) -> None:
    """Write responses into the document's row, and into its sidecar where that is now, if anywhere."""
    document = _with_responses(desk, document, responses)
    beside = _beside(desk, document)
    if beside is not None:
        _replace(beside, document, draft_in=desk.folder.at("sending"))
        _write_note(desk, document, beside.with_name(f"{document.file}{REJECTED_NOTE}"), responses)
    elif document.folder != desk.folder.id and not _write_elsewhere(desk, document):
        return
    _conclude(desk, document, responses)


def _write_note(desk: Desk, document: Document, note: Entry, responses: Sequence[Response]) -> None:
    """Write or remove the note that the document is rejected, if one of these responses is the last. Raises OSError.

    So a note that a person has removed comes back only by another rejection. A person's file of that name stays.
    """
    last = desk.journal.responses.last_answer(document.id)
    if last is None or last not in responses or document.state not in (State.SENT, State.DELIVERED):
        return
    is_rejected, is_taken = last.code in REJECTED, note.exists()
    if is_taken and not sidecar.is_rejection_note(note):
        if is_rejected:
            why = f"{note.path} is another file: it doesn't say that the document was rejected"
            desk.log.warning("note.not_written", **document.log_facts, why=why)
    elif is_rejected:
        language = desk.folder.language
        content = sidecar.rejected(document, _described(last, document, language), language=language)
        replace_whole(note, content, draft_in=desk.folder.at("sending"))
        note.directory.sync()
    elif is_taken:
        discard(note)


def _described(response: Response, document: Document, language: str) -> list[str]:
    """What a note says of a rejection."""
    receiver, reason = document.receiver_name or document.receiver or "-", reason_in(response.reason, language)
    by = BY_RECEIVER if response.is_by_receiver else BY_ACCESS_POINT
    lines = [filled(by, {"receiver": receiver, "when": date(response.at, language)}, language)]
    lines += [filled(REASON, {"reason": reason}, language)] if reason else []
    if response.is_by_receiver and response.company == document.company:
        lines.append(filled(ANSWER, {"number": str(response.msg_no)}, language))
    return lines


def _write_elsewhere(desk: Desk, document: Document) -> bool:
    """Replace the sidecar of a document whose folder nobody serves. Whether that was done, or is given up."""
    path = desk.journal.folders.path(document.folder)
    if path is None:  # another folder of this company may have it
        return False
    try:
        return within(PATIENCE, partial(_replace_in, path, document, desk.journal.id))
    except TimeoutError:  # asked once: each scan would wait for it
        return True
    except OSError:
        return False


def _with_responses(desk: Desk, document: Document, responses: Sequence[Response]) -> Document:
    """The document whose recorded history has these responses. Raises Changed: then the next scan tries again."""
    history = document.history
    for response in responses:
        words = meaning(response.words, response.code)
        facts = {"code": response.code, "means": words, "reason": response.reason}
        event = Event(response.at, sidecar.RESPONSE, facts | {"message": response.msg_no})
        if not any(line.event == event.event and line.facts == event.facts for line in history):
            history = (*history, event)
    if history == document.history:
        return document
    return desk.journal.documents.record(document.but(history=_with_room(history)))


def _conclude(desk: Desk, document: Document, responses: Sequence[Response]) -> None:
    desk.journal.responses.record_written(responses)
    for response in responses:
        facts = {"code": response.code, "reason": response.reason, "msg_no": response.msg_no}
        desk.log.info("document.answered", **document.log_facts, **facts)


def _beside(desk: Desk, document: Document) -> Entry | None:
    """The document's sidecar in this folder; None where it isn't here, or another's is in its place. Raises OSError."""
    with suppress(FileNotFoundError):  # somebody has taken its whole month
        beside = desk.folder.at(document.place) / f"{document.file}.json"
        if sidecar.document_id_in(beside) == document.id:
            return beside
    return None


def _replace_in(path: Path, document: Document, journal_id: str) -> bool:
    """Replace the document's sidecar in a folder that nobody serves. Whether it is there. Raises OSError."""
    here = Directory.open(path)
    if not is_marked(here, document.folder, journal_id):
        return False
    for name in document.place.split("/"):
        here = here.folder(name)
    beside = here / f"{document.file}.json"
    if sidecar.document_id_in(beside) != document.id:
        return False
    _replace(beside, document)
    return True


def _replace(beside: Entry, document: Document, *, draft_in: Directory | None = None) -> None:
    said = sidecar.outbound(document, document.file, has_copy=has_copy(document, beside.directory / document.file))
    replace_whole(beside, said, draft_in=draft_in)
    beside.directory.sync()  # else a power cut may leave the old one, and the journal asks no more


def _with_room(history: tuple[Event, ...]) -> tuple[Event, ...]:
    """A history without the oldest responses, where there are too many."""
    responses = [line for line in history if line.event == sidecar.RESPONSE]
    old = {id(line) for line in responses[:-KEPT]}
    return tuple(line for line in history if id(line) not in old)


def _report_ambiguous(desk: Desk, responses: Sequence[Response]) -> None:
    """Log which documents each of these may be about; of a rejection, `status` says the same."""
    journal = desk.journal
    for response in responses:
        named = ", ".join(
            f"{document.dropped_as} [{document.id}]" for document in journal.responses.documents_meant(response)
        )
        why = f"message {response.msg_no} answers {response.number} with {response.code}, which may be any of {named}"
        desk.log.warning("response.ambiguous", company=response.company, why=why)
    journal.responses.record_written(responses)
