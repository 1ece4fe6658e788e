"""Policies of retries for tests: without chance, and without pauses where a test doesn't want them."""

from __future__ import annotations

from datetime import timedelta

from filedrop.pauses import Backoff

NO_TIME, HOUR = timedelta(0), timedelta(hours=1)


def exact(first: timedelta, longest: timedelta, attempts: int | None = None) -> Backoff:
    """A policy that leaves nothing to chance."""
    return Backoff(first, longest, attempts, chance=lambda: 0.0)


ONCE = exact(NO_TIME, NO_TIME, attempts=1)
AT_ONCE = exact(NO_TIME, NO_TIME, attempts=3)
HOURLY = exact(HOUR, HOUR, attempts=3)
