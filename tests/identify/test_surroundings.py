"""Whatever else stands in a document, before or behind what it says of itself, its ids are the same."""

from __future__ import annotations

import base64
import io
from copy import deepcopy
from xml.etree import ElementTree as ET

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.disguise import disguised
from support.documents import credit_note, envelope, invoice, order
from support.matrix import is_full

from filedrop.identify import Reading, identify, read

UBL = "urn:oasis:names:specification:ubl:schema:xsd:"
CAC, CBC = f"{{{UBL}CommonAggregateComponents-2}}", f"{{{UBL}CommonBasicComponents-2}}"
EXT = f"{{{UBL}CommonExtensionComponents-2}}"
XML = "{http://www.w3.org/XML/1998/namespace}"
OTHER = invoice("9", "0088:7300010000001", "0007:5567125082", customization="urn:other", process="urn:other")


def element(path: str, inside: bytes | str, **attributes: str) -> ET.Element:
    """An element `cac:A/cac:B/cbc:C` with a document or a text in its innermost."""
    names = [step.replace("cac:", CAC).replace("cbc:", CBC).replace("ext:", EXT) for step in path.split("/")]
    outermost = innermost = ET.Element(names[0])
    for name in names[1:]:
        innermost = ET.SubElement(innermost, name)
    innermost.attrib.update(attributes)
    if isinstance(inside, bytes):
        innermost.append(ET.fromstring(inside))  # noqa: S314 - our own document
    else:
        innermost.text = inside
    return outermost


BASE64 = base64.b64encode(OTHER).decode()
OTHERS = [  # what belongs to the document and says nothing of it
    element("ext:UBLExtensions/ext:UBLExtension/ext:ExtensionContent", OTHER),
    element("ext:UBLExtensions/ext:UBLExtension/ext:ExtensionContent", envelope(OTHER, document_id="urn:other")),
    element("cac:AdditionalDocumentReference/cac:Attachment/cbc:EmbeddedDocumentBinaryObject", BASE64),
    element("cac:AdditionalDocumentReference/cac:Attachment/cbc:EmbeddedDocumentBinaryObject", OTHER),
    element("cac:AdditionalDocumentReference/cac:Attachment/cac:ExternalReference/cbc:Description", OTHER.decode()),
    element("cac:AdditionalDocumentReference/cac:IssuerParty/cbc:EndpointID", "1", schemeID="0192"),
    element("cac:Signature/cac:SignatoryParty/cbc:EndpointID", "1", schemeID="0192"),
    element("cac:PayeeParty/cbc:EndpointID", "1", schemeID="0192"),
    element("cac:PayeeParty/cac:Party/cbc:EndpointID", "1", schemeID="0192"),
    element("cac:OriginatorCustomerParty/cac:Party/cbc:EndpointID", "1", schemeID="0192"),
    element("cac:Delivery/cac:DeliveryParty/cbc:EndpointID", "1", schemeID="0192"),
    element("cac:InvoiceLine/cac:Item/cac:ManufacturerParty/cbc:EndpointID", "1", schemeID="0192"),
    element("cac:InvoiceLine/cac:AccountingCustomerParty/cac:Party/cbc:EndpointID", "1", schemeID="0192"),
    element("cac:OrderLine/cac:LineItem/cac:SellerSupplierParty/cac:Party/cbc:EndpointID", "1", schemeID="0192"),
    element("cac:BillingReference/cac:InvoiceDocumentReference/cbc:CustomizationID", "urn:other"),
    element("cac:AccountingSupplierParty/cac:Party/cac:AgentParty/cbc:EndpointID", "1", schemeID="0192"),
    element("cac:AccountingSupplierParty/cac:Party/cac:PartyIdentification/cbc:ID", "1", schemeID="0192"),
    element("cac:AccountingCustomerParty/cac:Party/cac:AgentParty/cac:Party/cbc:EndpointID", "1", schemeID="0192"),
    element("cac:SellerSupplierParty/cac:SellerContact/cbc:EndpointID", "1", schemeID="0192"),
    element("cac:BuyerCustomerParty/cac:Party/cbc:LogoReferenceID", "1", schemeID="0192"),
    element("{urn:other}AccountingSupplierParty/cac:Party/cbc:EndpointID", "1", schemeID="0192"),
    element("AccountingSupplierParty/Party/EndpointID", "1", schemeID="0192"),
    element("{urn:other}CustomizationID", "urn:other"),
    element("CustomizationID", "urn:other"),
    element("ProfileID", "urn:other"),
    element("{urn:other}ID", "9"),
    element("cbc:CustomizationID", ""),
    element("cbc:ProfileID", " \n"),
    element("cbc:UBLVersionID", "2.0"),
    element("cbc:ProfileExecutionID", "urn:other"),
]  # fmt: skip


@st.composite
def surrounded(draw: st.DrawFn, document: bytes) -> bytes:
    """`document` with more in it, in any places between its own elements, and with attributes that XML itself has."""
    root = ET.fromstring(document)  # noqa: S314 - our own document
    for other in draw(st.lists(st.sampled_from(OTHERS), max_size=8)):
        root.insert(draw(st.integers(0, len(root))), deepcopy(other))
    for place in root.iter():
        if draw(st.integers(0, 9)) == 0:
            place.set(f"{XML}{draw(st.sampled_from(['space', 'lang', 'id']))}", "preserve")
    return ET.tostring(root)


def reading_of(document: bytes) -> Reading:
    return read(io.BytesIO(document))


@settings(
    deadline=None,
    max_examples=50 if is_full() else 8,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(st.data(), st.sampled_from([invoice(), credit_note(), order()]), st.booleans())
def test_surroundings(data: st.DataObject, document: bytes, in_an_envelope: bool) -> None:  # noqa: FBT001 - drawn
    """Extensions, attachments, other parties, lines and an envelope that says nothing leave ids, number and date."""
    other = data.draw(surrounded(document))
    if in_an_envelope:
        other = envelope(b"?>" + other, sender=None, receiver=None, document_id=None, process_id=None)
    reading = reading_of(data.draw(disguised(other)))
    plain = reading_of(document)
    assert identify(reading) == identify(plain)
    assert (reading.root_name, reading.number) == (plain.root_name, plain.number)
    assert reading.issue_date == plain.issue_date


@settings(
    deadline=None,
    max_examples=30 if is_full() else 6,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(st.data())
def test_inside_an_envelope(data: st.DataObject) -> None:
    """What an envelope says comes first, whatever is inside it and however both are written."""
    document = envelope(b"?>" + data.draw(surrounded(OTHER)))
    identity = identify(reading_of(data.draw(disguised(document))))
    assert identity == identify(reading_of(envelope(OTHER)))
    assert set(identity.sources.values()) == {"envelope"}
