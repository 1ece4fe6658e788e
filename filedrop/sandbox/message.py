"""What the sandbox keeps and is asked for: a message, a search among messages, the traffic of an account."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime


class Direction(StrEnum):
    """Which way a message goes, seen from its account."""

    IN = "IN"
    OUT = "OUT"


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message of an account. `listed` says whether it is still in /outbox or /inbox."""

    msg_no: int
    account: str
    direction: Direction
    sender: str
    receiver: str
    channel: str
    document_id: str
    process_id: str
    uuid: str
    received: datetime
    delivered: datetime | None
    listed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """Which messages are asked for: of one direction, `listed` ones only, `received` in [since, before)."""

    direction: Direction | None = None
    listed: bool = False
    sender: str | None = None
    receiver: str | None = None
    since: datetime | None = None
    before: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """What has gone one way: counts, and the moments that /statistics tells."""

    total: int
    undelivered: int
    last_received: datetime | None
    last_delivered: datetime | None
    oldest_undelivered: datetime | None
