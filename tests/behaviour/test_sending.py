"""What is sent, what is refused, and what becomes of what was accepted."""

from __future__ import annotations

import json
import os
import threading
from typing import TYPE_CHECKING

import pytest
from support.documents import BUYER, SELLER, credit_note, envelope, invoice, order
from support.faults import answered, instead
from support.stepping import report_closed, touch, under_way

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.faults import Exchange
    from support.world import World

STRANGER = "0192:123456785"
NO_PARTICIPANTS = {"acme": "{participants: []}", "fjord": "{participants: []}"}


def test_documents_of_each_kind(world: World) -> None:
    """Invoices, credit notes, orders and envelopes go to whom they name, from whom they name, as what they are."""
    world.sandbox.store.connect({SELLER: "acme", BUYER: "buyer"})
    world.drop("invoice.xml", invoice("1"))
    world.drop("credit-note.xml", credit_note("2"))
    world.drop("order.xml", order("3", sender=SELLER, receiver=BUYER))
    world.drop("envelope.xml", envelope(invoice("4")))
    world.settle()
    world.invariants()
    kinds = {name: world.sidecar(name)["document"] for name in world.dropped}
    assert {name: (kind["type"], kind["number"]) for name, kind in kinds.items()} == {
        "invoice.xml": ("Invoice", "1"), "credit-note.xml": ("CreditNote", "2"), "order.xml": ("Order", "3"),
        "envelope.xml": ("Invoice", "4"),
    }  # fmt: skip


def test_a_company_that_only_sends(make_world: Callable[..., World]) -> None:
    """No inbound folder is made for a company without participants, and neither status nor check speaks of one."""
    world = make_world(companies={"fjord": "{participants: []}"}, outbound={"foreign_sender": "allow"})
    world.run_once()
    document = world.root / "fjord" / "outbound" / "invoice.xml"
    world.put(document, invoice("1"))
    world.run_once()
    assert [*document.parent.glob("sent/invoice.xml"), *document.parent.glob("archive/*/invoice.xml")]
    assert not (world.root / "fjord" / "inbound").exists()
    assert world.inbound.is_dir()
    for command in ("status", "check"):
        assert "fjord/inbound" not in world.filedrop(command, "--json").stdout


