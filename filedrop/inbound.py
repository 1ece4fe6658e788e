"""The way in: every message of the inbox, once, whole, in its company's folder; and only then marked read.

The order is the safety. The temporary file is whole and on the disk, names and all; then a row names it; then the
sidecar reserves the name; then the document is renamed in; then the message is marked read. Found after a crash with its
row: the temporary file is there, so it isn't placed yet; it is gone, so it is placed, even if it was taken at once.
"""

from __future__ import annotations

import os
import re
import threading
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

from filedrop import identify, sidecar
from filedrop.accesspoint import Gone, Message
from filedrop.document import backoff, new_id, participant_key
from filedrop.errors import AccessPointError, DocumentError, FiledropError, FolderUnavailable
from filedrop.files import create_temporary, create_whole, place, sync_folder
from filedrop.journal import MessageRow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    import structlog

    from filedrop.accesspoint import AccessPoint, Listing
    from filedrop.config import Inbound
    from filedrop.folders import InboundFolder
    from filedrop.identify import Reading
    from filedrop.journal import Journal
    from filedrop.standing import Standing

    Give = Callable[[InboundFolder, Callable[[], None]], None]
    Key = tuple[int, str, str, str]

FIRST_PAUSE, LONGEST_PAUSE = timedelta(minutes=1), timedelta(hours=1)  # between tries of a message that can't be taken
DAYS_WIDER = 2  # the archive is read from this many days before the last complete pass on
LONGEST_PART = 60  # letters of each part of an inbound name
_UNSAFE = re.compile(r"[^A-Za-z0-9.-]+")


class NotTaken(FiledropError):
    """This message can't be taken now: `why` for people."""


@dataclass(frozen=True, slots=True)
class InboundDesk:
    """What one account's way in works with. `folders`: by the key of each participant; `unassigned`: for nobody here."""

    account: str
    access_point: AccessPoint
    standing: Standing
    journal: Journal
    rules: Inbound
    folders: Mapping[str, InboundFolder]
    unassigned: InboundFolder | None
    now: Callable[[], datetime]
    log: structlog.stdlib.BoundLogger


@dataclass(slots=True)
class Summary:
    """What the last poll saw."""

    last_poll: datetime | None = None
    unread: int = 0
    for_nobody: int = 0
    stuck: dict[str, int] = field(default_factory=dict)


