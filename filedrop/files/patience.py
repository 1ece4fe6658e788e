"""Time limits for calls that may hang, as all calls do to a share whose server is away."""

from __future__ import annotations

import errno
import os
import queue
import threading
from typing import TYPE_CHECKING, Protocol, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable

    Answers = queue.SimpleQueue[tuple[object, BaseException | None]]
    Calls = queue.SimpleQueue[tuple[Callable[[], object], Answers]]

T = TypeVar("T")

UNAVAILABLE_AFTER = 30.0  # seconds until a folder that doesn't answer counts as unavailable (contract 1)
KEPT = 4  # threads
_free: list[Calls] = []  # of the threads that wait for a call: to start one for each costs more than most calls
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free.clear)  # a child has no thread but its own


class Ask(Protocol):
    """A function that makes a call to a folder and returns its result."""

    def __call__(self, call: Callable[[], T], /) -> T:
        """Make the call. Raises what it raises, and TimeoutError, which is an OSError."""


def within(seconds: float, call: Callable[[], T]) -> T:
    """The result of a call. Raises what it raises, or TimeoutError where it takes longer; its thread then goes on.

    Raises OSError, too, where the system has no thread: then the call wasn't made.
    """
    answers: Answers = queue.SimpleQueue()
    try:
        calls = _free.pop()
    except IndexError:
        calls = _start()
    calls.put((call, answers))
    try:
        came, raised = answers.get(timeout=seconds)
    except queue.Empty:
        raise TimeoutError(
            errno.ETIMEDOUT, f"it has not answered for {seconds:g} seconds; see whether its server is up"
        ) from None
    if raised:
        raise raised
    return cast("T", came)


def _start() -> Calls:
    """Start a thread for calls. Raises OSError where the system has none."""
    calls: Calls = queue.SimpleQueue()

    def work() -> None:
        while _make_next(calls):
            pass

    try:
        threading.Thread(target=work, name="patience", daemon=True).start()
    except RuntimeError as error:
        raise OSError(errno.EAGAIN, "the system has no thread for it now") from error
    return calls


def _make_next(calls: Calls) -> bool:
    """Make the next call, of which nothing stays with the thread. Returns whether the thread is kept for another."""
    answer: tuple[object, BaseException | None]
    call, answers = calls.get()
    try:
        answer = call(), None
    except BaseException as error:  # noqa: BLE001 - who waits gets it
        answer = None, error
    is_kept = len(_free) < KEPT
    if is_kept:  # first: the caller may have another one
        _free.append(calls)
    answers.put(answer)
    return is_kept


def asking(*, local: bool) -> Ask:
    """The way to call a folder from a thread that serves other folders, too. `local`: the calls can't hang."""
    return LOCALLY if local else _patiently


def _at_once(call: Callable[[], T], /) -> T:
    return call()


def _patiently(call: Callable[[], T], /) -> T:
    return within(UNAVAILABLE_AFTER, call)


LOCALLY: Ask = _at_once  # for a thread that may wait, or calls that can't hang
