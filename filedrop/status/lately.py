"""What the page shows of the last two weeks: the latest documents and messages, and how many there were each day."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from heapq import nlargest
from typing import TYPE_CHECKING

from filedrop.journal import Days

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from filedrop.journal import Journal, Received, Sent

LATEST = 20
DAYS = 14
SERIES = ("sent", "received", "failed")
HEIGHT = 100  # of the chart, in its own units
_LEAST = 1.5  # of a bar, so that one is seen beside a thousand
_STEP, _WIDTH = 4.0, 3.5  # of a day's 14 units: from a bar to the next, and a bar


@dataclass(frozen=True)
class Lately:
    """What happened lately. `begins`: when each of the days began, and when the last one ends."""

    sent: list[Sent]
    received: list[Received]
    begins: list[datetime]
    days: Days


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar of the chart, in units of which a day has 14 and the chart HEIGHT."""

    series: str
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Day:
    """A day of the chart: when it began, how much happened, as words, and its bars."""

    at: datetime
    says: str
    bars: list[Bar]


def gather(journal: Journal, company: str, now: datetime) -> Lately:
    """What happened to a company's documents lately. Raises JournalError."""
    begins = days_until(now)
    return Lately(
        sent=journal.last_sent(company, LATEST),
        received=journal.last_received(company, LATEST),
        begins=begins,
        days=journal.per_day(company, begins),
    )


def nothing(now: datetime) -> Lately:
    """What is shown where the journal can't be read."""
    return Lately(sent=[], received=[], begins=days_until(now), days=Days(*([0] * DAYS for _ in SERIES)))


def of_all(companies: Sequence[Lately]) -> Lately:
    """What happened lately to the documents of several companies together."""
    sums = (
        [sum(numbers) for numbers in zip(*(getattr(one.days, series) for one in companies), strict=True)]
        for series in SERIES
    )
    return Lately(
        sent=nlargest(LATEST, (sent for one in companies for sent in one.sent), key=lambda sent: sent.at),
        received=nlargest(LATEST, (came for one in companies for came in one.received), key=lambda came: came.at),
        begins=companies[0].begins,
        days=Days(*sums),
    )


def days_until(now: datetime) -> list[datetime]:
    """When each of the last days began, here, today the last, and when that ends. Days of 23 or 25 hours count."""
    today = now.astimezone().replace(tzinfo=None, hour=0, minute=0, second=0, microsecond=0)
    return [(today + timedelta(days=day)).astimezone() for day in range(1 - DAYS, 2)]


def chart(lately: Lately) -> list[Day]:
    """The days with their bars."""
    most = highest(lately)
    return [
        Day(
            at=lately.begins[number],
            says=", ".join(f"{count} {series}" for series, count in zip(SERIES, counts, strict=True)),
            bars=list(_bars(counts, number, most)),
        )
        for number, counts in enumerate(zip(*lately.days, strict=True))
    ]


def highest(lately: Lately) -> int:
    """The largest number of a day."""
    return max(max(numbers) for numbers in lately.days)


def _bars(counts: Iterable[int], day: int, most: int) -> Iterable[Bar]:
    x = day * 14.0 + 1.0
    for series, count in zip(SERIES, counts, strict=True):
        if count:
            height = max(_LEAST, round(HEIGHT * count / most, 1))
            yield Bar(series, x, round(HEIGHT - height, 1), _WIDTH, height)
        x += _STEP
