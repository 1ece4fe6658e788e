"""Billing with response (Peppol BIS 66): who sends an invoice by it expects an answer, and silence is reported."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from support.documents import BILLING_PROCESS, BUYER, SELLER, credit_note, invoice, listed_as, order
from support.faults import instead
from support.responses import message_level, response, tie_responses
from support.stepping import RULES, Clock, Life

from filedrop.inbound.answers import LIES
from filedrop.journal import JOURNAL
from filedrop.model.document import BILLING_WITH_RESPONSE
from filedrop.status.survey import DaemonPart, Survey

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.faults import Fault
    from support.world import World


FJORD = "0192:974760673"
SOON, LATE, LONG_AFTER = (timedelta(days=days, minutes=1) for days in (4, 5, 96))
ALL = ["1", "2", "3"]


def arrive(world: World, content: bytes, process: str = BILLING_WITH_RESPONSE, *, receiver: str = SELLER) -> int:
    """A message of the buyer's comes in by this process; its number."""
    return world.sandbox.store.receive(
        sender=BUYER, receiver=receiver, document_id=listed_as(content), process_id=process, content=content
    )


def bill(number: str, process: str = BILLING_WITH_RESPONSE, *, receiver: str = SELLER) -> bytes:
    """An invoice of the buyer's, to the seller if no other receiver is named."""
    return invoice(number, BUYER, receiver, process=process)


def own_answer(number: str, code: str = "AP") -> bytes:
    """The seller's own response to an invoice of the buyer's."""
    seller, buyer = SELLER.partition(":")[2], BUYER.partition(":")[2]
    said = response(number, code, id_=f"{code}-{number}").decode()
    return said.replace(buyer, "BUYER").replace(seller, buyer).replace("BUYER", seller).encode()


def sidecars(world: World) -> dict[str, Any]:
    """What the sidecars of received documents say, by the documents' numbers."""
    found = [json.loads(path.read_bytes()) for path in world.inbound.glob("*.xml.json")]
    return {one["document"]["number"]: one for one in found}


def reported(world: World, kind: str, later: timedelta = LATE) -> dict[str, list[str]]:
    """By company, the documents of this kind that need attention so much later."""
    now = world.clock() + later
    with world.locked() as journal:
        status = Survey(world.configuration(), journal).look(DaemonPart(), running=None, now=now)
    return {
        matter["company"]: sorted(_number(item["name"]) for item in matter["items"])
        for matter in status["matters"]
        if matter["kind"] == kind
    }


def _number(name: str) -> str:
    """A received document's message number, which is in its name; the name of a sent one, without its ending."""
    stem = name.removesuffix(".xml")
    return stem.split("-")[1] if "-" in stem else stem


def test_which_are_marked(world: World) -> None:
    """An invoice or credit note by this process expects an answer, by its message or by itself; nothing else does."""
    arrive(world, bill("1"))
    arrive(world, credit_note("2", BUYER, SELLER))
    arrive(world, bill("3"), "")
    arrive(world, bill("4", BILLING_PROCESS), "cenbii-procid-ubl::" + BILLING_WITH_RESPONSE)
    arrive(world, bill("5", BILLING_PROCESS), BILLING_PROCESS)
    arrive(world, response("x", id_="6"))
    arrive(world, order("7"))
    world.run_once()
    found = sidecars(world)
    assert {number for number, one in found.items() if one.get("answer_expected") is True} == {"1", "2", "3", "4"}
    assert {number for number, one in found.items() if "answer_expected" not in one} == {"5", "6", "7"}


def test_words(make_world: Callable[..., World]) -> None:
    """Page and STATUS.html say it in the company's language from the first day, without a URN; nothing is reported."""
    world = make_world(
        companies={"acme": f'{{participants: ["{SELLER}"], language: nb}}'}, inbound={"readable": "html"}
    )
    arrive(world, bill("1"))
    world.run_once()
    (page,) = world.inbound.glob("*.html")
    assert "Avsenderen venter et svar" in page.read_text("utf-8")
    assert BILLING_WITH_RESPONSE not in page.read_text("utf-8")
    status = world.root / "acme" / "STATUS.html"
    with world.daemon():
        world.until(lambda: status.exists() and "Avsenderen venter et svar" in status.read_text("utf-8"))
    assert reported(world, "owed", timedelta()) == {}


def test_an_answer_that_is_owed(world: World) -> None:
    """It is reported after five days until the company's own software has answered; then no more, as after 95 days."""
    numbers = {number: str(arrive(world, bill(number))) for number in ALL}
    arrive(world, bill("4", BILLING_PROCESS), BILLING_PROCESS)
    world.run_once()
    assert reported(world, "owed", SOON) == reported(world, "owed", LONG_AFTER) == {}
    assert reported(world, "owed") == {"acme": sorted(numbers.values())}
    world.drop("about-1.xml", own_answer("1"))
    world.drop("about-2.xml", own_answer("2", "RE"))
    world.drop("about-another.xml", own_answer("5"))
    world.run_once()
    assert reported(world, "owed") == {"acme": [numbers["3"]]}


