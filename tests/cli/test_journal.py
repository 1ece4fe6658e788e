"""`filedrop journal move`: the journal from its file into a database, and back. `journal accept`: after a restore."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.documents import invoice
from support.drops import NOON, accepted, drop, posted
from support.matrix import quick
from support.postgres import be_a_host
from support.proxy import Proxy

from filedrop.errors import JournalError
from filedrop.files import Directory
from filedrop.journal import JOURNAL, Database, Journal, MessageRow, Waiver
from filedrop.process.lock import locked_state
from filedrop.storage.marker import read_marker

if TYPE_CHECKING:
    from collections.abc import Callable

    from cli.conftest import Done
    from support.postgres import Server
    from support.world import World

MORE = """
    DELETE FROM messages WHERE rowid = 2; -- a gap, as after a removal
    INSERT INTO responses VALUES
        ('id', 9, 'then', 1, 'acme', 's', 'r', 'N', '380', '', 'AP', '', 1.5, '', '', 'response'),
        ('id', 8, 'then', 0, 'acme', 's', 'r', 'N', '380', '', 'RE', 'Ärger', 1722222222.123456, '?', 'f1', 'response');
    INSERT INTO answers VALUES ('acme', 'abc', 1, 'RE', 'N', 's', 'r', 1.25, 'd', 'answer.xml', x'00ff');
    INSERT INTO answers VALUES ('acme', 'abc', 0, 'AB', 'N', 's', 'r', 1.25, 'd', 'answer.xml', NULL);
    INSERT INTO surplus VALUES ('id', 5, 'then', 'd');
    INSERT INTO restored VALUES ('d');
    INSERT INTO wanted VALUES ('failed');
    INSERT INTO totals VALUES ('acme', 'failed', 'rejected', 3, NULL);
    INSERT INTO errands VALUES
        (7, 'failed', 'acme', 'b', NULL, x'', x'', NULL), (3, 'received', 'acme', '', 4, x'2f', x'ff', '{}');
"""
Rows = dict[str, list[tuple[Any, ...]]]
IN_ORDER = ("documents", "messages", "responses")
KILLED = """
import os
from filedrop.cli import filedrop
from filedrop.journal.postgres import Postgres
from filedrop.journal.sqlite import Sqlite

{engine}._commit = lambda engine: os._exit(9)
filedrop()
"""


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    return make_world(outbound={"doubt": "150s"})


@pytest.fixture
def address(postgres: Server) -> str:
    """Of a new database."""
    return postgres.address(postgres.database())


def move(world: World, *words: str) -> Done:
    return world.filedrop("journal", "move", *words)


def moved(world: World, to: str) -> None:
    """Move it, and change the configuration as the command says."""
    done = move(world, to)
    assert (done.returncode, done.stderr) == (0, "")
    configure(world, to)


def configure(world: World, journal: str) -> None:
    world.more = "" if journal == "file" else f"journal: {journal}"


def fill(world: World) -> None:
    """Make a journal that has rows of each kind, and more of one than are copied at once."""
    world.state.mkdir(exist_ok=True)
    with locked_state(world.state) as journal:
        journal.folders.record("f1", Path("/srv/acme/outbound"))
        journal.documents.record_all([drop(1), posted(drop(2)), accepted(drop(3)), posted(drop(4)).taken(NOON)])
        parties = {"sender": "0192:1", "receiver": "0192:2"}
        journal.messages.record_all(
            [
                MessageRow(
                    identity="id", msg_no=number, received="2026-11-20", state="stuck", file=f"{number}.xml", **parties
                )
                for number in (3, 2, 1)
            ]
        )
        journal.waivers.give("f1", "again.xml", Waiver("sha-9", 123))
    with closing(sqlite3.connect(world.state / JOURNAL)) as connection:
        connection.executescript(MORE)
        columns = [name for _, name, *_ in connection.execute("PRAGMA table_info(documents)")]
        row = dict(zip(columns, connection.execute("SELECT * FROM documents").fetchone(), strict=True))
        for number in range(1200, 0, -1):
            row |= {"id": f"n{number}", "claimed": number / 7, "dropped_as": b"\xff\xfe", "open": number % 2}
            connection.execute(f"INSERT INTO documents VALUES ({', '.join('?' * len(row))})", [*row.values()])  # noqa: S608 - ours
        connection.commit()


def content(path: Path) -> Rows:
    """The rows of a file by their tables, without what a move itself keeps."""
    with closing(sqlite3.connect(path)) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        select = "SELECT * FROM {} ORDER BY rowid"
        rows = {table: connection.execute(select.format(table)).fetchall() for table in tables}
    rows["about"] = [row for row in rows["about"] if row[0] not in ("moves", "moved", "lineage")]
    rows["errands"] = [row[1:] for row in rows["errands"]]  # its number only orders
    return {table: found if table in IN_ORDER else sorted(found, key=repr) for table, found in rows.items()}


def counted(rows: Rows) -> dict[str, int]:
    return {folder: count for folder, count, *_ in rows.pop("changes")}


def test_there_and_back(world: World, postgres: Server, address: str) -> None:
    """Every row of each table is moved into the database and back, in the order of insertion; nothing is counted."""
    fill(world)
    before = content(world.state / JOURNAL)
    assert [table for table in before if not before[table]] == []
    moved(world, address)
    database = address.partition("?")[0].rpartition("/")[2]
    assert [id_ for (id_,) in postgres.sql("SELECT id FROM filedrop.documents ORDER BY rowid", database)] == [
        row[0] for row in before["documents"]
    ]
    errands = postgres.sql("SELECT event FROM filedrop.errands ORDER BY number", database)
    assert errands == [("received",), ("failed",)]
    moved(world, "file")
    after = content(world.state / JOURNAL)
    counts = counted(before)
    assert {folder: count for folder, count in counted(after).items() if folder in counts} == {
        folder: count + 2
        for folder, count in counts.items()  # one for each move
    }
    assert after == before
    moved(world, address)  # what was moved from there is replaced
    assert move(world, address).returncode != 0


def test_between_databases(world: World, postgres: Server, address: str) -> None:
    """From one database into another, all goes as well."""
    fill(world)
    before = content(world.state / JOURNAL)
    moved(world, address)
    moved(world, postgres.address(postgres.database()))
    moved(world, "file")
    after = content(world.state / JOURNAL)
    assert counted(after).keys() >= counted(before).keys()
    assert after == before


def test_text_that_postgresql_lacks(world: World, address: str) -> None:
    """A NUL in a text is replaced, as when filedrop writes it there, and the move goes on."""
    fill(world)
    with closing(sqlite3.connect(world.state / JOURNAL)) as connection:
        connection.execute(
            "UPDATE documents SET number = 'a' || char(0) || 'b', error = ? WHERE id = 'n7'", ['"\\u0000"']
        )
        connection.commit()
    moved(world, address)
    moved(world, "file")
    with closing(sqlite3.connect(world.state / JOURNAL)) as connection:
        assert connection.execute("SELECT number, error FROM documents WHERE id = 'n7'").fetchall() == [
            ("a\ufffdb", '"\\ufffd"')
        ]


def test_row_that_differs(world: World, postgres: Server, address: str) -> None:
    """Where a row isn't the same after it was copied, nothing is moved."""
    fill(world)
    with closing(sqlite3.connect(world.state / JOURNAL)) as connection:
        connection.execute("UPDATE documents SET file = 'a text, no blob' WHERE id = 'n7'")
        connection.commit()
    assert "a row of documents differs" in move(world, address).stderr
    assert world.filedrop("history", "n7").returncode == 0
    database = address.partition("?")[0].rpartition("/")[2]
    assert postgres.sql("SELECT 1 FROM filedrop.documents", database) == []


