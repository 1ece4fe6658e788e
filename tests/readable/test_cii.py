"""A page of a CII invoice says what the invoice says: charges, terms, codes, and what stands on its lines."""

from __future__ import annotations

import io
import re
from html import unescape

import pytest
from support.corpus import RULES, needs_corpus
from support.rules import CEN

from filedrop.readable import html, sheets

_UN = "urn:un:unece:uncefact:data:standard:"
_LINE = "<ram:SpecifiedTradeProduct><ram:Name>Blueberry jam</ram:Name></ram:SpecifiedTradeProduct>"


def said(settlement: str = "", lines: str = "", language: str = "en", *, code: str = "380") -> str:
    """The text of the page of an invoice in euro of this type, with this in its settlement, and these lines."""
    document = f"""<rsm:CrossIndustryInvoice xmlns:rsm="{_UN}CrossIndustryInvoice:100"
        xmlns:ram="{_UN}ReusableAggregateBusinessInformationEntity:100" xmlns:udt="{_UN}UnqualifiedDataType:100">
      <rsm:ExchangedDocument><ram:ID>4001</ram:ID><ram:TypeCode>{code}</ram:TypeCode></rsm:ExchangedDocument>
      <rsm:SupplyChainTradeTransaction>{lines}<ram:ApplicableHeaderTradeSettlement>
        <ram:InvoiceCurrencyCode>EUR</ram:InvoiceCurrencyCode>{settlement}
      </ram:ApplicableHeaderTradeSettlement></rsm:SupplyChainTradeTransaction>
    </rsm:CrossIndustryInvoice>"""
    page = html.page(sheets.sheet(io.BytesIO(document.encode()), language), "invoice.xml", {}).decode()
    return " ".join(unescape(re.sub("<[^>]*>", " ", page.partition("<body>")[2])).split())


def line(agreement: str = "", settlement: str = "", about: str = "") -> str:
    """A line of 4 pieces."""
    return f"""<ram:IncludedSupplyChainTradeLineItem>
      <ram:AssociatedDocumentLineDocument><ram:LineID>1</ram:LineID>{about}</ram:AssociatedDocumentLineDocument>{_LINE}
      <ram:SpecifiedLineTradeAgreement>{agreement}</ram:SpecifiedLineTradeAgreement>
      <ram:SpecifiedLineTradeDelivery>
        <ram:BilledQuantity unitCode="XPP">4.</ram:BilledQuantity>
      </ram:SpecifiedLineTradeDelivery>
      <ram:SpecifiedLineTradeSettlement>{settlement}</ram:SpecifiedLineTradeSettlement>
    </ram:IncludedSupplyChainTradeLineItem>"""


def allowance(name: str, indicator: str, rest: str) -> str:
    """An allowance (false) or a charge (true)."""
    stated = f"<ram:ChargeIndicator><udt:Indicator>{indicator}</udt:Indicator></ram:ChargeIndicator>"
    return f"<ram:{name}>{stated}{rest}</ram:{name}>"


def date(name: str, day: str) -> str:
    return f'<ram:{name}><udt:DateTimeString format="102">{day}</udt:DateTimeString></ram:{name}>'


@pytest.mark.parametrize(("code", "title"), [("380", "Invoice"), ("381", "Credit note"), ("", "Invoice")])
def test_a_credit_note(code: str, title: str) -> None:
    """A credit note is called one: in CII its root element is an invoice's, and nobody should pay it."""
    assert said(code=code).startswith(f"{title} 4001")


@needs_corpus
def test_all_credit_notes() -> None:
    """What the rule BR-CL-01 takes as the type of a credit note is called one."""
    rules = (RULES / CEN).read_text(encoding="utf-8")
    listed = re.search(r"self::cbc:CreditNoteTypeCode .*?contains\('([\d ]+)'", rules)
    assert listed
    assert {said(code=code).partition(" 4001")[0] for code in listed[1].split()} == {"Credit note"}


@pytest.mark.parametrize(("indicator", "kind"), [(" true ", "Charge"), ("1", "Charge"), ("0", "Allowance")])
def test_what_is_a_charge(indicator: str, kind: str) -> None:
    """A charge is called one in each way that XML has for saying yes."""
    freight = "<ram:ActualAmount>15.00</ram:ActualAmount><ram:Reason>Freight</ram:Reason>"
    assert f"{kind} Freight 15.00" in said(allowance("SpecifiedTradeAllowanceCharge", indicator, freight))


