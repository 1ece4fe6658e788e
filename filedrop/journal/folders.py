"""Which folders the journal knows, and the changes of their documents that it counts."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import sqlalchemy as sa

from filedrop.journal.schema import CHANGES, FOLDERS
from filedrop.journal.store import Store

_ONE_MORE = sa.update(CHANGES).where(CHANGES.c.folder == sa.bindparam("changed")).values(counted=CHANGES.c.counted + 1)


class Changes(NamedTuple):
    """How many records of a folder's documents there have been; how many its marker may, and must, have seen."""

    counted: int = 0
    marked: int = 0
    least: int = 0


class Folders(Store):
    """The folders' part of the journal."""

    def folder_path(self, folder: str) -> Path | None:
        """Where a folder was last seen; None for one that this journal doesn't know."""
        path = self.value(sa.select(FOLDERS.c.path).where(FOLDERS.c.id == folder))
        return None if path is None else Path(path)

    def folder_at(self, path: Path) -> str | None:
        """The id of the folder that was last seen there."""
        known: str | None = self.value(sa.select(FOLDERS.c.id).where(FOLDERS.c.path == str(path)))
        return known

    def record_folder(self, folder: str, path: Path) -> None:
        """Write that a folder is ours and where it lies."""
        self.write(lambda connection: _record(connection, folder, path))

    def is_settled(self, folder: str) -> bool:
        """Has everything that lay in this folder been taken up since the journal first saw it?"""
        return bool(self.value(sa.select(FOLDERS.c.settled).where(FOLDERS.c.id == folder)))

    def settle(self, folder: str) -> None:
        """Write that it has: from now on, a file in `sending/` without a row was claimed and never posted."""
        self.write(lambda connection: _set_settled(connection, folder, settled=True))

    def changes(self, folder: str) -> Changes:
        """What has been counted of a folder."""
        rows = self.read(sa.select(CHANGES.c.counted, CHANGES.c.marked, CHANGES.c.least).where(_is(folder)))
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

        def work(connection: sa.Connection) -> int:
            _record(connection, folder, path)
            _set_settled(connection, folder, settled=False)
            count_change(connection, folder)
            connection.execute(sa.update(CHANGES).where(_is(folder)).values(least=CHANGES.c.counted))
            return _mark(connection, folder)

        return self.write(work)


def count_change(connection: sa.Connection, folder: str) -> None:
    """Count a change of a folder's documents, within the transaction that makes it."""
    if not connection.execute(_ONE_MORE, {"changed": folder}).rowcount:
        connection.execute(sa.insert(CHANGES), {"folder": folder, "counted": 1, "marked": 0, "least": 0})


def unsettle(connection: sa.Connection, folder: str, seen: int) -> None:
    """Have whatever lies in a folder taken up anew, whose marker has seen so many changes; within a transaction."""
    _set_settled(connection, folder, settled=False)
    count_change(connection, folder)
    connection.execute(sa.update(CHANGES).where(_is(folder)).values(counted=CHANGES.c.counted + seen, marked=seen))


def _mark(connection: sa.Connection, folder: str) -> int:
    connection.execute(sa.update(CHANGES).where(_is(folder)).values(marked=CHANGES.c.counted))
    counted: int = connection.execute(sa.select(CHANGES.c.counted).where(_is(folder))).scalar_one()
    return counted


def _record(connection: sa.Connection, folder: str, path: Path) -> None:
    update = sa.update(FOLDERS).where(FOLDERS.c.id == folder).values(path=str(path))
    if not connection.execute(update).rowcount:
        connection.execute(sa.insert(FOLDERS).values(id=folder, path=str(path), settled=False))


def _set_settled(connection: sa.Connection, folder: str, *, settled: bool) -> None:
    connection.execute(sa.update(FOLDERS).where(FOLDERS.c.id == folder).values(settled=settled))


def _is(folder: str) -> sa.ColumnElement[bool]:
    return CHANGES.c.folder == folder
