"""Files moved within one file system, without overwriting, on shares that may report a failure for a move they made."""

from __future__ import annotations

import contextlib
import errno
import time
from typing import TYPE_CHECKING

from filedrop.files import system
from filedrop.files.directory import MOVING
from filedrop.files.identity import are_same, has_moved, identity_of
from filedrop.files.system import InUse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from filedrop.files.directory import Directory, Entry
    from filedrop.files.identity import Identity

_LOOKS = 5
_READERS_TAKE = 0.3  # seconds at most: those who read a small file and are done with it


def place(source: Entry, target: Entry, identity: Identity | None = None) -> None:
    """Rename within one file system without overwriting. `identity` is the source's, where known.

    Raises FileExistsError where the name is certainly taken, FileNotFoundError where the source is certainly gone,
    InUse, or another OSError, after which the file is at its old or at its new place.
    """
    _moved(system.place, source, target, identity)


def on_their_way(directory: Directory) -> list[tuple[Entry, str]]:
    """The files that a killed process was moving here, each with the name that it was to get. Raises OSError."""
    names = [name for name in directory.names() if name.endswith(".moving")]
    return [(directory / name, found["name"]) for name in names if (found := MOVING.fullmatch(name))]


def finish_move(moving: Entry, names: Iterable[str]) -> None:
    """Give a file that is on its way the first of these names that is free. Raises OSError."""
    for name in names:
        target = moving.directory / name
        with contextlib.suppress(FileExistsError):
            if are_same(moving, target):  # it has the name already
                moving.unlink()
            else:
                place(moving, target)
            return


def give_name(move: Callable[[Entry, Entry], None], draft: Entry, target: Entry, identity: Identity | None) -> None:
    """Move a draft. On Windows, wait for a virus scanner or another command of ours that reads one of both."""
    deadline = time.monotonic() + _READERS_TAKE
    while True:
        try:
            return _moved(move, draft, target, identity)
        except InUse:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _moved(move: Callable[[Entry, Entry], None], source: Entry, target: Entry, identity: Identity | None) -> None:
    identity = identity or identity_of(source.lstat(), source.directory.abilities)
    try:
        move(source, target)
    except InUse:
        raise
    except OSError as error:
        is_there, is_here, is_known = _looked(source, target, identity)
        if is_there:
            return
        if not is_known or (isinstance(error, FileNotFoundError) and is_here):
            unknown = f"it is unknown whether the file was moved ({error.strerror})"
            raise OSError(errno.EIO, unknown, str(source)) from error
        raise


def _looked(source: Entry, target: Entry, identity: Identity) -> tuple[bool, bool, bool]:
    """After an error: whether the file is there, whether something is here, and whether that is known."""
    here: Identity | None = None
    is_known = False
    for _ in range(_LOOKS):
        with contextlib.suppress(OSError):
            is_there, here, there = has_moved(source, target, identity)
            if is_there:
                return True, here is not None, True
            is_known = here is not None or there is None
    return False, here is not None, is_known
