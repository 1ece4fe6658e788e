"""The notes in `sending/`: a document that has been there for long gets a note that says why (contract 1)."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from filedrop.files import InUse, replace_whole
from filedrop.model.document import Need, State
from filedrop.model.question import question
from filedrop.outbound.sender import why_not_taken
from filedrop.storage import sidecar
from filedrop.texts import Text
from filedrop.texts.printable import command

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from filedrop.model.document import Document
    from filedrop.outbound.desk import Desk

NOTE_AFTER = timedelta(minutes=5)  # in `sending/` (contract 1)
NOTES_AT_ONCE = 200
_OWN_REASONS = {
    Need.IDS: "waits/not-identified",
    Need.VERDICT: "waits/not-validated",
    Need.FILE: "waits/not-read",
    Need.PREPARED: "waits/not-prepared",
    Need.RECEIVER: "waits/not-in-directory",
}  # texts


def write_notes(desk: Desk, notes: dict[str, Text], there: Mapping[str, str]) -> Generator[None, None, OSError | None]:
    """Write the notes that are due, also those that are there no longer. Returns the last error of the disk.

    `notes`: by document id, what its note says. `there`: by document id, the names of all files that lie in `sending/`.
    """
    if notes:
        have_one = {document for note, document in desk.folder.notes("sending") if note.endswith(".why.txt")}
        for document_id in [document_id for document_id in notes if there.get(document_id) not in have_one]:
            del notes[document_id]
        yield
    journal, written, trouble = desk.journal, 0, None
    hindrance = _why_all_wait(desk)
    waits, now = hindrance or _turn(desk), desk.now()
    for document_id, state, is_put_off in journal.documents.kept_in_sending(desk.folder.id, now - NOTE_AFTER, now):
        if document_id not in there:  # a note without its document is cleared away, and it gets one when it is back
            continue
        noted = notes.get(document_id)
        if written >= NOTES_AT_ONCE or (noted == waits and state is State.WAITING and not is_put_off):
            continue
        document = journal.documents.by_id(document_id)
        if document is None or document.home != "sending":  # it has gone on since the list
            continue
        if noted == (why := _why_it_is_there(desk, document, hindrance)):
            continue
        written += 1
        note = desk.folder.at("sending") / f"{document.file}.why.txt"
        try:
            replace_whole(note, sidecar.waits(document, why, language=desk.folder.language))
            notes[document.id] = why
        except InUse:  # a program has the old note open: the next comparison writes it
            continue
        except OSError as error:
            trouble = error
        yield
    return trouble


def _why_it_is_there(desk: Desk, document: Document, hindrance: Text | None) -> Text:
    if document.state is State.DOUBT:
        return _why_in_doubt(desk, document)
    if document.state is State.SENDING:
        return Text.of("waits/sending")
    return _own_reason(document) or hindrance or _not_taken(document) or _turn(desk)


def _own_reason(document: Document) -> Text | None:
    if document.needs is None:
        return None
    again = {"again": document.due or document.claimed} if document.needs is Need.RECEIVER else {}
    return Text.of(_OWN_REASONS[document.needs], why=document.needs_why, **again)


def _not_taken(document: Document) -> Text | None:
    why = why_not_taken(document)
    return Text.of("waits/not-taken", why=why, again=document.due) if why else None


def _why_in_doubt(desk: Desk, document: Document) -> Text:
    resolve = command("filedrop", "resolve", document.id)
    if document.identity != desk.shared.access_point.identity:
        return Text.of("waits/former-account", identity=document.identity, resolve=resolve)
    if asked := question(document):
        return Text.of("waits/decision", question=asked)
    return Text.of("waits/doubt", why=document.why_in_doubt, resolve=resolve)


def _why_all_wait(desk: Desk) -> Text | None:
    """What keeps every document of the folder from being sent; None where nothing does."""
    if name := desk.folder.held_by(desk.steady()):
        return Text.of("waits/held", hold=name, folder=desk.folder.path)
    why = desk.shared.breaker.report.why
    return Text.of("waits/account", why=why) if why else None


def _turn(desk: Desk) -> Text:
    return Text.of("waits/turn" if desk.shared.validating is None else "waits/turn-to-be-validated")