def test_dry_run(world: World, postgres: Server, address: str) -> None:
    """It counts, and changes nothing: neither here nor there."""
    fill(world)
    before = content(world.state / JOURNAL)
    done = move(world, address, "--dry-run")
    assert f"documents  {len(before['documents'])}" in " ".join(done.stdout.split()).replace(
        "documents ", "documents  "
    )
    assert "Nothing was changed" in done.stdout
    assert content(world.state / JOURNAL) == before
    database = address.partition("?")[0].rpartition("/")[2]
    assert postgres.sql("SELECT 1 FROM pg_namespace WHERE nspname = 'filedrop'", database) == []
    moved(world, address)
    (world.state / JOURNAL).rename(world.state / "before")
    assert move(world, "file", "--dry-run").returncode == 0
    assert not (world.state / JOURNAL).exists()


def test_running_on(world: World, address: str) -> None:
    """After a move, filedrop goes on in its folders: nothing is posted twice, nothing is lost; and so it is back."""
    world.drop("invoice-1.xml", invoice("1"))
    world.run_once()
    for place, number in ((address, "2"), ("file", "3")):
        moved(world, place)
        world.drop(f"invoice-{number}.xml", invoice(number))
        assert world.filedrop("run", "--once").returncode == 0
        assert len(world.accepted()) == int(number)
    assert "older" not in world.filedrop("check").stdout
    world.settle()
    world.invariants()


def test_former_journal(world: World, address: str) -> None:
    """It can't be opened; if somebody uses it all the same, it is older than the folders."""
    world.drop("invoice-1.xml", invoice("1"))
    world.settle()
    moved(world, address)
    assert world.filedrop("run", "--once").returncode == 0  # nothing happens
    configure(world, "file")
    assert "it is in postgresql://filedrop@" in world.filedrop("history", "invoice-1.xml").stderr
    with pytest.raises(JournalError, match="was moved"), locked_state(world.state):
        pass
    with closing(sqlite3.connect(world.state / JOURNAL)) as connection:
        connection.execute("DELETE FROM about WHERE key = 'moved'")
        connection.commit()
    marker = read_marker(world.outbound)
    assert marker
    with locked_state(world.state) as journal:
        assert journal.folders.changes(marker.folder).missing(marker.changes) > 0


