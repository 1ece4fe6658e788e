"""The rules that the network has published: what they say of real documents, and of each that was broken by hand."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from support.corpus import CORPUS, needs_corpus
from support.documents import credit_note, invoice
from support.rules import published_rules

from filedrop.validation import ByRules, Kind

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from filedrop.validation import Verdict

PATIENCE = 600.0  # seconds: the machine may be busy
EXAMPLES = (
    "OpenPEPPOL+peppol-bis-invoice-3/rules/",
    "OpenPEPPOL+poacc-upgrade-3/rules/",
    "anskaffelser+ehf-postaward-g3/src/self-billing-3.0/rules/example/",
)
EXCEPTIONS = {  # examples of the network's own repositories that break its rules of May 2026, and why
    # Its seller has no RegistrationName, which the European norm requires.
    "OpenPEPPOL+peppol-bis-invoice-3/rules/national-examples/GR/GR-base-example-TaxRepresentative.xml": {"BR-06"},
}


def without(element: str, nth: int = 1) -> tuple[str, str, int]:
    """An edit that takes out an element of this name."""
    return rf"<{element}[ >](?:(?!</{element}>).)*</{element}>", "", nth


def text(element: str, value: str, nth: int = 1) -> tuple[str, str, int]:
    """An edit that gives an element of this name another text."""
    return rf"(<{element}(?: [^>]*)?>)[^<]*", rf"\g<1>{value}", nth


BROKEN = [  # the rule, and the edit that breaks it in an invoice that is valid
    ("BR-02", without("cbc:ID")),
    ("BR-03", without("cbc:IssueDate")),
    ("BR-04", without("cbc:InvoiceTypeCode")),
    ("BR-05", without("cbc:DocumentCurrencyCode")),
    ("BR-06", without("cbc:RegistrationName")),
    ("BR-07", without("cbc:RegistrationName", 2)),
    ("BR-08", without("cac:PostalAddress")),
    ("BR-09", without("cac:Country")),
    ("BR-10", without("cac:PostalAddress", 2)),
    ("BR-11", without("cac:Country", 2)),
    ("BR-12", without("cbc:LineExtensionAmount")),
    ("BR-13", without("cbc:TaxExclusiveAmount")),
    ("BR-14", without("cbc:TaxInclusiveAmount")),
    ("BR-15", without("cbc:PayableAmount")),
    ("BR-16", without("cac:InvoiceLine")),
    ("BR-21", without("cbc:ID", 7)),
    ("BR-22", without("cbc:InvoicedQuantity")),
    ("BR-23", (' unitCode="C62"', "", 1)),
    ("BR-24", without("cbc:LineExtensionAmount", 2)),
    ("BR-25", (r"<cbc:Name>Blueberry jam</cbc:Name>", "", 1)),
    ("BR-26", without("cac:Price")),
    ("BR-27", text("cbc:PriceAmount", "-250.00")),
    ("BR-45", without("cbc:TaxableAmount")),
    ("BR-46", without("cbc:TaxAmount", 2)),
    ("BR-61", without("cac:PayeeFinancialAccount")),
    ("BR-CO-04", without("cac:ClassifiedTaxCategory")),
    ("BR-CO-10", text("cbc:LineExtensionAmount", "999.00")),
    ("BR-CO-13", text("cbc:TaxExclusiveAmount", "999.00")),
    ("BR-CO-14", text("cbc:TaxAmount", "251.00")),
    ("BR-CO-15", text("cbc:TaxInclusiveAmount", "1251.00")),
    ("BR-CO-16", text("cbc:PayableAmount", "1.00")),
    ("BR-CO-17", text("cbc:TaxAmount", "251.00", 2)),
    ("BR-CO-18", without("cac:TaxTotal")),
    ("BR-CL-01", text("cbc:InvoiceTypeCode", "999")),
    ("BR-CL-04", text("cbc:DocumentCurrencyCode", "NKO")),
    ("BR-CL-14", text("cbc:IdentificationCode", "XX")),
    ("BR-CL-16", text("cbc:PaymentMeansCode", "999")),
    ("BR-CL-17", (r"(<cac:TaxCategory>\s*<cbc:ID>)S", r"\g<1>Q", 1)),
    ("BR-CL-18", (r"(<cac:ClassifiedTaxCategory>\s*<cbc:ID>)S", r"\g<1>Q", 1)),
    ("BR-CL-23", ('unitCode="C62"', 'unitCode="PIECE"', 1)),
    ("BR-CL-25", ('schemeID="0192"', 'schemeID="9999"', 1)),
    ("BR-DEC-18", text("cbc:PayableAmount", "1250.001")),
    ("BR-S-08", text("cbc:TaxableAmount", "900.00")),
    ("BR-S-09", text("cbc:TaxAmount", "240.00", 2)),
    ("PEPPOL-EN16931-F001", text("cbc:IssueDate", "20.11.2026")),
    ("PEPPOL-EN16931-R001", without("cbc:ProfileID")),
    ("PEPPOL-EN16931-R002", (r"(<cbc:Note>.*?</cbc:Note>)", r"\1\1", 1)),
    ("PEPPOL-EN16931-R003", without("cbc:BuyerReference")),
    ("PEPPOL-EN16931-R007", text("cbc:ProfileID", "urn:fdc:peppol.eu:poacc:bis:ordering:3")),
    ("PEPPOL-EN16931-R010", without("cbc:EndpointID", 2)),
    ("PEPPOL-EN16931-R020", without("cbc:EndpointID")),
    ("PEPPOL-EN16931-R120", text("cbc:LineExtensionAmount", "999.00", 2)),
    ("PEPPOL-COMMON-R041", text("cbc:EndpointID", "987654321")),
]


def edited(edit: tuple[str, str, int]) -> bytes:
    """The invoice after this edit of the n-th place."""
    pattern, new, nth = edit
    content = invoice().decode()
    places = list(re.finditer(pattern, content, re.DOTALL))
    place = places[nth - 1]
    return (content[: place.start()] + place.expand(new) + content[place.end() :]).encode()


@pytest.fixture(scope="module")
def validator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ByRules]:
    rules = published_rules(tmp_path_factory.mktemp("rules") / "2026.5")
    validator = ByRules(rules, seconds=PATIENCE, memory=10**9)
    yield validator
    validator.close()


def judged(validator: ByRules, content: bytes) -> Verdict:
    root = "CreditNote" if b"<CreditNote" in content else "Invoice"
    customization = re.search(b"<cbc:CustomizationID>(.*?)<", content)
    assert customization
    return validator.judge(Kind(root, customization[1].decode()), [content])


@needs_corpus
@pytest.mark.parametrize("content", [invoice(), credit_note()], ids=["invoice", "credit note"])
def test_what_the_edits_begin_with(validator: ByRules, content: bytes) -> None:
    """The documents of the tests' own writing are valid: what is refused below, the edit has broken."""
    assert not [finding for finding in judged(validator, content).findings if finding.is_fatal]


