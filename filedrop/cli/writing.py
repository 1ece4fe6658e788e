"""Tries whether filedrop can write in a folder, and move what it has written. Nothing stays there."""

from __future__ import annotations

import secrets
from contextlib import suppress
from typing import TYPE_CHECKING

from filedrop.files import create_whole, discard, place
from filedrop.files.disk import shortage
from filedrop.files.rights import explain

if TYPE_CHECKING:
    from filedrop.files import Directory
    from filedrop.storage.folder import Folder


def why_not_writable(folder: Folder) -> str:
    """Why nothing can be written and renamed there, "" where it can: it is tried, and nothing left."""
    if short := shortage(folder.path):
        return f"nothing can be written there: {short}"
    here = folder.at()
    missing = folder.missing_in(here)
    places = [here, *(folder.at(name) for name in folder.subfolders if name not in missing)]
    elsewhere = [directory.path.name for directory in places if directory.identity[0] != here.identity[0]]
    if elsewhere:
        return f"{', '.join(elsewhere)}: on another file system; move it to the one of its parent folder"
    for directory in places:
        try:
            _write_and_rename(here, directory)
        except OSError as error:
            return f"can't write and rename in {directory.path}: {explain(error, directory.path)}"
    return ""


def _write_and_rename(here: Directory, there: Directory) -> None:
    """Raises OSError where that can't be done."""
    # A name that filedrop and importers ignore, moved on from folder to folder as documents are.
    probe = here / f".filedrop-check-{secrets.token_hex(8)}.tmp"
    moved = there / f"{probe.name}.tmp"
    try:
        with suppress(FileNotFoundError):  # a daemon that has just taken up the folder clears drafts away: once more
            create_whole(probe, b"")
        if not probe.exists():
            create_whole(probe, b"")
        place(probe, moved)
    finally:
        discard(probe)
        discard(moved)
