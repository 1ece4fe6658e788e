"""Windows tells who has a file open, and moves none: filedrop waits until they are done, and nothing fails by it."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from support.documents import invoice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from support.world import World

pytestmark = pytest.mark.skipif(sys.platform != "win32", reason="elsewhere open files are moved")
READERS, WRITERS, MOVERS = 1, 2, 4  # who may come beside whoever opens a file: FILE_SHARE_READ, _WRITE, _DELETE
NEVER = {"settle": "1h", "rescan": "1h"}  # then nothing but what the system tells makes a file ready


@contextmanager
def opened(path: Path, *, shared: int, writing: bool) -> Iterator[int]:
    """A file that some program has open; the descriptor to write to."""
    import _winapi  # noqa: PLC0415 - Windows alone has it
    import msvcrt  # noqa: PLC0415 - likewise

    wanted, how = (_winapi.GENERIC_WRITE, 2) if writing else (_winapi.GENERIC_READ, _winapi.OPEN_EXISTING)
    handle = _winapi.CreateFile(str(path), wanted, shared, 0, how, 0, 0)
    descriptor = msvcrt.open_osfhandle(handle, os.O_BINARY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def told(world: World, event: str) -> list[str]:
    return [line["file"] for line in world.log() if line["event"] == event]


def errors(world: World) -> list[dict[str, Any]]:
    return [line for line in world.log() if line["level"] == "error"]


def test_a_writer_that_keeps_its_file_open(world: World) -> None:
    """A whole file that its writer has open is left to it, told once, and sent when it is closed."""
    world.dropped["invoice.xml"] = invoice()
    with world.service(watch=True):
        with (world.outbound / "invoice.xml").open("wb") as writer:
            writer.write(invoice())
            writer.flush()
            world.until(lambda: told(world, "document.in_use"), what="the open file is told")
            world.drop("other.xml", invoice("2"))
            world.until(lambda: world.accepted() == {"other.xml": 1})
            assert (world.outbound / "invoice.xml").exists()
        world.until(lambda: len(world.accepted()) == 2)
    assert told(world, "document.in_use").count("invoice.xml") == 1
    assert not errors(world)
    world.settle()
    world.invariants()


def test_a_reader_of_a_claimed_document(world: World) -> None:
    """A document that a person has open in sending/ is posted all the same, and put away when they close it."""
    hold = world.outbound / "HOLD"
    hold.touch()
    with world.service():
        world.drop("invoice.xml", invoice())
        world.until(lambda: world.places().get("invoice.xml") == "sending")
        with (world.outbound / "sending" / "invoice.xml").open("rb"):
            hold.unlink()
            world.until(lambda: told(world, "document.in_use"), what="the open file is told")
            assert world.accepted() == {"invoice.xml": 1}
        world.until(world.settled)
    assert told(world, "document.in_use") == ["invoice.xml"]
    assert not errors(world)
    world.invariants()


@pytest.mark.parametrize("shared", [0, READERS, READERS | WRITERS, READERS | WRITERS | MOVERS])
def test_a_file_is_sent_when_it_is_closed_and_not_before(make_world: Callable[..., World], shared: int) -> None:
    """Whatever its writer lets others do meanwhile; nobody waits for `settle`, nor for a scan."""
    world = make_world(outbound=NEVER)
    world.dropped["invoice.xml"] = invoice()
    with world.service(watch=True):
        with opened(world.outbound / "invoice.xml", shared=shared, writing=True) as writer:
            os.write(writer, invoice())
            world.until(lambda: told(world, "document.in_use"), what="the open file is told")
            assert not world.accepted()
        world.until(lambda: world.accepted() == {"invoice.xml": 1})
    assert not errors(world)
    world.invariants()


@pytest.mark.parametrize("how", ["written in place", "renamed", "moved in"])
def test_a_file_leaves_when_it_is_there(make_world: Callable[..., World], how: str) -> None:
    """The system's word for it is enough: nobody waits for `settle`, nor for a scan."""
    world = make_world(outbound=NEVER)
    with world.service(watch=True) as service:
        pipeline = service.accounts[0].pipelines[0]
        world.until(lambda: pipeline.was_scanned)
        target, draft = world.outbound / "invoice.xml", world.outbound / "invoice.tmp"
        world.dropped["invoice.xml"] = invoice()
        match how:
            case "written in place":
                target.write_bytes(invoice())
            case "renamed":
                draft.write_bytes(invoice())
                draft.rename(target)
            case _:
                world.put(target, invoice())
        world.until(lambda: world.accepted() == {"invoice.xml": 1})
    world.invariants()


def test_a_virus_scanner(make_world: Callable[..., World]) -> None:
    """What reads a dropped file and lets nobody move it meanwhile delays it; nobody needs a scan for it to go then."""
    world = make_world(outbound=NEVER)
    world.drop("invoice.xml", invoice())
    with opened(world.outbound / "invoice.xml", shared=READERS, writing=False), world.service(watch=True):
        world.until(lambda: told(world, "document.in_use"), what="the open file is told")
    with world.service(watch=True):
        world.until(lambda: world.accepted() == {"invoice.xml": 1})
    assert not errors(world)
    world.invariants()


def test_a_note_that_is_open_in_an_editor(make_world: Callable[..., World]) -> None:
    """It keeps nothing from being sent, nor from failing again under another name."""
    world = make_world(outbound={"incomplete_after": "0s"})
    world.drop("broken.xml", b"<broken")
    world.drop("invoice.xml", invoice())
    note = world.outbound / "failed" / "broken.xml.why.txt"
    with world.service():
        world.until(world.settled)
        with opened(note, shared=READERS, writing=False):
            (world.outbound / "failed" / "broken.xml").rename(world.outbound / "broken.xml")
            world.until(lambda: world.error("broken.xml") == "not-xml")
            world.drop("other.xml", invoice("2"))
            world.until(lambda: world.accepted() == {"invoice.xml": 1, "other.xml": 1})
    assert not errors(world)


def test_what_is_read_only_is_moved_replaced_and_removed(make_world: Callable[..., World]) -> None:
    """A document, its sidecar, its note and the folder's marker, whoever has protected them."""
    world = make_world(outbound={"incomplete_after": "0s"})
    world.drop("invoice.xml", invoice())
    (world.outbound / "invoice.xml").chmod(0o444)
    world.drop("broken.xml", b"<broken")
    with world.service():
        world.until(world.settled)
        for path in (world.outbound / "failed" / "broken.xml.why.txt", world.outbound / ".filedrop"):
            path.chmod(0o444)
        (world.outbound / "failed" / "broken.xml.json").chmod(0o444)
        (world.outbound / "failed" / "broken.xml").rename(world.outbound / "broken.xml")
        world.drop("other.xml", invoice("2"))
        world.until(lambda: len(told(world, "document.failed")) == 2)
        world.until(world.settled)
    assert not errors(world)
    world.invariants()
