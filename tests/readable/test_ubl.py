"""What a page says of a UBL document where documents differ: each of these was once missing from it."""

from __future__ import annotations

import re

import pytest
from readable.test_pages import shown
from support.documents import credit_note, invoice, order

XRECHNUNG = (
    "urn:cen.eu:en16931:2017#compliant#urn:xeinkauf.de:kosit:xrechnung_3.0"
    "#conformant#urn:xeinkauf.de:kosit:extension:xrechnung_3.0"
)
PREPAID = """<cac:PrepaidPayment>
  <cbc:ID>P-7</cbc:ID><cbc:PaidAmount currencyID="NOK">19.96</cbc:PaidAmount>
  <cbc:PaidDate>2026-11-02</cbc:PaidDate><cbc:InstructionID>first half</cbc:InstructionID>
</cac:PrepaidPayment>"""


def said(document: bytes) -> str:
    """The text of its page, in one line."""
    return " ".join(shown(document).said.split())


def having(document: bytes, before: str, more: str) -> bytes:
    """The document with `more` before the first of this tag, opening or closing."""
    assert before.encode() in document
    return document.replace(before.encode(), more.encode() + before.encode(), 1)


def test_prepayments() -> None:
    """What was paid before has a row each: number, reference, date and amount."""
    page = said(having(invoice(), "<cac:TaxTotal>", PREPAID))
    assert "Prepayments No. Payment reference Date Amount P-7 first half 2026-11-02 19.96 NOK" in page


def test_claims_of_third_parties() -> None:
    """In the extension of XRechnung it is what others claim, which is paid in addition, and is called that."""
    page = said(having(invoice(customization=XRECHNUNG), "<cac:TaxTotal>", PREPAID))
    assert "Claims of third parties Type Explanation Date Amount P-7 first half 2026-11-02 19.96 NOK" in page
    assert "Prepayments" not in page


def sub_line(number: str, name: str, inside: str = "") -> str:
    """A line below a line, of 2 hours at 30."""
    return f"""<cac:SubInvoiceLine><cbc:ID>{number}</cbc:ID>
      <cbc:InvoicedQuantity unitCode="HUR">2</cbc:InvoicedQuantity>
      <cbc:LineExtensionAmount currencyID="NOK">60</cbc:LineExtensionAmount>
      <cac:Item><cbc:Name>{name}</cbc:Name></cac:Item>
      <cac:Price><cbc:PriceAmount currencyID="NOK">30</cbc:PriceAmount></cac:Price>{inside}</cac:SubInvoiceLine>"""


def test_decimals_of_amounts() -> None:
    """An amount has the decimals of its currency at least (ISO 4217), and all that it states; other numbers none."""
    document = (
        invoice().replace(b">1000.00<", b">1000<").replace(b">250.00<", b">.5<").replace(b">1250.00<", b">1.234<")
    )
    for currency, amounts in {
        "NOK": ("1,000.00 NOK", "0.50 NOK", "1.234 NOK"),
        "JPY": ("1,000 JPY", "0.5 JPY", "1.234 JPY"),
        "KWD": ("1,000.000 KWD", "0.500 KWD", "1.234 KWD"),
    }.items():
        page = said(document.replace(b"NOK", currency.encode()))
        assert all(amount in page for amount in amounts)
        assert "25 %" in page


def test_what_a_credit_note_ends_with() -> None:
    """Nobody is asked to pay a credit note, also where it is an Invoice with the type of one (381)."""
    for document in (credit_note(), invoice().replace(b">380</cbc:InvoiceTypeCode>", b">381</cbc:InvoiceTypeCode>")):
        page = said(document)
        assert page.startswith("Credit note")
        assert "To be credited" in page
        assert "To be paid" not in page


def test_lines_below_lines() -> None:
    """They follow their line, however deep, each set in a step further."""
    below = sub_line("1.1", "Picking", sub_line("1.1.1", "Washing")) + sub_line("1.2", "Boiling")
    page = shown(having(invoice(), "</cac:InvoiceLine>", below))
    text = " ".join(page.said.split())
    rows = [f"{line} 2 h 30.00 60.00" for line in ("1.1 Picking", "1.1.1 Washing", "1.2 Boiling")]
    assert " ".join(rows) in text
    assert text.index("Blueberry jam") < text.index("Picking")
    steps = [attributes.get("class") for tag, attributes in page.tags if tag == "td"]
    assert [step for step in steps if str(step).startswith("d")] == ["d1", "d2", "d1"]


