"""The journal in one SQLite file: the default, for one host. Nothing has to be set up for it."""

from __future__ import annotations

import secrets
import sqlite3
import threading
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING

from filedrop.errors import DamagedJournal, JournalError
from filedrop.journal import statements
from filedrop.journal.closed import note_closed, take_closed
from filedrop.journal.connection import (
    CHECKPOINT,
    QUICK_CHECK,
    SHRINK,
    TABLES,
    UNUSED,
    FileConnection,
    clear_strange_wal,
    connect,
)
from filedrop.journal.engine import Engine, refuse_another_schema, refuse_moved
from filedrop.journal.schema import DEFINITIONS, SCHEMA_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_READERS = 8  # idle connections that are kept
_PATIENCE = 30.0  # seconds to wait for another process's lock, such as a command's
_ROWS = 150  # written ones, after which there is a checkpoint: some seven pages each, with their indexes


def copies_folder(journal: Path) -> Path:
    """The folder of the daily copies of a journal's file."""
    return journal.with_name("backup")


class Sqlite(Engine):
    """The open SQLite file at `path`.

    `is_daemons`: it is the daemon's, of which there is one; it alone checkpoints (`checkpoint`), after so many written
    rows and when it is idle. `is_moving`: it is opened even if it was moved.
    """

    def __init__(self, path: Path, *, is_daemons: bool = False, is_moving: bool = False) -> None:
        super().__init__()
        self.path = path
        self.place = str(path)
        self._is_moving = is_moving
        self._readers: list[FileConnection] = []  # idle ones
        self._guard: FileConnection | None = None
        self._observer: FileConnection | None = None
        self._version_lock = threading.Lock()
        self._checkpoints = is_daemons
        self._rows = 0  # written until the last checkpoint
        self._is_behind = True  # is there something in the -wal that the file lacks?
        self._seen = -1  # commits
        self.is_whole = take_closed(path) if is_daemons else False
        with self._translated():
            try:
                clear_strange_wal(path)
            except OSError as error:
                raise JournalError(
                    f"{error.filename}, which isn't {path.name}'s, can't be removed: {error.strerror}"
                ) from error
            self._writer = self._connect()
            self._writer.execute("PRAGMA temp_store=MEMORY")  # else statement journals go to a file
        try:
            with self._translated():
                self.id = self._take_up()
            if is_daemons:
                self.checkpoint()  # of what a killed process has left
        except BaseException:
            self.is_whole = False
            self._roll_back()  # else its open transaction locks others out
            self.close()
            raise

    def close(self) -> None:
        """Close all connections. Nothing is lost without this call."""
        with self._writer_lock, self._version_lock:  # SQLite crashes if a connection is closed in the midst of a call
            for connection in (self._guard, self._observer, self._writer):
                if connection is not None:
                    connection.close()
        with suppress(IndexError):
            while True:  # a thread that looks at a folder that hung takes one, or gives it back, at any moment
                self._readers.pop().close()
        if self._checkpoints and self.is_whole:
            note_closed(self.path)

    def check_integrity(self) -> None:
        """Check the file for damage, which takes seconds for a million documents. Raises JournalError.

        From then on the journal is in trouble, whatever can still be written.
        """
        with self.unread() as connection:
            ((found,),) = connection.execute(QUICK_CHECK)
            if found != "ok":
                raise _damaged(self.path, str(found).replace("\n", " "))
        self.is_whole = True
        if self.is_held:
            self._damage = self.trouble = ""

    def checkpoint(self) -> bool:
        """Bring what is in the -wal into the file. Returns whether the file has all of it; waits for no process.

        The writer doesn't write now. A second connection holds the write lock meanwhile, so no other process does. What
        readers still need stays in the -wal. An error is no trouble: what is committed is on the disk already.
        """
        with self._writer_lock, suppress(sqlite3.Error):
            self._rows, self._is_behind = self._writer.total_changes, True
            if self._guard is None:
                self._guard = connect(self.path, patience=0)
            self._guard.execute("BEGIN IMMEDIATE")
            try:
                ((_, pages, done),) = self._writer.execute(CHECKPOINT).fetchall()
                self._is_behind = done < pages
            finally:
                self._guard.execute("ROLLBACK")
        return not self._is_behind

    def keep_up(self) -> None:
        """Checkpoint where nothing has been written since the last call."""
        is_idle, self._seen = self._seen == self.commits, self.commits
        if is_idle and self._is_behind and not self._writer_lock.locked():
            self.checkpoint()

    def version(self) -> int | None:
        """What SQLite counts for one connection, which never writes."""
        with self._version_lock, self._translated():
            if self._observer is None:
                self._observer = self._connect()
            ((version,),) = self._observer.execute("PRAGMA data_version")
        return int(version)

    def describe(self) -> str:
        """The library and its version."""
        return f"SQLite {sqlite3.sqlite_version}"

    def shrink(self) -> bool:
        """Give some of the file's unused space back to the disk."""
        unused: int = self.value(UNUSED)
        with self._writer_lock, self._translated():
            self._writer.executescript(SHRINK)  # `execute` steps once, which frees one page
            self._is_behind = True
        self.checkpoint()  # what is in the -wal alone shrinks nothing
        return bool(0 < self.value(UNUSED) < unused)  # a file that was made of a dump can't

    def _say(self, word: str) -> None:
        self._writer.execute(word)

    def _begin(self) -> FileConnection:
        self._say("BEGIN IMMEDIATE")
        return self._writer

    def _commit(self) -> None:
        self._say("COMMIT")
        self._is_behind = True

    def _written(self) -> None:
        if self._checkpoints and self._writer.total_changes - self._rows >= _ROWS:
            self.checkpoint()

    def _roll_back(self) -> None:
        try:
            self._say("ROLLBACK")
        except sqlite3.Error:  # SQLite has rolled back itself (disk full), or never began
            return

    @contextmanager
    def _reader(self) -> Iterator[FileConnection]:
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

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            with _translated(self.path):
                yield
        except DamagedJournal:
            self.is_whole = False
            raise

    @contextmanager
    def unread(self) -> Iterator[FileConnection]:
        """A new connection, which has read nothing: it sees what the file has now. Damage that it finds stays known."""
        try:
            with self._translated(), closing(self._connect()) as connection:
                yield connection
        except DamagedJournal as error:
            self._damage = self.trouble = str(error)
            raise

    def _connect(self) -> FileConnection:
        connection = connect(self.path, patience=_PATIENCE)
        if not self.path.stat().st_size:  # it is new
            connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA cache_size=-512")  # KiB for each connection; the system's cache keeps the rest
        return connection

    def _take_up(self) -> str:
        """Create the tables in a new file. Returns the journal's id. Raises JournalError."""
        self._say("BEGIN IMMEDIATE")
        tables = {name for (name,) in self._writer.execute(TABLES)}
        found = dict(self._writer.execute(statements.ABOUT)) if "about" in tables else {}
        if not self._is_moving:
            refuse_moved(self.place, found)
        if found:
            refuse_another_schema(self.place, found, "move the file away, with its -wal and -shm")
        else:
            for definition in DEFINITIONS:
                self._writer.execute(definition)
            for key, value in (("schema", str(SCHEMA_VERSION)), ("id", secrets.token_hex(8))):
                self._writer.execute(statements.SAY_ABOUT, {"key": key, "value": value})
        self._say("COMMIT")
        return str(dict(self._writer.execute(statements.ABOUT))["id"])


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        reason = str(error).splitlines()[0]
        # The low byte is the primary result code (sqlite.org/rescode.html).
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            raise _damaged(path, reason) from error
        raise JournalError(
            f"the journal {path} can't be used: {reason}; nothing is posted until it can: "
            "see that its disk has room and that its folder belongs to the service"
        ) from error


def _damaged(path: Path, reason: str) -> DamagedJournal:
    return DamagedJournal(
        f"the journal {path} is damaged: {reason}. Nothing is posted. Stop filedrop, move the file away, with its -wal "
        f"and -shm, and put the latest copy there, from {copies_folder(path)} or your own; where there is none, "
        "run: filedrop check --take-over"
    )
