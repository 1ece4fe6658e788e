"""What somebody who may write into one company's folders plants there: filedrop does no other company's work by it.

Nor does it read or write anything elsewhere, where a link, a folder or a file lies in the place of another. Acme's
folders are the neighbour's to write in, fjord's are not; both companies send by one account.
"""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import threading
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from support.commands import ask
from support.documents import BUYER, invoice
from support.faults import instead
from support.matrix import quick
from support.plug import Tap
from support.stepping import RULES, Clock, Life

from filedrop.sandbox.store import utc_now
from filedrop.status.status_file import StatusFile
from filedrop.storage.company_folders import PLACES

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.world import World

    from filedrop.daemon.daemon import Daemon

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links by everybody are POSIX")

FJORD = "0192:123456785"


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    """A world with a second company, fjord."""
    return make_world(companies={"fjord": f'{{participants: ["{FJORD}"]}}'}, outbound={"rescan": "100ms"})


@pytest.fixture
def fjord(world: World) -> Path:
    """Fjord's outbound folder. What lies in it is held, so that it is nobody's to send."""
    path = world.root / "fjord" / "outbound"
    path.mkdir(parents=True)
    (path / "HOLD").touch()
    return path


def secret(number: int = 0) -> bytes:
    """An invoice that is only fjord's business."""
    return invoice(f"secret {number}", sender=FJORD)


def all_in(folder: Path) -> dict[str, tuple[int, bytes]]:
    """What lies below a folder, with its rights and content; but for filedrop's own markers."""
    return {
        str(path.relative_to(folder)): (path.lstat().st_mode, path.read_bytes() if path.is_file() else b"")
        for path in [folder, *folder.rglob("*")]
        if path.name != ".filedrop"
    }


def exchange(place: Path, link_to: Path) -> Path:
    """Put a link where a folder lies, and return where the folder is put aside."""
    aside = place.with_name(f"{place.name} aside")
    if place.exists():
        place.rename(aside)
    place.symlink_to(link_to)
    return aside


def goes(world: World, fjord: Path, name: str) -> None:
    """Fjord's invoice goes all the way."""
    (fjord / "HOLD").unlink(missing_ok=True)
    world.put(fjord / name, invoice(name, sender=FJORD))
    world.until(lambda: [*fjord.glob(f"archive/*/{name}")], what=f"fjord's {name} goes")


def trouble(service: Daemon) -> str:
    """Why acme's outbound folder is unavailable; "" while it isn't."""
    (pipeline,) = (one for one in service.accounts[0].pipelines if one.folder.company == "acme")
    return pipeline.health.trouble


def report(service: Daemon) -> None:
    """Have the daemon in this process write its status.json, as it does every few seconds."""
    StatusFile(service.config, service.journal, service._log).close(service.report())


@pytest.mark.parametrize("first", quick([True, False]), ids=["before the first start", "later"])
@pytest.mark.parametrize("place", PLACES)
def test_a_place_that_is_a_link(world: World, fjord: Path, place: str, *, first: bool) -> None:
    """Where a place of acme's leads into another company's folders, acme waits, and why is said."""
    if not first:
        world.run_once()
    outside = world.base / "outside"
    outside.mkdir(mode=0o700)
    for name in ("left-over.xml", "left-over.xml.json", ".01JD0000000000000000000001.json"):
        (outside / name).write_bytes(secret())
    exchange(world.outbound / place, outside)
    before = all_in(outside)
    world.put(world.outbound / "one.xml", invoice("1"))
    with world.service() as service:
        world.until(lambda: f"{world.outbound / place} is no folder, but a link or a file" in trouble(service))
        goes(world, fjord, "fjord.xml")
        report(service)
        assert f"{world.outbound / place} is no folder" in ask(world, "status").says
        assert f"{world.outbound / place} is no folder" in ask(world, "check").says
        assert f"{world.outbound / place} is no folder" in ask(world, "retry", "acme", "--all").says
        assert all_in(outside) == before
        (world.outbound / place).unlink()  # filedrop makes it again
        world.until(lambda: [*world.outbound.glob("archive/*/one.xml")])
    assert all_in(outside) == before
    assert len(world.sandbox.store.sent("acme")) == 2


def test_a_month_that_is_a_link(world: World, fjord: Path) -> None:
    """Where a month of acme's archive leads elsewhere, what was delivered in it waits in sent/; all else goes on."""
    world.run_once()
    outside = world.base / "outside"
    outside.mkdir()
    months = {(utc_now() + timedelta(days=days)).strftime("%Y-%m") for days in (-1, 0, 1)}
    for month in months:
        (world.outbound / "archive" / month).symlink_to(outside)
    world.drop("one.xml", invoice("1"))
    world.drop("nobody.xml", invoice("2", receiver=None))
    with world.service():
        world.until(lambda: world.places() == {"one.xml": "sent", "nobody.xml": "failed"})
        goes(world, fjord, "fjord.xml")
        assert not [*outside.iterdir()]
        for month in months:
            (world.outbound / "archive" / month).unlink()
        world.until(world.settled)


DRAFTS = (".filedrop.tmp", ".sending.tmp", ".sent.tmp", ".archive.tmp", ".failed.tmp")


def test_links_in_the_place_of_drafts(world: World) -> None:
    """What a link leads to that is called as a draft may be called gets no rights and no content of ours."""
    outside = world.base / "outside"
    outside.mkdir(mode=0o700)
    (outside / "journal").write_bytes(b"1")
    world.outbound.chmod(0o777)
    for name in DRAFTS:
        (world.outbound / name).symlink_to(outside)
    before = all_in(outside)
    world.drop("one.xml", invoice("1"))
    with world.service():
        world.until(lambda: world.places().get("one.xml", "").startswith("archive"))
    assert all_in(outside) == before
    made = [world.outbound / place for place in PLACES if (world.outbound / place).exists()]
    assert {stat.S_IMODE(place.stat().st_mode) for place in made} == {0o777}


