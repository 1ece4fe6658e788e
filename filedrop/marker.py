"""A folder's marker, `.filedrop`: which folder it is, whose journal knows it, and how much that journal knew of it.

The journal counts the changes of a folder's documents, and the marker says how far it had counted when it was last
written. A marker that has seen fewer is no news: it is written now and then. One that has seen more has outlived the
journal: that one was put back from an older copy, or has lost its latest commits.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from filedrop.files import create_whole, replace_whole

if TYPE_CHECKING:
    from pathlib import Path

MARKER = ".filedrop"
DRAFT = f"{MARKER}.tmp"  # its name while it is written
_MOST = 2**53  # changes: what JSON and the journal can count


@dataclass(frozen=True, slots=True)
class Marker:
    """What a marker says: the folder's id, the id of the journal that knows it, the changes which that had counted."""

    folder: str
    journal: str
    changes: int = 0

    def names_same(self, other: Marker | None) -> bool:
        """Is this the same folder of the same journal?"""
        return other is not None and (self.folder, self.journal) == (other.folder, other.journal)

    def create(self, path: Path) -> None:
        """Mark a folder that has no marker. Raises FileExistsError where it has got one meanwhile, OSError."""
        create_whole(path / MARKER, self._text(), draft=path / DRAFT)

    def replace(self, path: Path, *, draft: Path) -> None:
        """Mark a folder whatever its marker says. Raises OSError; then the older one stays."""
        replace_whole(path / MARKER, self._text(), draft=draft)

    def _text(self) -> bytes:
        content: dict[str, Any] = {"folder": self.folder, "journal": self.journal}
        if self.changes:
            content["changes"] = self.changes
        return (json.dumps(content) + "\n").encode()


def read_marker(path: Path) -> Marker | None:
    """What the marker of this folder says; None without one that can be read. Raises OSError."""
    try:
        content = json.loads((path / MARKER).read_bytes())
        changes = int(content.get("changes", 0))
        marker = Marker(str(content["folder"]), str(content["journal"]), changes)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):  # anybody may write there
        return None
    return marker if 0 <= changes < _MOST else None


def why_outdated(missing: int) -> str:
    """The sentence for people about a folder of which the journal has missed so many changes."""
    return (
        f"the journal is older than this folder, which has seen {missing} changes that it doesn't know: an older copy "
        "was put back, or its latest records are lost. What has been sent since is learnt from the sidecars here, and "
        "what lies in sending/ is looked for at the access point before it is sent; see that no received document came "
        "twice"
    )
