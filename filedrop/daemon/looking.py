"""Looks for files that another host has made, as `filedrop check` there asks for: whether both have the same share."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING

from filedrop.model.hosts import WITHIN, Sight

if TYPE_CHECKING:
    from collections.abc import Container

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


def _is_listed(look: Look) -> bool:
    """Whether the folder lists the file, as it would list a document; its name alone may be found earlier."""
    try:
        return any(path.name == look.file for path in Path(look.folder).iterdir())
    except OSError:
        return False
