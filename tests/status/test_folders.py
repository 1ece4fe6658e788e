from __future__ import annotations

import os
import sys
import threading
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from support.documents import invoice

from filedrop.errors import FolderUnavailable
from filedrop.files import Directory, directory, patience
from filedrop.journal import Journal
from filedrop.process.lock import locked_state
from filedrop.status import folders
from filedrop.status.folders import HUNG, FolderSurvey
from filedrop.storage.company_folders import InboundFolder
from filedrop.storage.folder import NotYetThere
from filedrop.storage.marker import MARKER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import tzinfo

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
    monkeypatch.setattr(patience, "UNAVAILABLE_AFTER", -1.0)
    silent = survey.look()
    may_go_on.set()
    assert {one.trouble for one in slow.values()} == {""}
    assert slow[world.inbound].counts["inbound"] == 1
    assert {one.trouble for one in silent.values()} == {HUNG}


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each folder was listed, by its name."""
    counts, scanned = Counter[str](), directory._scanned

    def counted(folder: Directory) -> Iterator[object]:
        counts[folder.path.name] += 1
        return scanned(folder)

    monkeypatch.setattr(directory, "_scanned", counted)
    return counts


PUT: dict[str, Callable[[World], object]] = {
    "dropped": lambda world: (world.outbound / "new.xml").write_bytes(invoice("2")),
    "held": lambda world: (world.outbound / "HOLD").touch(),
    "put into failed": lambda world: (world.outbound / "failed" / "new.xml").write_bytes(invoice("2")),
    "taken from failed": lambda world: (world.outbound / "failed" / "failed.xml").unlink(),
    "received": lambda world: (world.inbound / "received.xml").write_bytes(invoice("3")),
    "gone": lambda world: (world.outbound / MARKER).unlink(),
}


@pytest.mark.skipif(sys.platform == "win32", reason="there, each look lists the folders")
@pytest.mark.parametrize("put", PUT.values(), ids=PUT)
def test_what_is_unchanged_is_not_listed(
    world: World, listed: Counter[str], put: Callable[[World], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second look at unchanged folders lists nothing and shows the same; one after a change shows the change."""
    world.run_once()
    (world.outbound / "failed" / "failed.xml").write_bytes(invoice("1"))
    monkeypatch.setattr(folders, "datetime", Later)
    with locked_state(world.state) as journal:
        survey = FolderSurvey(world.configuration(), journal, ages=False)
        before = survey.look()
        assert listed["failed"]
        listed.clear()
        again = survey.look()
        assert not listed
        assert {path: replace(seen, free=0) for path, seen in again.items()} == {
            path: replace(seen, free=0) for path, seen in before.items()
        }
        put(world)
        after = survey.look()
        fresh = FolderSurvey(world.configuration(), journal, ages=False).look()
    assert after.keys() == fresh.keys()
    assert {path: replace(seen, free=0) for path, seen in after.items()} == {
        path: replace(seen, free=0) for path, seen in fresh.items()
    }
    assert any(after[path] != replace(again[path], free=after[path].free) for path in after)


class Later(datetime):
    """An hour after everything that the test has written."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:
        """The time of a wall clock."""
        return datetime.now(tz) + timedelta(hours=1)
