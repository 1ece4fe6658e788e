"""One daemon for each state folder: the lock, and the journal behind it."""

from __future__ import annotations

import os
import secrets
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from filedrop.errors import ConfigError, FiledropError
from filedrop.files.disk import file_system
from filedrop.files.rights import explain
from filedrop.journal import JOURNAL, Journal
from filedrop.validation import clear_copies

if TYPE_CHECKING:
    from collections.abc import Iterator

    from filedrop.journal import Database

LOCK = "lock"
PROCESS = "pid"
ID = "id"  # of the state folder, in a database
BOOT = "FILEDROP_BOOT"  # the variable in which the service has the id of its machine's start
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
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
def held_state(state: Path, *, has_journal: bool) -> Iterator[None]:
    """A context in which no other process uses this state folder; `has_journal`: the journal is a file in it.

    Raises ConfigError where another filedrop uses it, FiledropError where the folder can't be used.
    """
    try:
        state.mkdir(parents=True, exist_ok=True, mode=0o700)
        with suppress(PermissionError):
            state.chmod(0o700)
            for name in (JOURNAL, LOCK) if has_journal else (LOCK,):  # SQLite gives its other files the journal's mode
                if not (state / name).exists():  # else the time of a journal that was closed would change
                    (state / name).touch(mode=0o600)
                (state / name).chmod(0o600)
        lies_on = file_system(state)
        if lies_on.network:
            danger = "the journal can be damaged" if has_journal else "its lock isn't sure"
            there = f"is on a network file system ({lies_on.kind}), where {danger}"
            raise ConfigError([f"the state folder {state} {there}: set `state` to a folder on a local disk"])
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
        yield


@contextmanager
def locked_state(state: Path, database: Database | None = None, *, is_checked: bool = True) -> Iterator[Journal]:
    """The journal of a state folder, or in a `database`, with the folder locked for other processes meanwhile.

    `is_checked`: it was checked for damage. Otherwise, if it may have been damaged since its last daemon closed it, it
    is held (`Engine.is_held`): the daemon checks it while it works.

    Raises as `held_state` does, and FiledropError where the journal can't be used.
    """
    with held_state(state, has_journal=database is None):
        try:
            with suppress(OSError):  # nothing but `filedrop reload` needs it
                (state / PROCESS).write_text(str(os.getpid()))
                (state / PROCESS).chmod(0o600)
            clear_copies(state)
            with closing(_opened(state, database)) as journal:
                if is_checked:
                    journal.check_integrity()
                else:
                    journal.engine.hold()
                yield journal
        finally:
            with suppress(OSError):
                (state / PROCESS).unlink()


def _opened(state: Path, database: Database | None) -> Journal:
    """The daemon's journal. Raises FiledropError where it can't be used."""
    return Journal.in_database(database, is_daemons=True) if database else Journal.at(state / JOURNAL, is_daemons=True)


def state_id(state: Path) -> str:
    """The id of a state folder, by which a host knows its own former process: made when it is first asked for.

    Raises FiledropError.
    """
    file = state / ID
    try:
        if not file.exists():
            file.write_text(secrets.token_hex(8), "ascii")
        return file.read_text("ascii")
    except (OSError, UnicodeDecodeError) as error:
        raise FiledropError(f"{file} can't be used: {error}") from error


def boot_id() -> str:
    """The id of this machine's start; "" if it is unknown. The service's /proc doesn't have it: systemd gives it."""
    written = os.environ.get(BOOT, "")
    with suppress(OSError):
        written = written or _BOOT_ID.read_text()
    return written.strip().replace("-", "")
