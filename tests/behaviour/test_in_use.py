"""Windows moves no file that somebody has open: filedrop waits until they are done, and nothing fails by it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from support.documents import invoice

if TYPE_CHECKING:
    from support.world import World

pytestmark = pytest.mark.skipif(sys.platform != "win32", reason="elsewhere open files are moved")


def told(world: World, event: str) -> list[str]:
    return [line["file"] for line in world.log() if line["event"] == event]


def no_errors(world: World) -> bool:
    return not [line for line in world.log() if line["level"] == "error"]


def test_a_writer_that_keeps_its_file_open(world: World) -> None:
    """A whole file that its writer has open is left to it, told once, and sent when it is closed."""
    world.dropped["invoice.xml"] = invoice()
    with world.service(watch=True):
        with (world.outbound / "invoice.xml").open("wb") as writer:
            writer.write(invoice())
            writer.flush()
            world.until(lambda: told(world, "document.in_use"), what="the open file is told")
            world.drop("other.xml", invoice("2"))
            world.until(lambda: world.places().get("other.xml", ".") != ".", what="the other file is sent")
            assert (world.outbound / "invoice.xml").exists()
        world.until(world.settled)
    assert told(world, "document.in_use") == ["invoice.xml"]
    assert no_errors(world)
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
    assert no_errors(world)
    world.invariants()