def test_what_comes_instead() -> None:
    """An order response says what is delivered instead of what was ordered, how much comes later, and when."""
    line = """<cbc:MaximumBackorderQuantity unitCode="C62">3</cbc:MaximumBackorderQuantity>
      <cac:Delivery><cac:PromisedDeliveryPeriod>
        <cbc:StartDate>2026-12-01</cbc:StartDate><cbc:EndDate>2026-12-03</cbc:EndDate>
      </cac:PromisedDeliveryPeriod></cac:Delivery>"""
    instead = """<cac:SellerSubstitutedLineItem><cac:Item><cbc:Name>Cranberry jam</cbc:Name></cac:Item>
      </cac:SellerSubstitutedLineItem>"""
    response = re.sub(rb"\bOrder(-2\b|(?=[ >]))", rb"OrderResponse\1", order())
    page = said(having(having(response, "<cac:Item>", line), "</cac:OrderLine>", instead))
    assert (
        "Blueberry jam Promised delivery: 2026-12-01 \N{EN DASH} 2026-12-03 4 pcs At most on backorder: 3 pcs" in page
    )
    assert "Cranberry jam Replaces line: 1" in page


def test_direct_debit() -> None:
    """The account that the money is taken from is on the page."""
    mandate = """<cac:PaymentMandate><cbc:ID>M-1</cbc:ID>
      <cac:PayerFinancialAccount><cbc:ID>DK123</cbc:ID></cac:PayerFinancialAccount></cac:PaymentMandate>"""
    assert "Mandate M-1 Account to be debited DK123" in said(having(invoice(), "</cac:PaymentMeans>", mandate))


def test_cash_discount() -> None:
    """Terms of payment say what is deducted, of what, and until when."""
    terms = """<cac:PaymentTerms><cbc:Note>8 days</cbc:Note>
      <cbc:SettlementDiscountPercent>2</cbc:SettlementDiscountPercent><cbc:Amount currencyID="NOK">1225.00</cbc:Amount>
      <cbc:PaymentDueDate>2026-11-28</cbc:PaymentDueDate></cac:PaymentTerms>"""
    page = said(having(invoice(), "<cac:TaxTotal>", terms))
    assert "Terms 8 days Cash discount 2 % Amount 1,225.00 NOK Due date 2026-11-28" in page


def test_several_due_dates() -> None:
    """Where payments are due on different days, each says on which; where all are due on one, it is said once."""
    due = "<cbc:PaymentDueDate>{}</cbc:PaymentDueDate>"
    second = "<cac:PaymentMeans><cbc:PaymentMeansCode>97</cbc:PaymentMeansCode>{}</cac:PaymentMeans>"
    later = having(invoice(), "<cac:TaxTotal>", second.format(due.format("2027-01-20")))
    assert "Clearing between partners (97) Due date 2027-01-20" in said(later)
    same = having(invoice(), "<cac:TaxTotal>", second.format(due.format("2026-12-20")))
    assert said(same).count("2026-12-20") == 1


def allowance(what: str) -> str:
    """An allowance of 10 % of 1000."""
    return f"""<cac:AllowanceCharge><cbc:ChargeIndicator>false</cbc:ChargeIndicator>{what}
      <cbc:MultiplierFactorNumeric>10</cbc:MultiplierFactorNumeric><cbc:Amount currencyID="NOK">100</cbc:Amount>
      <cbc:BaseAmount currencyID="NOK">1000</cbc:BaseAmount></cac:AllowanceCharge>"""


CODE = "<cbc:AllowanceChargeReasonCode>95</cbc:AllowanceChargeReasonCode>"
REASON = "<cbc:AllowanceChargeReason>Volume</cbc:AllowanceChargeReason>"


@pytest.mark.parametrize(("what", "reason"), [(CODE, "(95)"), (CODE + REASON, "Volume (95)"), (REASON, "Volume")])
def test_allowances(what: str, reason: str) -> None:
    """Of the document and of a line, with percentage and base; a reason has its code behind it."""
    whole = said(having(invoice(), "<cac:TaxTotal>", allowance(what)))
    assert f"Kind Reason Base amount Percent Amount Allowance {reason} 1,000.00 10 % 100.00" in whole
    line = said(having(invoice(), "</cac:InvoiceLine>", allowance(what)))
    assert f"Blueberry jam Allowance: {reason} 100.00 Percent: 10 % Base amount: 1,000.00" in line


