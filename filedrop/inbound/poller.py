"""The poller of one account's inbox: lists the unread messages and hands each to the delivery of its folder.

A poll lists the whole inbox before anything is marked as read. A message that can't be taken is tried again with
growing pauses and blocks no other.
"""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from filedrop.errors import AccessPointError, Changed, DocumentError, Interrupted, Unauthorized, WrongAddress
from filedrop.files import InUse
from filedrop.inbound.arrival import Arrival, LookAgain, Refused
from filedrop.inbound.fetcher import NotTaken
from filedrop.inbound.inbox import Inbox, Unread
from filedrop.inbound.statuses import Statuses, is_for_access_point
from filedrop.model.document import participant_key
from filedrop.model.report import InboxReport
from filedrop.pauses import MESSAGE
from filedrop.texts.printable import valid

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from filedrop.inbound.context import InboundContext
    from filedrop.inbound.delivery import InboundDelivery
    from filedrop.model.message import Message
    from filedrop.process.folder_worker import FolderWorkers
    from filedrop.process.loop import Loop

NAMED = 3  # messages for none of the companies that are kept of a poll, to be shown
NO_EFFECT = "they were marked as read, but the access point still lists them as unread: tell its operator"
PUT_OFF_AT_MOST = timedelta(minutes=5)  # from one poll to the next: a slow download holds up no other message


