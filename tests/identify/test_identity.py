"""Who sends what to whom: the order of the sources, what is missing, and how it is said."""

from __future__ import annotations

import io

import pytest
from support.documents import (
    BILLING,
    BILLING_PROCESS,
    BUYER,
    CREDIT_NOTE_ID,
    INVOICE_ID,
    ORDER_ID,
    ORDERING_PROCESS,
    SELLER,
    credit_note,
    envelope,
    invoice,
    order,
)
from support.notes import whole

from filedrop.errors import DocumentError
from filedrop.identify import Identity, Reading, demand, identify, read
from filedrop.model.document import Ids

SELF_BILLING = "urn:cen.eu:en16931:2017#compliant#urn:fdc:peppol.eu:2017:poacc:selfbilling:3.0"
CII = """<rsm:CrossIndustryInvoice xmlns:rsm="urn:un:unece:uncefact:data:standard:CrossIndustryInvoice:100"
 xmlns:ram="urn:un:unece:uncefact:data:standard:ReusableAggregateBusinessInformationEntity:100"
 xmlns:udt="urn:un:unece:uncefact:data:standard:UnqualifiedDataType:100">
 <rsm:ExchangedDocumentContext>
  <ram:BusinessProcessSpecifiedDocumentContextParameter><ram:ID>P1</ram:ID></ram:BusinessProcessSpecifiedDocumentContextParameter>
  <ram:GuidelineSpecifiedDocumentContextParameter><ram:ID>urn:cen.eu:en16931:2017</ram:ID></ram:GuidelineSpecifiedDocumentContextParameter>
 </rsm:ExchangedDocumentContext>
 <rsm:ExchangedDocument><ram:ID>RE-7</ram:ID>
  <ram:IssueDateTime><udt:DateTimeString format="102">20261120</udt:DateTimeString></ram:IssueDateTime>
 </rsm:ExchangedDocument>
 <rsm:SupplyChainTradeTransaction><ram:ApplicableHeaderTradeAgreement>
  <ram:SellerTradeParty><ram:URIUniversalCommunication><ram:URIID schemeID="9930">DE122268496</ram:URIID></ram:URIUniversalCommunication></ram:SellerTradeParty>
  <ram:BuyerTradeParty><ram:URIUniversalCommunication><ram:URIID schemeID="EM">a@example.com</ram:URIID></ram:URIUniversalCommunication></ram:BuyerTradeParty>
 </ram:ApplicableHeaderTradeAgreement></rsm:SupplyChainTradeTransaction>
</rsm:CrossIndustryInvoice>"""  # noqa: E501 - as CII documents are


def reading_of(document: bytes) -> Reading:
    return read(io.BytesIO(document))


def identity_of(document: bytes, **known: str) -> Identity:
    return identify(reading_of(document), **known)  # type: ignore[arg-type] # each test gives what identify takes


def fault_of(document: bytes) -> DocumentError:
    reading = reading_of(document)
    with pytest.raises(DocumentError) as caught:
        demand(identify(reading), reading)
    return caught.value


@pytest.mark.parametrize(
    ("document", "ids"),
    [
        (invoice(), Ids(SELLER, BUYER, INVOICE_ID, BILLING_PROCESS)),
        (credit_note(), Ids(SELLER, BUYER, CREDIT_NOTE_ID, BILLING_PROCESS)),
        (order(), Ids(BUYER, SELLER, ORDER_ID, ORDERING_PROCESS)),
        (
            invoice(customization=SELF_BILLING),
            Ids(BUYER, SELLER, INVOICE_ID.replace(BILLING, SELF_BILLING), BILLING_PROCESS),
        ),
    ],
)
def test_roles(document: bytes, ids: Ids) -> None:
    """Who sends depends on the type of document: the seller an invoice, the buyer an order or a self-billed invoice."""
    reading = reading_of(document)
    assert demand(identify(reading), reading) == ids


def test_cii() -> None:
    """A CII invoice: D16B, its own number and date, and a mail address is no participant."""
    reading = reading_of(CII.encode())
    identity = identify(reading)
    assert (identity.sender, identity.receiver, identity.process_id) == ("9930:DE122268496", None, "P1")
    assert identity.document_id == (
        "urn:un:unece:uncefact:data:standard:CrossIndustryInvoice:100::CrossIndustryInvoice##urn:cen.eu:en16931:2017::D16B"
    )
    assert (reading.number, reading.issue_date) == ("RE-7", "2026-11-20")
    assert any('"a@example.com" with schemeID "EM" is no participant' in warning for warning in identity.warnings)


