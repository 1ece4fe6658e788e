"""Outbound documents in the journal, as they are asked for."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from filedrop.journal.engine import Part
from filedrop.journal.schema import (
    ALL,
    BY_IDS,
    EACH,
    KNOWN,
    NEEDY,
    SAME,
    as_moment,
    as_name,
    document_of,
    from_moment,
    from_name,
)
from filedrop.model.document import Document, Need, State
from filedrop.model.message import number

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from datetime import datetime, timedelta

    from filedrop.identify import Reading
    from filedrop.journal.schema import Known

_IS_DUE = "(due IS NULL OR due <= :now OR due > :latest)"  # as `pauses.Backoff.is_due`
_ON_ITS_WAY = f"open AND identity = :identity AND state = '{State.SENT}' AND place = 'sent'"
_STEP = f"{ALL} open AND folder = :folder AND"
_WAITING = f"open AND folder = :folder AND state = '{State.WAITING}' AND place = 'sending'"
_IN_ORDER = "ORDER BY id LIMIT :most"
_LEFT = (
    f"{_STEP} state = '{State.SENT}' AND place = 'sending' {_IN_ORDER}",
    *(
        f"{_STEP} state = '{state}' {_IN_ORDER}"
        for state in (State.SENDING, State.DELIVERED, State.FAILED, State.UNREACHABLE)
    ),
)
_WAITING_DUE = f"{ALL} {_WAITING} AND {_IS_DUE} {_IN_ORDER}"
_STEPS_LEFT, _STEPS_DUE = (
    " UNION ALL ".join(f"SELECT * FROM ({part}) AS part{nth}" for nth, part in enumerate(parts))
    for parts in (_LEFT, (*_LEFT, _WAITING_DUE))
)
_LIES = "open AND folder = :folder AND place = :place"
_LYING_IN = f"{ALL} {_LIES}"
_FILES_IN = f"SELECT file, id FROM documents WHERE {_LIES} AND (file, id) > (:file, :id) ORDER BY file, id LIMIT 1000"
_KEPT_IN_SENDING = (
    "SELECT id, state, needs <> '' OR due IS NOT NULL FROM documents"
    " WHERE open AND folder = :folder AND place = 'sending'"
    f" AND (claimed <= :before OR claimed > :now) AND state IN ('{State.WAITING}', '{State.SENDING}', '{State.DOUBT}')"
)
_NEEDY_LATER = f"SELECT count(*) FROM documents WHERE {NEEDY} = :folder AND due > :now"
_NEEDY_IN = f"{ALL} {NEEDY} = :folder AND id > :after ORDER BY id LIMIT 200"
_FIRST_WITHOUT = f"""
    SELECT count(*), min(id) FROM documents
    WHERE {NEEDY} IN (SELECT value FROM json_each(:folders)) AND needs = :need
"""
_HAS_HAD = (
    "SELECT 1 FROM documents WHERE dropped_as IN (:file, :unnumbered) AND folder = :folder AND file = :file LIMIT 1"
)
# File names are bytes, which no JSON holds: each is a parameter.
_NAMED = f"SELECT file FROM documents WHERE {_LIES} AND file IN ({{files}})"
_KNOWN_OF = f"""
    SELECT 'sha256', CAST(sha256 AS BLOB) FROM documents
        WHERE open AND folder = :folder AND sha256 IN (SELECT value FROM json_each(:digests))
    UNION ALL SELECT 'file', file FROM ({_NAMED}) AS named
    UNION ALL SELECT 'waiver', file FROM waivers WHERE folder = :folder AND file IN ({{names}})
"""
_IN_STATE = f"{ALL} open AND state = :state AND (identity = :identity OR :identity IS NULL) ORDER BY id"
_UNFINISHED = "SELECT id, company, {kind} AS kind FROM documents WHERE open AND state = "
_SENT_KINDS = "CASE WHEN accepted < :accepted_before THEN 'overdue' ELSE 'sent' END"
# The inner SELECTs read few columns, in one scan for each state.
_NEWEST = f"""
    SELECT company, kind, id, total FROM (
        SELECT company, kind, id, count(*) OVER (PARTITION BY company, kind) AS total,
            row_number() OVER (PARTITION BY company, kind ORDER BY id DESC) AS nth
        FROM (
            {_UNFINISHED.format(kind="'doubt'")} '{State.DOUBT}'
            UNION ALL {_UNFINISHED.format(kind="'waiting'")} '{State.WAITING}' AND due IS NOT NULL
            UNION ALL {_UNFINISHED.format(kind=_SENT_KINDS)} '{State.SENT}'
                AND (accepted < :accepted_before OR warnings <> '[]')
        ) AS unfinished
    ) AS ordered WHERE nth <= :most ORDER BY id DESC
