"""Who a document names: scheme names, several parties in one role, and documents that don't say who sends them."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest
from support.documents import BUYER, SELLER, invoice
from support.notes import whole

from filedrop.errors import DocumentError
from filedrop.identify import Identity, codelists, demand, identify, read

UBL = "urn:oasis:names:specification:ubl:schema:xsd:"
UN = "urn:un:unece:uncefact:data:standard:"
SUCCESSORS = {
    "NO:ORGNR": "0192",
    "NL:OIN": "0190",
    "DE:LID": "0204",
    "IS:KT": "0196",
    "UBLBE": "0208",
}  # "Use 0192 ..."


def identity_of(document: str | bytes) -> Identity:
    return identify(read(io.BytesIO(document.encode() if isinstance(document, str) else document)))


def fault_of(document: str) -> DocumentError:
    reading = read(io.BytesIO(document.encode()))
    with pytest.raises(DocumentError) as caught:
        demand(identify(reading, participants=[SELLER]), reading)
    return caught.value


def ubl(name: str, *parties: str) -> str:
    """A UBL document of that name with these parties, in which `<e>` stands for an EndpointID by NO:ORG."""
    whole = "".join(parties).replace("<e>", '<c:EndpointID schemeID="NO:ORG">').replace("</e>", "</c:EndpointID>")
    return f"""<{name} xmlns="{UBL}{name}-2" xmlns:a="{UBL}CommonAggregateComponents-2"
 xmlns:c="{UBL}CommonBasicComponents-2"><c:CustomizationID>urn:ours</c:CustomizationID>
 <c:ProfileID>urn:ours</c:ProfileID>{whole}</{name}>"""


def status(*parties: str) -> str:
    """The status of a French invoice (CDAR, D22B) from and to these parties."""
    return f"""<r:CrossDomainAcknowledgementAndResponse xmlns:r="{UN}CrossDomainAcknowledgementAndResponse:100"
 xmlns="{UN}ReusableAggregateBusinessInformationEntity:100"><r:ExchangedDocument>{"".join(parties)}</r:ExchangedDocument>
