"""Message numbers in the journal: to which document each belongs, and when its message was received."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from filedrop.journal.documents import put_all
from filedrop.journal.engine import Part
from filedrop.journal.schema import ALL, BELIEVED, COLUMNS, NUMBERS, document_of, from_moment, from_name
from filedrop.model.message import difference, is_known
from filedrop.times import same_moment

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from filedrop.errors import FiledropError
    from filedrop.journal.engine import Connection
    from filedrop.model.document import Document
    from filedrop.model.message import Message

_OPEN_LIKE = f"{ALL} open AND sha256 = :sha256 AND folder = :folder"
_OTHER_ROWS = (
    "SELECT received FROM documents WHERE identity = :identity AND msg_no = :msg_no AND folder = :folder AND id <> :id"
)
_NUMBERED = f"identity = :identity AND msg_no IN ({NUMBERS})"
_OWNED = (
    f"SELECT msg_no, received FROM documents WHERE {_NUMBERED} AND {BELIEVED}"
    f" UNION ALL SELECT msg_no, received FROM surplus WHERE {_NUMBERED}"
)
_HIGHEST = """
    SELECT coalesce(max(msg_no), 0) FROM (
        SELECT max(msg_no) AS msg_no FROM documents WHERE identity = :identity
        UNION ALL SELECT max(msg_no) AS msg_no FROM surplus WHERE identity = :identity
    ) AS highest
"""
# For two EXISTS, PostgreSQL would read all of the account's documents.
_OWNED_BY_ANY = """
    SELECT one FROM (SELECT CAST(value AS BIGINT) AS one FROM json_each(:numbers)) AS numbers
    WHERE (SELECT 1 FROM documents WHERE identity = :identity AND msg_no = one LIMIT 1) IS NOT NULL
        OR (SELECT 1 FROM surplus WHERE identity = :identity AND msg_no = one) IS NOT NULL
"""
_OWNERS = (
    f"{ALL} {_NUMBERED} AND {BELIEVED} UNION ALL"
    f" SELECT {', '.join('surplus.msg_no' if name == 'msg_no' else f'documents.{name}' for name in COLUMNS)}"
    " FROM surplus JOIN documents ON documents.id = surplus.document"
    f" WHERE surplus.identity = :identity AND surplus.msg_no IN ({NUMBERS})"
)
# Of several requests, any may have made the message; and one without a clear answer may have made it long after.
_TIMED = """identity = :identity AND msg_no > 0 AND first_attempt > 0 AND received > '' AND unclear = 0
    AND (SELECT count(*) FROM json_each(history) WHERE json_extract(value, '$[1]') = 'sending') = 1"""
# By number, and by rowid, the order of insertion: a server set up anew has lower numbers. '' || keeps their index out.
_TIMES = f"""
    SELECT * FROM (
        SELECT first_attempt, received FROM documents WHERE {_TIMED} ORDER BY msg_no DESC LIMIT :most
    ) AS numbered
    UNION SELECT * FROM (
        SELECT first_attempt, received FROM documents
        WHERE rowid > (SELECT max(rowid) - 10000 FROM documents) AND '' || {_TIMED} ORDER BY rowid DESC LIMIT :most
    ) AS inserted
"""
_RECEIVED_BEFORE = """
    SELECT received FROM (
        SELECT id, identity, received FROM documents WHERE rowid < (SELECT rowid FROM documents WHERE id = :id)
        ORDER BY rowid DESC LIMIT 10000
    ) AS before WHERE identity = :identity AND received IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM restored WHERE document = before.id) LIMIT :most
"""
_SURPLUS_OF = """
    SELECT surplus.msg_no, documents.dropped_as FROM surplus JOIN documents ON documents.id = surplus.document
    WHERE surplus.identity = :identity ORDER BY surplus.msg_no
