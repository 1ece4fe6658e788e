"""Did the access point get it? Finding a document again whose request had no clear answer.

A *look* walks the access point's archive for messages that we sent, that nobody owns, and that are not older than the
first attempt. What `decide` makes of them, for each document in doubt, in this order:

    | the unowned messages with its ids                               | then                                          |
    |-----------------------------------------------------------------|-----------------------------------------------|
    | one with the same meaning                                       | found: its number is the document's           |
    | one with the same type, number and issue date                   | found                                         |
    | several of these                                                | the oldest is its; the others are surplus     |
    | several, and as many identical documents in doubt               | shared in order: oldest to oldest             |
    | one like it is being posted by another thread at this moment    | nothing yet: it may be that one's             |
    | one that isn't there any more when it is asked for              | nothing yet: the look wasn't complete         |
    | one that can't be compared                                      | a person decides; never sent again by itself  |
    | none of these                                                   | not found                                     |

Only after two complete looks that did not find it, the first begun after the unclear answer, at least `doubt` apart, a
document may be sent again. `decide` is pure; `Looks` walks, compares and remembers.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Literal

from filedrop import identify
from filedrop.accesspoint import Gone
from filedrop.document import UNCLEAR_AT_MOST, UNEXPLAINED_AT_MOST, Document, Fault, State, same_participant
from filedrop.errors import DocumentError, NoClearAnswer
from filedrop.sending import rejected

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from filedrop.accesspoint import Message
    from filedrop.desk import Desk

DAYS_WIDER = 2  # contract 6: days are the access point's, and its operators differ
CLOCK_SLACK = timedelta(seconds=5)  # Date has whole seconds and may be another machine's than `received`
SOON = (
    5.0,
    15.0,
    45.0,
    150.0,
    450.0,
)  # seconds after the first look at which another may find it before `doubt` is over
AFTER_BROKEN_LOOK = 30.0  # seconds until a look is tried again that decided nothing
IN_MEMORY = 1_000_000  # bytes of a candidate that are kept in memory while it is read


@dataclass(frozen=True, slots=True)
class Candidate:
    """An unowned message of the archive, and what it holds.

    `content`: `compared` with `meaning` and the three facts; `incomparable`, because it can't be read as a document;
    `missing`, because it wasn't there when it was asked for; `on the wire`, because it may be another thread's.
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
    ordered = sorted(candidates, key=lambda candidate: candidate.message.msg_no)
    verdicts: dict[str, Verdict] = {}
    used: set[int] = set()
    for same in (_same_meaning, _same_facts):
        for document in waiting:
            if document.id in verdicts:
                continue
            for candidate in ordered:
                if (
                    candidate.message.msg_no not in used
                    and may_be(document, candidate.message)
                    and same(document, candidate)
                ):
                    verdicts[document.id] = Found(candidate.message)
                    used.add(candidate.message.msg_no)
                    break
    surplus = []
    for document in waiting:
        others = [
            candidate
            for candidate in ordered
            if candidate.message.msg_no not in used and may_be(document, candidate.message)
        ]
        if document.id in verdicts:
            for candidate in others:
                if _same_meaning(document, candidate) or _same_facts(document, candidate):
                    surplus.append((candidate.message, document))
                    used.add(candidate.message.msg_no)
            continue
        contents = {candidate.content for candidate in others}
        if contents & {"missing", "on the wire"}:
            verdicts[document.id] = "undecided"
        else:
            verdicts[document.id] = "ask a person" if "incomparable" in contents else "not found"
    return Decision(verdicts, tuple(surplus))


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


def _agree(said: str | None, posted: str | None) -> bool:
    return not said or not posted or same_participant(said, posted)


def _same_meaning(document: Document, candidate: Candidate) -> bool:
    return candidate.content == "compared" and candidate.meaning == document.meaning


def _same_facts(document: Document, candidate: Candidate) -> bool:
    facts = (candidate.type, candidate.number, candidate.issue_date)
    return (
        candidate.content == "compared"
        and candidate.number is not None
        and facts == (document.type, document.number, document.issue_date)
    )


@dataclass(slots=True)
class _Memory:
    """What we remember of one doubt: when the first complete look at it began, and when the next is due (steady)."""

    first: float | None = None
    next: float = 0.0
    needs_a_person: bool = False


