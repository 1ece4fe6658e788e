"""One daemon for each state folder: the lock, and the journal behind it."""

from __future__ import annotations

import os
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from filedrop.errors import ConfigError, FiledropError
from filedrop.files.disk import file_system
from filedrop.files.rights import explain
from filedrop.journal import JOURNAL, Journal
from filedrop.validation import clear_copies

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LOCK = "lock"
PROCESS = "pid"
A_GLANCE = 1.0  # seconds: `is_running` in another process may hold the lock for a moment


def is_running(state: Path) -> bool | None:
    """Whether a filedrop uses this state now; None where that can't be determined."""
    lock = FileLock(state / LOCK)
    try:
        if not (state / LOCK).exists():
            return False
        lock.acquire(timeout=0)
    except Timeout:
        return True
    except OSError:
        return None
    lock.release()
    return False


def running_process(state: Path) -> int | None:
    """The number of the process that uses this state now; None where none does, or that can't be determined."""
    try:
        number = (state / PROCESS).read_text()
    except (OSError, UnicodeDecodeError):
        return None
    return int(number) if number.isascii() and number.isdecimal() and is_running(state) else None


@contextmanager
def locked_state(state: Path) -> Iterator[Journal]:
    """The journal of a state folder, locked for other processes meanwhile.

    Raises ConfigError where another filedrop uses it; FiledropError where the folder or the journal can't be used.
    """
    try:
        state.mkdir(parents=True, exist_ok=True, mode=0o700)
        with suppress(PermissionError):
            state.chmod(0o700)
            for name in (JOURNAL, LOCK):  # SQLite gives its other files the journal's mode
                (state / name).touch(mode=0o600)
                (state / name).chmod(0o600)
        lies_on = file_system(state)
        if lies_on.network:
            damaged = f"is on a network file system ({lies_on.kind}), where the journal can be damaged"
            raise ConfigError([f"the state folder {state} {damaged}: set `state` to a folder on a local disk"])
        held = FileLock(state / LOCK, mode=0o600).acquire(timeout=A_GLANCE)
    except Timeout:
        raise ConfigError(
            [f"another filedrop is running with the state {state}: stop it, or set another `state` for this one"]
        ) from None
    except OSError as error:
        raise FiledropError(
            f"the state folder {state} can't be used: {explain(error, error.filename or state, to_write=True)}"
        ) from error
    with held:
        try:
            with suppress(OSError):  # nothing but `filedrop reload` needs it
                (state / PROCESS).write_text(str(os.getpid()))
                (state / PROCESS).chmod(0o600)
            clear_copies(state)
            with closing(Journal.at(state / JOURNAL, migrates=True)) as journal:
                journal.check_integrity()
                yield journal
        finally:
            with suppress(OSError):
                (state / PROCESS).unlink()
