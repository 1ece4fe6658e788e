"""What every engine of the journal has: durable transactions, one after the other; many threads share a commit.

The parts of the journal speak to it in SQL, of which there is one text for all engines.
"""

from __future__ import annotations

import secrets
import threading
from abc import ABC, abstractmethod
from contextlib import contextmanager, nullcontext
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from filedrop.errors import ClosedJournal, FiledropError, JournalError, WrongJournal
from filedrop.journal.schema import KEEP, SCHEMA_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

_KEPT_TEXT = "SELECT value FROM about WHERE key = :key"

_I = TypeVar("_I")
_T = TypeVar("_T")


class Cursor(Protocol):
    """The rows that a statement has returned, and how many it has changed."""

    @property
    def rowcount(self) -> int:
        """How many rows were written."""

    def __iter__(self) -> Iterator[Any]:
        """The rows, as tuples of their columns."""

    def fetchall(self) -> list[Any]:
        """All rows that are left."""


class Connection(Protocol):
    """A connection within a transaction, or one that reads; `:name` in a statement is the value with that name."""

    def execute(self, statement: str, values: Mapping[str, Any] = ..., /) -> Cursor:
        """Run a statement."""

    def executemany(self, statement: str, rows: Iterable[Mapping[str, Any]], /) -> Cursor:
        """Run a statement for each of these values."""

    def execute_each(self, statement: str, rows: Sequence[Mapping[str, Any]], /) -> list[int]:
        """Run a statement for each of these values; how many rows each time has written."""


def write_rows(connection: Connection, steps: Iterable[tuple[str, Mapping[str, Any]]]) -> list[bool]:
    """Run each of these statements with its values, within a transaction; whether it has written a row."""
    return [
        number == 1
        for statement, group in groupby(steps, key=itemgetter(0))
        for number in connection.execute_each(statement, [values for _, values in group])
    ]


class NoJournal(JournalError):
    """The database is empty: no daemon has used it yet."""


class UnfitRow(JournalError):
    """The database can't keep a value of this row; it keeps others."""


class UnclearCommit(JournalError):
    """It isn't known whether a commit has happened: what was written in it may be there."""


MOVED = "moved"  # a key of `about`: where the journal is now
UNCHECKED = (
    "the journal is being checked, because filedrop didn't end properly; nothing is posted until it has been checked"
)
LINEAGE = "lineage"  # a key of `about`: the database that was last written to


def refuse_another_schema(place: str, about: Mapping[str, str], begin: str) -> None:
    """Raise WrongJournal where a journal has another schema than ours. `begin`: how to begin a new journal."""
    schema = about.get("schema", "none")
    if schema in map(str, range(1, SCHEMA_VERSION)):
        raise WrongJournal(
            f"{place} was written before the first release of filedrop, and this version can't read it: stop filedrop, "
            f"{begin}, run `filedrop check --take-over`, and start filedrop again. It then learns from the sidecars "
            "what was sent"
        )
    if schema != str(SCHEMA_VERSION):
        raise WrongJournal(
            f"{place} was written by another version of filedrop (schema {schema}, this one knows {SCHEMA_VERSION}): "
            "install that version again, or a newer one"
        )


def refuse_moved(place: str, about: Mapping[str, str]) -> None:
    """Raise WrongJournal where a journal is marked as moved."""
    if now := about.get(MOVED):
        raise WrongJournal(
            f"the journal was moved from {place}; it is in {now} now: change `journal` in the configuration. If "
            "`filedrop journal move` was stopped before its end, run it again first"
        )


class _Ticket:
    """Queued work on some items, and for each its result or error."""

    def __init__(self, work: Callable[[Connection, Sequence[Any]], Sequence[Any]], items: Sequence[Any]) -> None:
        self.work = work
        self.items = items
        self.is_done = False
        self.results: Sequence[Any] = ()


