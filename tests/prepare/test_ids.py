"""The ids of the request are written into the EndpointIDs: only there, wherever the network's rules demand it."""

from __future__ import annotations

import io
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.corpus import DOCUMENTS, needs_corpus
from support.documents import BUYER, SELLER, credit_note, envelope, invoice, order
from support.prepared import in_corpus, newly_broken, on_the_wire, pieces, undone, written

from filedrop.config import parse
from filedrop.errors import DocumentError
from filedrop.identify import read
from filedrop.identify.mapping import Rules
from filedrop.outbound.context import identification_of
from filedrop.prepare import Edit, applied, id_edits, ids_to_write

if TYPE_CHECKING:
    from collections.abc import Mapping


SELF_BILLING = "urn:cen.eu:en16931:2017#compliant#urn:fdc:peppol.eu:2017:poacc:selfbilling:3.0"
SELF_BILLING_PROCESS = "urn:fdc:peppol.eu:2017:poacc:selfbilling:01:1.0"
OTHERS = {"sender": "0088:7300010000001", "receiver": "9925:BE0123456749"}  # with good check digits
ABOUT_IDS = {"GR-R-009", "GR-R-010"}  # national rules about the id of a party: Greek ones have 9933
CBC = "urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2"
CAC = "urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2"


def edits(document: bytes, ids: Mapping[str, str], size: int = 1 << 16) -> list[Edit]:
    return id_edits(pieces(document, size), ids_to_write(ids, read(io.BytesIO(document))), company="acme")


def prepared(document: bytes, ids: Mapping[str, str] = OTHERS, size: int = 1 << 16) -> bytes:
    return b"".join(applied(pieces(document, size), edits(document, ids, size)))


def broken(document: bytes, ids: Mapping[str, str]) -> list[str]:
    """The roles for which BR-SBDH is broken in an envelope with these ids, by another reader than filedrop's."""
    root = ET.fromstring(document)  # noqa: S314 - the tests' own writing, or the corpus
    customization = root.findtext(f"{{{CBC}}}CustomizationID", "")
    parties = ["Customer", "Supplier"] if ":selfbilling:" in customization else ["Supplier", "Customer"]
    found = []
    for role, party in zip(("sender", "receiver"), parties, strict=True):
        endpoint = root.find(f"{{{CAC}}}Accounting{party}Party/{{{CAC}}}Party/{{{CBC}}}EndpointID")
        written = None
        if endpoint is not None:
            written = f"{endpoint.get('schemeID', '')}:{' '.join((endpoint.text or '').split())}"
        found += [role] if written != ids[role] else []
    return found


def refused(document: bytes) -> str:
    with pytest.raises(DocumentError) as caught:
        edits(document, OTHERS)
    assert caught.value.code == "not-prepared"
    return str(caught.value)


@pytest.mark.parametrize("size", [1, 61, 1 << 16])
@pytest.mark.parametrize("document", [invoice(), credit_note()])
def test_ids_of_the_request(document: bytes, size: int) -> None:
    """Sender and receiver are those of the request, all other bytes and the lines stay, and nothing is left to do."""
    posted = prepared(document, size=size)
    reading = read(io.BytesIO(posted))
    assert {role: reading.found[role].id for role in OTHERS} == OTHERS
    assert not broken(posted, OTHERS)
    assert undone(posted, document, edits(document, OTHERS)) == document
    assert ids_to_write(OTHERS, reading) == []
    assert not edits(posted, OTHERS)
    assert b'<cbc:EndpointID schemeID="9925">BE0123456749</cbc:EndpointID>' in posted


def test_only_what_differs() -> None:
    """An EndpointID that is the id of the request stays as it is written."""
    (edit,) = edits(invoice(), {"sender": SELLER, "receiver": OTHERS["receiver"]})
    assert invoice()[edit.start : edit.end] == b'<cbc:EndpointID schemeID="0192">810418052</cbc:EndpointID>'
    assert not edits(invoice(), {"sender": SELLER, "receiver": BUYER})


