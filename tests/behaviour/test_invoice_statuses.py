"""The status of a French invoice (CDAR) is tied to the invoice that it is about, or to none.

A platform sends it. So it counts by what it names: number, date, type, seller and buyer; and by who receives it.
"""

from __future__ import annotations

import io
import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest
from support.corpus import DOCUMENTS, needs_corpus
from support.documents import SELLER, credit_note, invoice, listed_as, order
from support.responses import invoice_status, message_level, response, tie_responses

from filedrop.process.lock import locked_state
from filedrop.readable.codes import LISTS
from filedrop.readable.response import replies_in
from filedrop.status.company import of_company
from filedrop.status.survey import DaemonPart, Survey

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.world import World

CDARS = DOCUMENTS / "phax+ph-cii" / "ph-cii-testfiles/src/main/resources/external/test-cdar/d22b"
LEVELS = DOCUMENTS / "OxalisCommunity+vefa-peppol" / "peppol-mls/src/test/resources/mls/good"

RULE = (
    "Validation gives error [CL-T77-R002]- Tax categories MUST be coded using UN/ECE 5305 code list "
    "(/Catalogue/cac:CatalogueLine[3]/cac:Item[1]/cac:ClassifiedTaxCategory[1]/cbc:ID[1])"
)

VENDEUR, STATUTS, ACHETEUR = "0225:100000009", "0225:100000009_STATUTS", "0225:200000008"
LECLIENT = "0225:100000009_LECLIENTC1"
PLATFORM = "0225:999999999_PA"
FRENCH = f'{{participants: ["{VENDEUR}", "{STATUTS}"], language: fr}}'


@pytest.fixture
def french(make_world: Callable[..., World]) -> World:
    """A company in Paris, whose address for statuses has a suffix."""
    world = make_world(companies={"acme": FRENCH}, outbound={"duplicates": "allow"})
    ours, theirs = (VENDEUR, STATUTS, SELLER, "0242:000456"), (ACHETEUR, f"{ACHETEUR}_X", "0225:300000007", LECLIENT)
    world.sandbox.store.connect(dict.fromkeys(ours, "acme") | dict.fromkeys(theirs, "buyer"))
    return world


def send(world: World, **documents: bytes) -> None:
    """Send these, each from a file of its name."""
    for name, content in documents.items():
        world.drop(f"{name}.xml", content)
    world.run_once()


def french_invoice(number: str = "1001", **changes: Any) -> bytes:
    return invoice(number, **{"sender": VENDEUR, "receiver": ACHETEUR} | changes)


def french_credit_note(number: str) -> bytes:
    return credit_note(number, sender=VENDEUR, receiver=ACHETEUR)


def receive(world: World, content: bytes, *, sender: str = PLATFORM, receiver: str = STATUTS) -> int:
    """Put a message from a platform into the inbox; returns its number."""
    return world.sandbox.store.receive(
        sender=sender, receiver=receiver, document_id=listed_as(content), process_id="p", content=content
    )


def answered(world: World, name: str) -> list[tuple[str, str, str]]:
    """The code of each status in a document's sidecar, what it means, and the reason, by code."""
    told = world.sidecar(f"{name}.xml").get("responses", [])
    return sorted((one["code"], one["means"], one["reason"]) for one in told)


def matters(world: World) -> list[Any]:
    """What `status` says of rejections."""
    return [
        told for told in json.loads(world.filedrop("status", "--json").stdout)["matters"] if told["kind"] == "rejected"
    ]


def rejections(world: World) -> dict[str, str]:
    """What `status` says of each rejected document."""
    return {item["name"]: item["why"] for matter in matters(world) for item in matter["items"]}


def test_a_rejection_by_a_platform(french: World) -> None:
    """Sidecar, history and `status` have code and reason in words."""
    send(french, invoice=french_invoice(), other=french_invoice("1002"))
    number = receive(french, invoice_status(by="WK", buyer="999999999"))
    tie_responses(french)
    assert answered(french, "invoice") == [("213", "Rejected", "VAT rate incorrect")]
    assert answered(french, "other") == []
    assert rejections(french) == {
        "invoice.xml": f'message {number} reports the status "Rejected" (213): VAT rate incorrect'
    }
    assert "means Rejected" in french.filedrop("history", "invoice.xml").stdout
    config = french.configuration()
    with locked_state(french.state) as journal:
        status = Survey(config, journal).look(DaemonPart(), running=True, now=datetime.now().astimezone())
    (item,) = of_company(status, config.companies["acme"], config, ())["matters"][0]["items"]
    assert item["why"].endswith("Taux de TVA erron\xe9")