@needs_corpus
@pytest.mark.parametrize(("rule", "edit"), BROKEN, ids=[rule for rule, _ in BROKEN])
def test_broken_by_hand(validator: ByRules, rule: str, edit: tuple[str, str, int]) -> None:
    """Each is refused by the rule that was meant, which says where, in a line that is in the document."""
    content = edited(edit)
    verdict = judged(validator, content)
    assert not verdict.is_valid
    found = {finding.rule: finding for finding in verdict.findings if finding.is_fatal}
    assert rule in found, set(found)
    assert found[rule].message
    assert found[rule].xpath.startswith("/Invoice")
    assert 1 < (found[rule].line or 0) <= content.count(b"\n") + 1


@needs_corpus
def test_a_value_that_is_none(validator: ByRules) -> None:
    """A text where an amount belongs, at which the rules break off, is the document's fault, and its line is told."""
    content = edited(text("cbc:TaxInclusiveAmount", "1.656,25"))
    verdict = judged(validator, content)
    assert not verdict.is_valid
    (finding,) = (finding for finding in verdict.findings if finding.is_fatal)
    assert '"1.656,25"' in finding.message
    assert finding.xpath == "/Invoice/LegalMonetaryTotal/TaxInclusiveAmount"
    assert finding.line == content[: content.index(b"1.656,25")].count(b"\n") + 1


def test_enough_are_broken() -> None:
    """Forty rules at least."""
    assert len({rule for rule, _ in BROKEN}) >= 40


@pytest.mark.slow
@needs_corpus
@pytest.mark.timeout(1200)
def test_the_corpus(tmp_path: Path) -> None:
    """Of all real documents something is said, and the network's own examples are valid by its own rules."""
    rules = published_rules(tmp_path / "rules")
    files = sorted(
        str(file.relative_to(CORPUS)) for file in CORPUS.rglob("*") if file.is_file() and file.suffix == ".xml"
    )
    command = [sys.executable, "-m", "filedrop", "check", "--rules", str(rules), "--json", *files]
    done = subprocess.run(command, cwd=CORPUS, capture_output=True, text=True, check=False)
    told = {one["file"]: one for one in json.loads(done.stdout)["documents"]}
    assert list(told) == files
    assert [one["file"] for one in told.values() if one["code"] == "not-xml" and "malformed" not in one["file"]] == []
    own = {
        file.removeprefix("documents/"): one
        for file, one in told.items()
        if file.startswith(tuple(f"documents/{place}" for place in EXAMPLES)) and one["rules"]
    }
    assert len(own) > 80
    refused = {
        file: {one["rule"] for one in told["findings"] if one["is_fatal"]}
        for file, told in own.items()
        if told["code"] == "invalid"
    }
    assert refused == EXCEPTIONS
