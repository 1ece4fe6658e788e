"""Folders in the journal, and its counts of the changes of their documents.

The branches of a journal tell two databases apart that both live.

A standby server is promoted while the former one works on, or a dump is restored beside it: then both have the
journal's id and its rows, and each would serve the same folders. So each database that isn't the one that was last
written to begins a branch, with a name that nobody else has. The journal lists its branches, its own last; the first
one has no name. A folder's marker names the branch that has served it last. Where the journal doesn't know that branch,
it doesn't know what was done there: the folder waits until a person decides (`filedrop journal accept`).

A promoted standby server knows its former branches. A restored or copied database has left them: its former server
may still work, so that all folders wait for the person.
"""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from filedrop.journal.engine import Part
from filedrop.journal.schema import ABOUT, EACH, HAS_DRAFT, KEEP, SUSPECT, as_name, from_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from filedrop.journal.engine import Connection
    from filedrop.model.document import Document

_ANOTHER_COMPANYS = "SELECT 1 FROM documents WHERE open AND folder = :folder AND company <> :company LIMIT 1"
_HAND_TO = "UPDATE documents SET company = :company WHERE open AND folder = :folder AND company <> :company"
_OPEN_FOLDERS = EACH.format(column="folder", rows="open")
_NAME_ALL = f"UPDATE messages SET state = 'named', revision = revision + 1 WHERE {HAS_DRAFT} AND state = 'placing'"
_FOLDER_PATHS = "SELECT id, path FROM folders"
_FOLDER_PATH = "SELECT path FROM folders WHERE id = :id"
_MOVE_MESSAGES = (
    "UPDATE messages SET folder = :path, revision = revision + 1 WHERE folder <> :path AND "
    + HAS_DRAFT.replace(":folder", f"({_FOLDER_PATH})")
)
_FOLDER_AT = "SELECT id FROM folders WHERE path = :path"
_RECORD_FOLDER = """
    INSERT INTO folders (id, path, settled) VALUES (:id, :path, FALSE)
    ON CONFLICT (id) DO UPDATE SET path = excluded.path
"""
_SETTLED = "SELECT settled FROM folders WHERE id = :id"
_SETTLE = "UPDATE folders SET settled = :settled WHERE id = :id"

BRANCHES = "branches"  # a key of `about`
_CHANGES = f"""
    SELECT coalesce(counted, 0), coalesce(marked, 0), coalesce(least, 0), coalesce(suspect, FALSE),
        coalesce((SELECT value FROM about WHERE key = '{BRANCHES}'), '')
    FROM (SELECT CAST(:id AS TEXT) AS id) AS asked LEFT JOIN changes ON folder = asked.id
"""
_COUNT_ON = """
    INSERT INTO changes (folder, counted) VALUES (:id, :seen + 1)
    ON CONFLICT (folder) DO UPDATE SET counted = max(changes.counted, :seen) + 1
"""
_MARK = "UPDATE changes SET marked = counted WHERE folder = :id"
_MARK_AT = "UPDATE changes SET marked = max(marked, :seen), suspect = FALSE WHERE folder = :id"
_LEAST = "UPDATE changes SET least = counted, marked = counted, suspect = TRUE WHERE folder = :id"
_SUSPECT = SUSPECT.format("id = :id")

_COUNTABLE = 2**53  # changes: more than any folder has, and far below the largest integer of a column


def branches_in(about: Mapping[str, str]) -> tuple[str, ...]:
    """The journal's branches, its own last."""
    return as_branches(about.get(BRANCHES, ""))


def as_branches(value: str) -> tuple[str, ...]:
    """The branches in a value of `about`."""
    return tuple(value.split(","))


def begin_branch(connection: Connection, known: Iterable[str]) -> None:
    """Begin a branch that knows these others. Within a transaction."""
    names = dict.fromkeys([*known, secrets.token_hex(8)])
    connection.execute(KEEP, {"key": BRANCHES, "value": ",".join(names)})


class Changes(NamedTuple):
    """Records of a folder's documents: the count, the highest count its marker may have, and the lowest.

    `is_suspect`: what waits in the folder is to be put in doubt. `branches`: the journal's, its own last.
    """

    counted: int
    marked: int
    least: int
    is_suspect: bool
    branches: tuple[str, ...]

    @property
    def branch(self) -> str:
        """The branch that the marker is to name."""
        return self.branches[-1]

    def missing(self, in_marker: int) -> int:
        """How many changes a marker with this count has seen that the journal doesn't know."""
        return in_marker - max(self.marked, self.least)


