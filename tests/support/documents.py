"""Business documents of the tests' own writing: small and whole, in the shape of PEPPOL BIS Billing 3 and Ordering 3.

`sender` and `receiver` are ParticipantIDs (`0192:987654325`); `None` leaves the EndpointID out. `size` pads the
document with an embedded attachment to at least that many bytes. All is UTF-8 with an XML declaration.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from base64 import b64encode
from xml.sax.saxutils import escape, quoteattr

BILLING = "urn:cen.eu:en16931:2017#compliant#urn:fdc:peppol.eu:2017:poacc:billing:3.0"
BILLING_PROCESS = "urn:fdc:peppol.eu:2017:poacc:billing:01:1.0"
ORDERING = "urn:fdc:peppol.eu:poacc:trns:order:3"
ORDERING_PROCESS = "urn:fdc:peppol.eu:poacc:bis:order_only:3"
SELLER = "0192:987654325"
BUYER = "0192:810418052"

INVOICE_ID = f"urn:oasis:names:specification:ubl:schema:xsd:Invoice-2::Invoice##{BILLING}::2.1"
CREDIT_NOTE_ID = f"urn:oasis:names:specification:ubl:schema:xsd:CreditNote-2::CreditNote##{BILLING}::2.1"
ORDER_ID = f"urn:oasis:names:specification:ubl:schema:xsd:Order-2::Order##{ORDERING}::2.1"


def invoice(
    number: str = "1001",
    sender: str | None = SELLER,
    receiver: str | None = BUYER,
    *,
    issue_date: str = "2026-11-20",
    customization: str = BILLING,
    process: str = BILLING_PROCESS,
    note: str = "Thank you for your order.",
    size: int = 0,
) -> bytes:
    """An invoice from `sender` to `receiver`."""
    body = f"""
  <cbc:CustomizationID>{customization}</cbc:CustomizationID>
  <cbc:ProfileID>{process}</cbc:ProfileID>
  <cbc:ID>{escape(number)}</cbc:ID>
  <cbc:IssueDate>{issue_date}</cbc:IssueDate>
  <cbc:DueDate>2026-12-20</cbc:DueDate>
  <cbc:InvoiceTypeCode>380</cbc:InvoiceTypeCode>
  <cbc:Note>{escape(note)}</cbc:Note>
  <cbc:DocumentCurrencyCode>NOK</cbc:DocumentCurrencyCode>
  <cbc:BuyerReference>Purchasing</cbc:BuyerReference>@attachment@
  <cac:AccountingSupplierParty>{_party(sender, "Blåbær og Bær AS", "NO987654325MVA")}</cac:AccountingSupplierParty>
  <cac:AccountingCustomerParty>{_party(receiver, "Kjøper Kommune", "NO810418052MVA")}</cac:AccountingCustomerParty>
  <cac:PaymentMeans>
    <cbc:PaymentMeansCode>30</cbc:PaymentMeansCode>
    <cac:PayeeFinancialAccount><cbc:ID>NO9386011117947</cbc:ID></cac:PayeeFinancialAccount>
  </cac:PaymentMeans>{_TOTALS}
  <cac:InvoiceLine>
    <cbc:ID>1</cbc:ID>
    <cbc:InvoicedQuantity unitCode="C62">4</cbc:InvoicedQuantity>{_LINE}
  </cac:InvoiceLine>"""
    return _whole("Invoice", body, size)


def credit_note(
    number: str = "2001", sender: str | None = SELLER, receiver: str | None = BUYER, *, issue_date: str = "2026-11-20"
) -> bytes:
    """A credit note from `sender` to `receiver`."""
    body = f"""
  <cbc:CustomizationID>{BILLING}</cbc:CustomizationID>
  <cbc:ProfileID>{BILLING_PROCESS}</cbc:ProfileID>
  <cbc:ID>{escape(number)}</cbc:ID>
  <cbc:IssueDate>{issue_date}</cbc:IssueDate>
  <cbc:CreditNoteTypeCode>381</cbc:CreditNoteTypeCode>
  <cbc:DocumentCurrencyCode>NOK</cbc:DocumentCurrencyCode>
  <cbc:BuyerReference>Purchasing</cbc:BuyerReference>
  <cac:BillingReference>
    <cac:InvoiceDocumentReference><cbc:ID>1001</cbc:ID></cac:InvoiceDocumentReference>
  </cac:BillingReference>
  <cac:AccountingSupplierParty>{_party(sender, "Blåbær og Bær AS", "NO987654325MVA")}</cac:AccountingSupplierParty>
  <cac:AccountingCustomerParty>{_party(receiver, "Kjøper Kommune", "NO810418052MVA")}</cac:AccountingCustomerParty>
  {_TOTALS}
  <cac:CreditNoteLine>
    <cbc:ID>1</cbc:ID>
    <cbc:CreditedQuantity unitCode="C62">4</cbc:CreditedQuantity>{_LINE}
  </cac:CreditNoteLine>"""
    return _whole("CreditNote", body)


def order(
    number: str = "3001", sender: str | None = BUYER, receiver: str | None = SELLER, *, issue_date: str = "2026-11-20"
) -> bytes:
    """An order: here the buyer sends, and the seller receives."""
    body = f"""
  <cbc:CustomizationID>{ORDERING}</cbc:CustomizationID>
  <cbc:ProfileID>{ORDERING_PROCESS}</cbc:ProfileID>
  <cbc:ID>{escape(number)}</cbc:ID>
  <cbc:IssueDate>{issue_date}</cbc:IssueDate>
  <cbc:OrderTypeCode>220</cbc:OrderTypeCode>
  <cbc:DocumentCurrencyCode>NOK</cbc:DocumentCurrencyCode>
  <cac:BuyerCustomerParty>{_party(sender, "Kjøper Kommune", "NO810418052MVA")}</cac:BuyerCustomerParty>
  <cac:SellerSupplierParty>{_party(receiver, "Blåbær og Bær AS", "NO987654325MVA")}</cac:SellerSupplierParty>
  <cac:OrderLine>
    <cac:LineItem>
      <cbc:ID>1</cbc:ID>
      <cbc:Quantity unitCode="C62">4</cbc:Quantity>
      <cac:Item><cbc:Name>Blueberry jam</cbc:Name></cac:Item>
    </cac:LineItem>
  </cac:OrderLine>"""
    return _whole("Order", body)


def with_attachments(document: bytes, *attachments: tuple[str | None, str, str | bytes]) -> bytes:
    """An invoice with these embedded: a stated name or none, a stated type, and content or what stands in its place."""
    references = "".join(
        f"""
  <cac:AdditionalDocumentReference>
    <cbc:ID>attachment</cbc:ID>
    <cac:Attachment>
      <cbc:EmbeddedDocumentBinaryObject mimeCode={quoteattr(kind)}{
            "" if name is None else f" filename={quoteattr(name)}"
        }>{content if isinstance(content, str) else b64encode(content).decode()}</cbc:EmbeddedDocumentBinaryObject>
    </cac:Attachment>
  </cac:AdditionalDocumentReference>"""
        for name, kind, content in attachments
    )
    end = b"</cbc:BuyerReference>"
    assert end in document
    return document.replace(end, end + references.encode(), 1)


def listed_as(document: bytes) -> str:
    """The document id that a message with this document is listed with; what is none is listed as an invoice."""
    try:
        root = ET.fromstring(document)  # noqa: S314 - the tests' own writing, or the corpus
    except ET.ParseError:
        return INVOICE_ID
    if root.tag.endswith("}StandardBusinessDocument"):
        root = root[1]  # behind the header
    return "{}::{}##{}::2.1".format(*root.tag[1:].split("}"), BILLING)


def envelope(
    document: bytes,
    *,
    sender: str | None = SELLER,
    receiver: str | None = BUYER,
    document_id: str | None = INVOICE_ID,
    process_id: str | None = BILLING_PROCESS,
) -> bytes:
    """`document` inside a StandardBusinessDocument; what is `None` the envelope doesn't say."""
    parties = "".join(
        f"""
    <{role}><Identifier Authority="iso6523-actorid-upis">{participant}</Identifier></{role}>"""
        for role, participant in (("Sender", sender), ("Receiver", receiver))
        if participant is not None
    )
    scopes = "".join(
        f"""
      <Scope><Type>{scope}</Type><InstanceIdentifier>{value}</InstanceIdentifier></Scope>"""
        for scope, value in (("DOCUMENTID", document_id), ("PROCESSID", process_id))
        if value is not None
    )
    inside = document.decode().partition("?>")[2].strip()
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<StandardBusinessDocument xmlns="http://www.unece.org/cefact/namespaces/StandardBusinessDocumentHeader">
  <StandardBusinessDocumentHeader>
    <HeaderVersion>1.0</HeaderVersion>{parties}
    <DocumentIdentification>
      <Standard>urn:oasis:names:specification:ubl:schema:xsd:Invoice-2</Standard>
      <TypeVersion>2.1</TypeVersion>
      <InstanceIdentifier>5a3bd5a0-7f6e-4a3f-9f7f-3f3a4d1b2c6d</InstanceIdentifier>
      <Type>Invoice</Type>
      <CreationDateAndTime>2026-11-20T08:00:00Z</CreationDateAndTime>
    </DocumentIdentification>
    <BusinessScope>{scopes}
    </BusinessScope>
  </StandardBusinessDocumentHeader>
{inside}
</StandardBusinessDocument>
""".encode()


def _whole(name: str, body: str, size: int = 0) -> bytes:
    text = f"""<?xml version="1.0" encoding="UTF-8"?>
