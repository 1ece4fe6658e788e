"""What the journal knows of outbound documents: a row for each drop, as its last step left it."""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from dataclasses import asdict, fields, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from filedrop.document import Document, Event, Fault, State, participant_key
from filedrop.errors import Changed, FiledropError
from filedrop.journal.folders import count_change, unsettle
from filedrop.journal.schema import DOCUMENTS, LET_THROUGH, SURPLUS, Moment
from filedrop.journal.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import timedelta

_COLUMNS = tuple(field.name for field in fields(Document))
_OPEN = DOCUMENTS.c.open.is_(True)


class Duplicate(FiledropError):
    """The same content is, or may be, at the access point already; `document` is the one that was first."""

    def __init__(self, document: Document) -> None:
        super().__init__(f"the same document was already sent as {document.dropped_as}")
        self.document = document


class Documents(Store):
    """The documents' part of the journal."""

    def record(self, document: Document) -> Document:
        """Write a document's step durably and return it with its new revision. Raises Changed, JournalError."""
        return self.write(lambda connection: _put(connection, document))

    def record_all(self, documents: Iterable[Document]) -> list[Document]:
        """Write the steps of several documents in one commit, leaving out those that have changed meanwhile."""
        wanted = list(documents)
        return self.write(lambda connection: _put_all(connection, wanted)) if wanted else []

    def unsettle(self, folder: str, seen: int, suspects: Iterable[Document]) -> None:
        """Write that whatever lies in a folder is to be taken up anew, in one commit with these steps of its documents.

        `seen` is how many changes its marker has seen.
        """
        wanted = list(suspects)

        def work(connection: sa.Connection) -> None:
            _put_all(connection, wanted)
            unsettle(connection, folder, seen)

        self.write(work)

    def record_sending(self, document: Document, duplicates: str) -> Document:
        """Write durably that a document is about to be posted, unless the same content is or may be out already.

        `duplicates` is the configuration's rule: `refuse`, `number` or `allow`. Check and record are one transaction:
        two identical documents can't both pass. Raises Duplicate, Changed, JournalError.
        """

        def work(connection: sa.Connection) -> Document:
            # It lets one document through, however many attempts that takes: with the first it becomes that document's.
            mine = LET_THROUGH.c.sha256.in_([document.sha256, document.id])
            waived = connection.execute(sa.update(LET_THROUGH).where(mine).values(sha256=document.id)).rowcount
            if duplicates != "allow" and not waived:
                first = _duplicate_of(connection, document, by_number=duplicates == "number")
                if first:
                    raise Duplicate(first)
            return _put(connection, document)

        return self.write(work)

    def let_through(self, sha256: str) -> None:
        """Let one document of this content be sent although it is a duplicate (`retry --anyway`)."""
        self.write(
            lambda connection: connection.execute(sa.insert(LET_THROUGH).prefix_with("OR IGNORE").values(sha256=sha256))
        )

    def steps_due(self, folder: str, now: datetime | None, *, longest: timedelta, limit: int) -> list[Document]:
        """Documents of a folder that its sweep takes a step further: found as sending, not yet put away, or waiting.

        Of those that wait, for `longest` at most, the ones that are due `now`; none where that is None.
        """
        c = DOCUMENTS.c
        waiting = sa.and_(c.state == State.WAITING.value, _is_due(now, longest)) if now else sa.false()
        astray = sa.or_(
            sa.and_(c.state == State.SENT.value, c.place == "sending"),
            c.state.in_([State.DELIVERED.value, State.FAILED.value]),
        )
        query = sa.select(DOCUMENTS).where(
            c.folder == folder, _OPEN, sa.or_(waiting, c.state == State.SENDING.value, astray)
        )
        return self._documents(query.order_by(c.id).limit(limit))

    def lying_in(self, folder: str, place: str) -> list[Document]:
        """The open documents of a folder that lie in `sending/` or `sent/`, as far as we know."""
        return self._documents(
            sa.select(DOCUMENTS).where(DOCUMENTS.c.folder == folder, DOCUMENTS.c.place == place, _OPEN)
        )

    def speaks_of(self, folder: str, place: str, file: str) -> bool:
        """Is this an open document's name? Its file may have been moved since, and what has been heard of that is lost.

        Whatever else took the name would be taken for it then.
        """
        c = DOCUMENTS.c
        query = sa.select(c.id).where(_OPEN, c.folder == folder, c.place == place, c.file == file).limit(1)
        return self.value(query) is not None

    def in_state(self, state: State, *, identity: str | None = None) -> list[Document]:
        """Unfinished documents in this state, oldest first; of one account, where asked."""
        query = sa.select(DOCUMENTS).where(DOCUMENTS.c.state == state.value, _OPEN)
        if identity is not None:
            query = query.where(DOCUMENTS.c.identity == identity)
        return self._documents(query.order_by(DOCUMENTS.c.id))

    def overdue(self, accepted_before: datetime) -> list[Document]:
        """Documents that were accepted before then and are not delivered, oldest first."""
        c = DOCUMENTS.c
        query = sa.select(DOCUMENTS).where(_OPEN, c.state == State.SENT.value, c.accepted < accepted_before)
        return self._documents(query.order_by(c.id))

    def duplicate_of(self, document: Document, *, by_number: bool) -> Document | None:
        """The document of the same content (`by_number`: or number) that is, or may be, at the access point."""
        return self.write(lambda connection: _duplicate_of(connection, document, by_number=by_number))

    def open_like(self, folder: str, sha256: str) -> list[Document]:
        """Documents of a folder with exactly these bytes that are unfinished or not put away yet."""
        return self._documents(
            sa.select(DOCUMENTS).where(DOCUMENTS.c.sha256 == sha256, DOCUMENTS.c.folder == folder, _OPEN)
        )

    def document(self, document_id: str) -> Document | None:
        """A document by its id."""
        return next(iter(self._documents(sa.select(DOCUMENTS).where(DOCUMENTS.c.id == document_id))), None)

    def next_due(self, folder: str) -> datetime | None:
        """When the first of a folder's waiting documents is to be tried again; None where none waits for a moment."""
        c = DOCUMENTS.c
        return self._moment(sa.func.min(c.due), sa.and_(c.folder == folder, _OPEN, c.state == State.WAITING.value))

    def tracked(self, identity: str, now: datetime, *, longest: timedelta) -> list[Document]:
        """An account's accepted documents to be asked after `now`: those that lie in `sent/`, oldest first.

        Each is asked after again after `longest` at most.

        One whose move isn't known yet has its sweep still to come: delivered now, it would be looked for in vain.
        """
        c = DOCUMENTS.c
        where = (_OPEN, c.identity == identity, c.state == State.SENT.value, c.place == "sent")
        return self._documents(sa.select(DOCUMENTS).where(*where, _is_due(now, longest)).order_by(c.id))

    def tracking_due(self, identity: str) -> datetime | None:
        """When the first of them is due; None where none is on its way."""
        c = DOCUMENTS.c
        where = sa.and_(_OPEN, c.identity == identity, c.state == State.SENT.value, c.place == "sent")
        return self._moment(sa.func.min(sa.func.coalesce(c.due, 0.0)), where)

    def counts(self, folder: str) -> dict[str, int]:
        """How many open documents of a folder are in each state, by the state's name."""
        query = sa.select(DOCUMENTS.c.state, sa.func.count()).where(DOCUMENTS.c.folder == folder, _OPEN)
        return dict(self.read(query.group_by(DOCUMENTS.c.state)))  # type: ignore[arg-type] # a row of two is a pair

    def owned(self, identity: str, numbers: Iterable[int]) -> dict[int, list[str | None]]:
        """Which of these message numbers belong to a document, or are known to be surplus; each with its `received`.

        A server set up anew counts from the start again, so a number alone doesn't say that a message is the same.
        """
        wanted, owned = list(numbers), defaultdict[int, list[str | None]](list)
        for table in (DOCUMENTS, SURPLUS):
            query = sa.select(table.c.msg_no, table.c.received).where(table.c.identity == identity)
            for row in self.read_in_parts(query, table.c.msg_no, wanted):
                owned[row.msg_no].append(row.received)
        return owned

    def surplus(self, identity: str) -> list[tuple[int, str]]:
        """The messages of an account that we didn't mean to send: each number, and its document's name."""
        query = sa.select(SURPLUS.c.msg_no, DOCUMENTS.c.dropped_as).where(SURPLUS.c.identity == identity)
        rows = self.read(query.join(DOCUMENTS, DOCUMENTS.c.id == SURPLUS.c.document).order_by(SURPLUS.c.msg_no))
        return [(row.msg_no, row.dropped_as) for row in rows]

    def record_surplus(self, identity: str, msg_no: int, received: str | None, document: Document) -> None:
        """Write down that the access point has this document more often than we meant to send it."""
        values = {"identity": identity, "msg_no": msg_no, "received": received, "document": document.id}
        self.write(lambda connection: connection.execute(sa.insert(SURPLUS).prefix_with("OR IGNORE"), values))

    def _documents(self, query: sa.Select[Any]) -> list[Document]:
        return [_document(row) for row in self.read(query)]

    def _moment(self, what: sa.ColumnElement[Any], where: sa.ColumnElement[bool]) -> datetime | None:
        moment: datetime | None = self.value(sa.select(sa.type_coerce(what, Moment)).where(where))
        return moment


