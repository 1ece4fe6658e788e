"""Dependencies that the modules of an account's way in share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from filedrop.journal import MessageRow

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    import structlog

    from filedrop.accesspoint import AccessPoint
    from filedrop.accesspoint.breaker import CircuitBreaker
    from filedrop.config import Config, Inbound
    from filedrop.journal import Journal
    from filedrop.model.message import Message
    from filedrop.process.loop import Loop
    from filedrop.process.pool import Pool
    from filedrop.storage.company_folders import InboundFolder


@dataclass(frozen=True, slots=True)
class MessageSource:
    """Where messages come from, and what it takes to fetch and place one. `now` is the wall clock with its offset."""

    account: str
    access_point: AccessPoint
    journal: Journal
    rules: Inbound
    now: Callable[[], datetime]
    log: structlog.stdlib.BoundLogger
    config: Config

    @property
    def other_identities(self) -> set[str]:
        """The identities of the other accounts of the configuration."""
        return {account.identity for account in self.config.accounts.values()} - {self.access_point.identity}

    def row_of(self, folder: InboundFolder, first: Message | MessageRow, state: str) -> MessageRow:
        """The next row of a message that belongs in this folder; `first` is its row, if it has one."""
        identity = self.access_point.identity
        revision = first.revision if isinstance(first, MessageRow) and first.identity == identity else 0
        return MessageRow(
            identity=identity,
            msg_no=first.msg_no,
            received=first.received or "",
            sender=first.sender or "",
            receiver=first.receiver or "",
            revision=revision,
            state=state,
            company=folder.company,
            folder=str(folder.path),
        )


@dataclass(frozen=True, slots=True)
class InboundContext(MessageSource):
    """Dependencies of one account's way in.

    `fetchers` are the threads that make its requests. `record` queues a message that was marked as read. When such a
    message is recorded, its page may be owed: `pages` is woken.
    """

    breaker: CircuitBreaker
    fetchers: Pool
    record: Callable[[MarkedRead], None]
    pages: Loop


class MarkedRead(NamedTuple):
    """A message that was marked as read, still to be recorded; `returned` is called after that."""

    row: MessageRow
    returned: Callable[[], None]
