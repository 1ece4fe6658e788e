"""A file system in memory, for what needs no disk: there, nobody waits for one whenever something is brought to it."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_SHARED = Path("/dev/shm")  # noqa: S108 - a folder that only we have is made in it
_ROOM = 2 * 10**9  # bytes: containers often have next to none


def there_is_room() -> bool:
    """Is there such a file system, with room for whatever the tests write?"""
    if sys.platform == "win32":
        return False
    return os.access(_SHARED, os.W_OK) and shutil.disk_usage(_SHARED).free > _ROOM


@contextmanager
def folder_in_memory(otherwise: Path) -> Iterator[Path]:
    """A new folder in memory, which is removed in the end; where there is no room, the other one, on a disk."""
    if not there_is_room():
        yield otherwise
        return
    with tempfile.TemporaryDirectory(prefix="filedrop-tests-", dir=_SHARED, ignore_cleanup_errors=True) as folder:
        yield Path(folder)
