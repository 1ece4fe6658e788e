"""Waivers: duplicates that a person lets through (`retry --anyway`), each for one file until its claim.

A waiver names the folder, the name in `outbound/`, the content and the time of the last change, so that it holds for no
other file with the name. After the claim, the document's history says that it was let through.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from filedrop.journal.engine import Part
from filedrop.journal.schema import as_name, from_name

if TYPE_CHECKING:
    from collections.abc import Iterable

_GIVE_WAIVER = """
    INSERT INTO waivers (folder, file, sha256, modified) VALUES (:folder, :file, :sha256, :modified)
    ON CONFLICT (folder, file) DO UPDATE SET sha256 = excluded.sha256, modified = excluded.modified
"""
_WAIVER = "SELECT sha256, modified FROM waivers WHERE folder = :folder AND file = :file"
_WAIVED = "SELECT file FROM waivers WHERE folder = :folder"
_END_WAIVER = "DELETE FROM waivers WHERE folder = :folder AND file = :file"


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
