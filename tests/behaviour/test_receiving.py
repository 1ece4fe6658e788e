"""What lies in the inbox ends in the right company's folder, once, whole, under a safe name."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from support.documents import BILLING, BILLING_PROCESS, BUYER, INVOICE_ID, SELLER, invoice
from support.faults import failed_after, instead

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.world import World

FJORD = "0192:123456785"
COMPANIES = {"fjord": f'{{participants: ["{FJORD}"]}}'}


def arrive(world: World, content: bytes = invoice(), **changes: str) -> int:
    """A message comes in from the network; its number."""
    header = {"sender": BUYER, "receiver": SELLER, "document_id": INVOICE_ID, "process_id": BILLING_PROCESS}
    return world.sandbox.store.receive(content=content, **(header | changes))


def unread(world: World) -> list[int]:
    return [message.msg_no for message in world.sandbox.store.inbox("acme")]


def delivered(folder: Path) -> dict[str, dict[str, Any]]:
    """The documents of an inbound folder, each with what its sidecar says."""
    return {path.name: json.loads(path.with_name(f"{path.name}.json").read_bytes()) for path in folder.glob("*.xml")}


def test_its_name(world: World) -> None:
    """A received document is named for its day, number, type and sender."""
    number = arrive(world)
    world.run_once()
    day = world.sandbox.store.message("acme", number).received.strftime("%Y%m%d")  # type: ignore[union-attr] # it is there
    assert list(delivered(world.inbound)) == [f"{day}-{number}-Invoice-0192_810418052.xml"]


def test_each_company_gets_its_own(make_world: Callable[..., World]) -> None:
    """Messages go to the company whose participant they name, in whatever case it is written."""
    world = make_world(companies={"fjord": '{participants: ["9908:fjord"]}'})
    world.sandbox.store.connect({SELLER: "acme", "9908:FJORD": "acme"})
    first, second = arrive(world, invoice("1")), arrive(world, invoice("2"), receiver="9908:FJORD")
    world.run_once()
    assert [beside["msg_no"] for beside in delivered(world.inbound).values()] == [first]
    assert [beside["msg_no"] for beside in delivered(world.root / "fjord" / "inbound").values()] == [second]
    assert unread(world) == []


def test_for_nobody_here(world: World) -> None:
    """With `unassigned: leave`, a message for nobody is neither fetched nor read, but counted; the others arrive."""
    world.sandbox.store.connect({SELLER: "acme", FJORD: "acme"})
    strange, own = arrive(world, receiver=FJORD), arrive(world)
    with world.service() as service:
        world.until(lambda: unread(world) == [strange])
        world.until(lambda: service.accounts[0].poller.summary.unread == 1)
        assert service.accounts[0].poller.summary.for_nobody == 1
    assert [beside["msg_no"] for beside in delivered(world.inbound).values()] == [own]
    assert world.front.asked(f"GET /messages/{strange}/") == []


def test_a_folder_for_what_is_nobodys(make_world: Callable[..., World], tmp_path: Path) -> None:
    """With a folder for them, messages for nobody arrive there like any other."""
    folder = tmp_path / "root" / "unassigned"
    world = make_world(unassigned=str(folder))
    world.sandbox.store.connect({SELLER: "acme", FJORD: "acme"})
    number = arrive(world, receiver=FJORD)
    world.run_once()
    assert [(beside["msg_no"], beside["receiver"]) for beside in delivered(folder).values()] == [(number, FJORD)]
    assert unread(world) == []


HOSTILE = {
    "a path": "../../../etc/passwd",
    "a Windows path": "..\\..\\CON:x",
    "an endless name": "0192:" + "9" * 500,
    "markup": "<script>alert('1')</script>",
    "dots": "..",
    "letters of elsewhere": "0192:ÆØÅ\u4e2d",
}


@pytest.mark.parametrize("sender", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_sender(world: World, sender: str) -> None:
    """Whatever the sender wrote, the file has a safe name in its own folder; the sidecar keeps what was written."""
    number = arrive(world, sender=sender, document_id=INVOICE_ID.replace(BILLING, sender))
    world.run_once()
    assert unread(world) == []
    ((name, beside),) = delivered(world.inbound).items()
    assert re.fullmatch(r"\d{8}-\d+-[A-Za-z0-9._-]+\.xml", name)
    assert len(name) < 200
    assert (beside["msg_no"], beside["sender"]) == (number, sender)
    assert {path.name for path in world.root.iterdir()} == {"acme"}


def test_a_sender_that_drives_a_terminal(world: World) -> None:
    """Control characters in what the sender wrote reach neither the file's name nor its sidecar."""
    arrive(world, sender="0192:\u009b31m\u202e")
    world.run_once()
    ((name, beside),) = delivered(world.inbound).items()
    assert name.isprintable()
    assert beside["sender"].isprintable()


