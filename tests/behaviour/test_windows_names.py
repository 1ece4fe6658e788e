"""Names that mean something to Windows: other systems give them to files on its shares, and they are sent as any."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.documents import SELLER, invoice

from filedrop.files.directory import Directory, literal

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.world import World

pytestmark = pytest.mark.skipif(sys.platform != "win32", reason="elsewhere these are names like any other")

# The devices, with and without a suffix; what Windows cuts off at the end; what a shell takes for its own.
NAMES = ["con.xml", "NUL", "com1.xml", "aux.2026.xml", "lpt1", "invoice.xml.", "invoice.xml ", "a b.xml", "%TEMP%.xml"]


def lie(folder: Path) -> list[str]:
    return sorted(os.listdir(literal(folder)))  # noqa: PTH208 - a text for the system


def filed(outbound: Path) -> list[str]:
    archive = outbound / "archive"
    months = [name for name in lie(archive) if not name.startswith(".")]  # a folder that is being made has another name
    return sorted(name for month in months for name in lie(archive / month))


def test_names_that_mean_something(make_world: Callable[..., World]) -> None:
    """Each is claimed, sent, followed and filed under its own name, and holds up no other."""
    world = make_world(outbound={"files": '["*"]', "rescan": "200ms"})
    for number, name in enumerate(NAMES):
        with open(literal(world.outbound / name), "wb") as file:  # noqa: PTH123 - likewise
            file.write(invoice(str(number)))
    with world.service():
        world.until(lambda: len(world.sandbox.store.sent("acme")) == len(NAMES))
        ends = sorted([*NAMES, *(f"{name}.json" for name in NAMES)])
        world.until(lambda: filed(world.outbound) == ends)
    assert lie(world.outbound / "sending") == lie(world.outbound / "failed") == []
    assert not [line for line in world.log() if line["level"] == "error"]


def test_names_that_differ_in_case_alone(world: World) -> None:
    """They are one name to Windows: the later file gets a number, and each its own sidecar."""
    with world.service():
        world.drop("Invoice.xml", invoice("1"))
        world.until(world.settled)
        world.drop("INVOICE.XML", invoice("2"))
        world.until(world.settled)
    world.invariants()
    assert sorted(path.name for path in world.files()) == ["INVOICE-2.XML", "Invoice.xml"]


def test_a_path_of_more_than_260_characters(make_world: Callable[..., World]) -> None:
    """A document is claimed, sent and filed where programs that don't ask for long paths find nothing."""
    world = make_world()
    outbound = world.root / ("x" * 120) / ("y" * 120) / "outbound"
    os.makedirs(literal(outbound))  # noqa: PTH103 - likewise
    world._companies["acme"] = f"{{participants: ['{SELLER}'], outbound: ['{outbound}']}}"
    with open(literal(outbound / "invoice.xml"), "wb") as file:  # noqa: PTH123 - likewise
        file.write(invoice())
    with world.service():
        world.until(lambda: len(world.sandbox.store.sent("acme")) == 1)
        world.until(lambda: len(filed(outbound)) == 2)  # it and its sidecar


def test_a_name_with_a_stream() -> None:
    """`a.xml:b` is another content of `a.xml`, and no name of a file."""
    with pytest.raises(OSError, match="no name"):
        Directory.open(Path.cwd()) / "a.xml:b"


def test_a_literal_path() -> None:
    """What it stands for isn't looked at; one that is spelt so already stays, and a share has a spelling of its own."""
    assert literal(Path(r"C:\a\con.xml")) == r"\\?\C:\a\con.xml"
    assert literal(Path(r"\\server\share\a")) == r"\\?\UNC\server\share\a"
    assert literal(Path(r"\\?\C:\a")) == r"\\?\C:\a"
