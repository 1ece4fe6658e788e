"""Rows of documents that were removed from the archive: they go, and the journal's file becomes smaller."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from filedrop.journal import statements
from filedrop.journal.schema import as_moment
from filedrop.journal.store import Store

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence
    from datetime import datetime


class Removal(Store):
    """The removing part of the journal."""

    def forget_archived(self, folder: str, company: str, before: datetime, first_kept: str, most: int) -> int:
        """Remove rows of a folder's delivered documents; returns how many.

        `before`: when they had ended, by our clock. `first_kept`: the first place that is kept, like `archive/2026-11`.
        """
        values = {"folder": folder, "company": company, "before": as_moment(before), "first_kept": first_kept}
        ids = [id_ for (id_,) in self.read(statements.ARCHIVED, **values, most=most)]
        return self.forget(ids)

    def forget(self, ids: Sequence[str]) -> int:
        """Remove the rows of these documents; returns how many documents they are."""

        def work(connection: sqlite3.Connection) -> None:
            for statement in statements.FORGET:
                connection.execute(statement, {"ids": json.dumps(ids)})

        if ids:
            self.write(work)
        return len(ids)

    def shrink(self) -> bool:
        """Give some of the space of removed rows back to the disk. Returns whether there is more."""
        unused: int = self.value(statements.UNUSED)
        self.run(statements.SHRINK)  # as a script: `execute` steps once, which frees one page
        self.checkpoint()  # what is in the -wal alone shrinks nothing
        return bool(0 < self.value(statements.UNUSED) < unused)  # an older file can't: they are used again
