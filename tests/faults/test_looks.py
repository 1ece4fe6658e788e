"""Looks for documents in doubt, where something comes between: time, other messages, outages, missing pages, a move."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from support.documents import SELLER, invoice
from support.faults import Front, answered, cut_after, instead, reset_before
from support.matrix import quick
from support.world import PASSWORD

from filedrop.model.document import State
from filedrop.sandbox import Sandbox, SandboxAccount

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.faults import Exchange, Fault
    from support.world import World

FOUND = "claimed, sending, in doubt, found"
SENT_AGAIN = "claimed, sending, in doubt, not found at the access point, sending, accepted"
THIRD = "0192:991825827"


@pytest.fixture
def slow_world(make_world: Callable[..., World]) -> World:
    """A world in which nothing is delivered today: what is accepted stays in sent/."""
    return make_world(deliver_after=3600, outbound={"doubt": "100ms"})


def story(world: World, name: str = "invoice.xml") -> str:
    """What has happened to a document, in its sidecar's words."""
    return ", ".join(event["event"] for event in world.sidecar(name)["history"])


def test_a_late_commit(make_world: Callable[..., World]) -> None:
    """A document that the access point takes only after the first look for it is found by the second."""
    world, taken = make_world(deliver_after=3600, read_timeout="200ms", outbound={"doubt": "5s"}), threading.Event()

    def late(exchange: Exchange) -> None:
        taken.wait()
        exchange.arrive()

    world.front.next("POST /outbox", late)
    world.drop("invoice.xml", invoice())
    with world.service():
        world.until(lambda: world.front.asked("GET /messages"), what="it is looked for")
        taken.set()
        world.until(lambda: world.settled(("sent",)))
    world.invariants()
    assert story(world) == FOUND
    assert len(world.front.asked("POST /outbox")) == 1


@pytest.mark.parametrize("days", [-1, 1], ids=["a day behind", "a day ahead"])
def test_another_day(make_world: Callable[..., World], days: int) -> None:
    """Where the access point's clock is a day off, what has arrived is found, what hasn't is sent again, as ever."""
    world = make_world(clock=lambda: datetime.now(UTC) + timedelta(days=days))
    world.front.next("POST /outbox", cut_after, reset_before, answered)
    for name in ("one", "two", "three"):
        world.drop(f"{name}.xml", invoice(name))
        world.receive(invoice(f"{name} received"))
    world.settle()
    world.invariants()
    assert world.accepted() == dict.fromkeys(world.dropped, 1)
    assert len(world.front.asked("POST /outbox")) == 4


def arrive_as_another(exchange: Exchange) -> None:
    """Another system on the same account sends another invoice to the same receiver."""
    own = exchange.request
    exchange.request = replace(own, body=own.body.replace(b"<cbc:ID>1001</cbc:ID>", b"<cbc:ID>1002</cbc:ID>"))
    exchange.arrive()
    exchange.request = own


def another_instead(exchange: Exchange) -> None:
    """Only another system's invoice arrives."""
    arrive_as_another(exchange)
    exchange.cut()


def another_first(exchange: Exchange) -> None:
    """Another system's invoice arrives, then ours; nobody says so."""
    arrive_as_another(exchange)
    exchange.arrive()
    exchange.cut()


@pytest.mark.parametrize(("fault", "says"), [(another_instead, SENT_AGAIN), (another_first, FOUND)])
def test_another_document_with_the_same_ids(slow_world: World, fault: Fault, says: str) -> None:
    """Another document that went the same way at the same time is never taken for the one in doubt."""
    world = slow_world
    world.front.next("POST /outbox", fault)
    world.drop("invoice.xml", invoice())
    world.settle(ends=("sent",))
    assert story(world) == says
    assert world.sidecar("invoice.xml")["msg_no"] == 2
    assert len(world.sandbox.store.sent("acme")) == 2


