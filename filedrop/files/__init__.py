"""Files written whole or not at all, and moved without overwriting, on all operating systems.

A file gets its name only when its content is complete and on the disk, and no move replaces an existing file. Links in
a folder, which its users may have made, are never followed: see `Directory`.

    directory   an open folder, and its entries by name; tree: folders kept open while they are in use
    system      differences between operating systems
    rights      whether everybody may read a file
    disk        a folder's file system, and whether it has room
    patience    time limits for calls that may hang
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from dataclasses import dataclass
from io import FileIO
from typing import TYPE_CHECKING, BinaryIO

from filedrop.files import system
from filedrop.files.directory import DRAFT, Directory, Entry, Where
from filedrop.files.system import InUse, changed_at, discard, is_closed
from filedrop.files.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

__all__ = ["Directory", "Entry", "InUse", "Tree", "Where", "changed_at", "discard", "is_closed"]

_BEGUN: set[str] = set()  # the names of drafts that this process is about to place
Identity = tuple[int, int]  # device and inode: unchanged by a move
# `open_regular` raises these for links, for folders and pipes, and for sockets; the last is for too long names.
NO_FILE = frozenset({errno.ELOOP, errno.EINVAL, errno.ENXIO, errno.ENAMETOOLONG})
_LOOKS = 5
_READERS_TAKE = 0.3  # seconds at most: those who read a small file and are done with it
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


@dataclass(frozen=True, slots=True)
class FileStamp:
    """Size, time and inode of a file: they show that it has changed without reading it (time in nanoseconds)."""

    size: int
    modified: int
    inode: int

    @classmethod
    def of(cls, status: os.stat_result) -> FileStamp:
        """The stamp in a result of `fstat`."""
        return cls(status.st_size, status.st_mtime_ns, status.st_ino)


def open_regular(where: Where) -> FileIO:
    """Open a regular file for reading, without following a symbolic link or waiting for a pipe.

    Links above the last step of a path are followed: they are the administrator's. Raises OSError (`ELOOP` for a link,
    `EINVAL` for a folder or a pipe).
    """
    return open_known(where)[0]


def open_known(where: Where) -> tuple[FileIO, os.stat_result]:
    """The same, with the file's status."""
    descriptor = system.open_file(where)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(where))
        return FileIO(descriptor), status
    except BaseException:
        os.close(descriptor)
        raise


