"""Responses to documents that we have sent, until they are written into the documents' rows and sidecars."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from filedrop.journal import statements
from filedrop.journal.documents import Documents
from filedrop.journal.schema import as_moment, from_moment

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from filedrop.model.document import Document


@dataclass(frozen=True, slots=True)
class Answered:
    """A response: in which message of which company, what it answers, and what it says. `type` is "" where unknown.

    `document` is the id of the document that it was tied to, "" until then, or AMBIGUOUS.
    """

    identity: str
    msg_no: int
    company: str
    sender: str
    receiver: str
    number: str
    type: str
    code: str
    reason: str
    at: datetime
    document: str = ""


AMBIGUOUS = "?"


class Responses(Documents):
    """The responses' part of the journal."""

    def record_responses(self, responses: Sequence[Answered]) -> None:
        """Write responses in one commit; those that are known stay as they are."""
        values = [asdict(one) | {"at": as_moment(one.at)} for one in responses]
        if values:
            self.write(lambda connection: connection.executemany(statements.RECORD_RESPONSE, values))

    def untied(self, since: datetime) -> list[Answered]:
        """The responses that came since then, are tied to no document yet, and may be to one that is known."""
        return self._responses(statements.UNTIED, since=as_moment(since))

    def rejections(self, since: datetime) -> list[Answered]:
        """The rejections that came since then and are tied to a document, newest first."""
        return self._responses(statements.REJECTIONS, since=as_moment(since))

    def answerable(self, response: Answered) -> list[Document]:
        """The accepted documents, of whichever company, that have the number, or the message id, that it gives."""
        return self._documents(statements.ANSWERABLE, number=response.number)

    def tie(self, response: Answered, document: str) -> None:
        """Write which document a response answers: it is in its row and its sidecar."""
        key = {"identity": response.identity, "msg_no": response.msg_no, "number": response.number}
        self.write(lambda connection: connection.execute(statements.TIE, key | {"document": document}))

    def _responses(self, statement: str, **values: object) -> list[Answered]:
        found = [dict(zip(statements.RESPONSE_COLUMNS, row, strict=True)) for row in self.read(statement, **values)]
        return [Answered(**one | {"at": from_moment(one["at"])}) for one in found]
