"""Rows of documents that were removed from the archive: they go, and the journal's file becomes smaller."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from filedrop.journal.engine import Part
from filedrop.journal.schema import as_moment
from filedrop.model.document import State

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from filedrop.journal.engine import Connection

# By the index of what has ended: the oldest first.
_ARCHIVED = (
    f"SELECT id FROM documents WHERE company = :company AND state = '{State.DELIVERED}' AND ended < :before"
    " AND folder = :folder AND NOT open AND place >= 'archive/' AND place < :first_kept ORDER BY ended LIMIT :most"
)
_FORGET = (
    "DELETE FROM restored WHERE document IN (SELECT value FROM json_each(:ids))",
    "DELETE FROM surplus WHERE document IN (SELECT value FROM json_each(:ids))",
    "DELETE FROM responses WHERE document <> '' AND document IN (SELECT value FROM json_each(:ids))",
    "DELETE FROM documents WHERE id IN (SELECT value FROM json_each(:ids))",
)


class Removal(Part):
    """The removing part of the journal."""

    def forget_archived(self, folder: str, company: str, before: datetime, first_kept: str, most: int) -> int:
        """Remove rows of a folder's delivered documents; returns how many.

        `before`: when they had ended, by our clock. `first_kept`: the first place that is kept, like `archive/2026-11`.
        """
        values = {"folder": folder, "company": company, "before": as_moment(before), "first_kept": first_kept}
        ids = [id_ for (id_,) in self._read(_ARCHIVED, **values, most=most)]
        return self.forget(ids)

    def forget(self, ids: Sequence[str]) -> int:
        """Remove the rows of these documents; returns how many documents they are."""

        def work(connection: Connection) -> None:
            for statement in _FORGET:
                connection.execute(statement, {"ids": json.dumps(ids)})

        if ids:
            self._write(work)
        return len(ids)