def may_use(path: Path) -> bool:
    """May this process's effective user read and write there? False where nothing is there."""
    return os.access(path, os.R_OK | os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def is_missing(where: Where) -> bool:
    """Is certainly nothing there? False where access is denied."""
    try:
        where.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def identity_of(status: os.stat_result) -> Identity:
    """The identity in a file's status."""
    return status.st_dev, status.st_ino


def identity_at(entry: Entry) -> Identity | None:
    """The identity of an entry; None where nothing is there. Raises OSError."""
    try:
        return identity_of(entry.lstat())
    except FileNotFoundError:
        return None


def stamp(entry: Entry) -> FileStamp | None:
    """The stamp of an entry; None where nothing is there. Raises OSError."""
    try:
        return FileStamp.of(entry.lstat())
    except FileNotFoundError:
        return None


def create_whole(target: Entry, content: bytes, *, draft_in: Directory | None = None) -> None:
    """Write a new file. It gets its name when it is whole and on the disk.

    `draft_in` is the folder of its draft, on the same file system; by default the target's own. Raises OSError (disk
    full, no rights), FileExistsError where the name is taken; then nothing is left behind.
    """
    with _drafted(content, draft_in or target.directory) as (draft, identity):
        _named(system.place, draft, target, identity)


def replace_whole(target: Entry, content: bytes, *, draft_in: Directory | None = None) -> None:
    """Write a file that atomically replaces an older one. Raises OSError (InUse: it is open); then that one stays."""
    with _drafted(content, draft_in or target.directory) as (draft, identity):
        _named(system.replace, draft, target, identity)


def create_temporary(entry: Entry) -> BinaryIO:
    """Open a new file for writing, with its folder's group and mode. Raises OSError, FileExistsError."""
    return os.fdopen(_create(entry)[0], "w+b")


def make_folder(entry: Entry) -> None:
    """Make a folder with the group and mode of its parent, unless it exists. Raises OSError.

    It gets its name after its group and mode: a folder that a killed process left without them would never get them.
    """
    if not entry.is_folder():
        with _begun(entry.directory) as draft:
            os.mkdir(draft.address, 0o700, dir_fd=draft.descriptor)
            try:
                place(draft, entry, system.inherit_folder(draft))
            except OSError as error:
                with contextlib.suppress(OSError):
                    draft.rmdir()
                if not (isinstance(error, FileExistsError) and entry.is_folder()):  # made by another thread meanwhile
                    raise
    entry.directory.sync()


def clear_drafts(directory: Directory, keep: frozenset[str] = frozenset()) -> None:
    """Remove drafts that a killed process left here, except `keep`; what can't be removed stays. Raises OSError."""
    for name in [name for name in directory.names() if DRAFT.fullmatch(name)]:
        if name not in keep and name not in _BEGUN:
            entry = directory / name
            with contextlib.suppress(OSError):
                if entry.is_folder():
                    entry.rmdir()
                else:
                    entry.unlink()


@contextlib.contextmanager
def _begun(directory: Directory) -> Iterator[Entry]:
    """A new draft's name; `clear_drafts` spares it within this context."""
    draft = directory.draft()
    _BEGUN.add(draft.name)
    try:
        yield draft
    finally:
        _BEGUN.discard(draft.name)


@contextlib.contextmanager
def _drafted(content: bytes, directory: Directory) -> Iterator[tuple[Entry, Identity]]:
    """A new file, whole and on the disk, ready to be placed. Raises OSError; then nothing is left behind."""
    with _begun(directory) as draft:
        # Not by a file object, which makes six more system calls.
        descriptor, identity = _create(draft)
        try:
            try:
                left = memoryview(content)
                while left:
                    left = left[os.write(descriptor, left) :]
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            yield draft, identity
        except OSError:
            discard(draft)
            raise


def _create(entry: Entry) -> tuple[int, Identity]:
    descriptor = os.open(entry.address, _NEW, 0o666, dir_fd=entry.descriptor)
    try:
        status = os.fstat(descriptor)
        system.inherit(descriptor, status, entry.directory)
    except BaseException as error:
        os.close(descriptor)
        if isinstance(error, OSError):
            discard(entry)
        raise
    return descriptor, identity_of(status)


def place(source: Entry, target: Entry, identity: Identity | None = None) -> None:
    """Rename within one file system without overwriting. `identity` is the source's, where known.

    Raises FileExistsError where the name is certainly taken, FileNotFoundError where the source is certainly gone,
    InUse, or another OSError, after which the file is at its old or at its new place.
    """
    _moved(system.place, source, target, identity or identity_of(source.lstat()))


def _named(move: Callable[[Entry, Entry], None], draft: Entry, target: Entry, identity: Identity) -> None:
    """Give a draft its name. On Windows, wait for a virus scanner or another command of ours that reads one of both."""
    deadline = time.monotonic() + _READERS_TAKE
    while True:
        try:
            return _moved(move, draft, target, identity)
        except InUse:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _moved(move: Callable[[Entry, Entry], None], source: Entry, target: Entry, identity: Identity) -> None:
    """Move a file. After an error, compare identities, since a share may report a failure for a move that it made."""
    try:
        move(source, target)
    except InUse:
        raise
    except OSError as error:
        untold = OSError(errno.EIO, f"it can't be told what became of it ({error.strerror})", str(source))
        here: Identity | None = None
        told = False
        for _ in range(_LOOKS):  # each look may fail, too
            with contextlib.suppress(OSError):
                there, here = identity_at(target), identity_at(source)
                if there == identity:
                    return
                told = here is not None or there is None
        if not told or (isinstance(error, FileNotFoundError) and here is not None):
            raise untold from error
        raise
