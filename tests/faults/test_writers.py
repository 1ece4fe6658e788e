"""Awkward writers, each a process of its own: what it writes is sent once, whole, as its last version, never half."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from support.documents import invoice
from support.world import World

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from filedrop.daemon.daemon import Daemon

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="what Windows writers do is in behaviour/test_in_use")

LONG = {"settle": "1h", "incomplete_after": "1h", "rescan": "100ms"}
SHORT = {"settle": "0s", "incomplete_after": "1h", "rescan": "100ms"}
PIECES = [invoice()[at : at + 700] for at in range(0, len(invoice()), 700)]

WRITER = """
import ctypes, fcntl, json, os, shutil, sys
file = None

def rename(source, target):
    # Never over what filedrop may just have put back there, which would be the writer's loss: RENAME_NOREPLACE.
    ctypes.CDLL(None).renameat2(-100, source.encode(), -100, target.encode(), 1)

for line in sys.stdin:
    do, *words = json.loads(line)
    if do == "open":
        file = open(*words, buffering=0)
    elif do == "write":
        file.write(words[0].encode("latin-1"))
    elif do == "again":
        file.seek(0)
        file.truncate()
        file.write(words[0].encode("latin-1"))
    elif do == "close":
        file.close()
    elif do == "flock":
        fcntl.flock(file, fcntl.LOCK_EX)
    elif do == "lockf":
        fcntl.lockf(file, fcntl.LOCK_EX)
    elif do == "copy":
        shutil.copy2(*words)
    elif do == "utime":
        os.utime(words[0], (words[1], words[1]))
    elif do == "swap":
        one, other = words
        between = other + ".tmp"
        for _ in range(1000):
            for source, target in ((one, between), (other, one), (between, other)):
                rename(source, target)
        for name in (other, one, other + ".xml"):
            rename(between, name)
    print("done", flush=True)
"""


class Writer:
    """A process that writes as it is told, and has done so when `do` returns."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def do(self, verb: str, *words: object) -> None:
        assert self._process.stdin
        assert self._process.stdout
        line = [verb, *(word.decode("latin-1") if isinstance(word, bytes) else word for word in words)]
        print(json.dumps(line, default=str), file=self._process.stdin, flush=True)
        assert self._process.stdout.readline() == "done\n"


