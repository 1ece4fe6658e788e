"""The page on accounting systems, docs/systems.md: the rules for each system, with documents as it may export them.

The documents are of the tests' own writing, in the shape that the systems' public documentation describes. None comes
from a real system. How the rules are tried is in `support.kitchen`.
"""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from support.configuration import BASE
from support.documents import BILLING_PROCESS, BUYER, SELLER, credit_note, invoice
from support.kitchen import OTHER, Drop, Kitchen, Situation, billed, changed
from support.manual import PAGES, fenced, parts, systems

from filedrop.config import parse

if TYPE_CHECKING:
    from pathlib import Path

PAGE = "docs/systems.md"
PARTS = parts(PAGE, "One part for each system")
LONGEST = 25  # lines
XRECHNUNG = "urn:cen.eu:en16931:2017#compliant#urn:xeinkauf.de:kosit:xrechnung_3.0"
NLCIUS = "urn:cen.eu:en16931:2017#compliant#urn:fdc:nen.nl:nlcius:v1.0"
LEITWEG = "04011000-1234512345-06"  # the example of the Leitweg-ID's own specification
AUTHORITY = f"0204:{LEITWEG}"
CROSS_INDUSTRY = "urn:un:unece:uncefact:data:standard:CrossIndustryInvoice:100"
CII_ID = f"{CROSS_INDUSTRY}::CrossIndustryInvoice##{XRECHNUNG}::D16B"
NOT_FOUND = (None, None)


def ubl(customization: str) -> tuple[str, str]:
    """The document id of an invoice in UBL, and that it is from the document."""
    return f"urn:oasis:names:specification:ubl:schema:xsd:Invoice-2::Invoice##{customization}::2.1", "document"


def xrechnung(number: str, receiver: str | None = "EM:post@kunde.example", buyer: str = "Purchasing") -> bytes:
    """An XRechnung in UBL; both parties have mail addresses, unless the receiver is another."""
    document = invoice(number, "EM:post@acme.example", receiver, customization=XRECHNUNG)
    return changed(document, ">Purchasing</cbc:BuyerReference>", f">{buyer}</cbc:BuyerReference>")


def without_scheme(number: str, country: str = "NO") -> bytes:
    """An invoice to a customer of a country, whose EndpointID has a number and an empty schemeID."""
    document = changed(invoice(number), 'schemeID="0192">810418052', 'schemeID="">NO 810 418 052 MVA')
    return in_country(document, country)


def in_country(document: bytes, country: str) -> bytes:
    """The document with the customer in this country."""
    supplier, customer, rest = document.partition(b"<cac:AccountingCustomerParty>")
    return supplier + customer + changed(rest, ">NO</cbc:IdentificationCode>", f">{country}</cbc:IdentificationCode>")


def registered(number: str, company_id: str, receiver: str | None = None, customization: str | None = None) -> bytes:
    """An invoice that has this CompanyID in the customer's PartyLegalEntity."""
    document = invoice(number, receiver=receiver, **({"customization": customization} if customization else {}))
    name = "Kjøper Kommune</cbc:RegistrationName>"
    return changed(document, name, f"{name}{company_id}")


def cross_industry(number: str, buyer: str) -> bytes:
    """An XRechnung in CII, with no electronic addresses but those in `buyer`."""
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<rsm:CrossIndustryInvoice xmlns:rsm="{CROSS_INDUSTRY}"
    xmlns:ram="urn:un:unece:uncefact:data:standard:ReusableAggregateBusinessInformationEntity:100">
  <rsm:ExchangedDocumentContext>
    <ram:GuidelineSpecifiedDocumentContextParameter>
      <ram:ID>{XRECHNUNG}</ram:ID>
    </ram:GuidelineSpecifiedDocumentContextParameter>
  </rsm:ExchangedDocumentContext>
  <rsm:ExchangedDocument><ram:ID>{number}</ram:ID></rsm:ExchangedDocument>
  <rsm:SupplyChainTradeTransaction>
    <ram:ApplicableHeaderTradeAgreement>
      <ram:BuyerReference>{LEITWEG}</ram:BuyerReference>
      <ram:SellerTradeParty><ram:Name>Blåbær og Bær AS</ram:Name></ram:SellerTradeParty>
      <ram:BuyerTradeParty><ram:Name>Kjøper Kommune</ram:Name>{buyer}</ram:BuyerTradeParty>
    </ram:ApplicableHeaderTradeAgreement>
  </rsm:SupplyChainTradeTransaction>