<{name} xmlns="urn:oasis:names:specification:ubl:schema:xsd:{name}-2"
    xmlns:cac="urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2"
    xmlns:cbc="urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2">{body}
</{name}>
"""
    lacking = size - len(text.encode())
    return text.replace("@attachment@", _attachment(lacking) if lacking > 0 else "").encode()


def _attachment(size: int) -> str:
    return f"""
  <cac:AdditionalDocumentReference>
    <cbc:ID>timesheet</cbc:ID>
    <cac:Attachment>
      <cbc:EmbeddedDocumentBinaryObject mimeCode="application/pdf" filename="timesheet.pdf">{
        "JVBERi0x" * (size // 8 + 1)
    }</cbc:EmbeddedDocumentBinaryObject>
    </cac:Attachment>
  </cac:AdditionalDocumentReference>"""


def _party(participant: str | None, name: str, vat: str) -> str:
    scheme, _, value = (participant or "").partition(":")
    endpoint = (
        f'\n      <cbc:EndpointID schemeID="{scheme}">{value}</cbc:EndpointID>' if participant is not None else ""
    )
    return f"""
    <cac:Party>{endpoint}
      <cac:PartyName><cbc:Name>{name}</cbc:Name></cac:PartyName>
      <cac:PostalAddress><cac:Country><cbc:IdentificationCode>NO</cbc:IdentificationCode></cac:Country></cac:PostalAddress>
      <cac:PartyTaxScheme>
        <cbc:CompanyID>{vat}</cbc:CompanyID>
        <cac:TaxScheme><cbc:ID>VAT</cbc:ID></cac:TaxScheme>
      </cac:PartyTaxScheme>
      <cac:PartyLegalEntity><cbc:RegistrationName>{name}</cbc:RegistrationName></cac:PartyLegalEntity>
    </cac:Party>
  """


_TOTALS = """
  <cac:TaxTotal>
    <cbc:TaxAmount currencyID="NOK">250.00</cbc:TaxAmount>
    <cac:TaxSubtotal>
      <cbc:TaxableAmount currencyID="NOK">1000.00</cbc:TaxableAmount>
      <cbc:TaxAmount currencyID="NOK">250.00</cbc:TaxAmount>
      <cac:TaxCategory>
        <cbc:ID>S</cbc:ID>
        <cbc:Percent>25</cbc:Percent>
        <cac:TaxScheme><cbc:ID>VAT</cbc:ID></cac:TaxScheme>
      </cac:TaxCategory>
    </cac:TaxSubtotal>
  </cac:TaxTotal>
  <cac:LegalMonetaryTotal>
    <cbc:LineExtensionAmount currencyID="NOK">1000.00</cbc:LineExtensionAmount>
    <cbc:TaxExclusiveAmount currencyID="NOK">1000.00</cbc:TaxExclusiveAmount>
    <cbc:TaxInclusiveAmount currencyID="NOK">1250.00</cbc:TaxInclusiveAmount>
    <cbc:PayableAmount currencyID="NOK">1250.00</cbc:PayableAmount>
  </cac:LegalMonetaryTotal>"""

_LINE = """
    <cbc:LineExtensionAmount currencyID="NOK">1000.00</cbc:LineExtensionAmount>
    <cac:Item>
      <cbc:Name>Blueberry jam</cbc:Name>
      <cac:ClassifiedTaxCategory>
        <cbc:ID>S</cbc:ID>
        <cbc:Percent>25</cbc:Percent>
        <cac:TaxScheme><cbc:ID>VAT</cbc:ID></cac:TaxScheme>
      </cac:ClassifiedTaxCategory>
    </cac:Item>
    <cac:Price><cbc:PriceAmount currencyID="NOK">250.00</cbc:PriceAmount></cac:Price>"""