</r:CrossDomainAcknowledgementAndResponse>"""


def trade_party(role: str, address: str | None) -> str:
    scheme, _, value = (address or "").partition(":")
    uri = f'<URIUniversalCommunication><URIID schemeID="{scheme}">{value}</URIID></URIUniversalCommunication>'
    return f'<{role}><GlobalID schemeID="0002">100000009</GlobalID>{uri if address else ""}</{role}>'


def test_every_scheme_name() -> None:
    """Every scheme that the code list names, in any case, is its code, or the one that the list says to use instead."""
    schemes = json.loads((Path(codelists.__file__).parent / "schemes.json").read_text(encoding="utf-8"))["entries"]
    for code, (name, *_) in schemes.items():
        for written in (code, name, name.lower(), f"\n{name} "):
            document = invoice().replace(b'schemeID="0192">987654325', f'schemeID="{written}">X'.encode())
            expected = code if written == code else SUCCESSORS.get(name, code)
            assert identity_of(document).sender == f"{expected}:X"


@pytest.mark.parametrize(
    "scheme", ["EM", "EAN", "0192x", "192", "00192", "ZZZ", "iso6523-actorid-upis", "http://x/0192"]
)
def test_no_scheme(scheme: str) -> None:
    """What is neither four digits nor a name in the list names no participant: nothing is guessed."""
    document = invoice().replace(b'schemeID="0192">987654325', f'schemeID="{scheme}">987654325'.encode())
    identity = identity_of(document)
    assert identity.sender is None
    assert any(f'"987654325" with schemeID "{scheme}" is no participant' in warning for warning in identity.warnings)


def test_agency() -> None:
    """The agency of a scheme, as OIOUBL and the old BIS write it, is not needed: the scheme says it all."""
    with_agency = b'schemeAgencyID="9" schemeAgencyName="GS1" schemeID="GLN">5798000000124'
    document = invoice().replace(b'schemeID="0192">987654325', with_agency)
    assert identity_of(document).sender == "0088:5798000000124"
    assert identity_of(document.replace(b' schemeID="GLN"', b"")).sender is None


def test_length() -> None:
    """A ParticipantID has at most 130 characters behind its code and colon (Peppol policy for identifiers 4.4)."""
    longest = f"0225:{'A' * 130}"
    reading = read(io.BytesIO(invoice(receiver=longest)))
    assert demand(identify(reading), reading).receiver == longest
    assert fault_of(invoice(receiver=f"{longest}A").decode()).code == "bad-participant"


@pytest.mark.parametrize("blanks", [3, 1995, 2000, 200_000])
def test_blanks(blanks: int) -> None:
    """However many blanks stand around an id, it is whole; where they stand within it, it is none, nor a part of it."""
    stated, wide = b">987654325<", b" " * blanks
    around = invoice().replace(stated, stated.replace(b"987654325", wide + b"987654325" + wide))
    assert identity_of(around).sender == SELLER
    assert fault_of(invoice().replace(stated, b">98765" + wide + b"4325<").decode()).code == "bad-participant"


@pytest.mark.parametrize("name", ["CallForTenders", "ExpressionOfInterestRequest"])
def test_several_parties(name: str) -> None:
    """Of the contracting parties of a joint procurement none is picked, unless they share one address."""

    def joint(*endpoints: str) -> Identity:
        return identity_of(
            ubl(name, *(f"<a:ContractingParty><a:Party>{one}</a:Party></a:ContractingParty>" for one in endpoints))
        )

    role = "sender" if name == "CallForTenders" else "receiver"
    address = f"0192:{SELLER.partition(':')[2]}"
    seller, buyer = (f"<e>{participant.partition(':')[2]}</e>" for participant in (SELLER, BUYER))
    assert getattr(joint(seller, f"<e>{SELLER}</e>"), role) == address
    assert getattr(joint("", seller), role) == address
    both = joint(seller, buyer)
    assert getattr(both, role) is None
    assert any(f"{role}: " in said and f'both "{SELLER}" and "{BUYER}" stand' in said for said in both.warnings)


@pytest.mark.parametrize(("element", "name"), [("CustomizationID", "document_id"), ("ProfileID", "process_id")])
def test_several_types(element: str, name: str) -> None:
    """Of two document types, or processes, that a document states none is picked either, unless they are the same."""
    stated = re.search(rf"<cbc:{element}>(.*)</cbc:{element}>".encode(), invoice())
    assert stated
    twice = identity_of(invoice().replace(stated[0], stated[0] * 2))
    assert getattr(twice, name) == getattr(identity_of(invoice()), name)
    both = identity_of(invoice().replace(stated[0], stated[0].replace(stated[1], b"urn:other") + stated[0]))
    assert getattr(both, name) is None
    assert any(f"{name}: " in said and 'both "urn:other" and "' in said for said in both.warnings)


def test_several_recipients() -> None:
    """The status of a French invoice goes to its only recipient with an electronic address; of two none is picked."""
    platform, seller = (
        trade_party("SenderTradeParty", None),
        trade_party("RecipientTradeParty", "0225:100000009_STATUTS"),
    )
    ministry = trade_party("RecipientTradeParty", None)
    identity = identity_of(status(platform, ministry, seller))
    assert (identity.sender, identity.receiver) == (None, "0225:100000009_STATUTS")
    buyer = trade_party("RecipientTradeParty", "0225:200000008")
    assert identity_of(status(platform, seller, buyer)).receiver is None


def test_nobody() -> None:
    """Where a document type doesn't fix who sends it, nothing is guessed, and the note says that nothing says it."""
    waybill = ubl("Waybill", "<a:ConsignorParty><e>1</e></a:ConsignorParty><a:CarrierParty><e>2</e></a:CarrierParty>")
    identity = identity_of(waybill)
    assert (identity.sender, identity.receiver) == (None, None)
    assert identity.warnings == ("document_id: no code list knows this document type",)
    assert "/Waybill, in which no element states it" in whole(fault_of(waybill))