</rsm:CrossIndustryInvoice>
""".encode()


VAT_NUMBER = "<ram:SpecifiedTaxRegistration><ram:ID>NO810418052MVA</ram:ID></ram:SpecifiedTaxRegistration>"
ADDRESS = (
    '<ram:URIUniversalCommunication><ram:URIID schemeID="0088">7300010000001</ram:URIID>'
    "</ram:URIUniversalCommunication>"
)
FROM_COMPANY = (SELLER, "company")
IN_CII = {"sender": FROM_COMPANY, "document_id": (CII_ID, "document"), "process_id": (BILLING_PROCESS, "code list")}
IN_XRECHNUNG = {"sender": FROM_COMPANY, "document_id": ubl(XRECHNUNG)}
IFS = b'<?xml version="1.0"?><EINVOICE><INVOICE_NO>1</INVOICE_NO></EINVOICE>'

SITUATIONS = {
    "Microsoft Dynamics 365 Business Central and NAV": Situation(
        meant=(
            Drop("103001.xml", without_scheme("1"), billed(receiver=(BUYER, "mapping 1")), folder="nav/invoices"),
        ),
        others=(
            Drop("103002.xml", invoice("2", receiver=OTHER), billed(receiver=(OTHER, "document")),
                 folder="nav/invoices"),
            Drop("103003.xml", without_scheme("3", "SE"), billed(receiver=NOT_FOUND), "no-receiver",
                 folder="nav/credit-memos"),
        ),
    ),
    "Microsoft Dynamics 365 Finance": Situation(
        meant=(Drop("1.xml", invoice("1", receiver=None), billed(receiver=(BUYER, "mapping 1"))),),
        others=(
            Drop("2.xml", invoice("2", receiver=OTHER), billed(receiver=(OTHER, "document"))),
            Drop("3.xml", changed(invoice("3", receiver=None), "Kjøper Kommune</cbc:RegistrationName>",
                                  "Somebody else</cbc:RegistrationName>"),
                 billed(receiver=NOT_FOUND), "no-receiver"),
        ),
    ),
    "Odoo": Situation(
        meant=(
            Drop("INV_2026_00001_xrechnung.xml", xrechnung("1"),
                 billed(**IN_XRECHNUNG, receiver=(AUTHORITY, "mapping 1"))),
        ),
        others=(
            Drop("INV_2026_00002_ubl_bis3.xml", invoice("2"), billed()),
            Drop("INV_2026_00003_xrechnung.xml", xrechnung("3", "EM:other@kunde.example"),
                 billed(**IN_XRECHNUNG, receiver=NOT_FOUND), "no-receiver"),
        ),
    ),
    "Monitor ERP": Situation(
        meant=(
            Drop("1_5001.xml", invoice("1", None), billed(sender=(SELLER, "mapping 1")), folder="monitor"),
        ),
        others=(
            Drop("5002.xml", invoice("3"), billed(), folder="monitor"),
            Drop("2_5003.xml", invoice("4", None), billed(sender=NOT_FOUND), "no-sender", folder="monitor"),
        ),
    ),
    "Visma DI": Situation(
        meant=(
            Drop("1.xml", registered("1", "<cbc:CompanyID>810 418 052</cbc:CompanyID>"),
                 billed(receiver=(BUYER, "mapping 1"))),
        ),
        others=(
            Drop("2.xml", registered("2", "<cbc:CompanyID>810418052</cbc:CompanyID>", OTHER),
                 billed(receiver=(OTHER, "document"))),
            Drop("3.xml", invoice("3", receiver=None), billed(receiver=NOT_FOUND), "no-receiver"),
        ),
    ),
    "JD Edwards EnterpriseOne": Situation(
        meant=(Drop("1.xml", invoice("1", receiver=None), billed(receiver=(BUYER, "mapping 1"))),),
        others=(Drop("2.xml", invoice("2", receiver=OTHER), billed(receiver=(OTHER, "document"))),),
    ),
    "Infor SyteLine": Situation(
        meant=(
            Drop("1.xml", changed(invoice("1"), '"0192">810418052', '"NO:ORG">810418052'), billed(), folder="infor"),
        ),
        others=(Drop("2.xml", invoice("2", receiver=None), billed(receiver=NOT_FOUND), "no-receiver", "infor"),),
    ),
    "IFS Cloud": Situation(
        meant=(Drop("1.xml", invoice("1"), billed(), folder="ifs/converted"),),
        others=(
            Drop("2.xml", IFS, billed(sender=FROM_COMPANY, receiver=NOT_FOUND, document_id=NOT_FOUND,
                                      process_id=NOT_FOUND), "no-receiver", "ifs/converted"),
        ),
    ),
    "Sage X3": Situation(
        meant=(
            Drop("1.xml", in_country(changed(invoice("1", receiver=None), "NO810418052MVA", "BE0123456749"), "BE"),
                 billed(receiver=("0208:0123456749", "mapping 1"))),
        ),
        others=(
            Drop("2.xml", in_country(invoice("2", receiver=OTHER), "BE"), billed(receiver=(OTHER, "document"))),
            Drop("3.xml", invoice("3", receiver=None), billed(receiver=NOT_FOUND), "no-receiver"),
        ),
    ),
    "Sage 100 (Germany)": Situation(
        meant=(
            Drop("LW-1001.xml", xrechnung("1", buyer=LEITWEG),
                 billed(**IN_XRECHNUNG, receiver=(AUTHORITY, "mapping 1"))),
            Drop("LW-1002.xml", cross_industry("2", ""), billed(**IN_CII, receiver=(AUTHORITY, "mapping 1"))),
        ),
        others=(
            Drop("1003.xml", xrechnung("3", OTHER), billed(**IN_XRECHNUNG, receiver=(OTHER, "document"))),
            Drop("LW-1004.xml", invoice("4"), billed()),
        ),
    ),
    "AFAS Profit": Situation(
        meant=(
            Drop("1.xml", registered("1", '<cbc:CompanyID schemeID="0106">12345678</cbc:CompanyID>', None, NLCIUS),
                 billed(document_id=ubl(NLCIUS), receiver=("0106:12345678", "mapping 1"))),
            Drop("4.xml", registered("4", '<cbc:CompanyID schemeID="0106">12345678</cbc:CompanyID>'),
                 billed(receiver=("0106:12345678", "mapping 1"))),
        ),
        others=(
            Drop("2.xml", registered("2", '<cbc:CompanyID schemeID="0106">12345678</cbc:CompanyID>', OTHER),
                 billed(receiver=(OTHER, "document"))),
            Drop("3.xml", registered("3", '<cbc:CompanyID schemeID="0190">00000001234567890000</cbc:CompanyID>'),
                 billed(receiver=NOT_FOUND), "no-receiver"),
        ),
    ),
    "ERPNext": Situation(
        meant=(
            Drop("ACC-SINV-2026-00001.xml", cross_industry("1", VAT_NUMBER),
                 billed(**IN_CII, receiver=(BUYER, "mapping 1"))),
        ),
        others=(
            Drop("ACC-SINV-2026-00002.xml", cross_industry("2", ADDRESS + VAT_NUMBER),
                 billed(**IN_CII, receiver=(OTHER, "document"))),
            Drop("ACC-SINV-2026-00003.xml", cross_industry("3", ""), billed(**IN_CII, receiver=NOT_FOUND),
                 "no-receiver"),
        ),
    ),
    "SAP Business One": Situation(
        meant=(
            Drop("C20000_1001.xml", xrechnung("1"), billed(**IN_XRECHNUNG, receiver=(BUYER, "mapping 1"))),
        ),
        others=(
            Drop("C20001_1002.xml", xrechnung("2", OTHER), billed(**IN_XRECHNUNG, receiver=(OTHER, "document"))),
            Drop("1003.xml", xrechnung("3"), billed(**IN_XRECHNUNG, receiver=NOT_FOUND), "no-receiver"),
        ),
    ),
}  # fmt: skip


def test_each_system_is_tried() -> None:
    """Each system of the page is tried here, and no other."""
    assert list(SITUATIONS) == list(systems())


@pytest.mark.parametrize("system", SITUATIONS)
def test_rules(tmp_path: Path, system: str) -> None:
    """The rules for a system give its documents the right ids, and leave other documents alone.

    The table says whether such documents contradict the ids that they are sent by, so that they need `prepare.ids`.
    """
    with Kitchen(tmp_path, *systems()[system]) as world:
        world.try_out(SITUATIONS[system])
        sidecars = world.sidecars()
    warnings = " ".join(warning for drop in SITUATIONS[system].meant for warning in sidecars[drop.name]["warnings"])
    assert ("BR-SBDH" in warnings) == (table()[list(SITUATIONS).index(system)][-1] != "no")


@pytest.mark.skipif(sys.platform == "win32", reason="the page has paths as on Linux")
@pytest.mark.parametrize("system", SITUATIONS)
def test_rules_load_as_they_are(system: str) -> None:
    """The rules can be copied below the accounts of a configuration, and below its companies if they have none."""
    written, _ = systems()[system]
    above = BASE.partition("companies:")[0] if "companies:" in written else BASE
    assert parse(above + written).companies


def test_pdf_next_to_a_document(tmp_path: Path) -> None:
    """The PDF files that AFAS writes next to its documents stay where they are, and nothing is said about them."""
    with Kitchen(tmp_path, *systems()["AFAS Profit"]) as world:
        (world.outbound / "1.pdf").write_bytes(b"%PDF-1.7")
        world.put(world.outbound / "1.xml", invoice("1"))
        world.run_once()
        assert [path.name for path in world.outbound.glob("[!.]*") if path.is_file()] == ["1.pdf"]


def test_parts_are_short() -> None:
    """A part has at most 25 lines, and names its sources."""
    for system, text in PARTS.items():
        assert len(text.strip().splitlines()) <= LONGEST, system
        assert re.search(r"^Sources?\b.*\]\(https://.*\)", text, re.MULTILINE), system


def table() -> list[list[str]]:
    """The cells of the table's rows, without its header."""
    text = PAGES[PAGE].partition("\n## The systems\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([A-Z].*) \|$", text, re.MULTILINE)[1:]
    return [row.split(" | ") for row in rows]


