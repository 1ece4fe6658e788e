"""Which folders the journal knows, and the changes of their documents that it counts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert

from filedrop.journal.schema import CHANGES, FOLDERS
from filedrop.journal.statement import Statement
from filedrop.journal.store import Store

if TYPE_CHECKING:
    import sqlite3

_FOLDER: sa.BindParameter[str] = sa.bindparam("folder_id")
_IS_KNOWN = FOLDERS.c.id == _FOLDER
_IS_COUNTED = CHANGES.c.folder == _FOLDER

_RECORD_FOLDER = insert(FOLDERS).values(id=_FOLDER, path=sa.bindparam("at"), settled=False)
_COUNT_MORE = insert(CHANGES).values(folder=_FOLDER, counted=sa.bindparam("more"), marked=0, least=0)

_PATH = Statement(sa.select(FOLDERS.c.path).where(_IS_KNOWN))
_AT = Statement(sa.select(FOLDERS.c.id).where(FOLDERS.c.path == sa.bindparam("at")))
_RECORD = Statement(_RECORD_FOLDER.on_conflict_do_update(set_={"path": _RECORD_FOLDER.excluded.path}))
_SETTLED = Statement(sa.select(FOLDERS.c.settled).where(_IS_KNOWN))
_SETTLE = Statement(sa.update(FOLDERS).where(_IS_KNOWN).values(settled=sa.bindparam("is_so")))
_CHANGES = Statement(sa.select(CHANGES.c.counted, CHANGES.c.marked, CHANGES.c.least).where(_IS_COUNTED))
_COUNT = Statement(
    _COUNT_MORE.on_conflict_do_update(set_={"counted": CHANGES.c.counted + _COUNT_MORE.excluded.counted})
)
_MARK = Statement(sa.update(CHANGES).where(_IS_COUNTED).values(marked=CHANGES.c.counted))
_MARK_AT = Statement(sa.update(CHANGES).where(_IS_COUNTED).values(marked=sa.bindparam("seen")))
_LEAST = Statement(sa.update(CHANGES).where(_IS_COUNTED).values(least=CHANGES.c.counted))


class Changes(NamedTuple):
    """How many records of a folder's documents there have been; how many its marker may, and must, have seen."""

    counted: int = 0
    marked: int = 0
    least: int = 0


class Folders(Store):
    """The folders' part of the journal."""

    def folder_path(self, folder: str) -> Path | None:
        """Where a folder was last seen; None for one that this journal doesn't know."""
        path = self.value(_PATH, folder_id=folder)
        return None if path is None else Path(path)

    def folder_at(self, path: Path) -> str | None:
        """The id of the folder that was last seen there."""
        known: str | None = self.value(_AT, at=str(path))
        return known

    def record_folder(self, folder: str, path: Path) -> None:
        """Write that a folder is ours and where it lies."""
        self.write(lambda connection: _RECORD.run(connection, {"folder_id": folder, "at": str(path)}))

    def is_settled(self, folder: str) -> bool:
        """Has everything that lay in this folder been taken up since the journal first saw it?"""
        return bool(self.value(_SETTLED, folder_id=folder))

    def settle(self, folder: str) -> None:
        """Write that it has: from now on, a file in `sending/` without a row was claimed and never posted."""
        self.write(lambda connection: _SETTLE.run(connection, {"folder_id": folder, "is_so": True}))

    def changes(self, folder: str) -> Changes:
        """What has been counted of a folder."""
        rows = self.read(_CHANGES, folder_id=folder)
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
            _RECORD.run(connection, {"folder_id": folder, "at": str(path)})
            _SETTLE.run(connection, {"folder_id": folder, "is_so": False})
            _COUNT.run(connection, {"folder_id": folder, "more": 1})
            _LEAST.run(connection, {"folder_id": folder})
            return _mark(connection, folder)

        return self.write(work)


def unsettle(connection: sqlite3.Connection, folder: str, seen: int) -> None:
    """Have whatever lies in a folder taken up anew, whose marker has seen so many changes; within a transaction."""
    _SETTLE.run(connection, {"folder_id": folder, "is_so": False})
    _COUNT.run(connection, {"folder_id": folder, "more": seen + 1})
    _MARK_AT.run(connection, {"folder_id": folder, "seen": seen})


def _mark(connection: sqlite3.Connection, folder: str) -> int:
    _MARK.run(connection, {"folder_id": folder})
    ((counted, _, _),) = _CHANGES.rows(connection, {"folder_id": folder})
    return int(counted)
