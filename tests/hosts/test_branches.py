"""Two databases of one journal, which both live: folders are served from one of them, until a person decides."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any, cast

import pytest
from support.drops import drop
from support.postgres import Server, be_a_host, programs

from filedrop.errors import FolderUnavailable
from filedrop.journal import Database, Journal
from filedrop.status.folders import outdated
from filedrop.storage.branching import ACCEPT
from filedrop.storage.company_folders import OutboundFolder
from filedrop.storage.marker import read_marker

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.hosts import SharedTree
    from support.postgres import Servers

    from filedrop.journal.postgres import Postgres

if not programs():
    pytest.skip("NO POSTGRESQL HERE: install the extra `dev`, on Linux", allow_module_level=True)

from filedrop.journal.postgres_session import end_sessions

PROGRAMS = next(iter(programs().values()))


def outbound(tmp_path: Path) -> OutboundFolder:
    return OutboundFolder(tmp_path / "acme", company="acme", below=tmp_path, patterns=("*",))


@pytest.fixture
def databases(servers: Servers, tmp_path: Path) -> Iterator[tuple[Journal, Journal]]:
    """The journal of a folder, and a copy of it in another database."""
    server = servers[next(iter(programs()))]
    database = server.database()
    with closing(Journal.in_database(Database(server.address(database)), is_daemons=True)) as journal:
        be_a_host(journal, "a")
        outbound(tmp_path).take_up(journal)
    copy = server.copied(database)
    with ExitStack() as stack:
        journals = []
        for name in (database, copy):
            journal = stack.enter_context(closing(Journal.in_database(Database(server.address(name)), is_daemons=True)))
            be_a_host(journal, "a")
            journals.append(journal)
        yield journals[0], journals[1]


def test_folder_of_two_databases(
    databases: tuple[Journal, Journal], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The copy waits for a person, who has it accepted: from then on, the first one waits, also amid a step."""
    monkeypatch.setattr("filedrop.storage.branching.OTHERS_STOP", 0.0)
    first, copy = databases
    ours, theirs = outbound(tmp_path), outbound(tmp_path)
    ours.take_up(first)
    with pytest.raises(FolderUnavailable, match=ACCEPT):
        theirs.take_up(copy)
    ours.mark_ahead(first, 0.0)
    waits = first.documents.record(drop(1, folder=ours.id))

    copy.folders.accept([theirs.branching.unknown(copy) or ""])
    theirs.take_up(copy)
    assert copy.folders.changes(theirs.id).is_suspect
    assert theirs.branching.unknown(copy) is None
    for use in (ours.take_up, ours.mark, lambda journal: ours.mark_ahead(journal, 2.0)):
        with pytest.raises(FolderUnavailable, match=ACCEPT):
            use(first)
    assert first.documents.by_id(waits.id) == waits
    marker = read_marker(ours.path)
    assert marker
    assert marker.branch == copy.folders.changes(theirs.id).branch


def test_others_get_time_to_stop(databases: tuple[Journal, Journal], tmp_path: Path) -> None:
    """Nothing is done in a folder for some seconds after its marker names another branch.

    Of a copy that lacks nothing, as after pg_upgrade, nobody is told that it is older.
    """
    _, copy = databases
    theirs = outbound(tmp_path)
    copy.folders.accept([""])
    for _ in range(2):
        with pytest.raises(FolderUnavailable, match="in a few seconds"):
            theirs.take_up(copy)
        assert theirs.branching.rest > 0
    marker = read_marker(theirs.path)
    assert marker
    assert copy.folders.changes(marker.folder).is_suspect
    assert not outdated(theirs, copy)


def test_sessions_of_another_database_go_on(databases: tuple[Journal, Journal]) -> None:
    """Who replaces a host in a copy of its database ends no session of it in the first one, on the same server."""
    first, copy = (cast("Postgres", journal.engine) for journal in databases)
    with first.own_session() as ours, copy.own_session() as session:
        end_sessions(session, first.incarnation, 5.0)
        assert not ours.has_gone


# Real hosts


@pytest.fixture
def primary() -> Iterator[tuple[Server, str]]:
    """A server of one's own, and a new database in it."""
    with closing(Server(PROGRAMS)) as server:
        yield server, server.database()


