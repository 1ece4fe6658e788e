"""The folders of an `inbound/` into which a person moves what is to be answered (`inbound.answers: move`).

Each has a marker with the id of its `inbound/`. A folder that was there before, and so has none, is somebody's own:
nothing in it is answered.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from filedrop.errors import FolderUnavailable
from filedrop.files import make_folder
from filedrop.files.directory import DRAFT
from filedrop.model.invoice_response import ACCEPTED, QUERIED, REJECTED
from filedrop.storage.marker import MARKER, Marker, read_marker

if TYPE_CHECKING:
    from collections.abc import Iterator

    from filedrop.files import Directory

CODES = {"accepted": ACCEPTED, "rejected": REJECTED, "queried": QUERIED}
"""The names of the folders, each with the code of the answer."""


def answer_folder(inbound: Directory, name: str, marker: Marker) -> Directory:
    """One of the folders, opened; made, with this marker, where it is missing. Raises FolderUnavailable, OSError."""

    def mark(made: Directory) -> None:
        marker.create(made)
        made.sync()

    if not (inbound / name).exists():
        make_folder(inbound / name, mark)
    if why := why_not_ours(inbound, name, marker.folder):
        raise FolderUnavailable(why)
    return inbound.folder(name)


def why_not_ours(inbound: Directory, name: str, folder_id: str) -> str:
    """Why nothing in this folder is answered; "" where it is ours, or missing. Raises OSError."""
    entry = inbound / name
    if not entry.exists():
        return ""
    if not entry.is_folder():
        return f"{entry} is no folder: nothing is answered by it. Remove it; filedrop then makes the folder"
    there = read_marker(inbound.folder(name))
    if there is not None and there.folder == folder_id:
        return ""
    return (
        f"{entry} is not filedrop's (its {MARKER} is missing, or another folder's), so nothing in it is answered. "
        "Rename it; filedrop then makes the folder"
    )


def refusals(inbound: Directory, folder_id: str) -> Iterator[str]:
    """Why nothing in some of the folders is answered. Raises OSError."""
    return filter(None, (why_not_ours(inbound, name, folder_id) for name in CODES))


def clear_begun(inbound: Directory) -> None:
    """Remove folders that a killed process has begun to make. Raises OSError."""
    for name in [name for name in inbound.names() if DRAFT.fullmatch(name)]:
        with suppress(OSError):  # it is a file, or another thread is making it
            begun = inbound.folder(name)
            names = list(begun.names())
            if all(within == MARKER or DRAFT.fullmatch(within) for within in names):
                for within in names:
                    (begun / within).unlink()
                if names:  # an empty one may be another thread's
                    (inbound / name).rmdir()
