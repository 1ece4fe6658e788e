"""A page lies beside each received document, and what can't be shown holds up nothing."""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import TYPE_CHECKING

import pytest
from support.documents import invoice, with_attachments
from support.plug import live
from support.world import World

from filedrop.readable import rendering, tree

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.matrix import Sample

PAGES = {"readable": "html"}


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    return make_world(inbound=PAGES | {"attachments": "beside"}, more="language: nb")


def page_of(world: World) -> Path:
    """The page of the one document, which its sidecar names."""
    (document,) = world.delivered()
    named: str = json.loads(document.with_name(f"{document.name}.json").read_bytes())["page"]
    assert named == f"{document.stem}.html"
    return world.inbound / named


def test_beside_its_document(world: World) -> None:
    """The page is in the configured language, and links to the attachments that lie beside it."""
    world.receive(with_attachments(invoice(), ("a.pdf", "application/pdf", b"%PDF-1.7")))
    world.run_once()
    world.invariants()
    page = page_of(world)
    assert "Å betale" in page.read_text()
    assert f'href="./{page.stem}-1-a.pdf"' in page.read_text()
    assert json.loads(world.filedrop("status", "--json").stdout)["companies"]["acme"]["received"] == 1


def test_off(make_world: Callable[..., World]) -> None:
    """Unless the configuration says so, there is no page, and no sidecar speaks of one."""
    world = make_world()
    world.receive(invoice())
    world.run_once()
    (beside,) = world.inbound.glob("*.json")
    assert "page" not in json.loads(beside.read_bytes())
    assert not list(world.inbound.glob("*.html"))


def test_what_cannot_be_shown(world: World) -> None:
    """A document that is too large to be shown arrives and is marked as read; sidecar and log say why there is none."""
    world.receive(invoice(note="x" * tree.LARGEST))
    world.run_once()
    world.invariants()
    (document,) = world.delivered()
    beside = json.loads(document.with_name(f"{document.name}.json").read_bytes())
    assert beside["page"] is None
    (warning,) = beside["warnings"]
    assert warning.startswith(f"there is no page: {document.name} is too large to be shown")
    assert not list(world.inbound.glob("*.html"))
    (told,) = [line for line in world.log() if line["event"] == "page.not_made"]
    assert "is too large to be shown" in told["why"]


def test_a_namespace_that_is_no_address(world: World) -> None:
    """A document with a namespace that nothing can show arrives, is marked as read, and its sidecar says why."""
    world.receive(invoice().replace(b"<cbc:Note", b'<odd xmlns="a b"/><cbc:Note', 1))
    world.run_once()
    world.invariants()
    (beside,) = (json.loads(path.read_bytes()) for path in world.inbound.glob("*.json"))
    assert beside["page"] is None
    assert "it has a name that can't be used" in beside["warnings"][0]
    assert not [line for line in world.log() if line["event"] == "work.failed"]


def test_a_document_that_ends_its_process(make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch) -> None:
    """A document that takes too long, or too much memory, is read all the same, and costs one process, once."""
    monkeypatch.setattr(rendering, "SECONDS", 0.01)
    world = make_world(inbound=PAGES)
    world.receive(invoice("1"))
    world.run_once()
    world.invariants()
    (beside,) = (json.loads(path.read_bytes()) for path in world.inbound.glob("*.json"))
    assert beside["page"] is None
    assert "it took longer than 0.01 seconds" in beside["warnings"][0]
    assert [line["event"] for line in world.log()].count("page.not_made") == 1
    monkeypatch.undo()
    if sys.platform == "linux":
        monkeypatch.setattr(rendering, "MEMORY", 1_000_000)
        world.receive(invoice("2"))
        world.run_once()
        world.invariants()
        assert not list(world.inbound.glob("*.html"))
        told = [line["why"] for line in world.log() if line["event"] == "page.not_made"]
        assert len(told) == 2
        assert "it may have needed more than 1 MB of memory" in told[1]
    monkeypatch.undo()
    world.receive(invoice("3"))
    world.run_once()
    assert len(list(world.inbound.glob("*.html"))) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals")
def test_one_that_takes_long(world: World) -> None:
    """While a page takes long, messages come and are recorded as read; a stop breaks it off, and it is made later."""
    with world.service() as service:
        world.receive(invoice("1"))
        world.until(lambda: list(world.inbound.glob("*.html")))
        process = service.pages._maker.renderer._child._process
        assert process is not None
        os.kill(process.pid, signal.SIGSTOP)
        for number in ("2", "3"):
            world.receive(invoice(number))
        world.until(lambda: len(world.delivered()) == 3 and not world.sandbox.store.inbox("acme"))
        identity = world.configuration().accounts["main"].identity
        world.until(lambda: any(row.page == 1 for row in service.journal.messages.in_states(identity, "read")))
    assert len(list(world.inbound.glob("*.html"))) == 1
    with world.service() as service:
        world.until(lambda: len(list(world.inbound.glob("*.html"))) == 3)
        world.until(lambda: not service.journal.messages.owed_pages())
    assert not [line for line in world.log() if line["event"] in ("page.not_made", "work.failed")]


def test_a_name_that_is_taken(world: World) -> None:
    """Where somebody's page has the name, it stays, and the document gets a number."""
    world.run_once()
    number = world.receive(invoice())
    day = world.sandbox.store.message("acme", number).received.strftime("%Y%m%d")  # type: ignore[union-attr] # it is there
    theirs = world.inbound / f"{day}-{number}-Invoice-0192_810418052.html"
    theirs.write_bytes(b"theirs")
    world.run_once()
    assert theirs.read_bytes() == b"theirs"
    assert page_of(world).name == f"{theirs.stem}-2.html"
    assert page_of(world).exists()


def test_delivered_again(world: World) -> None:
    """`download --deliver` makes the page, too."""
    number = world.receive(invoice())
    world.run_once()
    for path in world.inbound.glob("2*"):
        path.unlink()
    assert world.filedrop("download", str(number), "--deliver", "--again").returncode == 0
    assert page_of(world).exists()


def test_wherever_the_process_ends(tmp_path: Path, sample: Sample) -> None:
    """Wherever a process is killed, the document has one page when the next one has settled everything."""
    for step in sample(range(3, 26), 3):
        (folder := tmp_path / str(step)).mkdir()
        with World(folder, outbound={"workers": "1"}, inbound=PAGES) as world:
            world.run_once()
            world.receive(invoice())
            live(world, finished=0, received=1, pull_at=step)
            world.settle()
            world.invariants()
            assert page_of(world).exists()
            assert len(list(world.inbound.glob("*.html"))) == 1
