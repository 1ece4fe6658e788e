"""Responses of receivers are written into the row and the sidecar of the document that they answer.

Only the worker of the document's folder does so. The journal keeps a response until it is written, so that one that
comes before what it answers was recorded, or amid a crash, is tied later.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING

from filedrop.errors import Changed
from filedrop.files import replace_whole
from filedrop.journal import AMBIGUOUS
from filedrop.model.document import Event, State, same_participant
from filedrop.readable import meaning
from filedrop.storage import sidecar, told

if TYPE_CHECKING:
    from filedrop.files import Entry
    from filedrop.journal import Answered
    from filedrop.model.document import Document
    from filedrop.outbound.context import FolderContext

LONGEST = timedelta(days=7)  # that a response waits for what it answers
MOST = 50  # responses that a document keeps, the last ones: with thousands, its sidecar could not be read any more


def tie_responses(at: FolderContext) -> None:
    """Tie the responses to documents of this folder that can be tied now. Raises JournalError."""
    journal, now = at.shared.journal, at.shared.now()
    for response in journal.untied(now - LONGEST):
        if response.company != at.folder.company:
            continue
        found = [
            one
            for one in journal.answerable(response)
            # What lies in this folder is the company's, also where that was called otherwise then.
            if at.folder.company == one.company or at.folder.id == one.folder
            if _is_answered(one, response)
        ]
        found = [one for one in found if one.state is not State.FAILED] or found  # else the same one, since sent again
        if len(found) > 1:
            if at.folder.id == found[0].folder:
                _tell_ambiguous(at, response, found)
        elif found and found[0].folder == at.folder.id and found[0].id not in at.under_way:
            document = found[0]
            if document.place == document.home:  # else it is on its way, and tied when it is there
                with at.tolerant():
                    _tie(at, response, document)


def _is_answered(document: Document, response: Answered) -> bool:
    """Whether the response is by the document's receiver to its sender, and about such a document."""
    parties = same_participant(document.receiver, response.sender) and same_participant(
        document.sender, response.receiver
    )
    return parties and response.type in ("", document.type) and document.state is not State.TAKEN


def _tie(at: FolderContext, response: Answered, document: Document) -> None:
    journal = at.shared.journal
    facts = {"code": response.code, "means": meaning("response", response.code), "reason": response.reason}
    event = Event(response.at, told.RESPONSE, facts | {"message": response.msg_no})
    if not any(one.event == event.event and one.facts == event.facts for one in document.history):
        try:
            document = journal.record(document.but(history=(*_with_room(document.history), event)))
        except Changed:  # the next scan tries again
            return
    beside = _beside(at, document)
    if beside and sidecar.document_id_in(beside) == document.id:  # else somebody has taken it
        replace_whole(beside, sidecar.outbound(document, document.file), draft_in=at.folder.at("sending"))
        beside.directory.sync()  # else a power cut may leave the old one, and the journal asks no more
    journal.tie(response, document.id)
    said = {"code": response.code, "reason": response.reason, "msg_no": response.msg_no}
    at.shared.log.info("document.answered", company=document.company, file=document.file, **said)


def _beside(at: FolderContext, document: Document) -> Entry | None:
    """Where its sidecar lies, if anywhere; None where somebody has taken its whole month. Raises OSError."""
    with suppress(FileNotFoundError):
        return at.folder.at(document.place) / f"{document.file}.json"
    return None


def _with_room(history: tuple[Event, ...]) -> tuple[Event, ...]:
    """A history without the oldest responses where one more would be too many."""
    said = [one for one in history if one.event == told.RESPONSE]
    old = {id(one) for one in said[: max(0, len(said) + 1 - MOST)]}
    return tuple(one for one in history if id(one) not in old)


def _tell_ambiguous(at: FolderContext, response: Answered, found: list[Document]) -> None:
    named = ", ".join(f"{one.dropped_as} [{one.id}]" for one in found)
    why = f"message {response.msg_no} answers {response.number} with {response.code}, which may be any of {named}"
    at.shared.log.warning("response.ambiguous", company=response.company, why=why)
    at.shared.journal.tie(response, AMBIGUOUS)