def test_when_it_was_delivered() -> None:
    """The day of delivery is there also where the invoice names nobody to whom it was delivered."""
    when = f"<ram:ActualDeliverySupplyChainEvent>{date('OccurrenceDateTime', '20261105')}"
    delivery = f"{when}</ram:ActualDeliverySupplyChainEvent></ram:ApplicableHeaderTradeDelivery>"
    assert "Delivered 2026-11-05" in said(lines=f"<ram:ApplicableHeaderTradeDelivery>{delivery}")


def test_a_logistics_charge() -> None:
    """What is charged for carriage stands among the charges, with its tax."""
    charge = """<ram:SpecifiedLogisticsServiceCharge>
      <ram:Description>Freight</ram:Description><ram:AppliedAmount>15.00</ram:AppliedAmount>
      <ram:AppliedTradeTax><ram:RateApplicablePercent>19.00</ram:RateApplicablePercent></ram:AppliedTradeTax>
    </ram:SpecifiedLogisticsServiceCharge>"""
    assert "Allowances and charges Kind Reason Tax Amount Charge Freight 19.00 % 15.00" in said(charge)


@pytest.mark.parametrize(
    ("language", "told"),
    {
        "en": "Cash discount 2026-11-21 10 days 2.00 % 480.22 EUR 9.60 EUR Late payment charge 30 days 5.00 %",
        "nb": "Kontantrabatt 2026-11-21 10 dager 2,00 % 480,22 EUR 9,60 EUR Tillegg ved forsinkelse 30 dager 5,00 %",
        "sv": "Kassarabatt 2026-11-21 10 dagar 2,00 % 480,22 EUR 9,60 EUR Förseningsavgift 30 dagar 5,00 %",
        "da": "Kontantrabat 2026-11-21 10 dage 2,00 % 480,22 EUR 9,60 EUR Tillæg ved forsinkelse 30 dage 5,00 %",
        "de": "Skonto 2026-11-21 10 Tage 2,00 % 480,22 EUR 9,60 EUR Verzugszuschlag 30 Tage 5,00 %",
    }.items(),
)
def test_discount_and_penalty(language: str, told: str) -> None:
    """The discount for early payment and the charge for late payment: from when, how long, how much of what."""
    terms = f"""<ram:SpecifiedTradePaymentTerms>
      <ram:ApplicableTradePaymentDiscountTerms>{date("BasisDateTime", "20261121")}
        <ram:BasisPeriodMeasure unitCode="DAY">10</ram:BasisPeriodMeasure><ram:BasisAmount>480.22</ram:BasisAmount>
        <ram:CalculationPercent>2.00</ram:CalculationPercent><ram:ActualDiscountAmount>9.60</ram:ActualDiscountAmount>
      </ram:ApplicableTradePaymentDiscountTerms>
      <ram:ApplicableTradePaymentPenaltyTerms>
        <ram:BasisPeriodMeasure unitCode="DAY">30</ram:BasisPeriodMeasure>
        <ram:CalculationPercent>5.00</ram:CalculationPercent>
      </ram:ApplicableTradePaymentPenaltyTerms>
    </ram:SpecifiedTradePaymentTerms>"""
    assert told in said(terms, language=language)


def test_direct_debit() -> None:
    """Which account is debited, and by which creditor and mandate."""
    debit = """<ram:CreditorReferenceID>DE98ZZZ09999999999</ram:CreditorReferenceID>
      <ram:SpecifiedTradeSettlementPaymentMeans><ram:TypeCode>59</ram:TypeCode><ram:PayerPartyDebtorFinancialAccount>
        <ram:IBANID>DE02120300000000202051</ram:IBANID>
      </ram:PayerPartyDebtorFinancialAccount></ram:SpecifiedTradeSettlementPaymentMeans>
      <ram:SpecifiedTradePaymentTerms>
        <ram:DirectDebitMandateID>M-1</ram:DirectDebitMandateID>
      </ram:SpecifiedTradePaymentTerms>"""
    told = "Account to be debited DE02120300000000202051 Creditor identifier DE98ZZZ09999999999 Mandate M-1"
    assert f"How SEPA direct debit (59) {told}" in said(debit)