def _is_due(now: datetime, longest: timedelta) -> sa.ColumnElement[bool]:
    """As `document.is_due`."""
    due = DOCUMENTS.c.due
    return sa.or_(due.is_(None), due <= now, due > now + longest)


def _put(connection: sa.Connection, document: Document) -> Document:
    values = {name: getattr(document, name) for name in _COLUMNS}
    values["state"] = document.state.value
    values["open"] = not document.state.finished or document.place != document.home
    values["error"] = asdict(document.error) if document.error else None
    values["history"] = [[event.at.isoformat(), event.event, event.facts] for event in document.history]
    values["revision"] = document.revision + 1
    if document.revision == 0:
        try:
            connection.execute(sa.insert(DOCUMENTS), values)
        except IntegrityError:
            raise Changed(f"{document.dropped_as} is in the journal already") from None
    else:
        where = (DOCUMENTS.c.id == document.id, DOCUMENTS.c.revision == document.revision)
        if connection.execute(sa.update(DOCUMENTS).where(*where).values(values)).rowcount != 1:
            raise Changed(f"{document.dropped_as} was taken a step further meanwhile")
    count_change(connection, document.folder)
    return replace(document, revision=document.revision + 1)


def _put_all(connection: sa.Connection, documents: Iterable[Document]) -> list[Document]:
    written = []
    for document in documents:
        with suppress(Changed):
            written.append(_put(connection, document))
    return written


