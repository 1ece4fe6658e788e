"""The sandbox's messages: rows in SQLite, documents as files beside it, and the network that carries between accounts.

A message that has been posted is `due` some time later. Whoever looks into the store next moves the network first, so
that whatever is due has happened; there is no thread, and what came due while nothing ran happens at the next start. An
OUT message and the IN message that becomes of it share their `uuid`, which also names the file with the document.

A store may be used by many threads, and by other processes on the same state folder.
"""

from __future__ import annotations

import shutil
import sqlite3
import threading
from contextlib import contextmanager
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from filedrop.errors import FiledropError
from filedrop.sandbox import network
from filedrop.sandbox.message import Direction, Message, Search, Traffic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

PAGE = 25  # Limits 1
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PATIENCE = 30.0  # seconds for the lock of another process

# ParticipantIDs are compared without case (Policy for identifiers 5). Moments: milliseconds, as in the interface.
_SCHEMA = (
    """CREATE TABLE IF NOT EXISTS participants (
        participant TEXT COLLATE NOCASE NOT NULL PRIMARY KEY,
        account TEXT NOT NULL
    )""",
    """CREATE TABLE IF NOT EXISTS messages (
        msg_no INTEGER NOT NULL PRIMARY KEY,
        account TEXT NOT NULL,
        direction TEXT NOT NULL,
        sender TEXT COLLATE NOCASE NOT NULL,
        receiver TEXT COLLATE NOCASE NOT NULL,
        channel TEXT NOT NULL,
        document_id TEXT NOT NULL,
        process_id TEXT NOT NULL,
        uuid TEXT NOT NULL,
        received INTEGER NOT NULL,
        delivered INTEGER,
        listed INTEGER NOT NULL,
        due INTEGER
    )""",
    "CREATE INDEX IF NOT EXISTS messages_by_view ON messages (account, direction, listed, msg_no)",
    "CREATE INDEX IF NOT EXISTS messages_by_due ON messages (due)",
)
_COLUMNS = ", ".join(field.name for field in fields(Message))
_SELECT = f"SELECT {_COLUMNS} FROM messages"
_DUE = "due <= ?"
_TRAFFIC = """
    SELECT count(*) AS total,
        count(*) FILTER (WHERE delivered IS NULL) AS undelivered,
        max(received) AS last_received,
        max(delivered) AS last_delivered,
        min(received) FILTER (WHERE delivered IS NULL) AS oldest_undelivered
    FROM messages WHERE account = ? AND direction = ?
"""


def utc_now() -> datetime:
    """The clock of a real sandbox."""
    return datetime.now(UTC)


