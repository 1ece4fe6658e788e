"""Commands that are still to be run for documents and messages (`commands`), in the order of what has happened.

The rows are made by the change itself, in its transaction (triggers in schema), so that a crash loses none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from filedrop.journal.engine import Part
from filedrop.journal.schema import from_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from filedrop.journal.engine import Connection

_WANTED = "SELECT event FROM wanted ORDER BY event"
_WANT_NONE = "DELETE FROM wanted"
_WANT = "INSERT INTO wanted (event) VALUES (:event)"
_ERRANDS = """
    SELECT number, event, company, document, msg_no, folder, file, sidecar FROM errands
    WHERE number IN (SELECT min(number) FROM errands GROUP BY company) ORDER BY number
"""
_END_ERRAND = "DELETE FROM errands WHERE number = :number"


@dataclass(frozen=True, slots=True)
class Errand:
    """A command that is to be run: after what, and for which document (its id), or for which message and its file.

    `sidecar` is the message's, as it was written; None where that has none.
    """

    number: int
    event: str
    company: str
    document: str
    msg_no: int | None
    folder: str
    file: str
    sidecar: str | None = None


class Errands(Part):
    """The errands' part of the journal."""

    def want(self, events: Iterable[str]) -> None:
        """Write after which events (failed, unreachable, delivered, received) commands are to be run from now on."""
        wanted = [{"event": event} for event in sorted(events)]
        if self._read(_WANTED) == [(row["event"],) for row in wanted]:
            return

        def replace_wanted(connection: Connection) -> None:
            connection.execute(_WANT_NONE)
            connection.executemany(_WANT, wanted)

        self._write(replace_wanted)

    def first(self) -> list[Errand]:
        """The first errand of each company."""
        return [
            Errand(number, event, company, document, msg_no, from_name(folder), from_name(file), sidecar)
            for number, event, company, document, msg_no, folder, file, sidecar in self._read(_ERRANDS)
        ]

    def end(self, errand: Errand) -> None:
        """Delete an errand: its command has come to an end."""
        self._write(lambda connection: connection.execute(_END_ERRAND, {"number": errand.number}))