SWAP = """
import ctypes, os, sys
folder, outside = map(os.fsencode, sys.argv[1:3])
libc = ctypes.CDLL(None, use_errno=True)
places = [os.path.join(folder, place) for place in (b"sending", b"sent", b"archive", b"failed")]
for place in places:
    os.symlink(outside, place + b" of mine")
print(flush=True)
swapped = False
while swapped or not os.path.exists(os.path.join(folder, b"enough")):
    for place in places:
        assert libc.renameat2(-100, place, -100, place + b" of mine", 2) == 0  # RENAME_EXCHANGE
    swapped = not swapped
"""


def test_places_that_are_flipped(world: World, fjord: Path) -> None:
    """Folders that are exchanged for links and back, all the time: nothing elsewhere is read, moved or changed."""
    world.run_once()
    outside = world.base / "outside"
    outside.mkdir(mode=0o700)
    for number in range(20):
        (outside / f"left-over-{number}.xml").write_bytes(secret(number))
        (outside / f"left-over-{number}.xml").chmod(0o400)
    before = all_in(outside)
    child = [sys.executable, "-c", SWAP, world.outbound, outside]
    with world.service(), subprocess.Popen(child, stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        for number in range(40):
            world.drop(f"{number}.xml", invoice(f"{number}", receiver=None if number % 4 == 0 else BUYER))
        world.until(lambda: len(world.sandbox.store.sent("acme")) >= 10, 120)
        goes(world, fjord, "fjord.xml")
        (world.outbound / "enough").touch()
        assert process.wait() == 0
        assert all_in(outside) == before
        world.until(world.settled)
    assert all_in(outside) == before
    world.dropped["fjord.xml"] = invoice("fjord.xml", sender=FJORD)
    assert world.accepted() == {name: 1 for name in world.dropped if name == "fjord.xml" or int(name[:-4]) % 4}


def test_a_name_that_somebody_else_has(world: World, fjord: Path) -> None:
    """Folders and files in the names of drafts, months and status.json stop nothing but themselves."""
    month = utc_now().strftime("%Y-%m")
    for folder in (world.root / ".status.json.tmp", world.outbound / "archive" / "x"):
        folder.mkdir(parents=True)
    (world.outbound / "archive" / f".{month}.tmp").touch()
    world.drop("one.xml", invoice("1"))
    with world.service() as service:
        world.until(lambda: world.places().get("one.xml") == f"archive/{month}")
        report(service)
        assert (world.root / "status.json").is_file()
        (world.root / "status.json").unlink()
        (world.root / "status.json").mkdir()
        report(service)
        goes(world, fjord, "fjord.xml")


@pytest.mark.parametrize("planted", quick(["folder", "link"]))
def test_a_note_that_can_not_be_written(make_world: Callable[..., World], planted: str) -> None:
    """Where a folder, or a link, is called as a document's note in sending/, the others get theirs, and all go on."""
    clock = Clock()
    world = make_world(outbound=RULES, inbound={"poll": "5m"}, clock=clock.true)
    life = Life(world, clock)
    life.go_on(10)
    world.front.always("POST /outbox", instead(503, "", ("Retry-After", "60")))
    for number in range(4):
        world.drop(f"{number}.xml", invoice(f"{number}"))
    while len([*world.outbound.glob("sending/*.xml")]) < 4:
        life.go_on(10)
    theirs, sending = world.base / "theirs", world.outbound / "sending"
    theirs.write_bytes(b"theirs")
    for number in range(3):
        if planted == "folder":
            (sending / f"{number}.xml.why.txt" / "x").mkdir(parents=True)
        else:
            (sending / f"{number}.xml.why.txt").symlink_to(theirs)
    life.go_on(900)
    assert (sending / "3.xml.why.txt").is_file()
    assert (".xml.why.txt" in str(life.pipeline.health.warnings)) == (planted == "folder")
    assert theirs.read_bytes() == b"theirs"
    world.front.heal()
    life.go_on(3000)
    assert {place.split("/")[0] for place in world.places().values()} == {"archive"}
    assert len(world.places()) == 4
    life.drop()


@pytest.mark.parametrize("kind", ["link", "folder", "pipe"])
def test_something_else_in_the_place_of_what_was_fetched(make_world: Callable[..., World], kind: str) -> None:
    """What lies where a message's temporary file was, and is none, is neither read nor placed: the message comes."""
    clock = Clock()
    world = make_world(outbound=RULES, inbound={"poll": "5m"}, clock=clock.true)
    life = Life(world, clock)
    life.go_on(10)
    world.receive(invoice("1"))
    theirs = world.base / "theirs.xml"
    theirs.write_bytes(secret())

    def full(what: str) -> None:
        if what == "place":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    tap = Tap(full, thread=threading.get_ident())
    tap.put_in()
    try:
        life.go_on(400)
    finally:
        tap.take_out()
    (draft,) = world.inbound.glob(".*.part")
    draft.unlink()
    if kind == "link":
        draft.symlink_to(theirs)
    elif kind == "folder":
        (draft / "x").mkdir(parents=True)
    else:
        os.mkfifo(draft)
    life.go_on(4000)
    life.drop()
    (document,) = world.delivered()
    assert document.read_bytes() == invoice("1")
    assert not document.is_symlink()
    assert not world.sandbox.store.inbox("acme")
    assert theirs.read_bytes() == secret()