class Store:
    """The messages in a state folder, which is made where it is missing. FiledropError: the folder can't be used."""

    def __init__(self, state: Path, *, clock: Callable[[], datetime] = utc_now) -> None:
        self._clock = clock
        self._documents = state / "documents"
        self._file = state / "sandbox.sqlite"
        self._lock = threading.Lock()  # of the connection: each statement takes microseconds
        self._connection: sqlite3.Connection | None = None
        try:
            self._documents.mkdir(parents=True, exist_ok=True)
            with self._writing() as connection:
                for statement in _SCHEMA:
                    connection.execute(statement)
        except (OSError, sqlite3.Error) as error:
            self.close()
            reason = error.strerror if isinstance(error, OSError) else error
            raise FiledropError(
                f"{state}: the sandbox can't keep its messages here: {reason}; give it a folder that it may write in"
            ) from error

    def close(self) -> None:
        """Lets go of the files; a store that is used again opens them again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def connect(self, homes: Mapping[str, str]) -> None:
        """From now on exactly these participants are in the network, each on its account."""
        with self._writing() as connection:
            connection.execute("DELETE FROM participants")
            connection.executemany("INSERT INTO participants (participant, account) VALUES (?, ?)", homes.items())

    def connected(self, participant: str) -> bool:
        """Whether some account receives for this participant."""
        with self._using() as connection:
            return _home(connection, participant) is not None

    def document(self, uuid: str) -> Path:
        """The file with the document of that uuid, or where it belongs."""
        return self._documents / f"{uuid}.xml"

    def post(self, *, due: datetime, **header: str) -> Message:
        """A new OUT message, whose document lies in its place already; the network takes it when it is due.

        `header` is account, uuid, sender, receiver, channel, document_id and process_id.
        """
        posted = {"direction": Direction.OUT, "received": _milliseconds(self._clock()), "due": _milliseconds(due)}
        with self._writing() as connection:
            return _add(connection, **header, **posted)

    def receive(
        self,
        *,
        sender: str,
        receiver: str,
        document_id: str,
        process_id: str,
        content: bytes | Path,
        channel: str = "",
        received: datetime | None = None,
    ) -> int:
        """A message has come in from the network, even one that isn't XML: its msg_no.

        FiledropError: no account receives for `receiver`.
        """
        uuid = str(uuid4())
        with self._writing() as connection:
            account = _home(connection, receiver)
            if account is None:
                raise FiledropError(
                    f"no account of this sandbox receives for {receiver}; "
                    "start it with an account that has this participant"
                )
            if isinstance(content, Path):
                shutil.copyfile(content, self.document(uuid))
            else:
                self.document(uuid).write_bytes(content)
            message = _add(
                connection, account=account, direction=Direction.IN, sender=sender, receiver=receiver, channel=channel,
                document_id=document_id, process_id=process_id, uuid=uuid,
                received=_milliseconds(received or self._clock()),
            )  # fmt: skip
            return message.msg_no

    def sent(self, account: str) -> list[Message]:
        """Every OUT message of the account, oldest first."""
        return self._found(account, Search(direction=Direction.OUT))

    def inbox(self, account: str) -> list[Message]:
        """The unread messages of the account, oldest first."""
        return self._found(account, Search(direction=Direction.IN, listed=True))

    def content(self, msg_no: int) -> bytes:
        """The document of a message, whole. KeyError: there is no such message."""
        with self._using() as connection:
            row = connection.execute("SELECT uuid FROM messages WHERE msg_no = ?", (msg_no,)).fetchone()
        if row is None:
            raise KeyError(msg_no)
        return self.document(row["uuid"]).read_bytes()

    def page(self, account: str, search: Search, index: int) -> tuple[list[Message], bool]:
        """The messages of a page, the first being 1, and whether there are more after it."""
        found = self._found(account, search, limit=PAGE + 1, offset=PAGE * (index - 1))
        return found[:PAGE], len(found) > PAGE

    def count(self, account: str, search: Search) -> int:
        """How many messages are asked for."""
        self.deliver()
        wanted, values = _wanted(account, search)
        with self._using() as connection:
            (count,) = connection.execute(f"SELECT count(*) FROM messages WHERE {wanted}", values).fetchone()
            return int(count)

    def message(self, account: str, msg_no: int) -> Message | None:
        """The account's message of that number; another account's is unknown."""
        self.deliver()
        with self._using() as connection:
            row = connection.execute(f"{_SELECT} WHERE msg_no = ? AND account = ?", (msg_no, account)).fetchone()
        return None if row is None else _message(row)

    def mark_read(self, message: Message) -> Message:
        """The IN message, read now unless it was read before."""
        with self._writing() as connection:
            connection.execute(
                "UPDATE messages SET delivered = ?, listed = FALSE WHERE msg_no = ? AND listed",
                (_milliseconds(self._clock()), message.msg_no),
            )
            return _message(connection.execute(f"{_SELECT} WHERE msg_no = ?", (message.msg_no,)).fetchone())

    def traffic(self, account: str, direction: Direction) -> Traffic:
        """The account's statistics one way; a message that failed stays undelivered."""
        self.deliver()
        with self._using() as connection:
            row = connection.execute(_TRAFFIC, (account, direction)).fetchone()
        return Traffic(
            total=row["total"],
            undelivered=row["undelivered"],
            last_received=_moment(row["last_received"]),
            last_delivered=_moment(row["last_delivered"]),
            oldest_undelivered=_moment(row["oldest_undelivered"]),
        )

    def deliver(self) -> None:
        """Moves the network: what is due reaches the account of its receiver, or fails for good."""
        now = _milliseconds(self._clock())
        with self._using() as connection:
            if connection.execute(f"SELECT 1 FROM messages WHERE {_DUE} LIMIT 1", (now,)).fetchone() is None:
                return
        with self._writing() as connection:
            for row in connection.execute(f"{_SELECT} WHERE {_DUE} ORDER BY due, msg_no", (now,)).fetchall():
                can_travel = all(form.fullmatch(row[name]) for name, form in network.FORMS.items())
                home = _home(connection, row["receiver"]) if can_travel else None
                connection.execute(
                    "UPDATE messages SET due = NULL, listed = FALSE, delivered = ? WHERE msg_no = ?",
                    (None if home is None else now, row["msg_no"]),
                )
                if home is not None:
                    changes = {"msg_no": None, "account": home, "direction": Direction.IN, "received": now}
                    _add(connection, **{**row, **changes})

    def _found(self, account: str, search: Search, limit: int = -1, offset: int = 0) -> list[Message]:
        self.deliver()
        wanted, values = _wanted(account, search)
        page = f"{_SELECT} WHERE {wanted} ORDER BY msg_no LIMIT ? OFFSET ?"
        with self._using() as connection:
            return [_message(row) for row in connection.execute(page, (*values, limit, offset))]

    @contextmanager
    def _using(self) -> Iterator[sqlite3.Connection]:
        """The connection, for this thread alone."""
        with self._lock:
            if self._connection is None:
                self._connection = _connection(self._file)
            yield self._connection

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """The connection in a transaction, which an error takes back."""
        with self._using() as connection, connection:
            connection.execute("BEGIN IMMEDIATE")  # a deferred one doesn't wait for another process
            yield connection


