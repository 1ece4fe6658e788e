"""SBDH envelopes: the Peppol Business Message Envelope, and what else is written as one."""

from __future__ import annotations

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.documents import BILLING_PROCESS, BUYER, INVOICE_ID, SELLER, credit_note, invoice
from support.notes import whole

from filedrop.errors import DocumentError
from filedrop.identify import Identity, Reading, demand, identify, read

NAMESPACE = "http://www.unece.org/cefact/namespaces/StandardBusinessDocumentHeader"
SENDER, RECEIVER = "0088:7300010000001", "0007:5567125082"  # not those of the documents inside
PINT = "urn:oasis:names:specification:ubl:schema:xsd:Invoice-2::Invoice##urn:peppol:pint:billing-1@jp-1::2.1"
SCOPES = {  # Type -> InstanceIdentifier, Identifier; as in the Peppol Business Message Envelope 2.0
    "DOCUMENTID": (PINT, "peppol-doctype-wildcard"),
    "PROCESSID": ("urn:peppol:bis:billing", "cenbii-procid-ubl"),
    "COUNTRY_C1": ("JP", ""),
    "MLS_TO": ("0242:000001", "iso6523-actorid-upis"),
    "MLS_TYPE": ("FAILURE_ONLY", ""),
}


def reading_of(document: str) -> Reading:
    return read(io.BytesIO(document.encode()))


def identity_of(document: str) -> Identity:
    return identify(reading_of(document))


def payload(document: bytes) -> str:
    return document.decode().partition("?>")[2]


def party(role: str, participant: str) -> str:
    return f'<{role}><Identifier Authority="iso6523-actorid-upis">{participant}</Identifier></{role}>'


def scope(*elements: str) -> str:
    return f"<Scope>{''.join(elements)}</Scope>"


def enveloped(parties: str, scopes: str, inside: str) -> str:
    header = f"<HeaderVersion>1.0</HeaderVersion>{parties}<BusinessScope>{scopes}</BusinessScope>"
    return f'<StandardBusinessDocument xmlns="{NAMESPACE}">{in_header(header)}{inside}</StandardBusinessDocument>'


def in_header(content: str) -> str:
    return f"<StandardBusinessDocumentHeader>{content}</StandardBusinessDocumentHeader>"


PARTIES = party("Sender", SENDER) + party("Receiver", RECEIVER)
IDS = scope("<Type>DOCUMENTID</Type>", f"<InstanceIdentifier>{PINT}</InstanceIdentifier>")


def test_a_scope_with_two_ids() -> None:
    """Of two document ids in one scope none is picked."""
    two = scope(
        *(f"<InstanceIdentifier>{one}</InstanceIdentifier>" for one in (INVOICE_ID, PINT)), "<Type>DOCUMENTID</Type>"
    )
    identity = identity_of(enveloped(PARTIES, two, payload(invoice())))
    assert identity.document_id is None
    assert any(f'both "{INVOICE_ID}" and "{PINT}" stand' in said for said in identity.warnings)


def test_documents_to_two_receivers() -> None:
    """Of two documents in one envelope, the second doesn't go to whom only the first names."""
    documents = payload(invoice(receiver=BUYER)) + payload(invoice(receiver=RECEIVER))
    assert identity_of(enveloped("", IDS, documents)).receiver is None
    assert identity_of(enveloped("", IDS, payload(invoice()) * 2)).receiver == BUYER
    assert identity_of(enveloped(PARTIES, IDS, documents)).receiver == RECEIVER


@settings(deadline=None)
@given(st.permutations(list(SCOPES)), st.data())
def test_scopes(order: list[str], data: st.DataObject) -> None:
    """Scopes may stand in any order, the elements in them too, and those that say something else are passed over."""
    scopes = []
    for name in order:
        instance, scheme = SCOPES[name]
        elements = [f"<Type> {name} </Type>", f"<InstanceIdentifier>\n{instance}</InstanceIdentifier>"]
        elements += [f"<Identifier>{scheme}</Identifier>"] if scheme else []
        scopes.append(scope(*data.draw(st.permutations(elements))))
    identity = identity_of(enveloped(PARTIES, "".join(scopes), payload(invoice())))
    assert (identity.sender, identity.receiver) == (SENDER, RECEIVER)
    assert (identity.document_id, identity.process_id) == (PINT, "urn:peppol:bis:billing")
    assert set(identity.sources.values()) == {"envelope"}