@pytest.mark.parametrize(
    ("scheme", "participant"),
    [
        ("0192", "0192:987654325"),
        (" 0192\n", "0192:987654325"),
        ("NO:ORGNR", "0192:987654325"),
        ("no:org", "0192:987654325"),
        ("9908", "9908:987654325"),
        ("DK:CVR", "9902:987654325"),
        ("IS:KT", "0196:987654325"),
        ("EM", None),
        ("", None),
    ],
)
def test_scheme(scheme: str, participant: str | None) -> None:
    """A scheme's code is taken as it is; its name becomes the code, or the one that replaced it; else it's nothing."""
    document = invoice().replace(b'schemeID="0192">987654325', f'schemeID="{scheme}">987654325'.encode())
    assert identity_of(document).sender == participant


def test_coded_already() -> None:
    """A value that already has its code gets no other one."""
    document = invoice().replace(b'schemeID="0192">987654325', b'schemeID="0088">\n 0192:987654325 ')
    assert identity_of(document).sender == SELLER


@pytest.mark.parametrize(
    ("said", "version"), [("", "2.1"), ("<cbc:UBLVersionID>2.3</cbc:UBLVersionID>", "2.3")], ids=["nothing", "2.3"]
)
def test_version(said: str, version: str) -> None:
    """A customization that no list knows has the version that the document names, else 2.1."""
    document = invoice(customization="urn:ours").replace(
        b"<cbc:CustomizationID>", f"{said}<cbc:CustomizationID>".encode()
    )
    document_id = identity_of(document).document_id
    assert document_id == f"urn:oasis:names:specification:ubl:schema:xsd:Invoice-2::Invoice##urn:ours::{version}"


def test_listed_version() -> None:
    """For a listed customization the code list's version counts, whatever the document says."""
    document = invoice().replace(
        b"<cbc:CustomizationID>", b"<cbc:UBLVersionID>2.0</cbc:UBLVersionID><cbc:CustomizationID>"
    )
    assert identity_of(document).document_id == INVOICE_ID


def test_only_process() -> None:
    """A missing process is the code list's, if the list has only one for that document; two would be a guess."""
    lacking = order().replace(f"<cbc:ProfileID>{ORDERING_PROCESS}</cbc:ProfileID>".encode(), b"")
    assert identity_of(lacking).process_id is None  # an order belongs to several
    cancelling = lacking.replace(b"Order-2", b"OrderCancellation-2").replace(b"<Order ", b"<OrderCancellation ")
    cancelling = cancelling.replace(b"</Order>", b"</OrderCancellation>").replace(
        b"trns:order:3", b"trns:order_cancellation:3"
    )
    identity = identity_of(cancelling)
    assert identity.process_id == "urn:fdc:peppol.eu:poacc:bis:advanced_ordering:3"
    assert identity.sources["process_id"] == "code list"


def test_default_sender() -> None:
    """Where the document names no sender it is the company's first participant; where it does, the document counts."""
    identity = identity_of(invoice(sender=None), participants=["0192:1"])
    assert (identity.sender, identity.sources["sender"]) == ("0192:1", "company")
    assert identity_of(invoice(), participants=["0192:1"]).sender == SELLER


def test_channel() -> None:
    """The channel is the company's."""
    assert identity_of(invoice(), channel="invoices").channel == "invoices"


def test_envelope_participant() -> None:
    """Where an envelope names somebody who is no participant, the document's own receiver doesn't count."""
    unregistered = "urn:oasis:names:tc:ebcore:partyid-type:unregistered:C4"
    fault = fault_of(envelope(invoice(), receiver=unregistered))
    assert (fault.code, unregistered in whole(fault)) == ("no-receiver", True)


@pytest.mark.parametrize("role", ["sender", "receiver"])
@pytest.mark.parametrize("written", ["810418052", "0192;810418052", "peppol_receiver_id_here", "0192:", "-"])
def test_unreadable_id_in_an_envelope(role: str, written: str) -> None:
    """What an envelope says and filedrop can't read is quoted in the error; nothing takes its place."""
    reading = read(io.BytesIO(envelope(invoice(), **{role: written})))
    identity = identify(reading, company="acme", participants=[SELLER])
    assert getattr(identity, role) is None
    with pytest.raises(DocumentError) as caught:
        demand(identity, reading)
    assert caught.value.code == f"no-{role}"
    assert f'"{written}" is no participant' in whole(caught.value)


