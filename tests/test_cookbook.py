"""The cookbook in docs/mapping.md: each of its situations, as it stands there, with the documents that it is for.

The configuration of a situation is served by a daemon. What is dropped is accepted by the access point with the ids
that the page promises, each from the source that it should come from; and so is what the situation must not touch.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support.documents import (
    BILLING_PROCESS,
    BUYER,
    CREDIT_NOTE_ID,
    INVOICE_ID,
    ORDER_ID,
    ORDERING_PROCESS,
    SELLER,
    credit_note,
    invoice,
    order,
)
from support.kitchen import FJORD, OTHER, Drop, Kitchen, Situation, billed, changed
from support.manual import cookbook

if TYPE_CHECKING:
    from pathlib import Path

SELF_BILLING = "urn:cen.eu:en16931:2017#compliant#urn:fdc:peppol.eu:2017:poacc:selfbilling:3.0"
SELF_BILLING_PROCESS = "urn:fdc:peppol.eu:2017:poacc:selfbilling:01:1.0"
SELF_BILLED_ID = f"urn:oasis:names:specification:ubl:schema:xsd:Invoice-2::Invoice##{SELF_BILLING}::2.1"


def credited(**ids: tuple[str | None, str | None]) -> dict[str, tuple[str | None, str | None]]:
    """The same of a credit note."""
    return billed(document_id=(CREDIT_NOTE_ID, "document"), **ids)


def ordered(**ids: tuple[str | None, str | None]) -> dict[str, tuple[str | None, str | None]]:
    """The same of an order from SELLER to BUYER."""
    return billed(document_id=(ORDER_ID, "document"), **({"process_id": (ORDERING_PROCESS, "document")} | ids))


def self_billed(**ids: tuple[str | None, str | None]) -> dict[str, tuple[str | None, str | None]]:
    """The same of a self-billed invoice."""
    said = {"document_id": (SELF_BILLED_ID, "document"), "process_id": (SELF_BILLING_PROCESS, "document")}
    return billed(**(said | ids))


def self_billed_invoice(number: str, sender: str = SELLER, receiver: str = BUYER) -> bytes:
    """A self-billed invoice: the customer sends it, and the supplier receives it."""
    return invoice(number, receiver, sender, customization=SELF_BILLING, process=SELF_BILLING_PROCESS)


def for_order(number: str, order_number: str, receiver: str | None) -> bytes:
    """An invoice that refers to an order."""
    reference = f"<cac:OrderReference><cbc:ID>{order_number}</cbc:ID></cac:OrderReference>"
    return changed(invoice(number, receiver=receiver), "</cbc:BuyerReference>", f"</cbc:BuyerReference>{reference}")


def with_organisation_number(number: str, receiver: str | None, country: str = "NO") -> bytes:
    """An invoice to a customer of a country, with 810 418 052 as what it is registered under."""
    registered = "Kjøper Kommune</cbc:RegistrationName>"
    document = changed(
        invoice(number, receiver=receiver), registered, f"{registered}<cbc:CompanyID>810 418 052</cbc:CompanyID>"
    )
    supplier, customer, rest = document.partition(b"<cac:AccountingCustomerParty>")
    return supplier + customer + changed(rest, ">NO</cbc:IdentificationCode>", f">{country}</cbc:IdentificationCode>")


def old(number: str, sender: str, receiver: str, *, prefixed: bool) -> bytes:
    """An invoice that has the code 9908 before the number, not as a schemeID."""
    document = invoice(number, sender, receiver)
    return document.replace(b' schemeID="9908">', b">9908:") if prefixed else document


SITUATIONS = {
    "The export doesn't say who sends": Situation(
        meant=(
            Drop("1.xml", invoice("1", sender=None), billed(sender=(SELLER, "company")), folder="export/invoices"),
            Drop("2.xml", order("2", None, BUYER), ordered(sender=(SELLER, "company")), folder="export/orders"),
            Drop("3.xml", invoice("3", sender=None), billed(sender=(FJORD, "company")), folder="export/north"),
        ),
        others=(
            Drop("4.xml", invoice("4"), billed(), folder="export/invoices"),
            Drop("5.xml", invoice("5"), billed(), "foreign-sender", folder="export/north"),
        ),
    ),
    "The file name has the receiver": Situation(
        meant=(
            Drop("1001_810418052.xml", invoice("1", receiver=None), billed(receiver=(BUYER, "mapping 1"))),
            Drop("1002_810418052.XML", invoice("2", receiver=OTHER), billed(receiver=(BUYER, "mapping 1"))),
        ),
        others=(
            Drop("1001.xml", invoice("3", receiver=OTHER), billed(receiver=(OTHER, "document"))),
            Drop("1001_8104180521.xml", invoice("4", receiver=OTHER), billed(receiver=(OTHER, "document"))),
        ),
    ),
    "The file name has a customer number": Situation(
        meant=(
            Drop("INV-1042-0007.xml", invoice("1", receiver=None), billed(receiver=(BUYER, "mapping 1"))),
            Drop("inv-1043-8.xml", invoice("2"), billed(receiver=(OTHER, "mapping 1"))),
        ),
        others=(
            Drop("INV-1044-0007.xml", invoice("3"), billed()),
            Drop("INV-1044-8.xml", invoice("4", receiver=None), billed(receiver=(None, None)), "no-receiver"),
            Drop("ORD-1042-0007.xml", order("5", SELLER, OTHER), ordered(receiver=(OTHER, "document"))),
        ),
    ),
    "The table has more columns": Situation(
        meant=(
            Drop("INV-1042-0007.xml", invoice("1", receiver=None), billed(receiver=(BUYER, "mapping 1"))),
            Drop("INV-1043-0001.xml", invoice("2"), billed(receiver=(OTHER, "mapping 1"))),
        ),
        others=(
            Drop("INV-1044-0007.xml", invoice("3"), billed()),
            Drop("INV-1044-8.xml", invoice("4", receiver=None), billed(receiver=(None, None)), "no-receiver"),
            Drop("ORD-1042-0007.xml", order("5", SELLER, OTHER), ordered(receiver=(OTHER, "document"))),
        ),
    ),
    "The document has an order number": Situation(
        meant=(
            Drop("1.xml", for_order("1", "PO-7788", None), billed(receiver=(BUYER, "mapping 1"))),
            Drop("2.xml", for_order("2", " PO-7789 ", BUYER), billed(receiver=(OTHER, "mapping 1"))),
        ),
        others=(
            Drop("3.xml", for_order("3", "PO-7790", OTHER), billed(receiver=(OTHER, "document"))),
            Drop("4.xml", invoice("4", receiver=OTHER), billed(receiver=(OTHER, "document"))),
            Drop("5.xml", for_order("5", "PO-7790", None), billed(receiver=(None, None)), "no-receiver"),
        ),
    ),
    "A process by document type": Situation(
        meant=(
            Drop(
                "1.xml",
                changed(order("1", SELLER, BUYER), f"<cbc:ProfileID>{ORDERING_PROCESS}</cbc:ProfileID>", ""),
                ordered(process_id=("urn:fdc:peppol.eu:poacc:bis:ordering:3", "mapping 1")),
            ),
            Drop("2.xml", invoice("2", process="urn:old"), billed(process_id=(BILLING_PROCESS, "mapping 2"))),
            Drop("3.xml", credit_note("3"), credited(process_id=(BILLING_PROCESS, "mapping 2"))),
        ),
        others=(Drop("4.xml", self_billed_invoice("4"), self_billed()),),
    ),
    "Several companies in one export folder": Situation(
        meant=(
            Drop("ACME-1.xml", invoice("1"), billed(), folder="export"),
            Drop("2.xml", invoice("2", FJORD), billed(sender=(FJORD, "document")), folder="export"),
            Drop("FJORD-3.xml", invoice("3", sender=None), billed(sender=(FJORD, "mapping 1")), folder="export"),
        ),
        others=(
            Drop(
                "ACME-4.xml", invoice("4", sender=None), billed(sender=(None, None)), "no-sender", folder="export"
            ),
            Drop("FJORD-5.xml", invoice("5"), billed()),
            Drop("6.xml", invoice("6", FJORD), billed(sender=(FJORD, "document")), "foreign-sender"),
        ),
    ),
    "A channel by document type": Situation(
        meant=(
            Drop("1.xml", order("1", SELLER, BUYER), ordered(channel=("orders", "mapping 1"))),
            Drop("2.xml", self_billed_invoice("2"), self_billed(channel=("self-billed", "mapping 2"))),
            Drop("3.xml", invoice("3"), billed(channel=("invoices", "mapping 3"))),
        ),
        others=(Drop("4.xml", credit_note("4"), credited()),),
    ),
    "Old Norwegian ids with 9908": Situation(
        meant=(
            Drop(
                "1.xml",
                old("1", "9908:987654325", "9908:810418052", prefixed=True),
                billed(sender=(SELLER, "mapping 1"), receiver=(BUYER, "mapping 1")),
            ),
            Drop(
                "2.xml",
                old("2", "9908:987654325", "9908:810418052", prefixed=False),
                billed(sender=(SELLER, "mapping 2"), receiver=(BUYER, "mapping 2")),
            ),
            Drop("3.xml", invoice("3", "9908:987654325"), billed(sender=(SELLER, "mapping 2"))),
            Drop(
                "4.xml",
                changed(invoice("4"), 'schemeID="0192">810418052', 'schemeID="9908">9908:810418052'),
                billed(receiver=(BUYER, "mapping 1")),
            ),
        ),
        others=(
            Drop("5.xml", invoice("5", receiver=OTHER), billed(receiver=(OTHER, "document"))),
            Drop("6.xml", invoice("6", receiver=None), billed(receiver=(None, None)), "no-receiver"),
            Drop("7.xml", changed(invoice("7"), '"0192">810418052', '"NO:ORGNR">810418052'), billed()),
            Drop(
                "8.xml",
                self_billed_invoice("8", receiver="9908:810418052"),
                self_billed(receiver=("9908:810418052", "document")),
            ),
        ),
    ),
    "A Norwegian customer without EndpointID": Situation(
        meant=(Drop("1.xml", with_organisation_number("1", None), billed(receiver=(BUYER, "mapping 1"))),),
        others=(
            Drop("2.xml", with_organisation_number("2", OTHER), billed(receiver=(OTHER, "document"))),
            Drop("3.xml", with_organisation_number("3", None, "SE"), billed(receiver=(None, None)), "no-receiver"),
            Drop("4.xml", invoice("4", receiver=None), billed(receiver=(None, None)), "no-receiver"),
        ),
    ),
    "The documents have the wrong sender": Situation(
        meant=(
            Drop("1.xml", invoice("1", OTHER), billed(sender=(SELLER, "mapping 1"))),
            Drop("2.xml", order("2", None, BUYER), ordered(sender=(SELLER, "mapping 1"))),
        ),
        others=(
            Drop("3.xml", invoice("3", FJORD), billed(sender=(FJORD, "document")), folder="root/fjord/outbound"),
        ),
    ),
    "The receiver is registered under its other id": Situation(
        meant=(
            Drop("1.xml", invoice("1", receiver="0208:0123456749"),
                 billed(receiver=("9925:BE0123456749", "mapping 1"))),
        ),
        others=(Drop("2.xml", invoice("2"), billed()),),
    ),
}  # fmt: skip


def test_each_situation_is_tried() -> None:
    """No situation stands in the cookbook that isn't tried here, and none is tried that doesn't stand there."""
    assert list(SITUATIONS) == list(cookbook())


@pytest.mark.parametrize("title", SITUATIONS)
def test_situation(tmp_path: Path, title: str) -> None:
    """What a situation is for is sent as the cookbook says, and what it isn't for as if it weren't there."""
    with Kitchen(tmp_path, *cookbook()[title]) as world:
        world.try_out(SITUATIONS[title])


def test_several_companies_receive_apart(tmp_path: Path) -> None:
    """With one export folder for all, each company still receives into its own folder."""
    with Kitchen(tmp_path, *cookbook()["Several companies in one export folder"]) as world:
        (tmp_path / "export").mkdir()
        for receiver in (SELLER, FJORD):
            world.sandbox.store.receive(
                sender=BUYER, receiver=receiver, document_id=INVOICE_ID, process_id=BILLING_PROCESS, content=invoice()
            )
        world.run_once()
        received = {path.name: path.parent for path in tmp_path.rglob("inbound/*.xml.json")}
        assert {json.loads((folder / name).read_bytes())["receiver"]: folder for name, folder in received.items()} == {
            SELLER: world.root / "acme" / "inbound",
            FJORD: world.root / "fjord" / "inbound",
        }
