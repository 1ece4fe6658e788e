"""Sessions of a PostgreSQL server: their settings are ours, and each wait in them has an end.

libpq waits for ever, and no setting of the server helps where a network swallows what is sent. So each wait has a
deadline here; the server has shorter ones of its own, so that mostly it says itself that something took too long.
"""

from __future__ import annotations

import json
import re
import selectors
from functools import partial
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import conninfo, errors, pq
from psycopg.types.json import Json
from psycopg.types.numeric import Int8Dumper
from psycopg.types.string import StrDumperUnknown

from filedrop.errors import JournalError
from filedrop.journal.postgres_schema import SCHEMA, in_batch, in_postgres

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from psycopg.abc import PQGen

# Milliseconds for each second of patience. A server that can't end a session says so before the statement is cancelled
# (tests/findings/postgres-terminate.sh).
_STATEMENT, _ENDING = 800, 600
_OLDEST = 150000  # server version 15.0: the oldest that is tested
# No role, database or file of the server decides these.
_SETTINGS = """
    SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE, NOT DEFERRABLE;
    SET synchronous_commit = on;
    SET statement_timeout = {limit};
    SET lock_timeout = {limit};
    SET idle_in_transaction_session_timeout = {limit};
    SET TimeZone = 'UTC';
    SET search_path = {schema};
    SELECT pg_backend_pid()
"""
# PostgreSQL's text has no NUL, and its JSON neither NUL nor half of a surrogate pair (tests/findings/postgres-json.sh).
_UNKNOWN = "\ufffd"
_NEVER = re.compile(r"\\u0000|\\ud[89ab]..(?!\\ud[c-f]..)|(?<!\\ud[89ab]..)\\ud[c-f]..", re.IGNORECASE)


def storable(value: Any) -> Any:
    """A value as PostgreSQL can keep it: its text has no NUL, and no half of a surrogate pair."""
    if isinstance(value, str) and "\0" in value:
        value = value.replace("\0", _UNKNOWN)
    if isinstance(value, str) and "\\u" in value:
        value = _NEVER.sub(rf"\\u{ord(_UNKNOWN):x}", value)
    return value


def _as_bytea(value: bytes) -> str:
    return rf"\x{value.hex()}"


# It escapes nothing by `\u` but control characters.
_as_json = partial(json.dumps, default=_as_bytea, ensure_ascii=False, separators=(",", ":"))


class _Text(StrDumperUnknown):
    def dump(self, obj: Any) -> Any:
        return super().dump(storable(obj))


_SESSIONS = """
    FROM pg_stat_activity
    WHERE application_name = %(name)s AND usename = current_user AND pid <> pg_backend_pid()
    AND datname = current_database() -- a copy of it may be beside it
    AND (%(pids)s::bigint[] IS NULL OR pid = ANY(%(pids)s))
"""
_INTERVENED = "57"  # the class of errors of a server that was stopped or took too long; of no answer, there is none
_END_SESSIONS = f"SELECT pg_terminate_backend(pid, %(wait)s / count(*) OVER ()) {_SESSIONS}"  # waits for each in turn
_ARE_LEFT = f"SELECT count(*) {_SESSIONS}"


# Another server, a promoted standby and a restored database differ in one of these.
_LINEAGE = """
    SELECT concat_ws('/', (SELECT system_identifier FROM pg_control_system()),
        substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8),
        (SELECT oid FROM pg_database WHERE datname = current_database()), to_regclass('about')::oid)
"""


class Session(psycopg.Connection[tuple[Any, ...]]):
    """A session, each wait of which ends after `patience` seconds with an OperationalError."""

    patience = 10.0

    def wait(self, gen: PQGen[Any], interval: float = 0.1, timeout: float | None = None) -> Any:
        """Wait for the server, but not for ever."""
        return super().wait(gen, interval, min(timeout or self.patience, self.patience))

    @property
    def is_clear(self) -> bool:
        """Whether the server has answered all that was asked, and nothing is open."""
        return not self.closed and self.info.transaction_status == pq.TransactionStatus.IDLE

    @property
    def has_gone(self) -> bool:
        """Whether it can't be used: a server that ends an idle session says so, and nothing else is said to it."""
        if not self.is_clear:
            return True
        with selectors.DefaultSelector() as selector:
            selector.register(self.fileno(), selectors.EVENT_READ)
            return bool(selector.select(0))


