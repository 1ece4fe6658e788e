"""What the journal knows of the messages of the inbox."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import UTC
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from filedrop.document import moment, participant_key
from filedrop.journal.schema import ACCOUNTS, MESSAGES
from filedrop.journal.statement import Statement, listed
from filedrop.journal.store import Store

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


_C = MESSAGES.c
_OF_ACCOUNT = sa.select(MESSAGES).where(_C.identity == sa.bindparam("of_identity"))

_RECORD = Statement(sa.insert(MESSAGES).prefix_with("OR REPLACE"))
_FORGET = Statement(
    sa.delete(MESSAGES).where(
        _C.state == "stuck", *(column == sa.bindparam(column.name) for column in (_C.identity, _C.msg_no, _C.received))
    )
)
_NUMBERED = Statement(_OF_ACCOUNT.where(_C.msg_no.in_(listed("numbers"))))
_IN_STATES = Statement(_OF_ACCOUNT.where(_C.state.in_(listed("states"))).order_by(_C.msg_no))
_DRAFTS = Statement(sa.select(_C.temporary).where(_C.folder == sa.bindparam("in_folder"), _C.state == "named"))
_INBOX_DAY = Statement(sa.select(ACCOUNTS.c.inbox_day).where(ACCOUNTS.c.identity == sa.bindparam("of_identity")))
_RECORD_INBOX_DAY = Statement(sa.insert(ACCOUNTS).prefix_with("OR REPLACE"))


class Messages(Store):
    """The messages' part of the journal."""

    def record_message(self, row: MessageRow) -> None:
        """Write durably what is known of a message of the inbox."""
        self.record_messages([row])

    def record_messages(self, rows: Sequence[MessageRow]) -> None:
        """Write what is known of several messages in one commit."""
        values = [{field.name: getattr(row, field.name) for field in fields(MessageRow)} for row in rows]
        if values:
            self.write(lambda connection: _RECORD.run_many(connection, values))

    def forget_message(self, row: MessageRow) -> None:
        """Forget a message that was stuck and is gone from the inbox."""
        values = {"identity": row.identity, "msg_no": row.msg_no, "received": row.received}
        self.write(lambda connection: _FORGET.run(connection, values))

    def messages(self, identity: str, numbers: Iterable[int]) -> dict[Key, MessageRow]:
        """What is known of the messages with these numbers, by what they are known by."""
        rows = self.read(_NUMBERED, of_identity=identity, numbers=list(numbers))
        return {row.key: row for row in map(_row, rows)}

    def messages_in(self, identity: str, *states: str) -> list[MessageRow]:
        """The messages of an account in one of these states, by number."""
        return list(map(_row, self.read(_IN_STATES, of_identity=identity, states=states)))

    def drafts(self, folder: str) -> frozenset[str]:
        """The temporary files in this folder that the journal names: whole documents that aren't placed yet."""
        return frozenset(name for (name,) in self.read(_DRAFTS, in_folder=folder))

    def inbox_day(self, identity: str) -> str | None:
        """The day from which `/messages` is to be searched for unread messages of an inbox that shows only 25."""
        day: str | None = self.value(_INBOX_DAY, of_identity=identity)
        return day

    def record_inbox_day(self, identity: str, day: str) -> None:
        """Write that all messages before this day are known."""
        values = {"identity": identity, "inbox_day": day}
        self.write(lambda connection: _RECORD_INBOX_DAY.run(connection, values))


def _row(row: Sequence[Any]) -> MessageRow:
    return MessageRow(**dict(zip(_NUMBERED.names, row, strict=True)))