def test_before_what_it_is_about(french: World) -> None:
    """A status that comes before the answer to the invoice's upload is tied when that is there."""
    receive(french, invoice_status(code="200"))
    french.run_once()
    send(french, invoice=french_invoice())
    tie_responses(french)
    assert [code for code, *_ in answered(french, "invoice")] == ["200"]


def test_each_code(french: World) -> None:
    """Each status in words; 212 is the seller's own word, on an invoice that the receiver of the status has got."""
    send(french, invoice=french_invoice())
    codes = LISTS["process_condition"]
    for code in codes:
        receive(french, invoice_status(code=code))
    tie_responses(french)
    assert {(code, means) for code, means, _ in answered(french, "invoice")} == codes.items() - {("212", codes["212"])}


def test_a_rejected_duplicate(french: World) -> None:
    """A copy that a platform rejects because the invoice came before says nothing against that invoice."""
    send(french, invoice=french_invoice())
    for reason in ("DOUBLON", "REJ_UNI"):
        receive(french, invoice_status(why=f"<ram:ReasonCode>{reason}</ram:ReasonCode>"))
    tie_responses(french)
    assert answered(french, "invoice") == []
    assert rejections(french) == {}


def test_a_corrected_invoice(french: World) -> None:
    """After a rejection, the status of the corrected invoice with the same number is tied to that one."""
    send(french, first=french_invoice(note="first"))
    receive(french, invoice_status())
    tie_responses(french)
    send(french, corrected=french_invoice(note="corrected"))
    receive(french, invoice_status(code="205", why=""))
    tie_responses(french)
    assert [code for code, *_ in answered(french, "first")] == ["213"]
    assert answered(french, "corrected") == [("205", "Approved", "")]


FORGED = {
    "of another seller's invoice": (invoice_status(seller="300000007"), {}),
    "to another company": (invoice_status(), {"receiver": SELLER}),
    "of another day": (invoice_status(issue_date="20261121"), {}),
    "by another buyer": (invoice_status(buyer="300000007"), {}),
    "without a date": (invoice_status(issue_date=""), {}),
    "without a seller": (invoice_status(seller=""), {}),
    "in a response": (response("1001", "210"), {}),
}


def test_a_type_code_that_is_wrong(french: World) -> None:
    """A platform may write 380 for a credit note: the code decides only between two documents of a number and a day."""
    send(french, alone=french_credit_note("C-1"), invoice=french_invoice("C-2"), note=french_credit_note("C-2"))
    send(french, corrected=french_invoice("C-3").replace(b">380<", b">384<"), other=french_credit_note("C-3"))
    for number in ("C-1", "C-2", "C-3"):
        receive(french, invoice_status(number, kind="380"))
    tie_responses(french)
    assert [name for name in ("alone", "invoice", "note", "corrected", "other") if answered(french, name)] == [
        "alone", "invoice", "corrected",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "ids",
    [
        '<ram:GlobalID schemeID="0009">10000000900017</ram:GlobalID>',
        '<ram:GlobalID schemeID="9957">FR83100000009</ram:GlobalID>',
        '<ram:GlobalID schemeID="0225">100000009_STATUTS</ram:GlobalID>',
        '<ram:GlobalID schemeID="0231">100000009</ram:GlobalID>',
        "<ram:GlobalID>100 000 009</ram:GlobalID>",
        '<ram:GlobalID schemeID="0224">X</ram:GlobalID><ram:GlobalID schemeID="">100000009</ram:GlobalID>',
        '<ram:GlobalID>356000000</ram:GlobalID><ram:GlobalID schemeID="0231">100000009</ram:GlobalID>',
    ],
)
def test_each_form_of_a_siren(ids: str) -> None:
    """The SIREN of seller and buyer is found in each form in which a status has it; an id with a scheme comes first."""
    content = invoice_status(buyer="100000009").replace(
        b'<ram:GlobalID schemeID="0002">100000009</ram:GlobalID>', ids.encode()
    )
    (answer,) = replies_in(io.BytesIO(content))
    assert (answer.seller, answer.buyer) == ("0002:100000009", "0002:100000009")


def test_a_status_of_no_invoice(french: World) -> None:
    """A document that is neither an invoice nor a credit note has no such status."""
    send(french, order=order("1001", sender=VENDEUR, receiver=ACHETEUR))
    receive(french, invoice_status(kind="220"))
    tie_responses(french)
    assert answered(french, "order") == []


def test_forged_ones(french: World) -> None:
    """A status that differs in anything is tied to none."""
    french._companies["other"] = f'{{participants: ["{SELLER}"]}}'
    send(french, invoice=french_invoice())
    for content, how in FORGED.values():
        receive(french, content, **how)
    tie_responses(french)
    assert answered(french, "invoice") == []
    assert rejections(french) == {}
    assert len(list(french.root.glob("*/inbound/*.xml.json"))) == len(FORGED)


