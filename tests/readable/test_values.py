"""How a page writes what a document states: dates by format, amounts by currency, codes by the kind of document."""

from __future__ import annotations

import io

import pytest
from readable.test_pages import shown
from readable.test_ubl import having, said
from support.documents import credit_note, invoice
from support.responses import invoice_status, message_level, order_response, response

from filedrop.readable import sheets
from filedrop.readable.values import day


@pytest.mark.parametrize(
    ("stated", "code", "shown_as"),
    [
        ("20261120", "102", "2026-11-20"),
        ("261120", "101", "26-11-20"),
        ("202611201415", "203", "2026-11-20 14:15"),
        ("20261120141530", "204", "2026-11-20 14:15:30"),
        ("202611201415+0100", "205", "2026-11-20 14:15 +01:00"),
        ("202611", "610", "2026-11"),
        ("202647", "616", "2026-W47"),
        ("2026", "602", "2026"),
        ("2026112020261231", "718", "2026-11-20 \N{EN DASH} 2026-12-31"),
        ("20261120", "999", "2026-11-20"),
        ("20 November", "102", "20 November"),
        ("202611", "102", "202611"),
    ],
)
def test_dates_by_their_format(stated: str, code: str, shown_as: str) -> None:
    """A date is read by the code of its format (UNTDID 2379), and shown as stated where it isn't written so."""
    assert day(stated, code) == shown_as


def test_head_of_an_invoice() -> None:
    """Total, due date and account are what a page begins with; a credit note's is what is credited."""
    head = sheets.sheet(io.BytesIO(invoice())).blocks[0]
    assert [(fact.label, fact.value) for fact in head.facts] == [
        ("To be paid", "1,250.00 NOK"),
        ("Due date", "2026-12-20"),
        ("Account", "NO9386011117947"),
    ]
    assert sheets.sheet(io.BytesIO(credit_note())).blocks[0].facts[0].label == "To be credited"


def test_head_of_a_response() -> None:
    """A response's answer is its headline, where it gives the same answer to all documents."""
    rejected = response("1001")
    assert said(rejected).startswith("Rejected Response")
    answer = rejected.partition(b"<cac:DocumentResponse>")[2].partition(b"</cac:DocumentResponse>")[0]
    both = answer + b"</cac:DocumentResponse><cac:DocumentResponse>" + answer.replace(b">RE<", b">AP<")
    assert sheets.sheet(io.BytesIO(rejected.replace(answer, both))).headline == ""
    assert said(rejected.replace(b">RE<", b">X1<")).startswith("X1 Response")
    assert sheets.sheet(io.BytesIO(order_response("3001", "CA"))).headline.startswith("Accepted with changes")


STATUS = {"AB": "Accepted, delivery not confirmed", "AP": "Accepted and delivered"}


@pytest.mark.parametrize("code", STATUS)
def test_codes_of_a_message_level_status(code: str) -> None:
    """In an access point's status, the codes are about delivery; in a receiver's response, about the invoice."""
    status, answer = message_level("mls", "1", "").replace(b">RE<", f">{code}<".encode()), response("1001", code)
    assert f"Answer {STATUS[code]} ({code})" in said(status)
    assert STATUS[code] not in said(answer)


def test_reasons_of_a_french_status() -> None:
    """A reason's code is shown in words, and the platform's own words beside it; of a duplicate, too."""
    assert "Reason Duplicate invoice (DOUBLON)" in said(invoice_status(why="<ram:ReasonCode>DOUBLON</ram:ReasonCode>"))
    why = "<ram:ReasonCode>TX_TVA_ERR</ram:ReasonCode><ram:Reason>5,5 % attendu</ram:Reason>"
    assert "Reason VAT rate incorrect (TX_TVA_ERR) Explanation 5,5 % attendu" in said(invoice_status(why=why))


def test_copies_and_tests() -> None:
    """A copy, or a test, is called that above everything else; one that says it is none isn't."""
    copy = having(invoice(), "<cbc:IssueDate>", "<cbc:CopyIndicator>true</cbc:CopyIndicator>")
    assert said(copy).index("This is a copy.") < said(copy).index("To be paid")
    original = copy.replace(b"<cbc:CopyIndicator>true", b"<cbc:CopyIndicator>0")
    assert "This is a copy." not in said(original)
    assert "Copy No" in said(original)


def test_what_is_no_vat() -> None:
    """A tax that isn't VAT is named where its rate is."""
    assert "25 % GST Standard rate (S)" in said(invoice().replace(b">VAT</cbc:ID>", b">GST</cbc:ID>"))
    assert "GST" not in said(invoice())


def test_exchange_rates() -> None:
    """From which currency into which, at what rate, and of which day."""
    rate = """<cac:TaxExchangeRate><cbc:SourceCurrencyCode>NOK</cbc:SourceCurrencyCode>
      <cbc:TargetCurrencyCode>EUR</cbc:TargetCurrencyCode><cbc:CalculationRate>0.0852</cbc:CalculationRate>
      <cbc:Date>2026-11-19</cbc:Date></cac:TaxExchangeRate>"""
    page = said(having(invoice(), "<cac:TaxTotal>", rate))
    assert "Exchange rate NOK \N{RIGHTWARDS ARROW} EUR 0.0852 2026-11-19" in page


def test_amounts_in_another_currency() -> None:
    """In a table the currency is shown where it is not the document's."""
    document = invoice().replace(b'PriceAmount currencyID="NOK"', b'PriceAmount currencyID="SEK"')
    assert "250.00 SEK" in said(document)


def test_text_from_right_to_left() -> None:
    """Each value is read in the direction of its own letters, whatever is around it."""
    page = shown(invoice(note="شكرا لطلبكم رقم 12."))
    assert "شكرا لطلبكم رقم 12." in page.said
    assert "p, dd, td, small, li { unicode-bidi: plaintext; }" in page.style