def test_a_multiplier_that_is_no_percentage() -> None:
    """Where a multiplier may be a fraction, it isn't shown as a percentage."""
    other = invoice(customization="OIOUBL-2.02")
    assert "10 %" not in said(having(other, "<cac:TaxTotal>", allowance(REASON)))


def test_why_something_is_exempt() -> None:
    """The document's own words are shown, and the code, which tax is booked by, below them."""
    code = "<cbc:TaxExemptionReasonCode>VATEX-EU-F</cbc:TaxExemptionReasonCode>"
    assert "VATEX-EU-F" in said(having(invoice(), "</cac:TaxCategory>", code))
    both = having(invoice(), "</cac:TaxCategory>", code + "<cbc:TaxExemptionReason>Margin</cbc:TaxExemptionReason>")
    assert "Margin VATEX-EU-F" in said(both)


def test_what_a_response_asks_for() -> None:
    """Reasons are told from what is asked for, and a value is named by what it is the value of."""
    response = """<ApplicationResponse xmlns="urn:oasis:names:specification:ubl:schema:xsd:ApplicationResponse-2"
        xmlns:cac="urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2"
        xmlns:cbc="urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2">
      <cac:DocumentResponse><cac:Response><cbc:ResponseCode>RE</cbc:ResponseCode>
        <cac:Status><cbc:StatusReasonCode listID="OPStatusReason">OTH</cbc:StatusReasonCode>
          <cac:Condition><cbc:AttributeID>BT-48</cbc:AttributeID><cbc:Description>EU1</cbc:Description></cac:Condition>
        </cac:Status>
        <cac:Status><cbc:StatusReasonCode listID="OPStatusAction">NIN</cbc:StatusReasonCode></cac:Status>
      </cac:Response>
      <cac:LineResponse><cac:LineReference><cbc:LineID>/Invoice</cbc:LineID></cac:LineReference>
        <cac:Response><cac:Status><cbc:StatusReasonCode>BV</cbc:StatusReasonCode></cac:Status></cac:Response>
      </cac:LineResponse></cac:DocumentResponse></ApplicationResponse>"""
    page = said(response.encode())
    assert "Reason Other (OTH) Explanation BT-48: EU1 Requested action Issue new invoice (NIN)" in page
    assert "/Invoice Business rule violation, fatal (BV)" in page


def test_a_price_before_its_discount() -> None:
    """A line's price says what it was before the discount, or before a charge."""
    discount = """<cac:AllowanceCharge><cbc:ChargeIndicator>false</cbc:ChargeIndicator>
      <cbc:Amount currencyID="NOK">20</cbc:Amount><cbc:BaseAmount currencyID="NOK">270</cbc:BaseAmount>
    </cac:AllowanceCharge>"""
    page = said(having(invoice(), "</cac:Price>", discount))
    assert "250.00 Before discount: 270.00 Allowance: 20.00" in page
    charge = discount.replace("false", "true").replace("270", "230")
    page = said(having(invoice(), "</cac:Price>", charge))
    assert "250.00 Before charge: 230.00 Charge: 20.00" in page


def test_references_have_labels() -> None:
    """A tender, an object and a receipt are no attachments."""
    references = """<cac:ReceiptDocumentReference><cbc:ID>R-1</cbc:ID></cac:ReceiptDocumentReference>
      <cac:OriginatorDocumentReference><cbc:ID>T-1</cbc:ID></cac:OriginatorDocumentReference>
      <cac:AdditionalDocumentReference><cbc:ID schemeID="ABT">O-1</cbc:ID>
        <cbc:DocumentTypeCode>130</cbc:DocumentTypeCode></cac:AdditionalDocumentReference>"""
    page = said(having(invoice(), "<cac:AccountingSupplierParty>", references))
    assert "Tender T-1 Invoiced object ABT:O-1 Receipt advice R-1" in page
    assert "Attachments" not in page


def test_what_a_line_refers_to() -> None:
    """The object that a line is about, and other documents, are told apart."""
    references = """<cac:DocumentReference><cbc:ID>O-2</cbc:ID><cbc:DocumentTypeCode>130</cbc:DocumentTypeCode>
      </cac:DocumentReference><cac:DocumentReference><cbc:ID>D-3</cbc:ID></cac:DocumentReference>"""
    page = said(having(invoice(), "</cac:InvoiceLine>", references))
    assert "Blueberry jam Invoiced object: O-2 Document: D-3" in page


