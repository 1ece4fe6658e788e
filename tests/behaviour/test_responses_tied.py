"""Which document a response is tied to: by its parties and number or its message's id, wherever the document is now."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from support.documents import BUYER, SELLER, credit_note, invoice
from support.matrix import quick
from support.responses import message_level, response, tie_responses

from filedrop.process.lock import locked_state

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.world import World

FJORD = "0192:123456785"
CII = b"""<?xml version="1.0" encoding="UTF-8"?>
<rsm:CrossIndustryInvoice xmlns:rsm="urn:un:unece:uncefact:data:standard:CrossIndustryInvoice:100"
    xmlns:ram="urn:un:unece:uncefact:data:standard:ReusableAggregateBusinessInformationEntity:100"
    xmlns:udt="urn:un:unece:uncefact:data:standard:UnqualifiedDataType:100">
  <rsm:ExchangedDocumentContext>
    <ram:BusinessProcessSpecifiedDocumentContextParameter>
      <ram:ID>urn:fdc:peppol.eu:2017:poacc:billing:01:1.0</ram:ID>
    </ram:BusinessProcessSpecifiedDocumentContextParameter>
    <ram:GuidelineSpecifiedDocumentContextParameter>
      <ram:ID>urn:cen.eu:en16931:2017#compliant#urn:fdc:peppol.eu:2017:poacc:billing:3.0</ram:ID>
    </ram:GuidelineSpecifiedDocumentContextParameter>
  </rsm:ExchangedDocumentContext>
  <rsm:ExchangedDocument><ram:ID>1001</ram:ID><ram:TypeCode>380</ram:TypeCode>
    <ram:IssueDateTime><udt:DateTimeString format="102">20261120</udt:DateTimeString></ram:IssueDateTime>
  </rsm:ExchangedDocument>
  <rsm:SupplyChainTradeTransaction><ram:ApplicableHeaderTradeAgreement>
    <ram:SellerTradeParty><ram:URIUniversalCommunication><ram:URIID schemeID="0192">987654325</ram:URIID>
    </ram:URIUniversalCommunication></ram:SellerTradeParty>
    <ram:BuyerTradeParty><ram:URIUniversalCommunication><ram:URIID schemeID="0192">810418052</ram:URIID>
    </ram:URIUniversalCommunication></ram:BuyerTradeParty>
  </ram:ApplicableHeaderTradeAgreement></rsm:SupplyChainTradeTransaction>
</rsm:CrossIndustryInvoice>"""


def of_type(code: str, document: bytes = invoice("1001")) -> bytes:
    """The document with another type code."""
    return document.replace(b">380<", f">{code}<".encode())


def rejected_in(beside: dict[str, Any]) -> list[int]:
    """The numbers of the messages that reject a document, by its sidecar."""
    return [one["msg_no"] for one in beside.get("responses", []) if one["code"] == "RE"]


def rejections(world: World) -> list[str]:
    """What `status` says of rejections: heading, document and reason, each in a line."""
    matters = json.loads(world.filedrop("status", "--json").stdout)["matters"]
    return [
        f"{matter['company']}: {item['name']}: {item['why']}"
        for matter in matters
        if matter["kind"] == "rejected"
        for item in matter["items"]
    ]


@pytest.mark.parametrize(
    ("document", "kind"),
    quick(
        [
            (CII, "380"),
            (of_type("381", CII), "381"),
            (of_type("381"), "381"),
            (of_type("381"), "380"),
            (of_type("384"), "380"),
            (of_type("384"), "384"),
            (credit_note("1001"), "381"),
            (credit_note("1001"), "396"),
        ],
        3,
    ),
    ids=["CII 380", "CII 381", "UBL 381", "UBL 381 as 380", "UBL 384 as 380", "UBL 384", "credit note", "as 396"],
)
def test_a_response_to_its_kind(world: World, document: bytes, kind: str) -> None:
    """A rejection is tied by the document's own type code or by its root, in UBL and in CII."""
    world.drop("invoice.xml", document)
    world.run_once()
    number = world.receive(response("1001", kind=kind))
    tie_responses(world)
    assert rejected_in(world.sidecar("invoice.xml")) == [number]
    assert len(rejections(world)) == 1


@pytest.mark.parametrize(
    ("document", "kind"),
    quick([(CII, "381"), (of_type("381", CII), "380"), (CII, "220"), (credit_note("1001"), "380")], 2),
)
def test_a_response_to_another_kind(world: World, document: bytes, kind: str) -> None:
    """A rejection of a document of another type with the same number isn't tied."""
    world.drop("invoice.xml", document)
    world.run_once()
    world.receive(response("1001", kind=kind))
    tie_responses(world)
    assert rejected_in(world.sidecar("invoice.xml")) == []
    assert rejections(world) == []


def test_the_status_of_a_message_by_an_access_point(world: World) -> None:
    """A Message Level Status comes from the receiver's access point, and names the message by its id."""
    world.drop("invoice.xml", invoice("1001"))
    world.run_once()
    (message,) = world.sandbox.store.sent("acme")
    number = world.receive(message_level("mls", message.uuid, "It is too long."), sender="0242:000123")
    tie_responses(world)
    assert rejected_in(world.sidecar("invoice.xml")) == [number]
    assert rejections(world) == [
        f"acme: invoice.xml: the access point 0242:000123 rejected it in message {number}: It is too long."
    ]


