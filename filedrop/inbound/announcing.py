"""What the note beside a moved document says of its answer, from the move until the answer has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from filedrop.model.document import REPLACED, State
from filedrop.texts.languages import date, marked, translated

if TYPE_CHECKING:
    from datetime import datetime

    from filedrop.journal import GivenAnswer
    from filedrop.model.document import Document

ENDING = ".answer.txt"
_DUE = marked("Your answer will be sent on {time}, unless you move the file back before.")
_WAITS = marked("Your answer waits until it is clear what becomes of your earlier answer to this document.")
_GOES = marked("Your answer is being sent.")
_SENT = marked("Your answer was sent on {time}.")
_FAILED = marked("Your answer could not be sent. The note of {file} in outbound/failed/ says why.")
_REPLACED = marked("Your answer was not sent, because a later answer replaced it.")
_TAKEN = marked("Your answer was not sent, because its file {file} was taken from outbound/.")


class Announcement(NamedTuple):
    """What a note says, in UTF-8, and whether it says that for good."""

    content: bytes
    is_final: bool


def announced(due: datetime, language: str) -> Announcement:
    """The note on an answer that is sent then."""
    return _note(_DUE, language, time=date(due, language))


def announcement(answer: GivenAnswer, language: str) -> Announcement:
    """The note on an answer that was decided on."""
    document = answer.document
    if document is None:
        return _note(_REPLACED, language, is_final=True) if answer.is_placed else _note(_WAITS, language)
    match document.state:
        case State.SENT | State.DELIVERED:
            when = date(document.accepted or answer.at, language)
            return _note(_SENT, language, is_final=document.state is State.DELIVERED, time=when)
        case State.FAILED:
            return _note(_FAILED, language, is_final=True, file=document.file)
        case State.TAKEN:
            return _note(_REPLACED if _is_replaced(document) else _TAKEN, language, is_final=True, file=document.file)
        case _:
            return _note(_GOES, language)


def _is_replaced(document: Document) -> bool:
    return any(event.event == REPLACED for event in document.history)


def _note(text: str, language: str, *, is_final: bool = False, **values: str) -> Announcement:
    return Announcement(f"{translated(text, language).format(**values)}\n".encode(), is_final)