@pytest.mark.parametrize(
    "scopes",
    [
        "",
        scope("<Type>DOCUMENTID</Type>"),
        scope("<Type>DOCUMENTID</Type>", "<InstanceIdentifier/>"),
        scope("<Type>DOCUMENTID</Type>") + scope(f"<InstanceIdentifier>{PINT}</InstanceIdentifier>"),
        scope("<Type>DOCUMENTID</Type>") + scope("<Type/>", f"<InstanceIdentifier>{PINT}</InstanceIdentifier>"),
        scope("<Type>DOCUMENTID</Type>", f"<CorrelationInformation>{IDS}</CorrelationInformation>"),
        scope('<Type xmlns="urn:other">DOCUMENTID</Type>', f"<InstanceIdentifier>{PINT}</InstanceIdentifier>"),
    ],
)
def test_scope_without_an_id(scopes: str) -> None:
    """A scope that doesn't say both its type and its id says nothing: then the document's own ids count."""
    identity = identity_of(enveloped(PARTIES, scopes, payload(invoice())))
    assert (identity.document_id, identity.process_id) == (INVOICE_ID, BILLING_PROCESS)
    assert (identity.sources["document_id"], identity.sources["sender"]) == ("document", "envelope")


def test_two_receivers() -> None:
    """Of two receivers none is picked, nor the one that the document inside names: a person says who is meant."""
    reading = reading_of(enveloped(PARTIES + party("Receiver", BUYER), IDS, payload(invoice())))
    identity = identify(reading)
    assert (identity.sender, identity.receiver) == (SENDER, None)
    with pytest.raises(DocumentError) as caught:
        demand(identity, reading)
    assert caught.value.code == "no-receiver"
    assert f'Receiver/Identifier, where both "{RECEIVER}" and "{BUYER}" stand' in whole(caught.value)


@pytest.mark.parametrize(
    "receiver",
    [
        f"<Receiver>{RECEIVER}</Receiver>",
        f"<Receiver><identifier>{RECEIVER}</identifier></Receiver>",
        f'<Receiver><Identifier xmlns="urn:other">{RECEIVER}</Identifier></Receiver>',
    ],
)
def test_receiver_in_another_form(receiver: str) -> None:
    """Whom a Receiver names without an Identifier of the standard is not passed over for the document's receiver."""
    sender = party("Sender", SENDER)
    assert identity_of(enveloped(sender + receiver, IDS, payload(invoice()))).receiver == RECEIVER
    reading = reading_of(enveloped(sender + receiver.replace(RECEIVER, "C-17"), IDS, payload(invoice())))
    with pytest.raises(DocumentError) as caught:
        demand(identify(reading), reading)
    assert '"C-17" is no participant' in whole(caught.value)


def test_two_document_ids() -> None:
    """Of two document ids none is picked either."""
    other = scope("<Type>DOCUMENTID</Type>", f"<InstanceIdentifier>{INVOICE_ID}</InstanceIdentifier>")
    identity = identity_of(enveloped(PARTIES, IDS + other, payload(invoice())))
    assert identity.document_id is None
    assert any(PINT in warning and INVOICE_ID in warning for warning in identity.warnings)


def test_the_same_receiver_twice() -> None:
    """One receiver that is named twice, in another form, is one receiver; beside one that can't be read, none is."""
    twice = PARTIES + party("Receiver", f"iso6523-actorid-upis::{RECEIVER}")
    identity = identity_of(enveloped(twice, IDS, payload(invoice())))
    assert (identity.receiver, identity.sources["receiver"]) == (RECEIVER, "envelope")
    more = party("Receiver", "urn:x:unregistered:C4")
    assert identity_of(enveloped(twice + more, IDS, payload(invoice()))).receiver is None


@pytest.mark.parametrize("prefix", ["iso6523-actorid-upis::", "ISO6523-ACTORID-UPIS::"])
def test_prefix(prefix: str) -> None:
    """The prefix that PEPPOL puts before participants in some places is not part of a ParticipantID."""
    parties = party("Sender", prefix + SENDER) + party("Receiver", f"\n {prefix}{RECEIVER} ")
    identity = identity_of(enveloped(parties, IDS, payload(invoice())))
    assert (identity.sender, identity.receiver) == (SENDER, RECEIVER)


