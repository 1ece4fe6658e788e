"""When a dropped file is taken, and what becomes of one that can't be sent."""

from __future__ import annotations

import os
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from support.documents import invoice
from support.faults import answered
from support.systems import writers_unknown

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.faults import Exchange
    from support.world import World

    from filedrop.daemon.daemon import Daemon

LONG = {"settle": "1h", "incomplete_after": "1h"}


def looked_at(world: World, service: Daemon, name: str) -> None:
    """Wait until the daemon has looked at a file and left it where it is."""
    world.until(lambda: name in service.accounts[0].pipelines[0].scanner.seen, what=f"{name} has been looked at")
    assert (world.outbound / name).exists()


def watched(world: World, service: Daemon) -> None:
    """Wait until the system tells of what happens in the folder."""
    pipeline = service.accounts[0].pipelines[0]
    world.until(lambda: pipeline.was_scanned and not pipeline.scanner.is_woken, what="the folder is watched")


def note(world: World, name: str) -> str:
    return (world.outbound / "failed" / f"{name}.why.txt").read_text(encoding="utf-8")


def test_renamed_in(make_world: Callable[..., World]) -> None:
    """A file that is moved in goes at once, however long files have to settle: the system tells that it is whole."""
    world = make_world(outbound=LONG)
    with world.service(watch=True) as service:
        watched(world, service)
        world.drop("invoice.xml", invoice())
        world.until(world.settled)
    world.invariants()


def test_a_name_that_comes_again(make_world: Callable[..., World]) -> None:
    """What is moved in under the name of a file that is just being sent goes next; no rescan needs to find it."""
    world, told = make_world(outbound={"rescan": "1h", "settle": "1h"}, read_timeout="60s"), threading.Event()

    def late(exchange: Exchange) -> None:
        told.wait()
        answered(exchange)

    world.front.next("POST /outbox", late)
    with world.service(watch=True) as service:
        watched(world, service)
        world.put(world.outbound / "invoice.xml", invoice("1"))
        world.until(lambda: world.front.asked("POST /outbox"))
        world.put(world.outbound / "invoice.xml", invoice("2"))
        world.until(lambda: not (world.outbound / "invoice.xml").exists())
        told.set()
        world.until(lambda: len(world.sandbox.store.sent("acme")) == 2)


def test_written_in_place(make_world: Callable[..., World]) -> None:
    """A file that is being written is left alone, even when it is whole; it goes as soon as its writer closes it."""
    world = make_world(outbound=LONG)
    with world.service(watch=True) as service:
        watched(world, service)
        with (world.outbound / "invoice.xml").open("wb") as file:
            file.write(invoice())
            file.flush()
            looked_at(world, service, "invoice.xml")
            world.dropped["invoice.xml"] = invoice()
        world.until(world.settled)
    world.invariants()


@writers_unknown
def test_without_events_a_file_settles(make_world: Callable[..., World]) -> None:
    """Where nothing tells that a file was closed, it is taken when it hasn't changed for `settle`, not before."""
    world = make_world(outbound={"settle": "500ms", "rescan": "100ms"})
    before = datetime.now(UTC)
    world.drop("invoice.xml", invoice())
    world.settle()
    claimed = datetime.fromisoformat(world.sidecar("invoice.xml")["history"][0]["at"])
    assert claimed - before >= timedelta(milliseconds=499)  # the sidecar's times have whole milliseconds
    world.invariants()


def test_half_a_file_is_waited_for(make_world: Callable[..., World]) -> None:
    """A file that isn't well-formed yet is taken for one that is still being written."""
    world = make_world(outbound={"incomplete_after": "1h"})
    (world.outbound / "invoice.xml").write_bytes(invoice()[:500])
    with world.service() as service:
        looked_at(world, service, "invoice.xml")
        with (world.outbound / "invoice.xml").open("ab") as file:
            file.write(invoice()[500:])
        world.dropped["invoice.xml"] = invoice()
        world.until(world.settled)
    world.invariants()


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (invoice()[:500], "Line 7, column "),
        (b"<a>\n<b></a>", "Line 2, column "),
        (b"", "The file is empty."),
        (b"PK\x03\x04 a spreadsheet", "This is not an XML file."),
    ],
    ids=["cut off", "mismatched", "empty", "not XML at all"],
)
def test_what_never_becomes_well_formed(make_world: Callable[..., World], content: bytes, why: str) -> None:
    """What has been no XML for `incomplete_after` fails; the note says the line and column, or what it is."""
    world = make_world(outbound={"incomplete_after": "100ms"})
    world.drop("invoice.xml", content)
    world.settle()
    assert world.error("invoice.xml") == "not-xml"
    assert why in note(world, "invoice.xml")
    world.invariants()


@writers_unknown
def test_written_to_after_the_claim(world: World) -> None:
    """A writer that keeps its file open and writes on after the claim: what is sent is what it wrote in the end."""
    (world.outbound / "HOLD").touch()
    first, last = invoice("1"), invoice("1", note="Corrected.")
    with (world.outbound / "invoice.xml").open("wb") as file, world.service():
        file.write(first)
        file.flush()
        world.until((world.outbound / "sending" / "invoice.xml").exists)
        file.seek(0)
        file.truncate()
        file.write(last)
        file.flush()
        world.dropped["invoice.xml"] = last
        (world.outbound / "HOLD").unlink()
        world.until(world.settled)
    world.invariants()
    assert world.accepted() == {"invoice.xml": 1}


