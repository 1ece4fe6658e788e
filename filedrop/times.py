"""Moments: parsing, comparing and writing timestamps."""

from __future__ import annotations

import re
import time
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache

_DAY = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?:Z|[+-]\d\d:\d\d|T.*)?|(\d{4})(\d\d)(\d\d)(?:\d.*)?", re.ASCII)
_FINEST = timedelta(milliseconds=10)  # some databases store moments in steps of 1/300 s
_BEGIN = datetime(1970, 1, 1, tzinfo=UTC)
EARLIEST = datetime(1970, 1, 3, tzinfo=UTC)  # no message is older; some servers write the year 1 for "never"
_FIRST_DAY = (datetime(1, 1, 2, tzinfo=UTC) - _BEGIN).total_seconds()  # a day less: some time zones are behind UTC,
_LAST_DAY = (datetime(9999, 12, 30, tzinfo=UTC) - _BEGIN).total_seconds()  # and some before it
_COARSER = {0: timedelta(days=1), 2: timedelta(hours=1), 4: timedelta(minutes=1)}  # by number of digits in the time


def calendar_day(written: str) -> str:
    """The day of a date in a document, as `2026-11-20`; the text as it is written where it isn't a date.

    XML Schema allows an offset behind a date (`2026-11-20+01:00`, `2026-11-20Z`): the same day. A time behind it is
    left out. UN/CEFACT writes `20261120`, with or without a time.
    """
    found = _DAY.fullmatch(written)
    return "-".join(filter(None, found.groups())) if found else written


def now() -> datetime:
    """The wall clock, with its offset."""
    seconds = time.time()
    return datetime.fromtimestamp(seconds, _zone(seconds // 900))


@lru_cache(1)
def _zone(_quarter: float) -> tzinfo | None:
    """The offset in this quarter of an hour: it changes only between two."""
    return datetime.now().astimezone().tzinfo


def today() -> date:
    """Today, in this computer's time zone."""
    return now().date()


def moment(timestamp: str | None) -> datetime | None:
    """A timestamp from the access point as a moment; None where it can't be parsed or has no offset."""
    try:
        read = datetime.fromisoformat(timestamp or "")
        if read.tzinfo is None:
            return None
        read.astimezone(UTC)  # fails in the first and last day of the calendar, as a later comparison would
    except (ValueError, OverflowError):
        return None
    return read


def from_seconds(since_1970: float) -> datetime:
    """The moment this many seconds after the start of 1970 (UTC), in the local time zone.

    What the calendar doesn't have is its first or last day: anybody can give a file such a time.
    """
    within = min(max(since_1970, _FIRST_DAY), _LAST_DAY)
    return here(_BEGIN + timedelta(seconds=within))  # `fromtimestamp` on Windows only knows 1970 to 3000


def same_moment(text: str | None, other: str | None) -> bool | None:
    """Whether two timestamps from the access point are one moment, at the precision of the coarser one (contract 6).

    An access point may write one moment with milliseconds in a 201, and later as its database has it: in whole seconds,
    cut or rounded, or as the same local time with another offset (field notes, Timestamps). None where the two can't be
    compared: one is missing, can't be parsed, or only one of them has an offset.
    """
    if text and text == other:
        return True
    try:
        first, second = datetime.fromisoformat(text or ""), datetime.fromisoformat(other or "")
        apart = abs(first - second)
    except (ValueError, TypeError, OverflowError):  # TypeError: only one of them has an offset
        return None
    apart_by_the_wall_clock = abs(first.replace(tzinfo=None) - second.replace(tzinfo=None))
    return min(apart, apart_by_the_wall_clock) < max(_step(text or ""), _step(other or ""), _FINEST)


def _step(timestamp: str) -> timedelta:
    """The precision of a timestamp: the unit of its last written digit. A fraction of zeros counts as none."""
    time = re.search(r"[T ]([0-9:]+)[.,]?([0-9]*)", timestamp)
    written, fraction = time.groups() if time else ("", "")
    if fraction.strip("0"):
        return timedelta(seconds=10.0 ** -len(fraction))
    return _COARSER.get(len(written.replace(":", "")), timedelta(seconds=1))


def month(timestamp: str | None, otherwise: datetime) -> str:
    """The month of a timestamp as written (`2026-11`; contract 1: archive/), or of `otherwise` where it has none."""
    written = re.match(r"[0-9]{4}-(0[1-9]|1[0-2])", timestamp or "")
    return written[0] if written else otherwise.strftime("%Y-%m")


def local(time: datetime, to_the: str = "minutes") -> str:
    """A moment for people: in this computer's time zone, with its offset (`2026-11-20 14:05+01:00`)."""
    return here(time).isoformat(sep=" ", timespec=to_the)


def next_attempt(due: datetime, now: datetime) -> str:
    """When something is tried again, as the end of a sentence: no time that is over."""
    return f"the next attempt is at {local(due, 'seconds')}" if due > now else "the next attempt is due now"


def stated(time: datetime | None) -> str | None:
    """A moment for programs, to the second (ISO 8601: `2026-11-20T14:05:09+01:00`); None where there is none."""
    return time.isoformat(timespec="seconds") if time else None


def here(time: datetime) -> datetime:
    """The same moment in the local time zone; unchanged where the system can't convert it."""
    # OverflowError: the year 1, which some servers write for "never". OSError: Windows, before 1970 and after 3000.
    with suppress(OverflowError, OSError):
        return time.astimezone()
    return time


def as_duration(period: timedelta) -> str:
    """A duration as it is written in the configuration (`500ms`, `15m`)."""
    seconds = period.total_seconds()
    for unit, factor in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        if seconds >= factor and seconds % factor == 0:
            return f"{seconds / factor:g}{unit}"
    return f"{seconds * 1000:g}ms"