def test_words_of_a_status_by_an_access_point(world: World) -> None:
    """In a Message Level Status, a code is about delivery. In other responses it isn't, whoever sends them."""
    world.drop("invoice.xml", invoice("1001"))
    world.run_once()
    (message,) = world.sandbox.store.sent("acme")
    world.receive(message_level("mls", message.uuid, "").replace(b">RE<", b">AB<"), sender="0242:000123")
    world.receive(message_level("mls", message.uuid, "").replace(b">RE<", b">AP<"))  # as none is to be sent
    world.receive(response("1001", "AB"))
    world.receive(message_level("mlr", message.uuid, "").replace(b">RE<", b">AP<"), sender="0242:000123")
    tie_responses(world)
    means = sorted(told["means"] for told in world.sidecar("invoice.xml")["responses"])
    of_status, of_others = ["Accepted and delivered", "Accepted, delivery not confirmed"], ["Received, being looked at"]
    assert means == ["Accepted", *of_status, *of_others]


@pytest.mark.parametrize("what", ["a number", "half of the id", "no access point"])
def test_the_status_of_a_message_by_a_stranger(world: World, what: str) -> None:
    """Who isn't the receiver can say nothing of a document, but an access point that knows its message's whole id."""
    world.drop("invoice.xml", invoice("1001"))
    world.run_once()
    (message,) = world.sandbox.store.sent("acme")
    id_ = {"a number": "1001", "half of the id": message.uuid[:18]}.get(what, message.uuid)
    world.receive(
        message_level("mls", id_, "No."), sender="0192:123456785" if what == "no access point" else "0242:000123"
    )
    tie_responses(world)
    assert world.sidecar("invoice.xml").get("responses", []) == []
    assert rejections(world) == []


def test_a_status_for_the_access_point_itself(make_world: Callable[..., World]) -> None:
    """One that is addressed to the sender's access point, which is no company's, is tied where it is fetched."""
    world = make_world()
    world._unassigned = str(world.base / "unassigned")
    (world.base / "unassigned").mkdir()
    world.drop("invoice.xml", invoice("1001"))
    world.run_once()
    (message,) = world.sandbox.store.sent("acme")
    world.sandbox.store.connect({SELLER: "acme", BUYER: "buyer", "0242:000456": "acme"})
    content = message_level("mls", message.uuid, "")
    number = world.sandbox.store.receive(
        sender="0242:000123", receiver="0242:000456", document_id="MLS", process_id="mls", content=content
    )
    tie_responses(world)
    assert rejected_in(world.sidecar("invoice.xml")) == [number]
    assert [line.partition(":")[0] for line in rejections(world)] == ["acme"]


def test_two_with_one_number_in_a_response(world: World) -> None:
    """A response that answers an invoice and a credit note with the same number is tied to both."""
    world.drop("invoice.xml", invoice("1001"))
    world.drop("credit.xml", credit_note("1001"))
    world.run_once()
    one = response("1001").partition(b"<cac:DocumentResponse>")[2].partition(b"</cac:DocumentResponse>")[0]
    other = one.replace(b">380<", b">381<").replace(b">RE<", b">AP<")
    number = world.receive(
        response("1001").replace(
            b"</cac:DocumentResponse>",
            b"</cac:DocumentResponse><cac:DocumentResponse>" + other + b"</cac:DocumentResponse>",
        )
    )
    tie_responses(world)
    assert rejected_in(world.sidecar("invoice.xml")) == [number]
    assert [one["code"] for one in world.sidecar("credit.xml")["responses"]] == ["AP"]
    assert [line.split(": ")[1] for line in rejections(world)] == ["invoice.xml"]


def test_a_corrected_invoice_with_the_same_number(world: World) -> None:
    """A corrected invoice keeps its number, and its own rejection is tied to it, not to the first one."""
    world.drop("first.xml", invoice("1001", note="the first"))
    world.run_once()
    first = world.receive(response("1001", id_="R-1"))
    tie_responses(world)
    world.drop("corrected.xml", invoice("1001", note="corrected"))
    world.run_once()
    second = world.receive(response("1001", id_="R-2", reason="It is still missing."))
    tie_responses(world)
    assert rejected_in(world.sidecar("first.xml")) == [first]
    assert rejected_in(world.sidecar("corrected.xml")) == [second]
    assert len(rejections(world)) == 2
    assert not [line for line in world.log() if line["event"] == "response.ambiguous"]


def test_of_two_years(make_world: Callable[..., World]) -> None:
    """Where numbers begin again each year, a response is tied by the date that it states."""
    world = make_world(outbound={"duplicates": "allow"})
    world.drop("old.xml", invoice("1001", issue_date="2025-11-20"))
    world.drop("new.xml", invoice("1001", issue_date="2026-11-20"))
    world.run_once()
    dated = b"<cbc:IssueDate>2026-11-20</cbc:IssueDate><cbc:DocumentTypeCode>"
    number = world.receive(response("1001").replace(b"<cbc:DocumentTypeCode>", dated))
    tie_responses(world)
    assert rejected_in(world.sidecar("new.xml")) == [number]
    assert rejected_in(world.sidecar("old.xml")) == []


