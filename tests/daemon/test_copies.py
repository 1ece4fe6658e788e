"""The journal's daily copies: checked, seven of them, none where the disk would be full, and good for a start."""

from __future__ import annotations

import sqlite3
import stat
import sys
from contextlib import closing
from datetime import date, timedelta
from typing import TYPE_CHECKING

import pytest
from support.commands import ask
from support.documents import invoice
from support.drops import drop

from filedrop.errors import FiledropError, JournalError
from filedrop.journal import Journal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.world import World

DAY = date(2026, 11, 20)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with closing(Journal.at(tmp_path / "journal.sqlite", is_daemons=True)) as opened:
        opened.documents.record_all([drop(number) for number in range(300)])
        assert opened.engine.checkpoint()
        yield opened


def damage(path: Path) -> None:
    """Overwrite pages amid the file, as a bad disk does."""
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2 // 4096 * 4096)
        file.write(b"\xff" * 4096 * 4)


def test_seven_copies(journal: Journal, tmp_path: Path) -> None:
    """There is one copy of each day, and the newest seven are kept; whatever else is in the folder stays."""
    folder = tmp_path / "backup"
    folder.mkdir()
    (folder / "mine.sqlite").touch()
    (folder / ".left.tmp").touch()
    (folder / ".left.tmp-journal").touch()
    for day in range(9):
        assert journal.copies.copy_daily(DAY + timedelta(days=day), spare=0)
        assert not journal.copies.copy_daily(DAY + timedelta(days=day), spare=0)
    kept = [f"journal-2026-11-{day}.sqlite" for day in range(22, 29)]
    assert sorted(path.name for path in folder.iterdir()) == [*kept, "mine.sqlite"]
    assert journal.copies.newest_copy() == folder / kept[-1]
    if sys.platform != "win32":
        assert {stat.S_IMODE((folder / name).stat().st_mode) for name in kept} == {0o600}
    with closing(Journal.at(folder / kept[0])) as copy:
        assert copy.documents.by_id(drop(7).id) is not None


def test_no_room(journal: Journal, tmp_path: Path) -> None:
    """A copy that would leave too little of the disk isn't made, and the older ones stay."""
    folder = tmp_path / "backup"
    journal.copies.copy_daily(DAY, spare=0)
    with pytest.raises(FiledropError, match="no room for a copy of the journal"):
        journal.copies.copy_daily(DAY + timedelta(days=1), spare=10**18)
    assert [path.name for path in folder.iterdir()] == ["journal-2026-11-20.sqlite"]


def test_damage(journal: Journal, tmp_path: Path) -> None:
    """Damage is found, no copy of it is kept, and the journal is in trouble whatever can still be written."""
    folder = tmp_path / "backup"
    for day in range(7):
        journal.copies.copy_daily(DAY + timedelta(days=day), spare=0)
    damage(journal.engine.path)
    with pytest.raises(JournalError, match=r"is damaged.*put the latest copy there, from"):
        journal.copies.copy_daily(DAY + timedelta(days=7), spare=0)
    assert len(list(folder.iterdir())) == 7
    assert "is damaged" in journal.trouble
    journal.check_writable()
    assert "is damaged" in journal.trouble


def backed_up(world: World) -> Path:
    """The copy that a daemon makes of its journal."""
    with world.service() as service:
        service.copies._due = 0.0  # its first minute is over
        world.until(lambda: service.journal.copies.newest_copy() is not None, what="a copy is there")
    (copy,) = (world.state / "backup").iterdir()
    return copy


def test_one_is_put_back(world: World) -> None:
    """A journal that is lost is replaced by a daily copy: what was sent since is known, and nothing goes twice."""
    world.drop("before.xml", invoice("1"))
    world.settle()
    copy = backed_up(world)
    world.drop("after.xml", invoice("2"))
    (world.outbound / "HOLD").touch()
    world.drop("waiting.xml", invoice("3"))
    with world.service():
        world.until(lambda: world.places().get("waiting.xml") == "sending")
    (world.outbound / "HOLD").unlink()
    world.settle()
    world.put_back({"journal.sqlite": copy.read_bytes()})
    world.settle()
    assert world.accepted() == {"before.xml": 1, "after.xml": 1, "waiting.xml": 1}
    world.invariants()


def test_beside_what_a_killed_daemon_left(world: World) -> None:
    """A copy that is put back beside the -wal of the journal before it is not damaged by that: it is as it was made."""
    world.drop("before.xml", invoice("1"))
    world.settle()
    copy = backed_up(world)
    with world.service() as service:
        service.journal.documents.record_all([drop(number, folder="elsewhere") for number in range(600)])
        world.until(service.journal.engine.checkpoint)
        service.journal.documents.record_all([drop(number, folder="elsewhere") for number in range(600, 700)])
        left = world.copy_of_journal()
        assert {"journal.sqlite-wal", "journal.sqlite-shm"} < left.keys()
    world.drop("after.xml", invoice("2"))
    world.settle()
    world.put_back(left | {"journal.sqlite": copy.read_bytes()})
    with closing(Journal.at(world.state / "journal.sqlite")) as journal:
        journal.check_integrity()
        assert journal.documents.by_id(drop(1).id) is None
    world.put_back(left | {"journal.sqlite": copy.read_bytes()})
    world.drop("waiting.xml", invoice("3"))
    world.settle()
    assert world.accepted() == {"before.xml": 1, "after.xml": 1, "waiting.xml": 1}
    world.invariants()


def test_damage_while_it_runs(world: World) -> None:
    """A running daemon that finds damage posts nothing more, and status says what to do."""
    world.drop("before.xml", invoice("1"))
    world.settle()
    with world.service() as service:
        for number in range(1000, 1300):
            service.journal.documents.record(drop(number, folder="elsewhere"))
        service.journal.engine.checkpoint()
        damage(service.journal.engine.path)
        service.copies._due = 0.0
        world.until(lambda: "is damaged" in service.journal.trouble, what="the damage is found")
        assert not [about for about in service.report().troubles if about == "backup"], "it is told once"
        world.drop("after.xml", invoice("2"))
    assert world.accepted() == {"before.xml": 1}
    assert not list((world.state / "backup").iterdir())


def test_no_room_is_told(world: World) -> None:
    """That today's copy is missing is a trouble that status and alerts show, until it is made."""
    with world.service() as service:
        service.copies._spare = 10**18
        service.copies._due = 0.0
        world.until(lambda: "there is no room" in service.report().troubles.get("backup", ""))
        service.copies._spare = 0
        service.copies._due = 0.0
        world.until(lambda: "backup" not in service.report().troubles)


def test_check_names_it(world: World) -> None:
    """`check` names the version of SQLite, and the newest copy."""
    world.run_once()
    assert "there is no daily copy yet" in ask(world, "check").says
    copy = backed_up(world)
    said = ask(world, "check").says
    assert f"SQLite {sqlite3.sqlite_version}" in said
    assert copy.name in said.replace(" ", "")
