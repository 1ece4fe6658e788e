"""How much has happened since the journal was begun, what is under way, the latest, and how much on each day."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from filedrop.journal.engine import Part
from filedrop.journal.schema import LAST_ANSWER, OWES_ANSWER, as_moment, from_moment, from_name
from filedrop.model.document import State
from filedrop.times import from_seconds

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

_TOTALS = "SELECT company, event, code, number, accepted FROM totals"
_UNDER_WAY = (
    "SELECT company, state, count(*), min(coalesce(accepted, claimed)) FROM documents"
    f" WHERE open AND state IN ('{State.WAITING}', '{State.SENDING}', '{State.DOUBT}', '{State.SENT}')"
    " GROUP BY company, state"
)

_ANSWER = f"coalesce((SELECT code {LAST_ANSWER.format('documents.id')}), '')"
_LAST_SENT = f"""SELECT accepted, company, file, type, number, receiver, receiver_name, msg_no, state, {_ANSWER}
    FROM documents WHERE company = :company AND accepted IS NOT NULL ORDER BY accepted DESC LIMIT :most"""
_LAST_RECEIVED = (
    f"SELECT placed, company, file, type, number, sender, sender_name, msg_no, {OWES_ANSWER} FROM messages"
    " WHERE company = :company AND placed IS NOT NULL AND file <> '' ORDER BY placed DESC LIMIT :most"
)
# By name, the last attempt alone: one that was put back and sent by now has not failed.
_FAILED_SINCE = f"""
    SELECT dropped_as FROM documents AS one WHERE company = :company AND state = '{State.FAILED}' AND ended > :since
    AND NOT EXISTS (
        SELECT 1 FROM documents AS later
        WHERE later.dropped_as = one.dropped_as AND later.folder = one.folder AND later.claimed > one.claimed
    ) ORDER BY ended DESC
"""
# A SELECT for each day, which only counts entries of an index; a join would sort them first.
_PER_DAY = """
    SELECT (SELECT count(*) FROM {of} AND company = :company AND {moment} >= day AND {moment} < next) FROM (
        SELECT day, lead(day) OVER (ORDER BY day) AS next
        FROM (SELECT CAST(value AS DOUBLE PRECISION) AS day FROM json_each(:days)) AS listed
    ) AS days WHERE next IS NOT NULL ORDER BY day
"""
_SENT_PER_DAY = _PER_DAY.format(of="documents WHERE accepted IS NOT NULL", moment="accepted")
_RECEIVED_PER_DAY = _PER_DAY.format(of="messages WHERE placed IS NOT NULL", moment="placed")
_FAILED_PER_DAY = _PER_DAY.format(of=f"documents WHERE state = '{State.FAILED}'", moment="ended")


_PAST_DUE = (
    "SELECT folder, state, count(*), min(coalesce(due, claimed)), max(size) FROM documents"
    " WHERE open AND coalesce(due, claimed) < :now GROUP BY folder, state"
)


_HAS_RECEIVED = """
    SELECT 1 FROM messages WHERE company = :company AND placed IS NOT NULL AND identity = :identity
    ORDER BY placed DESC LIMIT 1
"""  # the order has it use the index that has the company's messages: nearly always, the first one is by this account


class PastDue(NamedTuple):
    """How many documents of a folder are in this state and past their time: the oldest such time, the largest size."""

    folder: str
    state: State
    number: int
    oldest: datetime | None
    largest: int


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

    def past_due(self, now: datetime) -> list[PastDue]:
        """The unfinished documents with which something is to happen by now, by folder and state."""
        rows = self._read(_PAST_DUE, now=as_moment(now))
        return [
            PastDue(folder, State(state), number, from_moment(at), size) for folder, state, number, at, size in rows
        ]

    def under_way(self) -> list[UnderWay]:
        """The unfinished documents, by company and state."""
        rows = self._read(_UNDER_WAY)
        return [UnderWay(company, State(state), number, from_moment(at)) for company, state, number, at in rows]


class Sent(NamedTuple):
    """A document that was accepted by the access point at this moment, and its state by now.

    `answer`: the code of the receiver's last response to it, "" where there is none.
    """

    at: datetime
    company: str
    file: str
    type: str | None
    number: str | None
    receiver: str | None
    receiver_name: str | None
    msg_no: int | None
    state: State
    answer: str


class Received(NamedTuple):
    """A message that got its file at this moment. `is_owed_answer`: its sender expects an answer, and has none."""

    at: datetime
    company: str
    file: str
    type: str | None
    number: str | None
    sender: str
    sender_name: str | None
    msg_no: int
    is_owed_answer: bool


class Days(NamedTuple):
    """How many documents were accepted by the access point, received, and failed, on each of some days."""

    sent: list[int]
    received: list[int]
    failed: list[int]


class Lately(Part):
    """What the journal knows of the latest events. Each call reads an index, as far as it is asked."""

    def last_sent(self, company: str, most: int) -> list[Sent]:
        """The documents that the access point accepted last, the latest first."""
        rows = self._read(_LAST_SENT, company=company, most=most)
        return [
            Sent(from_seconds(at), whose, from_name(file), type_, number, receiver, name, msg_no, State(state), code)
            for at, whose, file, type_, number, receiver, name, msg_no, state, code in rows
        ]

    def last_received(self, company: str, most: int) -> list[Received]:
        """The messages that were placed last, the latest first."""
        rows = self._read(_LAST_RECEIVED, company=company, most=most)
        return [
            Received(from_seconds(at), whose, from_name(file), type_, number, sender, name, msg_no, bool(is_owed))
            for at, whose, file, type_, number, sender, name, msg_no, is_owed in rows
        ]

    def has_received(self, company: str, identity: str) -> bool:
        """Whether a message was ever placed for a company, through the account with this identity."""
        return bool(self._read(_HAS_RECEIVED, company=company, identity=identity))

    def failed_since(self, company: str, since: datetime) -> list[str]:
        """The names of documents that have failed since then, the latest first, and weren't tried again after that."""
        rows = self._read(_FAILED_SINCE, company=company, since=since.timestamp())
        return [from_name(name) for (name,) in rows]

    def per_day(self, company: str, begins: Sequence[datetime]) -> Days:
        """How much happened on each day. `begins`: when each of the days began, and when the last one ends."""
        days = json.dumps([begin.timestamp() for begin in begins])

        def counted(statement: str) -> list[int]:
            return [number for (number,) in self._read(statement, company=company, days=days)]

        return Days(*map(counted, (_SENT_PER_DAY, _RECEIVED_PER_DAY, _FAILED_PER_DAY)))