"""
_DELIVERED_TO = f"""
    SELECT receiver FROM documents WHERE company = :company AND state = '{State.DELIVERED}' AND ended IS NOT NULL
    ORDER BY ended DESC LIMIT 100
"""
_BY_ID = f"{ALL} id = :id"
_TAKEN = f"""
    {ALL} company = :company AND state = '{State.TAKEN}' AND ended IS NOT NULL AND folder = :folder
    AND msg_no IS NOT NULL ORDER BY ended DESC LIMIT 1000
"""
# Bounded: some systems give one number to all documents. What has ended counts if it `may_be_accepted`.
_VERSIONS = f"""
    SELECT dropped_as, type, number, issue_date, sender, meaning FROM documents WHERE rowid IN (
        SELECT rowid FROM documents WHERE number IN (SELECT value FROM json_each(:numbers))
        ORDER BY rowid DESC LIMIT 1000
    ) AND company = :company AND (
        state NOT IN ('{State.FAILED}', '{State.UNREACHABLE}', '{State.TAKEN}')
        OR (state = '{State.TAKEN}' AND (msg_no IS NOT NULL OR unclear > 0))
        OR (state = '{State.FAILED}' AND json_extract(error, '$.code') = 'no-answer')
    )
"""
_IDENTITIES = EACH.format(column="identity", rows="TRUE")
_CALLED = f"""
    {ALL} id IN (
        SELECT id FROM documents WHERE id = :name OR dropped_as = :file
        UNION SELECT id FROM documents WHERE dropped_as = :unnumbered AND file = :file
        UNION SELECT id FROM documents WHERE identity IN ({_IDENTITIES}) AND msg_no = :msg_no
        UNION SELECT document FROM surplus WHERE msg_no = :msg_no
    ) ORDER BY id DESC
"""
_SEARCH = f"{ALL} {KNOWN.format(name='receiver_name', time='claimed')} ORDER BY id DESC LIMIT :most"
_NEXT_DUE = f"SELECT min(due) FROM documents WHERE {_WAITING}"
_TRACKED = f"{ALL} {_ON_ITS_WAY} AND {_IS_DUE} {_IN_ORDER}"
_TRACKING_DUE = f"SELECT coalesce(due, 0.0) FROM documents WHERE {_ON_ITS_WAY} ORDER BY due LIMIT 1"
_COUNTS = "SELECT state, count(*) FROM documents WHERE open AND folder = :folder GROUP BY state"
_ELSEWHERE = (
    "SELECT identity, company, state, count(*) FROM documents"
    f" WHERE open AND state IN ('{State.SENDING}', '{State.DOUBT}', '{State.SENT}') AND identity <> ''"
    " AND identity NOT IN (SELECT value FROM json_each(:identities)) GROUP BY identity, company, state"
)
_GIVEN = "SELECT id, dropped_as FROM documents WHERE folder = :folder AND file = :file"
_GIVEN_TO = f"""
    SELECT dropped_as FROM (
        {_GIVEN} AND meaning = :meaning
        UNION ALL {_GIVEN} AND number = :number AND type = :type AND {SAME("issue_date")}
    ) AS given ORDER BY id DESC LIMIT 1
