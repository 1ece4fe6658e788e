"""Delivery tracking: accepted documents are followed to the end, by lists.

The outbox lists what is still on its way, the archive what was delivered; single questions are asked only for the rest.
Only a message's own `delivered` proves its delivery: a failed transmission leaves the outbox, too (field notes).
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from filedrop.accesspoint import Listing
from filedrop.accesspoint.directory import UNKNOWN
from filedrop.accesspoint.listing import PAGE
from filedrop.errors import AccessPointError, Interrupted, NoClearAnswer, Unauthorized, Unavailable, WrongAddress
from filedrop.model.document import State
from filedrop.model.fault import Fault
from filedrop.model.message import contradiction, difference, is_known
from filedrop.outbound import unreachable
from filedrop.outbound.identified import is_answer
from filedrop.outbound.matching import last_attempt
from filedrop.pauses import Backoff
from filedrop.texts import Text
from filedrop.times import EARLIEST

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from filedrop.model.document import Document
    from filedrop.model.message import Message
    from filedrop.outbound.context import Context
    from filedrop.outbound.pipeline import OutboundPipeline

ASKED_AT_ONCE = 5000  # documents: bounds the memory; the outbox is read once for all of them
LONGEST_PAUSE = timedelta(hours=1)  # contract 2, `track`: doubles up to 1h
FEWEST_PAGES = 4  # pages of the archive that are always read before single questions


class Tracking:
    """Follows one account's accepted documents."""

    def __init__(self, shared: Context, pipelines: Sequence[OutboundPipeline]) -> None:
        self._shared = shared
        self._pipelines = pipelines
        # Nothing is left to chance: documents that are due together share one reading of the lists.
        self._pauses = Backoff(shared.rules.track, max(LONGEST_PAUSE, shared.rules.track), chance=lambda: 0.0)
        self._gone: dict[str, float] = {}  # ids of documents that left the outbox undelivered, since when (steady)

    def wait(self) -> float | None:
        """Seconds until the next document is due; None when none is on its way."""
        first, now = self._shared.journal.documents.tracking_due(self._shared.access_point.identity), self._shared.now()
        if first is None:
            return None
        return 0.0 if self._pauses.is_due(first, now) else (first - now).total_seconds()

    def track(self) -> list[Document]:
        """Ask after the documents that are due, oldest first, and record the answers. Returns those that have ended.

        Raises AccessPointError when the access point can't be asked: then nothing is concluded.
        """
        shared = self._shared
        identity, now = shared.access_point.identity, shared.now()
        due = shared.journal.documents.tracked(identity, now, longest=self._pauses.longest, limit=ASKED_AT_ONCE)
        return self._track(due) if due else []

    def _track(self, documents: list[Document]) -> list[Document]:
        shared, reports = self._shared, _Reports(self._shared, documents)
        outbox = self._outbox()
        for queued in outbox.messages:
            reports.add(queued)
        reports.in_outbox.update(reports.messages)
        unlisted = [document for document in documents if document.id not in reports.in_outbox]
        self._read_archive(reports, unlisted)
        for document in unlisted:
            if document.msg_no is not None and not reports.delivered(document):
                try:
                    message = shared.access_point.status(document.msg_no)
                except Interrupted:
                    raise
                except (NoClearAnswer, Unauthorized, Unavailable, WrongAddress) as error:  # only this message fails
                    if not shared.breaker.allows_again():
                        raise
                    shared.log.warning(
                        "message.not_answered", **document.log_facts, msg_no=document.msg_no, why=str(error)
                    )
                    reports.unclear.add(document.id)
                else:
                    if message is not None:
                        reports.add(message)
        steps = [self._step(document, reports, outbox) for document in documents]
        return [document for document in shared.journal.documents.record_all(steps) if document.state.finished]

    def _outbox(self) -> Listing:
        """What is still on its way; where it isn't given out, archive and single questions tell of deliveries."""
        shared = self._shared
        try:
            outbox = shared.access_point.outbox()
        except Interrupted:
            raise
        except AccessPointError as error:
            if error.retry_after or not shared.breaker.allows_again():
                raise
            outbox = Listing((), complete=False, pages=0, trouble=str(error))
        if outbox.trouble:
            shared.log.warning("list.cut_short", list="outbox", why=outbox.trouble)
        return outbox

    def _read_archive(self, reports: _Reports, wanted: list[Document]) -> None:
        """Read the archive's list as far as that may cost less than single questions."""
        if not wanted:
            return
        earliest = min(_received_day(document) for document in wanted)
        at_most = PAGE * max(FEWEST_PAGES, len(wanted))
        archive = self._shared.access_point.messages(after=earliest - timedelta(days=1), direction="OUT")
        try:
            for listed, message in enumerate(archive, 1):
                if reports.add(message) and all(document.id in reports.messages for document in wanted):
                    break
                if listed >= at_most:
                    break
        except Interrupted:
            raise
        except AccessPointError as error:  # single questions are asked for the rest
            if not isinstance(error, NoClearAnswer) and not self._shared.breaker.allows_again():
                raise
            self._shared.log.warning("list.cut_short", list="messages", why=str(error))

    def _step(self, document: Document, reports: _Reports, outbox: Listing) -> Document:
        now = self._shared.now()
        message = reports.messages.get(document.id)
        if message is not None and document.received is None:  # its 201 had none
            document = document.but(received=message.received, uuid=document.uuid or message.uuid)
        if message is not None and message.delivered:
            self._gone.pop(document.id, None)
            return document.delivered_at(now, message.delivered, message.uuid)
        if document.id in reports.unclear:
            return self._asked(document)
        gone_since = self._gone.pop(document.id, self._shared.steady())
        if document.id not in reports.in_outbox and _has_left(document, outbox):
            if self._is_overdue(document, now, gone_since, outbox):
                return self._not_delivered(now, document, reports.others.get(document.id, ""))
            self._gone[document.id] = gone_since
        self._shared.missing.note_asked(document.id)
        return self._asked(document)

    def _not_delivered(self, now: datetime, document: Document, otherwise: str) -> Document:
        """A document that left the outbox undelivered, with the cause where the directory knows it."""
        served = (pipeline.desk.shared for pipeline in self._pipelines if pipeline.folder.id == document.folder)
        company = next(served, None)
        asks = not otherwise and company is not None and company.rules.directory != "off"
        objection = self._shared.directory.objection(document.ids) if asks else None
        is_absent = objection is not None and objection.code == UNKNOWN and not is_answer(document)
        if company is not None and is_absent and company.rules.unreachable != "directory":
            return document.unreachable(now, unreachable.fault(company, document))
        return document.failed(now, _not_delivered(document, otherwise, objection))

    def _is_overdue(self, document: Document, now: datetime, gone_since: float, outbox: Listing) -> bool:
        """Whether it has been on its way for `overdue` by our clock and the access point's: one may have been set.

        The steady clock alone is enough when `overdue` has passed since we saw that the document had left the outbox.
        It is needed where the outbox has several pages: messages leave it while these are read, and then others move up
        to a page that was read before, and are in none.
        """
        overdue, posted, theirs = self._shared.rules.overdue, last_attempt(document), self._shared.access_point.clock()
        if self._shared.steady() - gone_since >= overdue.total_seconds():
            return True
        if posted is None or theirs is None or outbox.pages > 1:
            return False
        return min(now - (document.accepted or document.claimed), theirs - posted) >= overdue

    def _asked(self, document: Document) -> Document:
        """The document, not delivered yet, to be asked after again: the pause doubles each time."""
        return document.asked_after(self._pauses.due(self._shared.now(), document.asked + 2))


