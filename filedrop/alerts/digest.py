"""The digest: once a day, how much came and went since the last one. Pure.

The moment of the last one is remembered with the totals as they were then, so that each is counted in one digest:
neither a restart nor a clock that is set changes that.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from filedrop.texts.languages import marked
from filedrop.times import from_seconds

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from datetime import time

    from filedrop.journal import Total, UnderWay

EVENTS = {"received": marked("received"), "delivered": marked("delivered"), "unreachable": marked("not on Peppol")}
FAILED = marked("failed")
UNDER_WAY = marked("still under way")


def is_due(daily: time, last: float, now: datetime) -> bool:
    """Whether today's or yesterday's is due; the last one was made at `last`, in seconds since 1970.

    Yesterday's, because a look just before midnight may be followed by one after it. `daily` is a time of day, in the
    local time zone. Where daylight saving skips it that day, it is due an hour before; where it comes twice, the first
    time.
    """
    begun, today = min(from_seconds(last), now), now.astimezone().date()
    return any(begun < datetime.combine(day, daily).astimezone() <= now for day in (today - timedelta(days=1), today))


def totals(counted: Iterable[Total], companies: Collection[str]) -> dict[str, dict[str, int]]:
    """The totals of these companies, by event, and of all others that were counted: one may come back."""
    sums = {company: dict.fromkeys(EVENTS, 0) for company in companies}
    for total in counted:
        if total.event in EVENTS:
            sums.setdefault(total.company, dict.fromkeys(EVENTS, 0))[total.event] += total.number
    return sums


def figures(
    now: Mapping[str, Mapping[str, int]],
    before: Mapping[str, Mapping[str, int]],
    failed: Mapping[str, Collection[str]],
    under_way: Iterable[UnderWay],
) -> dict[str, dict[str, int]]:
    """What is new in these totals since they were as `before`, by company, and how much is still under way.

    `failed` has the names of the documents that have failed since: one that failed three times counts once.
    """
    unfinished = list(under_way)
    return {
        company: {
            EVENTS.get(event, event): new
            for event, number in sums.items()
            if (new := _new(number, before.get(company, {}).get(event, 0))) or event != "unreachable"
        }
        | {FAILED: len(failed[company])}
        | {UNDER_WAY: sum(state.number for state in unfinished if state.company == company)}
        for company, sums in now.items()
    }


def _new(number: int, before: int) -> int:
    return number - before if number >= before else number  # a new journal has begun to count
