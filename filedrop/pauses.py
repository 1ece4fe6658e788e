"""When something that failed is tried again: one policy for each thing, with the loop and the waits of tenacity.

Pauses double from the first to the longest. Each is shortened by chance, by a tenth at most: forty companies whose
access point failed at the same moment don't return to it in the same second. So `longest` is a bound in any case.

A policy without `attempts` never gives up. Who keeps a thing that waits for a long time, keeps the moment when it is
due, not the pause.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar, cast

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable
    from datetime import datetime

T = TypeVar("T")
E = TypeVar("E", bound=Exception)
SHORTENED = 0.1  # this part of a pause at most
LONGEST_ASKED = timedelta(hours=1)  # the longest Retry-After that is honoured (contract 6)


@dataclass(frozen=True, slots=True)
class Backoff:
    """A policy: pauses from `first` to `longest`, and at most so many `attempts`.

    `chance` returns a number from 0 to 1: which part of `SHORTENED` the next pause is shortened by.
    """

    first: timedelta
    longest: timedelta
    attempts: int | None = None
    chance: Callable[[], float] = random.random

    def seconds(self, attempts: int = 1) -> float:
        """How long to wait after this number of failed attempts."""
        import tenacity  # noqa: PLC0415 - 22 ms, and most commands never wait

        state = tenacity.RetryCallState(tenacity.Retrying(), None, (), {})
        state.attempt_number = max(1, attempts)
        # A float base: an integer's power after a night of attempts would fill the memory.
        wait = tenacity.wait_exponential(self.first.total_seconds(), self.longest, exp_base=2.0)
        return wait(state) * (1 - SHORTENED * self.chance())

    def due(self, now: datetime, attempts: int = 1) -> datetime:
        """When to try again after this number of failed attempts."""
        return now + timedelta(seconds=self.seconds(attempts))

    def is_due(self, due: datetime | None, now: datetime) -> bool:
        """Whether it is time to try again. A `due` beyond the longest pause means that the clock was set back."""
        return due is None or not now < due <= now + self.longest

    def within(self, longest: timedelta) -> Backoff:
        """The same policy, without a pause that is longer than this."""
        return replace(self, first=min(self.first, longest), longest=min(self.longest, longest))

    def bound(self, other: Backoff) -> Backoff:
        """The other policy, within the longest pause of this one and by the same chance."""
        return replace(other.within(self.longest), chance=self.chance)

    def persist(
        self,
        attempt: Callable[[], T],
        *,
        on: type[E],
        asked: Callable[[E], float | None],
        stopped: threading.Event,
    ) -> T:
        """The result of `attempt`, which is called again where it raises `on`, until `stopped`. Raises its last error.

        `asked`: the seconds that an error asks to wait at least, None where nothing is to be called again.
        """
        try:
            return attempt()  # mostly this is all, and costs nothing more
        except on as error:
            failure = error
        import tenacity  # noqa: PLC0415 - 22 ms, and most commands never wait

        def again() -> T:
            if tries.statistics["attempt_number"] == 1:  # the one above
                raise failure
            return attempt()

        def remember(state: tenacity.RetryCallState) -> None:
            nonlocal failure
            failure = cast("E", cast("tenacity.Future", state.outcome).exception())

        def pause(seconds: float) -> None:
            if stopped.wait(seconds):  # else there is one more attempt (tests/findings/tenacity-pause)
                raise failure

        tries = tenacity.Retrying(
            retry=tenacity.retry_if_exception(lambda error: isinstance(error, on) and asked(error) is not None),
            wait=lambda state: max(self.seconds(state.attempt_number), asked(failure) or 0.0),
            stop=tenacity.stop_after_attempt(self.attempts) if self.attempts else tenacity.stop_never,
            after=remember,
            sleep=pause,
            reraise=True,
        )
        return tries(again)


class Pausing:
    """How long a job pauses that is run whenever it is due: longer and longer while it fails, or nothing comes of it.

    `until`: it isn't run again before then, by the same clock as `now`.
    """

    FREE = 20  # jobs in a row of which nothing needs to come: some only look, or wait for others

    def __init__(self) -> None:
        self.until = -math.inf
        self._failures = self._idle = 0

    def note(self, now: float, *, has_failed: bool = False, is_idle: bool = False) -> None:
        """Note how the job has ended. `is_idle`: nothing came of it, and it is due again at once."""
        self._failures = self._failures + 1 if has_failed else 0
        self._idle = self._idle + 1 if is_idle else 0
        if has_failed:
            self.until = now + TURN.seconds(self._failures)
        elif self._idle > self.FREE:
            self.until = now + IDLE.seconds(self._idle - self.FREE)
        else:
            self.until = -math.inf


def _policy(first: float, longest: float, *, attempts: int | None = None) -> Backoff:
    """Pauses in seconds."""
    return Backoff(timedelta(seconds=first), timedelta(seconds=longest), attempts)


# Those of documents and probes are in the configuration: `outbound.retry`, and `outbound.track` for deliveries.
REQUEST = _policy(0.5, 1.5, attempts=3)  # a request that certainly never arrived
LOGIN = Backoff(timedelta(minutes=3), timedelta.max)  # probes of a refused login (contract 6); see `within`
LOOK = _policy(30, 30)  # a look for documents in doubt, or for deliveries, that failed
MESSAGE = _policy(60, 3600)  # a received message that can't be taken
LETTER = _policy(60, 3600)  # an alert or a digest that can't be sent; old digests are given up (alerts/unsent)
EACH_MINUTE = _policy(60, 60)  # the receivers' directory, the heartbeat, a command, a page, when they failed
TURN = _policy(2, 60)  # a thread's turn that failed
IDLE = _policy(0.05, 1)  # a turn of which nothing came, though it wants the next one at once
RECORD = _policy(1, 15)  # answers that the journal couldn't take
SESSION = _policy(0.2, 0.2)  # a database that lets nobody in; its restart takes a second or two
