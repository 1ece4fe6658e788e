"""Received documents that may be duplicates: marked, and never withheld."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from support.documents import (
    BILLING_PROCESS,
    BUYER,
    INVOICE_ID,
    SELLER,
    credit_note,
    envelope,
    invoice,
    listed_as,
    order,
)
from support.responses import response

from filedrop.status.survey import DaemonPart, Survey

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.world import World

    from filedrop.status.model import Item

OTHER = "0192:123456785"
FJORD = "0088:7300010000001"
NOBODY = "0192:974760673"
ENTERPRISE, VAT = "0208:0123456749", "9925:BE0123456749"


class Came(NamedTuple):
    """A message: its document, who sent it, and for whom it is."""

    content: bytes
    sender: str = BUYER
    receiver: str = SELLER
    document_id: str = ""


def blanks(content: bytes) -> bytes:
    return content.replace(b"\n", b"\r\n").replace(b"<cbc:Note>", b"<!-- printed twice --><cbc:Note>")


SAME = {
    "the same bytes": (Came(invoice("1")), Came(invoice("1"))),
    "another note": (Came(invoice("2")), Came(invoice("2", note="Reminder."))),
    "other blanks, without a number": (Came(invoice("", note="3")), Came(blanks(invoice("", note="3")))),
    "a sender in capitals": (Came(invoice("4"), "9930:de1"), Came(invoice("4", note="a"), "9930:DE1")),
    "a sender's other id": (Came(invoice("5"), ENTERPRISE), Came(invoice("5", note="b"), VAT)),
    "the company's other participant": (Came(invoice("6")), Came(invoice("6", note="c"), receiver=OTHER)),
    "a credit note": (Came(credit_note("7")), Came(credit_note("7").replace(b"<cbc:Note>", b"<cbc:Note>d"))),
    "an order": (Came(order("8")), Came(order("8"))),
    "an envelope": (Came(invoice("9")), Came(envelope(invoice("9")), document_id=INVOICE_ID)),
    "another receiver in the document": (Came(invoice("10")), Came(invoice("10", receiver=OTHER))),
}
DIFFERENT = {
    "another number": (Came(invoice("11")), Came(invoice("11-2"))),
    "a zero before the number": (Came(invoice("12")), Came(invoice("012"))),
    "another date": (Came(invoice("13")), Came(invoice("13", issue_date="2025-11-20"))),
    "another type": (Came(invoice("14")), Came(credit_note("14"))),
    "another sender": (Came(invoice("15")), Came(invoice("15"), OTHER)),
    "another company": (Came(invoice("16")), Came(invoice("16"), receiver=FJORD)),
    "no number": (Came(invoice("", note="17")), Came(invoice("", note="17 again"))),
    "no date": (Came(invoice("18", issue_date="")), Came(invoice("18", issue_date="", note="again"))),
    "a response": (Came(response("19")), Came(response("19"))),
    "for nobody": (Came(invoice("20"), receiver=NOBODY), Came(invoice("20"), receiver=NOBODY)),
}


def arrive(world: World, came: Came) -> int:
    """A message comes in from the network; its number."""
    return world.sandbox.store.receive(
        sender=came.sender, receiver=came.receiver, document_id=came.document_id or listed_as(came.content),
        process_id=BILLING_PROCESS, content=came.content,
    )  # fmt: skip


def marks(root: Path) -> dict[int, int | None]:
    """Which message each received document repeats, by the sidecars; each document lies there whole."""
    found: list[dict[str, Any]] = [json.loads(path.read_bytes()) for path in root.rglob("*.xml.json")]
    return {one["msg_no"]: one.get("possible_duplicate_of") for one in found}


def test_which_are_marked(make_world: Callable[..., World], tmp_path: Path) -> None:
    """The same document from the same sender for the same company is marked with the first message; no other is."""
    root = tmp_path / "root"
    world = make_world(
        companies={"acme": f'{{participants: ["{SELLER}", "{OTHER}"]}}', "fjord": f'{{participants: ["{FJORD}"]}}'},
        unassigned=str(root / "unassigned"),
    )
    world.sandbox.store.connect(dict.fromkeys((SELLER, OTHER, FJORD, NOBODY), "acme"))
    pairs = SAME | DIFFERENT
    first = {name: arrive(world, pair[0]) for name, pair in pairs.items()}
    world.run_once()
    assert marks(root) == dict.fromkeys(first.values())
    for path in world.inbound.glob("*.xml*"):  # taken
        path.unlink()
    second = {name: arrive(world, pair[1]) for name, pair in pairs.items()}
    third = arrive(world, SAME["the same bytes"][1])  # in one batch with the second
    both = [arrive(world, Came(invoice("21", note=note))) for note in "ab"]  # either of them may be placed first
    world.run_once()
    found = marks(root)
    assert {name: found[number] for name, number in second.items()} == {
        name: first[name] if name in SAME else None for name in pairs
    }
    assert found[third] == first["the same bytes"]
    assert [found[number] for number in both] in ([None, both[0]], [both[1], None])
    assert sum(1 for path in root.rglob("*.xml")) == len(found)


def test_where_it_is_shown(make_world: Callable[..., World]) -> None:
    """The readable page says it, in the company's language; so do status and the company's page, with both files."""
    world = make_world(
        companies={"acme": f'{{participants: ["{SELLER}"], language: nb}}'}, inbound={"readable": "html"}
    )
    first = arrive(world, Came(invoice("1", note="a")))
    world.run_once()
    second = arrive(world, Came(invoice("1", note="b")))
    world.run_once()
    pages = {path.name.split("-")[1]: path.read_text("utf-8") for path in world.inbound.glob("*.html")}
    (earlier,) = (path.name for path in world.inbound.glob(f"*-{first}-*.xml"))
    sentence = f"det samme dokumentet er mottatt før, som {earlier} (melding {first})"
    assert [sentence in pages[str(number)] for number in (first, second)] == [False, True]
    (item,) = reported(world)
    assert item["known"] == f"(message {second})"
    assert item["why"] == f"The same document was received before, as {earlier} (message {first})"
    with world.daemon():
        page = world.root / "acme" / "STATUS.html"
        world.until(lambda: page.exists() and f"{sentence[1:]}</p>" in page.read_text("utf-8"))


def test_as_long_as_they_are_there(make_world: Callable[..., World]) -> None:
    """A duplicate counts where it was placed, and no longer when it was answered or moved; both names are as of now."""
    world = make_world(inbound={"name": '"{sender}/{number}-{msg_no}"', "answers": "move"})
    paths: dict[int, Path] = {}
    for note in "abc":
        number = arrive(world, Came(invoice("1", note=note)))
        world.run_once()
        (paths[number],) = world.inbound.rglob(f"*-{number}.xml")
    first, second, third = paths
    name = paths[first].relative_to(world.inbound).as_posix()
    says = "The same document was received before, as {} (message {})".format
    assert [(item["path"], item["why"]) for item in reported(world)] == [
        (str(paths[number]), says(name, first)) for number in (third, second)
    ]
    paths[first].rename(world.inbound / "accepted" / paths[first].name)
    paths[second].rename(world.inbound / "rejected" / paths[second].name)
    (item,) = reported(world)
    assert (item["path"], item["why"]) == (str(paths[third]), says(f"accepted/{paths[first].name}", first))
    (world.inbound / "accepted" / paths[first].name).unlink()  # the journal knows how it was called
    assert [item["why"] for item in reported(world)] == [says(name, first)]
    marker = (world.inbound / ".filedrop").rename(world.inbound / "elsewhere")  # nobody knows what is there now
    assert len(reported(world)) == 2
    marker.rename(world.inbound / ".filedrop")
    paths[third].unlink()
    assert reported(world) == []


def reported(world: World) -> list[Item]:
    """The received documents that status reports as possible duplicates."""
    with world.locked() as journal:
        status = Survey(world.configuration(), journal).look(DaemonPart(), running=True, now=datetime.now(UTC))
    found = [matter for matter in status["matters"] if matter["kind"] == "repeated"]
    assert [(matter["company"], matter["number"]) for matter in found] == [
        ("acme", len(matter["items"])) for matter in found
    ]
    return [item for matter in found for item in matter["items"]]


def test_the_same_message_again(world: World) -> None:
    """`download --deliver` puts a message into its folder again: that is no duplicate."""
    number = arrive(world, Came(invoice()))
    world.run_once()
    assert world.filedrop("download", str(number), "--deliver", "--again").returncode == 0
    found = [json.loads(path.read_bytes()) for path in world.inbound.glob("*.xml.json")]
    assert [one.get("possible_duplicate_of") for one in found] == [None, None]
