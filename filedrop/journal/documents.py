"""Outbound documents in the journal: a row for each drop, in its state after its last step."""

from __future__ import annotations

import json
from collections import defaultdict
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from filedrop.errors import Changed, FiledropError
from filedrop.journal import statements
from filedrop.journal.engine import Part
from filedrop.journal.folders import unsettle
from filedrop.journal.rows import MOMENTS, NAMES, document_of
from filedrop.journal.schema import as_moment, as_name, from_moment, from_name
from filedrop.journal.tying import tie_waiting
from filedrop.model.document import Document, Need, State
from filedrop.model.message import number
from filedrop.model.twins import same_company

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from datetime import datetime, timedelta

    from filedrop.identify import Reading
    from filedrop.journal.engine import Connection
    from filedrop.journal.rows import Known

_facts = attrgetter("type", "number", "issue_date")


class Duplicate(FiledropError):
    """The same content is, or may be, at the access point already; `document` is the earlier one."""

    def __init__(self, document: Document) -> None:
        super().__init__(f"the same document was already sent as {document.dropped_as}")
        self.document = document


class Drop(NamedTuple):
    """A dropped file: its name in `outbound/`, the one that it gets in `sending/` if that is free, and its content."""

    name: str
    file: str
    sha256: str


class Newest(NamedTuple):
    """The newest of `total` documents, the newest first."""

    total: int
    documents: list[Document]


