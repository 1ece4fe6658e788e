"""Has it been delivered? Accepted documents are followed to the end, by lists.

The outbox says what is still on its way, the archive what was delivered. Single questions are asked only for what these
leave open. Only a `delivered` of the message itself proves delivery: leaving the outbox does not (field notes:
a failed transmission disappears from it).
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from filedrop.document import Document, Fault
from filedrop.errors import NoClearAnswer, Unavailable, WrongAddress
from filedrop.moments import backoff, is_due

if TYPE_CHECKING:
    from filedrop.accesspoint import Listing, Message
    from filedrop.desk import Desk

ASKED_AT_ONCE = 5000  # documents: bounds the memory; the outbox is read once for all of them
LONGEST = timedelta(hours=1)  # contract 2, `track`: doubles up to 1h
FEWEST_PAGES = 4  # of the archive are always worth reading before single questions
PAGE = 25  # interface, Limits
EARLIEST = datetime(2000, 1, 1, tzinfo=UTC)  # no message is older; some servers write the year 1 for "never"


class Tracking:
    """What becomes of one account's accepted documents."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._longest = max(LONGEST, desk.rules.track)

    def wait(self) -> float | None:
        """Seconds until the next document is to be asked after; None when none is on its way."""
        first, now = self._desk.journal.tracking_due(self._desk.access_point.identity), self._desk.now()
        if first is None:
            return None
        return 0.0 if is_due(first, now, self._longest) else (first - now).total_seconds()

    def track(self) -> list[Document]:
        """Ask after what is due, the oldest of it, record what is heard, and return those that came to an end.

        Raises AccessPointError when the access point can't be asked: then nothing is concluded.
        """
        desk = self._desk
        identity, now = desk.access_point.identity, desk.now()
        due = desk.journal.tracked(identity, now, longest=self._longest, limit=ASKED_AT_ONCE)
        documents = [document for document in due if desk.in_hand.take(document.id)]
        try:
            return self._track(documents) if documents else []
        finally:
            desk.in_hand.give_back(document.id for document in documents)

    def _track(self, documents: list[Document]) -> list[Document]:
        outbox = self._desk.access_point.outbox()
        queued = {message.msg_no for message in outbox.messages}
        delivered = {message.msg_no: message for message in outbox.messages if message.delivered}
        left = {
            document.msg_no: document
            for document in documents
            if document.msg_no is not None and document.msg_no not in queued
        }
        delivered |= self._archive(left)
        unknown = set()
        for number in left:
            if number not in delivered:
                try:
                    message = self._desk.access_point.status(number)
                except (
                    NoClearAnswer,
                    Unavailable,
                    WrongAddress,
                ) as error:  # one message's trouble
                    if not self._desk.standing.see_again():
                        raise
                    self._desk.log.warning("message.not_answered", msg_no=number, why=str(error))
                    unknown.add(number)
                    continue
                if message is not None and message.msg_no == number and message.delivered:
                    delivered[number] = message
        steps = [
            self._asked(document)
            if document.msg_no in unknown
            else self._step(document, delivered.get(document.msg_no or 0), outbox)
            for document in documents
        ]
        return [document for document in self._desk.journal.record_all(steps) if document.state.finished]

    def _archive(self, wanted: dict[int, Document]) -> dict[int, Message]:
        """What the archive's list says was delivered, read only as far as it may cost less than single questions."""
        found: dict[int, Message] = {}
        if not wanted:
            return found
        earliest = min(_received_day(document) for document in wanted.values())
        seen, at_most = set(), PAGE * max(FEWEST_PAGES, len(wanted))
        archive = self._desk.access_point.messages(after=earliest - timedelta(days=1), direction="OUT")
        for listed, message in enumerate(archive, 1):
            if message.msg_no in wanted:
                seen.add(message.msg_no)
                if message.delivered:
                    found[message.msg_no] = message
            if len(seen) == len(wanted) or listed >= at_most:
                break
        return found

    def _step(self, document: Document, delivered: Message | None, outbox: Listing) -> Document:
        now, rules = self._desk.now(), self._desk.rules
        if delivered is not None and delivered.delivered:
            return document.delivered_at(now, delivered.delivered, delivered.uuid)
        waited = now - (document.accepted or document.claimed)
        if waited >= rules.overdue and _has_left(document.msg_no, outbox):
            return document.failed(now, _not_delivered(document))
        self._desk.asked_after(document)
        return self._asked(document)

    def _asked(self, document: Document) -> Document:
        """Not delivered as far as is known: asked again after a pause that doubles."""
        pause = backoff(document.asked + 2, self._desk.rules.track, self._longest)
        return document.asked_after(self._desk.now() + pause)


def _has_left(msg_no: int | None, outbox: Listing) -> bool:
    """It certainly isn't in the outbox: a full page without navigation shows only the oldest (field notes)."""
    numbers = [message.msg_no for message in outbox.messages]
    if msg_no in numbers:
        return False
    return outbox.complete or (msg_no is not None and msg_no < max(numbers, default=0))


def _received_day(document: Document) -> datetime:
    try:
        received = datetime.fromisoformat(document.received or "").astimezone(UTC)
        return max(received, EARLIEST)
    except (ValueError, OverflowError):
        return (document.accepted or document.claimed).astimezone(UTC) - timedelta(days=1)


def _not_delivered(document: Document) -> Fault:
    return Fault(
        "not-delivered",
        f"the access point accepted it as message {document.msg_no}, but has not delivered it and no longer tries: "
        "the transfer to the receiver's access point failed",
        "ask the access point's operator why; check the receiver; then it may be sent again: move it back to outbound/",
    )