class Statements:
    """A session as the journal's parts use one."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def execute(self, statement: str, values: Mapping[str, Any] | None = None, /) -> psycopg.Cursor[tuple[Any, ...]]:
        """Run a statement of the journal."""
        return self.session.execute(in_postgres(statement), values or {})

    def executemany(self, statement: str, rows: Iterable[Mapping[str, Any]], /) -> psycopg.Cursor[tuple[Any, ...]]:
        """Run a statement for each of these values, in few messages."""
        cursor = self.session.cursor()
        cursor.executemany(in_postgres(statement), rows)
        return cursor

    def execute_each(self, statement: str, rows: Sequence[Mapping[str, Any]], /) -> list[int]:
        """Run a statement for each of these values, in one message; how many rows each time has written."""
        batch = in_batch(statement)
        rows = [{name: row[name] for name in batch.values} for row in rows]
        if r"\u" in (content := _as_json(rows)):
            rows = [{name: storable(value) for name, value in row.items()} for row in rows]
            content = _as_json(rows)
        values = {"rows": Json(content, dumps=str), "number": len(rows)}
        written = set(self.session.execute(batch.statement, values).fetchall())
        counts = []
        for row in rows:
            this = tuple(row[name] for name in batch.key)
            counts.append(int(this in written))
            written.discard(this)
        return counts


class Address:
    """Where the database is, and how to log in: an address as libpq has it, and a password that isn't shown.

    `password` returns it as it is now, for each new session. `server`: the `HOST:PORT` of the last session, or which is
    asked first; "" for the order of the address. After a failover, the former server may work again.
    """

    def __init__(self, address: str, password: Callable[[], str] | None = None, server: str = "") -> None:
        try:
            values = conninfo.conninfo_to_dict(address)
        except psycopg.Error as error:
            raise JournalError(
                "`journal` is no address of a PostgreSQL database: write postgresql://USER@HOST/DATABASE"
            ) from error
        self._values: dict[str, Any] = dict(values)
        self._password = password
        self.server = server

    def __str__(self) -> str:
        user, name = (str(self._values.get(key) or "") for key in ("user", "dbname"))
        servers = ",".join(f"{host}:{port}" if port else host for host, port in self._servers())
        return f"postgresql://{f'{user}@' if user else ''}{servers}/{name}"

    def _servers(self) -> list[tuple[str, str]]:
        """The hosts and ports of the address, in its order; a port is "" where it names none."""
        hosts, ports = (str(self._values.get(key) or "").split(",") for key in ("host", "port"))
        return list(zip(hosts, ports if len(ports) > 1 else ports * len(hosts), strict=False))  # one port: that of all

    def reason(self, error: psycopg.Error) -> str:
        """What an error says, in one line and without a password."""
        said = (error.diag.message_primary or str(error) or type(error).__name__).strip()
        said = "; ".join(line.strip() for line in said.splitlines())
        return said.replace(str(self._values["password"]), "***") if self._values.get("password") else said

    def trouble(self, error: psycopg.Error) -> str:
        """The sentence about an error, for the person who must act."""
        advice = "see that the server runs and lets filedrop in"
        if isinstance(error, errors.QueryCanceled):  # its time is up
            advice = "see what the server waits for, such as a missing standby in synchronous_standby_names"
        return f"the journal {self} can't be used: {self.reason(error)}; nothing is posted until it can: {advice}"

    def connect(self, name: str, patience: float) -> Session:
        """A new session with this application name; it commits each statement by itself.

        Raises psycopg.Error, and FiledropError where it is too old, is a pooler, or the password can't be read.
        """
        if self._password is not None:
            self._values["password"] = self._password()
        seconds = max(2, round(patience))
        host, _, port = self.server.rpartition(":")
        servers = sorted(self._servers(), key=lambda server: server not in ((host, port), (host, "")))
        hosts, ports = map(",".join, zip(*servers, strict=True))
        session = Session.connect(
            **self._values
            | ({"host": hosts, "port": ports} if len(servers) > 1 and "hostaddr" not in self._values else {})
            | {"application_name": name, "client_encoding": "utf8", "target_session_attrs": "primary"}
            | {"connect_timeout": seconds, "tcp_user_timeout": 1000 * seconds}
            | {"keepalives": 1, "keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3},
            autocommit=True,
        )
        try:
            session.patience = patience
            session.adapters.register_dumper(str, _Text)
            session.adapters.register_dumper(int, Int8Dumper)  # tests/findings/psycopg-integers.sh
            if session.info.server_version < _OLDEST:
                version = session.info.parameter_status("server_version")
                raise JournalError(f"{self} is PostgreSQL {version}: filedrop needs 15 or later")
            if (encoding := session.info.parameter_status("server_encoding")) != "UTF8":
                raise JournalError(f"{self} has the encoding {encoding}: create the database with --encoding=UTF8")
            cursor = session.execute(_SETTINGS.format(limit=round(_STATEMENT * patience), schema=SCHEMA))
            while cursor.nextset():
                pass
            # A pooler makes up a number for each of its clients. What is set above, and a session that is to be ended,
            # would be another client's.
            if cursor.fetchall() != [(session.info.backend_pid,)]:
                raise JournalError(
                    f"{self} is a connection pooler, such as PgBouncer: filedrop needs sessions of its own in the "
                    "server. Write the server's own host and port in `journal`"
                )
        except BaseException:
            session.close()
            raise
        self.server = f"{session.info.host}:{session.info.port}"
        return session


def end_sessions(session: Session, name: str, patience: float, pids: list[int] | None = None) -> None:
    """End sessions with this application name in the server; `pids`: only these. Raises JournalError, psycopg.Error."""
    values = {"name": name, "pids": pids, "wait": round(_ENDING * patience)}
    session.execute(_END_SESSIONS, values)  # its answer is no for one that has just ended by itself, too
    if session.execute(_ARE_LEFT, values).fetchall() != [(0,)]:
        raise JournalError(f"a session of {name} can't be ended")


def lineage_of(session: Session) -> str:
    """What tells the database from an older copy of it; "" where the server doesn't say that. Raises psycopg.Error."""
    try:
        with session.transaction():
            ((lineage,),) = session.execute(_LINEAGE).fetchall()
    except psycopg.Error as error:
        if (error.sqlstate or _INTERVENED).startswith(_INTERVENED):
            raise
        return ""  # some databases that are offered as a service refuse these functions
    return str(lineage)


def has_grown(lineage: str, now: str) -> bool:
    """Whether a database with the lineage `now` has all that one had before, but perhaps for the last records.

    It is on the same server, or on a standby of it that was promoted. Where the server doesn't say that, it counts as
    such.
    """
    if not (lineage and now):
        return True
    (server, timeline, *tables), (server_now, timeline_now, *tables_now) = lineage.split("/"), now.split("/")
    return (server, tables) == (server_now, tables_now) and timeline_now > timeline