class Folders(Part):
    """The folders' part of the journal."""

    def path(self, folder: str) -> Path | None:
        """The path at which a folder was last seen; None for an unknown folder."""
        path = self._value(_FOLDER_PATH, id=folder)
        return None if path is None else Path(from_name(path))

    def path_of(self, document: Document) -> Path | None:
        """The path at which a document lies, or was last; None where its folder is unknown."""
        folder = self.path(document.folder)
        return folder / document.place / document.file if folder else None

    def paths(self) -> dict[str, Path]:
        """Where each folder was last seen, by its id."""
        return {folder: Path(from_name(path)) for folder, path in self._read(_FOLDER_PATHS)}

    def at(self, path: Path) -> str | None:
        """The id of the folder that was last seen at a path; None for an unknown path."""
        known: str | None = self._value(_FOLDER_AT, path=as_name(str(path)))
        return known

    def in_use(self) -> list[str]:
        """The ids of the folders that have open documents."""
        return [folder for (folder,) in self._read(_OPEN_FOLDERS)]

    def record(self, folder: str, path: Path) -> None:
        """Write that a folder is ours, and its path; where it was moved, what was begun in it is there now."""
        self._write(lambda connection: _record(connection, folder, path))

    def hand_to(self, folder: str, company: str) -> None:
        """Write that a folder's open documents are this company's, where that was called otherwise before."""
        values = {"folder": folder, "company": company}
        if self._value(_ANOTHER_COMPANYS, **values) is not None:
            self._write(lambda connection: connection.execute(_HAND_TO, values))

    def is_settled(self, folder: str) -> bool:
        """Whether all files in this folder have been compared since the journal first saw it."""
        return bool(self._value(_SETTLED, id=folder))

    def settle(self, folder: str) -> None:
        """Write that a folder is settled: from now on, a file in `sending/` without a row was claimed, not posted."""
        self._write(lambda connection: connection.execute(_SETTLE, {"id": folder, "settled": True}))

    def changes(self, folder: str) -> Changes:
        """The counts of a folder."""
        (row,) = self._read(_CHANGES, id=folder)
        return _as_changes(row)

    def knows(self, changes: Changes, branch: str, in_marker: int) -> bool:
        """Whether the journal knows what was done in a folder whose marker has this branch and this count.

        A database that lacks what its own branch has marked is an older copy, beside which the other one may work; but
        what is suspect was marked by another branch. Of a file, only a person makes a copy, and puts it in the place of
        the other one.
        """
        is_own = self._engine.is_shared and branch == changes.branch and not changes.is_suspect
        return branch in changes.branches and not (is_own and changes.missing(in_marker) > 0)

    def accept(self, branches: Iterable[str]) -> None:
        """Begin a branch that knows those of the journal and these."""

        def branch_off(connection: Connection) -> None:
            own = branches_in(dict(connection.execute(ABOUT).fetchall()))
            begin_branch(connection, [*own, *branches])

        self._write(branch_off)

    def suspect(self, folder: str) -> None:
        """Write that what waits in a folder is to be put in doubt."""
        self._write(lambda connection: connection.execute(_SUSPECT, {"id": folder}))

    def mark(self, folder: str) -> Changes:
        """Record the present count as the marker's, and return it. The caller writes the marker afterwards."""
        changes = self.changes(folder)
        if changes.marked == changes.counted:  # recorded before, but the marker couldn't be written then
            return changes
        return self._write(lambda connection: _mark(connection, folder))

    def mark_ahead(self, folder: str) -> Changes:
        """As `mark`, but with a count one higher, which no marker has had yet."""

        def count_on_and_mark(connection: Connection) -> Changes:
            connection.execute(_COUNT_ON, {"id": folder, "seen": 0})
            return _mark(connection, folder)

        return self._write(count_on_and_mark)

    def take_over(self, folder: str, path: Path) -> Changes:
        """Write that a folder is ours from now on and isn't settled; returns what is to be in its marker.

        From now on, a marker with a lower count belongs to another disk or to the empty mount point. The count is one
        ahead, as before a post: the folder's last owner may have posted what waits there.
        """

        def keep_folder(connection: Connection) -> Changes:
            _record(connection, folder, path, keeps=True)
            # The folder's last owner may have removed our drafts: a draft that is gone wasn't placed.
            connection.execute(_NAME_ALL, {"folder": as_name(str(path))})
            connection.execute(_SETTLE, {"id": folder, "settled": False})
            connection.execute(_COUNT_ON, {"id": folder, "seen": 0})
            connection.execute(_LEAST, {"id": folder})
            return _changes(connection, folder)

        return self._write(keep_folder)


def _record(connection: Connection, folder: str, path: Path, *, keeps: bool = False) -> None:
    """Write a folder's path. `keeps`: what was begun in the folder that was seen there before is this one's."""
    there = {"id": folder, "path": as_name(str(path))}
    seen_here = [other for (other,) in connection.execute(_FOLDER_AT, there)]
    for other in seen_here if folder not in seen_here else ():
        nowhere = {"id": other, "path": as_name(f"{path} [{other}]")}  # until it is seen again
        if not keeps:
            connection.execute(_MOVE_MESSAGES, nowhere)
        connection.execute(_RECORD_FOLDER, nowhere)
    connection.execute(_MOVE_MESSAGES, there)
    connection.execute(_RECORD_FOLDER, there)


def unsettle(connection: Connection, folder: str, seen: int) -> None:
    """Write that a folder isn't settled; `seen` is the count in its marker. Within a transaction."""
    connection.execute(_SETTLE, {"id": folder, "settled": False})
    # Bounded, because a forged count can be so high that it soon overflows.
    connection.execute(_COUNT_ON, {"id": folder, "seen": min(seen, _COUNTABLE)})
    connection.execute(_MARK_AT, {"id": folder, "seen": seen})


def _mark(connection: Connection, folder: str) -> Changes:
    connection.execute(_MARK, {"id": folder})
    return _changes(connection, folder)


def _changes(connection: Connection, folder: str) -> Changes:
    (row,) = connection.execute(_CHANGES, {"id": folder})
    return _as_changes(row)


def _as_changes(row: Sequence[Any]) -> Changes:
    counted, marked, least, is_suspect, branches = row
    return Changes(counted, marked, least, bool(is_suspect), as_branches(branches))