def test_ambiguous_ones(french: World) -> None:
    """A status that may be about two invoices is tied to none of them, and `status` names both."""
    pairs = {
        "1": (french_invoice("A-1", note="1"), french_invoice("A-1", note="2")),
        "2": (french_invoice("A-2"), french_invoice("A-2", receiver="0225:300000007")),
        "3": (french_invoice("A-3"), french_invoice("A-3", sender=STATUTS)),
        "4": (french_invoice("A-4"), french_invoice("A-4").replace(b">380<", b">384<")),
        "5": (french_invoice("A-5"), french_invoice("A-5", receiver="0225:200000008_X")),
    }
    about = {"2": {"by": "WK"}, "4": {"kind": "999"}}  # no buyer; an unknown type
    send(french, **{f"{nth}{letter}": pair[letter == "b"] for nth, pair in pairs.items() for letter in "ab"})
    for nth in pairs:
        receive(french, invoice_status(f"A-{nth}", **about.get(nth, {})))
    tie_responses(french)
    assert [answered(french, f"{nth}{letter}") for nth in pairs for letter in "ab"] == [[]] * 10
    shown = rejections(french)
    assert sorted(shown) == [f"document A-{nth}" for nth in pairs]
    for nth in pairs:
        why = shown[f"document A-{nth}"]
        assert f"{nth}a.xml" in why
        assert f"{nth}b.xml" in why
        assert why.endswith("VAT rate incorrect")


@needs_corpus
def test_the_corpus(french: World) -> None:
    """Of the 11 real statuses each is tied to its invoice, but those of 212; of the 3 real MLS each to its message."""
    names = {"third": "F202500003", "sixth": "F202500006", "seventh": "F202500007", "slack": "PATest_SP_UBL_01"}
    days = {"third": "2025-07-01", "sixth": "2025-07-01", "seventh": "2025-07-02", "slack": "2025-11-13"}
    invoices = {
        name: french_invoice(number, issue_date=days[name], receiver=LECLIENT if name == "slack" else ACHETEUR)
        for name, number in names.items()
    }
    send(french, **invoices)
    for cdar in sorted(CDARS.iterdir()):
        receive(french, cdar.read_bytes())
    sent = {message.msg_no: message.uuid for message in french.sandbox.store.sent("acme")}
    uuid = sent[french.sidecar("sixth.xml")["msg_no"]]
    for level in sorted(LEVELS.iterdir()):
        content = level.read_bytes().replace(b"90f14eff-3705-4869-ad3c-caae270a234e", uuid.encode())
        receive(french, content, sender="0242:000123")
    tie_responses(french)
    assert [told[:2] for told in answered(french, "third")] == [
        ("200", "Submitted"),
        ("202", "Received by the platform"),
        ("203", "Made available"),
        ("204", "Being processed"),
        ("205", "Approved"),
        ("211", "Payment sent"),
    ]
    assert answered(french, "sixth") == [
        ("207", "In dispute", "Taux de TVA erroné; Requested action: Créer une Facture Rectificative"),
        ("AB", "Accepted, delivery not confirmed", ""),
        ("AP", "Accepted and delivered", ""),
        ("RE", "Rejected", f"Rejected due to validation errors; {RULE}"),
    ]
    assert answered(french, "seventh") == [
        ("207", "In dispute", "Taux de TVA erroné; Requested action: Créer un Avoir total")
    ]
    ((code, means, reason),) = answered(french, "slack")
    assert (code, means) == ("213", "Rejected")
    assert reason.startswith("fatal: BR-FR-05/BT-22 : La mention relative à ")


def test_a_status_of_a_message_stays_within_its_account(french: World) -> None:
    """A Message Level Status for the access point itself is delivered to no company, and tied to its document."""
    french._unassigned = str(french.base / "unassigned")
    (french.base / "unassigned").mkdir()
    french._companies["other"] = f'{{participants: ["{SELLER}"]}}'
    send(french, invoice=french_invoice())
    (message,) = french.sandbox.store.sent("acme")
    content = message_level("mls", message.uuid, "").replace(b">RE<", b">AB<")
    receive(french, content, sender="0242:000123", receiver="0242:000456")
    tie_responses(french)
    assert answered(french, "invoice") == [("AB", "Accepted, delivery not confirmed", "")]
    assert list(french.root.glob("*/inbound/*.xml")) == []
    assert len(list((french.base / "unassigned").glob("*.xml"))) == 1