def test_a_name_that_is_taken(world: World) -> None:
    """Where somebody's file has the name of a received document, it stays, and the document gets a number."""
    number = arrive(world)
    day = world.sandbox.store.message("acme", number).received.strftime("%Y%m%d")  # type: ignore[union-attr] # it is there
    world.inbound.mkdir(parents=True)
    theirs = world.inbound / f"{day}-{number}-Invoice-0192_810418052.xml"
    theirs.write_bytes(b"theirs")
    world.run_once()
    assert theirs.read_bytes() == b"theirs"
    assert theirs.with_name(f"{theirs.stem}-2.xml").read_bytes() == invoice()


def test_taken_at_once(world: World) -> None:
    """A document that its importer takes before it could be marked read isn't delivered a second time."""
    number = arrive(world)
    world.front.next(f"POST /inbox/{number}/read", instead(500))
    with world.service():
        world.until(lambda: delivered(world.inbound))
        for path in world.inbound.glob("*.xml*"):
            path.unlink()
        world.until(lambda: unread(world) == [])
    assert delivered(world.inbound) == {}
    assert len(world.front.asked(f"GET /messages/{number}/")) == 1


def test_read_although_it_said_otherwise(world: World) -> None:
    """A mark-read that worked and was answered with 500 isn't followed by a second delivery."""
    world.front.next("POST /inbox/", failed_after)
    world.receive(invoice())
    world.settle()
    world.invariants()


@pytest.mark.parametrize("content", [b"", b"Dear Sirs,", invoice()[:-20]], ids=["nothing", "no XML", "half a document"])
def test_what_cannot_be_taken(either_world: World, content: bytes) -> None:
    """A message that is no whole document stays unread and leaves nothing behind; the next one arrives."""
    world = either_world
    stuck, good = arrive(world, content), arrive(world)
    with world.service() as service:
        world.until(lambda: unread(world) == [stuck])
        world.until(lambda: service.accounts[0].poller.summary.stuck == {"acme": 1})
    assert [beside["msg_no"] for beside in delivered(world.inbound).values()] == [good]
    assert {path.name for path in world.inbound.iterdir() if not path.name.startswith(("2", ".filedrop"))} == set()
    assert len(world.front.asked(f"GET /messages/{stuck}/")) == 1


def test_too_large(make_world: Callable[..., World]) -> None:
    """What exceeds `inbound.max_size` is not taken; what doesn't, is."""
    world = make_world(inbound={"max_size": "10KB"})
    large, small = arrive(world, invoice("1", size=20_000)), arrive(world, invoice("2"))
    world.run_once()
    assert unread(world) == [large]
    assert [beside["msg_no"] for beside in delivered(world.inbound).values()] == [small]


def test_a_full_disk(make_world: Callable[..., World]) -> None:
    """Where less than `min_free` is left, nothing more is fetched, and it is said which disk and how little."""
    world = make_world(inbound={"min_free": "999999999MB"})
    number = arrive(world)
    with world.service() as service:
        world.until(lambda: service.accounts[0].deliveries[0].report.trouble)
        (folder,) = service.report().accounts[0].inbound
        assert folder.path == world.inbound
        assert "inbound.min_free" in folder.trouble
    assert unread(world) == [number]
    assert world.front.asked(f"GET /messages/{number}/") == []


def test_a_doctype_is_kept(world: World) -> None:
    """A received document with a DOCTYPE is delivered as it is, and what it refers to is never fetched."""
    hostile = b'<!DOCTYPE Invoice [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
    content = invoice().replace(b"<Invoice", hostile + b"<Invoice", 1).replace(b"Thank you", b"&x;")
    world.receive(content)
    world.settle()
    world.invariants()


def test_a_share_that_is_away(make_world: Callable[..., World]) -> None:
    """While one company's inbound is away, its messages stay unread and the others arrive; then its own do."""
    world = make_world(companies=COMPANIES)
    world.sandbox.store.connect({SELLER: "acme", FJORD: "acme"})
    world.run_once()
    home = world.root / "fjord"
    home.rename(world.base / "unmounted")
    away, here = arrive(world, receiver=FJORD), arrive(world)
    with world.service():
        world.until(lambda: unread(world) == [away])
        assert not home.exists()
        (world.base / "unmounted").rename(home)
        world.until(lambda: unread(world) == [])
    assert [beside["msg_no"] for beside in delivered(world.inbound).values()] == [here]
    assert [beside["msg_no"] for beside in delivered(home / "inbound").values()] == [away]