def _document(row: sa.Row[Any]) -> Document:
    values = dict(row._mapping)  # noqa: SLF001 - SQLAlchemy's documented attribute
    del values["open"]
    values["state"] = State(values["state"])
    values["error"] = Fault(**values["error"]) if values["error"] else None
    values["warnings"] = tuple(values["warnings"])
    values["history"] = tuple(Event(datetime.fromisoformat(at), event, facts) for at, event, facts in values["history"])
    return Document(**values)


def _duplicate_of(connection: sa.Connection, document: Document, *, by_number: bool) -> Document | None:
    alike = DOCUMENTS.c.meaning == document.meaning
    if by_number and document.number:
        alike = sa.or_(alike, DOCUMENTS.c.number == document.number)
    rows = connection.execute(sa.select(DOCUMENTS).where(alike, DOCUMENTS.c.id != document.id))
    for other in map(_document, rows):
        same_sender = participant_key(other.sender or "") == participant_key(document.sender or "")
        same_receiver = participant_key(other.receiver or "") == participant_key(document.receiver or "")
        same_number = (other.type, other.number, other.issue_date) == (
            document.type,
            document.number,
            document.issue_date,
        )
        same = (other.meaning == document.meaning and same_receiver) or (
            by_number and bool(document.number) and same_number
        )
        if same_sender and same and other.may_be_accepted:
            return other
    return None