@pytest.mark.parametrize("written", ["", "  ", "iso6523-actorid-upis::"])
def test_empty_id_in_an_envelope(written: str) -> None:
    """What an envelope leaves empty comes from the document inside."""
    identity = identity_of(envelope(invoice(), receiver=written))
    assert (identity.receiver, identity.sources["receiver"]) == (BUYER, "document")


@pytest.mark.parametrize(
    "written", ["NO:ORG:810418052", "no:orgnr:810418052", "iso6523-actorid-upis::NO:ORG:810418052"]
)
def test_scheme_name_in_an_envelope(written: str) -> None:
    """The name of a scheme becomes its code, as in tables."""
    assert identity_of(envelope(invoice(receiver="0192:123456785"), receiver=written)).receiver == BUYER


@pytest.mark.parametrize("authority", ["GS1", "gs1"])
def test_gln_in_an_envelope(authority: str) -> None:
    """A GLN alone with the authority GS1, in any case, has the scheme of GLNs and not that of GS1's other keys."""
    document = envelope(invoice(), receiver="7300010000001")
    document = document.replace(b'"iso6523-actorid-upis">7300', f'"{authority}">7300'.encode())
    assert identity_of(document).receiver == "0088:7300010000001"


@pytest.mark.parametrize(
    ("place", "readable"),
    [("Identifier", BUYER), ("EndpointID", BUYER), ("Identifier", SELLER), ("EndpointID", SELLER)],
)
def test_unreadable_id_beside_another(place: str, readable: str) -> None:
    """Where two ids stand in one place and one of them can't be read, neither counts; a mail address is none."""
    role = "receiver" if readable == BUYER else "sender"
    document = envelope(invoice()) if place == "Identifier" else invoice()
    value = readable if place == "Identifier" else readable.partition(":")[2]
    start, end = document.rindex(b"<", 0, document.index(value.encode())), document.index(value.encode())
    element = document[start : document.index(b">", document.index(b"</", end)) + 1]
    other = element.replace(value.encode(), b"5567125082")
    other = other.replace(b' schemeID="0192"', b"")
    for both in (element + other, other + element):
        assert getattr(identity_of(document.replace(element, both, 1)), role) is None
    mail = element.replace(value.encode(), b"a@example.com").replace(b'"0192"', b'"EM"')
    if place == "EndpointID":
        assert getattr(identity_of(document.replace(element, mail + element, 1)), role) == readable


@pytest.mark.parametrize(
    ("scheme", "text", "sender"),
    [
        ("", "987654325", (SELLER, "document")),
        ("", "7300010000001", ("0088:7300010000001", "document")),
        ("", "", (SELLER, "company")),
        ("", "123456785", None),
        ("", "5567125082", None),  # of two participants
        ("XX", "987654325", None),
        ("EM", "post@acme.example", (SELLER, "company")),  # no id of any network
    ],
)
def test_sender_by_its_value(scheme: str, text: str, sender: tuple[str, str] | None) -> None:
    """A sender without a scheme is the company's only participant with this value; another text is nobody's."""
    own = [SELLER, "0088:7300010000001", "0007:5567125082", "9955:5567125082"]
    named = f' schemeID="{scheme}"' if scheme else ""
    document = invoice().replace(b' schemeID="0192">987654325', f"{named}>{text}".encode())
    identity = identify(read(io.BytesIO(document)), company="acme", participants=own)
    assert identity.sender == (sender[0] if sender else None)
    assert identity.sources.get("sender") == (sender[1] if sender else None)


def test_two_processes() -> None:
    """Where a document states two processes, the only one of the code list doesn't count either."""
    process = b"<cbc:ProfileID>urn:fdc:peppol.eu:poacc:bis:order_only:3</cbc:ProfileID>"
    document = order().replace(process, process + b"<cbc:ProfileID>urn:x</cbc:ProfileID>")
    document = document.replace(b"Order-2", b"OrderCancellation-2").replace(b"<Order ", b"<OrderCancellation ")
    document = document.replace(b"</Order>", b"</OrderCancellation>")
    assert fault_of(document.replace(b"trns:order:3", b"trns:order_cancellation:3")).code == "no-process-id"


