from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.postgres import Servers, programs

from filedrop.journal import JOURNAL, Journal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.postgres import Server

VERSIONS = list(programs())
NONE = "NO POSTGRESQL HERE: install the extra `dev`, on Linux"


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    """The PostgreSQL servers of this run, each of which is started for the first test that asks for it."""
    servers = Servers()
    yield servers
    servers.close()


@pytest.fixture(params=VERSIONS or [pytest.param("", marks=pytest.mark.skip(NONE))])
def postgres(request: pytest.FixtureRequest, servers: Servers) -> Server:
    """A PostgreSQL server: of the oldest version that is installed here, and of the newest."""
    return servers[request.param]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Of SQLite's file."""
    return tmp_path / JOURNAL


@pytest.fixture(params=["sqlite", *VERSIONS])
def journal(request: pytest.FixtureRequest, servers: Servers, path: Path) -> Iterator[Journal]:
    """A daemon's journal, on each engine."""
    if request.param == "sqlite":
        journal = Journal.at(path, migrates=True)
    else:
        from filedrop.journal.postgres import Holder, Postgres  # noqa: PLC0415 - an extra

        server = servers[request.param]
        journal = Journal(Postgres(server.address(server.emptied()), holder=Holder("a", "state-a")))
    yield journal
    journal.close()