class _Reports:
    """What lists and answers say about accepted documents.

    `messages`: by document id, the latest of its own message. `in_outbox`: ids of those that the outbox lists.
    `others`: by document id, why the message of its number is another document's, in words. `unclear`: ids of documents
    where that can't be determined now.
    """

    def __init__(self, shared: Context, documents: Iterable[Document]) -> None:
        self._shared = shared
        self._numbered: dict[int | None, list[Document]] = {}
        for document in documents:  # after a server was set up anew, two may have one number
            self._numbered.setdefault(document.msg_no, []).append(document)
        self.messages: dict[str, Message] = {}
        self.in_outbox: set[str] = set()
        self.others: dict[str, str] = {}
        self.unclear: set[str] = set()

    def add(self, message: Message) -> bool:
        """Add a message. Returns whether it is one of the documents'."""
        mine = [document for document in self._numbered.get(message.msg_no, ()) if self._is_its(message, document)]
        for document in mine:
            if not self.delivered(document):
                self.messages[document.id] = message
        return bool(mine)

    def delivered(self, document: Document) -> bool:
        """Whether the document's message was listed as delivered."""
        message = self.messages.get(document.id)
        return message is not None and message.delivered is not None

    def _is_its(self, message: Message, document: Document) -> bool:
        why_not = difference(message, document)
        if not why_not and document.received is None and message.received is not None:
            journal, identity = self._shared.journal, document.identity
            if is_known(message, journal.numbers.owned(identity, [message.msg_no], document.company)[message.msg_no]):
                why_not = "it is another document's"
            elif any(
                not contradiction(message, other)
                for state in (State.SENDING, State.DOUBT)
                for other in journal.documents.in_state(state, identity=identity)
            ):
                self.unclear.add(document.id)
                return False
        if why_not:
            self.others[document.id] = why_not
        return not why_not


def _has_left(document: Document, outbox: Listing) -> bool:
    """Whether what isn't listed has left the outbox: a full page without navigation shows the oldest (field notes)."""
    newest = max((message.msg_no for message in outbox.messages), default=0)
    return outbox.complete or (not outbox.trouble and document.msg_no is not None and document.msg_no < newest)


def _received_day(document: Document) -> datetime:
    try:
        received = datetime.fromisoformat(document.received or "").astimezone(UTC)
        return max(received, EARLIEST)
    except (ValueError, OverflowError):
        return (document.accepted or document.claimed).astimezone(UTC) - timedelta(days=1)


def _not_delivered(document: Document, otherwise: str, objection: Fault | None) -> Fault:
    msg_no = document.msg_no
    if otherwise:
        return Fault.of(Text.of("not-delivered/other-message", msg_no=msg_no, why=otherwise))
    if objection:
        return Fault.of(Text.of("not-delivered/objection", msg_no=msg_no), *objection.texts)
    return Fault.of(Text.of("not-delivered", msg_no=msg_no))
