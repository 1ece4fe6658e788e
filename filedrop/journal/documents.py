"""Outbound documents in the journal: a row for each drop, in its state after its last step. What is written.

Waivers are duplicates that a person lets through (`retry --anyway`), each for one file until its claim. A waiver names
the folder, the name in `outbound/`, the content and the time of the last change, so that it holds for no other file
with the name. After the claim, the document's history says that it was let through.

Rows of documents that were removed from the archive go, and the journal's file becomes smaller.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from filedrop.errors import Changed, FiledropError
from filedrop.journal.engine import Part, write_rows
from filedrop.journal.finding import Finding
from filedrop.journal.folders import unsettle
from filedrop.journal.responses import tie_waiting
from filedrop.journal.schema import (
    ALL,
    BELIEVED,
    COLUMNS,
    MOMENTS,
    NAMES,
    NEEDY,
    SAME,
    as_moment,
    as_name,
    document_of,
    from_name,
)
from filedrop.model.document import CAME_BACK, Document, Need, State
from filedrop.model.twins import same_or_twin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from filedrop.journal.engine import Connection

# Columns that never change: an UPDATE without them leaves their indexes alone.
_FIXED = (
    "id", "company", "folder", "account", "dropped_as", "size", "sha256", "meaning", "type", "number", "issue_date",
    "type_code", "receiver_name", "pdf",
)  # fmt: skip
_THE_SAME = "id = :id AND revision = :before"
_INSERT = (
    f"INSERT INTO documents (open, ended, {', '.join(COLUMNS)}) VALUES (:open, :ended, :{', :'.join(COLUMNS)})"
    " ON CONFLICT DO NOTHING"
)
_SET = ", ".join(f"{name} = :{name}" for name in COLUMNS if name not in _FIXED)
_SET_PLACE = "place = :place, file = :file, revision = :revision"
# What isn't finished stays open: setting that again would write each partial index again, whose pages lie far apart.
_UPDATE = f"UPDATE documents SET {_SET} WHERE {_THE_SAME}"
_END = f"UPDATE documents SET open = :open, ended = coalesce(ended, :ended), {_SET} WHERE {_THE_SAME}"
_GO_ON = f"UPDATE documents SET open = :open, ended = NULL, {_SET} WHERE {_THE_SAME}"
_MOVE = f"UPDATE documents SET {_SET_PLACE} WHERE {_THE_SAME}"
_PUT_AWAY = f"UPDATE documents SET open = :open, {_SET_PLACE} WHERE {_THE_SAME}"
# The directory is asked twice, with a pause between, however often filedrop is started.
_RETRY_NEEDY = f"UPDATE documents SET due = :now WHERE {NEEDY} = :folder AND due > :now AND needs <> '{Need.RECEIVER}'"
# One row for each value, however many documents have it. For two EXISTS, PostgreSQL would read all documents.
_HAS = "(SELECT 1 FROM documents WHERE {} = value LIMIT 1) IS NOT NULL".format
_KNOWN_CONTENT = f"""
    SELECT 'meaning', value FROM json_each(:meaning) WHERE {_HAS("meaning")} OR {_HAS("posted_meaning")}
    UNION ALL SELECT 'number', value FROM json_each(:number) WHERE {_HAS("number")}
"""
_MEANS = "SELECT id FROM documents WHERE {} IN (SELECT value FROM json_each(:meanings))".format
_SAME_MEANING = f"{ALL} id IN ({_MEANS('meaning')} UNION {_MEANS('posted_meaning')}) AND id <> :id AND {BELIEVED}"
_SAME_NUMBER = f"{ALL} number = :number AND id <> :id AND {BELIEVED}"
# Bounded: some systems give one number to all documents of a type.
_SAME_NUMBER_LATELY = (
    f"{ALL} rowid IN (SELECT rowid FROM documents WHERE number = :number ORDER BY rowid DESC LIMIT 1000)"
    f" AND {SAME('type')} AND {SAME('issue_date')} AND id <> :id AND {BELIEVED} ORDER BY id LIMIT 20"
)
_INSERT_RESTORED = "INSERT INTO restored (document) VALUES (:id) ON CONFLICT DO NOTHING"

_facts = attrgetter("type", "number", "issue_date")

_GIVE_WAIVER = """
    INSERT INTO waivers (folder, file, sha256, modified) VALUES (:folder, :file, :sha256, :modified)
    ON CONFLICT (folder, file) DO UPDATE SET sha256 = excluded.sha256, modified = excluded.modified
