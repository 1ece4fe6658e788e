"""Files written whole or not at all, and moved without overwriting, on all operating systems.

A file gets its name only when its content is complete and on the disk, and no move replaces an existing file. Links in
a folder, which its users may have made, are never followed: see `Directory`.

    directory   an open folder, and its entries by name; tree: folders kept open while they are in use
    abilities   what can be done in a folder, whatever file system it is on; trial finds that out
    drafts      new files, which get their names when they are whole and on the disk
    moving      moves without overwriting; identity: which file a name means
    system      differences between operating systems
    certainty   whether this process may change files that other hosts may serve by now
    refusals    what the system's errors mean
    rights      whether everybody may read a file
    disk        a folder's file system, and whether it has room
    patience    time limits for calls that may hang
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from dataclasses import dataclass
from io import FileIO
from typing import TYPE_CHECKING

from filedrop.files import system
from filedrop.files.abilities import Abilities
from filedrop.files.directory import Directory, Entry, Where
from filedrop.files.drafts import (
    Draft,
    Drafts,
    abandoned,
    clear_drafts,
    clear_silly,
    create_temporary,
    create_whole,
    flush,
    make_folder,
    replace_whole,
)
from filedrop.files.identity import Identity, are_same, identity_at, identity_of
from filedrop.files.moving import finish_move, on_their_way, place
from filedrop.files.refusals import NO_FILE
from filedrop.files.system import InUse, changed_at, discard, is_closed
from filedrop.files.tree import Tree
from filedrop.files.trial import try_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

__all__ = [
    "NO_FILE",
    "Abilities",
    "Directory",
    "Draft",
    "Drafts",
    "Entry",
    "Identity",
    "InUse",
    "Tree",
    "Where",
    "abandoned",
    "are_same",
    "changed_at",
    "clear_drafts",
    "clear_silly",
    "create_temporary",
    "create_whole",
    "discard",
    "discard_seen",
    "finish_move",
    "flush",
    "identity_at",
    "identity_of",
    "is_closed",
    "make_folder",
    "on_their_way",
    "place",
    "replace_whole",
    "stamps",
    "try_folder",
]


LATEST_TIME_NS = 2**63 - 1  # nanoseconds since 1970: the largest number of the journal


@dataclass(frozen=True, slots=True)
class FileStamp:
    """Size, time and inode of a file: they show that it has changed without reading it.

    The time is in nanoseconds; one before 1677 or after 2262, which the journal can't hold, is cut to that.
    """

    size: int
    modified: int
    inode: int

    @classmethod
    def of(cls, status: os.stat_result) -> FileStamp:
        """The stamp in a result of `fstat`."""
        modified = max(-LATEST_TIME_NS, min(status.st_mtime_ns, LATEST_TIME_NS))
        return cls(status.st_size, modified, status.st_ino)


def open_regular(where: Where) -> FileIO:
    """Open a regular file for reading, without following a symbolic link or waiting for a pipe.

    Links above the last step of a path are followed: they are the administrator's. Raises OSError (`ELOOP` for a link,
    `ENXIO` for a folder or a pipe).
    """
    return open_known(where)[0]


def open_known(where: Where) -> tuple[FileIO, os.stat_result]:
    """The same, with the file's status."""
    descriptor = system.open_file(where)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.ENXIO, "not a regular file", str(where))
        return FileIO(descriptor), status
    except BaseException:
        os.close(descriptor)
        raise


def may_use(path: Path) -> bool:
    """Whether this process's effective user may read and write there. False where nothing is there."""
    return os.access(path, os.R_OK | os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def is_missing(where: Where) -> bool:
    """Whether certainly nothing is there. False where access is denied."""
    try:
        where.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def stamp(entry: Entry) -> FileStamp | None:
    """The stamp of an entry; None where nothing is there. Raises OSError."""
    try:
        return FileStamp.of(entry.lstat())
    except FileNotFoundError:
        return None


def stamps(entries: Iterable[Entry]) -> Iterator[tuple[Entry, FileStamp]]:
    """Those of these entries where a file is, or a link, each with its stamp when it is looked at."""
    for entry in entries:
        with contextlib.suppress(OSError):  # it is missing, or its name is too long
            status = entry.lstat()
            if not stat.S_ISDIR(status.st_mode):
                yield entry, FileStamp.of(status)


def discard_seen(entry: Entry, seen: FileStamp) -> None:
    """Remove the file that was seen there, and never another one that has its name now. Raises OSError.

    The file is taken, looked at, and given back if it is another one. A killed process leaves it to `finish_move`.
    """
    inodes = entry.directory.abilities.inodes
    if not inodes and stamp(entry) != seen:  # there, a move may cut the time of a file
        return
    taken = entry.directory.moving(entry.name)
    with contextlib.suppress(FileNotFoundError, InUse):  # it is gone; somebody has it open, and it stays
        place(entry, taken)
        is_other = stamp(taken) != seen if inodes else taken.lstat().st_size != seen.size
        if is_other:
            with contextlib.suppress(FileExistsError):  # a still newer one has the name: this one is out of date
                place(taken, entry)
                return
        discard(taken)
