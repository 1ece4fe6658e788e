"""Calls that may hang, made with a time limit."""

from __future__ import annotations

import threading

import pytest

from filedrop.errors import FolderUnavailable, JournalError
from filedrop.files.patience import within


def test_a_call_that_answers() -> None:
    """What a call returns or raises is what it returns or raises without a limit."""

    def fail(error: Exception) -> None:
        raise error

    assert within(60.0, lambda: "there") == "there"
    for error in (FileNotFoundError("gone"), JournalError("unreadable"), FolderUnavailable("away")):
        with pytest.raises(type(error), match=str(error)):
            within(60.0, lambda error=error: fail(error))  # type: ignore[misc] # mypy can't see the default


def test_a_call_that_hangs() -> None:
    """A call that doesn't answer in time is a TimeoutError, and nobody waits for it any longer."""
    may_end = threading.Event()
    with pytest.raises(TimeoutError, match=r"not answered for 0\.01 seconds"):
        within(0.01, may_end.wait)
    may_end.set()
