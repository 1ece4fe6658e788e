"""What the journal knows of outbound documents: a row for each drop, as its last step left it."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from filedrop.document import Document, Event, Fault, State, participant_key
from filedrop.errors import Changed, FiledropError
from filedrop.journal import document_statements as statements
from filedrop.journal.folders import unsettle
from filedrop.journal.schema import as_moment, as_name, from_moment, from_name
from filedrop.journal.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import timedelta


_NAMES = ("file", "dropped_as")
_MOMENTS = ("claimed", "due", "first_attempt", "accepted")


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

    def record_each(self, documents: Iterable[Document]) -> list[Document | FiledropError]:
        """Write a step of each of these in one commit; what `record` returns or raises, for each."""
        return self.write_each([partial(_put, document=document) for document in documents])

    def record_places(self, documents: Iterable[Document]) -> None:
        """Write where the files of several documents lie now, in one commit, unless they have changed meanwhile."""
        moves = [
            {"id": document.id, "before": document.revision, "revision": document.revision + 1}
            | {"open": _is_open(document), "place": document.place, "file": as_name(document.file)}
            for document in documents
        ]
        if moves:
            self.write(lambda connection: connection.executemany(statements.MOVE, moves))

    def unsettle(self, folder: str, seen: int, suspects: Iterable[Document]) -> None:
        """Write that whatever lies in a folder is to be taken up anew, in one commit with these steps of its documents.

        `seen` is how many changes its marker has seen.
        """
        wanted = list(suspects)

        def work(connection: sqlite3.Connection) -> None:
            _put_all(connection, wanted)
            unsettle(connection, folder, seen)

        self.write(work)

    def record_sending(self, documents: Iterable[Document], duplicates: str) -> list[Document | FiledropError]:
        """Write durably that these are about to be posted, but for those whose content is or may be out already.

        `duplicates` is the configuration's rule: `refuse`, `number` or `allow`. Check and record are one transaction:
        two identical documents can't both pass. Each becomes a Document, Duplicate, Changed or JournalError.
        """

        def work(connection: sqlite3.Connection, document: Document) -> Document:
            # It lets one document through, however many attempts that takes: with the first it becomes that document's.
            waived = connection.execute(statements.WAIVE, {"sha256": document.sha256, "id": document.id}).rowcount
            if duplicates != "allow" and not waived:
                first = _duplicate_of(connection, document, by_number=duplicates == "number")
                if first:
                    raise Duplicate(first)
            return _put(connection, document)

        return self.write_each([partial(work, document=document) for document in documents])

    def let_through(self, sha256: str) -> None:
        """Let one document of this content be sent although it is a duplicate (`retry --anyway`)."""
        self.write(lambda connection: connection.execute(statements.INSERT_WAIVER, {"sha256": sha256}))

    def steps_due(self, folder: str, now: datetime | None, *, longest: timedelta, limit: int) -> list[Document]:
        """Documents of a folder that its sweep takes a step further: found as sending, not yet put away, or waiting.

        Of those that wait, for `longest` at most, the ones that are due `now`; none where that is None.
        """
        if now is None:
            return self._documents(statements.STEPS_ASTRAY, folder=folder, most=limit)
        return self._documents(statements.STEPS_DUE, folder=folder, **_due(now, longest), most=limit)

    def lying_in(self, folder: str, place: str) -> list[Document]:
        """The open documents of a folder that lie in `sending/` or `sent/`, as far as we know."""
        return self._documents(statements.LYING_IN, folder=folder, place=place)

    def files_in(self, folder: str, place: str) -> Iterator[tuple[str, str]]:
        """What lies in `sending/` or `sent/` of a folder, as far as we know: each name and its document's id."""
        for file, id_ in self.read_each(statements.FILES_IN, folder=folder, place=place):
            yield from_name(file), id_

    def kept_in_sending(self, folder: str, claimed_before: datetime) -> list[tuple[str, State]]:
        """The ids of documents that were claimed before then and neither arrived nor failed, each with its state."""
        rows = self.read(statements.KEPT_IN_SENDING, folder=folder, claimed=as_moment(claimed_before))
        return [(id_, State(state)) for id_, state in rows]

    def speaks_of(self, folder: str, place: str, file: str) -> bool:
        """Is this an open document's name? Its file may have been moved since, and what has been heard of that is lost.

        Whatever else took the name would be taken for it then.
        """
        return self.value(statements.NAMED, folder=folder, place=place, file=as_name(file)) is not None

    def in_state(self, state: State, *, identity: str | None = None) -> list[Document]:
        """Unfinished documents in this state, oldest first; of one account, where asked."""
        return self._documents(statements.IN_STATE, state=state.value, identity=identity)

    def overdue(self, accepted_before: datetime) -> list[Document]:
        """Documents that were accepted before then and are not delivered, oldest first."""
        return self._documents(statements.OVERDUE, accepted_before=as_moment(accepted_before))

    def duplicate_of(self, document: Document, *, by_number: bool) -> Document | None:
        """The document of the same content (`by_number`: or number) that is, or may be, at the access point."""
        return self.write(lambda connection: _duplicate_of(connection, document, by_number=by_number))

    def open_like(self, folder: str, sha256: str) -> list[Document]:
        """Documents of a folder with exactly these bytes that are unfinished or not put away yet."""
        return self._documents(statements.OPEN_LIKE, folder=folder, sha256=sha256)

    def document(self, document_id: str) -> Document | None:
        """A document by its id."""
        return next(iter(self._documents(statements.BY_ID, id=document_id)), None)

    def documents(self, document_ids: Iterable[str]) -> list[Document]:
        """The documents of these ids."""
        return self._documents(statements.BY_IDS, ids=json.dumps(list(document_ids)))

    def next_due(self, folder: str) -> datetime | None:
        """When the first of a folder's waiting documents is to be tried again; None where none waits for a moment."""
        return from_moment(self.value(statements.NEXT_DUE, folder=folder))

    def tracked(self, identity: str, now: datetime, *, longest: timedelta, limit: int) -> list[Document]:
        """An account's accepted documents to be asked after `now`: those that lie in `sent/`, the oldest of them.

        Each is asked after again after `longest` at most.

        One whose move isn't known yet has its sweep still to come: delivered now, it would be looked for in vain.
        """
        return self._documents(statements.TRACKED, identity=identity, **_due(now, longest), most=limit)

    def tracking_due(self, identity: str) -> datetime | None:
        """When the first of them is due; None where none is on its way."""
        return from_moment(self.value(statements.TRACKING_DUE, identity=identity))

    def counts(self, folder: str) -> dict[str, int]:
        """How many open documents of a folder are in each state, by the state's name."""
        return dict(self.read(statements.COUNTS, folder=folder))  # type: ignore[arg-type] # a row of two is a pair

    def owned(self, identity: str, numbers: Iterable[int]) -> dict[int, list[str | None]]:
        """Which of these message numbers belong to a document, or are known to be surplus; each with its `received`.

        A server set up anew counts from the start again, so a number alone doesn't say that a message is the same.
        """
        owned = defaultdict[int, list[str | None]](list)
        for msg_no, received in self.read(statements.OWNED, identity=identity, numbers=json.dumps(list(numbers))):
            owned[msg_no].append(received)
        return owned

    def surplus(self, identity: str) -> list[tuple[int, str]]:
        """The messages of an account that we didn't mean to send: each number, and its document's name."""
        return [(msg_no, from_name(name)) for msg_no, name in self.read(statements.SURPLUS_OF, identity=identity)]

    def record_surplus(self, identity: str, msg_no: int, received: str | None, document: Document) -> None:
        """Write down that the access point has this document more often than we meant to send it."""
        values = {"identity": identity, "msg_no": msg_no, "received": received, "document": document.id}
        self.write(lambda connection: connection.execute(statements.INSERT_SURPLUS, values))

    def _documents(self, statement: str, **values: Any) -> list[Document]:
        return [_document(row) for row in self.read(statement, **values)]