@pytest.mark.parametrize("scheme", ["busdox-docid-qns", "peppol-doctype-wildcard", "BUSDOX-DOCID-QNS", "bdx-docid-qns"])
def test_scheme_of_a_document_id(scheme: str) -> None:
    """The name of the scheme before a document id or a process id is no part of it; the name alone is no id."""
    ids = scope("<Type>DOCUMENTID</Type>", f"<InstanceIdentifier>{scheme}::{PINT}</InstanceIdentifier>")
    process = scope(
        "<Type>PROCESSID</Type>", "<InstanceIdentifier>\ncenbii-procid-ubl::bdx:noprocess</InstanceIdentifier>"
    )
    identity = identity_of(enveloped(PARTIES, ids + process, payload(invoice())))
    assert (identity.document_id, identity.process_id) == (PINT, "bdx:noprocess")
    name = scope("<Type>DOCUMENTID</Type>", "<InstanceIdentifier>busdox-docid-qns::</InstanceIdentifier>")
    assert identity_of(enveloped(PARTIES, name, payload(invoice()))).document_id == INVOICE_ID


def test_document_id_with_and_without_its_scheme() -> None:
    """One document id that is stated twice, once with the name of its scheme, is one document id."""
    again = scope("<Type>DOCUMENTID</Type>", f"<InstanceIdentifier>busdox-docid-qns::{PINT}</InstanceIdentifier>")
    assert identity_of(enveloped(PARTIES, IDS + again, payload(invoice()))).document_id == PINT


def test_wildcard() -> None:
    """A wildcard, by which a receiver registers, is no document id: it is refused with that reason."""
    wildcard = f"peppol-doctype-wildcard::{PINT.replace('@jp-1', '*')}"
    ids = scope("<Type>DOCUMENTID</Type>", f"<InstanceIdentifier>{wildcard}</InstanceIdentifier>")
    reading = reading_of(enveloped(PARTIES, ids, payload(invoice())))
    with pytest.raises(DocumentError, match="document id") as caught:
        demand(identify(reading), reading)
    assert 'billing-1*::2.1" has a wildcard' in whole(caught.value)
    assert caught.value.code == "no-document-id"


def test_process_id_of_a_document_with_its_scheme() -> None:
    """A ProfileID may have the name of its scheme before it, too."""
    reading = reading_of(invoice(process=f"cenbii-procid-ubl::{BILLING_PROCESS}").decode())
    assert demand(identify(reading), reading).process_id == BILLING_PROCESS


def test_nothing_inside() -> None:
    """An envelope without a document has its ids, and no number or date."""
    reading = reading_of(enveloped(PARTIES, IDS, ""))
    assert {name: found.id for name, found in reading.found.items()} == {
        "sender": SENDER,
        "receiver": RECEIVER,
        "document_id": PINT,
    }
    assert (reading.root_name, reading.number, reading.issue_date) == ("StandardBusinessDocument", None, None)
    assert reading.missing["process_id"].place.endswith("/BusinessScope/Scope/InstanceIdentifier")


def test_two_documents() -> None:
    """Of two documents in one envelope the first says what it is, and both are what it means."""
    first, second, other = payload(invoice()), payload(credit_note()), payload(credit_note("2002"))
    reading = reading_of(enveloped("", "", first + second))
    assert (reading.root_name, reading.number) == ("Invoice", "1001")
    assert {name: found.id for name, found in reading.found.items()} == {
        "sender": SELLER,
        "receiver": BUYER,
        "document_id": INVOICE_ID,
        "process_id": BILLING_PROCESS,
    }
    meanings = [reading_of(enveloped("", "", inside)).meaning for inside in (first + second, first + other, first)]
    assert len(set(meanings)) == len(meanings)


def test_not_xml_inside() -> None:
    """A document that isn't XML stands in an envelope as base64, and the envelope says what it is."""
    edifact = "urn:peppol:doctype:edifact:ORDERS##eb2b::0"
    scopes = scope("<Type>DOCUMENTID</Type>", f"<InstanceIdentifier>{edifact}</InstanceIdentifier>")
    inside = '<BinaryContent xmlns="http://peppol.eu/xsd/ticc/envelope/1.0" mimeType="a/b">VU5C</BinaryContent>'
    identity = identity_of(enveloped(PARTIES, scopes, inside))
    assert (identity.document_id, identity.sender, identity.receiver) == (edifact, SENDER, RECEIVER)
    assert identity.process_id is None  # the code list has several for it


def test_header_below() -> None:
    """Only what a file begins with is its envelope: a header anywhere else in it says nothing."""
    header = in_header(PARTIES + f"<BusinessScope>{IDS}</BusinessScope>").replace(">", f' xmlns="{NAMESPACE}">', 1)
    document = invoice().decode().replace("<cbc:CustomizationID>", f"{header}<cbc:CustomizationID>", 1)
    assert reading_of(document).found == reading_of(invoice().decode()).found
