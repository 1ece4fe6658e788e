from __future__ import annotations

import os
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from support.documents import invoice

from filedrop.errors import FolderUnavailable
from filedrop.files import Directory, patience
from filedrop.journal import Journal
from filedrop.status import folders
from filedrop.status.folders import HUNG, FolderSurvey
from filedrop.storage.folder import NotYetThere
from filedrop.storage.folders import InboundFolder
from filedrop.storage.marker import MARKER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.world import World


def new(_path: Path) -> None:
    """Nothing was there, and nothing is."""


def deleted(path: Path) -> None:
    path.joinpath(MARKER).unlink()
    path.rmdir()


def unmounted(path: Path) -> None:
    path.joinpath(MARKER).unlink()


def unreadable(path: Path) -> None:
    path.joinpath(MARKER).write_text("no marker")


def another(path: Path) -> None:
    path.joinpath(MARKER).write_text('{"folder": "1", "journal": "2"}\n')


def copy(path: Path) -> None:
    path.mkdir()
    path.joinpath(MARKER).write_bytes(path.with_name("served").joinpath(MARKER).read_bytes())


def no_folder(path: Path) -> None:
    path.touch()


def no_root(path: Path) -> None:
    path.parent.joinpath("served", MARKER).unlink()
    path.parent.joinpath("served").rmdir()
    path.parent.rmdir()


@pytest.mark.parametrize(
    ("name", "happens", "says"),
    [
        ("served", new, None),
        ("served", deleted, "it is missing"),
        ("served", unmounted, "its .filedrop is missing"),
        ("served", unreadable, "can't be read as a marker"),
        ("served", another, "another filedrop serves this folder"),
        ("new", new, "filedrop creates it"),
        ("new", copy, "it is a copy of"),
        ("new", no_folder, "it is not a folder"),
        ("new", no_root, "isn't there; mount it or create it"),
    ],
)
def test_what_is_seen_of_a_folder(tmp_path: Path, name: str, happens: Callable[[Path], None], says: str | None) -> None:
    """What is said of a folder that is only looked at is what filedrop does with it when it runs."""
    root = tmp_path / "root"
    root.mkdir()
    journal = Journal.at(tmp_path / "journal")
    try:
        InboundFolder(root / "served", company="acme", below=root).take_up(journal)
        folder = InboundFolder(root / name, company="acme", below=root)
        happens(folder.path)
        if says is None:
            folder.check_ownership(journal)
            folder.take_up(journal)
            return
        before = sorted(tmp_path.rglob("*"))
        with pytest.raises(FolderUnavailable, match=says) as seen:
            folder.check_ownership(journal)
        assert sorted(tmp_path.rglob("*")) == before
        if seen.type is NotYetThere:
            folder.take_up(journal)
        else:
            with pytest.raises(FolderUnavailable):
                folder.take_up(journal)
    finally:
        journal.close()


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="Windows has other rights")
def test_a_folder_that_can_not_be_made() -> None:
    """Of a new folder that filedrop has no right to make, it is said whose right is missing where."""
    with TemporaryDirectory() as base:  # pytest's own folders let nobody else through
        Path(base).chmod(0o555)
        folder = InboundFolder(Path(base) / "inbound", company="acme", below=Path(base))
        says = f"it can't be created: Permission denied .{base} belongs to .* run: sudo .*rwx {base}$"
        with somebody_else(), pytest.raises(FolderUnavailable, match=says):
            folder.check_ownership(None)


@contextmanager
def somebody_else() -> Iterator[None]:
    """Not root for a while, who has every right."""
    me = os.geteuid()
    if me == 0:
        os.seteuid(12345)
    try:
        yield
    finally:
        os.seteuid(me)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows tells the times of a file when it lists it")
def test_a_file_that_goes_while_it_is_looked_at(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer gives its draft the real name, and an importer takes what was received: the folders are well."""
    world.receive(invoice("1"))
    world.run_once()
    world.put(world.outbound / "invoice.xml.part", b"")
    scanned = Directory.scan

    def scan(here: Directory) -> Iterator[os.DirEntry[str]]:
        for entry in scanned(here):
            if entry.name.endswith((".part", ".xml")):
                (here / entry.name).unlink()
            yield entry

    monkeypatch.setattr(Directory, "scan", scan)
    found = FolderSurvey(world.configuration(), None, ages=True).look()
    assert [snapshot.trouble for snapshot in found.values()] == ["", ""]
    assert not list(world.outbound.glob("*.part"))
    assert not world.delivered()


def test_a_folder_that_is_slow(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A share that takes long to list its many files isn't said not to answer: what was seen before is told till then.

    It was, at each look, so that an alert said that its server may be down, and no heartbeat was sent any more.
    """
    world.receive(invoice("1"))
    world.run_once()
    survey = FolderSurvey(world.configuration(), None, ages=False)
    survey.look()
    scanned, may_go_on = Directory.scan, threading.Event()

    def scan(here: Directory) -> Iterator[os.DirEntry[str]]:
        may_go_on.wait()
        yield from scanned(here)

    monkeypatch.setattr(Directory, "scan", scan)
    monkeypatch.setattr(folders, "PATIENCE", 0.0)
    slow = survey.look()
    monkeypatch.setattr(patience, "LONGEST", -1.0)
    silent = survey.look()
    may_go_on.set()
    assert {one.trouble for one in slow.values()} == {""}
    assert slow[world.inbound].counts["inbound"] == 1
    assert {one.trouble for one in silent.values()} == {HUNG}
