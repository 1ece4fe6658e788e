"""Messages of the inbox in the journal."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from filedrop.errors import Changed
from filedrop.journal.engine import Part, write_rows
from filedrop.journal.schema import (
    HAS_DRAFT,
    KNOWN,
    MESSAGE_COLUMNS,
    NUMBERS,
    as_moment,
    as_name,
    company,
    from_moment,
    from_name,
)
from filedrop.model.document import same_participant
from filedrop.model.twins import same_or_twin
from filedrop.times import same_moment

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from filedrop.journal.engine import Connection
    from filedrop.journal.schema import Known
    from filedrop.model.message import Message

_KEY = MESSAGE_COLUMNS[:5]
_THIS_MESSAGE = " AND ".join(f"{name} = :{name}" for name in _KEY) + " AND revision = :before"
_MESSAGES = f"SELECT {', '.join(MESSAGE_COLUMNS)} FROM messages WHERE"
_OF_NUMBERS = f"msg_no IN ({NUMBERS})"
_INSERT_MESSAGE = (
    f"INSERT INTO messages ({', '.join(MESSAGE_COLUMNS)}) VALUES (:{', :'.join(MESSAGE_COLUMNS)})"
    " ON CONFLICT DO NOTHING"
)
_UPDATE_MESSAGE = (
    f"UPDATE messages SET {', '.join(f'{name} = :{name}' for name in MESSAGE_COLUMNS[5:])} WHERE {_THIS_MESSAGE}"
)
_FORGET_MESSAGE = f"DELETE FROM messages WHERE {_THIS_MESSAGE}"
_NUMBERED = f"{_MESSAGES} identity = :identity AND {_OF_NUMBERS}"
_NUMBERED_ANYWHERE = f"{_MESSAGES} {_OF_NUMBERS}"
_PLACED_AS = f"{_MESSAGES} file = :file OR substr(file, CAST(length(file) + 1 - :length AS INTEGER)) = :inside"
_SEARCH_MESSAGES = f"""
    {_MESSAGES} {KNOWN.format(name="sender_name", time="placed")} ORDER BY coalesce(placed, :now) DESC LIMIT :most
"""
# The first message of a company with the same document, for each that is asked about; an index has it at once.
_ASKED = "{0} = json_extract(asked.value, '$.{0}')".format
_FIRST = f"""SELECT msg_no FROM messages WHERE company = :company AND {{}} AND state IN ('placing', 'read')
    AND {company("sender")} = {company("json_extract(asked.value, '$.sender')")} ORDER BY rowid LIMIT 1"""
_BY_NUMBER = _FIRST.format(" AND ".join(map(_ASKED, ("number", "issue_date", "type"))))
_REPEATED = f"""
    SELECT CAST(json_extract(asked.value, '$.msg_no') AS BIGINT),
        coalesce(({_BY_NUMBER}), ({_FIRST.format(_ASKED("meaning"))}))
    FROM json_each(:asked) AS asked
"""
_REPEATS = f"{_MESSAGES} company = :company AND repeats >= 0 AND placed >= :since ORDER BY placed DESC LIMIT 200"
# The plus makes SQLite sort the result; else it would read all messages ever received, in the order of an index.
_IN_STATES = f"{_MESSAGES} identity = :identity AND state IN (SELECT value FROM json_each(:states)) ORDER BY +msg_no"
_ADOPT = f"""
    UPDATE messages SET identity = :ours, revision = :revision WHERE {_THIS_MESSAGE} AND NOT EXISTS (
        SELECT 1 FROM messages AS other WHERE other.identity = :ours
        AND {" AND ".join(f"other.{name} = :{name}" for name in _KEY[1:])}
    )
