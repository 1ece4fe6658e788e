"""The journal in a PostgreSQL database, which several hosts share.

Each transaction of a daemon first calls the fence, which raises where its process was replaced (postgres_hosts), and
then waits for the row of `writers`: so there is one transaction after the other, as in SQLite. Commands wait for that
row alone; revisions refuse what is stale.

A session whose server doesn't answer in time is never used again. It is ended in the server before anything is
repeated, because what it was asked may still be done, long after. A commit without an answer may have happened: the
server is asked (`pg_xact_status`). Where it says so, the works are done; where it says no, they are repeated. Where it
can't be asked, or another server answers by now, nothing is repeated, and each work gets UnclearCommit: what it wrote
may be there.
"""

from __future__ import annotations

import secrets
import threading
import time
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import pq

from filedrop.errors import DamagedJournal, FiledropError, JournalError, OtherDatabase
from filedrop.journal.engine import (
    LINEAGE,
    Engine,
    NoJournal,
    UnclearCommit,
    UnfitRow,
    refuse_another_schema,
    refuse_moved,
)
from filedrop.journal.folders import begin_branch, branches_in
from filedrop.journal.postgres_schema import FENCED, POSTGRES_DEFINITIONS, SCHEMA, in_postgres
from filedrop.journal.postgres_session import Address, Statements, end_sessions, has_grown, lineage_of, storable
from filedrop.journal.schema import ABOUT, KEEP, SAY_ABOUT, SCHEMA_VERSION
from filedrop.pauses import SESSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from filedrop.journal.engine import Connection
    from filedrop.journal.postgres_session import Session

_READERS = 4  # sessions for threads that read; with the writer's they are all
_PATIENCE = 10.0  # seconds
_LONG_PATIENCE = 60.0  # of a move, which has statements about all rows
_OPEN = (pq.TransactionStatus.INTRANS, pq.TransactionStatus.INERROR)
_DAMAGE = ("XX001", "XX002")  # data or an index is corrupted

_EXISTS = f"SELECT to_regclass('{SCHEMA}.about') IS NOT NULL"
_CREATING = "SELECT pg_advisory_xact_lock(hashtext('filedrop'))"
_STATUS = "SELECT pg_xact_status(CAST(%s AS text)::xid8)"
_FENCE = "SELECT fence('{}'); "
_BEGIN = "BEGIN; {}SELECT 1 FROM writers FOR UPDATE; SELECT pg_current_xact_id()::text"

_SLOW = 0.05  # seconds for a commit
_APART = 2.0  # seconds between two clocks
_COMMIT = "SELECT pg_current_xact_id()"  # what has an id is on the disk when it ends
_SET_UP = """
    SELECT extract(epoch FROM clock_timestamp()), EXISTS (SELECT 1 FROM pg_stat_replication),
        current_setting('synchronous_standby_names') <> '', current_setting('fsync')
"""


