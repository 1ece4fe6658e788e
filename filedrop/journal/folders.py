"""Which folders the journal knows, and the changes of their documents that it counts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from filedrop.journal.schema import as_name, from_name
from filedrop.journal.store import Store

if TYPE_CHECKING:
    import sqlite3

_PATH = "SELECT path FROM folders WHERE id = :id"
_AT = "SELECT id FROM folders WHERE path = :path"
_RECORD = "INSERT INTO folders VALUES (:id, :path, FALSE) ON CONFLICT (id) DO UPDATE SET path = excluded.path"
_SETTLED = "SELECT settled FROM folders WHERE id = :id"
_SETTLE = "UPDATE folders SET settled = :settled WHERE id = :id"
_CHANGES = "SELECT counted, marked, least FROM changes WHERE folder = :id"
_COUNT = """
    INSERT INTO changes VALUES (:id, :more, 0, 0)
    ON CONFLICT (folder) DO UPDATE SET counted = counted + excluded.counted
"""
_MARK = "UPDATE changes SET marked = counted WHERE folder = :id"
_MARK_AT = "UPDATE changes SET marked = :seen WHERE folder = :id"
_LEAST = "UPDATE changes SET least = counted WHERE folder = :id"


class Changes(NamedTuple):
    """How many records of a folder's documents there have been; how many its marker may, and must, have seen."""

    counted: int = 0
    marked: int = 0
    least: int = 0


class Folders(Store):
    """The folders' part of the journal."""

    def folder_path(self, folder: str) -> Path | None:
        """Where a folder was last seen; None for one that this journal doesn't know."""
        path = self.value(_PATH, id=folder)
        return None if path is None else Path(from_name(path))

    def folder_at(self, path: Path) -> str | None:
        """The id of the folder that was last seen there."""
        known: str | None = self.value(_AT, path=as_name(str(path)))
        return known

    def record_folder(self, folder: str, path: Path) -> None:
        """Write that a folder is ours and where it lies."""
        self.write(lambda connection: connection.execute(_RECORD, {"id": folder, "path": as_name(str(path))}))

    def is_settled(self, folder: str) -> bool:
        """Has everything that lay in this folder been taken up since the journal first saw it?"""
        return bool(self.value(_SETTLED, id=folder))

    def settle(self, folder: str) -> None:
        """Write that it has: from now on, a file in `sending/` without a row was claimed and never posted."""
        self.write(lambda connection: connection.execute(_SETTLE, {"id": folder, "settled": True}))

    def changes(self, folder: str) -> Changes:
        """What has been counted of a folder."""
        rows = self.read(_CHANGES, id=folder)
        return Changes(*rows[0]) if rows else Changes()

    def mark(self, folder: str) -> int:
        """Write that its marker is about to see all that is counted, and how many that is. To be marked afterwards."""
        changes = self.changes(folder)
        if changes.marked == changes.counted:  # but the marker couldn't be written: once is enough for us
            return changes.counted
        return self.write(lambda connection: _mark(connection, folder))

    def take_over(self, folder: str, path: Path) -> int:
        """Write that a folder is ours from now on, to be taken up with whatever lies there; returns like `mark`.

        A marker that has seen less from now on isn't this folder's, but another disk's or the empty mount point's.
        """

        def work(connection: sqlite3.Connection) -> int:
            connection.execute(_RECORD, {"id": folder, "path": as_name(str(path))})
            connection.execute(_SETTLE, {"id": folder, "settled": False})
            connection.execute(_COUNT, {"id": folder, "more": 1})
            connection.execute(_LEAST, {"id": folder})
            return _mark(connection, folder)

        return self.write(work)


def unsettle(connection: sqlite3.Connection, folder: str, seen: int) -> None:
    """Have whatever lies in a folder taken up anew, whose marker has seen so many changes; within a transaction."""
    connection.execute(_SETTLE, {"id": folder, "settled": False})
    connection.execute(_COUNT, {"id": folder, "more": seen + 1})
    connection.execute(_MARK_AT, {"id": folder, "seen": seen})


def _mark(connection: sqlite3.Connection, folder: str) -> int:
    connection.execute(_MARK, {"id": folder})
    ((counted, _, _),) = connection.execute(_CHANGES, {"id": folder})
    return int(counted)
