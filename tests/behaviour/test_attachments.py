"""What is embedded in a received document lies beside it, under a safe name, before the message is marked as read."""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
from io import BytesIO
from typing import TYPE_CHECKING, Any

import pytest
from support.disks import mounted
from support.documents import envelope, invoice, with_attachments

from filedrop.inbound import attachments

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.world import World

PDF = b"%PDF-1.7\n" + b"0123456789" * 10_000
BESIDE = {"attachments": "beside"}


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    return make_world(inbound=BESIDE)


def sidecar(world: World) -> dict[str, Any]:
    """The one document's sidecar."""
    (document,) = world.delivered()
    content: dict[str, Any] = json.loads(document.with_name(f"{document.name}.json").read_bytes())
    return content


def received(world: World, *embeds: tuple[str | None, str, str | bytes]) -> list[dict[str, Any]]:
    """Receive an invoice with these embedded; what its sidecar says of them. The promises hold."""
    world.receive(with_attachments(invoice(), *embeds))
    world.run_once()
    world.invariants()
    told: list[dict[str, Any]] = sidecar(world)["attachments"]
    return told


def test_beside_its_document(world: World) -> None:
    """A PDF is written beside its document, byte for byte, under the document's name and its own."""
    (told,) = received(world, ("Time sheet, November.pdf", "application/pdf", PDF))
    (document,) = world.delivered()
    assert told == {
        "file": f"{document.stem}-1-Time_sheet_November.pdf",
        "stated_name": "Time sheet, November.pdf",
        "media_type": "application/pdf",
        "size": len(PDF),
        "sha256": hashlib.sha256(PDF).hexdigest(),
    }
    assert (world.inbound / told["file"]).read_bytes() == PDF


def test_left_where_they_are(make_world: Callable[..., World]) -> None:
    """Unless the configuration says so, nothing is written beside a document, and its sidecar speaks of nothing."""
    world = make_world()
    world.receive(with_attachments(invoice(), ("a.pdf", "application/pdf", PDF)))
    world.run_once()
    assert len([path for path in world.inbound.iterdir() if path.name != ".filedrop"]) == 2
    assert "attachments" not in sidecar(world)


def test_without_any(world: World) -> None:
    """A document in which nothing is embedded has none."""
    assert received(world) == []


def test_in_an_envelope(world: World) -> None:
    """What is embedded in a document inside an envelope lies beside it, too."""
    world.receive(envelope(with_attachments(invoice(), ("a.pdf", "application/pdf", PDF))))
    world.run_once()
    world.invariants()
    assert len(sidecar(world)["attachments"]) == 1


def zipped(*names: str) -> bytes:
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in names:
            archive.writestr(name, "application/vnd.oasis.opendocument.spreadsheet" if name == "mimetype" else "x")
    return buffer.getvalue()


XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
KINDS: dict[str, tuple[str | None, str, bytes, str, str]] = {
    "a PDF": ("a.pdf", "application/pdf", PDF, "-1-a.pdf", "application/pdf"),
    "a PDF with another name": ("a.exe", "text/plain", PDF, "-1-a.pdf", "application/pdf"),
    "a program with a PDF's": ("a.pdf", "application/pdf", b"MZ\x90\0", "-1-a.bin", "application/octet-stream"),
    "a script": ("run.sh", "application/x-sh", b"#!/bin/sh\nrm -r /\n", "-1-run.txt", "text/plain"),
    "a web page": ("a.html", "text/html", b"<!DOCTYPE html><script>x</script>", "-1-a.txt", "text/plain"),
    "a picture that runs scripts": ("a.svg", "image/svg+xml", b"<svg/>", "-1-a.txt", "text/plain"),
    "XML": ("a.xml", "text/xml", b"<?xml version='1.0'?><Invoice/>", "-1-a.xml.txt", "application/xml"),
    "a table": ("a.csv", "text/csv", b"a;b\r\n1;2\r\n", "-1-a.csv", "text/csv"),
    "a table without a name": (None, "text/csv", b"a;b\r\n", "-1-attachment.csv", "text/csv"),
    "text": ("a.txt", "text/plain", "Grüße".encode(), "-1-a.txt", "text/plain"),
    "PNG": ("a", "image/png", b"\x89PNG\r\n\x1a\n...", "-1-a.png", "image/png"),
    "JPEG": ("a.jpeg", "image/jpeg", b"\xff\xd8\xff\xe0...", "-1-a.jpg", "image/jpeg"),
    "TIFF": ("a.tiff", "image/tiff", b"II*\0...", "-1-a.tif", "image/tiff"),
    "a spreadsheet": ("a.xlsx", XLSX, zipped("[Content_Types].xml", "xl/workbook.xml"), "-1-a.xlsx", XLSX),
    "a zip with a spreadsheet's name": ("a.xlsx", XLSX, zipped("virus.exe"), "-1-a.zip", "application/zip"),
    "a spreadsheet of LibreOffice": (
        "a.ods", "", zipped("mimetype", "content.xml"), "-1-a.ods", "application/vnd.oasis.opendocument.spreadsheet",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_what_its_bytes_say(kind: str) -> None:
    """Suffix and media type are those of the bytes, whatever the sender says; never one that a system executes."""
    name, stated, content, ends, media_type = KINDS[kind]
    found = attachments.filetype(content, name or "", stated)
    attachment = attachments.Attachment(1, name, found, temporary="t")
    assert attachment.named("doc.xml") == f"doc{ends}"
    assert attachment.as_json("doc.xml")["media_type"] == media_type


@pytest.mark.parametrize(
    "name",
    ["../../../etc/passwd", "C:\\Windows\\system32\\evil.pdf", ".filedrop", "a\nb.pdf", "æøå\u202e.pdf", "x" * 5000,
     "a.pdf.json", "-rf.why.txt", "CON.pdf", " "],
)  # fmt: skip
def test_a_hostile_name(world: World, name: str) -> None:
    """Whatever the sender called it, its file has a safe name in the document's folder; the sidecar keeps the other."""
    (told,) = received(world, (name, "application/pdf", PDF))
    assert re.fullmatch(r"[0-9]{8}-[0-9]+-[A-Za-z0-9._-]+-1-[A-Za-z0-9._-]+\.pdf", told["file"])
    assert len(told["file"]) < 255
    assert told["stated_name"].isprintable()
    assert len(told["stated_name"]) <= 1000
    assert {path.name for path in world.root.iterdir()} == {"acme"}


def test_a_name_with_blanks_of_another_kind(world: World) -> None:
    """A no-break space in a name cuts nothing off, in the file's name and in the sidecar."""
    world.receive(with_attachments(invoice(), ("faktura\u00a0xa012\u00a0mars.pdf", "application/pdf", b"%PDF-1.7")))
    world.run_once()
    (beside,) = (json.loads(path.read_bytes()) for path in world.inbound.glob("*.xml.json"))
    (attached,) = beside["attachments"]
    assert attached["file"].endswith("-1-faktura_xa012_mars.pdf")
    assert attached["stated_name"] == "faktura xa012 mars.pdf"


def test_what_cannot_be_decoded(world: World) -> None:
    """What is no base64 stays in the document, which arrives; the sidecar says so, and the others are written."""
    first, second, third = received(
        world, ("a.pdf", "application/pdf", "JVBE!"), ("b.pdf", "application/pdf", PDF), (None, "text/csv", "")
    )
    assert first == {"file": None, "stated_name": "a.pdf", "error": "it is not base64"}
    assert second["file"].endswith("-2-b.pdf")
    assert third == {"file": None, "stated_name": None, "error": "it is empty"}


def test_too_many(world: World) -> None:
    """Of a document with very many, so many are written as can be looked at; the sidecar says how many more it has."""
    embeds = [(f"{number}.txt", "text/plain", b"text") for number in range(attachments.MOST_FILES + 7)]
    world.receive(with_attachments(invoice(), *embeds))
    world.run_once()
    *listed, last = sidecar(world)["attachments"]
    assert len(listed) == attachments.MOST_FILES
    assert last["error"] == f"7 more are in the document; {attachments.MOST_FILES} at most are written"


def test_too_large(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is larger than may be written stays in the document."""
    monkeypatch.setattr(attachments, "LARGEST", 50_000)
    world.receive(with_attachments(invoice(), ("a.pdf", "application/pdf", PDF), ("b.txt", "text/plain", b"text")))
    world.run_once()
    first, second = sidecar(world)["attachments"]
    assert first["error"] == "it is larger than 50 KB"
    assert second["file"].endswith("-2-b.txt")
    assert len(list(world.inbound.glob("2*"))) == 3


def test_a_name_that_is_taken(world: World) -> None:
    """Where somebody's file has the name of an attachment, it stays, and document and attachments get a number."""
    world.run_once()
    number = world.receive(with_attachments(invoice(), ("a.pdf", "application/pdf", PDF)))
    day = world.sandbox.store.message("acme", number).received.strftime("%Y%m%d")  # type: ignore[union-attr] # it is there
    stem = f"{day}-{number}-Invoice-0192_810418052"
    theirs = world.inbound / f"{stem}-1-a.pdf"
    theirs.write_bytes(b"theirs")
    world.run_once()
    assert theirs.read_bytes() == b"theirs"
    assert (world.inbound / f"{stem}-2-1-a.pdf").read_bytes() == PDF
    assert [path.name for path in world.delivered()] == [f"{stem}-2.xml"]


def test_delivered_again(world: World) -> None:
    """`download --deliver` writes the attachments, too."""
    received(world, ("a.pdf", "application/pdf", PDF))
    for path in world.inbound.glob("2*"):
        path.unlink()
    (number,) = world.received
    assert world.filedrop("download", str(number), "--deliver", "--again").returncode == 0
    world.invariants()
    assert len(list(world.inbound.glob("*-1-a.pdf"))) == 1


def test_counted_as_one(world: World) -> None:
    """A document with attachments is one document in `status`."""
    received(world, ("a.pdf", "application/pdf", PDF), ("b.txt", "text/plain", b"text"))
    status = json.loads(world.filedrop("status", "--json").stdout)
    assert status["companies"]["acme"]["received"] == 1


@pytest.mark.slow
def test_no_room_for_them(make_world: Callable[..., World], tmp_path: Path) -> None:
    """Where a disk has room for the document but not for its attachments, the message waits, and comes once."""
    with mounted(tmp_path / "root" / "acme" / "inbound") as disk:
        world = make_world(inbound=BESIDE | {"min_free": "0MB"})
        world.run_once()
        disk.use_up_names()
        next(disk.path.glob("filler-*")).unlink()
        number = world.receive(with_attachments(invoice(), ("a.pdf", "application/pdf", PDF)))
        assert world.filedrop("run", "--once").returncode == 1
        assert [message.msg_no for message in world.sandbox.store.inbox("acme")] == [number]
        assert not list(world.inbound.glob(".*.tmp"))
        disk.make_room()
        world.settle()
        world.invariants()