def test_a_ready_file_says_when(make_world: Callable[..., World]) -> None:
    """With `ready_suffix`, a document waits for its ready file, and that is cleared away with the claim."""
    world = make_world(outbound={"ready_suffix": ".ready", "rescan": "100ms"})
    world.drop("invoice.xml", invoice())
    with world.service() as service:
        looked_at(world, service, "invoice.xml")
        (world.outbound / "invoice.xml.ready").touch()
        world.until(world.settled)
    assert not (world.outbound / "invoice.xml.ready").exists()
    world.invariants()


def test_an_old_ready_file_says_nothing(make_world: Callable[..., World]) -> None:
    """A ready file that is older than its document belongs to yesterday's."""
    world = make_world(outbound={"ready_suffix": ".ready", "rescan": "100ms"})
    ready = world.outbound / "invoice.xml.ready"
    ready.touch()
    os.utime(ready, (time.time() - 3600, time.time() - 3600))
    world.drop("invoice.xml", invoice())
    with world.service() as service:
        looked_at(world, service, "invoice.xml")
        os.utime(ready)
        world.until(world.settled)
    world.invariants()


def test_what_failed_is_ready_again_by_its_note(make_world: Callable[..., World]) -> None:
    """With `ready_suffix`, the note beside a failed document says which file makes it ready when it is moved back."""
    world = make_world(outbound={"ready_suffix": ".ready"})
    for name in ("invoice.xml", "invoice.xml.ready"):
        world.put(world.outbound / name, invoice(receiver=None))
    world.run_once()
    note = (world.outbound / "failed" / "invoice.xml.why.txt").read_text("utf-8")
    assert "from failed/ back to outbound/. Then create the file invoice.xml.ready there." in note


def test_too_large(make_world: Callable[..., World]) -> None:
    """What exceeds `max_size` fails, and the next one goes."""
    world = make_world(outbound={"max_size": "10KB"})
    world.drop("large.xml", invoice("1", size=20_000))
    world.drop("small.xml", invoice("2"))
    world.settle()
    assert world.error("large.xml") == "too-large"
    world.invariants()
    assert world.accepted() == {"small.xml": 1}


def test_doctype(world: World) -> None:
    """A document with a DOCTYPE is refused unread: what it would fetch or expand never happens."""
    hostile = b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
    world.drop("invoice.xml", invoice().replace(b"<Invoice", hostile + b"<Invoice", 1))
    world.settle()
    assert world.error("invoice.xml") == "doctype"
    assert "root:" not in note(world, "invoice.xml")
    world.invariants()


@pytest.mark.parametrize(
    ("encoding", "declared"), [("iso-8859-1", "ISO-8859-1"), ("utf-16", "UTF-16"), ("utf-8-sig", "UTF-8")]
)
def test_utf8_on_the_wire(either_world: World, encoding: str, declared: str) -> None:
    """Whatever its encoding, a document keeps its letters at the access point, and its bytes in the archive."""
    world = either_world
    text = invoice().decode().replace('encoding="UTF-8"', f'encoding="{declared}"')
    world.drop("invoice.xml", text.encode(encoding))
    world.settle()
    world.invariants()
    arrived = world.sandbox.store.content(world.sidecar("invoice.xml")["msg_no"])
    assert "Blåbær og Bær AS" in arrived.decode("utf-8")


@pytest.mark.slow
def test_a_hundred_megabytes(world: World) -> None:
    """A document of nearly 100 MB is sent whole."""
    content = invoice(size=99_000_000)
    world.put(world.outbound / "large.xml", content)
    with world.sandbox:
        world.front.url = world.sandbox.base_url  # a server that streams
        world.run_once()
        message = world.sandbox.store.sent("acme")[0]
    assert world.sandbox.store.document(message.uuid).stat().st_size == len(content)
    assert next(world.outbound.glob("*/**/large.xml")).stat().st_size == len(content)


@pytest.mark.skipif(sys.platform == "win32", reason="links and pipes are POSIX")
def test_what_can_never_be_a_document_is_left_alone(world: World) -> None:
    """Links, pipes, folders and the names of half-written files stay where they are, and nothing is made of them."""
    elsewhere = world.base / "elsewhere"
    elsewhere.write_bytes(invoice("1"))
    (world.outbound / "link.xml").symlink_to(elsewhere)
    os.mkfifo(world.outbound / "pipe.xml")
    (world.outbound / "folder.xml").mkdir()
    (world.outbound / "half.xml.part").write_bytes(invoice("2"))
    (world.outbound / "letter.pdf").write_bytes(b"%PDF")
    before = {path.name for path in world.outbound.iterdir()}
    world.put(world.outbound / "invoice.xml", invoice("3"))
    world.run_once()
    assert before <= {path.name for path in world.outbound.iterdir()}
    assert len(world.sandbox.store.sent("acme")) == 1
