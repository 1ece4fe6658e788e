"""What a receiver answers is written into the document that it answers, wherever that lies by then."""

from __future__ import annotations

import io
import json
import re
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from support.documents import BUYER, SELLER, envelope, invoice
from support.matrix import quick
from support.responses import message_level, order_response, response, tie_responses

from filedrop.files import replace_whole
from filedrop.journal.responses import Responses
from filedrop.model.response import KEPT, Response
from filedrop.outbound import responses
from filedrop.process.lock import locked_state
from filedrop.readable.response import MOST_ANSWERED, replies_in
from filedrop.storage import sidecar

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.world import World

    from filedrop.daemon.daemon import Daemon
    from filedrop.files import Entry


def said(world: World, name: str) -> list[tuple[Any, Any, Any, Any]]:
    """What its sidecar says of the responses to a document."""
    told = world.sidecar(name).get("responses", [])
    return [(one["code"], one["means"], one["reason"], one["msg_no"]) for one in told]


def number_in(world: World, msg_no: int) -> str:
    """The number of a document that was sent."""
    found = re.search(rb"<cbc:ID>(\d+)<", world.sandbox.store.content(msg_no))
    assert found
    return found[1].decode()


def untied(service: Daemon) -> list[str]:
    """The numbers in the responses that are tied to no document yet, or not written into its sidecar."""
    found = service.journal.engine.read("SELECT number FROM responses WHERE document = '' OR owed_to <> ''")
    return [number for (number,) in found]


def recorded(number: str, *, msg_no: int = -1, code: str = "AP", reason: str = "", at: datetime) -> Response:
    """A response of the buyer's to the seller about an invoice, as it is recorded."""
    return Response(
        identity="", msg_no=msg_no, received="", nth=0, company="acme", sender=BUYER, receiver=SELLER, number=number,
        type_code="380", issue_date="", code=code, words="response", reason=reason, at=at,
    )  # fmt: skip


def test_a_rejection(world: World) -> None:
    """It stands in sidecar and history of the delivered document, `status` tells of it, and it lies in inbound/."""
    world.drop("invoice.xml", invoice("1001"))
    world.drop("other.xml", invoice("1002"))
    world.run_once()
    number = world.receive(response("1001"))
    with world.service():
        world.until(lambda: said(world, "invoice.xml"))
    assert said(world, "invoice.xml") == [("RE", "Rejected", "The order number is missing.", number)]
    assert said(world, "other.xml") == []
    assert [event["event"] for event in world.sidecar("invoice.xml")["history"]][-1] == "response"
    assert any("ApplicationResponse" in path.name for path in world.delivered())
    shown = world.filedrop("status").stdout
    assert "1 rejected by the receiver" in shown
    assert f"Kjøper Kommune {BUYER} rejected it in message {number}: The order number is missing." in shown
    assert "means Rejected" in world.filedrop("history", "invoice.xml").stdout
    world.run_once()
    assert len(said(world, "invoice.xml")) == 1


@pytest.mark.parametrize(
    ("language", "words"), quick([("en", ("Accepted", "Rejected")), ("fr", ("Accepté", "Rejeté"))])
)
def test_answers_on_the_companys_page(make_world: Callable[..., World], language: str, words: tuple[str, str]) -> None:
    """Each sent document shows the receiver's last answer; that an access point has it is no answer of the receiver."""
    world = make_world(companies={"acme": f'{{participants: ["{SELLER}"], language: {language}}}'})
    for number in ("1", "2", "3"):
        world.drop(f"{number}.xml", invoice(number))
    world.run_once()
    with locked_state(world.state) as journal:
        sent = {document.number: document for document in journal.lately.last_sent("acme", 3)}
        now = datetime.now(UTC)
        confirmed = replace(recorded("1", msg_no=-9, at=now + timedelta(hours=1)), words="response_mls")
        codes = [("1", "AB"), ("1", "AP"), ("2", "AP"), ("2", "RE")]
        given = [
            recorded(number, msg_no=-nth, code=code, at=now + timedelta(minutes=nth))
            for nth, (number, code) in enumerate(codes, 1)
        ]
        journal.responses.record([*given, replace(confirmed, number="uuid:" + str(sent["1"].msg_no))])
        answers = {document.number: document.answer for document in journal.lately.last_sent("acme", 3)}
    assert answers == {"1": "AP", "2": "RE", "3": ""}
    page = world.root / "acme" / "STATUS.html"
    with world.daemon():
        world.until(lambda: page.exists() and "3.xml" in page.read_text("utf-8"))
        html = page.read_text("utf-8")
    assert sorted(re.findall(r'class="answer( rejected)?">(.*?)<', html)) == [("", words[0]), (" rejected", words[1])]


