"""Did the access point get it? What the messages of its archive say of the documents in doubt. Pure.

For each document in doubt, of the messages that we sent, that nobody owns, that are not older than its first attempt
and that have its ids, in this order:

    | there is                                                    | then                                         |
    |-------------------------------------------------------------|----------------------------------------------|
    | one with the same meaning                                   | found: its number is the document's          |
    | one with the same type, number and issue date               | found                                        |
    | several of these                                            | the oldest is its; the others are surplus    |
    | several, and several identical documents in doubt           | shared in order: oldest to oldest            |
    | one like it that another request may have made just now     | nothing yet: it may be that one's            |
    | one that isn't there any more when it is asked for          | nothing yet: the look wasn't complete        |
    | one that can't be compared                                  | a person decides; never sent again by itself |
    | none of these                                               | not found                                    |
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Literal

from filedrop.document import same_participant

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from filedrop.accesspoint import Message
    from filedrop.document import Document

CLOCK_SLACK = timedelta(seconds=5)  # Date has whole seconds and may be another machine's than `received`


@dataclass(frozen=True, slots=True)
class Candidate:
    """An unowned message of the archive, and what it holds.

    `content`: `compared` with `meaning` and the three facts; `incomparable`, because it can't be read as a document;
    `missing`, because it wasn't there when it was asked for; `on the wire`, because it may be another request's.
    """

    message: Message
    content: Literal["compared", "incomparable", "missing", "on the wire"]
    meaning: str = ""
    type: str | None = None
    number: str | None = None
    issue_date: str | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """The document is this message."""

    message: Message


NotFound = Literal["not found"]
Undecided = Literal["undecided"]
AskAPerson = Literal["ask a person"]
Verdict = Found | NotFound | Undecided | AskAPerson


@dataclass(frozen=True, slots=True)
class Decision:
    """What one complete walk says of each document in doubt, by id, and which messages are there once too often."""

    verdicts: Mapping[str, Verdict]
    surplus: tuple[tuple[Message, Document], ...] = ()


def decide(documents: Iterable[Document], candidates: Iterable[Candidate]) -> Decision:
    """The table above. Documents and messages are taken oldest first."""
    waiting = sorted(documents, key=lambda document: (document.first_attempt or document.claimed, document.id))
    left = sorted(candidates, key=lambda candidate: candidate.message.msg_no)
    verdicts: dict[str, Verdict] = {}
    for same in (_same_meaning, _same_facts):
        for document in waiting:
            match = next((candidate for candidate in left if same(document, candidate)), None)
            if document.id not in verdicts and match is not None:
                verdicts[document.id] = Found(match.message)
                left.remove(match)
    surplus = []
    for document in waiting:
        for candidate in [candidate for candidate in left if document.id in verdicts and _same(document, candidate)]:
            surplus.append((candidate.message, document))
            left.remove(candidate)
    for document in waiting:
        contents = {candidate.content for candidate in left if may_be(document, candidate.message)}
        verdicts.setdefault(document.id, _without_match(contents))
    return Decision(verdicts, tuple(surplus))


def _without_match(contents: Collection[str]) -> Verdict:
    if "missing" in contents or "on the wire" in contents:
        return "undecided"
    return "ask a person" if "incomparable" in contents else "not found"


def may_be(document: Document, message: Message) -> bool:
    """Could this message be the document, by what the list says of it? What the list leaves out speaks for it."""
    if message.direction not in (None, "OUT"):
        return False
    if not (_agree(message.sender, document.sender) and _agree(message.receiver, document.receiver)):
        return False
    if message.document_id and document.document_id and message.document_id.lower() != document.document_id.lower():
        return False
    received = message.received_at
    return received is None or document.first_attempt is None or received >= document.first_attempt - CLOCK_SLACK


def is_owned(message: Message, received: Iterable[str | None]) -> bool:
    """Is the message another document's? `received` is when the owners' messages of its number were (Journal.owned).

    A server set up anew counts from the start again; where a time is missing, the number decides.
    """
    moments = [replace(message, received=moment).received_at for moment in received]
    return any(moment is None or message.received_at in (None, moment) for moment in moments)


def _agree(said: str | None, posted: str | None) -> bool:
    return not said or not posted or same_participant(said, posted)


def _same(document: Document, candidate: Candidate) -> bool:
    return _same_meaning(document, candidate) or _same_facts(document, candidate)


def _same_meaning(document: Document, candidate: Candidate) -> bool:
    return (
        candidate.content == "compared"
        and candidate.meaning == document.meaning
        and may_be(document, candidate.message)
    )


def _same_facts(document: Document, candidate: Candidate) -> bool:
    facts = (candidate.type, candidate.number, candidate.issue_date)
    return (
        candidate.content == "compared"
        and candidate.number is not None
        and facts == (document.type, document.number, document.issue_date)
        and may_be(document, candidate.message)
    )
