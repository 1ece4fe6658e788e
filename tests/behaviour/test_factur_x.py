"""The XML inside the PDF of Factur-X lies beside the document, and no PDF holds up anything."""

from __future__ import annotations

import hashlib
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest
from support.documents import envelope, invoice, with_attachments
from support.environment import without_extras
from support.matrix import quick
from support.pdfs import XML, enveloped, kids_in_a_circle, pdf
from support.plug import live
from support.world import World

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.matrix import Sample

BESIDE = {"attachments": "beside"}
BOMB = 100_000_000  # bytes, which deflate makes a thousandth of
DAMAGED = "can't be searched for its XML: the PDF is damaged"


def received(world: World, document: bytes) -> dict[str, Any]:
    """The sidecar of a document that was received, placed and marked as read."""
    world.receive(document)
    world.run_once()
    world.invariants()
    assert not world.sandbox.store.inbox("acme")
    (beside,) = (json.loads(path.read_bytes()) for path in world.inbound.glob("*.xml.json"))
    return dict(beside)


@pytest.mark.parametrize("name", [None, "{sender}/{number}"], ids=["the default", "names of one's own"])
def test_beside_the_pdf(make_world: Callable[..., World], name: str | None) -> None:
    """The XML is one more attachment, as it is in the PDF, and no program imports it; the page links to it."""
    world = make_world(inbound=BESIDE | {"readable": "html"} | ({"name": f"'{name}'"} if name else {}))
    world.receive(enveloped(pdf()))
    world.run_once()
    world.invariants()
    (document,) = world.inbound.rglob("*.xml")
    beside = json.loads(document.with_name(f"{document.name}.json").read_bytes())
    as_pdf, as_xml = beside["attachments"]
    assert as_pdf["media_type"] == "application/pdf"
    assert as_xml == {
        "file": f"{document.stem}-2-factur-x.xml.txt",
        "stated_name": "factur-x.xml",
        "media_type": "application/xml",
        "size": len(XML),
        "sha256": hashlib.sha256(XML).hexdigest(),
    }
    assert document.with_name(as_xml["file"]).read_bytes() == XML
    assert document.with_name(as_pdf["file"]).read_bytes() == pdf()
    page = document.with_suffix(".html").read_text("utf-8")
    assert all(f'href="./{attached["file"]}"' in page for attached in (as_pdf, as_xml))
    assert "Bicyclette" in page  # the invoice that the XML is


def test_without_pages(make_world: Callable[..., World], tmp_path: Path) -> None:
    """The XML is there without pages, too, and a command is told of it. No sidecar speaks of a page."""
    run = [sys.executable, "-c", f"import sys; open({str(tmp_path / 'told')!r}, 'a').write(sys.stdin.read())"]
    world = make_world(inbound=BESIDE, more=f"commands: {{after_received: {json.dumps(run)}}}")
    beside = received(world, enveloped(pdf()))
    assert "page" not in beside
    assert (world.inbound / beside["attachments"][1]["file"]).read_bytes() == XML
    assert json.loads((tmp_path / "told").read_text()) == beside


@pytest.mark.parametrize("document", [with_attachments(invoice(), ("a.pdf", "application/pdf", pdf())), invoice()])
def test_other_documents(make_world: Callable[..., World], document: bytes) -> None:
    """A document that is XML itself has all that its PDF says: that is left alone, as is a document without one."""
    beside = received(make_world(inbound=BESIDE), envelope(document))
    assert all(attached["media_type"] == "application/pdf" for attached in beside["attachments"])
    assert beside["warnings"] == []


def test_left_in_the_document(make_world: Callable[..., World]) -> None:
    """Where attachments are left in the document, their XML is, too."""
    world = make_world(inbound={"readable": "html"})
    assert "attachments" not in received(world, enveloped(pdf()))
    assert not list(world.inbound.glob("*.txt"))


HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {  # made by the test that needs it: a bomb takes a second
    "no XML": (lambda: pdf("invoice.xml", b"<another/>"), "has no XML of an invoice in it"),
    "cut off": (lambda: pdf()[:600], DAMAGED),
    "only its beginning": (lambda: b"%PDF-1.7\n" + bytes(1000), DAMAGED),
    "encrypted": (lambda: pdf(password="secret"), "can only be opened with a password"),
    "a bomb": (
        lambda: pdf(content=bytes(BOMB)),
        f"{DAMAGED} (LimitReachedError",
    ),
    "large": (lambda: pdf(content=bytes(10_000_001)), "has XML in it that is larger than 10 MB"),
    "a circle": (kids_in_a_circle, ""),
}


@pytest.mark.parametrize("kind", quick(HOSTILE, 2))
def test_pdfs_without_readable_xml(make_world: Callable[..., World], kind: str) -> None:
    """Whatever is wrong with the PDF, it is there, the message is read, and sidecar and log say why XML is missing."""
    world = make_world(inbound=BESIDE | {"readable": "html"})
    make, why = HOSTILE[kind]
    content = make()
    beside = received(world, enveloped(content))
    as_pdf, as_xml = beside["attachments"]
    assert (world.inbound / as_pdf["file"]).read_bytes() == content
    assert as_xml["file"] is None
    assert as_xml["error"].startswith(f"{as_pdf['file']} {why}")
    assert [line["why"] for line in world.log() if line["event"] == "xml.not_made"] == [as_xml["error"]]
    assert not list(world.inbound.glob("*.txt"))
    assert (world.inbound / beside["page"]).exists()


def test_without_the_extra(make_world: Callable[..., World], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sidecar says what to install."""
    monkeypatch.setattr(sys, "executable", str(without_extras(tmp_path)))
    beside = received(make_world(inbound=BESIDE), enveloped(pdf("invoice.xml")))
    assert "pypdf isn't installed: filedrop manual receive" in beside["attachments"][1]["error"]


def test_wherever_the_process_ends(tmp_path: Path, sample: Sample) -> None:
    """Wherever a process is killed, the XML lies there once when the next one has settled everything, and is listed."""
    for step in sample(range(3, 32), 2):
        (folder := tmp_path / str(step)).mkdir()
        with World(folder, outbound={"workers": "1"}, inbound=BESIDE | {"readable": "html"}) as world:
            world.run_once()
            world.receive(enveloped(pdf()))
            live(world, finished=0, received=1, pull_at=step)
            world.settle()
            world.invariants()
            (beside,) = (json.loads(path.read_bytes()) for path in world.inbound.glob("*.xml.json"))
            assert [attached["stated_name"] for attached in beside["attachments"]] == [None, "factur-x.xml"]
            assert [path.name for path in world.inbound.glob("*.txt")] == [beside["attachments"][1]["file"]]
            assert (world.inbound / beside["page"]).exists()
