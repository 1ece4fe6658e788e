"""How the journal is written and read: durably, by one writer at a time, many threads' wishes in one commit."""

from __future__ import annotations

import secrets
import sqlite3
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from filedrop.errors import FiledropError, JournalError
from filedrop.journal.schema import ABOUT, SCHEMA, SCHEMA_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

_T = TypeVar("_T")
_AT_ONCE = 500  # parameters of one query: SQLite bounds them


class _Ticket:
    """One thread's wish to write, and what came of it."""

    def __init__(self, work: Callable[[sa.Connection], Any]) -> None:
        self.work = work
        self.done = False
        self.result: Any = None
        self.error: BaseException | None = None


class Store:
    """The open SQLite file. Thread-safe. Raises JournalError where it can't be read or written.

    `trouble` is the sentence that says why the last write failed, "" where it didn't.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.trouble = ""
        self._queue: list[_Ticket] = []
        self._queue_lock = threading.Lock()
        self._writer_lock = threading.Lock()
        self._engine = sa.create_engine(
            f"sqlite:///{path}", connect_args={"timeout": 30, "check_same_thread": False, "isolation_level": None}
        )
        sa.event.listen(self._engine, "connect", _prepare)
        with _translated(path):
            self._writer = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
            self._make()
            about = {row.key: row.value for row in self._writer.execute(sa.select(ABOUT))}
        if about["schema"] != str(SCHEMA_VERSION):
            self.close()
            raise JournalError(
                f"{path} was written by another version of filedrop (schema {about['schema']}, "
                f"this one knows {SCHEMA_VERSION}): install that version again, or a newer one"
            )
        self.id = about["id"]

    def close(self) -> None:
        """Give the file back. Nothing is lost when this is never called."""
        self._writer.close()
        self._engine.dispose()

    def see_whole(self) -> None:
        """See that nothing in the file is damaged, which takes seconds for a million documents. Raises JournalError."""
        with _translated(self.path), self._engine.connect() as connection:
            found = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar()
        if found != "ok":
            raise JournalError(_damaged(self.path, str(found).replace("\n", " ")))

    def see_writable(self) -> None:
        """Write something. Raises JournalError."""
        attempt = sa.insert(ABOUT).prefix_with("OR REPLACE").values(key="tried", value=secrets.token_hex(8))
        self.write(lambda connection: connection.execute(attempt))

    def write(self, work: Callable[[sa.Connection], _T]) -> _T:
        """Do this in a transaction and return its result when the disk has it.

        `work` makes its checks before its writes: what it raises, a FiledropError, undoes nothing.
        """
        ticket = _Ticket(work)
        with self._queue_lock:
            self._queue.append(ticket)
        with self._writer_lock:
            # Whoever gets here first commits for all who queued meanwhile: one fsync for many.
            if not ticket.done:
                with self._queue_lock:
                    batch, self._queue = self._queue, []
                self._commit(batch)
        if ticket.error is not None:
            raise ticket.error
        result: _T = ticket.result
        return result

    def _commit(self, batch: list[_Ticket]) -> None:
        try:
            with _translated(self.path):
                self._writer.exec_driver_sql("BEGIN IMMEDIATE")
                for ticket in batch:
                    try:
                        ticket.result = ticket.work(self._writer)
                    except FiledropError as error:  # its checks come before its writes: nothing is to be undone
                        ticket.error = error
                self._writer.exec_driver_sql("COMMIT")
            self.trouble = ""
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

    def _roll_back(self) -> None:
        try:
            self._writer.exec_driver_sql("ROLLBACK")
        except SQLAlchemyError:  # SQLite has rolled back by itself (disk full), or never began
            return

    def read(self, query: sa.Select[Any]) -> Sequence[sa.Row[Any]]:
        """The rows of a query."""
        with _translated(self.path), self._engine.connect() as connection:
            return connection.execute(query).all()

    def value(self, query: sa.Select[Any]) -> Any:
        """The first column of a query's first row; None where there is none."""
        with _translated(self.path), self._engine.connect() as connection:
            return connection.execute(query).scalar()

    def read_in_parts(
        self, query: sa.Select[Any], column: sa.Column[Any], values: Sequence[int]
    ) -> Iterator[sa.Row[Any]]:
        """The rows of a query in which a column has one of these values."""
        for start in range(0, len(values), _AT_ONCE):
            yield from self.read(query.where(column.in_(values[start : start + _AT_ONCE])))

    def _make(self) -> None:
        self._writer.exec_driver_sql("BEGIN IMMEDIATE")
        SCHEMA.create_all(self._writer)
        for key, value in (("schema", str(SCHEMA_VERSION)), ("id", secrets.token_hex(8))):
            self._writer.execute(sa.insert(ABOUT).prefix_with("OR IGNORE").values(key=key, value=value))
        self._writer.exec_driver_sql("COMMIT")


def _prepare(connection: Any, _record: Any) -> None:
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except SQLAlchemyError as error:
        cause = getattr(error, "orig", None)
        reason = str(cause or error).splitlines()[0]
        # The low byte is what happened, the others say where (sqlite.org/rescode.html).
        if getattr(cause, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
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
