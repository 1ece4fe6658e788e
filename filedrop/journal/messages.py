"""What the journal knows of the messages of the inbox."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from datetime import UTC
from typing import TYPE_CHECKING, Any

from filedrop.document import participant_key
from filedrop.journal.schema import as_moment, as_name, from_moment, from_name
from filedrop.journal.store import Store
from filedrop.moments import moment

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from filedrop.accesspoint import Message

Key = tuple[int, str, str, str]


def key_of(message: Message | MessageRow) -> Key:
    """What a message is known by, within its account, however the access point writes it this time (contract 6)."""
    at = moment(message.received)
    received = at.astimezone(UTC).isoformat() if at else message.received or ""
    return message.msg_no, received, participant_key(message.sender or ""), participant_key(message.receiver or "")


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageRow:
    """What we know of a message of the inbox; `received`, `sender` and `receiver` are as they were written first.

    `state`: `named` (whole in its temporary file, which the journal now knows), `placed` (in its folder), `read`
    (marked read at the access point), or `stuck` (couldn't be taken; `attempts`, `due` and `why` say more).
    """

    identity: str
    msg_no: int
    received: str
    sender: str
    receiver: str
    state: str
    company: str = ""
    folder: str = ""
    temporary: str = ""
    file: str = ""
    attempts: int = 0
    due: datetime | None = None
    why: str = ""

    @property
    def key(self) -> Key:
        """What it is known by, within its account."""
        return key_of(self)


_COLUMNS = tuple(field.name for field in fields(MessageRow))
_NAMES = ("folder", "temporary", "file")
_OF_ACCOUNT = f"SELECT {', '.join(_COLUMNS)} FROM messages WHERE identity = :identity AND"

_RECORD = f"INSERT OR REPLACE INTO messages ({', '.join(_COLUMNS)}) VALUES (:{', :'.join(_COLUMNS)})"
_FORGET = """
    DELETE FROM messages WHERE identity = :identity AND msg_no = :msg_no AND received = :received AND state = 'stuck'
"""
_NUMBERED = f"{_OF_ACCOUNT} msg_no IN (SELECT value FROM json_each(:numbers))"
# The plus has them sorted when they are found: to find them in order, all that was ever received would be read.
_IN_STATES = f"{_OF_ACCOUNT} state IN (SELECT value FROM json_each(:states)) ORDER BY +msg_no"
_DRAFTS = "SELECT temporary FROM messages WHERE folder = :folder AND state = 'named'"
_INBOX_DAY = "SELECT inbox_day FROM accounts WHERE identity = :identity"
_RECORD_INBOX_DAY = "INSERT OR REPLACE INTO accounts VALUES (:identity, :inbox_day)"


class Messages(Store):
    """The messages' part of the journal."""

    def record_message(self, row: MessageRow) -> None:
        """Write durably what is known of a message of the inbox."""
        self.record_messages([row])

    def record_messages(self, rows: Sequence[MessageRow]) -> None:
        """Write what is known of several messages in one commit."""
        values = [_values(row) for row in rows]
        if values:
            self.write(lambda connection: connection.executemany(_RECORD, values))

    def forget_message(self, row: MessageRow) -> None:
        """Forget a message that was stuck and is gone from the inbox."""
        values = {"identity": row.identity, "msg_no": row.msg_no, "received": row.received}
        self.write(lambda connection: connection.execute(_FORGET, values))

    def messages(self, identity: str, numbers: Iterable[int]) -> dict[Key, MessageRow]:
        """What is known of the messages with these numbers, by what they are known by."""
        rows = self.read(_NUMBERED, identity=identity, numbers=json.dumps(list(numbers)))
        return {row.key: row for row in map(_row, rows)}

    def messages_in(self, identity: str, *states: str) -> list[MessageRow]:
        """The messages of an account in one of these states, by number."""
        return list(map(_row, self.read(_IN_STATES, identity=identity, states=json.dumps(states))))

    def drafts(self, folder: str) -> frozenset[str]:
        """The temporary files in this folder that the journal names: whole documents that aren't placed yet."""
        return frozenset(from_name(name) for (name,) in self.read(_DRAFTS, folder=as_name(folder)))

    def inbox_day(self, identity: str) -> str | None:
        """The day from which `/messages` is to be searched for unread messages of an inbox that shows only 25."""
        day: str | None = self.value(_INBOX_DAY, identity=identity)
        return day

    def record_inbox_day(self, identity: str, day: str) -> None:
        """Write that all messages before this day are known."""
        values = {"identity": identity, "inbox_day": day}
        self.write(lambda connection: connection.execute(_RECORD_INBOX_DAY, values))


def _values(row: MessageRow) -> dict[str, Any]:
    values = {name: getattr(row, name) for name in _COLUMNS}
    return values | {name: as_name(values[name]) for name in _NAMES} | {"due": as_moment(row.due)}


def _row(row: Sequence[Any]) -> MessageRow:
    values = dict(zip(_COLUMNS, row, strict=True))
    values |= {name: from_name(values[name]) for name in _NAMES}
    return MessageRow(**values | {"due": from_moment(values["due"])})
