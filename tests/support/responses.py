"""Responses of the tests' own writing, in the shape of the PEPPOL BIS that they name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.documents import BUYER, SELLER

if TYPE_CHECKING:
    from support.world import World

UBL = "urn:oasis:names:specification:ubl:schema:xsd"


def _party(name: str, participant: str) -> str:
    scheme, _, number = participant.partition(":")
    return f'<cac:{name}><cbc:EndpointID schemeID="{scheme}">{number}</cbc:EndpointID></cac:{name}>'


def response(
    number: str, code: str = "RE", reason: str = "The order number is missing.", *, kind: str = "380", id_: str = "R-1"
) -> bytes:
    """An Invoice Response of the buyer's to the seller."""
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<ApplicationResponse xmlns="{UBL}:ApplicationResponse-2" xmlns:cac="{UBL}:CommonAggregateComponents-2"
    xmlns:cbc="{UBL}:CommonBasicComponents-2">
  <cbc:CustomizationID>urn:fdc:peppol.eu:poacc:trns:invoice_response:3</cbc:CustomizationID>
  <cbc:ProfileID>urn:fdc:peppol.eu:poacc:bis:invoice_response:3</cbc:ProfileID>
  <cbc:ID>{id_}</cbc:ID><cbc:IssueDate>2026-11-21</cbc:IssueDate>
  {_party("SenderParty", BUYER)}{_party("ReceiverParty", SELLER)}
  <cac:DocumentResponse>
    <cac:Response>
      <cbc:ResponseCode>{code}</cbc:ResponseCode>
      <cac:Status><cbc:StatusReasonCode>REF</cbc:StatusReasonCode><cbc:StatusReason>{reason}</cbc:StatusReason></cac:Status>
    </cac:Response>
    <cac:DocumentReference><cbc:ID>{number}</cbc:ID><cbc:DocumentTypeCode>{kind}</cbc:DocumentTypeCode></cac:DocumentReference>
  </cac:DocumentResponse>
</ApplicationResponse>""".encode()


def message_level(profile: str, message: str, reason: str) -> bytes:
    """A rejection by Message Level Response (`mlr`) or Status (`mls`) of a message, by its id."""
    names = {
        "mlr": ("urn:fdc:peppol.eu:poacc:trns:mlr:3", "urn:fdc:peppol.eu:poacc:bis:mlr:3"),
        "mls": ("urn:peppol:edec:mls:1.0", "urn:peppol:edec:mls"),
    }
    customization, process = names[profile]
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<ApplicationResponse xmlns="{UBL}:ApplicationResponse-2" xmlns:cac="{UBL}:CommonAggregateComponents-2"
    xmlns:cbc="{UBL}:CommonBasicComponents-2">
  <cbc:CustomizationID>{customization}</cbc:CustomizationID>
  <cbc:ProfileID>{process}</cbc:ProfileID>
  <cbc:ID>M-1</cbc:ID><cbc:IssueDate>2026-11-21</cbc:IssueDate><cbc:IssueTime>12:00:00Z</cbc:IssueTime>
  {_party("SenderParty", BUYER)}{_party("ReceiverParty", SELLER)}
  <cac:DocumentResponse>
    <cac:Response><cbc:ResponseCode>RE</cbc:ResponseCode><cbc:Description>{reason}</cbc:Description></cac:Response>
    <cac:DocumentReference><cbc:ID>{message}</cbc:ID><cbc:DocumentTypeCode>9</cbc:DocumentTypeCode></cac:DocumentReference>
  </cac:DocumentResponse>
</ApplicationResponse>""".encode()


def order_response(number: str, code: str) -> bytes:
    """An order response of the seller's, who here got the order."""
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<OrderResponse xmlns="{UBL}:OrderResponse-2" xmlns:cac="{UBL}:CommonAggregateComponents-2"
    xmlns:cbc="{UBL}:CommonBasicComponents-2">
  <cbc:CustomizationID>urn:fdc:peppol.eu:poacc:trns:order_response:3</cbc:CustomizationID>
  <cbc:ID>1</cbc:ID><cbc:OrderResponseCode>{code}</cbc:OrderResponseCode>
  <cac:OrderReference><cbc:ID>{number}</cbc:ID></cac:OrderReference>
</OrderResponse>""".encode()


def invoice_status(
    number: str = "1001",
    code: str = "213",
    *,
    issue_date: str = "20261120",
    kind: str = "380",
    seller: str = "100000009",
    buyer: str = "200000008",
    by: str = "BY",
    why: str = "<ram:ReasonCode>TX_TVA_ERR</ram:ReasonCode>",
) -> bytes:
    """The status of a French invoice (CDAR, D22B) that the buyer's platform sends to the seller."""
    un = "urn:un:unece:uncefact:data:standard"
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<rsm:CrossDomainAcknowledgementAndResponse xmlns:rsm="{un}:CrossDomainAcknowledgementAndResponse:100"
    xmlns:ram="{un}:ReusableAggregateBusinessInformationEntity:100" xmlns:udt="{un}:UnqualifiedDataType:100"
    xmlns:qdt="{un}:QualifiedDataType:100">
  <rsm:ExchangedDocument>
    <ram:ID>{number}_{code}</ram:ID>
    <ram:SenderTradeParty><ram:RoleCode>WK</ram:RoleCode></ram:SenderTradeParty>
    <ram:IssuerTradeParty>
      <ram:GlobalID schemeID="0002">{buyer}</ram:GlobalID><ram:RoleCode>{by}</ram:RoleCode>
    </ram:IssuerTradeParty>
    <ram:RecipientTradeParty>
      <ram:GlobalID schemeID="0002">{seller}</ram:GlobalID><ram:RoleCode>SE</ram:RoleCode>
    </ram:RecipientTradeParty>
  </rsm:ExchangedDocument>
  <rsm:AcknowledgementDocument>
    <ram:ReferenceReferencedDocument>
      <ram:IssuerAssignedID>{number}</ram:IssuerAssignedID>
      <ram:TypeCode>{kind}</ram:TypeCode>
      <ram:FormattedIssueDateTime>
        <qdt:DateTimeString format="102">{issue_date}</qdt:DateTimeString>
      </ram:FormattedIssueDateTime>
      <ram:ProcessConditionCode>{code}</ram:ProcessConditionCode>
      <ram:IssuerTradeParty><ram:GlobalID schemeID="0002">{seller}</ram:GlobalID></ram:IssuerTradeParty>
      <ram:SpecifiedDocumentStatus>{why}</ram:SpecifiedDocumentStatus>
    </ram:ReferenceReferencedDocument>
  </rsm:AcknowledgementDocument>
</rsm:CrossDomainAcknowledgementAndResponse>""".encode()


def tie_responses(world: World) -> None:
    """Receive all messages, track each document to its delivery, and write each response that can be tied.

    How many runs that takes depends on the machine: a document is tracked again only after a pause, and some get the
    ids by which they are tied when they are delivered.
    """
    world.run_once()
    world.until(lambda: _is_tied(world), what="each document is delivered, and each response written")


def _is_tied(world: World) -> bool:
    world.run_once()
    with world.locked() as journal:
        left = journal.engine.read("SELECT 1 FROM documents WHERE state = 'sent'")
        return not left + journal.engine.read("SELECT 1 FROM responses WHERE owed_to <> ''")