def test_why_it_was_credited() -> None:
    """A credit note says why, and in which project, which it states among other documents."""
    said_why = "<cac:DiscrepancyResponse><cbc:Description>Spoilt</cbc:Description></cac:DiscrepancyResponse>"
    project = """<cac:AdditionalDocumentReference><cbc:ID>P-5</cbc:ID>
      <cbc:DocumentTypeCode>50</cbc:DocumentTypeCode></cac:AdditionalDocumentReference>"""
    page = said(having(credit_note(), "<cac:BillingReference>", said_why + project))
    assert "Reason for credit Spoilt Project P-5" in page


def test_terms_of_an_order() -> None:
    """An order says what asked for it, and how and when it is to be delivered."""
    terms = """<cac:OriginatorDocumentReference><cbc:ID>REQ-1</cbc:ID></cac:OriginatorDocumentReference>
      <cac:DeliveryTerms><cbc:ID>FOB</cbc:ID><cbc:SpecialTerms>Ring first</cbc:SpecialTerms>
      <cac:DeliveryLocation><cbc:ID>Oslo</cbc:ID></cac:DeliveryLocation></cac:DeliveryTerms>"""
    period = """<cac:Delivery><cac:RequestedDeliveryPeriod><cbc:StartDate>2026-12-01</cbc:StartDate>
      <cbc:EndDate>2026-12-03</cbc:EndDate></cac:RequestedDeliveryPeriod></cac:Delivery>"""
    noted = having(having(order(), "<cac:OrderLine>", terms), "<cac:LineItem>", "<cbc:Note>Sweet</cbc:Note>")
    page = said(having(noted, "<cac:Item>", period))
    assert "Requisition REQ-1 Delivery terms FOB Oslo Delivery terms Ring first" in page
    assert "Note: Sweet" in page
    assert "Blueberry jam Requested delivery: 2026-12-01 \N{EN DASH} 2026-12-03" in page


def test_why_something_is_outstanding() -> None:
    """A despatch advice says why less was sent."""
    advice = re.sub(rb"\bOrder(-2\b|(?=[ >]))", rb"DespatchAdvice\1", order())
    advice = advice.replace(b"cac:OrderLine>", b"cac:DespatchLine>").replace(b"<cac:LineItem>", b"")
    missing = """<cbc:OutstandingQuantity unitCode="C62">1</cbc:OutstandingQuantity>
      <cbc:OutstandingReason>Sold out</cbc:OutstandingReason>"""
    page = said(having(advice.replace(b"</cac:LineItem>", b""), "<cac:Item>", missing))
    assert "Blueberry jam Reason outstanding: Sold out 4 pcs 1 pcs" in page


def test_many_of_what_there_is_one_of() -> None:
    """Sums that are there a hundred times, with a hundred taxes, don't make a page of ten thousand."""
    totals = re.search(rb"<cac:TaxTotal>.*</cac:LegalMonetaryTotal>", invoice(), re.DOTALL)
    assert totals
    assert said(invoice().replace(totals[0], totals[0] * 100)).count("To be paid") == 2  # in the head, and below


def test_the_share_of_an_instalment() -> None:
    """Terms of payment say what part of the amount they are about."""
    terms = "<cac:PaymentTerms><cbc:PaymentPercent>40</cbc:PaymentPercent></cac:PaymentTerms>"
    assert "Percent 40 %" in said(having(invoice(), "<cac:TaxTotal>", terms))


def test_the_quotation() -> None:
    """An order names the quotation that it accepts."""
    quotation = "<cac:QuotationDocumentReference><cbc:ID>Q-17</cbc:ID></cac:QuotationDocumentReference>"
    assert "Quotation Q-17" in said(having(order(), "<cac:BuyerCustomerParty>", quotation))


def test_times_of_delivery() -> None:
    """The time of day stands behind its date, where the document says it."""
    delivered = (
        "<cac:Delivery><cbc:ActualDeliveryDate>2026-11-19</cbc:ActualDeliveryDate>"
        "<cbc:ActualDeliveryTime>14:30:00</cbc:ActualDeliveryTime><cac:RequestedDeliveryPeriod>"
        "<cbc:StartDate>2026-11-18</cbc:StartDate><cbc:StartTime>08:00:00</cbc:StartTime>"
        "<cbc:EndDate>2026-11-19</cbc:EndDate></cac:RequestedDeliveryPeriod></cac:Delivery>"
    )
    page = said(having(invoice(), "<cac:PaymentMeans>", delivered))
    assert "2026-11-19 14:30:00" in page
    assert "2026-11-18 08:00:00 \N{EN DASH} 2026-11-19" in page