class Postgres(Engine):
    """The open database. `is_daemons`: it writes only while its process is one of the hosts (postgres_hosts).

    `creates`: it makes the tables where there are none; else that is NoJournal. `is_moving`: it is opened even if it
    was moved, and waits longer. `incarnation` is the process's name in the database. `patience` is how many seconds
    each wait for the server may take. `server` is asked first.
    """

    is_shared = True

    def __init__(
        self,
        address: str,
        password: Callable[[], str] | None = None,
        *,
        is_daemons: bool = False,
        creates: bool = True,
        is_moving: bool = False,
        patience: float = _PATIENCE,
        server: str = "",
    ) -> None:
        super().__init__()
        self.address = Address(address, password, server)
        self.place = str(self.address)
        self._is_moving = is_moving
        self.incarnation = f"filedrop-{secrets.token_hex(8)}"
        self._begins = _BEGIN.format(_FENCE.format(self.incarnation) if is_daemons else "")
        self.patience = _LONG_PATIENCE if is_moving else patience
        self._lost: list[int] = []  # sessions that may go on in the server
        self._transaction = ""  # the writer's last, by its id in the server
        self._lineage = ""  # the server's and the database's
        self._is_daemons = is_daemons
        self.id = ""
        self._refused: psycopg.Error | None = None  # the last connection
        self._not_before = 0.0  # the next attempt
        self._idle: list[Session] = []
        self._free = threading.BoundedSemaphore(_READERS)
        with self._translated():
            self._writer = self._connect_again()
            try:
                self.id = self._take_up(creates=creates)
            except BaseException:
                self._writer.close()
                raise

    def _close(self) -> None:
        for session in (*self._idle, self._writer):
            session.close()

    @property
    def server(self) -> str:
        """That of the last session."""
        return self.address.server

    def describe(self) -> str:
        """The server's version."""
        return f"PostgreSQL {self._writer.info.parameter_status('server_version')}"

    def check_integrity(self) -> None:
        """Whether it can be read: damage is the server's to find (`pg_amcheck`), and comes as an error."""
        self.value(ABOUT)

    def keep_up(self) -> None:
        """Try to write where the last write has failed: folders wait for one that succeeds, and so don't write."""
        if self.trouble and not self._damage:
            with suppress(JournalError):
                self.check_writable()

    def doubts(self) -> Iterator[str]:
        """How the server is set up other than filedrop needs it, and how slow it is."""
        with self.own_session() as session:
            yield from doubts(session)

    @contextmanager
    def own_session(self) -> Iterator[Session]:
        """A session that nobody else uses. Raises JournalError."""
        with self._translated(), closing(self._connect()) as session:
            yield session

    as_kept = staticmethod(storable)

    def keep_hosts_out(self, connection: Connection) -> list[str]:
        """Let no host enter before the end of this transaction. Returns the names of those that are there."""
        connection.execute("LOCK TABLE hosts IN SHARE MODE")
        return [name for (name,) in connection.execute("SELECT name FROM hosts ORDER BY name")]

    @contextmanager
    def without_triggers(self, connection: Connection) -> Iterator[None]:
        """A context without triggers: each would write one row again and again, slower each time, until the commit."""
        connection.execute("ALTER TABLE documents DISABLE TRIGGER USER")
        yield
        connection.execute("ALTER TABLE documents ENABLE TRIGGER USER")

    def each_row(self, connection: Connection, statement: str) -> Iterator[tuple[Any, ...]]:  # noqa: ARG002 - it's ours
        """The rows of a statement, within the writer's transaction."""
        with self._writer.cursor("rows") as cursor:
            yield from cursor.execute(in_postgres(statement))

    def _begin(self) -> Statements:
        if self._writer.has_gone:
            self._lose_writer()
            self._writer = self._connect_again()
        cursor = self._writer.execute(self._begins)
        while cursor.nextset():
            pass
        ((self._transaction,),) = cursor.fetchall()
        return Statements(self._writer)

    def _commit(self) -> None:
        writer, lineage = self._writer, self._lineage
        try:
            if writer.execute("COMMIT").statusmessage == "COMMIT":
                return
            raise JournalError(f"the journal {self.address} had refused a statement before its commit")
        except psycopg.Error as error:
            if writer.is_clear:  # the server has answered: it was rolled back
                raise
            self._lose_writer()
            try:
                is_done = self._is_committed(lineage)
            except (psycopg.Error, FiledropError) as unknown:
                raise UnclearCommit(
                    f"the journal {self.address} didn't say whether it has kept the last records: "
                    f"{self.address.reason(error)}; then: {unknown}"
                ) from error
            if not is_done:
                raise

    def _is_committed(self, lineage: str) -> bool:
        """Ask what became of the last transaction, as soon as the server can be asked. Raises psycopg.Error."""
        end = time.monotonic() + self.patience
        while self._writer.closed:
            try:
                self._writer = self._connect_again()
            except psycopg.Error:
                if time.monotonic() > end:
                    raise
                time.sleep(SESSION.seconds())
        if not lineage or self._lineage != lineage:
            raise JournalError("another server answers there now")
        ((status,),) = self._writer.execute(_STATUS, [self._transaction]).fetchall()
        if status not in ("committed", "aborted"):
            raise JournalError(f"the transaction is {status}")
        return bool(status == "committed")

    def _roll_back(self) -> None:
        if self._writer.is_clear:
            return
        if not self._writer.closed and self._writer.info.transaction_status in _OPEN:
            with suppress(psycopg.Error):
                self._writer.execute("ROLLBACK")
                return
        self._lose_writer()

    def _lose_writer(self) -> None:
        if not self._writer.closed:
            self._lost.append(self._writer.info.backend_pid)
        self._writer.close()

    def _connect_again(self) -> Session:
        """A session for the writer, after what goes on in its former ones was ended. Raises psycopg.Error."""
        if self._refused is not None and time.monotonic() < self._not_before:
            raise self._refused  # each write of a batch asks
        try:
            session = self._connect()
        except psycopg.Error as error:
            self._refused, self._not_before = error, time.monotonic() + SESSION.seconds()
            raise
        try:
            end_sessions(session, self.incarnation, self.patience, self._lost)
        except BaseException:
            session.close()
            raise
        self._lost, self._refused = [], None
        return session

    def _connect(self) -> Session:
        """A session. A daemon's are all with one database: the address may have two servers that take writes."""
        session = self.address.connect(self.incarnation, self.patience)
        try:
            lineage = lineage_of(session)
            if self.id and self._is_daemons and lineage != self._lineage:
                raise OtherDatabase(self.address)
        except BaseException:
            session.close()
            raise
        self._lineage = lineage
        return session

    @contextmanager
    def _reader(self) -> Iterator[Statements]:
        if not self._free.acquire(timeout=self.patience):
            raise JournalError(f"the journal {self.address} is busy: {_READERS} sessions wait for its answers")
        try:
            session = self._idle_session() or self._connect()
            try:
                yield Statements(session)
            finally:
                if session.is_clear:
                    self._idle.append(session)
                else:
                    session.close()
        finally:
            self._free.release()

    def _idle_session(self) -> Session | None:
        while self._idle:
            session = self._idle.pop()
            if not session.has_gone:
                return session
            session.close()
        return None

    @contextmanager
    def _translated(self) -> Iterator[None]:
        self._check_open()
        try:
            yield
        except (UnicodeError, OverflowError) as error:  # Python's, before the server sees the value
            raise UnfitRow(f"the journal {self.address} can't keep a value: {error}") from error
        except psycopg.Error as error:
            if error.sqlstate == FENCED:
                raise JournalError(
                    f"another host has replaced this one in the journal {self.address}: nothing is posted here"
                ) from error
            if error.sqlstate in _DAMAGE:
                self._damage = self.trouble = (
                    f"the journal {self.address} is damaged: {self.address.reason(error)}. Nothing is posted. "
                    "Stop filedrop, and restore the database from its latest backup"
                )
                raise DamagedJournal(self.trouble) from error
            if isinstance(error, psycopg.DataError | psycopg.IntegrityError):
                raise UnfitRow(
                    f"the journal {self.address} can't keep a value: {self.address.reason(error)}"
                ) from error
            trouble = self.address.trouble(error)
            if isinstance(error, psycopg.OperationalError):
                self.trouble = trouble  # what can't be read can't be written
            raise JournalError(trouble) from error

    def _take_up(self, *, creates: bool) -> str:
        """Make the tables in a new database. Returns the journal's id. Raises JournalError, psycopg.Error.

        A daemon's journal begins a branch where the database isn't the one that was last written to: it is a standby
        that was promoted, which knows the branches before, or it was restored or copied.
        """
        with self._writer.transaction():
            self._writer.execute(_CREATING)
            connection = Statements(self._writer)
            exists = self._writer.execute(_EXISTS).fetchall()[0][0]
            if not exists and not creates:
                raise NoJournal(f"there is no journal in {self.address} yet: start filedrop first")
            if not exists:
                for definition in POSTGRES_DEFINITIONS:
                    self._writer.execute(definition)
                for key, value in (("schema", str(SCHEMA_VERSION)), ("id", secrets.token_hex(8))):
                    connection.execute(SAY_ABOUT, {"key": key, "value": value})
            found = dict(connection.execute(ABOUT).fetchall())
            if not self._is_moving:
                refuse_moved(self.place, found)
            refuse_another_schema(self.place, found, "set `journal` to an empty database")
            self._lineage = lineage_of(self._writer)
            if self._is_daemons and found.get(LINEAGE) != self._lineage:
                if LINEAGE in found:
                    is_promoted = has_grown(found[LINEAGE], self._lineage)
                    begin_branch(connection, branches_in(found) if is_promoted else ())
                connection.execute(KEEP, {"key": LINEAGE, "value": self._lineage})
        return str(found["id"])


def doubts(session: Session) -> Iterator[str]:
    """The sentences about the server of this session, if any. Raises psycopg.Error."""
    begun = time.monotonic()
    session.execute(_COMMIT)
    took = time.monotonic() - begun
    if took > _SLOW:
        yield f"the journal's database takes {1000 * took:.0f} ms for each record, which slows everything down"
    ((now, standbys, synchronous, fsync),) = session.execute(_SET_UP).fetchall()
    apart = abs(float(now) - time.time())
    if apart > _APART:
        yield f"the clock of the journal's database and this one are {apart:.0f} s apart: set both right"
    if standbys and not synchronous:
        yield (
            "the journal's database has a standby server that may lack the last records, so documents may be sent "
            "twice after it takes over: set synchronous_standby_names"
        )
    if fsync != "on":
        yield "the journal's database doesn't wait for its disk, so it may lose records: set fsync to on"
    if not session.info.host.startswith("/") and not session.pgconn.ssl_in_use:
        yield "the connection to the journal's database isn't encrypted: add ?sslmode=verify-full to `journal`"