"""
_WAIVER = "SELECT sha256, modified FROM waivers WHERE folder = :folder AND file = :file"
_WAIVED = "SELECT file FROM waivers WHERE folder = :folder"
_END_WAIVER = "DELETE FROM waivers WHERE folder = :folder AND file = :file"

# By the index of what has ended: the oldest first.
_ARCHIVED = (
    f"SELECT id FROM documents WHERE company = :company AND state = '{State.DELIVERED}' AND ended < :before"
    " AND folder = :folder AND NOT open AND place >= 'archive/' AND place < :first_kept"
    " AND id NOT IN (SELECT value FROM json_each(:kept)) ORDER BY ended LIMIT :most"
)
_DROPPED_AS = "SELECT id FROM documents WHERE dropped_as = :name"
_FORGET = (
    "DELETE FROM restored WHERE document IN (SELECT value FROM json_each(:ids))",
    "DELETE FROM surplus WHERE document IN (SELECT value FROM json_each(:ids))",
    "DELETE FROM responses WHERE document <> '' AND document IN (SELECT value FROM json_each(:ids))",
    "DELETE FROM documents WHERE id IN (SELECT value FROM json_each(:ids))",
)


class Duplicate(FiledropError):
    """The same content is, or may be, at the access point already; `document` is the earlier one."""

    def __init__(self, document: Document) -> None:
        super().__init__(f"the same document was already sent as {document.dropped_as}")
        self.document = document


class Documents(Finding):
    """The documents' part of the journal."""

    def record(self, document: Document) -> Document:
        """Write a document's step durably and return it with its new revision. Raises Changed, JournalError."""
        (result,) = self.record_each([document])
        if isinstance(result, FiledropError):
            raise result
        return result

    def record_all(self, documents: Iterable[Document]) -> list[Document]:
        """Write the steps of several documents in one commit; returns those that had not changed meanwhile."""
        wanted = list(documents)
        return self._write(lambda connection: _unchanged(put_all(connection, wanted))) if wanted else []

    def restore(self, documents: Iterable[Document]) -> None:
        """Write documents from their sidecars in one commit. Untrusted, they count for their own company only."""
        wanted = list(documents)

        def write_restored(connection: Connection) -> None:
            written = _unchanged(_write_all(connection, wanted))
            connection.executemany(_INSERT_RESTORED, [{"id": document.id} for document in written])
            tie_waiting(connection, written)  # only now: what is untrusted must be known as that

        if wanted:
            self._write(write_restored)

    def record_each(self, documents: Iterable[Document]) -> list[Document | FiledropError]:
        """Write a step of each document in one commit; for each, the result or error of `record`."""
        return self._write_each(put_all, list(documents))

    def record_places(self, documents: Iterable[Document]) -> None:
        """Write the new places of several documents in one commit, except of those that have changed meanwhile."""
        moves = [
            (
                _PUT_AWAY if document.state.finished else _MOVE,
                {"id": document.id, "before": document.revision, "revision": document.revision + 1}
                | {"open": _is_open(document), "place": document.place, "file": as_name(document.file)},
            )
            for document in documents
        ]
        if moves:
            self._write(lambda connection: write_rows(connection, moves))

    def unsettle(self, folder: str, seen: int, suspects: Iterable[Document]) -> None:
        """Write that a folder isn't settled, and these steps, in one commit; `seen` is the count in its marker."""
        wanted = list(suspects)

        def put_and_unsettle(connection: Connection) -> None:
            put_all(connection, wanted)
            unsettle(connection, folder, seen)

        self._write(put_and_unsettle)

    def record_sending(
        self,
        documents: Iterable[Document],
        duplicates: str,
        *,
        warning: Callable[[Document], str],
        also: Callable[[Connection, Document], object] = lambda _connection, _document: None,
    ) -> list[Document | FiledropError]:
        """Write durably that these documents are about to be posted, except duplicates.

        `duplicates` is the configuration's rule: `refuse`, `number` or `allow`. Check and record are one transaction:
        only one of two identical documents can pass. Each becomes a Document, Duplicate, Changed or JournalError.
        Where the rule is `refuse`, a document with the number of an earlier one gets the `warning` about that one.
        `also` is done for each that is recorded, in the same transaction.
        """

        def put_unless_duplicate(connection: Connection, wanted: Sequence[Document]) -> list[Document | FiledropError]:
            known = _known_content(connection, wanted)
            results: list[Document | FiledropError] = []
            left: list[Document] = []
            for document in wanted:
                content = _content(document)
                if duplicates != "allow" and not document.was_let_through and not known.isdisjoint(content):
                    results += put_all(connection, left)  # first: it may be one of them
                    left = []
                    if first := _duplicate_of(connection, document, by_number=duplicates == "number"):
                        results.append(Duplicate(first))
                        continue
                    if earlier := _same_number_as(connection, document):
                        document = document.warned(warning(earlier))  # noqa: PLW2901 - the same document
                known.update(content)
                left.append(document)
            results += put_all(connection, left)
            for document in _unchanged(results):
                also(connection, document)
            return results

        return self._write_each(put_unless_duplicate, list(documents))

    def retry_needy(self, folder: str, now: datetime) -> None:
        """Make those of a folder's documents due that wait for something of their own."""
        values = {"folder": folder, "now": as_moment(now)}
        if self.needy(folder, now):
            self._write(lambda connection: connection.execute(_RETRY_NEEDY, values))

    def duplicate_of(self, document: Document, *, by_number: bool) -> Document | None:
        """The document with the same content (`by_number`: or number) that is, or may be, at the access point."""
        with self._engine.reading() as connection:
            return _duplicate_of(connection, document, by_number=by_number)

    def same_number_as(self, document: Document) -> Document | None:
        """The document with the number of this one that is, or may be, at the access point."""
        with self._engine.reading() as connection:
            return _same_number_as(connection, document)


