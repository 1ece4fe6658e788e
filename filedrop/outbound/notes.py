"""The notes in `sending/`: a document that has been there for long gets a note that says why (contract 1)."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from filedrop.files import InUse, replace_whole
from filedrop.model.document import State
from filedrop.outbound.identified import why_not_identified
from filedrop.outbound.leftovers import why_not_read
from filedrop.outbound.question import question
from filedrop.outbound.sender import why_not_taken
from filedrop.outbound.validating import why_not_validated
from filedrop.storage import sidecar

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from filedrop.model.document import Document
    from filedrop.outbound.context import FolderContext

NOTE_AFTER = timedelta(minutes=5)  # in `sending/` (contract 1)
NOTES_AT_ONCE = 200


def write_notes(
    at: FolderContext, notes: dict[str, str], there: Mapping[str, str]
) -> Generator[None, None, OSError | None]:
    """Write the notes that are due, also those that are there no longer. Returns the last error of the disk.

    `notes`: by document id, what its note says. `there`: by document id, the names of all files that lie in `sending/`.
    """
    if notes:
        have_one = {document for note, document in at.folder.notes("sending") if note.endswith(".why.txt")}
        for document_id in [document_id for document_id in notes if there.get(document_id) not in have_one]:
            del notes[document_id]
        yield
    journal, written, trouble = at.shared.journal, 0, None
    hindrance = _why_all_wait(at)
    waits, hindered = hindrance or _turn(at), at.unvalidated.keys() | at.put_off
    now = at.shared.now()
    for document_id, state in journal.kept_in_sending(at.folder.id, now - NOTE_AFTER, now):
        if document_id not in there:  # a note without its document is cleared away, and it gets one when it is back
            continue
        noted = notes.get(document_id)
        if written >= NOTES_AT_ONCE or (noted == waits and state is State.WAITING and document_id not in hindered):
            continue
        document = journal.document(document_id)
        if document is None or document.home != "sending":  # it has gone on since the list
            continue
        if noted == (why := _why_it_is_there(at, document, hindrance)):
            continue
        written += 1
        note = at.folder.at("sending") / f"{document.file}.why.txt"
        try:
            replace_whole(note, sidecar.waits(document, why))
            notes[document.id] = why
        except InUse:  # a program has the old note open: the next comparison writes it
            continue
        except OSError as error:
            trouble = error
        yield
    return trouble


def _why_it_is_there(at: FolderContext, document: Document, hindrance: str) -> str:
    if document.state is State.DOUBT:
        return _why_in_doubt(at, document)
    if document.state is State.SENDING:
        return "it is being sent at this moment, or comes next"
    own = why_not_identified(document) or why_not_validated(document) or why_not_read(document)
    return own or hindrance or why_not_taken(document) or _turn(at)


def _why_in_doubt(at: FolderContext, document: Document) -> str:
    if document.identity != at.shared.access_point.identity:
        return (
            f"it was posted to {document.identity}, which the configuration doesn't name any more, and there was "
            f"no clear answer: put that account back, or say what became of it: {_resolve(document)}"
        )
    return question(document) or (
        f"it may have arrived at the access point ({document.why_in_doubt}); filedrop looks for it there and "
        f"sends it again only when it certainly didn't. To end this yourself: {_resolve(document)}"
    )


def _resolve(document: Document) -> str:
    by = f"filedrop resolve {document.id}"
    return f"{by} --sent MSG_NO where it is there as that message, {by} --send-again where it certainly isn't"


def _why_all_wait(at: FolderContext) -> str:
    """What keeps every document of the folder from being sent; "" where nothing does."""
    if name := at.folder.held_by(at.shared.steady()):
        return f"a file {name} lies in {at.folder.path}; it is sent when that is removed"
    return at.shared.breaker.report.why


def _turn(at: FolderContext) -> str:
    turn = "to be validated, and to be sent" if at.shared.validating is not None else "to be sent"
    return f"it is waiting for its turn {turn}"
