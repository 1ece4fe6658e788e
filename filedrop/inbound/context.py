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
    from filedrop.config import Inbound
    from filedrop.journal import Journal
    from filedrop.model.message import Message
    from filedrop.storage.folders import InboundFolder


@dataclass(frozen=True, slots=True)
class InboundContext:
    """Dependencies of one account's way in.

    `allows` and `allows_again` are the circuit breaker's. `now` is the wall clock with its offset. `submit` has a
    request made by another thread, or calls its second argument where the request never begins; `record` queues a
    message that was marked as read; `wake_pages` is called when such a message is recorded, whose page may be owed.
    `company_of_twin` is the configuration's.
    """

    account: str
    access_point: AccessPoint
    allows: Callable[[], bool]
    allows_again: Callable[[], bool]
    journal: Journal
    rules: Inbound
    now: Callable[[], datetime]
    log: structlog.stdlib.BoundLogger
    submit: Callable[[Callable[[], None], Callable[[], None]], None]
    record: Callable[[MarkedRead], None]
    wake_pages: Callable[[], None]
    company_of_twin: Callable[[str], str | None]

    def row_of(self, folder: InboundFolder, first: Message | MessageRow, state: str) -> MessageRow:
        """The row of a message that belongs in this folder; `first` spells it as it was first recorded."""
        return MessageRow(
            identity=self.access_point.identity,
            msg_no=first.msg_no,
            received=first.received or "",
            sender=first.sender or "",
            receiver=first.receiver or "",
            state=state,
            company=folder.company,
            folder=str(folder.path),
        )


class MarkedRead(NamedTuple):
    """A message that was marked as read, still to be recorded; `returned` is called after that."""

    row: MessageRow
    returned: Callable[[], None]
