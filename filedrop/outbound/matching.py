"""The table that decides which messages of the access point's archive are documents in doubt. Pure.

For each document in doubt, messages count that have no owner and don't contradict it (`model.message`). The first row
that applies decides:

    | the archive has                                                | then                                        |
    |----------------------------------------------------------------|---------------------------------------------|
    | a message with the same meaning                                | found: its number is the document's         |
    | a message with the same type, number and issue date            | found                                       |
    | several of these, and several identical documents in doubt     | paired in order, the oldest first           |
    | several of these, and another document that may be one of them | the oldest is found, the others nobody's    |
    | several of these                                               | the oldest is found, the others are surplus |
    | a message like it that another request may have made just now  | undecided: it may be that request's         |
    | a message that is missing when it is downloaded                | undecided: the look wasn't complete         |
    | one of the first two, but older than its first attempt         | a person decides: only clocks speak against |
    | one of the first two, but another document may own it as well  | a person decides                            |
    | one that can't be compared, from the time of its attempts      | a person decides before it is sent again    |
    | none of these                                                  | not found                                   |
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Literal

from filedrop.model.message import Message, contradiction
from filedrop.times import moment

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from datetime import datetime

    from filedrop.model.document import Document

CLOCK_SLACK = timedelta(seconds=5)  # Date has whole seconds, and several machines' clocks may differ
SUMMER_TIME = timedelta(hours=1)
FURTHEST = timedelta(days=366)  # larger differences are no clock's: some servers write the year 1 for "never"


@dataclass(frozen=True, slots=True)
class Clocks:
    """How two clocks of the access point differ: `Date`, which gives the time of our requests, and `received`.

    For messages that were accepted by a clear answer to their document's only request, `received` was between `least`
    and `most` later than `Date` before it. Not `known`: there is no such message, and the clocks may differ by
    anything. `late`: how long after a request its message may still appear. `set_by`: by how much one of the clocks may
    have been set since.
    """

    known: bool = True
    least: timedelta = timedelta(0)
    most: timedelta = timedelta(0)
    late: timedelta = FURTHEST
    set_by: timedelta = timedelta(0)

    @classmethod
    def learned(cls, messages: Iterable[tuple[datetime, datetime]], late: timedelta) -> Clocks:
        """The clocks according to known messages: of each, `Date` at its request, and `received`."""
        apart = [received - asked for asked, received in messages if abs(received - asked) < FURTHEST]
        least, most = min(apart, default=timedelta(0)), max(apart, default=timedelta(0))
        return cls(bool(apart), least, most, late, SUMMER_TIME)

    def call_older(self, message: Message, document: Document) -> bool:
        """Whether the message was received before the document's first attempt, by these clocks."""
        received, first = message.received_at, document.first_attempt
        return received is not None and first is not None and received - first < self.least - CLOCK_SLACK

    def rule_out(self, message: Message, document: Document) -> bool:
        """Whether the message was certainly received at another time than that of the document's attempts."""
        received, first, last = message.received_at, document.first_attempt, last_attempt(document)
        if not self.known or received is None:
            return False
        slack = self.set_by + CLOCK_SLACK
        is_earlier = first is not None and received - first < self.least - slack
        return is_earlier or (last is not None and received - last > self.most + self.late + slack)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A message of the archive that may be a document in doubt, and what it holds.

    `content`: `compared`, with `meaning` and the three facts; `incomparable`: unreadable as a document; `missing`: gone
    when it was downloaded; `on the wire`: another request may have made it.
    `owned_for`: companies where a document owns it by its sidecar alone, so that no other document of theirs is it.
    `contested_for`: companies where a document has its number and matches it as well, and so may own it.
    """

    message: Message
    content: Literal["compared", "incomparable", "missing", "on the wire"]
    meaning: str = ""
    type: str | None = None
    number: str | None = None
    issue_date: str | None = None
    owned_for: frozenset[str] = frozenset()
    contested_for: frozenset[str] = frozenset()


Conclusion = Message | Literal["not found", "undecided", "ask a person"]
"""What became of a document in doubt; a message: the document is this one."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What one complete look says of each document in doubt, by id.

    `surplus`: further messages of a found document, with it. `hindrances`: by document id, what prevents a conclusion.
    """

    conclusions: Mapping[str, Conclusion]
    surplus: tuple[tuple[Message, Document], ...]
    hindrances: Mapping[str, tuple[Candidate, ...]]


def decide(
    documents: Iterable[Document], candidates: Iterable[Candidate], clocks: Clocks, rivals: Iterable[Document]
) -> Decision:
    """Apply the table above. Documents and messages are taken oldest first.

    `rivals`: other documents that may have been posted and own no message yet.
    """
    doubtful = sorted(documents, key=lambda document: (document.first_attempt or document.claimed, document.id))
    free = sorted(candidates, key=lambda candidate: candidate.message.msg_no)
    conclusions: dict[str, Conclusion] = {}
    for same in (_same_meaning, _same_facts):
        for document in doubtful:
            match = _first_certain(document, free, clocks, same)
            if document.id not in conclusions and match is not None:
                conclusions[document.id] = match.message
                free.remove(match)
    found = [document for document in doubtful if document.id in conclusions]
    lost = [document for document in doubtful if document.id not in conclusions]
    hindrances = {
        document.id: tuple(candidate for candidate in free if _hinders(document, candidate, clocks))
        for document in lost
    }
    conclusions |= {
        id_: _without_match({candidate.content for candidate in candidates}) for id_, candidates in hindrances.items()
    }
    others = [*lost, *rivals]
    spare = [candidate for candidate in free if not any(same_document(other, candidate) for other in others)]
    surplus = [(candidate.message, owner) for candidate in spare if (owner := _owner(found, candidate, clocks))]
    return Decision(conclusions, tuple(surplus), hindrances)


def _first_certain(
    document: Document, candidates: Iterable[Candidate], clocks: Clocks, same: Callable[[Document, Candidate], bool]
) -> Candidate | None:
    """The first of these messages that is the document for certain."""
    certain = (
        candidate for candidate in candidates if same(document, candidate) and _is_certain(document, candidate, clocks)
    )
    return next(certain, None)


def _owner(found: Iterable[Document], spare: Candidate, clocks: Clocks) -> Document | None:
    """The first of these documents that the message is once more."""
    return next((document for document in found if _first_certain(document, [spare], clocks, same_document)), None)


def _without_match(contents: Collection[str]) -> Conclusion:
    if "missing" in contents or "on the wire" in contents:
        return "undecided"
    return "ask a person" if contents else "not found"


def may_be(document: Document, message: Message, clocks: Clocks) -> bool:
    """Whether the message may be the document, by what the list says. What the list leaves out counts as equal."""
    return not contradiction(message, document) and not clocks.call_older(message, document)


def _may_own(document: Document, candidate: Candidate) -> bool:
    return document.company not in candidate.owned_for and not contradiction(candidate.message, document)


def same_document(document: Document, candidate: Candidate) -> bool:
    """Whether the message holds the same document and goes to the same receiver."""
    return _same_meaning(document, candidate) or _same_facts(document, candidate)


def _is_certain(document: Document, candidate: Candidate, clocks: Clocks) -> bool:
    return document.company not in candidate.contested_for and not clocks.call_older(candidate.message, document)


def _hinders(document: Document, candidate: Candidate, clocks: Clocks) -> bool:
    if candidate.content == "compared":
        return same_document(document, candidate)
    return _may_own(document, candidate) and not clocks.rule_out(candidate.message, document)


def _same_meaning(document: Document, candidate: Candidate) -> bool:
    return candidate.content == "compared" and candidate.meaning in document.meanings and _may_own(document, candidate)


def _same_facts(document: Document, candidate: Candidate) -> bool:
    facts = (candidate.type, candidate.number, candidate.issue_date)
    return (
        candidate.content == "compared"
        and candidate.number is not None
        and facts == (document.type, document.number, document.issue_date)
        and _may_own(document, candidate)
    )


def last_attempt(document: Document) -> datetime | None:
    """The access point's clock at the last request, as `first_attempt` is for the first. None if unknown."""
    requests = [event for event in document.history if event.event == "sending"]
    return moment(str(requests[-1].facts.get("clock"))) if len(requests) > 1 else document.first_attempt