def test_ids_of_self_billing() -> None:
    """In self-billing, the customer sends, and the supplier receives."""
    document = invoice(customization=SELF_BILLING, process=SELF_BILLING_PROCESS)
    posted = prepared(document)
    assert not broken(posted, OTHERS)
    assert posted.index(b"7300010000001") > posted.index(b"BE0123456749")


@pytest.mark.parametrize("document", [order(), invoice(customization="urn:cen.eu:en16931:2017")])
def test_documents_without_such_a_rule(document: bytes) -> None:
    """Where no rule of the network demands the ids of the request, nothing is written."""
    assert not edits(document, OTHERS)


@pytest.mark.parametrize(
    ("endpoint", "line_breaks"),
    [
        (b"<cbc:EndpointID schemeName='a>b' schemeID = '0192' >810418052</cbc:EndpointID  >", 0),
        (b"<cbc:EndpointID schemeID='0192'/>", 0),
        (b"<cbc:EndpointID\r\n schemeID='0192'>\r\n810418052 </cbc:EndpointID\n>", 3),
        (b"<cbc:EndpointID schemeID='0192'><![CDATA[8]]><!-- <x/>\n --></cbc:EndpointID>", 1),
        (
            b"<!-- <cbc:EndpointID>1</cbc:EndpointID> --><c:EndpointID xmlns:c='"
            + CBC.encode()
            + b"'>1</c:EndpointID>",
            0,
        ),
        (b"", 0),
        (b"<cbc:WebsiteURI>https://example.com/</cbc:WebsiteURI>", 0),
    ],
)
def test_forms_of_an_endpoint(endpoint: bytes, line_breaks: int) -> None:
    """However the EndpointID is written, or where there is none, the id gets into its place; no line moves."""
    document = invoice().replace(b'<cbc:EndpointID schemeID="0192">810418052</cbc:EndpointID>', endpoint)
    assert document != invoice()
    for size in (1, 1 << 16):
        posted = prepared(document, size=size)
        assert not broken(posted, OTHERS)
        assert undone(posted, document, edits(document, OTHERS)) == document
        assert posted.count(b"\n") == document.count(b"\n")
        assert all(written(edit).count(b"\n") in (0, line_breaks) for edit in edits(document, OTHERS))
    assert posted.index(b"9925") > posted.rfind(b"WebsiteURI", 0, posted.index(b"9925"))


def test_prefix_of_another_namespace() -> None:
    """Where no prefix of the right namespace is declared, the new element declares its own."""
    party = b"<cac:Party xmlns:cbc='urn:ours'><cac:PartyLegalEntity/></cac:Party>"
    start = invoice().index(b"<cac:Party>", invoice().index(b"<cac:AccountingCustomerParty>"))
    end = invoice().index(b"</cac:Party>", start) + len(b"</cac:Party>")
    posted = prepared(invoice()[:start] + party + invoice()[end:])
    assert not broken(posted, OTHERS)


def test_namesakes() -> None:
    """Only the party of the document itself gets an id: none in an extension, in a comment, or of another party."""
    inner = b"<cac:AccountingCustomerParty><cac:Party><cbc:EndpointID>5</cbc:EndpointID></cac:Party>"
    extension = b"<x:E xmlns:x='urn:x'><x:F>" + inner + b"</cac:AccountingCustomerParty></x:F></x:E>"
    document = invoice().replace(b"  <cbc:CustomizationID>", extension + b"<cbc:CustomizationID>")
    posted = prepared(document)
    assert extension in posted
    assert not broken(posted, OTHERS)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "iso-8859-1"])
def test_encodings(encoding: str) -> None:
    """What is edited is the document on the wire, whatever its encoding was."""
    declared = {"utf-8-sig": "UTF-8"}.get(encoding, encoding)
    document = invoice().decode().replace('encoding="UTF-8"', f'encoding="{declared}"').encode(encoding)
    sent = on_the_wire(document)
    posted = prepared(sent)
    assert not broken(posted, OTHERS)
    assert undone(posted, sent, edits(sent, OTHERS)) == sent


