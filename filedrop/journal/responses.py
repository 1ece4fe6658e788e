"""Responses to documents that we have sent, until they are written into the documents' rows and sidecars."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from filedrop.journal.engine import Part
from filedrop.journal.schema import IS_REJECTION, as_moment
from filedrop.journal.tying import COLUMNS, RESPONSES, THIS_RESPONSE, documents_meant, record, response_of
from filedrop.model.response import AMBIGUOUS, WAITS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from filedrop.journal.engine import Connection
    from filedrop.model.document import Document
    from filedrop.model.response import Response

_FORGET_UNTIED = f"DELETE FROM responses WHERE document IN ('', '{AMBIGUOUS}') AND at < :since"
_OWED = f"""
    {RESPONSES} owed_to <> '' AND (owed_to = :folder OR (company = :company AND at >= :since))
    ORDER BY owed_to = :folder DESC, at, msg_no, nth LIMIT :most
"""
_WRITTEN = f"UPDATE responses SET owed_to = '' WHERE {THIS_RESPONSE}"
# The last one of each document; of each number, where several documents may be meant. However often a receiver rejects
# one, and however many one company's are, the others are in it.
_REJECTIONS = f"""
    SELECT {", ".join(COLUMNS)} FROM (
        SELECT *, row_number() OVER (PARTITION BY company ORDER BY at DESC) AS newest FROM responses WHERE rowid IN (
            SELECT max(rowid) FROM responses WHERE document <> '' AND {IS_REJECTION} AND at >= :since
            GROUP BY document, sender, number
        )
    ) AS last WHERE newest <= 200 ORDER BY at DESC
"""

_AT_ONCE = 1000  # responses: bounds the memory


class Responses(Part):
    """The responses' part of the journal."""

    def record(self, responses: Sequence[Response]) -> None:
        """Write responses in one commit, and tie those whose documents are known; what is known stays as it is.

        What has waited for longer than WAITS in vain, or is ambiguous since then, is removed.
        """

        def work(connection: Connection) -> None:
            since = max(response.at for response in responses) - WAITS
            connection.execute(_FORGET_UNTIED, {"since": as_moment(since)})
            for response in responses:
                record(connection, response)

        if responses:
            self._write(work)

    def owed(self, folder: str, company: str, now: datetime) -> list[Response]:
        """The tied responses that the documents of a folder lack, then those to this company for other folders.

        Of these, those of the last days (WAITS): where nobody serves the folder, nobody may ever write them.
        """
        values = {"folder": folder, "company": company, "since": as_moment(now - WAITS), "most": _AT_ONCE}
        return [response_of(row) for row in self._read(_OWED, **values)]

    def record_written(self, responses: Iterable[Response]) -> None:
        """Write that these responses are in the rows and sidecars of their documents."""
        keys = [asdict(response) for response in responses]
        self._write(lambda connection: connection.executemany(_WRITTEN, keys))

    def rejections(self, since: datetime) -> list[Response]:
        """The last rejection since then of each document, and each ambiguous one; the newest first."""
        return [response_of(row) for row in self._read(_REJECTIONS, since=as_moment(since))]

    def documents_meant(self, response: Response) -> list[Document]:
        """The documents that a response may be about, by what is recorded now."""
        with self._engine.reading() as connection:
            return documents_meant(connection, response)
