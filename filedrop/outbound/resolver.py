"""Documents in doubt: when the access point's archive is looked through for them, and what follows.

A *look* reads the archive from two days before the first attempt on; `matching.decide` judges what it found. A document
may be sent again only after two complete looks that did not find it: the first begun after the unclear answer, the
second at least `doubt` after that, by our steady clock. A look that breaks off decides nothing.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING

from filedrop import identify
from filedrop.errors import DocumentError, Gone, Interrupted, NoClearAnswer, Unauthorized, Unavailable, WrongAddress
from filedrop.model.document import UNCLEAR_AT_MOST, UNEXPLAINED_AT_MOST, State
from filedrop.model.message import Message, contradiction, difference, is_known
from filedrop.model.question import asked, question
from filedrop.outbound.matching import Candidate, Clocks, decide, may_be, same_document
from filedrop.outbound.sender import no_answer, rejected
from filedrop.texts import Text
from filedrop.times import EARLIEST, moment

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import BinaryIO

    from filedrop.identify import Reading
    from filedrop.model.document import Document
    from filedrop.outbound.context import Context
    from filedrop.outbound.matching import Decision
    from filedrop.outbound.pipeline import OutboundPipeline
    from filedrop.process.folder_worker import FolderWorkers

DAYS_WIDER = 2  # contract 6: a day is what the access point takes for one, and operators differ
LOOKS_AFTER = (5.0, 15.0, 45.0, 150.0, 450.0)  # seconds after the first look: more looks before `doubt` is over
VERY_SOON = 0.5  # seconds after a first look that other requests hindered: most have their answers then
BEFORE_A_PERSON = 30.0  # seconds at least between looks while a person is asked
IN_MEMORY = 1_000_000  # bytes of a candidate that are kept in memory while it is read
LISTED_AT_ONCE = 1000  # messages of the list in memory at once, but for those that may be documents in doubt
REMEMBERED = 10_000  # candidates whose content is kept, which saves downloads; bounds the memory


@dataclass(slots=True)
class _Memory:
    """What is remembered of one doubt: when its first complete look began, and when the next look is due (steady).

    `hindered`: since when each look has been incomplete because a message can't be downloaded.
    """

    first: float | None = None
    next: float = 0.0
    hindered: float | None = None
    needs_a_person: bool = False
    was_undecided: bool = False


class DoubtResolver:
    """The looks of one account. Their memory ends with the process: after a start, a document needs two new looks.

    What lies in a folder that is away isn't looked for until that is back: another filedrop may have posted it since.
    """

    def __init__(self, shared: Context, pipelines: Sequence[OutboundPipeline], workers: FolderWorkers) -> None:
        self._shared = shared
        self._pipelines = pipelines
        self._workers = workers
        self._memory: dict[tuple[str, datetime | None], _Memory] = {}
        self._compared: dict[tuple[int, str | None], Candidate] = {}

    def wait(self) -> float | None:
        """Seconds until the next look is due; None when nothing is in doubt."""
        doubtful = self._doubtful()
        there = {_key(document) for document in doubtful}
        self._memory = {key: memory for key, memory in self._memory.items() if key in there}
        now = self._shared.steady()
        return min((max(0.0, self._remembered(document).next - now) for document in doubtful), default=None)

    def undecided(self) -> bool:
        """Whether anything is in doubt that further looks may decide."""
        needs_a_person = self.needs_a_person()
        return any(document.id not in needs_a_person for document in self._doubtful())

    def needs_a_person(self) -> set[str]:
        """The ids of the documents in doubt that only a person can decide."""
        return {document_id for (document_id, _), memory in list(self._memory.items()) if memory.needs_a_person}

    def resolve(self) -> list[Document]:
        """Look once for all documents in doubt, and record what is decided. Returns the documents that changed.

        Raises AccessPointError when the look can't be completed: then nothing is decided.
        """
        documents, begun = self._doubtful(), self._shared.steady()
        changed = self._look(documents, begun) if documents else []
        for document in changed:
            self._log_conclusion(document)
        return changed

    def _look(self, documents: list[Document], begun: float) -> list[Document]:
        shared, identity, clocks = self._shared, self._shared.access_point.identity, self._clocks()
        others = self._others(documents, self._sending())
        listed: dict[int, Message] = {}  # by number: pages may shift, and repeat a message
        messages = iter(self._walk(documents, clocks))
        while part := list(islice(messages, LISTED_AT_ONCE)):
            listed |= self._alike(documents, part)
        sending = self._sending()  # before what is in doubt, which one of these may be by then
        others += self._others(documents, sending)
        rivals = [*others, *sending, *self._doubtful(away=True)]
        # Owners are read last: a request that is no longer in `others` has its answer in the journal.
        decision = decide(documents, self._candidates(documents, listed, others, clocks), clocks, rivals)
        for message, document in decision.surplus:
            shared.log.error("message.surplus", **document.log_facts, msg_no=message.msg_no)
            shared.journal.numbers.record_surplus(identity, message.msg_no, message.received, document)
        steps = [self._conclude(document, decision, begun) for document in documents]
        return shared.journal.documents.record_all(after for after in steps if after is not None)

    def _candidates(
        self, documents: Iterable[Document], listed: Mapping[int, Message], others: Iterable[Document], clocks: Clocks
    ) -> Iterator[Candidate]:
        """The messages that may be documents in doubt, for all companies with such documents."""
        journal, identity = self._shared.journal, self._shared.access_point.identity
        for number, known in self._unowned(documents, listed).items():
            message = listed[number]
            candidate = self._compare(message, others, clocks)
            owned_for = {company for company, is_owned in known.items() if is_owned}
            contested_for = {
                company
                for company, is_owned in known.items()
                if is_owned is None
                for rival in journal.numbers.owners(identity, [number], company)
                if not difference(message, rival) and same_document(rival, candidate)
            }
            yield replace(candidate, owned_for=frozenset(owned_for), contested_for=frozenset(contested_for))

    def _alike(self, documents: Sequence[Document], messages: Iterable[Message]) -> dict[int, Message]:
        """The messages that may be one of these documents, by number: few of the very many that a list may have."""
        alike = {
            message.msg_no: message
            for message in messages
            if any(not contradiction(message, document) for document in documents)
        }
        return {number: alike[number] for number in self._unowned(documents, alike)}

    def _unowned(
        self, documents: Iterable[Document], listed: Mapping[int, Message]
    ) -> dict[int, dict[str, bool | None]]:
        """The listed messages that aren't owned for each company that has a document in doubt.

        By number and company: whether another document owns it; None if unknown.
        """
        identity, companies = self._shared.access_point.identity, {document.company for document in documents}
        owned = {company: self._shared.journal.numbers.owned(identity, listed, company) for company in companies}
        known = {
            number: {company: is_known(message, owned[company].get(number, ())) for company in companies}
            for number, message in listed.items()
        }
        return {number: is_owned for number, is_owned in known.items() if not all(is_owned.values())}

    def _conclude(self, document: Document, decision: Decision, begun: float) -> Document | None:
        shared, memory = self._shared, self._remembered(document)
        conclusion, hindrances = decision.conclusions[document.id], decision.hindrances.get(document.id, ())
        missing = conclusion == "undecided" and all(hindrance.content != "on the wire" for hindrance in hindrances)
        memory.hindered = (begun if memory.hindered is None else memory.hindered) if missing else None
        doubt = shared.rules.doubt.total_seconds()
        for_long = memory.hindered is not None and begun - memory.hindered >= doubt
        memory.needs_a_person = conclusion == "ask a person" or for_long
        if isinstance(conclusion, Message):
            now = shared.now()
            found = document.sent(
                now, conclusion.msg_no, received=conclusion.received, uuid=conclusion.uuid, event="found"
            )
            return found.later(now + shared.rules.track)
        if memory.needs_a_person:
            memory.next = shared.steady() + max(BEFORE_A_PERSON, doubt)
            shared.missing.note_asked(document.id)
            return self._ask(document, hindrances)
        if conclusion == "not found":
            shared.missing.note_asked(document.id)
            return self._not_found(document, memory, begun)
        memory.next = shared.steady() + (LOOKS_AFTER[0] if memory.was_undecided else VERY_SOON)
        memory.was_undecided = True
        return None

    def _not_found(self, document: Document, memory: _Memory, begun: float) -> Document | None:
        """What follows from a complete look that did not find the document; None: look again. `begun` is steady."""
        now, steady = self._shared.now(), self._shared.steady()
        if memory.first is None:
            memory.first = begun
        over = memory.first + self._shared.rules.doubt.total_seconds()
        if begun == memory.first or begun < over:
            looks = (memory.first + after for after in LOOKS_AFTER)
            memory.next = min((look for look in looks if steady < look < over), default=over)
            return None
        if document.unexplained >= UNEXPLAINED_AT_MOST:
            return document.failed(now, rejected(document.why_in_doubt, 400, document))
        if document.unclear >= UNCLEAR_AT_MOST:
            return document.failed(now, no_answer(document))
        return document.not_found(now)

    def _log_conclusion(self, document: Document) -> None:
        """Log what a look has decided, or asks a person. A failure is logged when the document is put away."""
        facts = document.log_facts
        match document.state:
            case State.SENT:
                self._shared.log.info("document.found", **facts, msg_no=document.msg_no)
            case State.WAITING:
                self._shared.log.warning("document.not_found", **facts, attempt=document.unclear + 1)
            case State.DOUBT:
                self._shared.log.error("document.undecided", **facts, why=question(document))

    def _ask(self, document: Document, hindrances: Sequence[Candidate]) -> Document | None:
        """The document with a question to a person, where note and `status` find it; None if that was asked last."""
        evidence = {found.message.msg_no: _evidence(found, document) for found in hindrances}
        after = asked(document, self._shared.now(), evidence)
        return None if question(after) == question(document) else after

    def _clocks(self) -> Clocks:
        times = self._shared.journal.numbers.times(self._shared.access_point.identity)
        learned = [(posted, came) for posted, received in times if (came := moment(received))]
        return Clocks.learned(learned, late=self._shared.rules.doubt)

    def _doubtful(self, *, away: bool = False) -> list[Document]:
        """What is in doubt in folders that are there, or in those that are away."""
        documents = self._shared.journal.documents.in_state(State.DOUBT, identity=self._shared.access_point.identity)
        unavailable = {folder for folder in {document.folder for document in documents} if self._is_away(folder)}
        return [document for document in documents if (document.folder in unavailable) is away]

    def _is_away(self, folder: str) -> bool:
        """Whether a folder (by id) of the account is unavailable, or hangs."""
        path = self._shared.journal.folders.path(folder)
        there = (pipeline for pipeline in self._pipelines if pipeline.folder.path == path)
        return any(pipeline.health.trouble or self._workers.is_hung(pipeline) for pipeline in there)

    def _sending(self) -> list[Document]:
        return self._shared.journal.documents.in_state(State.SENDING, identity=self._shared.access_point.identity)

    def _others(self, documents: Iterable[Document], sending: Iterable[Document]) -> list[Document]:
        """Other documents that may have made a message and don't own it yet: requests under way, newer doubts.

        Not what a kill has left as under way in a folder that is away: no answer to that will come.
        """
        looked_for = {document.id for document in documents}
        under_way = [document for document in sending if document.id in self._shared.window]
        return [document for document in (*under_way, *self._doubtful()) if document.id not in looked_for]

    def _remembered(self, document: Document) -> _Memory:
        return self._memory.setdefault(_key(document), _Memory())

    def _walk(self, documents: Iterable[Document], clocks: Clocks) -> Iterable[Message]:
        earliest = [self._earliest(document, clocks) for document in documents]
        after = None
        if None not in earliest:
            first = min(max(EARLIEST, came) for came in earliest if came)
            after = first.astimezone(UTC).date() - timedelta(days=DAYS_WIDER)
        return self._shared.access_point.messages(after=after, direction="OUT")

    def _earliest(self, document: Document, clocks: Clocks) -> datetime | None:
        """The earliest time, by the clock of `received`, at which its message can have come. None if no clock tells."""
        if document.first_attempt:
            return document.first_attempt + min(clocks.least, timedelta(0))
        theirs, now = self._shared.access_point.clock(), self._shared.now()
        if theirs is not None and document.claimed <= now:  # `claimed` may be wrong by as much as our clock is now
            return document.claimed + min(theirs - now, timedelta(0)) + min(clocks.least, timedelta(0))
        before = [
            came for received in self._shared.journal.numbers.received_before(document) if (came := moment(received))
        ]
        return min([document.claimed, *before]) if before else None

    def _compare(self, message: Message, others: Iterable[Document], clocks: Clocks) -> Candidate:
        if any(may_be(other, message, clocks) for other in others):
            return Candidate(message, "on the wire")
        key = (message.msg_no, message.received)
        if key in self._compared:
            return self._compared[key]
        with tempfile.SpooledTemporaryFile(IN_MEMORY) as file:
            try:
                largest = max(self._shared.rules.max_size * 2, IN_MEMORY)  # a server may return it in a longer form
                self._shared.access_point.download(message, file, max_size=largest)  # type: ignore[arg-type] # a spooled file is written like any other
                file.seek(0)
                reading = _read(message, file)  # type: ignore[arg-type] # and read like any other
            except Gone:
                return Candidate(message, "missing")
            except Interrupted:  # by our own stop, and so nothing that speaks of the message
                raise
            except (DocumentError, NoClearAnswer):
                return Candidate(message, "incomparable")
            except (Unauthorized, Unavailable, WrongAddress):
                if not self._shared.breaker.allows_again():
                    raise
                return Candidate(message, "missing")  # only this message fails: compare the others
        compared = Candidate(
            message, "compared", reading.meaning, reading.root_name, reading.number, reading.issue_date
        )
        if len(self._compared) >= REMEMBERED:
            self._compared.clear()
        if message.received:  # else the key may be another message's on a server set up anew
            self._compared[key] = compared
        return compared


def _evidence(candidate: Candidate, document: Document) -> str:
    """What speaks for the message being this document, and what against it."""
    match candidate.content:
        case "incomparable":
            return "may be this document, but can't be compared: its content can't be read as a document"
        case "missing":
            return "may be this document, but can't be compared: its content can't be fetched"
    if document.company in candidate.contested_for:
        return "has the same content, but may be another document, which was accepted under that number"
    first = document.first_attempt
    return (
        f"has the same content, but was received at {candidate.message.received}, and this was first sent at "
        f"{first.isoformat(timespec='seconds') if first else 'another time'} by the access point's clock"
    )


def _read(message: Message, file: BinaryIO) -> Reading:
    """What a message's document says. Raises DocumentError where another document has come in its place."""
    reading = identify.read(file, doctype="keep")
    if not reading.goes_by(message.document_id):
        raise DocumentError(Text.of("unreadable/other-message", msg_no=message.msg_no))
    return reading


def _key(document: Document) -> tuple[str, datetime | None]:
    return document.id, document.in_doubt_since  # each doubt is one of its own
