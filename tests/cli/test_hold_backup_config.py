"""`filedrop hold`, `release`, `backup` and `config`."""

from __future__ import annotations

import json
import stat
import sys
from typing import TYPE_CHECKING

import pytest
import yaml
from support.documents import invoice
from support.plug import Disk, Tap

from filedrop.journal import Journal
from filedrop.process.lock import JOURNAL

if TYPE_CHECKING:
    from pathlib import Path

    from cli.conftest import Filedrop
    from support.world import World


def test_hold_and_release(filedrop: Filedrop, world: World) -> None:
    """While a company is held nothing of it is sent, and the file says how it ends; released, all that waits is."""
    world.run_once()
    assert "is held; to send again: filedrop release acme" in filedrop("hold", "acme").stdout
    world.drop("invoice.xml", invoice("1"))
    world.run_once()
    assert not world.accepted()
    assert "filedrop release acme" in (world.outbound / "HOLD").read_text()
    assert "is already held" in filedrop("hold", "acme").stdout
    assert "is released" in filedrop("release", "acme").stdout
    assert "was not held" in filedrop("release", "acme").stdout
    world.settle()
    world.invariants()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows brings names to the disk itself")
def test_held_though_the_power_is_cut(filedrop: Filedrop, world: World) -> None:
    """What the command has said holds: the file is on the disk, with its name."""
    world.run_once()
    disk = Disk(world.base / "lost")
    tap = Tap(lambda _: None, disk)
    tap.put_in()
    try:
        assert "is held" in filedrop("hold", "acme").stdout
    finally:
        tap.take_out()
    disk.forget()
    assert "filedrop release acme" in (world.outbound / "HOLD").read_text()


def test_released_however_it_was_held(filedrop: Filedrop, world: World) -> None:
    """A HOLD.txt that a person has put there is taken away, too."""
    world.run_once()
    (world.outbound / "HOLD.txt").touch()
    assert filedrop("release", "acme").returncode == 0
    assert not list(world.outbound.glob("HOLD*"))


def test_released_from_all_hold_files(filedrop: Filedrop, world: World) -> None:
    """All hold files are removed, in any spelling; what only begins with HOLD stays, and a held folder is held once."""
    world.run_once()
    for name in ("Hold", "hold.txt", "HOLD.txt.txt", "HOLDING.pdf"):
        (world.outbound / name).touch()
    (world.outbound / "hold.d").mkdir()
    assert "is already held" in filedrop("hold", "acme").stdout
    assert "is released" in filedrop("release", "acme").stdout
    names = {path.name for path in world.outbound.iterdir() if path.name.lower().startswith("hold")}
    assert names == {"HOLDING.pdf", "hold.d"}


def test_release_of_what_cannot_be_deleted(filedrop: Filedrop, world: World) -> None:
    """A folder called HOLD isn't deleted: the command names it, and the company stays held."""
    world.run_once()
    (world.outbound / "HOLD").mkdir()
    done = filedrop("release", "acme")
    assert done.returncode == 1
    assert f"{world.outbound}: it can't be held or released: HOLD can't be deleted" in done.stderr
    assert (world.outbound / "HOLD").is_dir()


def test_hold_where_that_is_impossible(filedrop: Filedrop, world: World) -> None:
    """A company that isn't there, and a folder that is away, are errors that say so."""
    done = filedrop("hold", "nobody")
    assert done.returncode == 2
    assert "there is no company nobody; write one of acme" in done.stderr
    world.run_once()
    world.outbound.rename(world.outbound.with_name("away"))
    done = filedrop("hold", "acme")
    assert done.returncode == 1
    assert str(world.outbound) in done.stderr
    assert not list(world.root.rglob("HOLD"))


def test_backup(filedrop: Filedrop, world: World, tmp_path: Path) -> None:
    """A whole copy of the journal beside a running daemon, for its owner's eyes only, never over another file."""
    copy = tmp_path / "copy.sqlite"
    world.drop("invoice.xml", invoice("1"))
    with world.daemon():
        world.until(world.settled)
        told = filedrop("backup", copy)
        again = filedrop("backup", copy)
    assert told.returncode == 0
    assert f"The journal is copied to {copy} (" in told.stdout
    assert again.returncode == 1
    assert "already exists" in again.stderr
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
    if sys.platform != "win32":
        assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    (world.state / JOURNAL).unlink()
    copy.rename(world.state / JOURNAL)
    journal = Journal.at(world.state / JOURNAL)
    assert [document.file for document in journal.documents.called("invoice.xml", "invoice.xml")] == ["invoice.xml"]
    journal.close()
    world.settle()
    world.invariants()


def test_backup_into_nowhere(filedrop: Filedrop, world: World, tmp_path: Path) -> None:
    """A folder that isn't there is an error that names it."""
    world.run_once()
    done = filedrop("backup", tmp_path / "nowhere" / "copy.sqlite")
    assert done.returncode == 1
    assert f"{tmp_path / 'nowhere' / 'copy.sqlite'} can't be written: No such file" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="not everybody may make links there")
def test_backup_where_others_may_write(filedrop: Filedrop, world: World, tmp_path: Path) -> None:
    """A link that somebody has put where the copy begins leads nowhere: what it leads to stays as it is."""
    world.run_once()
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / ".copy.sqlite.tmp").symlink_to(victim)
    assert filedrop("backup", tmp_path / "copy.sqlite").returncode == 0
    assert victim.read_text() == "precious"
    assert not (tmp_path / "copy.sqlite").is_symlink()


@pytest.mark.parametrize("as_json", [False, True])
def test_config_show(filedrop: Filedrop, world: World, *, as_json: bool) -> None:
    """The configuration with its defaults, as YAML or as one object, and no password."""
    told = filedrop("config", "show", *["--json"] * as_json)
    shown = json.loads(told.stdout) if as_json else yaml.safe_load(told.stdout)
    assert shown["companies"]["acme"]["inbound"] == str(world.inbound)
    assert shown["outbound"]["overdue"] == "1h"
    assert shown["accounts"]["main"]["password"] in (None, "(hidden)")


def test_config_schema(filedrop: Filedrop) -> None:
    """One JSON object, without any configuration."""
    assert json.loads(filedrop("config", "schema").stdout)["title"] == "The configuration of filedrop"