@pytest.fixture
def two(
    primary: tuple[Server, str], request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[tuple[SharedTree, Server]]:
    """A host that has sent something; what is to be another database of its journal, and a host that uses that."""
    from support.hosts import SharedTree  # noqa: PLC0415 - it needs an extra

    server, database = primary
    with ExitStack() as stack:
        addresses = [server.address(database)] * 2
        other: Server | None = None
        if request.param == "promoted":
            other = stack.enter_context(closing(Server(PROGRAMS, standby_of=server)))
        tree = stack.enter_context(SharedTree(tmp_path, addresses, takeover=2.0))
        tree.start("a")
        tree.until(lambda: tree.are_served("a"), what="a serves all")
        tree.drop(3)
        tree.until(tree.is_settled, what="the first are delivered")
        if request.param == "restored":
            tree.addresses["b"] = server.address(server.copied(database))
        elif request.param == "snapshot":
            server.stop("fast")
            other = stack.enter_context(closing(Server(PROGRAMS, copy_of=server)))
            server.start()
        if other is not None:
            tree.addresses["b"] = other.address(database)
        tree.drop(3)
        tree.until(tree.is_settled, what="others are delivered, of which a copy knows nothing")
        yield tree, other or server


def filedrop(tree: SharedTree, host: str, *words: str) -> str:
    """What a command prints on a host."""
    command = [sys.executable, "-m", "filedrop", "--config", str(tree.base / f"{host}.yaml"), *words]
    return subprocess.run(command, check=False, capture_output=True, text=True).stdout


def waiting(tree: SharedTree, host: str) -> set[str]:
    """The companies with a folder that waits for a person, as `status` shows them on a host."""
    status: Any = json.loads(filedrop(tree, host, "status", "--json"))
    return {name for name, company in status["companies"].items() if ACCEPT in json.dumps(company)}


ALL = {"c0", "c1"}


@pytest.mark.slow
@pytest.mark.parametrize("two", ["promoted", "restored", "snapshot"], indirect=True)
def test_two_hosts_with_two_databases(two: tuple[SharedTree, Server], request: pytest.FixtureRequest) -> None:
    """One serves, the other waits and says what to do; after `journal accept` it is the other way round.

    All that is dropped is sent once.
    """
    tree, other = two
    kind = request.node.callspec.params["two"]
    serves, waits = "a", "b"
    tree.drop(20)
    tree.until(lambda: len(tree.sent()) > 20, what="some are sent")
    if kind == "promoted":
        other.promote()
        serves, waits = "b", "a"
    tree.start("b")
    tree.until(lambda: waiting(tree, waits) == ALL, what=f"{waits} waits")
    tree.drop(5)
    tree.until(tree.is_settled, 280, what="all is delivered")
    assert not {"sent", "filed"} & tree.wrong().keys(), tree.wrong()
    tree.until(lambda: not waiting(tree, serves), what=f"status of {serves} is up to date")

    said = filedrop(tree, waits, "journal", "accept")
    assert all(f"{tree.root / name / 'outbound'}: this filedrop serves it" in said for name in ALL)
    tree.until(lambda: waiting(tree, serves) == ALL, what=f"{serves} waits")
    tree.drop(5)
    tree.until(tree.is_settled, 280, what="all is delivered")
    assert not {"sent", "filed"} & tree.wrong().keys(), tree.wrong()
    tree.until(lambda: not waiting(tree, waits), what=f"status of {waits} is up to date")


@pytest.mark.slow
def test_database_that_is_put_back_under_a_host(primary: tuple[Server, str], tmp_path: Path) -> None:
    """A host whose last sign of life is missing in the database ends its process, with all that it remembers."""
    from support.hosts import SharedTree  # noqa: PLC0415 - it needs an extra

    server, database = primary
    with SharedTree(tmp_path, [server.address(database)]) as tree:
        tree.start("a")
        tree.until(lambda: tree.are_served("a"), what="a serves all")
        server.sql("UPDATE filedrop.hosts SET beat = 1", database)
        assert tree.daemons["a"].wait() == 1
        assert "it lacks this host's last sign of life" in tree.log_of("a")