def test_an_answer_that_did_not_go_out(world: World) -> None:
    """A response that the access point refuses is no answer, until it is sent again."""
    number = arrive(world, bill("1"))
    world.run_once()
    world.front.next("POST /outbox", instead(422, "no"))
    world.drop("about-1.xml", own_answer("1"))
    world.run_once()
    assert reported(world, "owed") == {"acme": [str(number)]}
    assert world.filedrop("retry", "acme", "about-1.xml").returncode == 0
    world.run_once()
    assert reported(world, "owed") == {}


def test_an_answer_by_moving(make_world: Callable[..., World], clock: Clock) -> None:
    """An answer by moving ends it when it has gone out; a first word of the company's software doesn't forbid it."""
    world = make_world(outbound=RULES, inbound={"poll": "5m", "answers": "move"}, clock=clock.true)
    life = Life(world, clock)
    life.go_on(10)
    number = arrive(world, bill("1"))
    life.go_on(600, until=world.delivered)
    world.drop("about-1.xml", own_answer("1", "IP"))
    life.go_on(600)
    (path,) = world.delivered()
    path.rename(world.inbound / "accepted" / path.name)
    life.go_on(LIES + 600)
    life.drop()
    assert number
    sent = [world.sandbox.store.content(message.msg_no) for message in world.sandbox.store.sent("acme")]
    assert [code for content in sent for code in (b">IP<", b">AP<") if code in content] == [b">IP<", b">AP<"]
    assert reported(world, "owed") == {}


@pytest.mark.parametrize("fault", [instead(503, "", ("Retry-After", "1800")), instead(500)])
def test_an_answer_by_moving_after_a_dropped_one(make_world: Callable[..., World], clock: Clock, fault: Fault) -> None:
    """A response that the company's own software has dropped and that waits is sent before the answer by moving."""
    world = make_world(outbound=RULES, inbound={"poll": "5m", "answers": "move"}, clock=clock.true)
    life = Life(world, clock)
    life.go_on(10)
    arrive(world, bill("1"))
    life.go_on(600, until=world.delivered)
    world.front.always("POST /outbox", fault)
    world.drop("about-1.xml", own_answer("1", "IP"))
    life.go_on(900)
    (path,) = world.delivered()
    path.rename(world.inbound / "accepted" / path.name)
    life.go_on(LIES + 600)
    world.front.heal()
    life.go_on(3 * 3600)
    life.drop()
    sent = [world.sandbox.store.content(message.msg_no) for message in world.sandbox.store.sent("acme")]
    assert [code for content in sent for code in (b">IP<", b">AP<") if code in content] == [b">IP<", b">AP<"]
    assert [path.name for path in (world.outbound / "archive").glob("*/about-1.xml")] == ["about-1.xml"]


def test_an_answer_that_cannot_be_recorded(make_world: Callable[..., World], clock: Clock) -> None:
    """Where the journal refuses to note what a response answers, nothing is in doubt, and all are sent once."""
    world = make_world(outbound=RULES, inbound={"poll": "5m"}, clock=clock.true)
    life = Life(world, clock)
    life.go_on(10)
    arrive(world, bill("1"))
    life.go_on(600, until=world.delivered)
    with closing(sqlite3.connect(world.state / JOURNAL)) as journal, journal:
        journal.execute("CREATE TRIGGER no BEFORE INSERT ON answers BEGIN SELECT RAISE(ABORT, 'full'); END")
    world.drop("1-about.xml", own_answer("1"))
    for nth in (2, 3, 4):
        world.drop(f"{nth}.xml", invoice(str(nth)))
    life.go_on(300)
    with closing(sqlite3.connect(world.state / JOURNAL)) as journal, journal:
        journal.execute("DROP TRIGGER no")
    life.go_on(900)
    life.drop()
    assert len(world.sandbox.store.sent("acme")) == 4
    assert not [line for line in world.log() if line["event"] == "document.doubted"]


def test_what_the_receiver_owes(world: World) -> None:
    """What was delivered by this process is reported after five days until the receiver has answered by a response.

    A Message Level Status is the access point's word, not the receiver's.
    """
    for number in ALL:
        world.drop(f"{number}.xml", invoice(number, process=BILLING_WITH_RESPONSE))
    world.drop("4.xml", invoice("4"))
    tie_responses(world)
    assert reported(world, "unanswered", SOON) == reported(world, "unanswered", LONG_AFTER) == {}
    assert reported(world, "unanswered") == {"acme": ALL}
    world.receive(response("1", "AP", id_="a"))
    world.receive(response("2", "RE", id_="b"))
    uuids = {message.uuid for message in world.sandbox.store.sent("acme")}
    for uuid in uuids:
        world.receive(message_level("mls", uuid, "").replace(b">RE<", b">AB<"), sender="0242:000123")
    tie_responses(world)
    assert reported(world, "unanswered") == {"acme": ["3"]}


def test_the_time_of_a_company(make_world: Callable[..., World]) -> None:
    """Each company has its own `answer_after`."""
    world = make_world(
        companies={"fjord": f'{{participants: ["{FJORD}"], answer_after: 3d}}'}, inbound={"answer_after": "20d"}
    )
    world.sandbox.store.connect({SELLER: "acme", FJORD: "acme", BUYER: "buyer"})
    arrive(world, bill("1"))
    number = arrive(world, bill("2", receiver=FJORD), receiver=FJORD)
    world.run_once()
    assert reported(world, "owed", SOON) == {"fjord": [str(number)]}