def test_of_a_company_that_was_called_otherwise(world: World) -> None:
    """What was delivered under a company's former name is answered, too; `status` tells of it under the present one."""
    world.drop("invoice.xml", invoice("1001"))
    world.drop("other.xml", invoice("1002"))
    world.settle()
    world.receive(response("1002", id_="R-1"))
    with world.service():
        world.until(lambda: said(world, "other.xml"))
    keys = world._companies.pop("acme").replace("{", f"{{outbound: {world.outbound}, inbound: {world.inbound}, ", 1)
    world._companies["renamed"] = keys
    world.receive(response("1001", id_="R-2"))
    with world.service():
        world.until(lambda: said(world, "invoice.xml"))
    assert "renamed: 2 rejected by the receiver" in world.filedrop("status").stdout


def test_one_after_the_other(world: World) -> None:
    """Each response has its line; an acceptance is no alarm."""
    world.drop("invoice.xml", invoice("1001"))
    world.run_once()
    world.receive(response("1001", "AB", "", id_="R-1"))
    world.receive(response("1001", "AP", "", id_="R-2"))
    with world.service():
        world.until(lambda: len(said(world, "invoice.xml")) == 2)
    assert {code for code, *_ in said(world, "invoice.xml")} == {"AB", "AP"}
    assert "rejected" not in world.filedrop("status").stdout


@pytest.mark.parametrize(
    "content",
    [response("1001", kind="381"), response("1001").replace(b"380", b"999"), order_response("1001", "RE")],
    ids=["of a credit note", "of any type", "of an order"],
)
def test_of_another_kind(world: World, content: bytes) -> None:
    """A response to a document of another type with the same number is not this one's; without a type it is."""
    world.drop("invoice.xml", invoice("1001"))
    world.run_once()
    world.receive(content)
    with world.service() as service:
        world.until(world.delivered)
        if b"999" in content:
            world.until(lambda: said(world, "invoice.xml"))
            return
        world.until(lambda: untied(service))
    world.run_once()
    assert said(world, "invoice.xml") == []


def test_of_a_stranger(world: World) -> None:
    """Only who has received a document can answer it."""
    world.drop("invoice.xml", invoice("1001"))
    world.run_once()
    world.receive(response("1001"), sender="0192:123456785")
    tie_responses(world)
    assert said(world, "invoice.xml") == []


def test_ambiguous(make_world: Callable[..., World]) -> None:
    """Where it may answer one of two, both are named in the log, and none is guessed."""
    world = make_world(outbound={"duplicates": "allow"})
    world.drop("one.xml", invoice("1001", note="one"))
    world.drop("two.xml", invoice("1001", note="two"))
    world.run_once()
    world.receive(response("1001"))
    with world.service() as service:
        world.until(world.delivered)
        world.until(lambda: not untied(service) and any(one["event"] == "response.ambiguous" for one in world.log()))
    (told,) = [one for one in world.log() if one["event"] == "response.ambiguous"]
    assert "one.xml" in told["why"]
    assert "two.xml" in told["why"]
    assert said(world, "one.xml") == said(world, "two.xml") == []


def test_after_a_transmission_that_died(make_world: Callable[..., World]) -> None:
    """A response is to the document that was sent again, not to the one that never left the access point."""
    world = make_world(outbound={"overdue": "300ms"})
    world.sandbox.store.connect({SELLER: "acme"})
    world.drop("invoice.xml", invoice("1001"))
    world.settle()
    assert world.error("invoice.xml") == "not-delivered"
    world.sandbox.store.connect({SELLER: "acme", BUYER: "buyer"})
    (world.outbound / "failed" / "invoice.xml").rename(world.outbound / "invoice.xml")
    world.settle(ends=("archive",))
    number = world.receive(response("1001"))
    with world.service() as service:
        world.until(lambda: world.delivered() and not untied(service))
    assert said(world, "invoice.xml") == [("RE", "Rejected", "The order number is missing.", number)]
    assert "1 rejected by the receiver" in world.filedrop("status").stdout