class Engine(ABC):
    """The open journal as transactions. Thread-safe. Raises JournalError where it can't be read or written.

    `id` is the journal's own, which it keeps wherever it goes; `place` is where it is, for people. `trouble` says why
    the last write failed, "" where it succeeded; `commits` counts successful commits. `is_whole`: it needs no check,
    because its last daemon closed it, or it was checked; otherwise a power cut may have damaged it. `is_shared`:
    several hosts use it, also by different servers.
    """

    id: str
    place: str
    is_shared = False

    def __init__(self) -> None:
        self.trouble = ""
        self._damage = ""  # trouble that stays, although a write may succeed
        self.commits = 0
        self.is_whole = True
        self._is_closed = False
        self._queue: list[_Ticket] = []
        self._queue_lock = threading.Lock()
        self._writer_lock = threading.Lock()
        self._local = threading.local()

    def close(self) -> None:
        """Close all connections when the write that has begun has ended. Nothing is lost without this call.

        Threads that go on get ClosedJournal.
        """
        self._is_closed = True
        with self._writer_lock:
            self._close()

    def _check_open(self) -> None:
        if self._is_closed:
            raise ClosedJournal("filedrop stops, and has closed the journal: the next start continues")

    @abstractmethod
    def _close(self) -> None:
        """Close all connections. Nobody writes now."""

    @property
    def server(self) -> str:
        """The `HOST:PORT` of the server that this process uses; "" where there is none."""
        return ""

    @abstractmethod
    def describe(self) -> str:
        """The engine and its version, for people."""

    @abstractmethod
    def check_integrity(self) -> None:
        """Look for damage, as far as that is ours to see. Raises JournalError, and the journal is in trouble then."""

    @property
    def is_held(self) -> bool:
        """Whether nothing is to be posted before `check_integrity` has found the journal whole."""
        return self._damage == UNCHECKED

    def hold(self) -> None:
        """Have nothing posted before it is checked, unless it is known to be whole."""
        if not self.is_whole:
            self._damage = self.trouble = UNCHECKED

    def doubts(self) -> Iterator[str]:
        """What an administrator should know of how it is set up. Raises JournalError."""
        return iter(())

    def keep_up(self) -> None:  # noqa: B027 - most engines need none
        """Do what keeps it small, fast and usable; the daemon calls this each second. Never raises."""

    def version(self) -> int | None:
        """A number that changes with each commit of any process; None where that can't be told. Raises JournalError."""
        return None

    def shrink(self) -> bool:
        """Give some of the space of removed rows back to the disk. Returns whether there is more."""
        return False

    def keep_hosts_out(self, connection: Connection) -> list[str]:  # noqa: ARG002 - a file has no hosts
        """Let no host enter before the end of this transaction. Returns the names of those that are there."""
        return []

    def without_triggers(self, connection: Connection) -> AbstractContextManager[None]:  # noqa: ARG002 - a file's are cheap
        """A context in which new documents aren't counted, as far as that costs much."""
        return nullcontext()

    def each_row(self, connection: Connection, statement: str) -> Iterator[Sequence[Any]]:
        """The rows of a statement, of which only a few are in memory at a time."""
        return iter(connection.execute(statement))

    @staticmethod
    def as_kept(value: Any) -> Any:
        """The value that is read after this one was written."""
        return value

    @abstractmethod
    def _begin(self) -> Connection:
        """Begin a transaction, in which nobody else writes."""

    @abstractmethod
    def _commit(self) -> None:
        """Commit it: when this returns, it is on the disk."""

    @abstractmethod
    def _roll_back(self) -> None:
        """End it without a trace. Raises nothing."""

    @abstractmethod
    def _reader(self) -> AbstractContextManager[Connection]:
        """A connection for this thread alone, that waits for no writer."""

    @abstractmethod
    def _translated(self) -> AbstractContextManager[None]:
        """A context in which the engine's errors become JournalErrors. Raises ClosedJournal."""

    def check_writable(self) -> None:
        """Write a test value. Raises JournalError."""
        self.keep("tried", secrets.token_hex(8))

    def keep(self, key: str, value: str) -> None:
        """Keep a text under a key."""
        self.write(lambda connection: connection.execute(KEEP, {"key": key, "value": value}))

    def kept(self, key: str) -> str | None:
        """The text that is kept under a key; None where there is none."""
        value: str | None = self.value(_KEPT_TEXT, key=key)
        return value

    def write(self, work: Callable[[Connection], _T]) -> _T:
        """Do `work` in a transaction, and return its result when the commit is on the disk.

        `work` must make its checks before its writes, because a FiledropError that it raises rolls nothing back.
        """
        (result,) = self.write_each(lambda connection, _: (work(connection),), (None,))
        if isinstance(result, FiledropError):
            raise result
        return result

    def write_each(
        self, work: Callable[[Connection, Sequence[_I]], Sequence[_T | FiledropError]], items: Sequence[_I]
    ) -> list[_T | FiledropError]:
        """Do `work` for all items in one commit; it returns for each a result or a FiledropError.

        Where that fails, it is done for each item alone, and for each that fails there is its error.
        """
        if not items:
            return []
        ticket = _Ticket(work, items)
        with self._queue_lock:
            self._queue.append(ticket)
        with self._writer_lock:
            # The first thread here commits for all that have queued: one fsync for many writes.
            if not ticket.is_done:
                with self._queue_lock:
                    batch, self._queue = self._queue, []
                self._do(batch)
        self._written()
        result: Any
        for result in ticket.results:
            if isinstance(result, BaseException) and not isinstance(result, FiledropError):
                raise result
        return list(ticket.results)

    def _do(self, batch: list[_Ticket]) -> None:
        try:
            with self._translated():
                connection = self._begin()
                for ticket in batch:
                    try:
                        ticket.results = ticket.work(connection, ticket.items)
                    except FiledropError as error:
                        if len(ticket.items) > 1:
                            raise
                        ticket.results = [error]  # nothing to roll back: its checks come before its writes
                self._commit()
            self.trouble = self._damage
            self.commits += 1
        except BaseException as error:  # noqa: BLE001 - each waiting thread must get its error
            self._roll_back()
            if sum(len(ticket.items) for ticket in batch) > 1 and not isinstance(error, UnclearCommit):
                for ticket in batch:  # one by one: only the failing write fails
                    alone = [_Ticket(ticket.work, [item]) for item in ticket.items]
                    for each in alone:
                        self._do([each])
                    ticket.results = [each.results[0] for each in alone]
                return
            for ticket in batch:
                ticket.results = [error] * len(ticket.items)
            self._note_trouble(error)
        finally:
            for ticket in batch:
                ticket.is_done = True

    def _note_trouble(self, error: BaseException) -> None:
        """The journal is in trouble by what the engine has translated; any other error is of one write alone."""
        if isinstance(error, JournalError) and not isinstance(error, UnfitRow):
            self.trouble = str(error)

    def _written(self) -> None:  # noqa: B027 - most engines need none
        """Called after writes, by a thread that has nothing locked."""

    @contextmanager
    def reading_with(self, connection: Connection) -> Iterator[None]:
        """A context in which this thread reads within the open transaction of `connection`."""
        self._local.connection = connection
        try:
            yield
        finally:
            self._local.connection = None

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection that reads: the open transaction's within `reading_with`, else one for this thread alone."""
        with self._translated():
            if (within := getattr(self._local, "connection", None)) is not None:
                yield within
                return
            with self._reader() as connection:
                yield connection

    def read(self, statement: str, **values: Any) -> list[Sequence[Any]]:
        """The rows of a statement with these values."""
        with self.reading() as connection:
            return connection.execute(statement, values).fetchall()

    def value(self, statement: str, **values: Any) -> Any:
        """The first column of the first row; None where there is none."""
        rows = self.read(statement, **values)
        return rows[0][0] if rows else None


class Part:
    """A part of the journal: what is asked and recorded about one subject."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._read, self._value = engine.read, engine.value
        self._write, self._write_each = engine.write, engine.write_each
