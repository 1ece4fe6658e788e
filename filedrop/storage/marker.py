"""A folder's marker, `.filedrop`: the ids of the folder and of its journal, a count of changes, and a branch.

The journal counts the changes of a folder's documents. The marker gets this count each time the two are compared, and,
one ahead, before a post. A lower count in the marker is normal. A higher one means that the marker has outlived the
journal: an older copy of the journal was restored, or its latest commits are lost. A take-over writes a higher one,
too, since another journal has had the folder. The branch is of the journal that has served the folder last
(journal/folders).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from filedrop.files import clear_silly, create_whole, replace_whole
from filedrop.files.directory import SILLY
from filedrop.storage import checked

if TYPE_CHECKING:
    from pathlib import Path

    from filedrop.files import Directory

MARKER = ".filedrop"
_LARGEST = 4096  # bytes: ours have about 100
_MOST = 2**62  # changes: half of what the journal can count


@dataclass(frozen=True, slots=True)
class Marker:
    """The content of a marker: the ids of the folder and of its journal, the journal's count of changes, its branch."""

    folder: str
    journal: str
    changes: int = 0
    branch: str = ""

    def create(self, folder: Directory) -> None:
        """Mark a folder that has no marker. Raises OSError, FileExistsError where it has one by now."""
        create_whole(folder / MARKER, self._text())

    def replace(self, folder: Directory, *, draft_in: Directory | None = None) -> None:
        """Write or replace a folder's marker. Raises OSError; then the older one stays."""
        replace_whole(folder / MARKER, self._text(), draft_in=draft_in)

    def _text(self) -> bytes:
        content: dict[str, Any] = {"folder": self.folder, "journal": self.journal}
        if self.changes:
            content["changes"] = self.changes
        if self.branch:
            content["branch"] = self.branch
        return (json.dumps(content) + "\n").encode()


def read_marker(folder: Path | Directory, name: str = MARKER) -> Marker | None:
    """The marker of this folder; None where it is missing or malformed. Raises OSError."""
    try:
        content = checked.read_object(folder / name, _LARGEST)
        if content is None:
            return None
        changes = checked.number(content.get("changes", 0), _MOST)
        branch = checked.branch(content.get("branch", ""))
        return Marker(checked.token(content["folder"]), checked.token(content["journal"]), changes, branch)
    except (FileNotFoundError, NotADirectoryError, KeyError, ValueError):
        return None


def is_marked(folder: Path | Directory, folder_id: str, journal_id: str) -> bool:
    """Whether the folder is marked as this one of this journal. Raises OSError."""
    marker = read_marker(folder)
    return marker is not None and (marker.folder, marker.journal) == (folder_id, journal_id)


def clear_replaced(folder: Directory, folder_id: str) -> None:
    """Remove what a file system in user space has left of markers that were replaced while they were read.

    Files that others have removed while they were open stay. Raises OSError.
    """
    left = [name for name in folder.names() if SILLY.fullmatch(name)]
    markers = ((name, read_marker(folder, name)) for name in left)
    clear_silly(folder, [name for name, marker in markers if marker and marker.folder == folder_id])


def why_outdated(missing: int) -> str:
    """The sentence for people about a folder of which the journal lacks `missing` changes."""
    changes = "1 change" if missing == 1 else f"{missing} changes"
    return (
        f"the journal is older than this folder: it lacks {changes}. An older copy of the journal was restored, or its "
        "latest records are lost. filedrop learns from the sidecars here what was sent since, and looks for the "
        "documents in sending/ at the access point before it sends them. Check whether received documents came twice"
    )