@pytest.mark.parametrize(("fault", "says"), [(cut_after, FOUND), (reset_before, SENT_AGAIN)])
def test_sender_and_receiver_on_one_account(make_world: Callable[..., World], fault: Fault, says: str) -> None:
    """What a company sends to another one on its account is one document out and one in, and neither is the other."""
    world = make_world(companies={"acme": f'{{participants: ["{SELLER}", "{THIRD}"]}}'})
    world.sandbox.store.connect({SELLER: "acme", THIRD: "acme"})
    world.front.next("POST /outbox", fault)
    world.drop("invoice.xml", invoice(receiver=THIRD))
    world.received[2] = world.dropped["invoice.xml"]
    world.settle()
    world.invariants()
    assert story(world) == f"{says}, delivered"
    assert world.sidecar("invoice.xml")["msg_no"] == 1


@pytest.mark.parametrize("answer", [instead(500), instead(401)], ids=["away", "refused"])
def test_an_outage_longer_than_doubt(slow_world: World, answer: Fault) -> None:
    """However long the access point is away or refuses the login, nothing is concluded of it."""
    world = slow_world

    def cut_and_away(exchange: Exchange) -> None:
        world.front.always("GET ", answer)
        cut_after(exchange)

    world.front.next("POST /outbox", cut_and_away)
    world.drop("invoice.xml", invoice())
    with world.service() as service:
        breaker = service.accounts[0].breaker
        world.until(lambda: service.journal.documents.in_state(State.DOUBT) and not breaker.ready)
        until, seen = time.monotonic() + 1.0, len(world.front.requests)  # ten times `doubt`
        world.until(lambda: time.monotonic() > until and len(world.front.requests) >= seen + 3)
        assert len(service.journal.documents.in_state(State.DOUBT)) == 1
        world.front.heal()
        world.until(lambda: world.settled(("sent",)))
    world.invariants()
    assert story(world) == FOUND
    assert len(world.front.asked("POST /outbox")) == 1


@pytest.mark.parametrize("fault", quick([instead(500), instead(200, "<html/>"), reset_before, instead(204)]))
def test_a_page_that_is_missing(slow_world: World, fault: Fault) -> None:
    """A look that gets the first page of the archive and not the second decides nothing."""
    world = slow_world
    for number in range(25):
        world.send_from_elsewhere(invoice(f"elsewhere {number}"))
    world.front.next("POST /outbox", cut_after)
    world.front.always(lambda request: request.path == "/messages" and "index=2" in request.target, fault)
    world.drop("invoice.xml", invoice())
    with world.service() as service:
        world.until(lambda: [line for line in world.log() if line["event"] == "errand.failed"])
        assert len(service.journal.documents.in_state(State.DOUBT)) == 1
    world.front.heal()
    world.settle(ends=("sent",))
    assert story(world) == FOUND
    assert world.sidecar("invoice.xml")["msg_no"] == 26
    assert len(world.front.asked("POST /outbox")) == 1


def test_the_account_moves(slow_world: World) -> None:
    """A document that was posted to one server stays its own: no other is asked for it, nor sent it, meanwhile."""
    world, here = slow_world, slow_world.front.url
    there = Sandbox(world.base / "another access point", [SandboxAccount("acme", PASSWORD, (SELLER,))])
    front = Front(there.app, date=world.front.date)
    world.drop("sent.xml", invoice("1"))
    world.settle(ends=("sent",))
    world.front.next("POST /outbox", cut_after)
    world.front.always("GET /messages", instead(500))
    world.drop("doubtful.xml", invoice("2"))
    with world.service() as service:
        world.until(lambda: service.journal.documents.in_state(State.DOUBT))
    asked = len(world.front.requests)

    world.front.url = f"http://localhost:{front.port}"
    world.put(world.outbound / "new.xml", invoice("3"))
    with world.service():
        world.until((world.outbound / "sent" / "new.xml").exists)
        world.until(lambda: len(front.asked("GET /outbox")) >= 2, what="the new one is asked after")
    assert world.places() == {"sent.xml": "sent", "doubtful.xml": "sending"}
    assert len(there.store.sent("acme")) == 1
    assert len(world.front.requests) == asked

    world.front.url = here
    world.front.heal()
    with world.service():
        world.until(lambda: world.places().get("doubtful.xml") == "sent")
    assert story(world, "doubtful.xml") == FOUND
    assert world.accepted() == {"sent.xml": 1, "doubtful.xml": 1}
    front.close()
    there.stop()
