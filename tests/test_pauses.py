"""Policies of retries: how long to wait, and when nothing is tried again."""

from __future__ import annotations

import threading
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.backoffs import exact

from filedrop.pauses import LOGIN, REQUEST, Backoff

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def no_pause_asked(_: Exception) -> float:
    return 0.0


class Paused(threading.Event):
    """A stop that never comes, and that notes for how long it was waited for."""

    def __init__(self) -> None:
        super().__init__()
        self.pauses: list[float | None] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.pauses.append(timeout)
        return False


@given(
    attempts=st.integers(-5, 10**9), first=st.integers(1, 10**6), longest=st.integers(1, 10**6), part=st.floats(0, 1)
)
def test_backoff(attempts: int, first: int, longest: int, part: float) -> None:
    """Pauses begin with the first, never get shorter, never exceed the longest, however often it was tried.

    By chance, each is shorter by a tenth at most.
    """
    policy = exact(timedelta(seconds=first), timedelta(seconds=longest))
    pause = policy.seconds(attempts)
    assert 0 < pause <= longest
    assert pause <= policy.seconds(attempts + 1)
    assert policy.seconds() == min(first, longest)
    by_chance = Backoff(policy.first, policy.longest, chance=lambda: part).seconds(attempts)
    assert 0.9 * pause <= by_chance + 1e-6 <= pause + 2e-6


def test_backoff_doubles() -> None:
    """5 s, 10 s, 20 s and so on."""
    policy = exact(timedelta(seconds=5), MINUTE)
    assert [policy.seconds(attempts) for attempts in range(1, 6)] == [5, 10, 20, 40, 60]
    assert policy.due(NOON, 2) == NOON + timedelta(seconds=10)


@pytest.mark.parametrize(("attempts", "most"), [(1, 8), (3, 3), (40, 2)])
def test_forty_companies_do_not_return_together(attempts: int, most: int) -> None:
    """What failed at the same moment is spread over seconds, also when the pauses don't grow any more."""
    parts = (number * 0.618034 % 1 for number in range(40))
    policy = Backoff(MINUTE, timedelta(minutes=15), chance=lambda: next(parts))
    together = Counter(int(policy.seconds(attempts)) for _ in range(40))
    assert max(together.values()) <= most


def test_due_after_a_clock_was_set_back() -> None:
    """A retry is due at its moment, and where its moment is further away than any pause can be."""
    policy = exact(MINUTE, 2 * MINUTE)
    assert policy.is_due(None, NOON)
    assert policy.is_due(NOON, NOON)
    assert not policy.is_due(NOON + 2 * MINUTE, NOON)
    assert policy.is_due(NOON + 2 * MINUTE + timedelta(seconds=1), NOON)


def test_policy_within_a_bound() -> None:
    """A policy within a bound has no pause that is longer, not even its first."""
    assert LOGIN.within(2 * MINUTE).seconds() <= 120
    assert exact(MINUTE, 9 * MINUTE).within(4 * MINUTE).seconds(9) == 240


def test_persist_gives_up_after_its_attempts() -> None:
    """A request has three attempts, and the last one's error is raised; the pauses between them double."""
    stopped, errors = Paused(), [ConnectionError(number) for number in range(9)]
    left = iter(errors)

    def attempt() -> None:
        raise next(left)

    with pytest.raises(ConnectionError) as caught:
        exact(REQUEST.first, REQUEST.longest, REQUEST.attempts).persist(
            attempt, on=ConnectionError, asked=no_pause_asked, stopped=stopped
        )
    assert caught.value is errors[2]
    assert stopped.pauses == [0.5, 1.0]


def test_persist_returns_what_the_last_attempt_returned() -> None:
    """An attempt that succeeds ends it, and a pause that the error asks for is kept."""
    stopped, ends = Paused(), iter([ConnectionError(), None])

    def attempt() -> str:
        if error := next(ends):
            raise error
        return "done"

    policy = exact(MINUTE, MINUTE, attempts=3)
    assert policy.persist(attempt, on=ConnectionError, asked=lambda _: 90.0, stopped=stopped) == "done"
    assert stopped.pauses == [90.0]


def test_persist_ends_with_a_stop_during_a_pause() -> None:
    """The error that was met is raised at once, and nothing is tried again."""
    stopped, attempts = threading.Event(), []

    def attempt() -> None:
        attempts.append(stopped.is_set())
        raise ConnectionError

    def asked(_: Exception) -> float:
        stopped.set()
        return 3600.0

    with pytest.raises(ConnectionError):
        REQUEST.persist(attempt, on=ConnectionError, asked=asked, stopped=stopped)
    assert attempts == [False]


@pytest.mark.parametrize("error", [ConnectionError(), ValueError()])
def test_persist_with_an_error_that_ends_it(error: Exception) -> None:
    """Where the error says so, or is another one, nothing is tried again."""
    stopped = Paused()

    def attempt() -> None:
        raise error

    with pytest.raises(type(error)):
        REQUEST.persist(attempt, on=ConnectionError, asked=lambda _: None, stopped=stopped)
    assert stopped.pauses == []
