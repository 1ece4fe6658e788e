"""Shares that can't rename without replacing, as NFS: each move is a rename to a name of its own, a link, an unlink.

A kill between any two of these loses no document, sends none twice, and leaves nothing behind.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from support.documents import invoice
from support.plug import live
from support.prepared import BY_RULE, PDF, PREPARE, WITH_PDFS, posted, stated
from support.world import World

if TYPE_CHECKING:
    from pathlib import Path

    from support.matrix import Sample

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows never replaces when it renames")

MOVES = ("rename", "link", "unlink")
TRIED = 4  # kills in a usual run


def whole_run(base: Path) -> list[str]:
    """The side effects of a run that nothing cuts off."""
    with World(base) as world:
        fill(world)
        steps = live(world, finished=2, received=1, by_links=True)
        world.invariants()
    assert steps is not None
    return steps


def fill(world: World) -> None:
    world.drop("invoice.xml", invoice("1"))
    world.drop("to-nobody.xml", invoice("2", receiver=None))
    world.receive(invoice("3"))


def test_no_plain_rename_is_left(tmp_path: Path) -> None:
    """Each document that changes its folder goes by a name of its own, and each name that others use is linked."""
    steps = whole_run(tmp_path / "whole")
    assert "place" not in steps
    assert steps.count("link") > len(("claim", "failed", "sent", "archive", "received"))


@pytest.mark.slow
@pytest.mark.parametrize("duplicates", ["refuse", "allow"])
def test_kills(tmp_path: Path, sample: Sample, duplicates: str) -> None:
    """Killed before any of these calls, the next run ends the move; a document that has two names is one document."""
    steps = whole_run(tmp_path / "whole")
    moves = [number for number, step in enumerate(steps, 1) if step in MOVES]
    for number in sample(moves, TRIED):
        with World(tmp_path / f"{number}", outbound={"duplicates": duplicates}) as world:
            fill(world)
            if live(world, finished=2, received=1, pull_at=number, by_links=True) is None:
                live(world, finished=2, received=1, by_links=True)
            world.invariants()
            assert world.accepted() == {"invoice.xml": 1}, steps[number - 1]


@pytest.mark.slow
@pytest.mark.parametrize("pdf", [None, PDF], ids=["ids", "ids and PDF"])
def test_prepared_documents(tmp_path: Path, sample: Sample, pdf: bytes | None) -> None:
    """The same with what is posted in a document's place, and its PDF: they follow the document."""

    def make(base: Path) -> World:
        return World(base, outbound=PREPARE if pdf is None else WITH_PDFS, more=BY_RULE, posted=posted)

    with make(tmp_path / "whole") as world:
        world.drop("invoice.xml", stated("1"), pdf=pdf)
        steps = live(world, finished=1, received=0, by_links=True) or []
        world.invariants()
    for number in sample([number for number, step in enumerate(steps, 1) if step in MOVES], TRIED):
        with make(tmp_path / f"{number}") as world:
            world.drop("invoice.xml", stated("1"), pdf=pdf)
            if live(world, finished=1, received=0, pull_at=number, by_links=True) is None:
                live(world, finished=1, received=0, by_links=True)
            world.invariants()
            assert world.accepted() == {"invoice.xml": 1}, steps[number - 1]


@pytest.mark.parametrize("step", MOVES)
def test_the_same_name_again(tmp_path: Path, step: str) -> None:
    """What is dropped under the name of a document whose move was cut off is another document; both are sent."""
    with World(tmp_path / "whole") as world:
        world.drop("invoice.xml", invoice("1"))
        steps = live(world, finished=1, received=0, by_links=True) or []
    claim = next(number for number in range(len(steps)) if tuple(steps[number : number + 3]) == MOVES)
    number = claim + MOVES.index(step) + 1
    with World(tmp_path / "cut") as world:
        world.drop("invoice.xml", invoice("1"))
        assert live(world, finished=1, received=0, pull_at=number, by_links=True) is None
        assert (world.outbound / "invoice.xml").exists() == (step == "rename")
        if step != "rename":
            world.put(world.outbound / "invoice.xml", invoice("2"))
        live(world, finished=1 if step == "rename" else 2, received=0, by_links=True)
        archived = [path.read_bytes() for path in (world.outbound / "archive").rglob("*.xml")]
        assert sorted(archived) == sorted([invoice("1")] if step == "rename" else [invoice("1"), invoice("2")])
        assert len(world.front.asked("POST /outbox")) == len(archived)