@pytest.fixture
def writer() -> Iterator[Writer]:
    child = [sys.executable, "-c", WRITER]
    with subprocess.Popen(child, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Writer(process)


def seen(world: World, service: Daemon, name: str, size: int) -> None:
    """Wait until the daemon has seen the file in this size, and left it where it is."""
    known = service.accounts[0].pipelines[0].scanner.seen
    world.until(lambda: name in known and known[name].stamp.size == size, what=f"{name} is seen with {size} bytes")
    assert world.sandbox.store.sent("acme") == []


def watched(world: World, service: Daemon) -> None:
    pipeline = service.accounts[0].pipelines[0]
    world.until(lambda: pipeline.was_scanned and not pipeline.scanner.is_woken, what="the folder is watched")


def sent_once(world: World) -> None:
    world.until(world.settled)
    world.invariants()
    assert world.accepted() == dict.fromkeys(world.dropped, 1)


@pytest.mark.parametrize("watch", [True, False], ids=["events", "scan"])
@pytest.mark.parametrize("closing", [True, False], ids=["closing", "keeping it open"])
def test_in_pieces(make_world: Callable[..., World], writer: Writer, *, watch: bool, closing: bool) -> None:
    """A writer that pauses between pieces for longer than `settle`, whether it closes the file each time or not."""
    world = make_world(outbound=SHORT)
    path, size = world.outbound / "invoice.xml", 0
    world.dropped[path.name] = invoice()
    with world.service(watch=watch) as service:
        watched(world, service)
        writer.do("open", path, "ab")
        for piece in PIECES[:-1]:
            writer.do("write", piece)
            size += len(piece)
            if closing:
                writer.do("close")
            seen(world, service, path.name, size)
            if closing:
                writer.do("open", path, "ab")
        writer.do("write", PIECES[-1])
        writer.do("close")
        sent_once(world)


def test_rewritten_before_it_is_closed(make_world: Callable[..., World], writer: Writer) -> None:
    """A writer that writes another whole document over the first, in place, before it closes: the last one is sent."""
    world = make_world(outbound=LONG)
    first, last = invoice("1", note="A first version, which is longer."), invoice("1", note="Last.")
    world.dropped["invoice.xml"] = last
    writer.do("open", world.outbound / "invoice.xml", "wb")
    writer.do("write", first)  # before the daemon's first look: seen empty, it is left alone until it is closed
    with world.service(watch=True) as service:
        watched(world, service)
        seen(world, service, "invoice.xml", len(first))
        writer.do("again", last)
        writer.do("close")
        sent_once(world)


def test_old_times(make_world: Callable[..., World], writer: Writer) -> None:
    """A copy that keeps the time of its source, or is given an old one, is new here all the same, and goes once."""
    world = make_world(outbound={"settle": "300ms", "rescan": "100ms"})
    source = world.base / "source.xml"
    source.write_bytes(invoice("1"))
    os.utime(source, (10**9, 10**9))
    world.dropped |= {"copy.xml": invoice("1"), "old.xml": invoice("2")}
    with world.service():
        writer.do("copy", source, world.outbound / "copy.xml")
        writer.do("open", world.outbound / "old.xml", "wb")
        writer.do("write", invoice("2"))
        writer.do("utime", world.outbound / "old.xml", 10**9)
        writer.do("close")
        sent_once(world)


def test_two_that_change_their_names(make_world: Callable[..., World], writer: Writer) -> None:
    """Two files that are swapped by renames again and again while they are claimed are each sent once."""
    world = make_world(outbound={"settle": "0s", "rescan": "100ms"})
    one, other = world.outbound / "one.xml", world.outbound / "other.xml"
    with world.service(watch=True):
        world.drop(one.name, invoice("1", note="One. " * 2000))
        world.drop(other.name, invoice("2"))
        writer.do("swap", one, other)
        sent_once(world)


@pytest.mark.parametrize("lock", ["flock", "lockf"])
def test_locked(make_world: Callable[..., World], writer: Writer, lock: str) -> None:
    """A file that its writer has locked, and keeps so, is whole all the same; nobody waits for the lock."""
    world = make_world(outbound=SHORT)
    writer.do("open", world.base / "draft.xml", "wb")
    writer.do(lock)
    writer.do("write", invoice())
    world.dropped["invoice.xml"] = invoice()
    with world.service():
        (world.base / "draft.xml").rename(world.outbound / "invoice.xml")
        sent_once(world)


@contextmanager
def not_root(base: Path) -> Iterator[None]:
    """Somebody who isn't allowed everything, and whose this folder is."""
    me = os.geteuid()
    if me == 0:
        os.chown(base, 12345, -1)
        os.seteuid(12345)
    try:
        yield
    finally:
        os.seteuid(me)


@pytest.mark.parametrize("patience", ["1h", "100ms"])
def test_without_the_right_to_read(patience: str) -> None:
    """A file that may not be read is waited for; it goes when it may, and fails with a note if that takes too long."""
    with TemporaryDirectory() as base, not_root(Path(base)):  # pytest's own folders let nobody else through
        changes = {"settle": "0s", "incomplete_after": patience, "rescan": "100ms"}
        with World(Path(base), outbound=changes) as world, world.service() as service:
            draft, path = world.base / "draft.xml", world.outbound / "invoice.xml"
            draft.write_bytes(invoice())
            draft.chmod(0o000)
            draft.rename(path)
            if patience == "100ms":
                world.until((world.outbound / "failed" / "invoice.xml.why.txt").exists)
                note = (world.outbound / "failed" / "invoice.xml.why.txt").read_text()
                assert "Reason: unreadable" in note
                assert "Give filedrop the right to read" in note
                return
            world.until(lambda: "invoice.xml" in service.accounts[0].pipelines[0].scanner.seen)
            world.dropped["invoice.xml"] = invoice()
            path.chmod(0o600)
            sent_once(world)


NAMES = {
    "Latin-1": b"faktura \xe6\xf8\xe5.xml".decode(errors="surrogateescape"),
    "quotes": 'it\'s "the" `invoice` $HOME.xml',
    "lines": "one\ntwo\r\nthree\tfour.xml",
    "escapes": "\x1b[2J\u202e\\x.xml",
    "a dash": "--all.xml",
    "two dashes": "-- -rf.xml",
    "long": "x" * 251 + ".xml",
    "long letters": "ø" * 125 + ".xml",
    "dots": "..invoice..xml"[2:],
    "blanks": " invoice .xml",
    "a glob": "*[a]?.xml",
}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_names(world: World, name: str) -> None:
    """Whatever a file is called, it keeps its name (one that is too long is cut), and is found by it."""
    world.drop(name, invoice())
    with world.service():
        sent_once(world)
    (document,) = [path for path in world.files() if path.parent.parent.name == "archive"]
    beside = world.sidecar(name)
    assert os.fsencode(document.name) == os.fsencode(beside["file"])
    assert beside.get("dropped_as", beside["file"]) == name
    assert document.name == name or len(os.fsencode(name)) > 200 >= len(os.fsencode(document.name))


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_names_of_what_failed(world: World, name: str) -> None:
    """A note's lines are its own, whatever the file is called, and its command brings just that file back."""
    world.put(world.outbound / name, invoice(receiver=None))
    world.run_once()
    (note,) = (world.outbound / "failed").glob("*.why.txt")
    first, *lines = note.read_text("utf-8").split("\n")
    assert first.endswith(" was not sent.")
    assert all(line.isprintable() for line in (first, *lines))
    (command,) = [line.strip() for line in lines if line.startswith("  filedrop retry ")]
    words = subprocess.run(
        ["bash", "-c", f"filedrop() {{ printf '%s\\0' \"$@\"; }}\n{command}"], stdout=subprocess.PIPE, check=True
    ).stdout
    done = world.filedrop(*(os.fsdecode(word) for word in words.split(b"\0")[:-1]))
    assert done.returncode == 0, done.stderr
    (back,) = [path for path in world.outbound.iterdir() if path.name.endswith(".xml")]
    assert back.name == note.name.removesuffix(".why.txt")