class Documents(Part):
    """The documents' part of the journal."""

    def record(self, document: Document) -> Document:
        """Write a document's step durably and return it with its new revision. Raises Changed, JournalError."""
        return self._write(lambda connection: put(connection, document))

    def record_all(self, documents: Iterable[Document]) -> list[Document]:
        """Write the steps of several documents in one commit; returns those that had not changed meanwhile."""
        wanted = list(documents)
        return self._write(lambda connection: _put_all(connection, wanted)) if wanted else []

    def restore(self, documents: Iterable[Document]) -> None:
        """Write documents from their sidecars in one commit. Untrusted, they count for their own company only."""
        wanted = list(documents)

        def work(connection: Connection) -> None:
            written = _put_all(connection, wanted, _write)
            connection.executemany(statements.INSERT_RESTORED, [{"id": document.id} for document in written])
            for document in written:  # only now: what is untrusted must be known as that
                tie_waiting(connection, document)

        if wanted:
            self._write(work)

    def record_each(self, documents: Iterable[Document]) -> list[Document | FiledropError]:
        """Write a step of each document in one commit; for each, the result or error of `record`."""
        return self._write_each([partial(put, document=document) for document in documents])

    def record_places(self, documents: Iterable[Document]) -> None:
        """Write the new places of several documents in one commit, except of those that have changed meanwhile."""
        moves = [
            {"id": document.id, "before": document.revision, "revision": document.revision + 1}
            | {"open": _is_open(document), "place": document.place, "file": as_name(document.file)}
            for document in documents
        ]
        if moves:
            self._write(lambda connection: connection.executemany(statements.MOVE, moves))

    def unsettle(self, folder: str, seen: int, suspects: Iterable[Document]) -> None:
        """Write that a folder isn't settled, and these steps, in one commit; `seen` is the count in its marker."""
        wanted = list(suspects)

        def work(connection: Connection) -> None:
            _put_all(connection, wanted)
            unsettle(connection, folder, seen)

        self._write(work)

    def record_sending(
        self, documents: Iterable[Document], duplicates: str, *, warning: Callable[[Document], str]
    ) -> list[Document | FiledropError]:
        """Write durably that these documents are about to be posted, except duplicates.

        `duplicates` is the configuration's rule: `refuse`, `number` or `allow`. Check and record are one transaction:
        only one of two identical documents can pass. Each becomes a Document, Duplicate, Changed or JournalError.
        Where the rule is `refuse`, a document with the number of an earlier one gets the `warning` about that one.
        """
        wanted = list(documents)
        known_content = self._engine.once_in_each(partial(_known_content, documents=wanted))

        def work(connection: Connection, document: Document) -> Document:
            known, content = known_content(connection), _content(document)
            if duplicates != "allow" and not document.was_let_through and not known.isdisjoint(content):
                first = _duplicate_of(connection, document, by_number=duplicates == "number")
                if first:
                    raise Duplicate(first)
                if earlier := _same_number_as(connection, document):
                    document = document.warned(warning(earlier))
            known.update(content)
            return put(connection, document)

        return self._write_each([partial(work, document=document) for document in wanted])

    def steps_due(self, folder: str, now: datetime | None, *, longest: timedelta, limit: int) -> list[Document]:
        """Documents of a folder for its next step: left in state sending, not yet put away, or waiting and due.

        `longest` is the longest possible wait. Where `now` is None, waiting documents are left out. `limit` is for each
        state: what can't be put away must not hide the others.
        """
        due = self._documents(statements.ACCEPTED_IN_SENDING, folder=folder, most=limit)
        for state in (State.SENDING, State.DELIVERED, State.FAILED):
            due += self._documents(statements.LEFT_IN_STATE, folder=folder, state=state.value, most=limit)
        if now is not None:
            due += self._documents(statements.WAITING_DUE, folder=folder, **_due(now, longest), most=limit)
        return due

    def lying_in(self, folder: str, place: str) -> list[Document]:
        """The open documents of a folder in `sending/` or `sent/`, by the journal."""
        return self._documents(statements.LYING_IN, folder=folder, place=place)

    def files_in(self, folder: str, place: str) -> Iterator[tuple[str, str]]:
        """File names and document ids of the open documents in `sending/` or `sent/`, by the journal; lazily."""
        last: Sequence[Any] = (b"", "")
        # A query for each part: while one is open, because a share hangs say, the journal's file only grows.
        while part := self._read(statements.FILES_IN, folder=folder, place=place, file=last[0], id=last[1]):
            yield from ((from_name(file), id_) for file, id_ in part)
            last = part[-1]

    def kept_in_sending(self, folder: str, before: datetime, now: datetime) -> list[tuple[str, State, bool]]:
        """What isn't accepted yet, claimed before then or, by another clock, later than now.

        For each its id, its state, and whether it waits for a reason of its own.
        """
        rows = self._read(statements.KEPT_IN_SENDING, folder=folder, before=as_moment(before), now=as_moment(now))
        return [(id_, State(state), bool(is_put_off)) for id_, state, is_put_off in rows]

    def needy(self, folder: str, now: datetime) -> int:
        """How many of a folder's documents wait until later for something of their own."""
        return int(self._value(statements.NEEDY, folder=folder, now=as_moment(now)))

    def first_without(self, need: Need, folders: Iterable[str]) -> tuple[int, Document | None]:
        """How many documents of these folders wait for this, and the first of them."""
        values = {"need": need.value, "folders": json.dumps(list(folders))}
        ((count, first),) = self._read(statements.FIRST_WITHOUT, **values)
        return count, self.by_id(first) if first else None

    def needy_documents(self, folder: str) -> Iterator[Document]:
        """A folder's documents that wait for something of their own; lazily."""
        after = ""
        while part := self._documents(statements.NEEDY_IN, folder=folder, after=after):
            yield from part
            after = part[-1].id

    def retry_needy(self, folder: str, now: datetime) -> None:
        """Make those of a folder's documents due that wait for something of their own."""
        values = {"folder": folder, "now": as_moment(now)}
        if self.needy(folder, now):
            self._write(lambda connection: connection.execute(statements.RETRY_NEEDY, values))

    def spoken_of(self, folder: str, places: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
        """Those of these places and file names that are recorded as open documents'.

        Their files may have been moved, and the records lost: another file with the name would be mistaken for one.
        """
        by_place = defaultdict[str, list[str]](list)
        for place, file in places:
            by_place[place].append(file)
        spoken = set[tuple[str, str]]()
        for place, names in by_place.items():
            listed, files = _parameters("file", names)
            rows = self._read(statements.NAMED.format(files=listed), folder=folder, place=place, **files)
            spoken |= {(place, from_name(file)) for (file,) in rows}
        return spoken

    def has_had(self, folder: str, file: str, unnumbered: str) -> bool:
        """Whether a document, open or ended, has this file name in a folder.

        `unnumbered`: the name without the number that filedrop may have given it.
        """
        names = {"file": as_name(file), "unnumbered": as_name(unnumbered)}
        return self._value(statements.HAS_HAD, folder=folder, **names) is not None

    def known_of(self, folder: str, drops: Collection[Drop]) -> set[str]:
        """The names of those dropped files that a row may concern.

        That is: an open document with the same bytes, one that is `spoken_of` as `file` in `sending/`, or a waiver.
        """
        if not drops:
            return set()
        values = {"folder": folder, "place": "sending", "digests": json.dumps([drop.sha256 for drop in drops])}
        (files, as_files), (names, as_names) = (
            _parameters(key, [getattr(drop, key) for drop in drops]) for key in ("file", "name")
        )
        found = set(self._read(statements.KNOWN_OF.format(files=files, names=names), **values, **as_files, **as_names))
        kinds = ("sha256", "file", "waiver")
        return {
            drop.name
            for drop in drops
            if not found.isdisjoint(zip(kinds, map(as_name, (drop.sha256, drop.file, drop.name)), strict=True))
        }

    def in_state(self, state: State, *, identity: str | None = None) -> list[Document]:
        """Open documents in this state, oldest first; of one account, where `identity` is given."""
        return self._documents(statements.IN_STATE, state=state.value, identity=identity)

    def newest(self, accepted_before: datetime, most: int) -> dict[tuple[str, str], Newest]:
        """Documents that people may have to look at, by company and kind, at most `most` of each.

        The kinds: `waiting` for a retry, `doubt`, `overdue` (accepted before `accepted_before`), `sent` with warnings.
        """
        found = self._read(statements.NEWEST, accepted_before=as_moment(accepted_before), most=most)
        documents = {document.id: document for document in self.by_ids([id_ for _, _, id_, _ in found])}
        newest: dict[tuple[str, str], Newest] = {}
        for company, kind, id_, total in found:
            if id_ in documents:  # else removed between the two reads
                newest.setdefault((company, kind), Newest(total, [])).documents.append(documents[id_])
        return newest

    def duplicate_of(self, document: Document, *, by_number: bool) -> Document | None:
        """The document with the same content (`by_number`: or number) that is, or may be, at the access point."""
        with self._engine.reading() as connection:
            return _duplicate_of(connection, document, by_number=by_number)

    def given_to(self, folder: str, file: str, reading: Reading) -> str | None:
        """The original name of the latest document with this file name, and this content or number, in a folder."""
        values = {"meaning": reading.meaning, "type": reading.root_name, "number": reading.number}
        values |= {"issue_date": reading.issue_date, "folder": folder}
        name = self._value(statements.GIVEN_TO, file=as_name(file), **values)
        return None if name is None else from_name(name)

    def by_id(self, document_id: str) -> Document | None:
        """A document by its id."""
        return next(iter(self._documents(statements.BY_ID, id=document_id)), None)

    def called(self, name: str, unnumbered: str) -> list[Document]:
        """The documents that a person may mean by an id, a message number or the name of a file, the newest first.

        `unnumbered`: the name without the number that filedrop may have given it.
        """
        names = {"file": as_name(name), "unnumbered": as_name(unnumbered)}
        return self._documents(statements.CALLED, name=name, msg_no=number(name), **names)

    def search(self, known: Known, now: datetime, *, most: int) -> list[Document]:
        """The newest of the documents that this is known of."""
        return self._documents(statements.SEARCH, most=most, **known.values(now))

    def by_ids(self, document_ids: Iterable[str]) -> list[Document]:
        """The documents with these ids."""
        return self._documents(statements.BY_IDS, ids=json.dumps(list(document_ids)))

    def next_due(self, folder: str) -> datetime | None:
        """When the first of a folder's waiting documents is due for a retry; None where none has a time."""
        return from_moment(self._value(statements.NEXT_DUE, folder=folder))

    def tracked(self, identity: str, now: datetime, *, longest: timedelta, limit: int) -> list[Document]:
        """The oldest of an account's documents in `sent/` whose delivery is due to be checked at `now`.

        `longest` is the longest possible pause between checks. Documents whose move to `sent/` isn't recorded are left
        out: after a delivery, their files would be looked for in the wrong place.
        """
        return self._documents(statements.TRACKED, identity=identity, **_due(now, longest), most=limit)

    def tracking_due(self, identity: str) -> datetime | None:
        """When the first of an account's documents in `sent/` is due to be checked; None where there is none."""
        return from_moment(self._value(statements.TRACKING_DUE, identity=identity))

    def counts(self, folder: str) -> dict[str, int]:
        """The number of a folder's open documents in each state, by its name."""
        return dict(self._read(statements.COUNTS, folder=folder))  # type: ignore[arg-type] # a row of two is a pair

    def elsewhere(self, identities: Iterable[str]) -> list[tuple[str, str, State, int]]:
        """Unfinished posted documents of other accounts: identity, company, state, number of documents."""
        rows = self._read(statements.ELSEWHERE, identities=json.dumps(list(identities)))
        return [(identity, company, State(state), number) for identity, company, state, number in rows]

    def _documents(self, statement: str, **values: Any) -> list[Document]:
        return [document_of(row) for row in self._read(statement, **values)]


def put(connection: Connection, document: Document, known: set[str] | None = None) -> Document:
    """Write a document's step within a transaction and return it with its new revision. Raises Changed.

    Responses that have waited for the document are tied to it in the same transaction; `known` as for `tie_waiting`.
    """
    written = _write(connection, document)
    tie_waiting(connection, written, known)
    return written


def _write(connection: Connection, document: Document) -> Document:
    values = document.__dict__ | {name: as_name(getattr(document, name)) for name in NAMES}
    values |= {name: as_moment(values[name]) for name in MOMENTS}
    values["state"] = document.state.value
    values["needs"] = document.needs.value if document.needs else ""
    values["open"] = _is_open(document)
    values["ended"] = as_moment(document.history[-1].at) if document.state.finished and document.history else None
    values["sources"] = json.dumps(dict(document.sources))
    values["warnings"] = json.dumps(document.warnings)
    values["error"] = json.dumps(asdict(document.error)) if document.error else None
    values["history"] = json.dumps([[event.at.isoformat(), event.event, event.facts] for event in document.history])
    values["revision"] = document.revision + 1
    if document.revision == 0:
        if connection.execute(statements.INSERT, values).rowcount != 1:
            raise Changed(f"{document.dropped_as} is in the journal already")
    elif connection.execute(statements.UPDATE, values | {"before": document.revision}).rowcount != 1:
        raise Changed(f"{document.dropped_as} was taken a step further meanwhile")
    return document.but(revision=document.revision + 1)


def _is_open(document: Document) -> bool:
    """Whether it is unfinished, or finished and not yet moved."""
    return not document.state.finished or document.place != document.home


def _put_all(
    connection: Connection,
    documents: Iterable[Document],
    write: Callable[[Connection, Document], Document] = put,
) -> list[Document]:
    written = []
    for document in documents:
        with suppress(Changed):
            written.append(write(connection, document))
    return written


def _content(document: Document) -> set[tuple[str, str | None]]:
    """The content and the number by which a duplicate of a document is found."""
    return {("meaning", document.meaning), *([("number", document.number)] if document.number else ())}


def _known_content(connection: Connection, documents: Iterable[Document]) -> set[tuple[str, str | None]]:
    """What of these documents' `_content` any row has: mostly nothing, by one question for all."""
    content = set[tuple[str, str | None]]().union(*map(_content, documents))
    values = {key: json.dumps([value for kind, value in content if kind == key]) for key in ("meaning", "number")}
    return set(connection.execute(statements.KNOWN_CONTENT, values))


def _parameters(key: str, names: Iterable[str]) -> tuple[str, dict[str, bytes]]:
    """File names as so many parameters: what stands in the statement, and the values."""
    values = {f"{key}{nth}": as_name(name) for nth, name in enumerate(names)}
    return ", ".join(f":{parameter}" for parameter in values), values


def _due(now: datetime, longest: timedelta) -> dict[str, float]:
    return {"now": now.timestamp(), "latest": (now + longest).timestamp()}


def _same_number_as(connection: Connection, document: Document) -> Document | None:
    """A document that may be at the access point, with the sender, type, number and issue date of this one."""
    this = {key: getattr(document, key) for key in ("id", "company", "number", "type", "issue_date")}
    rows = connection.execute(statements.SAME_NUMBER_LATELY, this) if document.number else ()
    for other in map(document_of, rows):
        if other.may_be_accepted and same_company(other.sender, document.sender):
            return other
    return None


def _duplicate_of(connection: Connection, document: Document, *, by_number: bool) -> Document | None:
    this = {key: getattr(document, key) for key in ("id", "company", "meaning", "number")}
    rows = connection.execute(statements.SAME_MEANING, this).fetchall()
    if by_number and document.number:
        rows += connection.execute(statements.SAME_NUMBER, this).fetchall()
    for other in map(document_of, rows):
        same_receiver = same_company(other.receiver, document.receiver)
        has_same_number = by_number and bool(document.number) and _facts(other) == _facts(document)
        is_same = has_same_number or (other.meaning == document.meaning and same_receiver)
        if is_same and same_company(other.sender, document.sender) and other.may_be_accepted:
            return other
    return None
