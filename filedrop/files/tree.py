"""A cache of the descriptors of a folder of the configuration and its subfolders.

It saves opening them for each file. After each check of the folder, the caller calls `renew`, in case another was
mounted in its place. While nobody uses the folder, the cache is empty, so that a share can be unmounted.
"""

from __future__ import annotations

import errno
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from filedrop.files.abilities import ORDINARY
from filedrop.files.directory import Directory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from filedrop.files.abilities import Abilities


class Tree:
    """The open folder at a path, and its open subfolders. `abilities`: what can be done in it. Thread-safe."""

    def __init__(self, path: Path, abilities: Callable[[], Abilities] = lambda: ORDINARY) -> None:
        self._path = path
        self._abilities = abilities
        self._identity: tuple[int, int] | None = None
        self._kept: dict[str, Directory] = {}
        self._users = 0
        self._lock = threading.Lock()

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """A context in which opened folders are kept open."""
        with self._lock:
            self._users += 1
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                last = self._users == 0
            if last:
                self.give_up()

    def at(self, place: str = "") -> Directory:
        """The folder itself, or one in it: `sending`, `archive/2026-11`. Raises OSError, NotADirectoryError for a link.

        After `renew`, raises OSError where another folder is at the path.
        """
        kept = self._kept
        found = kept.get(place)
        if found is None:
            found = self._opened(place)
            if self._users:
                found = kept.setdefault(place, found)
        return found

    def renew(self, folder: Directory) -> Directory:
        """Keep this folder, which was just opened and checked, and those in it that are still there.

        Returns the one to use.
        """
        with self._lock:
            before, below = self._kept.get(""), list(self._kept.items())
            self._identity = folder.identity
            kept = before if before and before.whereabouts() == folder.whereabouts() else folder
            there = {place: found for place, found in below if kept is before and _is_there(kept, place, found)}
            self._kept = {**there, "": kept} if self._users else {}
        return kept

    def give_up(self) -> None:
        """Empty the cache; each folder is closed when its last user drops it."""
        self._kept = {}

    def _opened(self, place: str) -> Directory:
        if place:
            within, _, name = place.rpartition("/")
            return self.at(within).folder(name)
        folder = Directory.open(self._path, self._abilities)
        if self._identity not in (None, folder.identity):
            raise OSError(errno.ESTALE, "another folder lies in its place by now", str(self._path))
        return folder


def _is_there(folder: Directory, place: str, found: Directory) -> bool:
    """Whether this open subfolder is still in its place, rather than another one."""
    if not place or "/" in place:  # a month is opened again
        return False
    try:
        status = (folder / place).lstat()
    except OSError:
        return False
    return (status.st_dev, status.st_ino) == found.identity