class InboxPoller:
    """Polls one account's inbox. `poll` is for one thread; the rest is thread-safe.

    `deliveries`: by participant key; `unassigned`: for receivers that are not among these. `workers` know which
    folders hang. `loop` is that of the poller: it is woken when all messages that were handed out have ended.
    """

    def __init__(
        self,
        context: InboundContext,
        deliveries: Mapping[str, InboundDelivery],
        unassigned: InboundDelivery | None,
        *,
        workers: FolderWorkers,
        loop: Loop,
    ) -> None:
        self.deliveries = {*deliveries.values(), *([unassigned] if unassigned else [])}
        self.summary = InboxReport(why_unmarked=NO_EFFECT)
        self._context = context
        self._by_receiver = deliveries
        self._unassigned = unassigned
        self._is_hung = workers.is_hung
        self._loop = loop
        self._inbox = Inbox(context)
        self._statuses = Statuses(context, self._status_ended)
        self._under_way: dict[int, InboundDelivery] = {}
        self._has_read = False
        self._is_put_off = False
        self._lock = threading.Lock()

    @property
    def is_idle(self) -> bool:
        """Whether no message is under way; those in folders that hang don't count."""
        with self._lock:
            return self._statuses.is_idle and all(map(self._is_hung, self._under_way.values()))

    @property
    def under_way(self) -> frozenset[int]:
        """The numbers of the messages under way."""
        with self._lock:
            return frozenset(self._under_way)

    def has_all_back(self) -> bool:
        """Whether no message is under way, not even in a folder that hangs."""
        with self._lock:
            return self._statuses.is_idle and not self._under_way

    @property
    def is_to_poll_again(self) -> bool:
        """Whether to poll again once none is under way: a poll was put off, or some were read and there are more."""
        return self._is_put_off or (self._has_read and not self._inbox.complete)

    def poll(self) -> None:
        """List the inbox and hand out what is to be taken. Raises AccessPointError, JournalError.

        Put off for some minutes while messages are being marked as read: the pages would shift.
        """
        since = self._context.now() - (self.summary.last_poll or datetime.min.replace(tzinfo=UTC))
        self._is_put_off = not self.is_idle and abs(since) < PUT_OFF_AT_MOST
        if self._is_put_off:
            return
        if self._context.journal.trouble:  # before anything is fetched, which must be recorded
            self._context.journal.check_writable()
        self._has_read = False
        with self._lock:  # what is read of these from now on is older than what becomes of them
            under_way = frozenset(self._under_way)
        asked = self._context.now()
        # What was begun for a company that is no longer here, and isn't listed any more, was read elsewhere.
        inbox = [
            unread for unread in self._inbox.unread(self._is_blocked) if unread.listed or self._delivery(unread.message)
        ]
        nobodys = [unread.message for unread in inbox if self._delivery(unread.message) is None]
        self._statuses.poll(filter(self._is_for_access_point, nobodys))
        self._sum_up(inbox, nobodys, under_way)
        handed_to: set[InboundDelivery] = set()
        for unread in inbox:
            delivery = self._delivery(unread.message)
            if delivery is not None and unread.message.msg_no not in under_way and self._is_due(unread):
                with self._lock:
                    self._under_way[unread.message.msg_no] = delivery
                handed_to.add(delivery)
                delivery.put(Arrival(self._context, unread, partial(self._ended, delivery), asked))
        for delivery in self.deliveries - handed_to:  # no message has it look by itself
            is_refused = delivery.refused and delivery is not self._unassigned  # else perhaps of another account
            if delivery.trouble or is_refused or delivery.has_unnamed():
                delivery.put(LookAgain())

    def _ended(
        self, delivery: InboundDelivery, unread: Unread, error: Exception | None = None, *, was_read: bool = False
    ) -> None:
        """Note that a message has come as far as it can now; `error` says what keeps it."""
        try:
            if was_read:  # no `|=`, by which several threads would undo each other's
                self._has_read = True
            if error is not None:
                self._note_failure(delivery, unread, error)
            elif unread.row is not None and unread.row.state == "read" and not was_read:
                self._explain_unmarked(NO_EFFECT)
        finally:
            with self._lock:
                self._under_way.pop(unread.message.msg_no, None)
                is_last = not self._under_way
            if is_last:
                self._loop.wake()

    def _status_ended(self, was_read: bool, error: AccessPointError | None) -> None:  # noqa: FBT001 - of one kind
        """Note that a status for an access point has come as far as it can now."""
        if was_read:
            self._has_read = True
        if error is not None:
            self._explain_unmarked(str(error))
        if self.has_all_back():
            self._loop.wake()

    def _note_failure(self, delivery: InboundDelivery, unread: Unread, error: Exception) -> None:
        if isinstance(error, Interrupted | Changed):  # by our own stop, by another step: the next poll takes it up
            return
        if isinstance(error, AccessPointError):
            if self._context.breaker.allows_again():  # this message is the cause
                why = _of_one_alone(error, unread.message.msg_no)
                if _was_placed(unread):
                    self._explain_unmarked(why)
                else:
                    self._stuck(delivery, unread, why)
        elif isinstance(error, NotTaken | DocumentError):
            self._stuck(delivery, unread, str(error))
        elif not isinstance(error, InUse):  # InUse, by a virus scanner say: the next poll places it
            delivery.put(Refused(error))

    def _stuck(self, delivery: InboundDelivery, unread: Unread, why: str) -> None:
        context, why = self._context, valid(why)
        attempts = (unread.row.attempts if unread.row else 0) + 1
        due = MESSAGE.due(context.now(), attempts)
        stuck = context.row_of(delivery.folder, unread.row or unread.message, "stuck")
        context.journal.messages.record(replace(stuck, attempts=attempts, due=due, why=why))
        company = delivery.folder.company
        context.log.warning("message.stuck", company=company, msg_no=stuck.msg_no, why=why, attempt=attempts)

    def _is_blocked(self, unread: Unread) -> bool:
        delivery = self._delivery(unread.message)
        if delivery is None or delivery.trouble or delivery.refused or self._is_hung(delivery):
            return True
        return _was_placed(unread) or (unread.row is not None and unread.row.state == "stuck")

    def _is_due(self, unread: Unread) -> bool:
        row = unread.row
        return row is None or row.state != "stuck" or MESSAGE.is_due(row.due, self._context.now())

    def _delivery(self, message: Message) -> InboundDelivery | None:
        return self._by_receiver.get(participant_key(message.receiver or ""), self._unassigned)

    def _is_for_access_point(self, message: Message) -> bool:
        is_for_twin = self._context.config.company_of_twin(message.receiver or "") is not None
        return is_for_access_point(message) and not is_for_twin

    def _sum_up(self, inbox: Sequence[Unread], nobodys: Sequence[Message], under_way: Collection[int]) -> None:
        left = (unread for unread in inbox if unread.listed and unread.message.msg_no not in under_way)
        others = [message for message in nobodys if not self._is_for_access_point(message)]
        stuck = Counter(
            delivery.folder.company
            for unread in inbox
            if (delivery := self._delivery(unread.message)) and unread.row is not None and unread.row.state == "stuck"
        )
        found = InboxReport(
            self._context.now(),
            unread=len(inbox),
            for_nobody=len(others) + self._statuses.unknown,
            statuses=self._statuses.unknown,
            nobodys=tuple(
                (message, self._context.config.company_of_twin(message.receiver or "")) for message in others[:NAMED]
            ),
            stuck=stuck,
            waiting=Counter(
                delivery.folder.company
                for unread in inbox
                if (delivery := self._delivery(unread.message))
                and (unread.row is None or unread.row.state not in ("stuck", "read"))
            ),
            unmarked=sum(map(_was_placed, left)) + self._statuses.unmarked,
        )
        with self._lock:
            self.summary = replace(found, why_unmarked=self.summary.why_unmarked)

    def _explain_unmarked(self, why: str) -> None:
        """Note why a message that was delivered before is still unread."""
        with self._lock:
            self.summary = replace(self.summary, why_unmarked=why)


def _was_placed(unread: Unread) -> bool:
    """Whether it had its place in its folder when it was listed: only the mark was left to be made."""
    return unread.row is not None and unread.row.state in ("placing", "read")


def _of_one_alone(error: AccessPointError, msg_no: int) -> str:
    """Why a message can't be taken or marked while other requests succeed: login and address are right then."""
    if isinstance(error, Unauthorized | WrongAddress):
        return f"the access point refuses only message {msg_no}, so login and address are right: ask its operator"
    return str(error)
