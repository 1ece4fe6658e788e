"""Responses to documents that we have sent, until they are written into the documents' rows and sidecars.

Responses are tied to documents in the transaction in which the second of the two is written. No scan looks for them.

A response is tied when it is recorded, or when a document is recorded that it has waited for. While the request of a
document that may be meant has no clear answer, the response waits: that document's next record ties it.
"""

from __future__ import annotations

import json
from dataclasses import asdict, fields, replace
from typing import TYPE_CHECKING, Any

from filedrop.journal.engine import Part
from filedrop.journal.schema import (
    ALL,
    BELIEVED,
    IS_OF_PLATFORM,
    IS_REJECTION,
    LAST_ANSWER,
    as_moment,
    company,
    document_of,
    from_moment,
)
from filedrop.model.document import Document, State, participant_key
from filedrop.model.response import AMBIGUOUS, KEPT, REJECTED, WAITS, Response, is_pending, meant_by
from filedrop.times import from_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from filedrop.journal.engine import Connection
    from filedrop.journal.messages import MessageRow

_FORGET_UNTIED = f"DELETE FROM responses WHERE document IN ('', '{AMBIGUOUS}') AND at < :since"

COLUMNS = tuple(field.name for field in fields(Response))
RESPONSES = f"SELECT {', '.join(COLUMNS)} FROM responses WHERE"
_OWED = f"""
    {RESPONSES} owed_to <> '' AND (owed_to = :folder OR (company = :company AND at >= :since))
    ORDER BY owed_to = :folder DESC, at, msg_no, nth LIMIT :most
"""
_RESPONSE_KEY = ("identity", "msg_no", "received", "nth")
THIS_RESPONSE = " AND ".join(f"{name} = :{name}" for name in _RESPONSE_KEY)
_ANSWERED_BY = (
    f"SELECT document FROM responses WHERE {' AND '.join(f'{name} = :{name}' for name in _RESPONSE_KEY[:-1])}"
)
_WRITTEN = f"UPDATE responses SET owed_to = '' WHERE {THIS_RESPONSE}"
_LAST_ANSWER = f"SELECT {', '.join(COLUMNS)} {LAST_ANSWER.format(':document')}"
# The last one of each document whose last answer is one; of each number, where several documents may be meant. However
# often a receiver rejects one, and however many one company's are, the others are in it.
_REJECTIONS = f"""
    SELECT {", ".join(COLUMNS)} FROM (
        SELECT *, row_number() OVER (PARTITION BY company ORDER BY at DESC) AS newest FROM responses AS rejection
        WHERE (document = '{AMBIGUOUS}' OR (SELECT code {LAST_ANSWER.format("rejection.document")}) IN {REJECTED})
        AND rowid IN (
            SELECT max(rowid) FROM responses WHERE document <> '' AND {IS_REJECTION} AND at >= :since
            GROUP BY document, sender, number
        )
    ) AS last WHERE newest <= 200 ORDER BY at DESC
"""

_AT_ONCE = 1000  # responses: bounds the memory
_RECORD_RESPONSE = (
    f"INSERT INTO responses (owed_to, {', '.join(COLUMNS)}) VALUES ('', :{', :'.join(COLUMNS)}) ON CONFLICT DO NOTHING"
)
# The conditions repeat those of the partial indexes; none of the statements reads what waits for other numbers.
_WAITS = "document = ''"
# The last ones: a receiver may answer one number thousands of times, and each costs a look for what it may be about.
_OF_NUMBER = f"{RESPONSES} {_WAITS} AND at >= :since AND number = :number AND"
_LAST = f"ORDER BY at DESC LIMIT {KEPT}"
_WAITING_FOR = f"""
    SELECT * FROM ({_OF_NUMBER} {company("sender")} = {company(":receiver")} {_LAST}) AS by_sender
    UNION SELECT * FROM ({_OF_NUMBER} {IS_OF_PLATFORM} {_LAST}) AS by_platform
    UNION {RESPONSES} {_WAITS} AND at >= :since AND number IN (:uuid, 'uuid:' || :uuid)
    ORDER BY at, msg_no, nth
"""
_WAITED_FOR = f"""
    SELECT value FROM json_each(:references) WHERE EXISTS (SELECT 1 FROM responses WHERE {_WAITS} AND number = value)
"""
_MEANT = f"""
    {ALL} id IN (
        SELECT id FROM documents WHERE number = :number
            AND {company("receiver")} = {company(":from_party")} AND {company("sender")} = {company(":to_party")}
        UNION SELECT id FROM documents WHERE uuid = :uuid
        UNION SELECT id FROM documents WHERE :is_status AND number = :number AND issue_date = :issue_date
    ) AND (msg_no IS NOT NULL OR state IN ('{State.SENDING}', '{State.DOUBT}')) AND {BELIEVED} ORDER BY id
"""
# Each by one step in an index, however many there are.
_FIRST_OF = "SELECT min(at) AS at FROM responses WHERE document <> '' AND document = value AND code = '{}'".format
_FIRST_OF_EACH = " UNION ALL ".join(map(_FIRST_OF, REJECTED))
_FIRST_REJECTIONS = f"SELECT value, (SELECT min(at) FROM ({_FIRST_OF_EACH}) AS firsts) FROM json_each(:ids)"
_WITH_UUID = "SELECT uuid FROM documents WHERE uuid IN (SELECT value FROM json_each(:ids))"
_TIE = f"UPDATE responses SET document = :document, owed_to = :folder WHERE {THIS_RESPONSE}"