def put_all(connection: Connection, documents: Sequence[Document]) -> list[Document | FiledropError]:
    """Write a step of each document within a transaction; for each, the document with its new revision, or Changed.

    Responses that have waited for the documents are tied to them in the same transaction.
    """
    results = _write_all(connection, documents)
    tie_waiting(connection, _unchanged(results))
    return results


def _write_all(connection: Connection, documents: Sequence[Document]) -> list[Document | FiledropError]:
    steps = [(_statement(document), _values(document)) for document in documents]
    return [
        document.but(revision=document.revision + 1) if is_written else _changed(document)
        for document, is_written in zip(documents, write_rows(connection, steps), strict=True)
    ]


def _statement(document: Document) -> str:
    if not document.revision:
        return _INSERT
    if document.state.finished:
        return _END
    return _GO_ON if document.history and document.history[-1].event == CAME_BACK else _UPDATE


def _changed(document: Document) -> Changed:
    what = "was taken a step further meanwhile" if document.revision else "is in the journal already"
    return Changed(f"{document.dropped_as} {what}")


def _unchanged(results: Iterable[Document | FiledropError]) -> list[Document]:
    return [result for result in results if isinstance(result, Document)]


def _values(document: Document) -> dict[str, Any]:
    values = document.__dict__ | {name: as_name(getattr(document, name)) for name in NAMES}
    values |= {name: as_moment(values[name]) for name in MOMENTS}
    values["state"] = document.state.value
    values["needs"] = document.needs.value if document.needs else ""
    values["open"] = _is_open(document)
    values["ended"] = as_moment(document.history[-1].at) if document.state.finished and document.history else None
    values["sources"] = json.dumps(dict(document.sources))
    values["warnings"] = json.dumps(document.warnings)
    values["error"] = json.dumps(asdict(document.error)) if document.error else None
    values["pdf"] = json.dumps(asdict(document.pdf)) if document.pdf else None
    values["prepared"] = json.dumps(asdict(document.prepared)) if document.prepared else None
    values["history"] = json.dumps([[event.at.isoformat(), event.event, event.facts] for event in document.history])
    return values | {"revision": document.revision + 1, "before": document.revision}


def _is_open(document: Document) -> bool:
    """Whether it is unfinished, or finished and not yet moved."""
    return not document.state.finished or document.place != document.home


