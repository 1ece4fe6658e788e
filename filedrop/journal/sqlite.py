"""The journal in one SQLite file: the default, for one host. Nothing has to be set up for it.

No connection checkpoints by itself. SQLite from 3.7.0 to 3.51.2 can damage a file in WAL mode where one connection
writes while another checkpoints (the "WAL-reset bug", sqlite.org/wal.html). Debian 12 has 3.40.1. So a checkpoint
happens in two places: in `Store`, which keeps all writers out meanwhile, and where SQLite closes the last connection,
which has the file for itself.

SQLite applies the -wal of another file to a copy that was put in its place, and damages it
(tests/findings/sqlite-wal.sh).

A start need not check a file that is as its last daemon closed it. At its end, a daemon notes the file's identity, size
and time in a file beside it. A daemon that starts takes this note away first, durably: after a kill or a power cut
there is none. A file that anything else has changed since, such as a copy that was put in its place, doesn't match the
note.

A copy is as of one moment, checked, and in one file.
"""

from __future__ import annotations

import os
import re
import secrets
import sqlite3
import threading
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from filedrop.errors import DamagedJournal, FiledropError, JournalError
from filedrop.files import Directory, place
from filedrop.files.disk import free_space
from filedrop.journal.engine import Engine, UnfitRow, refuse_another_schema, refuse_moved
from filedrop.journal.schema import ABOUT, DEFINITIONS, SAY_ABOUT, SCHEMA_VERSION, SUSPECT_ALL
from filedrop.texts.printable import one_line, size

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import date
    from pathlib import Path

_READERS = 8  # idle connections that are kept
_PATIENCE = 30.0  # seconds to wait for another process's lock, such as a command's
_ROWS = 150  # written ones, after which there is a checkpoint: some seven pages each, with their indexes

SHRINK = "PRAGMA incremental_vacuum(500)"  # pages
QUICK_CHECK = "PRAGMA quick_check(1)"
CHECKPOINT = "PRAGMA wal_checkpoint(PASSIVE)"
UNUSED = "PRAGMA freelist_count"
TABLES = "SELECT name FROM sqlite_master WHERE type = 'table'"
_LARGEST_WAL = 8 * 2**20  # bytes of the -wal that are kept for the next writes, when it begins anew
_READ_VERSION = 19  # its offset in the file's header (sqlite.org/fileformat2.html)
_WITHOUT_WAL = b"\x01"

NOTE = "closed"  # the end of its name


LONGEST_SAID = 500  # characters of an error
KEPT = 7  # daily copies
_DAILY = re.compile(r"journal-\d{4}-\d\d-\d\d\.sqlite")


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
        self._is_due = False  # a checkpoint
        self._seen = -1  # commits
        self.is_whole = pop_closed(path) if is_daemons else False
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

    def _close(self) -> None:
        with self._version_lock:  # SQLite crashes if a connection is closed in the midst of a call
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
            self._rows, self._is_behind, self._is_due = self._writer.total_changes, True, False
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
        self._is_due = self._checkpoints and self._writer.total_changes - self._rows >= _ROWS

    def _written(self) -> None:
        if self._is_due:
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
        self._check_open()
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
        found = dict(self._writer.execute(ABOUT)) if "about" in tables else {}
        if not self._is_moving:
            refuse_moved(self.place, found)
        if found:
            refuse_another_schema(self.place, found, "move the file away, with its -wal and -shm")
        else:
            for definition in DEFINITIONS:
                self._writer.execute(definition)
            for key, value in (("schema", str(SCHEMA_VERSION)), ("id", secrets.token_hex(8))):
                self._writer.execute(SAY_ABOUT, {"key": key, "value": value})
        self._say("COMMIT")
        return str(dict(self._writer.execute(ABOUT))["id"])


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except (UnicodeError, OverflowError) as error:  # Python's, before SQLite sees the value
        raise UnfitRow(f"the journal {path} can't keep a value: {error}") from error
    except sqlite3.Error as error:
        reason = str(error).splitlines()[0]
        # The low byte is the primary result code (sqlite.org/rescode.html).
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            raise _damaged(path, reason) from error
        is_of_row = isinstance(error, sqlite3.DataError | sqlite3.IntegrityError)
        if is_of_row and getattr(error, "sqlite_errorcode", 0) != sqlite3.SQLITE_CONSTRAINT_TRIGGER:  # ours refuse none
            raise UnfitRow(f"the journal {path} can't keep a value: {reason}") from error
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


class FileConnection(sqlite3.Connection):
    """A connection to a journal's file, as the engine's parts use one."""

    def execute_each(self, statement: str, rows: Sequence[Mapping[str, Any]], /) -> list[int]:
        """Run a statement for each of these values; how many rows each time has written."""
        return [self.execute(statement, row).rowcount for row in rows]


