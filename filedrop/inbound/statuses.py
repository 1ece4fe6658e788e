"""Statuses in one account's inbox that are addressed to an access point, and so to none of the companies.

By a Message Level Status, the receiver's access point reports that it has a document, or has rejected it. A status that
names the message of a document that this account has posted is recorded as a response to that document. Then it is
marked as read. Every other status stays unread, because another program may use the account. It is compared again at
each poll, because its document may get the message's id later.

Only memory holds what was read. After a kill, a status is read again, and the journal records it once.
"""

from __future__ import annotations

import io
import threading
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from filedrop.errors import AccessPointError, Interrupted
from filedrop.inbound.arrival import is_there
from filedrop.journal import MessageRow, is_same
from filedrop.model.document import local_name
from filedrop.model.message import UNASSIGNED
from filedrop.model.response import LEVEL_STATUS, Response, is_access_point
from filedrop.pauses import MESSAGE
from filedrop.process.pool import Task
from filedrop.readable.response import responses_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime

    from filedrop.inbound.context import InboundContext
    from filedrop.model.message import Message

STATUSES_A_POLL = 25  # statuses that are read or marked after a poll
LARGEST = 500_000  # bytes of a status: it is read in the daemon


def is_for_access_point(message: Message) -> bool:
    """Whether a message for none of the companies is addressed to an access point, or may be a status by one."""
    return is_access_point(message.receiver) or _may_be_status(message)


def _may_be_status(message: Message) -> bool:
    return is_access_point(message.sender) and local_name(message.document_id) in ("", "ApplicationResponse")


@dataclass(slots=True, eq=False)
class _Status:
    """A listed message. `row` is never written. `response`: what the message says, None until it was read as a status.

    `attempts` to read it have failed, and the next one is `due` then.
    """

    message: Message
    row: MessageRow
    response: Response | None = None
    is_recorded: bool = False
    attempts: int = 0
    due: datetime | None = None


class Statuses:
    """The statuses of one account. `poll` is for one thread; `is_idle` is thread-safe.

    `unknown`: how many messages of the last poll name no document of the account. `unmarked`: how many were recorded
    before and are still listed. `ended` is called when one was read or could not be read. Its arguments are whether it
    was marked as read, and the error that kept it from being marked. It is thread-safe.
    """

    def __init__(self, context: InboundContext, ended: Callable[[bool, AccessPointError | None], None]) -> None:
        self.unknown = self.unmarked = 0
        self._context = context
        self._ended = ended
        self._held: dict[int, _Status] = {}
        self._under_way: set[_Status] = set()
        self._lock = threading.Lock()

    @property
    def is_idle(self) -> bool:
        """Whether none is being read or marked."""
        with self._lock:
            return not self._under_way

    def poll(self, messages: Iterable[Message]) -> None:
        """Record and read what can be recorded and read of these messages, which are for access points.

        Raises JournalError.
        """
        self._held = {message.msg_no: self._status(message) for message in messages}
        with self._lock:
            left = [status for status in self._held.values() if status not in self._under_way]
        self.unmarked = sum(status.is_recorded for status in left)
        self._record(left)
        was_tried = [
            status for status in left if status.response or status.attempts or not _may_be_status(status.message)
        ]
        self.unknown = sum(not status.is_recorded for status in was_tried)
        now = self._context.now()
        due = [status for status in left if status.is_recorded or self._is_to_be_read(status, now)]
        for status in sorted(due, key=lambda status: status.attempts)[:STATUSES_A_POLL]:
            with self._lock:
                self._under_way.add(status)
            self._context.fetchers.submit(Task(partial(self._read_and_mark, status, now), partial(self._end, status)))

    def _status(self, message: Message) -> _Status:
        """What is held of a message."""
        held = self._held.get(message.msg_no)
        if held is not None and is_same(message, held.row):
            return held
        row = MessageRow(
            identity=self._context.access_point.identity,
            msg_no=message.msg_no,
            received=message.received or "",
            sender=message.sender or "",
            receiver=message.receiver or "",
            state="",
        )
        return _Status(message, row)

    def _is_to_be_read(self, status: _Status, now: datetime) -> bool:
        return status.response is None and _may_be_status(status.message) and MESSAGE.is_due(status.due, now)

    def _record(self, statuses: Iterable[_Status]) -> None:
        """Record those of these that name a document of the account. Raises JournalError."""
        now = self._context.now()
        left = [(status, status.response) for status in statuses if status.response and not status.is_recorded]
        by_response = {replace(response, at=now): status for status, response in left}
        for response in self._context.journal.responses.record_known([*by_response]) if left else ():
            by_response[response].is_recorded = True

    def _read_and_mark(self, status: _Status, asked: datetime) -> None:
        """Read a status, unless that was done, and mark it as read if it is recorded. By a fetcher.

        `asked`: when the access point was asked for the inbox.
        """
        context, error, was_read = self._context, None, False
        try:
            if not context.breaker.allows():
                return
            if not status.is_recorded:
                asked = context.now()
                self._read(status)
                self._record([status])
            if status.is_recorded and is_there(context, status.row, asked):
                context.access_point.mark_read(status.row.msg_no)
                was_read = True
        except AccessPointError as failure:
            if not isinstance(failure, Interrupted) and context.breaker.allows_again():  # this message is the cause
                error = failure
                self._put_off(status)
        finally:
            self._end(status, error if status.is_recorded else None, was_read=was_read)

    def _read(self, status: _Status) -> None:
        """Read what a message says; one that is no status is put off. Raises AccessPointError."""
        content = io.BytesIO()
        self._context.access_point.download(status.message, content, max_size=LARGEST)
        content.seek(0)
        said = list(responses_of(content, status.row, UNASSIGNED, self._context.now()))
        if len(said) == 1 and said[0].words == LEVEL_STATUS:  # it is about one message (Peppol MLS 1.0)
            (status.response,) = said
        else:
            self._put_off(status)

    def _put_off(self, status: _Status) -> None:
        status.attempts += 1
        status.due = MESSAGE.due(self._context.now(), status.attempts)

    def _end(self, status: _Status, error: AccessPointError | None = None, *, was_read: bool = False) -> None:
        with self._lock:
            self._under_way.discard(status)
        self._ended(was_read, error)
