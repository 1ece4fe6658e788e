"""Which file a name means: the only place where that is decided.

Where a file keeps its inode (`Abilities.inodes`), that tells. Elsewhere a link may have another inode, and a name may
show the inode of a file that another computer has replaced. There, two names are one file if they have the same
content; size and time tell whether what one name means has changed. A move may cut the time to whole seconds
(tests/findings/encfs-rename.sh).
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from filedrop.files.abilities import Abilities
    from filedrop.files.directory import Entry

Identity = tuple[int, int]  # device and inode, unchanged by a move; elsewhere size and time in nanoseconds
_SECOND = 10**9  # nanoseconds
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def identity_of(status: os.stat_result, abilities: Abilities) -> Identity:
    """The identity in the status of a file in a folder with these abilities."""
    return (status.st_dev, status.st_ino) if abilities.inodes else (status.st_size, status.st_mtime_ns)


def identity_at(entry: Entry) -> Identity | None:
    """The identity of an entry; None where nothing is there. Raises OSError."""
    try:
        return identity_of(entry.lstat(), entry.directory.abilities)
    except FileNotFoundError:
        return None


def has_moved(source: Entry, target: Entry, identity: Identity) -> tuple[bool, Identity | None, Identity | None]:
    """Whether the file that had this identity at `source` is at `target`, and what is at both. Raises OSError.

    Where no inode tells, a file that is still at the source is compared by its content.
    """
    there, here = identity_at(target), identity_at(source)
    if there is None or target.directory.abilities.inodes:
        return there == identity, here, there
    is_alike = (there[0], there[1] // _SECOND) == (identity[0], identity[1] // _SECOND)
    return is_alike and (here is None or are_same(source, target)), here, there


def are_same(entry: Entry, other: Entry) -> bool:
    """Whether two entries of one file system are the same file. False where one is missing. Raises OSError."""
    with suppress(FileNotFoundError):
        status, other_status = entry.lstat(), other.lstat()
        if entry.directory.abilities.inodes:
            return os.path.samestat(status, other_status)
        return status.st_size == other_status.st_size and _digest(entry) == _digest(other)
    return False


def _digest(entry: Entry) -> bytes:
    with os.fdopen(os.open(entry.address, _READ, dir_fd=entry.descriptor), "rb") as file:
        return hashlib.file_digest(file, "sha256").digest()
