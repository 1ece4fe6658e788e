"""What becomes of an answer: in a note beside the moved document until it has ended, and in the document's sidecar."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from filedrop import files
from filedrop.model.document import REPLACED, State
from filedrop.storage import sidecar
from filedrop.texts.languages import date, marked, translated

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime

    from filedrop.files import Entry
    from filedrop.journal import GivenAnswer

ENDING = ".answer.txt"
_STEPS = {"sending": "sent", "delivered": "delivered", REPLACED: "replaced", "taken": "taken"}
_DUE = marked("Your answer will be sent on {time}, unless you move the file back before.")
_KEPT = marked("Your answer is not sent yet, because {file} in the same folder can't be answered. Move it elsewhere.")
_WAITS = marked("Your answer waits until it is clear what becomes of your earlier answer to this document.")
_GOES = marked("Your answer is being sent.")
_SENT = marked("Your answer was sent on {time}.")
_FAILED = marked("Your answer could not be sent. The note of {file} in outbound/failed/ says why.")
_REPLACED = marked("Your answer was not sent, because a later answer replaced it.")
_TAKEN = marked("Your answer was not sent, because its file {file} was taken from outbound/.")


class Announcement(NamedTuple):
    """What a note says, in UTF-8, whether it says that for good, and whether a neighbour keeps the answer back."""

    content: bytes
    is_final: bool = False
    is_kept: bool = False


def announced(due: datetime, language: str) -> Announcement:
    """The note on an answer that is sent then."""
    return _note(_DUE, language, time=date(due, language))


def kept_back(file: str, language: str) -> Announcement:
    """The note on a file in a folder that was moved as a whole, which isn't answered because of another file in it."""
    return _note(_KEPT, language, file=file)._replace(is_kept=True)


def announcement(given: Sequence[GivenAnswer], language: str) -> Announcement:
    """The note on the last of the answers to a document, which was decided on."""
    *earlier, answer = given
    document = answer.document
    if document is None and answer.is_placed:
        return _note(_REPLACED, language, is_final=True)
    if document is None:
        return _note(_WAITS if earlier else _GOES, language)
    match document.state:
        case State.SENT | State.DELIVERED:
            when = date(document.accepted or answer.at, language)
            return _note(_SENT, language, is_final=document.state is State.DELIVERED, time=when)
        case State.FAILED:
            return _note(_FAILED, language, is_final=True, file=document.file)
        case State.TAKEN:
            return _note(_REPLACED if document.is_replaced else _TAKEN, language, is_final=True, file=document.file)
        case _:
            return _note(_GOES, language)


def _note(text: str, language: str, *, is_final: bool = False, **values: str) -> Announcement:
    return Announcement(f"{translated(text, language).format(**values)}\n".encode(), is_final)


def record(sidecars: Iterable[Entry], sha256: str, given: Sequence[GivenAnswer]) -> None:
    """Add what became of the answers to the history in the document's sidecar, the first of these. Raises OSError.

    Events are only added: the document of an answer may be removed with its month.
    """
    for entry in sidecars:
        content = sidecar.read(entry)
        if content and content.get("direction") == "IN" and content.get("sha256") == sha256:
            written = content.get("history")
            history = written if isinstance(written, list) else []
            added = [event for answer in given for event in _events(answer) if event not in history]
            if added:
                files.replace_whole(entry, sidecar.encoded(content | {"history": [*history, *added]}))
            return


def _events(answer: GivenAnswer) -> Iterator[dict[str, object]]:
    """What the received document's history says of an answer, with steps of the answer's own document."""
    yield _event(answer.at, "recorded", answer)
    document = answer.document
    for event in document.history if document else ():
        if "msg_no" in event.facts:  # or it was found at the access point
            yield _event(event.at, "accepted", answer, msg_no=event.facts["msg_no"])
        elif event.event == "failed" and document and document.error:
            yield _event(event.at, "failed", answer, why=document.error.message)
        elif event.event in _STEPS:
            yield _event(event.at, _STEPS[event.event], answer)


def _event(time: datetime, step: str, answer: GivenAnswer, **facts: object) -> dict[str, object]:
    return {"at": time.isoformat(timespec="milliseconds"), "event": f"answer {step}", "code": answer.code, **facts}
