"""Rows of documents, as the values that they hold."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from filedrop.journal.schema import as_moment, from_moment, from_name
from filedrop.journal.statements import COLUMNS
from filedrop.model.document import Document, Event, Need, State, participant_key
from filedrop.model.fault import Fault, Finding
from filedrop.model.prepared import PdfFile, Prepared
from filedrop.texts import Text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from filedrop.model.fault import Code

NAMES = ("file", "dropped_as")
MOMENTS = ("claimed", "due", "first_attempt", "accepted", "needs_since")


@dataclass(frozen=True, slots=True)
class Known:
    """What a person knows of a document: its number, a party by ParticipantID or a piece of its name, and when.

    "" stands for what isn't known; the moments are included.
    """

    number: str
    party: str
    since: datetime
    until: datetime

    def values(self, now: datetime) -> dict[str, object]:
        """As `_SEARCH` takes it."""
        moments = {"since": as_moment(self.since), "until": as_moment(self.until), "now": as_moment(now)}
        name = "".join(letter.lower() if letter.isascii() else letter for letter in self.party)  # as SQLite's `lower`
        return {"number": self.number, "party": participant_key(self.party), "name": name, **moments}


def document_of(row: Sequence[Any]) -> Document:
    """The document in a row that has all of `statements.COLUMNS`."""
    values = dict(zip(COLUMNS, row, strict=True))
    values |= {name: from_name(values[name]) for name in NAMES}
    values |= {name: from_moment(values[name]) for name in MOMENTS}
    values["state"] = State(values["state"])
    values["needs"] = Need(values["needs"]) if values["needs"] else None
    values["sources"] = json.loads(values["sources"])
    values["warnings"] = tuple(json.loads(values["warnings"]))
    values["error"] = _fault(**json.loads(values["error"])) if values["error"] else None
    values["pdf"] = PdfFile(**json.loads(values["pdf"])) if values["pdf"] else None
    values["prepared"] = Prepared(**json.loads(values["prepared"])) if values["prepared"] else None
    history = json.loads(values["history"])
    values["history"] = tuple(Event(datetime.fromisoformat(at), event, facts) for at, event, facts in history)
    return Document(**values)


def _fault(
    code: Code, findings: Iterable[dict[str, Any]] = (), texts: Iterable[dict[str, Any]] = (), **words: str
) -> Fault:
    return Fault(
        code,
        **words,
        findings=tuple(Finding(**finding) for finding in findings),
        texts=tuple(Text(**text) for text in texts),
    )