def _content(document: Document) -> set[tuple[str, str | None]]:
    """The content and the number by which a duplicate of a document is found."""
    return {
        *(("meaning", meaning) for meaning in document.meanings),
        *([("number", document.number)] if document.number else ()),
    }


def _known_content(connection: Connection, documents: Iterable[Document]) -> set[tuple[str, str | None]]:
    """What of these documents' `_content` any row has: mostly nothing, by one question for all."""
    content = set[tuple[str, str | None]]().union(*map(_content, documents))
    values = {key: json.dumps([value for kind, value in content if kind == key]) for key in ("meaning", "number")}
    return set(connection.execute(_KNOWN_CONTENT, values))


def _same_number_as(connection: Connection, document: Document) -> Document | None:
    """A document that may be at the access point, with the sender, type, number and issue date of this one."""
    this = {key: getattr(document, key) for key in ("id", "company", "number", "type", "issue_date")}
    rows = connection.execute(_SAME_NUMBER_LATELY, this) if document.number else ()
    for other in map(document_of, rows):
        if other.may_be_accepted and same_or_twin(other.sender, document.sender):
            return other
    return None


def _duplicate_of(connection: Connection, document: Document, *, by_number: bool) -> Document | None:
    this = {key: getattr(document, key) for key in ("id", "company", "number")}
    this |= {"meanings": json.dumps(list(document.meanings))}
    rows = connection.execute(_SAME_MEANING, this).fetchall()
    if by_number and document.number:
        rows += connection.execute(_SAME_NUMBER, this).fetchall()
    for other in map(document_of, rows):
        same_receiver = same_or_twin(other.receiver, document.receiver)
        has_same_number = by_number and bool(document.number) and _facts(other) == _facts(document)
        is_same = has_same_number or (same_receiver and not other.meanings.isdisjoint(document.meanings))
        if is_same and same_or_twin(other.sender, document.sender) and other.may_be_accepted:
            return other
    return None


class Waiver(NamedTuple):
    """The content that is let through, and the last change of its file (in nanoseconds, by its file system)."""

    sha256: str
    modified: int


class Waivers(Part):
    """The waivers' part of the journal."""

    def give(self, folder: str, file: str, waiver: Waiver) -> None:
        """Let a duplicate be sent that is about to be moved to `outbound/` of a folder."""
        values = {"folder": folder, "file": as_name(file), **waiver._asdict()}
        self._write(lambda connection: connection.execute(_GIVE_WAIVER, values))

    def of(self, folder: str, file: str) -> Waiver | None:
        """The waiver for this name; None where there is none."""
        rows = self._read(_WAIVER, folder=folder, file=as_name(file))
        return Waiver(*rows[0]) if rows else None

    def waived(self, folder: str) -> list[str]:
        """The names of a folder's files that have waivers."""
        return [from_name(file) for (file,) in self._read(_WAIVED, folder=folder)]

    def end(self, folder: str, files: Iterable[str]) -> None:
        """Delete the waivers for these names."""
        ended = [{"folder": folder, "file": as_name(file)} for file in files]
        if ended:
            self._write(lambda connection: connection.executemany(_END_WAIVER, ended))


class Removal(Part):
    """The removing part of the journal."""

    def forget_archived(
        self, folder: str, company: str, before: datetime, first_kept: str, most: int, *, kept: Iterable[str]
    ) -> int:
        """Remove rows of a folder's delivered documents; returns how many.

        `before`: when they had ended, by our clock. `first_kept`: the first place that is kept, like `archive/2026-11`.
        `kept`: the names of documents that are kept.
        """
        ids_kept = [id_ for name in kept for (id_,) in self._read(_DROPPED_AS, name=as_name(name))]
        values = {
            "kept": json.dumps(ids_kept),
            "folder": folder,
            "company": company,
            "before": as_moment(before),
            "first_kept": first_kept,
        }
        ids = [id_ for (id_,) in self._read(_ARCHIVED, **values, most=most)]
        return self.forget(ids)

    def forget(self, ids: Sequence[str]) -> int:
        """Remove the rows of these documents; returns how many documents they are."""

        def forget_all(connection: Connection) -> None:
            for statement in _FORGET:
                connection.execute(statement, {"ids": json.dumps(ids)})

        if ids:
            self._write(forget_all)
        return len(ids)