def test_signed() -> None:
    """A signature anywhere forbids every change; a declared namespace alone is no signature."""
    signature = b'<ds:Signature xmlns:ds="http://www.w3.org/2000/09/xmldsig#"/>'
    assert "is signed" in refused(invoice().replace(b"<cbc:Note>", signature + b"<cbc:Note>"))
    declared = invoice().replace(b"<Invoice ", b'<Invoice xmlns:ds="http://www.w3.org/2000/09/xmldsig#" ')
    assert b"xmldsig" in declared
    assert not broken(prepared(declared), OTHERS)


def test_what_cannot_be_written() -> None:
    """An envelope, a missing party and a second id are refused in words, but only where something is to be changed."""
    assert "is in an envelope" in refused(envelope(invoice()))
    assert not edits(envelope(invoice()), {"sender": SELLER, "receiver": BUYER})
    sender = b'<cbc:EndpointID schemeID="0192">987654325</cbc:EndpointID>'
    assert "names the sender or the receiver twice" in refused(invoice().replace(sender, sender + sender))
    start = invoice().index(b"<cac:Party>")
    end = invoice().index(b"</cac:Party>") + len(b"</cac:Party>")
    for party in (b"", b"<cac:Party/>"):
        without = invoice()[:start] + party + invoice()[end:]
        assert "no element for the sender or the receiver" in refused(without)


def _check(path: Path) -> None:
    document = on_the_wire(path.read_bytes())
    made = edits(document, OTHERS)
    posted = b"".join(applied(pieces(document, 1 << 16), made))
    before, after = read(io.BytesIO(document)), read(io.BytesIO(posted))
    assert broken(document, OTHERS)
    assert not broken(posted, OTHERS)
    assert undone(posted, document, made) == document
    assert ids_to_write(OTHERS, after) == []
    assert posted.count(b"\n") == document.count(b"\n")
    facts = ("root_name", "customization", "number", "issue_date", "type_code", "sender_name", "receiver_name")
    assert all(getattr(before, fact) == getattr(after, fact) for fact in facts)


@needs_corpus
def test_corpus_sample() -> None:
    """A real document gets the ids, and is the same document otherwise."""
    _check(DOCUMENTS / "OpenPEPPOL+peppol-bis-invoice-3" / "rules" / "examples" / "base-example.xml")


@pytest.mark.slow
@needs_corpus
def test_corpus() -> None:
    """Every real document for which there is such a rule gets the ids, and is the same document otherwise."""
    paths = in_corpus(lambda reading: reading.endpoints)
    assert len(paths) > 50
    for path in paths:
        try:
            _check(path)
        except DocumentError as error:
            assert error.code == "not-prepared"  # noqa: PT017 - few are refused, in words


@pytest.mark.slow
@needs_corpus
def test_corpus_by_the_published_rules(tmp_path: Path) -> None:
    """No real document breaks a rule after the change that it kept before."""
    found = newly_broken(in_corpus(lambda reading: reading.endpoints), prepared, tmp_path / "rules")
    assert not {name: rules for name, rules in found.items() if rules - ABOUT_IDS}


def test_example_of_the_manual() -> None:
    """With the example in the manual, the receiver that a rule sets is written into the document."""
    page = (Path(__file__).parents[2] / "docs" / "receivers.md").read_text("utf-8")
    example = page.partition("## Write the ids into the invoice")[2].split("```")[1].removeprefix("text")
    rule = f"mapping: [{{receiver: '{OTHERS['receiver']}'}}]\n"
    accounts = 'accounts:\n  main: {base_url: "https://ap.example.com", username: acme, password_env: PASSWORD}\n'
    config = parse(f"{accounts}{example}{rule}")
    by = identification_of(config.companies["acme"], Rules(config.mapping, config.tables))
    reading = read(io.BytesIO(invoice()), xpaths=by.xpaths)
    identity = by.identify(reading, "invoice-1001.xml")
    assert config.companies["acme"].prepare.ids
    assert not broken(
        prepared(invoice(), {"receiver": str(identity.receiver)}), {"sender": SELLER} | {"receiver": OTHERS["receiver"]}
    )
