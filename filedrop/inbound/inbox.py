"""The unread messages of an account: in its inbox, in the archive behind that, and unfinished ones of the journal.

An inbox may show no more than its oldest 25 messages, or never come to an end. What can be read of it is used. If a
message that it shows can't be taken now, others may never be shown, so the archive is searched for them. A message is
known by its number, the time it was received, its sender and its receiver together, however these are written, and
whatever the account's host was called (contract 6).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, date, timedelta
from typing import TYPE_CHECKING

from filedrop.accesspoint import MOST_LISTED
from filedrop.errors import AccessPointError, Interrupted, NoClearAnswer
from filedrop.journal import is_same
from filedrop.model.document import participant_key
from filedrop.model.message import Message
from filedrop.times import EARLIEST

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from filedrop.accesspoint import Listing
    from filedrop.inbound.context import InboundContext
    from filedrop.journal import MessageRow

DAYS_WIDER = 2  # a pass begins this many days before the end of the last one


@dataclass(frozen=True, slots=True)
class Unread:
    """A message of the inbox, and its row when it was listed."""

    message: Message
    row: MessageRow | None
    listed: bool = True


class Inbox:
    """The unread messages of one account. Not `complete`: there may be more than were found."""

    def __init__(self, context: InboundContext) -> None:
        self._context = context
        self._known_day: date | None = None  # all messages before it are known
        self._left: dict[str, Message] = {}  # by receiver, the oldest found beyond that had no row then
        self._cut_short = ""  # why the archive was not read to its end, when it last wasn't
        self.complete = True

    def unread(self, is_blocked: Callable[[Unread], bool]) -> list[Unread]:
        """The unread messages with their rows, oldest first. Raises AccessPointError, JournalError.

        `is_blocked`: whether a message can't be taken now, so that others may be hidden behind it.
        """
        context = self._context
        listing = context.access_point.inbox()
        if listing.trouble:
            context.log.warning("list.cut_short", list="inbox", why=listing.trouble)
        self.complete = listing.complete
        unread = self._known(listing.messages)
        if not self.complete and any(map(is_blocked, unread.values())):
            beyond = self._known(self._beyond(listing, is_blocked))
            self._remember_left(beyond.values())
            unread = beyond | unread
        elif self._cut_short and context.access_point.cut_short["messages"] == self._cut_short:  # it is read no more
            context.access_point.note_cut_short("messages", "")
        unread |= {unfinished.message.msg_no: unfinished for unfinished in self._unfinished(unread)}
        return [unread[number] for number in sorted(unread)]

    def _known(self, messages: Sequence[Message]) -> dict[int, Unread]:
        """The messages by number, each with its row. Rows under a former name of the account get its present one."""
        context, identity = self._context, self._context.access_point.identity
        rows = context.journal.messages.known(identity, messages)
        strays = [row for row in rows.values() if row.identity != identity]
        if strays:
            rows |= {row.msg_no: row for row in context.journal.messages.adopt(identity, strays)}
            for before, number in Counter(row.identity for row in strays).items():
                context.log.warning("messages.known", before=before, now=identity, number=number)
        return {message.msg_no: Unread(message, rows.get(message.msg_no)) for message in messages}

    def _beyond(self, listing: Listing, is_blocked: Callable[[Unread], bool]) -> list[Message]:
        """Unread messages from the archive that the inbox doesn't show (field notes).

        The inbox shows the oldest, so the archive is read from the oldest shown on. After one complete pass, each
        further pass begins shortly before the end of the last one, or before what an earlier pass has found and
        nobody could take then, once its folder may take it.
        """
        context, found = self._context, list[Message]()
        oldest = min((day for message in listing.messages if (day := _day(message))), default=date.min)
        day = self._known_day or _first_day(oldest)
        back = [receiver for receiver, message in self._left.items() if not is_blocked(Unread(message, None))]
        day = min([day, *(_first_day(_day(self._left[receiver])) for receiver in back)])
        today = (context.access_point.clock() or context.now()).astimezone(UTC).date()
        reached = day + timedelta(days=DAYS_WIDER)
        try:
            for message in context.access_point.messages(after=day, direction="IN"):
                reached = max(reached, _day(message) or reached)
                if not message.delivered and message.direction != "OUT":
                    found.append(message)
                if len(found) > MOST_LISTED:
                    raise NoClearAnswer(f"the archive has more than the {MOST_LISTED} unread messages taken at once")
            reached = today
        except AccessPointError as error:  # what the inbox shows is taken all the same
            if isinstance(error, Interrupted):
                raise
            context.log.warning("list.cut_short", list="messages", why=str(error))
            self._cut_short = str(error)
            context.access_point.note_cut_short("messages", self._cut_short)  # it doesn't know our own limit
        self._known_day = min(today, reached) - timedelta(days=DAYS_WIDER)
        for receiver in back:  # what is still unread was found again
            del self._left[receiver]
        return found

    def _remember_left(self, beyond: Iterable[Unread]) -> None:
        """Note what isn't certain to be taken now: without a row, only another pass finds it again."""
        for message in (unread.message for unread in beyond if unread.row is None):
            receiver = participant_key(message.receiver or "")
            oldest = self._left.get(receiver)
            if oldest is None or (_day(message) or date.min) < (_day(oldest) or date.min):
                self._left[receiver] = message

    def _unfinished(self, listed: Mapping[int, Unread]) -> list[Unread]:
        """Messages that are unfinished in the journal and missing in the list.

        If the list has another message of that number, the server was set up anew and would mark that one as read
        instead. The unfinished message waits until the listed one is done.
        """
        context, found = self._context, list[Unread]()
        for row in context.journal.messages.in_states(context.access_point.identity, "named", "placing", "stuck"):
            there = listed.get(row.msg_no)
            if there is not None and is_same(there.message, row):
                continue
            if row.state == "stuck" and (self.complete or there or len(found) >= MOST_LISTED):
                context.journal.messages.forget(row)  # read elsewhere, gone, or listed again
            elif there is None:
                found.append(Unread(_message(row), row, listed=False))
        return found


def _first_day(oldest: date | None) -> date:
    """The day from which the archive is read for what came on this day at the earliest; None: nobody knows."""
    return max(oldest or EARLIEST.date(), EARLIEST.date()) - timedelta(days=DAYS_WIDER)


def _day(message: Message) -> date | None:
    received = message.received_at
    return received.astimezone(UTC).date() if received else None


def _message(row: MessageRow) -> Message:
    """A message as far as its row has it; its document is at the interface's usual address."""
    return Message(
        row.msg_no,
        direction="IN",
        received=row.received or None,
        sender=row.sender or None,
        receiver=row.receiver or None,
    )
