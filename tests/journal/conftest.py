from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.postgres import be_a_host, versions

from filedrop.journal import JOURNAL, Journal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.postgres import Servers

VERSIONS = versions()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Of SQLite's file."""
    return tmp_path / JOURNAL


@pytest.fixture(params=["sqlite", *VERSIONS])
def journal(request: pytest.FixtureRequest, servers: Servers, path: Path) -> Iterator[Journal]:
    """A daemon's journal, on each engine."""
    if request.param == "sqlite":
        journal = Journal.at(path, is_daemons=True)
    else:
        from filedrop.journal.postgres import Postgres  # noqa: PLC0415 - an extra

        server = servers[request.param]
        journal = Journal(Postgres(server.address(server.emptied()), is_daemons=True))
        be_a_host(journal, "here")
    yield journal
    journal.close()