def test_an_ambiguous_one_in_status(make_world: Callable[..., World]) -> None:
    """A rejection that may be of several documents needs attention all the same: `status` names each of them."""
    world = make_world(outbound={"duplicates": "allow"})
    world.drop("one.xml", invoice("1001", note="one"))
    world.drop("two.xml", invoice("1001", note="two"))
    world.run_once()
    number = world.receive(response("1001"))
    tie_responses(world)
    (line,) = rejections(world)
    assert line.startswith(
        f"acme: document 1001: {BUYER} rejected it in message {number}, but doesn't say which document"
    )
    for name in ("one.xml", "two.xml"):
        assert f"{name} (message {world.sidecar(name)['msg_no']})" in line
    assert line.endswith("The order number is missing.")
    assert world.sidecar("one.xml").get("responses", []) == world.sidecar("two.xml").get("responses", []) == []
    assert not list(world.outbound.rglob("*.rejected.txt"))


def elsewhere(world: World, what: str) -> Path:
    """Have the company's outbound folder be another one from now on; returns where its first documents are."""
    keys = world._companies.pop("acme")
    if what == "company renamed":
        world._companies["renamed"] = keys
        return world.outbound
    if what == "participant moved":
        world._companies |= {"acme": "{participants: []}", "other": keys}
        return world.outbound
    there = world.root / "new"
    world._companies["acme"] = keys.replace("{", f"{{outbound: '{there}', ", 1)
    if what == "archive moved by hand":
        world.run_once()
        world.outbound.joinpath("archive").rename(there / "archive.moved")
        for month in (there / "archive.moved").iterdir():
            month.rename(there / "archive" / month.name)
        return there
    return world.outbound


@pytest.mark.parametrize(
    "what", quick(["outbound folder moved", "archive moved by hand", "company renamed", "participant moved"], 2)
)
def test_a_document_that_is_elsewhere_now(world: World, what: str) -> None:
    """A rejection that comes after the configuration has changed is tied, and written where the document is now."""
    world.drop("invoice.xml", invoice("1001"))
    world.settle()
    there = elsewhere(world, what)
    world.run_once()
    number = world.receive(response("1001"))
    tie_responses(world)
    (beside,) = there.rglob("invoice.xml.json")
    assert rejected_in(json.loads(beside.read_text())) == [number]
    assert len(rejections(world)) == 1
    assert "means Rejected" in world.filedrop("history", "invoice.xml").stdout
    with locked_state(world.state) as journal:
        assert journal.engine.value("SELECT count(*) FROM responses WHERE owed_to <> ''") == 0


def test_a_folder_of_a_company_that_is_gone(world: World) -> None:
    """A rejection for nobody of a document in a folder that nobody serves is in `status` all the same."""
    world.drop("invoice.xml", invoice("1001"))
    world.settle()
    world._companies = {"other": f'{{participants: ["{FJORD}"]}}'}
    world._unassigned = str(world.base / "unassigned")
    (world.base / "unassigned").mkdir()
    number = world.receive(response("1001"))
    world.run_once()  # nobody serves the folder, so nobody writes the response into its sidecar
    assert rejections(world) == [
        f": invoice.xml: Kjøper Kommune {BUYER} rejected it in message {number}: The order number is missing."
    ]
    assert "1 document needs attention" in world.filedrop("status").stdout


def test_a_forged_row_of_another_company(make_world: Callable[..., World]) -> None:
    """What was restored from a sidecar, which anybody could have written, gets no response to another company."""
    world = make_world(companies={"fjord": f'{{participants: ["{FJORD}"]}}'})
    world.drop("invoice.xml", invoice("1001"))
    world.settle()
    (beside,) = world.outbound.rglob("invoice.xml.json")
    claims = json.loads(beside.read_text())
    theirs = world.root / "fjord" / "outbound" / "archive" / beside.parent.name
    theirs.mkdir()
    claims["id"], claims["document"]["number"] = f"{claims['id'][:-1]}0", "2002"
    claims["sender"], claims["receiver"] = SELLER, BUYER
    (theirs / "forged.xml").write_bytes(invoice("2002"))
    (theirs / "forged.xml.json").write_text(json.dumps(claims))
    for path in world.state.glob("journal.sqlite*"):
        path.unlink()
    for folder in (world.root / "acme", world.root / "fjord"):
        for marker in folder.rglob(".filedrop"):
            marker.unlink()
    world.run_once()
    number = world.receive(response("1001", id_="R-1"))
    world.receive(response("2002", id_="R-2"))
    tie_responses(world)
    assert rejected_in(world.sidecar("invoice.xml")) == [number]  # restored, too, but in its own company
    assert "responses" not in json.loads((theirs / "forged.xml.json").read_text())
    assert [line.split(": ")[:2] for line in rejections(world)] == [["acme", "invoice.xml"]]
