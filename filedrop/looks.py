"""Looking for documents in doubt at the access point: who is looked for when, and what follows from it.

A *look* walks the archive from two days before the first attempt on; `doubt.decide` says what it found. Only after two
complete looks that did not find it, the first begun after the unclear answer, at least `doubt` apart by our steady
clock, may a document be sent again. A look that breaks off decides nothing.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from datetime import UTC, timedelta
from typing import TYPE_CHECKING

from filedrop import identify
from filedrop.accesspoint import Gone
from filedrop.document import UNCLEAR_AT_MOST, UNEXPLAINED_AT_MOST, Fault, State
from filedrop.doubt import Candidate, Found, decide, is_owned, may_be
from filedrop.errors import DocumentError, NoClearAnswer, Unavailable, WrongAddress
from filedrop.sending import rejected

if TYPE_CHECKING:
    from collections.abc import Iterable

    from filedrop.accesspoint import Message
    from filedrop.desk import Desk
    from filedrop.document import Document
    from filedrop.doubt import Verdict

DAYS_WIDER = 2  # contract 6: days are the access point's, and its operators differ
SOON = (
    5.0,
    15.0,
    45.0,
    150.0,
    450.0,
)  # seconds after the first look at which another may find it before `doubt` is over
BEFORE_A_PERSON = 30.0  # seconds at least until a look is repeated that found what can't be compared
IN_MEMORY = 1_000_000  # bytes of a candidate that are kept in memory while it is read
REMEMBERED = 10_000  # candidates whose content is kept in mind: it saves downloads, bounded so that years don't grow it


@dataclass(slots=True)
class _Memory:
    """What we remember of one doubt: when the first complete look at it began, and when the next is due (steady)."""

    first: float | None = None
    next: float = 0.0
    needs_a_person: bool = False


class Looks:
    """The looks of one account. What it remembers is this process's: after a start, two looks are begun afresh."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._memory: dict[tuple[str, int], _Memory] = {}
        self._compared: dict[tuple[int, str | None], Candidate] = {}

    def wait(self) -> float | None:
        """Seconds until the next look is wanted; None when nothing is in doubt."""
        doubtful = self._doubtful()
        there = {_key(document) for document in doubtful}
        self._memory = {key: memory for key, memory in self._memory.items() if key in there}
        now = self._desk.steady()
        return min((max(0.0, self._remembered(document).next - now) for document in doubtful), default=None)

    def undecided(self) -> bool:
        """Is anything in doubt that further looks may decide?"""
        needs_a_person = self.needs_a_person()
        return any(document.id not in needs_a_person for document in self._doubtful())

    def needs_a_person(self) -> set[str]:
        """The ids of the documents in doubt for which there is a message that can't be compared."""
        return {document for (document, _), memory in list(self._memory.items()) if memory.needs_a_person}

    def look(self) -> list[Document]:
        """Look once for all that is in doubt, record what is decided, and return the documents that changed.

        Raises AccessPointError when the look can't be completed: then nothing is decided.
        """
        documents = [document for document in self._doubtful() if self._desk.in_hand.take(document.id)]
        try:
            begun = self._desk.steady()
            return self._look(documents, begun) if documents else []
        finally:
            self._desk.in_hand.give_back(document.id for document in documents)

    def _look(self, documents: list[Document], begun: float) -> list[Document]:
        desk, identity = self._desk, self._desk.access_point.identity
        others = self._others(documents)
        listed = [
            message for message in self._walk(documents) if any(may_be(document, message) for document in documents)
        ]
        others += self._others(documents)
        # Asked last: what has left `others` by now is the journal's.
        owned = desk.journal.owned(identity, [message.msg_no for message in listed])
        unowned = [message for message in listed if not is_owned(message, owned.get(message.msg_no, []))]
        decision = decide(documents, [self._compare(message, others) for message in unowned])
        for message, document in decision.surplus:
            desk.log.error("message.surplus", msg_no=message.msg_no, file=document.file, company=document.company)
            desk.journal.record_surplus(identity, message.msg_no, message.received, document)
        steps = [self._conclude(document, decision.verdicts[document.id], begun) for document in documents]
        return desk.journal.record_all(after for after in steps if after is not None)

    def _conclude(self, document: Document, verdict: Verdict, begun: float) -> Document | None:
        desk, now, memory = self._desk, self._desk.now(), self._remembered(document)
        doubt = desk.rules.doubt.total_seconds()
        memory.needs_a_person = verdict == "ask a person"
        if isinstance(verdict, Found):
            message = verdict.message
            found = document.sent(now, message.msg_no, received=message.received, uuid=message.uuid, event="found")
            return found.later(now + desk.rules.track)
        if verdict != "not found":
            memory.next = desk.steady() + (max(BEFORE_A_PERSON, doubt) if memory.needs_a_person else SOON[0])
            return None
        desk.asked_after(document)
        if memory.first is None:
            memory.first = begun
        over = memory.first + doubt
        if begun == memory.first or begun < over:
            moments = (memory.first + moment for moment in SOON)
            memory.next = min((moment for moment in moments if desk.steady() < moment < over), default=over)
            return None
        if document.unexplained >= UNEXPLAINED_AT_MOST:
            return document.failed(now, rejected(document.why_in_doubt, 400))
        if document.unclear >= UNCLEAR_AT_MOST:
            return document.failed(now, _no_answer(document))
        return document.not_found(now)

    def _doubtful(self) -> list[Document]:
        return self._desk.journal.in_state(State.DOUBT, identity=self._desk.access_point.identity)

    def _others(self, documents: Iterable[Document]) -> list[Document]:
        """What else may have made a message without owning it yet: requests under way, doubts in other hands."""
        looked_for = {document.id for document in documents}
        under_way = self._desk.journal.in_state(State.SENDING, identity=self._desk.access_point.identity)
        return [document for document in (*under_way, *self._doubtful()) if document.id not in looked_for]

    def _remembered(self, document: Document) -> _Memory:
        return self._memory.setdefault(_key(document), _Memory())

    def _walk(self, documents: Iterable[Document]) -> Iterable[Message]:
        earliest = min(document.first_attempt or document.claimed for document in documents)
        day = earliest.astimezone(UTC).date() - timedelta(days=DAYS_WIDER)
        return self._desk.access_point.messages(after=day, direction="OUT")

    def _compare(self, message: Message, others: Iterable[Document]) -> Candidate:
        if any(may_be(other, message) for other in others):
            return Candidate(message, "on the wire")
        key = (message.msg_no, message.received)
        if key in self._compared:
            return self._compared[key]
        with tempfile.SpooledTemporaryFile(IN_MEMORY) as file:
            try:
                largest = max(self._desk.rules.max_size * 2, IN_MEMORY)  # a server may write it longer than it was
                self._desk.access_point.download(message, file, max_size=largest)  # type: ignore[arg-type] # a spooled file is written like any other
                file.seek(0)
                reading = identify.read(file, doctype="keep")  # type: ignore[arg-type] # and read like any other
            except Gone:
                return Candidate(message, "missing")
            except (DocumentError, NoClearAnswer):
                return Candidate(message, "incomparable")
            except (Unavailable, WrongAddress):
                if not self._desk.standing.see_again():
                    raise
                return Candidate(message, "missing")  # it is this message's trouble: the others are compared
        compared = Candidate(
            message, "compared", reading.meaning, reading.root_name, reading.number, reading.issue_date
        )
        if len(self._compared) >= REMEMBERED:
            self._compared.clear()
        self._compared[key] = compared
        return compared


def _key(document: Document) -> tuple[str, int]:
    return document.id, document.unclear  # each unclear answer is a doubt of its own


def _no_answer(document: Document) -> Fault:
    return Fault(
        "no-answer",
        f"the access point gave no clear answer {document.unclear} times, and the document was not found there after "
        f"any of them; the last time: {document.why_in_doubt}",
        "ask the access point's operator whether it has the document; if not, send it again with retry --anyway",
    )