"""
_INSERT_SURPLUS = (
    "INSERT INTO surplus (identity, msg_no, received, document) VALUES (:identity, :msg_no, :received, :document)"
    " ON CONFLICT (identity, msg_no) DO UPDATE SET received = excluded.received, document = excluded.document"
)

_LATEST = 20  # messages whose times are compared to judge the access point's clocks


class Outcome(NamedTuple):
    """The result of a request: the document after the answer, and its message, if any.

    `otherwise`: the document after the answer where the message turns out to be another document's.
    """

    document: Document
    message: Message | None = None
    otherwise: Document | None = None


class Numbers(Part):
    """The message numbers' part of the journal."""

    def owned(self, identity: str, numbers: Iterable[int], company: str = "") -> dict[int, list[str | None]]:
        """Those of these message numbers that belong to a document or are surplus, each with all its `received`.

        Rows restored from sidecars count only for their own `company`. A number may occur several times, since a server
        that was set up anew counts from 1 again.
        """
        owned = defaultdict[int, list[str | None]](list)
        wanted = json.dumps(list(numbers))
        for msg_no, received in self._read(_OWNED, identity=identity, numbers=wanted, company=company):
            owned[msg_no].append(received)
        return owned

    def highest(self, identity: str) -> int:
        """The highest number of a message that belongs to a document of an account, or is surplus; 0 for none."""
        return int(self._value(_HIGHEST, identity=identity))

    def owners(self, identity: str, numbers: Iterable[int], company: str) -> list[Document]:
        """The documents behind `owned`; the document of a surplus message is returned with that message's number."""
        return [
            document_of(row)
            for row in self._read(_OWNERS, identity=identity, numbers=json.dumps(list(numbers)), company=company)
        ]

    def is_owned(self, identity: str, message: Message, company: str) -> bool:
        """Whether this message belongs to a recorded document, or may belong to one."""
        number = message.msg_no
        known = is_known(message, self.owned(identity, [number], company).get(number, ()))
        if known is None:
            return any(not difference(message, owner) for owner in self.owners(identity, [number], company))
        return known

    def open_like(self, folder: str, sha256: str) -> list[Document]:
        """Open documents of a folder with exactly these bytes.

        But no second row of a message, as two journals leave behind that were both lost: its document is the other's.
        """
        found = [document_of(row) for row in self._read(_OPEN_LIKE, folder=folder, sha256=sha256)]
        return [document for document in found if not self._is_second_row(document)]

    def _is_second_row(self, document: Document) -> bool:
        """Whether another row has its message: this number, received at this moment."""
        values = {"identity": document.identity, "msg_no": document.msg_no}
        others = self._read(_OTHER_ROWS, folder=document.folder, id=document.id, **values)
        return any(same_moment(document.received, received) for (received,) in others)

    def record_answers(self, outcomes: Iterable[Outcome]) -> list[Document | FiledropError]:
        """Write the results of several requests in one commit; for each, the result or error of `record`.

        The owner of a number is decided within the transaction: if two requests got the same answer, one keeps it.
        """

        def record_outcomes(connection: Connection, wanted: Sequence[Outcome]) -> list[Document | FiledropError]:
            owned = _owned_by_any(connection, wanted)
            results: list[Document | FiledropError] = []
            left: list[Document] = []
            for outcome in wanted:
                document, message = outcome.document, outcome.message
                if message is not None and outcome.otherwise is not None:
                    if (document.identity, message.msg_no) in owned:
                        results += put_all(connection, left)  # first: the owner may be one of them
                        left = []
                        with self._engine.reading_with(connection):
                            if self.is_owned(document.identity, message, document.company):
                                document = outcome.otherwise
                    owned.add((document.identity, message.msg_no))
                left.append(document)
            return [*results, *put_all(connection, left)]

        return self._write_each(record_outcomes, list(outcomes))

    def times(self, identity: str) -> list[tuple[datetime, str]]:
        """Of the latest documents accepted at their only request: when that was, by `Date`, and `received`."""
        rows = self._read(_TIMES, identity=identity, most=_LATEST)
        return [(asked, received) for first, received in rows if (asked := from_moment(first))]

    def received_before(self, document: Document) -> list[str]:
        """The `received` of the latest messages of its account that were recorded before this document."""
        values = {"identity": document.identity, "id": document.id, "most": _LATEST}
        return [received for (received,) in self._read(_RECEIVED_BEFORE, **values)]

    def surplus(self, identity: str) -> list[tuple[int, str]]:
        """The messages that an account sent more often than intended: each number, and its document's name."""
        return [(msg_no, from_name(name)) for msg_no, name in self._read(_SURPLUS_OF, identity=identity)]

    def record_surplus(self, identity: str, msg_no: int, received: str | None, document: Document) -> None:
        """Write that the access point has this document once more than intended, as this message."""
        values = {"identity": identity, "msg_no": msg_no, "received": received, "document": document.id}
        self._write(lambda connection: connection.execute(_INSERT_SURPLUS, values))


def _owned_by_any(connection: Connection, outcomes: Iterable[Outcome]) -> set[tuple[str, int]]:
    """The accounts and numbers of those messages that any row may own: mostly none, by one question for an account."""
    numbers = defaultdict[str, list[int]](list)
    for outcome in outcomes:
        if outcome.message is not None:
            numbers[outcome.document.identity].append(outcome.message.msg_no)
    return {
        (identity, msg_no)
        for identity, asked in numbers.items()
        for (msg_no,) in connection.execute(_OWNED_BY_ANY, {"identity": identity, "numbers": json.dumps(asked)})
    }