def test_several_due_dates() -> None:
    """Each of several terms is shown with its own date and amount; one alone has its date at the head only."""
    first, second = (
        f"""<ram:SpecifiedTradePaymentTerms><ram:Description>{half}</ram:Description>{date("DueDateDateTime", day)}
        <ram:PartialPaymentAmount>50.00</ram:PartialPaymentAmount></ram:SpecifiedTradePaymentTerms>"""
        for half, day in (("First half", "20261220"), ("Second half", "20270120"))
    )
    both = said(first + second)
    assert "Due date 2026-12-20 Due date 2027-01-20" in both
    assert "Terms First half Due date 2026-12-20 Part payment 50.00 EUR Terms Second half Due date 2027-01-20" in both
    assert said(first).count("2026-12-20") == 1


def test_codes_where_there_are_no_words() -> None:
    """A reason is shown in the document's words, with its code behind them, or as the code alone."""
    tax = "<ram:ApplicableTradeTax><ram:CategoryCode>E</ram:CategoryCode>{}</ram:ApplicableTradeTax>"
    reason, code = (
        "<ram:ExemptionReason>Stamps</ram:ExemptionReason>",
        "<ram:ExemptionReasonCode>V-1</ram:ExemptionReasonCode>",
    )
    assert "Exempt (E) V-1" in said(tax.format(code))
    assert "Exempt (E) Stamps V-1 This" in said(tax.format(reason + code))
    amount = "<ram:ActualAmount>5.00</ram:ActualAmount>"
    reason, code = "<ram:Reason>Loyalty</ram:Reason>", "<ram:ReasonCode>95</ram:ReasonCode>"
    for inside, told in ((code, "(95) 5.00"), (reason + code, "Loyalty (95) 5.00"), ("", "5.00")):
        charged = allowance("SpecifiedTradeAllowanceCharge", "true", amount + inside)
        assert f"Charge {told}" in said(charged)
        assert f"Charge: {told}" in said(lines=line(settlement=charged))


def test_amounts_of_tax_have_their_currency() -> None:
    """As in UBL: the invoice's currency, or that which the amount itself names."""
    tax = """<ram:ApplicableTradeTax><ram:CalculatedAmount currencyID="HUF">19.00</ram:CalculatedAmount>
      <ram:BasisAmount>100.00</ram:BasisAmount></ram:ApplicableTradeTax>"""
    assert "100.00 EUR 19.00 HUF" in said(tax)


def test_an_accounting_code_of_a_line() -> None:
    """Where the buyer's accounting code stands on a line, it is shown there."""
    name = "ReceivableSpecifiedTradeAccountingAccount"
    account = f"<ram:{name}><ram:ID>7300</ram:ID></ram:{name}>"
    assert "Blueberry jam Accounting code: 7300" in said(lines=line(settlement=account))


def price(kind: str, amount: str, rest: str = "") -> str:
    """A price, Gross or Net."""
    name = f"{kind}PriceProductTradePrice"
    return f"<ram:{name}><ram:ChargeAmount>{amount}</ram:ChargeAmount>{rest}</ram:{name}>"


def test_a_price_before_its_discount() -> None:
    """The price before a discount is shown with this; one that says the same as the price is left out."""
    discount = allowance("AppliedTradeAllowanceCharge", "false", "<ram:ActualAmount>4.50</ram:ActualAmount>")
    per = '<ram:BasisQuantity unitCode="C62">100.</ram:BasisQuantity>'
    told = said(lines=line(price("Gross", "15.00", per + discount) + price("Net", "10.50", per)))
    assert "10.50 per 100 pcs Before discount: 15.00 Allowance: 4.50" in told
    assert "Before discount" not in said(lines=line(price("Gross", "10.50") + price("Net", "10.50")))
    assert "10.50 Before discount: 15.00" in said(lines=line(price("Gross", "15.00") + price("Net", "10.50")))
    assert "10.50 Before charge: 9.00" in said(lines=line(price("Gross", "9.00") + price("Net", "10.50")))
    charge = allowance("AppliedTradeAllowanceCharge", "true", "<ram:ActualAmount>1.50</ram:ActualAmount>")
    told = said(lines=line(price("Gross", "9.00", charge) + price("Net", "10.50")))
    assert "10.50 Before charge: 9.00 Charge: 1.50" in told


def test_lines_below_lines() -> None:
    """A line that is part of another says of which, and what it is for."""
    about = "<ram:ParentLineID>01</ram:ParentLineID><ram:LineStatusReasonCode>INFORMATION</ram:LineStatusReasonCode>"
    told = said(lines=line(about=about))
    assert "Blueberry jam Part of line: 01 For information only (INFORMATION) 4 pcs" in told
