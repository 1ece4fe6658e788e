"""A standby server takes over that lacks the last records: what was sent by then isn't sent again."""

from __future__ import annotations

from contextlib import ExitStack, closing
from typing import TYPE_CHECKING

import pytest
from support.postgres import Server, programs
from support.proxy import Proxy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.hosts import SharedTree

if not programs():
    pytest.skip("NO POSTGRESQL HERE: install the extra `dev`, on Linux", allow_module_level=True)

SOCKET = ".s.PGSQL.5432"


@pytest.fixture
def servers_of_one(tmp_path: Path) -> Iterator[tuple[Server, Server, Proxy, SharedTree]]:
    """A primary server and its standby server, a way that leads to the primary, and a host that goes it."""
    from support.hosts import SharedTree  # noqa: PLC0415 - it needs an extra

    with ExitStack() as stack:
        primary = stack.enter_context(closing(Server(next(iter(programs().values())))))
        database = primary.database()
        standby = stack.enter_context(closing(Server(next(iter(programs().values())), standby_of=primary)))
        way = stack.enter_context(closing(Proxy(primary.folder / SOCKET)))
        address = f"postgresql://filedrop@127.0.0.1:{way.port}/{database}"
        yield primary, standby, way, stack.enter_context(SharedTree(tmp_path, [address]))


@pytest.mark.slow
def test_standby_without_the_last_records(servers_of_one: tuple[Server, Server, Proxy, SharedTree]) -> None:
    """Documents that were sent and whose records are lost are looked for, and none is sent twice or lost."""
    primary, standby, way, tree = servers_of_one
    tree.start("a")
    tree.until(lambda: tree.are_served("a"), what="a serves all")
    tree.drop(5)
    tree.until(tree.is_settled, what="the first are delivered")
    primary.hold_standby()
    before = len(tree.sent())
    tree.drop(40)
    tree.until(lambda: len(tree.sent()) > before + 20, what="some are sent, of which the standby server knows nothing")
    primary.stop()
    standby.promote()
    way.lead_to(standby.folder / SOCKET)
    assert tree.daemons["a"].wait() == 1, "it ends with the database that it began with"
    tree.start("a")
    tree.until(tree.is_settled, 280, what="all is delivered and filed")
    assert not {"sent", "filed"} & tree.wrong().keys()  # what was being received then may have come once more
