"""A Peppol Invoice Response 3: what a receiver answers to an invoice or credit note. Pure."""

from __future__ import annotations

import re
from datetime import date
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

ACCEPTED, REJECTED, QUERIED = "AP", "RE", "UQ"
PRELIMINARY = (QUERIED, "AB", "IP")  # another answer may follow
TYPE_CODES = {"Invoice": "380", "CreditNote": "381", "CrossIndustryInvoice": "380"}  # where the document has none
"""The roots of the documents that can be answered so, each with its usual code (UNCL1001)."""
_UBL = "urn:oasis:names:specification:ubl:schema:xsd"
_CUSTOMIZATION = "urn:fdc:peppol.eu:poacc:trns:invoice_response:3"
PROCESS_ID = "urn:fdc:peppol.eu:poacc:bis:invoice_response:3"
DOCUMENT_ID = f"{_UBL}:ApplicationResponse-2::ApplicationResponse##{_CUSTOMIZATION}::2.1"
_PARTICIPANT = re.compile(r"(?P<scheme>[0-9]{4}):(?P<value>\S+)")
_NO_REASON = {
    REJECTED: "The receiver rejects this document and has given no reason.",
    QUERIED: "The receiver has a question about this document and has given no details.",
}


def can_name(participant: str) -> bool:
    """Whether a response can name this ParticipantID: its scheme is a code of four digits."""
    return _PARTICIPANT.fullmatch(participant) is not None


def invoice_response(
    code: str,
    *,
    number: str,
    now: datetime,
    sender: tuple[str, str | None],
    receiver: tuple[str, str | None],
    answered: tuple[str, str | None, str],
    reason: str = "",
) -> bytes:
    """The response with this code and number. `sender` and `receiver`: a ParticipantID, and the name if it is known.

    `answered` is the number, issue date and type code of the document. `reason` is for what isn't accepted. All texts
    have only characters that XML may contain.
    """
    of_document, issued, type_code = answered
    status = ""
    if code != ACCEPTED:
        status = (
            '<cac:Status><cbc:StatusReasonCode listID="OPStatusReason">OTH</cbc:StatusReasonCode>'
            f"<cbc:StatusReason>{escape(reason or _NO_REASON[code])}</cbc:StatusReason></cac:Status>"
        )
    issue_date = f"<cbc:IssueDate>{issued}</cbc:IssueDate>" if _is_date(issued) else ""
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<ApplicationResponse xmlns="{_UBL}:ApplicationResponse-2" xmlns:cac="{_UBL}:CommonAggregateComponents-2"
    xmlns:cbc="{_UBL}:CommonBasicComponents-2">
  <cbc:CustomizationID>{_CUSTOMIZATION}</cbc:CustomizationID>
  <cbc:ProfileID>{PROCESS_ID}</cbc:ProfileID>
  <cbc:ID>{escape(number)}</cbc:ID>
  <cbc:IssueDate>{now:%Y-%m-%d}</cbc:IssueDate>
  {_party("SenderParty", *sender)}
  {_party("ReceiverParty", *receiver)}
  <cac:DocumentResponse>
    <cac:Response><cbc:ResponseCode>{code}</cbc:ResponseCode>{status}</cac:Response>
    <cac:DocumentReference>
      <cbc:ID>{escape(of_document)}</cbc:ID>{issue_date}
      <cbc:DocumentTypeCode>{escape(type_code)}</cbc:DocumentTypeCode>
    </cac:DocumentReference>
  </cac:DocumentResponse>
</ApplicationResponse>
""".encode()


def _is_date(written: str | None) -> bool:
    try:
        return date.fromisoformat(written or "").isoformat() == written
    except ValueError:
        return False


def _party(element: str, participant: str, name: str | None) -> str:
    found = _PARTICIPANT.fullmatch(participant)
    if found is None:
        raise ValueError(f"{participant} is no ParticipantID")
    scheme, value = escape(found["scheme"]), escape(found["value"])
    return (
        f'<cac:{element}><cbc:EndpointID schemeID="{scheme}">{value}</cbc:EndpointID>'
        f"<cac:PartyLegalEntity><cbc:RegistrationName>{escape(name or participant)}</cbc:RegistrationName>"
        f"</cac:PartyLegalEntity></cac:{element}>"
    )