def _connection(file: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(file, timeout=_PATIENCE, check_same_thread=False, isolation_level=None)
    try:
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _wanted(account: str, search: Search) -> tuple[str, list[object]]:
    """The condition of a search, and its values."""
    conditions: dict[str, object] = {
        "account = ?": account,
        "direction = ?": search.direction,
        "sender = ?": search.sender,
        "receiver = ?": search.receiver,
        "received >= ?": search.since and _milliseconds(search.since),
        "received < ?": search.before and _milliseconds(search.before),
        "listed = ?": search.listed or None,
    }
    wanted = {condition: value for condition, value in conditions.items() if value is not None}
    return " AND ".join(wanted), list(wanted.values())


def _home(connection: sqlite3.Connection, participant: str) -> str | None:
    row = connection.execute("SELECT account FROM participants WHERE participant = ?", (participant,)).fetchone()
    return None if row is None else row["account"]


def _add(connection: sqlite3.Connection, **row: object) -> Message:
    """A new message, which is listed."""
    row = {**row, "listed": True}
    names, values = ", ".join(row), ", ".join("?" * len(row))
    insert = f"INSERT INTO messages ({names}) VALUES ({values}) RETURNING {_COLUMNS}"
    return _message(connection.execute(insert, tuple(row.values())).fetchone())


def _message(row: sqlite3.Row) -> Message:
    return Message(
        **{
            **row,
            "direction": Direction(row["direction"]),
            "received": _moment(row["received"]),
            "delivered": _moment(row["delivered"]),
            "listed": bool(row["listed"]),
        }
    )


def _milliseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def _moment(milliseconds: int | None) -> datetime | None:
    return None if milliseconds is None else _EPOCH + timedelta(milliseconds=milliseconds)
