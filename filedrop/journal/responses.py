"""Responses to documents that we have sent, until they are written into the documents' rows and sidecars."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from filedrop.journal import statements
from filedrop.journal.engine import Part
from filedrop.journal.rows import response_of
from filedrop.journal.schema import as_moment
from filedrop.journal.tying import documents_meant, record
from filedrop.model.response import WAITS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from filedrop.journal.engine import Connection
    from filedrop.model.document import Document
    from filedrop.model.response import Response

_AT_ONCE = 1000  # responses: bounds the memory


class Responses(Part):
    """The responses' part of the journal."""

    def record(self, responses: Sequence[Response]) -> None:
        """Write responses in one commit, and tie those whose documents are known; what is known stays as it is.

        What has waited for longer than WAITS in vain, or is ambiguous since then, is removed.
        """

        def work(connection: Connection) -> None:
            since = max(response.at for response in responses) - WAITS
            connection.execute(statements.FORGET_UNTIED, {"since": as_moment(since)})
            for response in responses:
                record(connection, response)

        if responses:
            self._write(work)

    def owed(self, folder: str, company: str, now: datetime) -> list[Response]:
        """The tied responses that the documents of a folder lack, then those to this company for other folders.

        Of these, those of the last days (WAITS): where nobody serves the folder, nobody may ever write them.
        """
        values = {"folder": folder, "company": company, "since": as_moment(now - WAITS), "most": _AT_ONCE}
        return [response_of(row) for row in self._read(statements.OWED, **values)]

    def record_written(self, responses: Iterable[Response]) -> None:
        """Write that these responses are in the rows and sidecars of their documents."""
        keys = [asdict(response) for response in responses]
        self._write(lambda connection: connection.executemany(statements.WRITTEN, keys))

    def rejections(self, since: datetime) -> list[Response]:
        """The last rejection since then of each document, and each ambiguous one; the newest first."""
        return [response_of(row) for row in self._read(statements.REJECTIONS, since=as_moment(since))]

    def documents_meant(self, response: Response) -> list[Document]:
        """The documents that a response may be about, by what is recorded now."""
        with self._engine.reading() as connection:
            return documents_meant(connection, response)