def test_before_what_it_answers(world: World) -> None:
    """One that comes before the document was sent is kept, and tied when that is accepted."""
    world.receive(response("1001"))
    world.run_once()
    world.drop("invoice.xml", invoice("1001"))
    with world.service():
        world.until(lambda: world.accepted() and said(world, "invoice.xml"))


def test_many_that_answer_nothing(world: World) -> None:
    """However many answers to what was sent from elsewhere wait, one to a document of ours is tied at once."""
    world.run_once()
    with locked_state(world.state) as journal:
        now = datetime.now(UTC)
        journal.responses.record([recorded(f"X-{nth}", msg_no=-nth, at=now) for nth in range(1, 301)])
    world.drop("invoice.xml", invoice("1001"))
    world.receive(response("1001"))
    with world.service():
        world.until(lambda: said(world, "invoice.xml"))


@pytest.mark.parametrize("profile", ["mlr", "mls"])
@pytest.mark.parametrize("prefix", quick(["", "uuid:"]))
def test_by_the_message(make_world: Callable[..., World], profile: str, prefix: str) -> None:
    """An MLR or MLS names the message by its id, with or without `uuid:`; it is tied to that document alone.

    Of an access point that tells the id when the message is delivered, too.
    """
    world = make_world(deliver_after=1.0)
    world.drop("invoice.xml", invoice("1001"))
    world.drop("other.xml", invoice("1002"))
    with world.service():
        world.until(lambda: sum(world.accepted().values()) == 2)
        sent = {number_in(world, message.msg_no): message.uuid for message in world.sandbox.store.sent("acme")}
        number = world.receive(message_level(profile, prefix + sent["1001"], "It has no lines."))
        world.until(lambda: said(world, "invoice.xml"))
        world.until(world.settled)
    assert said(world, "invoice.xml") == [("RE", "Rejected", "It has no lines.", number)]
    assert said(world, "other.xml") == []
    told = json.loads(world.filedrop("status", "--json").stdout)
    assert [matter["number"] for matter in told["matters"] if matter["kind"] == "rejected"] == [1]
    world.invariants()


def test_by_the_message_of_another(world: World) -> None:
    """An MLR by somebody who didn't receive the message is not tied to it, though it has its id."""
    world.drop("invoice.xml", invoice("1001"))
    world.run_once()
    (message,) = world.sandbox.store.sent("acme")
    world.receive(message_level("mlr", message.uuid, ""), sender="0192:123456785")
    with world.service() as service:
        world.until(lambda: untied(service))
    world.run_once()
    assert said(world, "invoice.xml") == []


def test_what_it_answers_was_taken_away(world: World) -> None:
    """Where somebody has put the whole month elsewhere, `status` tells of the rejection all the same."""
    world.drop("invoice.xml", invoice("1001"))
    world.settle()
    (month,) = (world.outbound / "archive").iterdir()
    month.rename(world.base / "elsewhere")
    world.receive(response("1001"))
    with world.service() as service:
        world.until(lambda: world.delivered() and not untied(service))
        assert service.accounts[0].pipelines[0].health.refused == ""
    assert "1 rejected by the receiver" in world.filedrop("status").stdout


