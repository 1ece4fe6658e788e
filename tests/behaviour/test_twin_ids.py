"""Two ids of one company: where they count as one, and where they don't."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from support.documents import BILLING_PROCESS, BUYER, INVOICE_ID, SELLER, invoice, listed_as
from support.manual import PAGES
from support.responses import response, tie_responses

from filedrop.status.survey import account_status

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.world import World

ENTERPRISE, VAT = "0208:0123456749", "9925:BE0123456749"
GERMAN, GERMAN_VAT = "0246:DE123456788", "9930:DE123456788"


def sidecars_in(folder: Path) -> list[dict[str, Any]]:
    """What the sidecars in a folder say."""
    return [json.loads(path.read_bytes()) for path in folder.glob("*.json")]


def test_a_duplicate_for_a_twin(make_world: Callable[..., World]) -> None:
    """The same invoice isn't sent to one company twice because a rule names the other id of it."""
    rules = f'mapping: [{{file: first.xml, receiver: "{ENTERPRISE}"}}, {{file: again.xml, receiver: "{VAT}"}}]'
    world = make_world(outbound={"directory": "off"}, more=rules)
    world.sandbox.store.connect({SELLER: "acme", ENTERPRISE: "buyer", VAT: "buyer"})
    world.drop("first.xml", invoice())
    world.run_once()
    world.put(world.outbound / "again.xml", invoice().replace(b"<cbc:Note>", b"<!-- again --><cbc:Note>"))
    world.run_once()
    assert world.accepted() == {"first.xml": 1}
    assert json.loads((world.outbound / "failed" / "again.xml.json").read_bytes())["error"]["code"] == "duplicate"


@pytest.mark.parametrize("is_first", [True, False], ids=["after", "before"])
def test_a_response_of_a_twin(make_world: Callable[..., World], is_first: bool) -> None:  # noqa: FBT001
    """A response from the receiver's other id to the sender's other id is tied, also if it is there first."""
    world = make_world(
        companies={"acme": f'{{participants: ["{ENTERPRISE}", "{VAT}"]}}'}, outbound={"directory": "off"}
    )
    world.sandbox.store.connect({ENTERPRISE: "acme", VAT: "acme", GERMAN: "buyer", GERMAN_VAT: "buyer"})

    def answer() -> int:
        content = response("1001")
        return world.sandbox.store.receive(
            sender=GERMAN, receiver=VAT, document_id=listed_as(content), process_id=BILLING_PROCESS, content=content
        )

    number = None if is_first else answer()
    world.run_once()
    world.drop("invoice.xml", invoice(sender=ENTERPRISE, receiver=GERMAN_VAT))
    world.run_once()
    number = number or answer()
    tie_responses(world)
    assert [one["msg_no"] for one in world.sidecar("invoice.xml")["responses"]] == [number]


def test_a_message_for_nobody_names_the_company(make_world: Callable[..., World]) -> None:
    """A message for the other id of a company isn't delivered to it: status and sidecar say whose it is."""
    world = make_world(companies={"acme": f'{{participants: ["{ENTERPRISE}"]}}'})
    world.sandbox.store.connect({ENTERPRISE: "acme", VAT: "acme", BUYER: "acme"})
    for receiver in (VAT, BUYER):
        world.sandbox.store.receive(
            sender=GERMAN, receiver=receiver, document_id=INVOICE_ID, process_id=BILLING_PROCESS,
            content=invoice(receiver=receiver),
        )  # fmt: skip
    with world.service() as service:
        world.until(lambda: service.accounts[0].poller.summary.for_nobody == 2)
        said = account_status(service.accounts[0].report())["nobodys"]
    assert said == [
        f"message 1 from {GERMAN} for {VAT} (the other id of acme)", f"message 2 from {GERMAN} for {BUYER}"
    ]  # fmt: skip
    assert not list(world.inbound.glob("*.xml"))
    refused = world.filedrop("download", "1", "--deliver").stderr
    assert f"message 1 is for {VAT}, which is a participant of no company, but the other id of acme" in refused
    world._unassigned = str(world.root / "unassigned")
    world.run_once()
    warnings = {one["receiver"]: one["warnings"] for one in sidecars_in(world.root / "unassigned")}
    assert warnings[BUYER] == []
    assert [warning.partition(";")[0] for warning in warnings[VAT]] == [f"receiver {VAT}: this is the other id of acme"]


def test_a_foreign_sender_that_is_a_twin(make_world: Callable[..., World]) -> None:
    """A document from the other id of the company isn't the company's own: the network knows the sender by its id."""
    world = make_world(companies={"acme": f'{{participants: ["{ENTERPRISE}"]}}'})
    world.drop("invoice.xml", invoice(sender=VAT))
    world.run_once()
    assert world.error("invoice.xml") == "foreign-sender"


def test_a_twin_that_the_directory_knows(make_world: Callable[..., World]) -> None:
    """A note, a warning and `lookup` name the other id if the directory has it; the document isn't sent there."""
    receiver, other = ENTERPRISE, VAT
    world = make_world(outbound={"directory": "refuse"})
    world.sandbox.store.connect({SELLER: "acme", other: "buyer"})
    world.drop("refused.xml", invoice("1", receiver=receiver))
    world.run_once()
    assert world.error("refused.xml") == "receiver-unknown"
    note = (world.outbound / "failed" / "refused.xml.why.txt").read_text()
    assert f"The directory has the same company under another address: {other}." in note
    assert f"receiver: {other}" in note
    looked = world.filedrop("lookup", receiver)
    assert (looked.returncode, looked.stdout.splitlines()[1]) == (1, f"The same company is in it as {other}.")
    assert json.loads(world.filedrop("lookup", receiver, "--json").stdout)["twin"] == other
    world._keys["outbound"]["directory"] = "warn"
    world.drop("warned.xml", invoice("2", receiver=receiver))
    world.run_once()
    assert [other in warning for warning in world.sidecar("warned.xml")["warnings"]] == [True]
    assert [message.receiver for message in world.sandbox.store.sent("acme")] == [receiver]
    assert looked.stdout in PAGES["docs/receivers.md"]


def test_a_twin_that_the_directory_does_not_know(make_world: Callable[..., World]) -> None:
    """Where neither id is in the directory, none is proposed."""
    world = make_world(outbound={"directory": "refuse"})
    world.drop("invoice.xml", invoice(receiver=ENTERPRISE))
    world.run_once()
    assert VAT not in (world.outbound / "failed" / "invoice.xml.why.txt").read_text()
    assert world.filedrop("lookup", ENTERPRISE).stdout == f"{ENTERPRISE} is not in the directory\n"
