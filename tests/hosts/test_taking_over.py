"""Several hosts: what one served is another's when it is killed, hangs or stops, and each document goes out once."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest
from support.faults import cut_after, instead, reset_before
from support.matrix import quick
from support.postgres import programs
from support.prepared import STATED

from filedrop.model.hosts import lease_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.hosts import SharedTree
    from support.postgres import Servers

if not programs():
    pytest.skip("NO POSTGRESQL HERE: install the extra `dev`, on Linux", allow_module_level=True)


@pytest.fixture
def tree(servers: Servers, tmp_path: Path) -> Iterator[SharedTree]:
    """Two accounts, and a new database."""
    from support.hosts import SharedTree  # noqa: PLC0415 - it needs an extra

    server = servers[next(iter(programs()))]
    address = server.address(server.database())
    with SharedTree(tmp_path, [address] * 3) as tree:
        yield tree


def test_one_host_serves_all(tree: SharedTree) -> None:
    tree.start("a")
    tree.drop(3)
    tree.until(tree.is_settled, what="all is delivered")
    assert tree.are_served("a")
    assert not tree.wrong()


@pytest.mark.parametrize("fault", quick(["kill", "hang", "stop"]))
def test_another_goes_on(tree: SharedTree, fault: str) -> None:
    tree.start("a")
    tree.until(lambda: tree.are_served("a"), what="a serves all")
    tree.start("b")
    tree.until(lambda: "b" in tree.seen().hosts, what="b is there")
    tree.drop(10)
    tree.until(lambda: len(tree.sent()) > 3, what="some are sent")
    if fault == "kill":
        tree.kill("a")
    elif fault == "stop":
        tree.stop("a")
    else:
        tree.daemons["a"].send_signal(signal.SIGSTOP)
    tree.until(lambda: tree.are_served("b"), what="b serves all")
    tree.drop(5)
    if fault == "hang":
        tree.daemons["a"].send_signal(signal.SIGCONT)
        assert tree.daemons["a"].wait() == 1
    tree.until(tree.is_settled, 300, what="all is delivered")
    assert not tree.wrong()


@pytest.mark.slow
def test_prepared_by_another_host(tree: SharedTree) -> None:
    """What a host has prepared is what its successor posts or finds, which by its own settings prepares nothing."""
    from support.hosts import PREPARES, RECEIVERS  # noqa: PLC0415 - it needs an extra

    tree.start("a", RECEIVERS, instead=PREPARES)
    tree.until(lambda: tree.are_served("a"), what="a serves all")
    tree.front.always("GET /messages", instead(500))
    tree.front.next("POST /outbox", *[cut_after, instead(429), reset_before, instead(500)] * 2)
    tree.drop(4, states=STATED)
    copies = sorted(f"c{nth}/outbound/sending/N-{nth}-{2 * i + nth}.xml.posted" for nth in range(2) for i in range(4))
    tree.until(
        lambda: copies == sorted(path.relative_to(tree.root).as_posix() for path in tree.root.rglob("*.posted")),
        what="all are prepared",
    )
    tree.until(lambda: len(tree.front.asked("POST /outbox")) >= 8, what="all are posted")
    tree.kill("a")
    tree.front.heal()
    tree.start("b", RECEIVERS)
    tree.until(tree.is_settled, 600, what="all is delivered")
    assert not tree.wrong()
    store = tree.sandbox.store
    sent = [store.document(message.uuid).read_bytes() for name in tree.names for message in store.sent(name)]
    assert not [content for content in sent if STATED.partition(":")[2].encode() in content]
    archived = list(tree.root.glob("c*/outbound/archive/*/*.xml"))
    assert sorted(sent) == sorted(path.with_name(f"{path.name}.posted").read_bytes() for path in archived)


@pytest.mark.slow
def test_accounts_are_shared(tree: SharedTree) -> None:
    """One account of a host goes to another, and both go on; drained altogether, it serves nothing."""
    tree.start("a")
    tree.until(lambda: tree.are_served("a"), what="a serves all")
    tree.start("b")
    tree.until(lambda: "b" in tree.seen().hosts, what="b is there")
    assert tree.drain("a", lease_of("acc1"))
    tree.drop(5)
    tree.until(lambda: tree.serving()[lease_of("acc1")] == "b", what="b serves one of two")
    tree.drop(5)
    tree.until(tree.is_settled, 300, what="all is delivered")
    assert tree.serving()[lease_of("acc0")] == "a"
    assert tree.drain("a")
    tree.until(lambda: tree.are_served("b"), what="b serves all")
    tree.drop(2)
    tree.until(tree.is_settled, 300, what="all is delivered")
    assert tree.resume("a")
    tree.stop("b")
    tree.until(lambda: tree.are_served("a"), what="a serves all again")
    tree.drop(2)
    tree.until(tree.is_settled, 300, what="all is delivered")
    assert not tree.wrong()
    assert not tree.drain("c")