class Looks:
    """The looks of one account: walks, compares, and remembers by our steady clock when each document was looked for.

    What it remembers is of this process only: after a start, two complete looks are begun afresh.
    """

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._memory: dict[tuple[str, int], _Memory] = {}
        self._compared: dict[int, Candidate] = {}

    def wait(self) -> float | None:
        """Seconds until the next look is wanted; None when nothing is in doubt."""
        doubtful = self._doubtful()
        self._memory = {
            key: memory for key, memory in self._memory.items() if key in {_key(document) for document in doubtful}
        }
        now = self._desk.steady()
        return min((max(0.0, self._remembered(document).next - now) for document in doubtful), default=None)

    def needs_a_person(self) -> set[str]:
        """The ids of the documents in doubt of which a message can't be compared."""
        return {document for (document, _), memory in list(self._memory.items()) if memory.needs_a_person}

    def look(self) -> list[Document]:
        """Look once for all that is in doubt, record what is decided, and return the documents that changed.

        Raises AccessPointError when the walk can't be completed: then nothing is decided.
        """
        documents = [document for document in self._doubtful() if self._desk.in_hand.take(document.id)]
        try:
            begun = self._desk.steady()
            for document in documents:  # if this look breaks off, the next one follows in a while
                self._remembered(document).next = begun + AFTER_BROKEN_LOOK
            return self._look(documents, begun) if documents else []
        finally:
            self._desk.in_hand.give_back(document.id for document in documents)

    def _look(self, documents: list[Document], begun: float) -> list[Document]:
        wire = self._desk.in_hand.on_the_wire()
        listed = [
            message for message in self._walk(documents) if any(may_be(document, message) for document in documents)
        ]
        wire |= self._desk.in_hand.on_the_wire()
        # Asked last: whoever has left the wire by now is in the journal.
        owned = self._desk.journal.owned(self._desk.access_point.identity, [message.msg_no for message in listed])
        candidates = [
            self._compare(message, wire) for message in listed if message.received not in owned.get(message.msg_no, ())
        ]
        decision = decide(documents, candidates)
        for message, document in decision.surplus:
            self._desk.log.error("message.surplus", msg_no=message.msg_no, file=document.file, company=document.company)
            self._desk.journal.record_surplus(
                self._desk.access_point.identity, message.msg_no, message.received, document
            )
        return [
            after
            for document in documents
            if (after := self._conclude(document, decision.verdicts[document.id], begun))
        ]

    def _conclude(self, document: Document, verdict: Verdict, begun: float) -> Document | None:
        desk, now, memory = self._desk, self._desk.now(), self._remembered(document)
        memory.needs_a_person = verdict == "ask a person"
        if isinstance(verdict, Found):
            message = verdict.message
            found = document.sent(now, message.msg_no, received=message.received, uuid=message.uuid, event="found")
            return desk.journal.record(found.later(now + desk.rules.track))
        if verdict != "not found":
            return None
        if memory.first is None:
            memory.first = begun
        doubt = desk.rules.doubt.total_seconds()
        if document.id in desk.gone:
            return desk.journal.record(document.taken(now))
        if begun == memory.first or begun - memory.first < doubt:
            passed = desk.steady() - memory.first
            memory.next = memory.first + min((moment for moment in (*SOON, doubt) if moment > passed), default=doubt)
            memory.next = min(memory.next, max(memory.first + doubt, desk.steady()))
            return None
        if document.unexplained >= UNEXPLAINED_AT_MOST:
            return desk.journal.record(document.failed(now, rejected(_last_reason(document), 400)))
        if document.unclear >= UNCLEAR_AT_MOST:
            return desk.journal.record(document.failed(now, _no_answer(document)))
        return desk.journal.record(document.not_found(now))

    def _doubtful(self) -> list[Document]:
        return self._desk.journal.in_state(State.DOUBT, identity=self._desk.access_point.identity)

    def _remembered(self, document: Document) -> _Memory:
        return self._memory.setdefault(_key(document), _Memory())

    def _walk(self, documents: list[Document]) -> Iterable[Message]:
        earliest = min(document.first_attempt or document.claimed for document in documents)
        day = earliest.astimezone(UTC).date() - timedelta(days=DAYS_WIDER)
        return self._desk.access_point.messages(after=day, direction="OUT")

    def _compare(self, message: Message, wire: Mapping[str, Document]) -> Candidate:
        # A request on the wire may have got there at any moment: its time says nothing.
        if any(may_be(posting, replace(message, received=None)) for posting in wire.values()):
            return Candidate(message, "on the wire")
        known = self._compared.get(message.msg_no)
        if known is not None:
            return replace(known, message=message)
        with tempfile.SpooledTemporaryFile(IN_MEMORY) as file:
            try:
                self._desk.access_point.download(message, file, max_size=max(self._desk.rules.max_size * 2, IN_MEMORY))  # type: ignore[arg-type] # a spooled file is written like any other
                file.seek(0)
                reading = identify.read(file, doctype="keep")  # type: ignore[arg-type] # and read like any other
            except Gone:
                return Candidate(message, "missing")
            except (DocumentError, NoClearAnswer):
                return Candidate(message, "incomparable")
        compared = Candidate(message, "compared", reading.meaning, reading.type, reading.number, reading.issue_date)
        if len(self._compared) > 10_000:  # noqa: PLR2004 - it saves downloads only; bounded so that years don't grow it
            self._compared.clear()
        self._compared[message.msg_no] = compared
        return compared


def _key(document: Document) -> tuple[str, int]:
    return document.id, document.unclear  # each unclear answer is a doubt of its own


def _last_reason(document: Document) -> str:
    reasons = [event.facts.get("why", "") for event in document.history if event.event == "in doubt"]
    return reasons[-1] if reasons else ""


def _no_answer(document: Document) -> Fault:
    return Fault(
        "no-answer",
        f"the access point gave no clear answer {document.unclear} times, and the document was not found there after any of them; "
        f"the last time: {_last_reason(document)}",
        "ask the access point's operator whether it has the document; if not, drop it again with: filedrop retry --anyway",
    )
