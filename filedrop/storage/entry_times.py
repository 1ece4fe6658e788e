"""The times of a folder, which show whether its entries are still the same: a few questions instead of a listing.

A folder's time changes with each entry that is added, removed or renamed; that is relied upon on disks of this computer
alone, and on Windows not at all, where it wasn't tried. What is written into a file that stays changes no such time. So
a folder is looked through `LOOKED_THROUGH_AFTER`, every few minutes.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from filedrop.files.directory import literal
from filedrop.model.document import ENDED_UNSENT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from filedrop.storage.folder import Folder

OUTBOUND = ("", "sending", "sent", *ENDED_UNSENT)  # the folders of an outbound folder, but for its archive
LOOKED_THROUGH_AFTER = 300.0  # seconds after which a folder is looked through in any case
COARSE = 2.0  # seconds: some file systems have no finer times, so a change just before may not have changed them


def entry_times(folder: Folder, places: Sequence[str], now: datetime) -> object:
    """The identities and times of these folders in a folder, None for one that is missing; "" is the folder itself.

    None where they can't be relied upon, or where one of them has changed just before `now`.
    """
    if os.name == "nt" or not folder.local:
        return None
    path = literal(folder.path)
    try:
        found = [_status(f"{path}/{place}") for place in places]
    except (OSError, ValueError):
        return None
    if found[0] is None:
        return None
    changed = max(max(status.st_mtime, status.st_ctime) for status in found if status)
    if now.timestamp() - changed < COARSE:
        return None
    return [status and (status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns) for status in found]


def _status(path: str) -> os.stat_result | None:
    """Raises OSError, ValueError."""
    try:
        return os.stat(path, follow_symlinks=False)  # noqa: PTH116 - quicker
    except FileNotFoundError:
        return None