def _put(connection: sqlite3.Connection, document: Document) -> Document:
    values = {name: getattr(document, name) for name in statements.COLUMNS}
    values |= {name: as_name(values[name]) for name in _NAMES}
    values |= {name: as_moment(values[name]) for name in _MOMENTS}
    values["state"] = document.state.value
    values["open"] = _is_open(document)
    values["sources"] = json.dumps(dict(document.sources))
    values["warnings"] = json.dumps(document.warnings)
    values["error"] = json.dumps(asdict(document.error)) if document.error else None
    values["history"] = json.dumps([[event.at.isoformat(), event.event, event.facts] for event in document.history])
    values["revision"] = document.revision + 1
    if document.revision == 0:
        try:
            connection.execute(statements.INSERT, values)
        except sqlite3.IntegrityError:
            raise Changed(f"{document.dropped_as} is in the journal already") from None
    elif connection.execute(statements.UPDATE, values | {"before": document.revision}).rowcount != 1:
        raise Changed(f"{document.dropped_as} was taken a step further meanwhile")
    return document.but(revision=document.revision + 1)


def _is_open(document: Document) -> bool:
    """Unfinished, or finished and not yet put away."""
    return not document.state.finished or document.place != document.home


def _put_all(connection: sqlite3.Connection, documents: Iterable[Document]) -> list[Document]:
    written = []
    for document in documents:
        with suppress(Changed):
            written.append(_put(connection, document))
    return written


def _document(row: Sequence[Any]) -> Document:
    values = dict(zip(statements.COLUMNS, row, strict=True))
    values |= {name: from_name(values[name]) for name in _NAMES}
    values |= {name: from_moment(values[name]) for name in _MOMENTS}
    values["state"] = State(values["state"])
    values["sources"] = json.loads(values["sources"])
    values["warnings"] = tuple(json.loads(values["warnings"]))
    error = json.loads(values["error"] or "null")  # an older journal holds "null" itself
    values["error"] = Fault(**error) if error else None
    history = json.loads(values["history"])
    values["history"] = tuple(Event(datetime.fromisoformat(at), event, facts) for at, event, facts in history)
    return Document(**values)


def _due(now: datetime, longest: timedelta) -> dict[str, float]:
    return {"now": now.timestamp(), "latest": (now + longest).timestamp()}


def _duplicate_of(connection: sqlite3.Connection, document: Document, *, by_number: bool) -> Document | None:
    this = {"id": document.id, "meaning": document.meaning, "number": document.number}
    rows = connection.execute(statements.SAME_MEANING, this).fetchall()
    if by_number and document.number:
        rows += connection.execute(statements.SAME_NUMBER, this).fetchall()
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
