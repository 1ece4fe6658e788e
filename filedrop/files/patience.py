"""Time limits for calls that may hang, as all calls do to a share whose server is away."""

from __future__ import annotations

import errno
import threading
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

UNAVAILABLE_AFTER = 30.0  # seconds until a folder that doesn't answer counts as unavailable (contract 1)


class Ask(Protocol):
    """A function that makes a call to a folder and returns its result."""

    def __call__(self, call: Callable[[], T], /) -> T:
        """Make the call. Raises what it raises, and TimeoutError, which is an OSError."""


def within(seconds: float, call: Callable[[], T]) -> T:
    """The result of a call. Raises what it raises, or TimeoutError where it takes longer; its thread then goes on.

    Raises OSError, too, where the system has no thread: then the call wasn't made.
    """
    came: list[T] = []
    raised: list[BaseException] = []

    def run() -> None:
        try:
            came.append(call())
        except BaseException as error:  # noqa: BLE001 - who waits gets it
            raised.append(error)

    thread = threading.Thread(target=run, name="patience", daemon=True)
    try:
        thread.start()
    except RuntimeError as error:
        raise OSError(errno.EAGAIN, "the system has no thread for it now") from error
    thread.join(seconds)
    if raised:
        raise raised[0]
    if not came:
        raise TimeoutError(
            errno.ETIMEDOUT, f"it has not answered for {seconds:g} seconds; see whether its server is up"
        )
    return came[0]


def asking(*, local: bool) -> Ask:
    """The way to call a folder from a thread that serves other folders, too. `local`: the calls can't hang."""
    return _at_once if local else _patiently


def _at_once(call: Callable[[], T], /) -> T:
    return call()


def _patiently(call: Callable[[], T], /) -> T:
    return within(UNAVAILABLE_AFTER, call)
