"""What the page shows of the last two weeks: the latest documents and messages, and how many there were each day."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from heapq import nlargest
from typing import TYPE_CHECKING

from filedrop.journal import Days
from filedrop.texts.languages import Translatable, marked

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from filedrop.config import Account, Company
    from filedrop.journal import Journal, Received, Sent

LATEST_LISTED = 20
DAYS = 14
_UNPROVEN = marked(
    "nothing has been received for {company} through {account} yet. Whether {account} receives for {participants} "
    "shows with the first message"
)


@dataclass(frozen=True)
class Lately:
    """What happened lately. `begins`: when each of the days began, and when the last one ends.

    `is_known`: whether the journal could be read; if not, nothing is listed. `unproven`: of one company, as below.
    """

    sent: list[Sent]
    received: list[Received]
    begins: list[datetime]
    days: Days
    is_known: bool = True
    unproven: str = ""


def gather(journal: Journal, company: str, now: datetime) -> Lately:
    """What happened to a company's documents lately. Raises JournalError."""
    begins = days_until(now)
    return Lately(
        sent=journal.lately.last_sent(company, LATEST_LISTED),
        received=journal.lately.last_received(company, LATEST_LISTED),
        begins=begins,
        days=journal.lately.per_day(company, begins),
    )


def unproven(journal: Journal | None, company: Company, account: Account) -> str:
    """That nothing shows yet whether a company's account receives for it; "" as soon as it has. Raises JournalError."""
    if not company.may_receive or (journal and journal.lately.has_received(company.name, account.identity)):
        return ""
    participants = ", ".join(company.participants)
    return Translatable.of(_UNPROVEN, company=company.name, account=account.name, participants=participants)


def nothing(now: datetime) -> Lately:
    """What is shown where the journal can't be read."""
    none = Days(*([0] * DAYS for _ in Days._fields))
    return Lately(sent=[], received=[], begins=days_until(now), days=none, is_known=False)


def of_all(companies: Sequence[Lately]) -> Lately:
    """What happened lately to the documents of several companies together."""
    by_kind = zip(*(company.days for company in companies), strict=True)
    return Lately(
        sent=nlargest(
            LATEST_LISTED, (sent for company in companies for sent in company.sent), key=lambda sent: sent.at
        ),
        received=nlargest(
            LATEST_LISTED, (came for company in companies for came in company.received), key=lambda came: came.at
        ),
        begins=companies[0].begins,
        days=Days(*([sum(day) for day in zip(*numbers, strict=True)] for numbers in by_kind)),
        is_known=any(company.is_known for company in companies),
    )


def days_until(now: datetime) -> list[datetime]:
    """When each of the last days began, here, today the last, and when that ends. Days of 23 or 25 hours count."""
    today = now.astimezone().replace(tzinfo=None, hour=0, minute=0, second=0, microsecond=0)
    return [(today + timedelta(days=day)).astimezone() for day in range(1 - DAYS, 2)]