class WayIn:
    """The way in of one account. `give` has a job done by another thread, beside the others of other folders."""

    def __init__(self, desk: InboundDesk, give: Give) -> None:
        self._desk = desk
        self._give = give
        self._lock = threading.Lock()
        self._in_hand: dict[Key, InboundFolder] = {}
        self._read: list[MessageRow] = []
        self._cleared: set[Path] = set()
        self._trouble: dict[Path, str] = {}
        self._walked_from_start = False
        self.summary = Summary()
        self.again = False

    def poll(self) -> None:
        """List the inbox and give out what is to be taken. Raises AccessPointError, JournalError.

        `again` is set when more is to be expected at once. Nothing is listed while messages are being marked read:
        the pages would shift under us.
        """
        desk = self._desk
        self.settle()
        with self._lock:
            if any(not folder.stuck() for folder in self._in_hand.values()):
                self.again = True
                return
        self.again = False
        identity = desk.access_point.identity
        listing = desk.access_point.inbox()
        messages = {_key(message): message for message in listing.messages}
        rows = desk.journal.messages(identity, [message.msg_no for message in listing.messages])
        if not listing.complete:
            blocked = [key for key in messages if self._blocked(messages[key], rows.get(key))]
            if blocked:
                messages |= {_key(message): message for message in self._beyond(listing)}
                rows = desk.journal.messages(identity, [message.msg_no for message in messages.values()])
            self.again = len(blocked) < len(listing.messages)
        messages |= self._unfinished(messages, rows, complete=listing.complete)
        self._sum_up(messages, rows)
        for key, message in sorted(messages.items()):
            self._give_out(key, message, rows.get(key))

    def settle(self) -> None:
        """Write down, many at once, which messages have been marked read."""
        with self._lock:
            read, self._read = self._read, []
        self._desk.journal.record_messages(read)

    def _blocked(self, message: Message, row: MessageRow | None) -> bool:
        return self._folder(message) is None or (row is not None and row.state == "stuck")

    def _give_out(self, key: Key, message: Message, row: MessageRow | None) -> None:
        folder = self._folder(message)
        if folder is None or (
            row is not None and row.state == "stuck" and row.due is not None and row.due > self._desk.now()
        ):
            return
        if not self._available(folder):
            return
        with self._lock:
            if key in self._in_hand:
                return
            self._in_hand[key] = folder
        self._give(folder, lambda: self._take(key, folder, message, row))

    def _take(self, key: Key, folder: InboundFolder, message: Message, row: MessageRow | None) -> None:
        """Take one message as far as it goes now: fetched, placed, marked read."""
        desk = self._desk
        try:
            if not desk.standing.see():
                return
            try:
                if row is None or row.state == "stuck":
                    row = self._fetch(folder, message, row)
                elif row.state == "named":
                    with folder.busy():
                        row = self._place(folder, message, row)
                desk.access_point.mark_read(message.msg_no)
            except AccessPointError as error:
                if desk.standing.see_again() and (
                    row is None or row.state == "stuck"
                ):  # it isn't the access point: it is this message
                    self._stuck(folder, message, row, str(error))
                return
            except (NotTaken, DocumentError) as error:
                self._stuck(folder, message, row, str(error))
                return
            with self._lock:
                self._read.append(replace(row, state="read"))
        finally:
            with self._lock:
                del self._in_hand[key]

    def _fetch(self, folder: InboundFolder, message: Message, before: MessageRow | None) -> MessageRow:
        desk = self._desk
        with folder.busy():
            if folder.free_space() < desk.rules.min_free:
                raise NotTaken(
                    f"the disk of {folder.path} has less than {desk.rules.min_free // 10**6} MB left (inbound.min_free)"
                )
            message_id = new_id(desk.now())
            temporary = folder.draft(message_id, ".part")
            file = create_temporary(temporary)
        try:
            with file:
                try:
                    desk.access_point.download(message, file, max_size=desk.rules.max_size)
                except Gone:
                    raise NotTaken(
                        f"the access point lists message {message.msg_no}, but has no document for it"
                    ) from None
                with folder.busy():
                    file.seek(0)
                    reading = identify.read(file, doctype="keep")
                    os.fsync(file.fileno())
            with folder.busy():
                sync_folder(folder.path)  # the row below says that the temporary file is there: its name must be, too
                row = MessageRow(
                    identity=desk.access_point.identity, msg_no=message.msg_no, received=message.received or "",
                    sender=message.sender or "", receiver=message.receiver or "", state="named", company=folder.company,
                    folder=str(folder.path), temporary=temporary.name, file="", attempts=before.attempts if before else 0,
                )  # fmt: skip
                desk.journal.record_message(row)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        with folder.busy():
            return self._place(folder, message, row, reading)

    def _place(
        self, folder: InboundFolder, message: Message, row: MessageRow, reading: Reading | None = None
    ) -> MessageRow:
        """Sidecar first, document last. Where the temporary file is gone, it has been placed before."""
        desk, temporary = self._desk, folder.path / row.temporary
        if reading is None:
            try:
                with temporary.open("rb") as file:
                    reading = identify.read(file, doctype="keep")
            except FileNotFoundError:
                return row
        message_id = row.temporary[1:].removesuffix(".part")
        for name in self._names(folder, inbound_name(message, reading), message_id):
            content = sidecar.inbound(
                message, reading, id=message_id, file=name, company=folder.company, account=desk.account,
                identity=desk.access_point.identity, fetched=desk.now(),
            )  # fmt: skip
            beside = folder.path / f"{name}.json"
            try:
                if sidecar.identity_of(beside) != message_id:
                    create_whole(beside, content, draft=folder.draft(message_id, ".json"))
                place(temporary, folder.path / name)
            except FileExistsError:
                if sidecar.identity_of(beside) == message_id:  # the name of the document itself was taken meanwhile
                    beside.unlink()
                continue
            sync_folder(folder.path)
            desk.log.info("message.received", company=folder.company, file=name, msg_no=message.msg_no)
            return replace(row, file=name)
        raise AssertionError  # the names never end

    def _names(self, folder: InboundFolder, wanted: str, message_id: str) -> Iterable[str]:
        """The name that a run that was cut off has reserved for this message, then the free ones."""
        for beside in folder.path.glob(f"{wanted.removesuffix('.xml')}*.xml.json"):
            name = beside.name.removesuffix(".json")
            if sidecar.identity_of(beside) == message_id and not (folder.path / name).exists():
                yield name
        yield from folder.free_names(folder.path, wanted)

    def _stuck(self, folder: InboundFolder, message: Message, row: MessageRow | None, why: str) -> None:
        desk = self._desk
        attempts = (row.attempts if row else 0) + 1
        desk.journal.record_message(MessageRow(
            identity=desk.access_point.identity, msg_no=message.msg_no, received=message.received or "",
            sender=message.sender or "", receiver=message.receiver or "", state="stuck", company=folder.company,
            folder=str(folder.path), attempts=attempts, due=desk.now() + backoff(attempts, FIRST_PAUSE, LONGEST_PAUSE), why=why,
        ))  # fmt: skip
        desk.log.warning("message.stuck", company=folder.company, msg_no=message.msg_no, why=why, attempt=attempts)

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
        found = [message for message in desk.access_point.messages(after=day, direction="IN")
                 if not message.delivered and message.direction != "OUT"]  # fmt: skip
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
            folder.take_up(desk.journal)
        except FolderUnavailable as error:
            if self._trouble.get(folder.path) != str(error):
                desk.log.error("folder.unavailable", company=folder.company, folder=str(folder.path), why=str(error))
            self._trouble[folder.path] = str(error)
            return False
        self._trouble.pop(folder.path, None)
        if folder.path not in self._cleared:
            with folder.busy():
                named = {row.temporary for row in desk.journal.messages_in(desk.access_point.identity, "named")}
                folder.clear_drafts(folder.path, frozenset(named))
            self._cleared.add(folder.path)
        return True

    def trouble(self) -> Mapping[Path, str]:
        """Which inbound folders are unavailable, and why."""
        return dict(self._trouble)

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


def inbound_name(message: Message, reading: Reading) -> str:
    """`{received day}-{msg_no}-{document}-{sender}.xml`, of safe letters only (contract 1)."""
    day = (message.received or "")[:10].replace("-", "")
    if not (len(day) == 8 and day.isdecimal() and day.isascii()):  # noqa: PLR2004 - the length of 20261120
        day = "00000000"
    of_document = (message.document_id or "").rpartition("##")[0].rpartition("::")[2]
    parts = [day, str(message.msg_no), _safe(of_document or reading.root_name), _safe(message.sender or "unknown")]
    return "-".join(parts) + ".xml"


def _safe(text: str) -> str:
    return _UNSAFE.sub("_", text)[:LONGEST_PART].strip("._-") or "unknown"


def _key(message: Message) -> Key:
    return (message.msg_no, message.received or "", message.sender or "", message.receiver or "")


def _message(row: MessageRow) -> Message:
    """A message as far as its row knows it; its document lies where the interface says."""
    return Message(
        msg_no=row.msg_no, direction="IN", received=row.received or None, delivered=None, uuid=None,
        sender=row.sender or None, receiver=row.receiver or None, channel=None, document_id=None, process_id=None, link=None,
    )  # fmt: skip
