"""Moments: what a timestamp says, and when something is to be tried again."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta


def backoff(attempts: int, first: timedelta, longest: timedelta) -> timedelta:
    """How long to leave something alone after its n-th attempt: doubling from `first`, at most `longest`."""
    # In floats, and bounded: a timedelta overflows after a night of attempts.
    wanted = first.total_seconds() * 2.0 ** min(max(attempts - 1, 0), 100)
    return longest if wanted >= longest.total_seconds() else timedelta(seconds=wanted)


def is_due(due: datetime | None, now: datetime, longest: timedelta) -> bool:
    """Is it time for something that never waits longer than this? Where it seems to, the clock has been set back."""
    return due is None or not now < due <= now + longest


def moment(timestamp: str | None) -> datetime | None:
    """A timestamp of the access point's as a moment; None where it can't be read or has no offset."""
    try:
        read = datetime.fromisoformat(timestamp or "")
        read.astimezone(UTC)  # fails at either end of the calendar; whoever compares moments would
    except (ValueError, OverflowError):
        return None
    return read if read.tzinfo else None


def month(timestamp: str | None, otherwise: datetime) -> str:
    """`2026-11` of a timestamp as written (contract 1: archive/), or of our own clock where it can't be read."""
    written = re.match(r"[0-9]{4}-(0[1-9]|1[0-2])", timestamp or "")
    return written[0] if written else otherwise.strftime("%Y-%m")
