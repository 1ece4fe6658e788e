"""What a host serves follows what it has: also where it is told otherwise meanwhile, or an answer is lost."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from support.faults import Slow
from support.postgres import programs

from filedrop.model.hosts import CHORES, lease_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.hosts import SharedTree
    from support.postgres import Server, Servers

if not programs():
    pytest.skip("NO POSTGRESQL HERE: install the extra `dev`, on Linux", allow_module_level=True)

REFUSE_TO_GIVE_BACK = """
    CREATE FUNCTION filedrop.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN RAISE EXCEPTION 'could not write block'; END $$;
    CREATE TRIGGER refuse BEFORE UPDATE ON filedrop.leases FOR EACH ROW WHEN (NEW.incarnation = '')
        EXECUTE FUNCTION filedrop.refuse();
"""


@pytest.fixture
def server(servers: Servers) -> Server:
    return servers[next(iter(programs()))]


@pytest.fixture
def database(server: Server) -> str:
    return server.database()


@pytest.fixture
def tree(server: Server, database: str, tmp_path: Path) -> Iterator[SharedTree]:
    """Two accounts, and a new database."""
    from support.hosts import SharedTree  # noqa: PLC0415 - it needs an extra

    with SharedTree(tmp_path, [server.address(database)] * 3) as tree:
        tree.start("a")
        tree.until(lambda: tree.are_served("a"), what="a serves all")
        yield tree


def status(tree: SharedTree, host: str) -> Any:
    """What `filedrop status --json` shows on a host."""
    command = [sys.executable, "-m", "filedrop", "--config", str(tree.base / f"{host}.yaml"), "status", "--json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


@pytest.fixture
def patient(server: Server, database: str, tmp_path: Path) -> Iterator[SharedTree]:
    """The same, where no host is replaced because the machine is busy."""
    from support.hosts import SharedTree  # noqa: PLC0415 - as above

    with SharedTree(tmp_path, [server.address(database)] * 2, takeover=10.0, shares=True) as tree:
        tree.start("a")
        tree.until(lambda: tree.are_served("a"), what="a serves all")
        yield tree


def test_a_host_that_joins(patient: SharedTree) -> None:
    """It takes its share by itself, when nothing of it is on the wire."""
    tree, slow = patient, [Slow(), Slow()]
    for fault in slow:
        tree.front.next("POST /outbox", fault)
    tree.drop()
    tree.until(lambda: all(fault.came.is_set() for fault in slow))
    tree.start("b")
    tree.until(lambda: "lease.offered" in tree.log_of("a"), what="a offers one of two accounts")
    beats = tree.seen().hosts["b"].beat
    tree.until(lambda: tree.seen().hosts["b"].beat > beats + 2, what="b looks for free accounts")
    assert set(tree.serving().values()) == {"a"}
    for fault in slow:
        fault.release.set()
    tree.until(lambda: served_by(tree, "a") and served_by(tree, "b"), what="each serves one of two")
    tree.drop(2)
    tree.until(tree.is_settled, what="all is delivered")
    assert not tree.wrong()


@pytest.mark.slow
def test_what_has_just_moved_stays(patient: SharedTree) -> None:
    """A host that fails and comes back gets another account than the one that it has just had."""
    tree = patient
    tree.start("b")
    tree.until(lambda: served_by(tree, "a") and served_by(tree, "b"), what="each serves one of two")
    other = served_by(tree, "a")
    tree.kill("b")
    tree.until(lambda: tree.are_served("a"), what="a serves all again")
    tree.start("b")
    tree.until(lambda: served_by(tree, "b"), what="b gets an account")
    assert served_by(tree, "b") == other
    tree.drop(2)
    tree.until(tree.is_settled, what="all is delivered")
    assert not tree.wrong()


def served_by(tree: SharedTree, host: str) -> set[str]:
    """The accounts that a host serves."""
    serving = tree.serving()
    return {name for name in tree.names if serving[lease_of(name)] == host}


@pytest.mark.slow
def test_resumed_amid_a_drain(tree: SharedTree) -> None:
    """An account that a host was giving up for a request on the wire is served again."""
    slow = Slow()
    tree.front.next("POST /outbox", slow)
    tree.drop()
    tree.until(slow.came.is_set)
    assert tree.drain("a")
    tree.until(lambda: tree.serving()[CHORES] == "", what="a gives up what it can")
    tree.until(lambda: list(tree.serving().values()).count("a") == 1, what="a gives up the other account")
    assert tree.resume("a")
    tree.until(lambda: list(tree.serving().values()).count("a") == 3, what="a is resumed")
    slow.release.set()
    tree.drop(2)
    tree.until(tree.is_settled, what="all is delivered")
    assert not tree.wrong()


def test_drained_and_taken_by_nobody_else(tree: SharedTree) -> None:
    """An account that its host has given up is served by it again where no other host takes it."""
    lease = lease_of(tree.names[0])
    assert tree.drain("a", lease)
    tree.until(lambda: tree.serving()[lease] == "", what="it is given up")
    tree.drop()
    tree.until(tree.is_settled, what="it is served again")
    assert not tree.wrong()


def test_given_back_after_an_error(tree: SharedTree, server: Server, database: str) -> None:
    """What a host has given up gets free, also if the database couldn't write that at first."""
    server.sql(REFUSE_TO_GIVE_BACK, database)
    assert tree.drain("a")
    tree.until(lambda: "host.unheard" in tree.log_of("a"), what="a is refused")
    server.sql("DROP TRIGGER refuse ON filedrop.leases", database)
    tree.until(lambda: not any(tree.serving().values()), what="all is free")