@pytest.mark.parametrize("engine", quick(["Sqlite", "Postgres"]))
@pytest.mark.parametrize("is_back", quick([False, True]))
def test_killed(world: World, address: str, engine: str, *, is_back: bool) -> None:
    """Killed before either commit, never both journals can be used; run again, the move is made."""
    fill(world)
    before = content(world.state / JOURNAL)
    here, there = "file", address
    if is_back:
        moved(world, address)
        here, there = there, here
    words = ["--config", str(world.config_file()), "journal", "move", there]
    killed = subprocess.run([sys.executable, "-c", KILLED.format(engine=engine), *words], check=False)
    assert killed.returncode == 9
    is_marked = engine == ("Sqlite" if is_back else "Postgres")  # the target's commit is the second
    assert (world.filedrop("history", "n7").returncode != 0) == is_marked
    if is_back:
        configure(world, there)
        assert world.filedrop("history", "n7").returncode != 0
        again = move(world, address)  # the file is the older one, and doesn't replace what is newer
        assert (again.returncode != 0) == is_marked
        configure(world, here)
    moved(world, there)
    if not is_back:
        moved(world, "file")
    after = content(world.state / JOURNAL)
    assert counted(after).keys() >= counted(before).keys()
    assert after == before


def test_done_before(world: World, address: str) -> None:
    """Run again after its end, such as where the answer was lost, it says the same and copies nothing."""
    fill(world)
    first, again = move(world, address), move(world, address)
    assert again.returncode == 0
    assert again.stdout.splitlines() == first.stdout.splitlines()[-len(again.stdout.splitlines()) :]


def test_while_filedrop_runs(world: World, address: str) -> None:
    """It is refused, from a file and from a database, and nothing is changed."""
    fill(world)
    with locked_state(world.state):
        assert "another filedrop is running" in move(world, address).stderr
    moved(world, address)
    with closing(Journal.in_database(Database(address), is_daemons=True)) as journal:
        be_a_host(journal, "a")
    assert "in use by: a." in move(world, "file").stderr
    assert world.filedrop("history", "n7").returncode == 0


def test_host_that_enters_later(world: World, address: str) -> None:
    """A host that was starting while the journal was moved away from its database never becomes one."""
    fill(world)
    moved(world, address)
    with closing(Journal.in_database(Database(address), is_daemons=True)) as journal:
        moved(world, "file")
        with pytest.raises(JournalError, match="was moved"):
            be_a_host(journal, "a")


def test_another_journal_there(world: World, postgres: Server, address: str) -> None:
    """A journal that isn't empty is never replaced, nor is one moved from where it is no more."""
    fill(world)
    before = content(world.state / JOURNAL)
    copy = Path(shutil.copy(world.state / JOURNAL, world.base))
    moved(world, address)
    configure(world, "file")
    elsewhere = postgres.address(postgres.database())
    assert "was moved" in move(world, elsewhere).stderr
    configure(world, address)
    copy.replace(world.state / JOURNAL)
    refused = move(world, "file").stderr
    assert "isn't empty" in refused
    assert content(world.state / JOURNAL) == before


def test_addresses(world: World, address: str) -> None:
    """A password in the address is shown nowhere; what is no address is refused."""
    fill(world)
    assert move(world, "/srv/journal").returncode == 2
    assert "already" in move(world, "file").stderr
    done = move(world, address.replace("filedrop@", "filedrop:hunter2@"))
    assert done.returncode == 0
    assert "hunter2" not in done.stdout + done.stderr
    assert "hunter2" not in world.filedrop("history", "n7").stderr


def test_accept(world: World) -> None:
    """A folder that another database of the journal has served waits, and says so; then it goes on."""
    world.drop("invoice-1.xml", invoice("1"))
    world.settle()
    assert world.filedrop("journal", "accept").stdout == "No folder waits for this.\n"
    marker = read_marker(world.outbound)
    assert marker
    replace(marker, branch="0123456789abcdef").replace(Directory.open(world.outbound))
    world.drop("invoice-2.xml", invoice("2"))
    assert f"{world.outbound}: the journal doesn't know all" in world.filedrop("check").stdout
    world.filedrop("run", "--once")
    assert (world.outbound / "invoice-2.xml").exists()
    done = world.filedrop("journal", "accept")
    assert done.stdout == f"{world.outbound}: this filedrop serves it, from its next scan on\n"
    assert world.filedrop("journal", "accept").stdout == "No folder waits for this.\n"
    world.settle()
    world.invariants()


def test_former_server_that_works_again(world: World, postgres: Server) -> None:
    """A command uses the server that filedrop has used last, also if the address names the former one first."""
    socket = postgres.folder / ".s.PGSQL.5432"
    with closing(Proxy(socket.with_name("stopped"))) as former, closing(Proxy(socket)) as promoted:
        servers = f"127.0.0.1:{former.port},127.0.0.1:{promoted.port}"
        configure(world, f"postgresql://filedrop@{servers}/{postgres.database()}?sslmode=disable")
        assert world.filedrop("run", "--once").returncode == 0
        former.lead_to(socket)
        assert world.filedrop("status").returncode == 0
        assert not former.requests