@pytest.mark.parametrize("step", ["record", "tie"])
def test_broken_off_amid_it(world: World, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    """Broken off between row, sidecar and journal, a later scan ends it, and the response stands there once."""
    world.drop("invoice.xml", invoice("1001"))
    world.run_once()
    number = world.receive(response("1001"))

    broken_off = threading.Event()

    def die(*_: object, **__: object) -> None:
        broken_off.set()
        raise OSError(5, "it is broken off here")

    with monkeypatch.context() as patch:
        if step == "record":
            patch.setattr(responses, "replace_whole", die)  # after the row
        else:
            patch.setattr(Responses, "record_written", die)  # after row and sidecar
        world.until(lambda: world.run_once() or broken_off.is_set())
    with world.service() as service:
        world.until(lambda: not untied(service))
    assert said(world, "invoice.xml") == [("RE", "Rejected", "The order number is missing.", number)]
    world.invariants()


@pytest.mark.parametrize("answer", [response("1001"), order_response("1001", "RE")], ids=["response", "order response"])
def test_in_an_envelope(answer: bytes) -> None:
    """A response says the same in an envelope as without one."""
    alone = replies_in(io.BytesIO(answer))
    assert [(one.number, one.code) for one in alone] == [("1001", "RE")]
    assert replies_in(io.BytesIO(envelope(answer))) == alone


@pytest.mark.parametrize("encoding", ["latin-1", "utf_8", "cp037"])
def test_in_any_encoding(encoding: str) -> None:
    """A response counts in every encoding in which a document is delivered, by each of its names."""
    answer = response("1001").decode()
    text = answer.replace('encoding="UTF-8"', f'encoding="{encoding}"')
    assert text != answer
    assert [(one.number, one.code) for one in replies_in(io.BytesIO(text.encode(encoding)))] == [("1001", "RE")]


EMBEDDED = b"<cbc:EmbeddedDocumentBinaryObject>%b</cbc:EmbeddedDocumentBinaryObject>" % (b"QUJD" * 400_000)


@pytest.mark.parametrize(
    "more",
    [
        b'<cbc:Note xml:id="a"/><cbc:Note xml:id="a"/>',
        b'<cbc:Note xml:id="1 2"/>',
        b"<cbc:Note%b/>" % (b"e" * 60_000),
        b"<cac:Attachment>%b</cac:Attachment>" % EMBEDDED,
    ],
    ids=["an id twice", "an id that is none", "a long name", "a large attachment"],
)
def test_with_something_odd_in_it(more: bytes) -> None:
    """What doesn't keep a response from being delivered doesn't keep a rejection from being known."""
    odd = response("1001", "re").replace(b"<cac:DocumentResponse>", more + b"<cac:DocumentResponse>")
    assert [(one.number, one.code) for one in replies_in(io.BytesIO(odd))] == [("1001", "RE")]


def test_very_many_to_one(world: World) -> None:
    """However often a receiver answers one document, its sidecar stays one that can be read, and has the last."""
    world.drop("invoice.xml", invoice("1001"))
    world.run_once()
    now = datetime.now(UTC)
    one = recorded("1001", code="IP", reason="\N{GRINNING FACE}" * 500, at=now)
    with locked_state(world.state) as journal:
        journal.responses.record([replace(one, msg_no=-nth, at=now + timedelta(0, nth)) for nth in range(1, 301)])
    with world.service() as service:
        world.until(lambda: not untied(service))
    told = said(world, "invoice.xml")
    assert told[-1] == ("IP", "In process", one.reason, -300)
    assert len(told) == KEPT
    assert [event["event"] for event in world.sidecar("invoice.xml")["history"]][:3] == [
        "claimed",
        "sending",
        "accepted",
    ]
    (beside,) = world.outbound.rglob("invoice.xml.json")
    assert beside.stat().st_size < sidecar.LARGEST / 2


def test_of_very_many() -> None:
    """A response that claims to answer a thousand documents answers the first few: each costs work at every look."""
    reference = b"<cac:DocumentReference><cbc:ID>%d</cbc:ID></cac:DocumentReference>"
    many = b"".join(reference % nth for nth in range(1000))
    content = response("1001").replace(b"</cac:DocumentResponse>", many + b"</cac:DocumentResponse>")
    found = replies_in(io.BytesIO(content))
    assert (found[0].number, len(found)) == ("1001", MOST_ANSWERED)


def test_one_that_cannot_be_written(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A response that can't be written now keeps no other from being tied."""
    world.drop("one.xml", invoice("1001"))
    world.drop("two.xml", invoice("1002"))
    world.run_once()
    world.receive(response("1001", id_="R-1"))
    world.receive(response("1002", id_="R-2"))

    def refuse(target: Entry, content: bytes, **where: Any) -> None:
        if target.name.startswith("one."):
            raise OSError(13, "its month was moved to another disk")
        replace_whole(target, content, **where)

    monkeypatch.setattr(responses, "replace_whole", refuse)
    with world.service():
        world.until(lambda: said(world, "two.xml"))
    assert said(world, "one.xml") == []
