"""The way in: every message of the inbox, once, whole, in its company's folder; and only then marked read.

A poll lists the whole inbox before anything is marked read, and gives out a job for each message that may be taken. One
that can't be taken is tried again with growing pauses and blocks no other.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING

from filedrop.accesspoint import Message
from filedrop.disk import is_local
from filedrop.document import participant_key
from filedrop.errors import AccessPointError, DocumentError, FolderUnavailable
from filedrop.fetching import TOGETHER_FOR, NotTaken, row_of
from filedrop.files import InUse
from filedrop.journal import key_of
from filedrop.moments import backoff, is_due
from filedrop.receiving import Receiving, Unread
from filedrop.turns import together

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from filedrop.accesspoint import Listing
    from filedrop.desk import InboundDesk
    from filedrop.folders import InboundFolder
    from filedrop.journal import Key, MessageRow

    Give = Callable[[InboundFolder, Callable[[], object]], None]

FIRST_PAUSE, LONGEST_PAUSE = timedelta(minutes=1), timedelta(hours=1)  # between tries of a message that can't be taken
DAYS_WIDER = 2  # the archive is read from this many days before the last complete pass on


@dataclass(slots=True)
class Summary:
    """What the last poll saw."""

    last_poll: datetime | None = None
    unread: int = 0
    for_nobody: int = 0
    stuck: dict[str, int] = field(default_factory=dict)


class WayIn:
    """The way in of one account. `give` has a job done by one of so many `workers`, beside those of other folders."""

    def __init__(self, desk: InboundDesk, give: Give, workers: int) -> None:
        self._desk = desk
        self._workers = workers
        self._give = give
        self._lock = threading.Lock()
        self._in_hand: dict[Key, InboundFolder] = {}
        self._read: list[MessageRow] = []
        self._receiving = Receiving(desk)
        self._trouble: dict[Path, str] = {}
        self._refused: dict[Path, str] = {}
        self._walked_from_start = False
        self.summary = Summary()
        self._taken_up: set[InboundFolder] = set()  # since the last poll
        self._more = False
        self._put_off = False

    @property
    def again(self) -> bool:
        """Is it worth polling at once, now that nobody works? There is more than was shown, and that got read."""
        return self._put_off or (self._more and bool(self._read))

    @property
    def waiting(self) -> int:
        """How many messages have been given out and are not done."""
        return len(self._in_hand)

    def take_up(self) -> None:
        """See to it that the folders are there before the first message is; each in its own time."""
        desk = self._desk
        for folder in {*desk.folders.values(), *([desk.unassigned] if desk.unassigned else [])}:
            self._give(folder, partial(self._available, folder))

    def poll(self) -> None:
        """List the inbox and give out what is to be taken. Raises AccessPointError, JournalError.

        Nothing is listed while messages are being marked read: the pages would shift under us.
        """
        desk = self._desk
        with self._lock:
            self._put_off = any(not folder.stuck() for folder in self._in_hand.values())
        if self._put_off:
            return
        if desk.journal.trouble:  # what is fetched now could not be named
            desk.journal.see_writable()
        self.settle()
        identity = desk.access_point.identity
        listing = desk.access_point.inbox()
        messages = {key_of(message): message for message in listing.messages}
        rows = desk.journal.messages(identity, [message.msg_no for message in listing.messages])
        self._more = not listing.complete
        if self._more:
            blocked = [key for key in messages if self._blocked(messages[key], rows.get(key))]
            if blocked:
                messages |= {key_of(message): message for message in self._beyond(listing)}
                rows = desk.journal.messages(identity, [message.msg_no for message in messages.values()])
        messages |= self._unfinished(messages, rows, complete=listing.complete)
        self._sum_up(messages, rows)
        self._taken_up.clear()
        self._give_out(Unread(key, message, rows.get(key)) for key, message in sorted(messages.items()))

    def settle(self) -> None:
        """Write down, many at once, which messages have been marked read."""
        with self._lock:
            read, self._read = self._read, []
        self._desk.journal.record_messages(read)

    def _blocked(self, message: Message, row: MessageRow | None) -> bool:
        folder = self._folder(message)
        if folder is None or folder.path in self.trouble() or folder.stuck():
            return True
        return row is not None and row.state == "stuck"

    def _give_out(self, unread: Iterable[Unread]) -> None:
        given: dict[InboundFolder, list[Unread]] = {}
        with self._lock:
            for one in unread:
                folder = self._folder(one.message)
                if folder is not None and one.key not in self._in_hand and self._is_due(one):
                    self._in_hand[one.key] = folder
                    given.setdefault(folder, []).append(one)
        step = together(sum(map(len, given.values())), self._workers)
        for folder, those in given.items():
            for first in range(0, len(those), step):
                self._give(folder, partial(self._take, folder, those[first : first + step]))

    def _is_due(self, one: Unread) -> bool:
        row = one.row
        return row is None or row.state != "stuck" or is_due(row.due, self._desk.now(), LONGEST_PAUSE)

    def _take(self, folder: InboundFolder, unread: Sequence[Unread]) -> None:
        """Take messages as far as they go now: fetched, placed, marked read. What is left has turns of its own."""
        in_hand = {one.key for one in unread}
        try:
            if self._desk.standing.see() and self._available(folder):  # by the crew: a folder may hang
                for one in self._taken(folder, unread):
                    in_hand.remove(one.key)
                    self._give(folder, partial(self._take, folder, [one]))
        finally:
            with self._lock:
                for key in in_hand:
                    del self._in_hand[key]

    def _taken(self, folder: InboundFolder, unread: Sequence[Unread]) -> list[Unread]:
        """Take messages together; those are left that come after a slow one, or after one that can't be had."""
        came = self._receiving.take(folder, unread)
        left, placed = list[Unread](), []
        for one in unread:
            row = came.get(one.key)
            if row is None:
                left.append(one)
            elif isinstance(row, Exception):
                self._see_to(folder, one, row)
            else:
                placed.append((replace(one, row=row), row))
        return left + self._mark_read(folder, placed)

    def _mark_read(self, folder: InboundFolder, placed: Sequence[tuple[Unread, MessageRow]]) -> list[Unread]:
        """Mark as read what lies in its folder; those are left that come after a slow one, or after a failure."""
        desk, since = self._desk, self._desk.steady()
        marked = desk.porter.mark_read_ahead([row.msg_no for _, row in placed], seconds=TOGETHER_FOR)
        for number, ((one, row), ahead) in enumerate(zip_longest(placed, marked)):
            slow = ahead is None and desk.steady() - since > TOGETHER_FOR
            if number and (slow or isinstance(ahead, Exception)):
                return [one for one, _ in placed[number:]]
            try:
                desk.porter.mark_read(row.msg_no, ahead=ahead)
            except AccessPointError as error:
                self._see_to(folder, one, error)
                return [one for one, _ in placed[number + 1 :]]
            self._refused.pop(folder.path, None)
            with self._lock:
                self._read.append(replace(row, state="read"))
        return []

    def _see_to(self, folder: InboundFolder, one: Unread, error: Exception) -> None:
        """This kept a message from being taken, or from being marked read."""
        if isinstance(error, AccessPointError):
            if self._desk.standing.see_again() and one.is_new:  # it isn't the access point: it is this message
                self._stuck(folder, one, str(error))
        elif isinstance(error, NotTaken | DocumentError):
            self._stuck(folder, one, str(error))
        elif not isinstance(error, InUse):  # else somebody reads it, a virus scanner say: the next poll places it
            why = getattr(error, "strerror", None) or error  # disk full, share away: not the message's own trouble
            self._say(folder, f"nothing can be put into {folder.path} now: {why}", self._refused)

    def _stuck(self, folder: InboundFolder, one: Unread, why: str) -> None:
        desk = self._desk
        attempts = (one.row.attempts if one.row else 0) + 1
        due = desk.now() + backoff(attempts, FIRST_PAUSE, LONGEST_PAUSE)
        stuck = row_of(desk, folder, one.row or one.message, "stuck")
        desk.journal.record_message(replace(stuck, attempts=attempts, due=due, why=why))
        desk.log.warning("message.stuck", company=folder.company, msg_no=stuck.msg_no, why=why, attempt=attempts)

    def _beyond(self, listing: Listing) -> Iterable[Message]:
        """Unread messages that an inbox without pages doesn't show, from the archive (field notes).

        The inbox shows the oldest, so nothing unread is older than these. Having read the archive from there once, each
        later pass begins shortly before the one before.
        """
        desk, identity = self._desk, self._desk.access_point.identity
        known_day = desk.journal.inbox_day(identity) if self._walked_from_start else None
        oldest = min(
            (at.astimezone(UTC).date() for message in listing.messages if (at := message.received_at)), default=date.min
        )
        day = date.fromisoformat(known_day) if known_day else max(oldest, date(1970, 1, 3)) - timedelta(days=DAYS_WIDER)
        found = [
            message
            for message in desk.access_point.messages(after=day, direction="IN")
            if not message.delivered and message.direction != "OUT"
        ]
        today = (desk.access_point.clock() or desk.now()).astimezone(UTC).date()
        desk.journal.record_inbox_day(identity, (today - timedelta(days=DAYS_WIDER)).isoformat())
        self._walked_from_start = True
        return found

    def _unfinished(
        self, listed: Mapping[Key, Message], rows: dict[Key, MessageRow], *, complete: bool
    ) -> dict[Key, Message]:
        """What the journal knows to be unfinished and the list doesn't show; `rows` gets theirs."""
        desk, found = self._desk, {}
        for row in desk.journal.messages_in(desk.access_point.identity, "named", "stuck"):
            if row.key in listed:
                continue
            if row.state == "stuck" and complete:
                desk.journal.forget_message(row)  # somebody has read it elsewhere
                continue
            rows[row.key] = row
            found[row.key] = _message(row)
        return found

    def _folder(self, message: Message) -> InboundFolder | None:
        return self._desk.folders.get(participant_key(message.receiver or ""), self._desk.unassigned)

    def _available(self, folder: InboundFolder) -> bool:
        desk = self._desk
        try:
            if folder not in self._taken_up:  # asked again before anything is believed to lie there (Receiving)
                folder.take_up(desk.journal)
                with folder.busy():
                    folder.local = is_local(folder.path)
                self._taken_up.add(folder)
            with folder.busy():
                folder.clear_drafts_once(lambda: desk.journal.drafts(str(folder.path)))
                if folder.free_space() < desk.rules.min_free:
                    least = desk.rules.min_free // 10**6
                    raise FolderUnavailable(
                        f"the disk of {folder.path} has less than {least} MB left (inbound.min_free): make room"
                    )
        except (FolderUnavailable, OSError) as error:
            self._say(folder, str(error), self._trouble)
            return False
        self._trouble.pop(folder.path, None)
        return True

    def _say(self, folder: InboundFolder, why: str, where: dict[Path, str]) -> None:
        if where.get(folder.path) != why:
            self._desk.log.error("folder.unavailable", company=folder.company, folder=str(folder.path), why=why)
        where[folder.path] = why

    def trouble(self) -> Mapping[Path, str]:
        """Which inbound folders nothing can be put into, and why."""
        return self._refused | self._trouble

    def _sum_up(self, messages: Mapping[Key, Message], rows: Mapping[Key, MessageRow]) -> None:
        summary = Summary(self._desk.now())
        for key, message in messages.items():
            row, folder = rows.get(key), self._folder(message)
            summary.unread += 1
            if folder is None:
                summary.for_nobody += 1
            elif row is not None and row.state == "stuck":
                summary.stuck[folder.company] = summary.stuck.get(folder.company, 0) + 1
        self.summary = summary


def _message(row: MessageRow) -> Message:
    """A message as far as its row knows it; its document lies where the interface says."""
    return Message(
        row.msg_no,
        direction="IN",
        received=row.received or None,
        sender=row.sender or None,
        receiver=row.receiver or None,
    )
