"""The recipes of docs/receivers.md and docs/systems.md, as they stand there, with the documents that each is for.

The configuration of a recipe is served by a daemon. What is dropped is accepted by the access point with the ids
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
    cii,
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
EN_16931 = "urn:cen.eu:en16931:2017"
XRECHNUNG = f"{EN_16931}#compliant#urn:xeinkauf.de:kosit:xrechnung_3.0"
CII_ID = f"urn:un:unece:uncefact:data:standard:CrossIndustryInvoice:100::CrossIndustryInvoice##{EN_16931}::D16B"
ADDRESS = (
    '<ram:URIUniversalCommunication><ram:URIID schemeID="0088">7300010000001</ram:URIID>'
    "</ram:URIUniversalCommunication>"
)


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


def taxed(document: bytes, vat: str, address: str = "") -> bytes:
    """The CII invoice with this VAT number of the customer, and this address."""
    registration = f'<ram:SpecifiedTaxRegistration><ram:ID schemeID="VA">{vat}</ram:ID></ram:SpecifiedTaxRegistration>'
    return changed(document, "</ram:BuyerTradeParty>", f"{address}{registration}</ram:BuyerTradeParty>")


def in_cii(**ids: tuple[str | None, str | None]) -> dict[str, tuple[str | None, str | None]]:
    """The ids of a CII invoice by EN 16931, which names no parties."""
    said = {
        "sender": (SELLER, "company"),
        "document_id": (CII_ID, "document"),
        "process_id": ("urn:fdc:peppol.eu:poacc:en16931:any", "mapping 2"),
    }
    return billed(**(said | ids))


def old(number: str, sender: str, receiver: str, *, prefixed: bool) -> bytes:
    """An invoice that has the code 9908 before the number, not as a schemeID."""
    document = invoice(number, sender, receiver)
    return document.replace(b' schemeID="9908">', b">9908:") if prefixed else document


SITUATIONS = {
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
    "The document has a number of your own": Situation(
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
    "The document has the company's number, but no address": Situation(
        meant=(Drop("1.xml", with_organisation_number("1", None), billed(receiver=(BUYER, "mapping 1"))),),
        others=(
            Drop("2.xml", with_organisation_number("2", OTHER), billed(receiver=(OTHER, "document"))),
            Drop("3.xml", with_organisation_number("3", None, "SE"), billed(receiver=(None, None)), "no-receiver"),
            Drop("4.xml", invoice("4", receiver=None), billed(receiver=(None, None)), "no-receiver"),
        ),
    ),
    "The folder decides who sends": Situation(
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
    "A process or a channel by document type": Situation(
        meant=(
            Drop(
                "1.xml",
                invoice("1", process="urn:old"),
                billed(process_id=(BILLING_PROCESS, "mapping 1"), channel=("invoices", "mapping 3")),
            ),
            Drop("2.xml", order("2", SELLER, BUYER), ordered(channel=("orders", "mapping 2"))),
            Drop("3.xml", credit_note("3"), credited(process_id=(BILLING_PROCESS, "mapping 1"))),
        ),
        others=(Drop("4.xml", self_billed_invoice("4"), self_billed(channel=("invoices", "mapping 3"))),),
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
    "CII invoices by EN 16931": Situation(
        meant=(
            Drop("1.xml", taxed(cii("1"), "DE123456788"), in_cii(receiver=("9930:DE123456788", "mapping 1"))),
            Drop(
                "2.xml",
                taxed(cii("2", XRECHNUNG), "DE123456788"),
                in_cii(
                    receiver=("9930:DE123456788", "mapping 1"),
                    document_id=(CII_ID.replace(EN_16931, XRECHNUNG), "document"),
                    process_id=(BILLING_PROCESS, "code list"),
                ),
            ),
        ),
        others=(
            Drop("3.xml", cii("3"), in_cii(receiver=(None, None)), "no-receiver"),
            Drop("4.xml", taxed(cii("4"), "ATU12345675"), in_cii(receiver=(None, None)), "no-receiver"),
            Drop("5.xml", taxed(cii("5"), ""), in_cii(receiver=(None, None)), "no-receiver"),
            Drop("6.xml", taxed(cii("6"), "DE123456788", ADDRESS), in_cii(receiver=(OTHER, "document"))),
            Drop("7.xml", invoice("7"), billed()),
        ),
    ),
}  # fmt: skip


def test_each_situation_is_tried() -> None:
    """No recipe stands in the manual that isn't tried here, and none is tried that doesn't stand there."""
    assert list(SITUATIONS) == list(cookbook())


@pytest.mark.parametrize("title", SITUATIONS)
def test_situation(tmp_path: Path, title: str) -> None:
    """What a recipe is for is sent as the manual says, and what it isn't for as if it weren't there."""
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
