"""A message on its way into its folder, and its last request: that it is marked as read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol

from filedrop.errors import AccessPointError
from filedrop.inbound.context import MarkedRead
from filedrop.journal import is_same

if TYPE_CHECKING:
    from datetime import datetime

    from filedrop.inbound.context import InboundContext
    from filedrop.inbound.fetcher import Fetched
    from filedrop.inbound.inbox import Unread
    from filedrop.journal import MessageRow

JUST_NOW = timedelta(seconds=3)  # no access point is set up anew so quickly, and each question costs a request


class WhenEnded(Protocol):
    """A callback when a message has come as far as it can now; `error` says what keeps it. Thread-safe."""

    def __call__(self, unread: Unread, error: Exception | None = None, *, was_read: bool = False) -> None:
        """`was_read`: the message has just been marked as read."""


@dataclass(slots=True, eq=False)
class Arrival:
    """A message on its way, with its document once that is fetched. One thread at a time has it.

    `asked`: when the access point was asked for the inbox, or later for the message's document, by our clock.
    """

    context: InboundContext
    unread: Unread
    ended: WhenEnded
    asked: datetime
    fetched: Fetched | None = None

    def ask(self, now: datetime) -> None:
        """Note that the access point is asked for the message's document."""
        self.asked = now

    def note_fetched(self, fetched: Fetched | None) -> None:
        """Note the message's document; None where it is still to be fetched."""
        self.fetched = fetched

    def note_named(self, row: MessageRow) -> None:
        """Note the row that names the message's file."""
        self.unread = replace(self.unread, row=row)


class Refused(NamedTuple):
    """An error that kept a message from being put into a folder."""

    error: Exception


class LookAgain(NamedTuple):
    """The folder is to be looked at again; what was refused doesn't wait any more."""


Letter = Arrival | Refused | LookAgain


def mark_read(arrival: Arrival) -> None:
    """Mark a message as read, once its document lies whole in its folder, on the disk (delivery). By a fetcher.

    Where its number is another message's by now, it is gone: nothing is marked, and nothing is left to be done.
    """
    context, row, error = arrival.context, arrival.unread.row, None
    is_over = was_there = False
    try:
        if row is not None:
            was_there = is_there(context, row, arrival.asked if arrival.unread.listed else None)
            if was_there:
                context.access_point.mark_read(row.msg_no)
            is_over = True
    except AccessPointError as failure:
        error = failure
    finally:
        if not is_over or row is None:
            arrival.ended(arrival.unread, error)
        elif row.state == "read":  # recorded before, but still listed; or fetched again, since the journal was older
            arrival.ended(arrival.unread, was_read=was_there and arrival.fetched is not None)
        else:
            recorded = partial(_conclude, arrival, was_read=was_there)
            context.record(MarkedRead(replace(row, state="read"), recorded))


def _conclude(arrival: Arrival, *, was_read: bool) -> None:
    """The message is recorded as read: its page may be made now."""
    arrival.context.pages.wake()
    arrival.ended(arrival.unread, was_read=was_read)


def is_there(context: InboundContext, row: MessageRow, asked: datetime | None) -> bool:
    """Whether a message's number is still its own, or nobody's: a server may have been set up anew meanwhile.

    `asked`: when the access point was asked for it, by our clock; None where that is unknown. Raises AccessPointError.
    """
    if asked is not None and timedelta(0) <= context.now() - asked <= JUST_NOW:
        return True
    there = context.access_point.received(row.msg_no)
    return there is None or is_same(there, row)
