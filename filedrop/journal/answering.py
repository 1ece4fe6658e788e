"""Answers to received documents, each recorded with its bytes before anything else is done; and what is owed."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from filedrop.journal.engine import Part
from filedrop.journal.messages import MessageRow, message_of
from filedrop.journal.schema import (
    BY_IDS,
    COLUMNS,
    EXPECTS_ANSWER,
    IS_ANSWER,
    IS_TO_BE_ANSWERED,
    MESSAGE_COLUMNS,
    OWES_ANSWER,
    as_moment,
    company,
    document_of,
)
from filedrop.model.document import BILLS
from filedrop.texts.printable import valid
from filedrop.times import from_seconds

if TYPE_CHECKING:
    from datetime import datetime

    from filedrop.journal.engine import Connection
    from filedrop.model.document import Document

_COLUMNS = (
    "company", "sha256", "nth", "code", "number", "sender", "receiver", "at", "document", "file", "content",
)  # fmt: skip
_DOCUMENT = "company = :company AND sha256 = :sha256"
_RECEIVED_AS = f"""
    SELECT {", ".join(MESSAGE_COLUMNS)} FROM messages
    WHERE {_DOCUMENT} AND state IN ('placing', 'read') ORDER BY rowid LIMIT 1
"""
_GIVEN = f"SELECT code, at, content IS NULL, document FROM answers WHERE {_DOCUMENT} ORDER BY nth"
_CODES = f"SELECT code FROM answers WHERE {_DOCUMENT} ORDER BY nth"
_RECORD = f"INSERT INTO answers ({', '.join(_COLUMNS)}) VALUES (:{', :'.join(_COLUMNS)}) ON CONFLICT DO NOTHING"
_OWED_ANSWERS = f"""
    SELECT {", ".join(_COLUMNS)} FROM answers WHERE company = :company AND content IS NOT NULL ORDER BY document
"""
_IS_OWED = "SELECT 1 FROM answers WHERE company = :company AND content IS NOT NULL AND document = :document"
_PLACED = f"UPDATE answers SET content = NULL WHERE {_DOCUMENT} AND nth = :nth"
_SENT_BEFORE = f"""
    SELECT {", ".join(COLUMNS)} FROM documents
    WHERE number = :number AND company = :company AND type = 'ApplicationResponse' AND id <> :document
"""

_IS_FOLLOWED = f"SELECT 1 FROM answers WHERE {_DOCUMENT} AND nth > :nth"
_DOCUMENT_BEFORE = f"""
    SELECT {", ".join(COLUMNS)} FROM documents
    WHERE id = (SELECT document FROM answers WHERE {_DOCUMENT} AND nth < :nth ORDER BY nth DESC LIMIT 1)
"""

# A company's own software has answered, by a document that filedrop sends. What came twice conflicts with itself.
_RECORD_SENT = f"""
    INSERT INTO answers ({", ".join(_COLUMNS[:-1])})
    SELECT :company, sha256, (
            SELECT count(*) FROM answers AS given WHERE given.company = :company AND given.sha256 = received.sha256
        ), :code, :number, :sender, :receiver, :at, :document, :file
    FROM messages AS received
    WHERE company = :company AND number = :answered AND type IN {BILLS} AND length(sha256) > 0
    AND {company("received.sender")} = {company(":receiver")} AND NOT EXISTS (
        SELECT 1 FROM answers AS given
        WHERE given.company = :company AND given.sha256 = received.sha256 AND given.document = :document
    ) ON CONFLICT DO NOTHING
"""
_OF_EACH_COMPANY = """
    SELECT {columns} FROM (
        SELECT *, row_number() OVER (PARTITION BY company ORDER BY {since} DESC) AS newest FROM {table}
        WHERE {rows} AND {since} > :after AND {since} <= :until
    ) AS silent WHERE newest <= 200 ORDER BY {since} DESC
