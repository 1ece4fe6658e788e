"""How the journal is written and read: durably, by one writer at a time, many threads' wishes in one commit."""

from __future__ import annotations

import secrets
import sqlite3
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from filedrop.errors import FiledropError, JournalError
from filedrop.journal.schema import DEFINITIONS, SCHEMA_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

_T = TypeVar("_T")
_READERS = 8  # connections that are kept for the next reader
_PATIENCE = 30.0  # seconds that another process, a command, may hold the file


class _Ticket:
    """One thread's wish to write, and what came of it."""

    def __init__(self, work: Callable[[sqlite3.Connection], Any]) -> None:
        self.work = work
        self.done = False
        self.result: Any = None
        self.error: BaseException | None = None


class Store:
    """The open SQLite file. Thread-safe. Raises JournalError where it can't be read or written.

    `trouble` is the sentence that says why the last write failed, "" where it didn't; `commits` counts the others.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.trouble = ""
        self.commits = 0
        self._queue: list[_Ticket] = []
        self._queue_lock = threading.Lock()
        self._writer_lock = threading.Lock()
        self._readers: list[sqlite3.Connection] = []  # those that nobody is reading with
        with _translated(path):
            self._writer = self._connect()
            self._writer.execute("PRAGMA temp_store=MEMORY")  # else what a statement would undo goes to a file
        try:
            with _translated(path):
                self.id = self._take_up()
        except BaseException:  # else what it has begun to write would keep others out
            self.close()
            raise

    def close(self) -> None:
        """Give the file back. Nothing is lost when this is never called."""
        for connection in (*self._readers, self._writer):
            connection.close()

    def see_whole(self) -> None:
        """See that nothing in the file is damaged, which takes seconds for a million documents. Raises JournalError."""
        with self._reader() as connection:
            (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise JournalError(_damaged(self.path, str(found).replace("\n", " ")))

    def see_writable(self) -> None:
        """Write something. Raises JournalError."""
        attempt = "INSERT OR REPLACE INTO about VALUES ('tried', ?)"
        self.write(lambda connection: connection.execute(attempt, (secrets.token_hex(8),)))

    def write(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        """Do this in a transaction and return its result when the disk has it.

        `work` makes its checks before its writes: what it raises, a FiledropError, undoes nothing.
        """
        (result,) = self.write_each([work])
        if isinstance(result, FiledropError):
            raise result
        return result

    def write_each(self, works: Sequence[Callable[[sqlite3.Connection], _T]]) -> list[_T | FiledropError]:
        """Do each of these in one commit, and return its result or what it raised."""
        if not works:
            return []
        tickets = [_Ticket(work) for work in works]
        with self._queue_lock:
            self._queue += tickets
        with self._writer_lock:
            # Whoever gets here first commits for all who queued meanwhile: one fsync for many.
            if not all(ticket.done for ticket in tickets):
                with self._queue_lock:
                    batch, self._queue = self._queue, []
                self._commit(batch)
        for ticket in tickets:
            if ticket.error is not None and not isinstance(ticket.error, FiledropError):
                raise ticket.error
        return [ticket.error or ticket.result for ticket in tickets]  # type: ignore[misc] # no other error is left

    def _commit(self, batch: list[_Ticket]) -> None:
        try:
            with _translated(self.path):
                self._say("BEGIN IMMEDIATE")
                for ticket in batch:
                    try:
                        ticket.result = ticket.work(self._writer)
                    except FiledropError as error:  # its checks come before its writes: nothing is to be undone
                        ticket.error = error
                self._say("COMMIT")
            self.trouble = ""
            self.commits += 1
        except BaseException as error:  # noqa: BLE001 - each thread that waits must hear it, whatever it is
            self._roll_back()
            if len(batch) > 1:  # one thread's trouble must not be the others'
                for ticket in batch:
                    ticket.error = None
                    self._commit([ticket])
                return
            batch[0].error = error
            self.trouble = str(error)
        finally:
            for ticket in batch:
                ticket.done = True

    def _say(self, word: str) -> None:
        self._writer.execute(word)

    def _roll_back(self) -> None:
        try:
            self._say("ROLLBACK")
        except sqlite3.Error:  # SQLite has rolled back by itself (disk full), or never began
            return

    def read(self, statement: str, **values: Any) -> list[Sequence[Any]]:
        """The rows that a statement finds with these values."""
        with self._reader() as connection:
            return connection.execute(statement, values).fetchall()

    def read_each(self, statement: str, **values: Any) -> Iterator[Sequence[Any]]:
        """The rows one after the other, where they may be very many."""
        with self._reader() as connection:
            yield from connection.execute(statement, values)

    def value(self, statement: str, **values: Any) -> Any:
        """The first column of the first row; None where there is none."""
        rows = self.read(statement, **values)
        return rows[0][0] if rows else None

    @contextmanager
    def _reader(self) -> Iterator[sqlite3.Connection]:
        """A connection for this thread alone: readers wait for nobody, not even for the writer."""
        with _translated(self.path):
            try:
                connection = self._readers.pop()
            except IndexError:
                connection = self._connect()
            try:
                yield connection
            finally:
                if len(self._readers) < _READERS:
                    self._readers.append(connection)
                else:
                    connection.close()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=_PATIENCE, check_same_thread=False, isolation_level=None)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA cache_size=-512")  # KiB: each has its own, and the system keeps what is read often
        return connection

    def _take_up(self) -> str:
        """Make whatever isn't there yet, and return the journal's id."""
        self._say("BEGIN IMMEDIATE")
        for definition in DEFINITIONS:
            self._writer.execute(definition)
        for key, value in (("schema", str(SCHEMA_VERSION)), ("id", secrets.token_hex(8))):
            self._writer.execute("INSERT OR IGNORE INTO about VALUES (?, ?)", (key, value))
        self._say("COMMIT")
        about = dict(self._writer.execute("SELECT key, value FROM about"))
        if about["schema"] != str(SCHEMA_VERSION):
            raise JournalError(
                f"{self.path} was written by another version of filedrop (schema {about['schema']}, "
                f"this one knows {SCHEMA_VERSION}): install that version again, or a newer one"
            )
        return str(about["id"])


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        reason = str(error).splitlines()[0]
        # The low byte is what happened, the others say where (sqlite.org/rescode.html).
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            raise JournalError(_damaged(path, reason)) from error
        raise JournalError(
            f"the journal {path} can't be used: {reason}; nothing is posted until it can: "
            "see that its disk has room and that its folder belongs to the service"
        ) from error


def _damaged(path: Path, reason: str) -> str:
    return (
        f"the journal {path} is damaged: {reason}. Nothing is posted. Stop filedrop, move the file away, with its -wal "
        "and -shm, and put the latest copy there; where there is none, run: filedrop check --take-over"
    )
