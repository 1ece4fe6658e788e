"""Looks whether this host has the same share as another.

It looks for a file that `filedrop check` has made there, or for the markers of an account's folders, before it takes
the account from a host that serves it.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING

from filedrop.model.hosts import WITHIN, Sight
from filedrop.storage.marker import MARKER

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Mapping

    from filedrop.model.hosts import Look

_AGAIN = 0.2  # seconds between two looks
_MOST = 16  # looks at once; a share that hangs keeps its own


class Looking:
    """The looks of this host, each for so many `seconds`. A thread makes each, since a share may hang."""

    def __init__(self, host: str, seconds: float = WITHIN) -> None:
        self._host = host
        self._seconds = seconds
        self._seen: SimpleQueue[Sight] = SimpleQueue()
        self._threads: list[threading.Thread] = []

    def begin(self, look: Look, folders: Container[Path]) -> None:
        """Look for a file, if its folder is one of these: nobody is told of any other."""
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        if Path(look.folder) in folders and len(self._threads) < _MOST:
            thread = threading.Thread(target=self._look, args=(look,), name="look", daemon=True)
            thread.start()
            self._threads.append(thread)

    def ended(self) -> list[Sight]:
        """What was seen, or not, since the last call."""
        return [self._seen.get() for _ in range(self._seen.qsize())]

    def _look(self, look: Look) -> None:
        deadline = time.monotonic() + self._seconds
        is_seen = False
        while not is_seen and time.monotonic() < deadline:
            is_seen = _is_listed(look)
            time.sleep(0 if is_seen else _AGAIN)
        self._seen.put(Sight(self._host, look, is_seen=is_seen))


class AccountsInSight:
    """The accounts, by their leases, all of whose folders this host sees with their markers. Each has its thread."""

    def __init__(self) -> None:
        self._threads: dict[str, threading.Thread] = {}
        self._in_sight: set[str] = set()

    @property
    def leases(self) -> list[str]:
        """Those that were in sight at the last look, since they were forgotten."""
        return sorted(self._in_sight)

    def look(self, folders: Mapping[str, Collection[Path]]) -> None:
        """Look again for the folders of each lease, but where a look still hangs."""
        for lease, paths in folders.items():
            if lease not in self._threads or not self._threads[lease].is_alive():
                arguments = (self._in_sight, lease, paths)
                self._threads[lease] = threading.Thread(target=_see, args=arguments, name="look", daemon=True)
                self._threads[lease].start()

    def forget(self) -> None:
        """Have nothing in sight until the next look, also where a look goes on."""
        self._in_sight = set()


def _see(in_sight: set[str], lease: str, folders: Collection[Path]) -> None:
    if all((folder / MARKER).is_file() for folder in folders):
        in_sight.add(lease)
    else:
        in_sight.discard(lease)


def _is_listed(look: Look) -> bool:
    """Whether the folder lists the file, as it would list a document; its name alone may be found earlier."""
    try:
        return any(path.name == look.file for path in Path(look.folder).iterdir())
    except OSError:
        return False