@pytest.mark.parametrize(
    "written", ["Invoice", "::Invoice##urn:x::2.1", "urn:x::Invoice##::2.1", "urn:x::Invoice##a::"]
)
def test_incomplete_document_id(written: str) -> None:
    """A document id of which a part is empty is quoted in the error."""
    fault = fault_of(envelope(invoice(), document_id=written))
    assert (fault.code, f'"{written}"' in whole(fault)) == ("no-document-id", True)


@pytest.mark.parametrize(
    ("document", "code", "place", "field"),
    [
        (invoice(sender=None), "no-sender", "/Invoice/AccountingSupplierParty/Party/EndpointID", "sender"),
        (invoice(receiver=None), "no-receiver", "/Invoice/AccountingCustomerParty/Party/EndpointID", "receiver"),
        (order(receiver=None), "no-receiver", "/Order/SellerSupplierParty/Party/EndpointID", "receiver"),
        (invoice(customization=""), "no-document-id", "/Invoice/CustomizationID", "document_id"),
        (invoice(customization="x", process=""), "no-process-id", "/Invoice/ProfileID", "process_id"),
        (invoice(receiver="EM:a@b.no"), "no-receiver", '"a@b.no" with schemeID "EM" is no participant', "receiver"),
        (envelope(b"<?xml?><a/>", receiver="urn:x"), "no-receiver", '"urn:x" is no participant', "receiver"),
    ],
)
def test_missing(document: bytes, code: str, place: str, field: str) -> None:
    """What is missing is named, with the place that was looked at and the line of YAML that mends it."""
    fault = fault_of(document)
    assert fault.code == code
    assert place in whole(fault)
    assert f"{field}: " in whole(fault)


@pytest.mark.parametrize(
    ("participant", "why"),
    [("0192:98 76", "blank"), ("0192:blåbær", "character"), (f"0192:{'9' * 131}", "longer than 130")],
)
def test_bad_participant(participant: str, why: str) -> None:
    """What can't be a ParticipantID is not sent."""
    fault = fault_of(invoice(receiver=participant))
    assert fault.code == "bad-participant"
    assert why in whole(fault)


@pytest.mark.parametrize("process", ["Invoicing on purchase order", "x" * 201])
def test_bad_process(process: str) -> None:
    """What can't be a process id is not sent."""
    assert fault_of(invoice(process=process)).code == "no-process-id"


@pytest.mark.parametrize(
    ("document", "warning"),
    [
        (invoice(receiver="9908:810418052"), "removed the scheme 9908 (NO:ORGNR); use 0192 instead"),
        (invoice(receiver="9999:810418052"), "the scheme 9999 is not in the Peppol code list"),
        (invoice(customization="urn:www.cenbii.eu:transaction:biitrns010:ver2.0:extended:urn:www.peppol.eu:bis:peppol4a:ver2.0"),
         "deprecated this document type"),
        (invoice(process="urn:www.cenbii.eu:profile:bii04:ver1.0"), "deprecated this process"),
    ],
)  # fmt: skip
def test_warnings(document: bytes, warning: str) -> None:
    """What the code lists have removed or deprecated, or don't know, is said and stops nothing."""
    reading = reading_of(document)
    identity = identify(reading)
    assert any(warning in said for said in identity.warnings)
    demand(identity, reading)


@pytest.mark.parametrize(
    ("right", "wrong"), [("0192:987654325", "0192:987654321"), ("0088:7300010000001", "0088:7300010000002"),
                         ("9930:DE122268496", "9930:DE122268497"), ("0007:5567125082", "0007:5567125083"),
                         ("0245:2022749619", "0245:2022749618"), ("0218:40003521600", "0218:40003521601")]
)  # fmt: skip
def test_check_digits(right: str, wrong: str) -> None:
    """A check digit that doesn't fit is said, and stops nothing."""
    assert not identity_of(invoice(sender=right)).warnings
    assert any("check digit" in said for said in identity_of(invoice(sender=wrong)).warnings)


@pytest.mark.parametrize("participant", ["0218:400035216", "0009:12345678200002"])
def test_length_that_only_the_list_knows(participant: str) -> None:
    """A number of a length that the code list names has no wrong form, whatever the check digits of others are."""
    assert not any("form" in said for said in identity_of(invoice(sender=participant)).warnings)