def test_a_take_whose_answer_was_lost(tree: SharedTree, server: Server, database: str) -> None:
    """What the database says to be a host's is served by it, although the host has never heard so."""
    assert tree.drain("a")
    tree.until(lambda: not any(tree.serving().values()), what="all is free")
    incarnation = tree.seen().hosts["a"].incarnation
    server.sql(f"UPDATE filedrop.leases SET incarnation = '{incarnation}'", database)  # noqa: S608 - our own word
    server.sql("UPDATE filedrop.hosts SET is_draining = false", database)
    tree.drop()
    tree.until(tree.is_settled, what="all is delivered")


@pytest.mark.slow
def test_reload_amid_a_request(tree: SharedTree) -> None:
    """While one account waits for its request to be reloaded, another isn't served by the configuration before."""
    slow = Slow()
    tree.front.next("POST /outbox", slow)
    tree.drop()
    tree.until(slow.came.is_set)
    tree.until(lambda: len(tree.filed()) == 1, what="the other account goes on")
    elsewhere = {f"account: acc{nth}": f"account: acc{nth}, outbound: {tree.root}/new{nth}" for nth in range(2)}
    beats = tree.seen().hosts["a"].beat
    tree.reload("a", instead=elsewhere)
    tree.until(lambda: "configuration.changed" in tree.log_of("a"), what="it reloads")
    tree.until(lambda: tree.seen().hosts["a"].beat > beats + 6, what="it looks round while it waits")
    slow.release.set()
    tree.until(lambda: all((tree.root / f"new{nth}" / "archive").is_dir() for nth in range(2)), what="both are served")
    for nth in range(2):  # folders that are nobody's by now
        (tree.root / f"c{nth}" / "outbound" / "late.xml").write_bytes(b"<late/>")
        (tree.root / f"new{nth}" / "bad.xml").write_bytes(b"<bad/>")
    failed = [tree.root / f"new{nth}" / "failed" / "bad.xml" for nth in range(2)]
    tree.until(lambda: all(path.exists() for path in failed), what="both are served")
    beats = tree.seen().hosts["a"].beat
    tree.until(lambda: tree.seen().hosts["a"].beat > beats + 6, what="it would have served them by now")
    assert all((tree.root / f"c{nth}" / "outbound" / "late.xml").exists() for nth in range(2))


@pytest.mark.slow
def test_another_configuration(tree: SharedTree) -> None:
    """A host by another configuration takes nothing; its log says why, and so does the status on each host."""
    tree.start("b", instead={"doubt: 150s": "doubt: 150s, duplicates: allow"})
    tree.until(lambda: "host.takes_nothing" in tree.log_of("b"), what="b says so")
    tree.until(lambda: "duplicates" in str(status(tree, "a")["troubles"]), what="a says so")
    assert "duplicates" in str(status(tree, "b")["troubles"])


@pytest.mark.parametrize("drained", [(), pytest.param(("acc1",), marks=pytest.mark.slow)])
def test_company_gets_another_account(tree: SharedTree, drained: tuple[str, ...]) -> None:
    """The host that serves it for the former account reloads first: it gives the company up. Until then none takes it.

    Each document goes out once, for the former account or for the new one.
    """
    tree.start("b")
    for name in drained:
        assert tree.drain("a", lease_of(name))
        tree.until(lambda: tree.serving().get(lease_of(name)) == "b", what="b serves it")  # noqa: B023 - called at once
    beats = tree.seen().hosts["b"].beat if "b" in tree.seen().hosts else 0
    tree.until(lambda: "b" in tree.seen().hosts and tree.seen().hosts["b"].beat > beats + 2, what="b has seen a")
    tree.drop(3)
    tree.reload("b", instead={"account: acc0": "account: acc1"})
    refused = "companies.c0.account: host a still serves it for account acc0: run first there, and then here"
    tree.until(lambda: refused in tree.log_of("b"), what="b refuses it")
    tree.reload("a", instead={"account: acc0": "account: acc1"})
    tree.until(lambda: tree.seen().hosts["a"].settings != tree.seen().hosts["b"].settings, what="a has given it up")
    beats = tree.seen().hosts["b"].beat
    tree.until(lambda: tree.seen().hosts["b"].beat > beats + 2, what="b has seen that")
    tree.reload("b", instead={"account: acc0": "account: acc1"})
    tree.until(lambda: tree.seen().hosts["a"].settings == tree.seen().hosts["b"].settings, what="b serves by it")
    tree.drop(3)
    tree.until(lambda: set(tree.dropped) <= set(tree.filed()), what="all are delivered")
    assert not {"sent", "filed"} & tree.wrong().keys()  # the access point still has the company in its former account


@pytest.mark.slow
def test_status_of_a_host_that_waits(tree: SharedTree) -> None:
    """It shows what the host that serves has reported."""
    tree.start("b")
    tree.until(lambda: "b" in tree.seen().hosts, what="b is there")
    tree.until(lambda: all(account["login"] == "ok" for account in status(tree, "b")["accounts"].values()))


def test_two_hosts_of_one_name(tree: SharedTree) -> None:
    """The second waits, and says so; what the first serves stays with it."""
    tree.addresses["b"] = tree.addresses["a"]
    tree.start("b", instead={"host: b": "host: a"})
    tree.until(lambda: "host.waits" in tree.log_of("b"), what="the second says so")
    tree.drop()
    tree.until(tree.is_settled, what="all is delivered")
    assert tree.are_served("a")
    assert lease_of(tree.names[0]) in tree.serving()