"""
_DRAFTS = f"SELECT temporary FROM messages WHERE {HAS_DRAFT}"
_OWED_PAGES = f"""
    SELECT {", ".join(MESSAGE_COLUMNS)} FROM (
        SELECT {", ".join(MESSAGE_COLUMNS)}, row_number() OVER (PARTITION BY folder ORDER BY placed) AS nth
        FROM messages WHERE page >= 0 AND state = 'read'
    ) AS owed WHERE nth = 1
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageRow:
    """A row for a message of the inbox; `received`, `sender` and `receiver` are as the access point first wrote them.

    `state`: `named` (complete in its temporary file, whose name is now recorded), `placing` (about to get its name, or
    in its folder), `read` (marked read; its name was `file`), or `stuck` (not fetched or placed yet; see `attempts`,
    `due` and `why`). `placed` is when it was about to get its name, by our clock. `page` is the number of attempts at
    its page, or at the XML of its PDF, while one is owed, and None where none is. `sidecar` is what the document's
    sidecar says, from `placing` until the message is read and its page made: then a command that is owed it has it
    (`Errand`), and nobody else.
    `sender_name`, `type`, `number`, `issue_date`, `meaning` and `sha256` are the document's. `repeats` is the number of
    the message that had the same document first. `wanted` is the name that it is to get, unless that is taken: by it, a
    sidecar that reserves a name is found again. "" once it is read.
    `due` is when a stuck message is tried again; of a placed one, since when its sender expects an answer.
    `revision` counts the writes of the row, and is 0 before the first one.
    """

    identity: str
    msg_no: int
    received: str
    sender: str
    receiver: str
    revision: int = 0
    state: str
    company: str = ""
    folder: str = ""
    temporary: str = ""
    file: str = ""
    attempts: int = 0
    due: datetime | None = None
    why: str = ""
    placed: datetime | None = None
    page: int | None = None
    sidecar: str | None = None
    sender_name: str | None = None
    type: str | None = None
    number: str | None = None
    issue_date: str | None = None
    meaning: str | None = None
    repeats: int | None = None
    wanted: str = ""
    sha256: str | None = None


def is_same(message: Message | MessageRow, row: MessageRow) -> bool:
    """Whether number, moment, sender and receiver agree, as far as both have them (contract 6)."""
    parties = (message.sender, row.sender), (message.receiver, row.receiver)
    return (
        message.msg_no == row.msg_no
        and same_moment(message.received, row.received) is not False
        and all(not ours or not theirs or same_participant(ours, theirs) for theirs, ours in parties)
    )


def _is_surely_same(message: Message, row: MessageRow) -> bool:
    """Whether both have all of these, and they agree. For other accounts, since servers use the same numbers."""
    return (
        is_same(message, row)
        and same_moment(message.received, row.received) is True
        and bool(message.sender and row.sender and message.receiver and row.receiver)
    )


def _is_repeated(other: MessageRow, row: MessageRow) -> bool:
    """Whether a message has the document of another one (as `_REPEATED`)."""
    numbered = [(message.number, message.issue_date, message.type) for message in (other, row)]
    is_same = (numbered[0] == numbered[1] and all(numbered[0])) or other.meaning == row.meaning
    return is_same and same_or_twin(other.sender, row.sender)


def _is_earlier(other: MessageRow, row: MessageRow) -> bool:
    """Whether a message with the number that `row` repeats is the one that is meant: servers use the same numbers."""
    return other.company == row.company and other.file != row.file and _is_repeated(other, row)


_SAME = ("msg_no", "sender", "type", "number", "issue_date", "meaning")
_NAMES = ("folder", "temporary", "file", "wanted")
_MOMENTS = ("due", "placed")