"""
_UNSENT_WITH_PDF = (
    f"{ALL} meaning = :meaning AND sha256 = :sha256 AND folder = :folder"
    f" AND state IN ('{State.FAILED}', '{State.UNREACHABLE}')"
    " AND pdf IS NOT NULL ORDER BY id DESC LIMIT 1"
)


class Drop(NamedTuple):
    """A dropped file: its name in `outbound/`, the one that it gets in `sending/` if that is free, and its content."""

    name: str
    file: str
    sha256: str


class Version(NamedTuple):
    """What tells whether two documents are versions of one: the name that it was dropped with, and what it says."""

    name: str
    type: str | None
    number: str
    issue_date: str | None
    sender: str | None
    meaning: str


class Newest(NamedTuple):
    """The newest of `total` documents, the newest first."""

    total: int
    documents: list[Document]


class Finding(Part):
    """The documents' part of the journal, as far as it only reads."""

    def steps_due(self, folder: str, now: datetime | None, *, longest: timedelta, limit: int) -> list[Document]:
        """Documents of a folder for its next step: left in state sending, not yet put away, or waiting and due.

        `longest` is the longest possible wait. Where `now` is None, waiting documents are left out. `limit` is for each
        state: what can't be put away must not hide the others.
        """
        if now is None:
            return self._documents(_STEPS_LEFT, folder=folder, most=limit)
        return self._documents(_STEPS_DUE, folder=folder, **_due(now, longest), most=limit)

    def lying_in(self, folder: str, place: str) -> list[Document]:
        """The open documents of a folder in `sending/` or `sent/`, by the journal."""
        return self._documents(_LYING_IN, folder=folder, place=place)

    def files_in(self, folder: str, place: str) -> Iterator[tuple[str, str]]:
        """File names and document ids of the open documents in `sending/` or `sent/`, by the journal; lazily."""
        last: Sequence[Any] = (b"", "")
        # A query for each part: while one is open, because a share hangs say, the journal's file only grows.
        while part := self._read(_FILES_IN, folder=folder, place=place, file=last[0], id=last[1]):
            yield from ((from_name(file), id_) for file, id_ in part)
            last = part[-1]

    def kept_in_sending(self, folder: str, before: datetime, now: datetime) -> list[tuple[str, State, bool]]:
        """What isn't accepted yet, claimed before then or, by another clock, later than now.

        For each its id, its state, and whether it waits for a reason of its own.
        """
        rows = self._read(_KEPT_IN_SENDING, folder=folder, before=as_moment(before), now=as_moment(now))
        return [(id_, State(state), bool(is_put_off)) for id_, state, is_put_off in rows]

    def needy(self, folder: str, now: datetime) -> int:
        """How many of a folder's documents wait until later for something of their own."""
        return int(self._value(_NEEDY_LATER, folder=folder, now=as_moment(now)))

    def first_without(self, need: Need, folders: Iterable[str]) -> tuple[int, Document | None]:
        """How many documents of these folders wait for this, and the first of them."""
        values = {"need": need.value, "folders": json.dumps(list(folders))}
        ((count, first),) = self._read(_FIRST_WITHOUT, **values)
        return count, self.by_id(first) if first else None

    def needy_documents(self, folder: str) -> Iterator[Document]:
        """A folder's documents that wait for something of their own; lazily."""
        after = ""
        while part := self._documents(_NEEDY_IN, folder=folder, after=after):
            yield from part
            after = part[-1].id

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
            rows = self._read(_NAMED.format(files=listed), folder=folder, place=place, **files)
            spoken |= {(place, from_name(file)) for (file,) in rows}
        return spoken

    def has_had(self, folder: str, file: str, unnumbered: str) -> bool:
        """Whether a document, open or ended, has this file name in a folder.

        `unnumbered`: the name without the number that filedrop may have given it.
        """
        names = {"file": as_name(file), "unnumbered": as_name(unnumbered)}
        return self._value(_HAS_HAD, folder=folder, **names) is not None

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
        found = set(self._read(_KNOWN_OF.format(files=files, names=names), **values, **as_files, **as_names))
        kinds = ("sha256", "file", "waiver")
        return {
            drop.name
            for drop in drops
            if not found.isdisjoint(zip(kinds, map(as_name, (drop.sha256, drop.file, drop.name)), strict=True))
        }

    def in_state(self, state: State, *, identity: str | None = None) -> list[Document]:
        """Open documents in this state, oldest first; of one account, where `identity` is given."""
        return self._documents(_IN_STATE, state=state.value, identity=identity)

    def newest(self, accepted_before: datetime, most: int) -> dict[tuple[str, str], Newest]:
        """Documents that people may have to look at, by company and kind, at most `most` of each.

        The kinds: `waiting` for a retry, `doubt`, `overdue` (accepted before `accepted_before`), `sent` with warnings.
        """
        found = self._read(_NEWEST, accepted_before=as_moment(accepted_before), most=most)
        documents = {document.id: document for document in self.by_ids([id_ for _, _, id_, _ in found])}
        newest: dict[tuple[str, str], Newest] = {}
        for company, kind, id_, total in found:
            if id_ in documents:  # else removed between the two reads
                newest.setdefault((company, kind), Newest(total, [])).documents.append(documents[id_])
        return newest

    def given_to(self, folder: str, file: str, reading: Reading) -> str | None:
        """The original name of the latest document with this file name, and this content or number, in a folder."""
        values = {"meaning": reading.meaning, "type": reading.root_name, "number": reading.number}
        values |= {"issue_date": reading.issue_date, "folder": folder}
        name = self._value(_GIVEN_TO, file=as_name(file), **values)
        return None if name is None else from_name(name)

    def unsent_with_pdf(self, folder: str, reading: Reading) -> Document | None:
        """The latest document of a folder with these bytes that ended unsent and that had a PDF."""
        values = {"folder": folder, "meaning": reading.meaning, "sha256": reading.sha256}
        return next(iter(self._documents(_UNSENT_WITH_PDF, **values)), None)

    def delivered_to(self, company: str, most: int) -> list[str]:
        """The receivers to whom something of a company was delivered last, the latest first."""
        receivers = (receiver for (receiver,) in self._read(_DELIVERED_TO, company=company) if receiver)
        return list(dict.fromkeys(receivers))[:most]

    def by_id(self, document_id: str) -> Document | None:
        """A document by its id."""
        return next(iter(self._documents(_BY_ID, id=document_id)), None)

    def called(self, name: str, unnumbered: str) -> list[Document]:
        """The documents that a person may mean by an id, a message number or the name of a file, the newest first.

        `unnumbered`: the name without the number that filedrop may have given it.
        """
        names = {"file": as_name(name), "unnumbered": as_name(unnumbered)}
        return self._documents(_CALLED, name=name, msg_no=number(name), **names)

    def taken(self, folder: str, company: str) -> list[Document]:
        """A folder's accepted documents whose files were taken before their delivery was known; the last 1,000."""
        return self._documents(_TAKEN, folder=folder, company=company)

    def versions(self, company: str, numbers: Collection[str]) -> list[Version]:
        """A company's latest documents that have one of these numbers, and are waiting or may be accepted."""
        rows = self._read(_VERSIONS, company=company, numbers=json.dumps(list(numbers))) if numbers else ()
        return [Version(from_name(name), *row) for name, *row in rows]

    def search(self, known: Known, now: datetime, *, most: int) -> list[Document]:
        """The newest of the documents that this is known of."""
        return self._documents(_SEARCH, most=most, **known.values(now))

    def by_ids(self, document_ids: Iterable[str]) -> list[Document]:
        """The documents with these ids."""
        return self._documents(BY_IDS, ids=json.dumps(list(document_ids)))

    def next_due(self, folder: str) -> datetime | None:
        """When the first of a folder's waiting documents is due for a retry; None where none has a time."""
        return from_moment(self._value(_NEXT_DUE, folder=folder))

    def tracked(self, identity: str, now: datetime, *, longest: timedelta, limit: int) -> list[Document]:
        """The oldest of an account's documents in `sent/` whose delivery is due to be checked at `now`.

        `longest` is the longest possible pause between checks. Documents whose move to `sent/` isn't recorded are left
        out: after a delivery, their files would be looked for in the wrong place.
        """
        return self._documents(_TRACKED, identity=identity, **_due(now, longest), most=limit)

    def tracking_due(self, identity: str) -> datetime | None:
        """When the first of an account's documents in `sent/` is due to be checked; None where there is none."""
        return from_moment(self._value(_TRACKING_DUE, identity=identity))

    def counts(self, folder: str) -> dict[str, int]:
        """The number of a folder's open documents in each state, by its name."""
        return dict(self._read(_COUNTS, folder=folder))  # type: ignore[arg-type] # a row of two is a pair

    def elsewhere(self, identities: Iterable[str]) -> list[tuple[str, str, State, int]]:
        """Unfinished posted documents of other accounts: identity, company, state, number of documents."""
        rows = self._read(_ELSEWHERE, identities=json.dumps(list(identities)))
        return [(identity, company, State(state), number) for identity, company, state, number in rows]

    def _documents(self, statement: str, **values: Any) -> list[Document]:
        return [document_of(row) for row in self._read(statement, **values)]


def _parameters(key: str, names: Iterable[str]) -> tuple[str, dict[str, bytes]]:
    """File names as so many parameters: what stands in the statement, and the values."""
    values = {f"{key}{nth}": as_name(name) for nth, name in enumerate(names)}
    return ", ".join(f":{parameter}" for parameter in values), values


def _due(now: datetime, longest: timedelta) -> dict[str, float]:
    return {"now": now.timestamp(), "latest": (now + longest).timestamp()}
