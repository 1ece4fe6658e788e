"""What the journal knows of the messages of the inbox."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import UTC
from typing import TYPE_CHECKING

import sqlalchemy as sa

from filedrop.document import moment, participant_key
from filedrop.journal.schema import ACCOUNTS, MESSAGES
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


class Messages(Store):
    """The messages' part of the journal."""

    def record_message(self, row: MessageRow) -> None:
        """Write durably what is known of a message of the inbox."""
        self.record_messages([row])

    def record_messages(self, rows: Sequence[MessageRow]) -> None:
        """Write what is known of several messages in one commit."""
        values = [{field.name: getattr(row, field.name) for field in fields(MessageRow)} for row in rows]
        if values:
            self.write(lambda connection: connection.execute(sa.insert(MESSAGES).prefix_with("OR REPLACE"), values))

    def forget_message(self, row: MessageRow) -> None:
        """Forget a message that was stuck and is gone from the inbox."""
        table = MESSAGES.c
        where = (table.identity == row.identity, table.msg_no == row.msg_no, table.received == row.received)
        self.write(lambda connection: connection.execute(sa.delete(MESSAGES).where(*where, table.state == "stuck")))

    def messages(self, identity: str, numbers: Iterable[int]) -> dict[Key, MessageRow]:
        """What is known of the messages with these numbers, by what they are known by."""
        query = sa.select(MESSAGES).where(MESSAGES.c.identity == identity)
        rows = (MessageRow(**row._mapping) for row in self.read_in_parts(query, MESSAGES.c.msg_no, list(numbers)))  # noqa: SLF001 - SQLAlchemy's documented attribute
        return {row.key: row for row in rows}

    def messages_in(self, identity: str, *states: str) -> list[MessageRow]:
        """The messages of an account in one of these states, by number."""
        query = sa.select(MESSAGES).where(MESSAGES.c.identity == identity, MESSAGES.c.state.in_(states))
        return [MessageRow(**row._mapping) for row in self.read(query.order_by(MESSAGES.c.msg_no))]  # noqa: SLF001 - likewise

    def drafts(self, folder: str) -> frozenset[str]:
        """The temporary files in this folder that the journal names: whole documents that aren't placed yet."""
        query = sa.select(MESSAGES.c.temporary).where(MESSAGES.c.folder == folder, MESSAGES.c.state == "named")
        return frozenset(row.temporary for row in self.read(query))

    def inbox_day(self, identity: str) -> str | None:
        """The day from which `/messages` is to be searched for unread messages of an inbox that shows only 25."""
        day: str | None = self.value(sa.select(ACCOUNTS.c.inbox_day).where(ACCOUNTS.c.identity == identity))
        return day

    def record_inbox_day(self, identity: str, day: str) -> None:
        """Write that all messages before this day are known."""
        values = {"identity": identity, "inbox_day": day}
        self.write(lambda connection: connection.execute(sa.insert(ACCOUNTS).prefix_with("OR REPLACE"), values))