class Messages(Part):
    """The messages' part of the journal."""

    def record(self, row: MessageRow) -> MessageRow:
        """Write a message's step durably and return its row with its new revision. Raises Changed, JournalError."""
        (written,) = self.record_all([row])
        if written is None:
            raise changed(row)
        return written

    def record_all(self, rows: Sequence[MessageRow]) -> list[MessageRow | None]:
        """Write the steps of several messages in one commit; for each, its new row, or None if it had changed."""
        written = [replace(row, revision=row.revision + 1) for row in rows]
        steps = [
            (_UPDATE_MESSAGE if row.revision else _INSERT_MESSAGE, _values(new) | {"before": row.revision})
            for row, new in zip(rows, written, strict=True)
        ]
        done = self._write(lambda connection: write_rows(connection, steps)) if rows else []
        return [row if is_written else None for row, is_written in zip(written, done, strict=True)]

    def forget(self, row: MessageRow) -> None:
        """Delete the row of a stuck or named message that is gone from the inbox and has no file left here.

        It stays if it has changed meanwhile.
        """
        self._write(lambda connection: connection.execute(_FORGET_MESSAGE, _as_it_was(row)))

    def known(self, identity: str, messages: Iterable[Message]) -> dict[int, MessageRow]:
        """The rows of these messages, by number; also those recorded when the account had another identity."""
        asked = {message.msg_no: message for message in messages}
        found: dict[int, MessageRow] = {}
        numbers = json.dumps(list(asked))
        for row in map(message_of, self._read(_NUMBERED, identity=identity, numbers=numbers)):
            if is_same(asked[row.msg_no], row) and (row.msg_no not in found or row.state == "read"):
                found[row.msg_no] = row
        left = json.dumps([number for number in asked if number not in found])
        for row in map(message_of, self._read(_NUMBERED_ANYWHERE, numbers=left) if left != "[]" else ()):
            if _is_surely_same(asked[row.msg_no], row) and (row.msg_no not in found or row.state == "read"):
                found[row.msg_no] = row
        return found

    def numbered(self, msg_no: int) -> list[MessageRow]:
        """The messages with this number, of any account."""
        return list(map(message_of, self._read(_NUMBERED_ANYWHERE, numbers=json.dumps([msg_no]))))

    def placed_as(self, name: str) -> list[MessageRow]:
        """The messages whose document got this name, in whichever folder. Reads all messages."""
        inside = as_name(f"/{name}")
        values = {"file": as_name(name), "inside": inside, "length": len(inside)}
        return list(map(message_of, self._read(_PLACED_AS, **values)))

    def search(self, known: Known, now: datetime, *, most: int) -> list[MessageRow]:
        """The newest of the received messages that this is known of; the time is that of their placing."""
        return list(map(message_of, self._read(_SEARCH_MESSAGES, most=most, **known.values(now))))

    def repeated(self, company: str, rows: Iterable[MessageRow]) -> dict[int, int]:
        """Of these messages for a company, those whose document came before, each with the number of that message.

        The same document: from the same sender, with the same type, number and date, or with the same meaning.
        """
        asked = sorted(rows, key=lambda row: row.msg_no)
        values = json.dumps([{name: getattr(row, name) for name in _SAME} for row in asked])
        known = self._read(_REPEATED, company=company, asked=values) if asked else ()
        found: dict[int, int | None] = {msg_no: first for msg_no, first in known}  # noqa: C416 - typed as what it is
        for nth, row in enumerate(asked):  # of the same batch: the journal knows neither yet
            before = (other.msg_no for other in asked[:nth] if _is_repeated(other, row))
            found[row.msg_no] = found[row.msg_no] or next(before, None)
        return {msg_no: first for msg_no, first in found.items() if first is not None}

    def repeats(self, company: str, since: datetime) -> list[MessageRow]:
        """A company's messages placed since then whose document came before, newest first, 200 at most."""
        return list(map(message_of, self._read(_REPEATS, company=company, since=as_moment(since))))

    def earlier_names(self, rows: Sequence[MessageRow]) -> list[str]:
        """For each of these messages, the name of the document that it repeats, below the company's inbound folder.

        "" where that isn't known.
        """
        numbers = json.dumps([row.repeats for row in rows if row.repeats is not None])
        known = dict[int | None, list[MessageRow]]()
        for other in map(message_of, self._read(_NUMBERED_ANYWHERE, numbers=numbers)):
            known.setdefault(other.msg_no, []).append(other)
        return [
            next((other.file for other in known.get(row.repeats, ()) if _is_earlier(other, row)), "") for row in rows
        ]

    def adopt(self, identity: str, rows: Sequence[MessageRow]) -> list[MessageRow]:
        """Give these rows another identity, since the account's user name or host has changed.

        Returns those that had not changed meanwhile. Where that identity has the message by now, its own row counts.
        """

        def adopt_rows(connection: Connection) -> list[MessageRow]:
            adopted = []
            for row in rows:
                values = _as_it_was(row) | {"ours": identity, "revision": row.revision + 1}
                if connection.execute(_ADOPT, values).rowcount == 1:
                    adopted.append(replace(row, identity=identity, revision=row.revision + 1))
            return adopted

        return self._write(adopt_rows)

    def in_states(self, identity: str, *states: str) -> list[MessageRow]:
        """The messages of an account in one of these states, by number."""
        return list(map(message_of, self._read(_IN_STATES, identity=identity, states=json.dumps(states))))

    def drafts(self, folder: str) -> frozenset[str]:
        """The recorded temporary files in this folder: complete documents that aren't placed yet."""
        return frozenset(from_name(name) for (name,) in self._read(_DRAFTS, folder=as_name(folder)))

    def owed_pages(self) -> list[MessageRow]:
        """Of each folder, the message that is read and whose page has been owed for the longest."""
        return list(map(message_of, self._read(_OWED_PAGES)))


def changed(row: MessageRow) -> Changed:
    """The error of a step from a row that has changed since."""
    return Changed(f"message {row.msg_no} was taken a step further meanwhile")


def _as_it_was(row: MessageRow) -> dict[str, Any]:
    return {name: getattr(row, name) for name in _KEY} | {"before": row.revision}


def _values(row: MessageRow) -> dict[str, Any]:
    values = {name: getattr(row, name) for name in MESSAGE_COLUMNS}
    values |= {name: as_name(values[name]) for name in _NAMES}
    return values | {name: as_moment(values[name]) for name in _MOMENTS}


def message_of(row: Sequence[Any]) -> MessageRow:
    """A message from its row."""
    values = dict(zip(MESSAGE_COLUMNS, row, strict=True))
    values |= {name: from_name(values[name]) for name in _NAMES}
    return MessageRow(**values | {name: from_moment(values[name]) for name in _MOMENTS})