def test_a_company_with_a_backlog(make_world: Callable[..., World]) -> None:
    """A company's only document is sent next but one, however many documents of another company are on their way."""
    world = make_world(
        companies={"fjord": "{participants: []}"},
        outbound={"workers": "1", "foreign_sender": "allow", "rescan": "1h"},
        read_timeout="60s",
    )

    def drop_another_companys(exchange: Exchange) -> None:
        world.until(lambda: window.room < window.size // 2, what="acme's documents are on their way")
        world.put(fjord.folder.path / "only.xml", invoice("only"))
        report_closed(fjord, "only.xml")
        answered(exchange)

    def wait_for_it(exchange: Exchange) -> None:
        world.until(lambda: under_way(fjord), what="fjord's document is on its way")
        answered(exchange)

    with world.service() as service:
        acme, fjord = service.accounts[0].pipelines
        window = acme.desk.shared.window
        world.front.next("POST /outbox", drop_another_companys, wait_for_it)
        for number in range(60):
            world.drop(f"{number:02}.xml", invoice(f"{number:02}"))
        touch(acme)
        world.until(lambda: len(world.front.asked("POST /outbox")) == 61, 120, what="all are sent")
    posts = [b"<cbc:ID>only</cbc:ID>" in request.body for request in world.front.asked("POST /outbox")]
    assert posts.index(True) <= 2


def test_each_step_has_a_line_in_the_log(world: World) -> None:
    """The log tells when a document was claimed, accepted, delivered, or why it failed."""
    world.drop("invoice.xml", invoice())
    world.drop("nobody.xml", invoice("2", receiver=None))
    world.settle()
    steps = {name: [line for line in world.log() if line.get("file") == name] for name in world.dropped}
    assert [(line["event"], line.get("state")) for line in steps["invoice.xml"]] == [
        ("document.claimed", None),
        ("document.put_away", "sent"),
        ("document.put_away", "delivered"),
    ]
    assert [(line["event"], line.get("code")) for line in steps["nobody.xml"]] == [
        ("document.claimed", None),
        ("document.failed", "no-receiver"),
    ]


def test_a_documents_id_finds_its_story(world: World) -> None:
    """By its id, which the sidecar has, the log tells all that happened to each of 100 documents."""
    for number in range(100):
        world.drop(f"{number:03}.xml", invoice(str(number), receiver=None if number % 10 == 0 else BUYER))
    world.settle()
    stories: dict[str, list[str]] = {}
    for line in world.log():
        if "document" in line:
            stories.setdefault(line["document"], []).append(f"{line['event']} {line.get('state', '')}".strip())
    sidecars = [json.loads(path.read_text("utf-8")) for path in world.outbound.rglob("*.xml.json")]
    assert len(sidecars) == 100
    accepted = ["document.claimed", "document.put_away sent", "document.put_away delivered"]
    for sidecar in sidecars:
        failed = ["document.claimed", "document.failed"]
        expected, story = failed if sidecar.get("error") else accepted, stories[sidecar["id"]]
        assert [line for line in story if line in expected] == expected, story  # it may have waited meanwhile


def test_the_same_name_every_night(world: World) -> None:
    """`invoice.xml` every night: each is sent, and lies under a name of its own; nothing is overwritten."""
    for night in range(3):
        world.put(world.outbound / "invoice.xml", invoice(str(night)))
        world.run_once()
    with world.service():
        world.until(lambda: [path.parent.parent.name for path in world.files()] == ["archive"] * 3)
    archived = {path.name: path.read_bytes() for path in world.outbound.glob("archive/*/*.xml")}
    assert archived.keys() == {"invoice.xml", "invoice-2.xml", "invoice-3.xml"}
    assert set(archived.values()) == {invoice("0"), invoice("1"), invoice("2")}
    assert len(world.sandbox.store.sent("acme")) == 3


def test_one_that_takes_long_holds_up_no_other(make_world: Callable[..., World]) -> None:
    """While a company's document is being posted, the next that is dropped goes by another worker."""
    world = make_world(read_timeout="60s")
    may_end, is_posted = threading.Event(), threading.Event()

    def slow(exchange: Exchange) -> None:
        is_posted.set()
        may_end.wait()
        answered(exchange)

    with world.service():
        world.drop("first.xml", invoice("first"))
        world.until(world.settled)
        world.front.next("POST /outbox", slow)
        world.drop("slow.xml", invoice("slow"))
        world.until(is_posted.is_set)
        world.drop("quick.xml", invoice("quick"))
        try:
            world.until(lambda: world.places().get("quick.xml", "").startswith(("sent", "archive")))
        finally:
            may_end.set()
        world.until(world.settled)
    world.invariants()


def test_a_name_that_a_person_uses_is_theirs(world: World) -> None:
    """Where a person has put a file into sent/, a document of its name gets -2, and the file stays."""
    world.run_once()
    mine = world.outbound / "sent" / "invoice.xml"
    mine.write_bytes(b"a person's own")
    world.drop("invoice.xml", invoice())
    world.settle(ends=("sent", "archive"))
    assert mine.read_bytes() == b"a person's own"
    assert world.accepted() == {"invoice.xml": 1}


def failed(folder: Path) -> dict[str, str]:
    """The files of a folder's failed/ and their error codes."""
    return {
        path.name.removesuffix(".json"): json.loads(path.read_bytes())["error"]["code"]
        for path in (folder / "failed").glob("*.json")
    }


def drop_again(world: World, folder: Path, content: bytes) -> None:
    """Drop a document, and when it is sent, another one."""
    world.drop("first.xml", invoice("1"))
    world.run_once()
    world.put(folder / "again.xml", content)
    world.run_once()


def test_duplicates_are_refused_across_companies(make_world: Callable[..., World]) -> None:
    """What one company has sent is not sent again when it is dropped at another; the note names the first."""
    world = make_world(companies=NO_PARTICIPANTS)
    fjord = world.root / "fjord" / "outbound"
    fjord.mkdir(parents=True)
    drop_again(world, fjord, invoice("1"))
    assert failed(fjord) == {"again.xml": "duplicate"}
    assert "first.xml" in (fjord / "failed" / "again.xml.why.txt").read_text()
    assert world.accepted() == {"first.xml": 1}


def test_a_duplicate_is_one_whatever_its_blanks(world: World) -> None:
    """The same document with other line ends and comments is the same document."""
    again = invoice("1").replace(b"\n", b"\r\n").replace(b"<cbc:Note>", b"<!-- printed twice --><cbc:Note>")
    drop_again(world, world.outbound, again)
    assert failed(world.outbound) == {"again.xml": "duplicate"}


def test_two_of_the_same_at_once(world: World) -> None:
    """The same invoice dropped twice at the same moment goes once."""
    for name in ("one.xml", "two.xml"):
        world.put(world.outbound / name, invoice("1"))
    world.run_once()
    assert list(failed(world.outbound).values()) == ["duplicate"]
    assert len(world.sandbox.store.sent("acme")) == 1


@pytest.mark.parametrize(("rule", "codes"), [("refuse", {}), ("number", {"again.xml": "duplicate"})])
def test_a_mended_document(make_world: Callable[..., World], rule: str, codes: dict[str, str]) -> None:
    """Another content under the same number: `refuse` lets it go, `number` doesn't."""
    world = make_world(outbound={"duplicates": rule})
    drop_again(world, world.outbound, invoice("1", note="Mended."))
    assert failed(world.outbound) == codes


def test_allowed_duplicates(make_world: Callable[..., World]) -> None:
    """With `allow`, the same document goes as often as it is dropped."""
    world = make_world(outbound={"duplicates": "allow"})
    drop_again(world, world.outbound, invoice("1"))
    assert failed(world.outbound) == {}
    assert world.accepted() == {"first.xml": 2}


@pytest.mark.parametrize(("rule", "error"), [("refuse", "foreign-sender"), ("warn", None), ("allow", None)])
def test_foreign_sender(make_world: Callable[..., World], rule: str, error: str | None) -> None:
    """A document of somebody who isn't of this company: refused by default, sent with a warning, or just sent."""
    world = make_world(outbound={"foreign_sender": rule})
    world.drop("invoice.xml", invoice(sender=STRANGER))
    world.settle()
    world.invariants()
    assert world.error("invoice.xml") == error
    assert [STRANGER in warning for warning in world.sidecar("invoice.xml")["warnings"]] == [True] * (rule == "warn")


def test_without_participants_nobody_is_foreign(make_world: Callable[..., World]) -> None:
    """A company without participants sends for anyone."""
    world = make_world(companies=NO_PARTICIPANTS)
    world.drop("invoice.xml", invoice(sender=STRANGER))
    world.settle()
    assert world.accepted() == {"invoice.xml": 1}


@pytest.mark.parametrize(("missing", "code"), [({"receiver": None}, "no-receiver"), ({"process": ""}, "no-process-id")])
def test_missing_ids(world: World, missing: dict[str, str | None], code: str) -> None:
    """What the document doesn't say and nothing else settles makes it fail, with a note that says how to map it."""
    world.drop("invoice.xml", invoice(**missing))  # type: ignore[arg-type] # one of its own arguments
    world.settle()
    world.invariants()
    assert world.error("invoice.xml") == code
    assert "mapping" in (world.outbound / "failed" / "invoice.xml.why.txt").read_text()


def test_the_default_sender(world: World) -> None:
    """A document that names no sender goes as the company's first participant, and the sidecar says so."""
    world.drop("invoice.xml", invoice(sender=None))
    world.settle()
    world.invariants()
    assert world.sidecar("invoice.xml")["sender"] == SELLER
    assert world.sidecar("invoice.xml")["sources"]["sender"] not in ("document", "sbdh")


def test_accepted_but_not_delivered_yet(make_world: Callable[..., World]) -> None:
    """Until the access point reports it as delivered, a document lies in sent/; nothing is concluded before."""
    world = make_world(deliver_after=3600)
    world.drop("invoice.xml", invoice())
    with world.service():
        world.until(lambda: len(world.front.asked("GET /outbox")) >= 2, what="it was asked after twice")
    assert world.places() == {"invoice.xml": "sent"}
    world.invariants()


def test_more_are_on_their_way_than_are_asked_after_at_once(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are asked after in turn, however long the first ones take to be delivered, and all come to their end."""
    monkeypatch.setattr("filedrop.outbound.tracking.ASKED_AT_ONCE", 3)
    world = make_world(deliver_after=1.0)
    for number in range(10):
        world.drop(f"invoice-{number}.xml", invoice(f"{number}"))
    world.settle(ends=("archive",))
    world.invariants()


def test_the_month_of_delivery(world: World) -> None:
    """The archive's folder is the month in which the access point delivered it, as it wrote it."""
    world.drop("invoice.xml", invoice())
    world.settle()
    assert world.places()["invoice.xml"] == f"archive/{world.sidecar('invoice.xml')['delivered'][:7]}"
    world.invariants()


def test_a_transmission_that_died(make_world: Callable[..., World]) -> None:
    """A message that left the outbox and was never delivered fails when it is overdue; it may then be sent again."""
    world = make_world(outbound={"overdue": "300ms"})
    world.sandbox.store.connect({SELLER: "acme"})
    world.drop("invoice.xml", invoice())
    world.settle()
    assert world.error("invoice.xml") == "not-delivered"
    assert world.sidecar("invoice.xml")["msg_no"] == 1
    world.invariants()
    world.sandbox.store.connect({SELLER: "acme", BUYER: "buyer"})
    (world.outbound / "failed" / "invoice.xml").rename(world.outbound / "invoice.xml")
    world.settle(ends=("archive",))
    assert world.accepted() == {"invoice.xml": 2}


@pytest.mark.parametrize("directory", ["warn", '"off"'])
def test_cause_of_a_transmission_that_died(make_world: Callable[..., World], directory: str) -> None:
    """Where the directory doesn't know the receiver, the note names that as the cause, and not where it isn't asked."""
    world = make_world(outbound={"overdue": "300ms", "directory": directory})
    world.sandbox.store.connect({SELLER: "acme"})
    world.drop("invoice.xml", invoice())
    world.settle()
    note = (world.outbound / "failed" / "invoice.xml.why.txt").read_text("utf-8")
    assert (f"The receiver {BUYER} is not in the access point's directory" in note) is (directory == "warn")
    assert "move the file from failed/ back to outbound/" in note


def test_a_transmission_that_is_not_overdue(make_world: Callable[..., World]) -> None:
    """Leaving the outbox alone proves nothing, neither delivery nor failure."""
    world = make_world(outbound={"overdue": "1h"})
    world.sandbox.store.connect({SELLER: "acme"})
    world.drop("invoice.xml", invoice())
    with world.service():
        world.until(lambda: len(world.front.asked("GET /outbox/1")) >= 2, what="it was asked after twice")
    assert world.places() == {"invoice.xml": "sent"}


def test_a_folder_that_is_away(make_world: Callable[..., World]) -> None:
    """While one company's share is away, nothing is made in its place, and the others' documents go; then its own."""
    world = make_world(companies=NO_PARTICIPANTS)
    fjord = world.root / "fjord" / "outbound"
    world.run_once()
    world.drop("here.xml", invoice("1"))
    fjord.parent.rename(world.base / "unmounted")
    with world.service() as service:
        world.until(world.settled)
        assert not fjord.parent.exists()
        assert [pipeline.folder.company for pipeline in service.accounts[0].pipelines if pipeline.health.trouble] == [
            "fjord"
        ]
        (world.base / "unmounted" / "outbound" / "away.xml").write_bytes(invoice("2"))
        (world.base / "unmounted").rename(fjord.parent)
        world.until(lambda: any("away.xml" in names for _, _, names in os.walk(fjord / "archive")))
    assert len(world.sandbox.store.sent("acme")) == 2
    assert [line["event"] for line in world.log() if line["event"].startswith("folder.")].count("folder.back") == 1


def test_export_again_with_the_same_number(make_world: Callable[..., World]) -> None:
    """An invoice that is exported again with another due date is sent with a warning, in sidecar and status."""
    world = make_world(deliver_after=900)
    world.drop("first.xml", invoice("1"))
    world.drop("again.xml", invoice("1").replace(b"2026-12-20", b"2027-01-20"))
    world.drop("other.xml", invoice("2"))
    world.run_once()
    warnings = {name: world.sidecar(name)["warnings"] for name in world.dropped}
    assert sum(map(len, warnings.values())) == 1
    ((name, (warning,)),) = [(name, told) for name, told in warnings.items() if told]
    assert name in ("first.xml", "again.xml")  # whichever came second
    assert warning.startswith("Invoice 1 of 2026-11-20 was dropped before as ")
    assert warning in world.filedrop("status").stdout


def test_export_again_that_fails(world: World) -> None:
    """The note of a document that was warned about and has failed has the warning, once for all its attempts."""
    world.drop("first.xml", invoice("1"))
    world.run_once()
    world.drop("again.xml", invoice("1").replace(b"2026-12-20", b"2027-01-20"))
    world.front.next("POST /outbox", instead(429), instead(422, "no"))
    world.settle()
    note = (world.outbound / "failed" / "again.xml.why.txt").read_text("utf-8")
    assert note.count("Warning: Invoice 1 of 2026-11-20 was dropped before as first.xml") == 1