def test_table_of_systems() -> None:
    """The table has one row for each part, in the same order."""
    assert len(table()) == len(PARTS)
    for row, title in zip(table(), PARTS, strict=True):
        assert row[0].split(",")[0] in title


def test_first_example(tmp_path: Path) -> None:
    """What `check` shows of the first example, a mail address as the receiver, is what it shows."""
    shown = next(block for language, block in fenced(PAGES[PAGE]) if language == "text")
    config = tmp_path / "config.yaml"
    config.write_text(BASE.replace("0192:987654321", SELLER), "utf-8")
    (tmp_path / "INV_2026_00001_xrechnung.xml").write_bytes(xrechnung("1"))
    words = ["--config", str(config), "check", "--offline", str(tmp_path / "INV_2026_00001_xrechnung.xml")]
    run = subprocess.run([sys.executable, "-m", "filedrop", *words], capture_output=True, check=False)
    assert set(shown.splitlines()) <= set(run.stdout.decode().splitlines())


def test_credit_notes_of_norwegian_customers(tmp_path: Path) -> None:
    """In Business Central, the rule holds for credit notes too, which have a folder of their own."""
    system = "Microsoft Dynamics 365 Business Central and NAV"
    document = changed(credit_note("1"), 'schemeID="0192">810418052', 'schemeID="">810418052')
    with Kitchen(tmp_path, *systems()[system]) as world:
        folder = tmp_path / "nav" / "credit-memos"
        folder.mkdir(parents=True)
        world.put(folder / "104001.xml", document)
        world.run_once()
        assert [message.receiver for message in world.sandbox.store.sent("acme")] == [BUYER]
