"""What the sandbox keeps and is asked for: a message, a search among messages, the traffic of an account.

The query of GET /messages is read as the interface describes it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from werkzeug.exceptions import BadRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from filedrop.sandbox.dialect import Dialect

# The quotes may stand around the day or around operator and day: the interface's `'<=2016-01-01'` is read either way.
_SENT = re.compile(r"'?(?P<operator>[<>=]{1,2})\s*'?(?P<day>[0-9]{4}-[0-9]{2}-[0-9]{2})'?")
_INDEX_DIGITS = 9  # far beyond any page, and not beyond what SQLite can count


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


def read_search(query: Mapping[str, str], dialect: Dialect) -> Search:
    """The search that is asked for; a parameter that is absent or blank doesn't restrict it. Raises BadRequest."""
    direction = _bare(query, "direction")
    if direction not in {"", "IN", "OUT"}:
        raise BadRequest(f"Wrong direction value: {direction}")
    since, before = _sent(query.get("sent", "").strip(), dialect)
    return Search(
        direction=Direction(direction) if direction else None,
        sender=_bare(query, "sender") or None,
        receiver=_bare(query, "receiver") or None,
        since=since,
        before=before,
    )


def read_index(query: Mapping[str, str]) -> int:
    """The page that is asked for; the first is 1 (field notes, First page). Raises BadRequest."""
    index = query.get("index", "").strip() or "1"
    if not (index.isascii() and index.isdecimal() and len(index) <= _INDEX_DIGITS and int(index) >= 1):
        raise BadRequest(f"Wrong index value: {index}")
    return int(index)


def _bare(query: Mapping[str, str], name: str) -> str:
    value = query.get(name, "").strip()
    return value[1:-1] if value[:1] == value[-1:] == "'" else value


def _sent(value: str, dialect: Dialect) -> tuple[datetime | None, datetime | None]:
    """The moments `[since, before)` that an operator and a day of the server's own time zone stand for."""
    if not value:
        return None, None
    found = _SENT.fullmatch(value)
    if found is None or found["operator"] not in dialect.operators:
        raise BadRequest(f"Wrong sent value: {value}")
    try:
        start = datetime.combine(date.fromisoformat(found["day"]), time(), dialect.zone)
        end = start + timedelta(days=1)
    except (ValueError, OverflowError) as error:  # no such day, or the last there is
        raise BadRequest(f"Wrong sent value: {value}") from error
    match found["operator"]:
        case "=":
            return start, end
        case "<":
            return None, start
        case "<=":
            return None, end
        case ">":
            return end, None
        case _:
            return start, None
