"""Moments as an access point writes them: the same one in many ways, and different ones."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from filedrop.times import calendar_day, from_seconds, local, moment, now, same_moment

NOON = "2026-11-20T12:00:05.778+00:00"


@pytest.mark.parametrize(
    ("other", "says"),
    [
        (NOON, True),
        ("2026-11-20T12:00:05.778Z", True),
        ("2026-11-20T13:00:05.778+01:00", True),
        ("2026-11-20T07:30:05.778-0430", True),
        ("2026-11-20T12:00:05.778123Z", True),
        ("2026-11-20T12:00:05,8Z", True),
        ("2026-11-20 12:00:05.777Z", True),  # a database that has steps of 1/300 s
        ("2026-11-20T12:00:05Z", True),
        ("2026-11-20T12:00:06Z", True),  # rounded
        ("20261120T120005Z", True),
        ("2026-11-20T12:00Z", True),
        ("2026-11-20T12:00:04Z", False),
        ("2026-11-20T12:00:07Z", False),
        ("2026-11-20T12:00:05.9Z", False),
        ("2026-11-20T12:00:05.700Z", False),
        ("2026-11-20T12:00:05.000Z", True),  # a database of whole seconds: cut
        ("2026-11-20T12:00:06.000000Z", True),  # rounded
        ("2026-11-20T12:00:04.000Z", False),
        ("2026-11-20T12:00:07.000Z", False),
        ("2026-11-20T12:00:05.778+01:00", True),  # local time without a zone, read in another
        ("2026-11-20T12:00:05+02:00", True),
        ("2026-11-20T12:00:06.000-05:00", True),
        ("2026-11-20T12:00:05.9+01:00", False),
        ("2026-11-20T12:00:07.000+01:00", False),
        ("2026-11-20T12:30:05.778+01:00", False),
        ("2026-11-20T12:02Z", False),
        ("2027-11-20T12:00:05.778Z", False),
        ("2026-11-20T12:00:05.778", None),  # without an offset it may be anywhere
        ("20 Nov 2026 12:00:05", None),
        ("", None),
        (None, None),
    ],
)
def test_the_same_moment(other: str | None, says: bool | None) -> None:  # noqa: FBT001 - a column of the table
    """However precisely and in whatever offset it is written, a moment is known; what doesn't say it says nothing."""
    assert same_moment(NOON, other) is says
    assert same_moment(other, NOON) is says


def test_the_hour_that_comes_twice() -> None:
    """A local time that is read in the other of its two hours is still its own moment; one of another minute isn't."""
    told = "2026-10-25T02:30:28.107+02:00"
    assert same_moment(told, "2026-10-25T02:30:28.000+01:00") is True
    assert same_moment(told, "2026-10-25T02:30:29.000+01:00") is True
    assert same_moment(told, "2026-10-25T01:30:28.000+01:00") is True
    assert same_moment(told, "2026-10-25T02:31:28.000+01:00") is False


def test_two_moments_of_whole_seconds() -> None:
    """Between two timestamps in whole seconds, one second is a difference, however the zeros are written."""
    assert same_moment("2026-11-20T12:00:05.000Z", "2026-11-20T12:00:06Z") is False
    assert same_moment("2026-11-20T12:00:05.000Z", "2026-11-20T12:00:05Z") is True


def test_moments_without_an_offset() -> None:
    """Where both are written without an offset, it is the same one, whichever that may be."""
    assert same_moment("2026-11-20T12:00:05.778", "2026-11-20T12:00:05") is True
    assert same_moment("2026-11-20T12:00:05", "2026-11-20T12:00:07") is False
    assert same_moment("yesterday at noon", "yesterday at noon") is True
    assert same_moment(None, None) is None


@pytest.mark.parametrize("written", ["0001-01-01T00:00:00+00:00", "1969-12-31T23:00:00Z", "9999-12-31T12:00:00+00:00"])
def test_a_moment_of_any_year_is_shown(written: str) -> None:
    """Whatever year a server writes for "never", people are shown it; on Windows, too, which has no offset for it."""
    at = moment(written)
    assert at is not None
    assert local(at)[:2] in (written[:2], "10")


@pytest.mark.parametrize("seconds", [0.0, 1.0, -86_400.5, -6e10, 2.0**32, 2.5e11])
def test_a_moment_held_in_seconds(seconds: float) -> None:
    """What was written down as seconds is that moment again: that of a file without a date, which has none, too."""
    assert from_seconds(seconds).timestamp() == seconds


def test_a_moment_without_an_offset_is_none() -> None:
    """It isn't looked for in the calendar of this computer, which may not go back as far."""
    assert moment("0001-01-01T00:00:00") is None


@pytest.mark.parametrize(
    "written",
    ["2026-11-20", "2026-11-20+01:00", "2026-11-20-11:00", "2026-11-20Z", "2026-11-20T23:30:00+01:00", "20261120",
     "202611201000", "20261120100000"],
)  # fmt: skip
def test_a_day_however_it_is_written(written: str) -> None:
    """A date with an offset, with a time or without hyphens is the day that it states."""
    assert calendar_day(written) == "2026-11-20"


@pytest.mark.parametrize("written", ["", "20.11.2026", "2026-11", "2026-11-20x", "261120", "2026-1-1", "soon"])
def test_what_is_no_day(written: str) -> None:
    """What isn't a date stays as it is written."""
    assert calendar_day(written) == written


def test_now_has_the_present_offset() -> None:
    """The wall clock, with the offset of this computer's time zone."""
    before, present, after = datetime.now(UTC), now(), datetime.now(UTC)
    assert before <= present <= after
    assert present.utcoffset() == datetime.now().astimezone().utcoffset()