""".format
_OWING = _OF_EACH_COMPANY(
    columns=", ".join(MESSAGE_COLUMNS),
    table="messages",
    since="due",
    rows=f"{EXPECTS_ANSWER} AND {OWES_ANSWER}",
)
_UNANSWERED = _OF_EACH_COMPANY(
    columns=", ".join((*COLUMNS, "ended")),
    table="documents",
    since="ended",
    rows=f"{IS_TO_BE_ANSWERED} AND NOT EXISTS (SELECT 1 FROM responses"
    f" WHERE document <> '' AND document = documents.id AND {IS_ANSWER})",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class InvoiceAnswer:
    """The `nth` answer of a company to a received document, which has this `sha256`.

    `sender` and `receiver` are the answer's own. `document` is the id of the outbound document that it becomes, and
    `file` the name that this gets if it is free. `number` is the answer's number, and the same for the same answer.
    """

    company: str
    sha256: str
    nth: int
    code: str
    number: str
    sender: str
    receiver: str
    at: datetime
    document: str
    file: str
    content: bytes


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """An answer as it is now. `is_placed`: it became a document, or was dropped before it did.

    `document` is None where it has not become one, or where that was removed with its month.
    """

    code: str
    at: datetime
    is_placed: bool
    document: Document | None


class Answering(Part):
    """The answers' part of the journal."""

    def received_as(self, company: str, sha256: str) -> MessageRow | None:
        """The first message by which a company has received the document with these bytes; None where there is none."""
        rows = self._read(_RECEIVED_AS, company=company, sha256=sha256)
        return message_of(rows[0]) if rows else None

    def codes(self, company: str, sha256: str) -> list[str]:
        """The codes of a company's answers to a received document, in their order."""
        return [code for (code,) in self._read(_CODES, company=company, sha256=sha256)]

    def given(self, company: str, sha256: str) -> list[GivenAnswer]:
        """A company's answers to a received document, in their order."""
        rows = self._read(_GIVEN, company=company, sha256=sha256)
        found = self._read(BY_IDS, ids=json.dumps([row[3] for row in rows])) if rows else []
        documents = {document.id: document for document in map(document_of, found)}
        return [
            GivenAnswer(code, from_seconds(at), bool(is_placed), documents.get(document))
            for code, at, is_placed, document in rows
        ]

    def record(self, answer: InvoiceAnswer) -> None:
        """Write durably that an answer is to be sent."""
        values = asdict(answer) | {"at": as_moment(answer.at)}
        self._write(lambda connection: connection.execute(_RECORD, values))

    @staticmethod
    def record_sent(connection: Connection, document: Document, answered: str, code: str) -> None:
        """Write within a transaction that a document of the company's own software answers what has this number."""
        values = {name: getattr(document, name) or "" for name in ("company", "number", "sender", "receiver")}
        values["file"] = valid(document.file)
        values |= {"document": document.id, "at": as_moment(document.claimed), "answered": answered, "code": code}
        connection.execute(_RECORD_SENT, values)

    def owing(self, after: datetime, until: datetime) -> list[MessageRow]:
        """The messages whose senders expect an answer since then, and to which none went out; newest first.

        Of each company the last 200.
        """
        rows = self._read(_OWING, after=as_moment(after), until=as_moment(until))
        return list(map(message_of, rows))

    def unanswered(self, after: datetime, until: datetime) -> list[tuple[Document, datetime]]:
        """The documents delivered since then, each with when, that their receivers were to answer, and haven't.

        Newest first, of each company the last 200.
        """
        rows = self._read(_UNANSWERED, after=as_moment(after), until=as_moment(until))
        return [(document_of(row[:-1]), from_seconds(row[-1])) for row in rows]

    def owed(self, company: str) -> list[InvoiceAnswer]:
        """A company's answers whose files aren't recorded as placed, in their order."""
        rows = self._read(_OWED_ANSWERS, company=company)
        columns = (dict(zip(_COLUMNS, row, strict=True)) for row in rows)
        return [InvoiceAnswer(**values | {"at": from_seconds(values["at"])}) for values in columns]

    def owes(self, document: Document) -> bool:
        """Whether a document is an answer whose file isn't recorded as placed."""
        return self._value(_IS_OWED, company=document.company, document=document.id) is not None

    def record_placed(self, answer: InvoiceAnswer) -> None:
        """Write that an answer is a document like every other from now on."""
        self._write(lambda connection: connection.execute(_PLACED, _key(answer)))

    def sent_before(self, answer: InvoiceAnswer) -> Document | None:
        """Another document that is the same answer: an older journal, which was put back, had decided it already."""
        values = {name: getattr(answer, name) for name in ("number", "company", "document")}
        rows = self._read(_SENT_BEFORE, **values)
        return document_of(rows[0]) if rows else None

    def is_followed(self, answer: InvoiceAnswer) -> bool:
        """Whether the company has decided on another answer to the same document since."""
        return self._value(_IS_FOLLOWED, **_key(answer)) is not None

    def document_before(self, answer: InvoiceAnswer) -> Document | None:
        """The document of the answer before this one; None where there is none, or where it never became one."""
        rows = self._read(_DOCUMENT_BEFORE, **_key(answer))
        return document_of(rows[0]) if rows else None


def _key(answer: InvoiceAnswer) -> dict[str, Any]:
    return {name: getattr(answer, name) for name in ("company", "sha256", "nth")}