def connect(path: Path, *, patience: float = 5.0) -> FileConnection:
    """A connection that waits so many seconds for another's lock, and commits each statement by itself.

    It may be used by any thread, by one at a time. Raises sqlite3.Error.
    """
    connection = sqlite3.connect(
        path, timeout=patience, check_same_thread=False, isolation_level=None, factory=FileConnection
    )
    connection.execute("PRAGMA wal_autocheckpoint=0")
    connection.execute(f"PRAGMA journal_size_limit={_LARGEST_WAL}")
    return connection


def clear_strange_wal(path: Path) -> None:
    """Remove the -wal and -shm beside a copy of the journal, which has none: they belong to the file before it.

    A journal in use is always in WAL mode, and a copy (`Copies.copy_to`) never. Raises OSError where one can't be
    removed; a file that can't be read is left to SQLite.
    """
    header = b""
    with suppress(OSError), path.open("rb") as file:
        header = file.read(_READ_VERSION + 1)
    if header[_READ_VERSION:] == _WITHOUT_WAL:
        for end in ("-wal", "-shm"):
            path.with_name(f"{path.name}{end}").unlink(missing_ok=True)


def note_closed(path: Path) -> None:
    """Note that the journal at `path` was closed. Where that fails, the next start checks it."""
    with suppress(OSError):
        note = _note_of(path)
        note.touch(0o600)  # as the journal: nobody else writes it, whatever the umask is
        note.write_text(_state_of(path), "ascii")


def pop_closed(path: Path) -> bool:
    """Whether the journal at `path` is new, or as it was when it was closed. Its note is taken away."""
    note = _note_of(path)
    try:
        is_new = not path.exists() or not path.stat().st_size
        is_same = note.exists() and note.read_text("ascii") == _state_of(path)
        if note.exists():
            note.unlink()
            Directory.open(path.parent).sync()
    except (OSError, UnicodeDecodeError):
        return False
    return is_new or is_same


def _note_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-{NOTE}")


def _state_of(path: Path) -> str:
    """The file's identity, size and time, and the size of what was committed but isn't in it yet (-wal)."""
    status, wal = path.stat(), path.with_name(f"{path.name}-wal")
    return (
        f"{status.st_dev} {status.st_ino} {status.st_size} {status.st_mtime_ns} {wal.exists() and wal.stat().st_size}"
    )


class Copies:
    """Makes copies of a journal's file."""

    def __init__(self, file: Sqlite) -> None:
        self._file = file

    @property
    def folder(self) -> Path:
        """The folder of the daily copies."""
        return copies_folder(self._file.path)

    def copy_to(self, target: Path) -> None:
        """Copy the journal as it is at one moment to a new file, which is whole and checked once it exists.

        The copy counts as older than all folders, also those of a share that was copied at the same moment: what waits
        in either may have been sent since. Raises OSError, and JournalError where the journal is damaged.
        """
        draft = target.with_name(f".{secrets.token_hex(13)}.tmp")  # nobody can guess it, and put a link there
        try:
            os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            self._copy(draft)
            folder = Directory.open(target.absolute().parent)
            place(folder / draft.name, folder / target.name)
            folder.sync()
        finally:
            draft.unlink(missing_ok=True)

    def _copy(self, draft: Path) -> None:
        with self._file.unread() as source, closing(connect(draft)) as copy:
            try:
                source.backup(copy)
                copy.execute(SUSPECT_ALL)
                copy.execute("PRAGMA journal_mode=DELETE")  # a copy is one file
                ((found,),) = copy.execute(QUICK_CHECK)
            except sqlite3.Error as error:
                found = error
        if found != "ok":
            self._file.check_integrity()  # the journal's own damage was copied, or the copy alone is bad
            raise OSError(None, one_line(found, LONGEST_SAID))

    def copy_daily(self, day: date, *, spare: int) -> bool:
        """Have a copy of this day in `copies_folder`, and the newest of the days before. Returns whether it is new.

        There is none where less than `spare` bytes would be left on the disk. Raises FiledropError, JournalError,
        OSError; then the older copies stay.
        """
        folder = self.folder
        target = folder / f"journal-{day.isoformat()}.sqlite"
        folder.mkdir(mode=0o700, exist_ok=True)
        for draft in folder.glob(".*.tmp*"):  # a killed process has left it, or what SQLite had beside it
            draft.unlink()
        if target.exists():
            return False
        needed = sum(
            path.stat().st_size
            for path in (self._file.path, *self._file.path.parent.glob(f"{self._file.path.name}-wal"))
        )
        free = free_space(folder)
        if free is not None and free < needed + spare:
            raise FiledropError(
                f"there is no room for a copy of the journal ({size(needed)}) on the disk of {folder}, which has "
                f"{size(free)} left: make room there"
            )
        self.copy_to(target)
        daily = sorted(path for path in folder.iterdir() if _DAILY.fullmatch(path.name))
        for path in daily[:-KEPT]:
            with suppress(OSError):  # the next day tries again
                path.unlink()
        return True

    def newest_copy(self) -> Path | None:
        """The newest daily copy; None where there is none."""
        with suppress(OSError):
            return max((path for path in self.folder.iterdir() if _DAILY.fullmatch(path.name)), default=None)
        return None
