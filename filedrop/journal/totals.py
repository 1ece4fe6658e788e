"""How many documents and messages there have been since the journal was begun, and how many are under way."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from filedrop.journal.engine import Part
from filedrop.journal.schema import from_moment
from filedrop.model.document import State

if TYPE_CHECKING:
    from datetime import datetime

_TOTALS = "SELECT company, event, code, number, accepted FROM totals"
_UNDER_WAY = (
    "SELECT company, state, count(*), min(coalesce(accepted, claimed)) FROM documents"
    f" WHERE open AND state IN ('{State.WAITING}', '{State.SENDING}', '{State.DOUBT}', '{State.SENT}')"
    " GROUP BY company, state"
)


class Total(NamedTuple):
    """How often something has happened to a company's documents: `sent`, `delivered`, `failed`, `received`.

    `code` says why they failed, "" of the others. `accepted` is when the last of them was, where they were.
    """

    company: str
    event: str
    code: str
    number: int
    accepted: datetime | None


class UnderWay(NamedTuple):
    """How many of a company's documents are in this state, and since when the oldest has been claimed or accepted."""

    company: str
    state: State
    number: int
    oldest: datetime | None


class Totals(Part):
    """The part of the journal that counts."""

    def events(self) -> list[Total]:
        """What has happened, and how often. The numbers only grow, also where rows are removed."""
        rows = self._read(_TOTALS)
        return [Total(company, event, code, number, from_moment(at)) for company, event, code, number, at in rows]

    def under_way(self) -> list[UnderWay]:
        """The unfinished documents, by company and state."""
        rows = self._read(_UNDER_WAY)
        return [UnderWay(company, State(state), number, from_moment(at)) for company, state, number, at in rows]