_NEVER_ANSWERED = (State.WAITING, State.SENDING, State.DOUBT)


def record(connection: Connection, response: Response) -> None:
    """Write a response within a transaction, and tie it if that is possible now; one that is known stays as it is."""
    values = asdict(response) | {"at": as_moment(response.at)}
    if connection.execute(_RECORD_RESPONSE, values).rowcount == 1:
        tie(connection, response)


def tie(connection: Connection, response: Response) -> None:
    """Tie a response to the document that it is about; where it may be about several, it is ambiguous from now on."""
    documents = documents_meant(connection, response)
    if documents and not any(is_pending(document) for document in documents):
        document = documents[0].id if len(documents) == 1 else AMBIGUOUS
        connection.execute(_TIE, asdict(response) | {"document": document, "folder": documents[0].folder})


def _references(document: Document) -> set[str]:
    """How responses may name a document."""
    by_uuid = {document.uuid, f"uuid:{document.uuid}"} if document.uuid else set[str]()
    return by_uuid | ({document.number} if document.number else set())


def tie_waiting(connection: Connection, documents: Iterable[Document]) -> None:
    """Tie what has waited for documents that were just recorded: mostly nothing, by one question for all."""
    answered = [(document, _references(document)) for document in documents if document.state not in _NEVER_ANSWERED]
    asked = set[str]().union(*(references for _, references in answered))
    if not asked:
        return
    known = {value for (value,) in connection.execute(_WAITED_FOR, {"references": json.dumps([*asked])})}
    for document, references in answered:
        if known.isdisjoint(references):
            continue
        values = {"number": document.number, "uuid": document.uuid, "since": as_moment(document.claimed - WAITS)}
        values["receiver"] = participant_key(document.receiver or "")
        for row in connection.execute(_WAITING_FOR, values).fetchall():
            tie(connection, response_of(row))


def response_of(row: Sequence[Any]) -> Response:
    """The response in a row that has all of `COLUMNS`."""
    values = dict(zip(COLUMNS, row, strict=True))
    return Response(**values | {"at": from_moment(values["at"])})


def documents_meant(connection: Connection, response: Response) -> list[Document]:
    """The documents that a response may be about, by all that is recorded."""
    values: dict[str, Any] = {"number": response.number, "uuid": response.message_id, "company": response.company}
    values |= {"is_status": response.is_status, "issue_date": response.issue_date}
    values |= {"from_party": participant_key(response.sender), "to_party": participant_key(response.receiver)}
    documents = [document_of(row) for row in connection.execute(_MEANT, values)]
    rejected: dict[str, datetime] = {}
    if len(documents) > 1:
        ids = json.dumps([document.id for document in documents])
        rows = connection.execute(_FIRST_REJECTIONS, {"ids": ids})
        rejected = {document: from_seconds(at) for document, at in rows if at is not None}
    return meant_by(response, documents, rejected)


class Responses(Part):
    """The responses' part of the journal."""

    def record(self, responses: Sequence[Response]) -> None:
        """Write responses in one commit, and tie those whose documents are known; what is known stays as it is.

        What has waited for longer than WAITS in vain, or is ambiguous since then, is removed.
        """

        def record_all(connection: Connection) -> None:
            since = max(response.at for response in responses) - WAITS
            connection.execute(_FORGET_UNTIED, {"since": as_moment(since)})
            for response in responses:
                record(connection, response)

        if responses:
            self._write(record_all)

    def record_known(self, responses: Sequence[Response]) -> list[Response]:
        """Record those of these responses that name the message of one document, for its company. Returns these."""
        ids = json.dumps(sorted({response.message_id for response in responses}))
        found: dict[Response, Document] = {}
        with self._engine.reading() as connection:
            known = {uuid for (uuid,) in connection.execute(_WITH_UUID, {"ids": ids})}
            for response in responses:
                meant = documents_meant(connection, response) if response.message_id in known else []
                if len(meant) == 1:
                    (found[response],) = meant
        self.record([replace(response, company=document.company) for response, document in found.items()])
        return list(found)

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
        """The last rejection since then of each document that is rejected, and each ambiguous one; newest first."""
        return [response_of(row) for row in self._read(_REJECTIONS, since=as_moment(since))]

    def last_answer(self, document: str) -> Response | None:
        """What the receiver of a document, or its access point by a rejection, has answered last."""
        return next(map(response_of, self._read(_LAST_ANSWER, document=document)), None)

    def answered_by(self, message: MessageRow) -> list[str]:
        """The ids of the documents that a received message answers."""
        values = {name: getattr(message, name) for name in _RESPONSE_KEY[:-1]}
        return [document for (document,) in self._read(_ANSWERED_BY, **values)]

    def documents_meant(self, response: Response) -> list[Document]:
        """The documents that a response may be about, by what is recorded now."""
        with self._engine.reading() as connection:
            return documents_meant(connection, response)
