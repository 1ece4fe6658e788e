"""Which folders the journal knows."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa

from filedrop.journal.schema import FOLDERS
from filedrop.journal.store import Store


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
        insert = sa.insert(FOLDERS).values(id=folder, path=str(path), settled=False)
        update = sa.update(FOLDERS).where(FOLDERS.c.id == folder).values(path=str(path))

        def work(connection: sa.Connection) -> None:
            if not connection.execute(update).rowcount:
                connection.execute(insert)

        self.write(work)

    def is_settled(self, folder: str) -> bool:
        """Has everything that lay in this folder been taken up since the journal first saw it?"""
        return bool(self.value(sa.select(FOLDERS.c.settled).where(FOLDERS.c.id == folder)))

    def settle(self, folder: str) -> None:
        """Write that it has: from now on, a file in `sending/` without a row was claimed and never posted."""
        self.write(
            lambda connection: connection.execute(sa.update(FOLDERS).where(FOLDERS.c.id == folder).values(settled=True))
        )
