"""Documents in doubt: what is found of them at the access point, what is not, and what only a person can tell."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from support.commands import ask
from support.documents import invoice
from support.faults import cut_after, exactly, failed_after, instead, reset_before
from support.stepping import RULES, Clock, Life
from werkzeug.http import http_date

from filedrop.model.document import State

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.faults import Exchange, Fault
    from support.world import World

FOUND = "claimed, sending, in doubt, found"


@pytest.fixture
def slow_world(make_world: Callable[..., World]) -> World:
    """A world in which nothing is delivered today: what is accepted stays in sent/."""
    return make_world(deliver_after=3600, outbound={"doubt": "100ms"})


@pytest.fixture
def twin_world(make_world: Callable[..., World]) -> World:
    """The same, and a document may be sent as often as it is dropped."""
    return make_world(deliver_after=3600, outbound={"doubt": "100ms", "duplicates": "allow"})


def story(world: World) -> str:
    """What has happened to the document, in its sidecar's words."""
    return ", ".join(event["event"] for event in world.sidecar("invoice.xml")["history"])


def numbers(world: World) -> dict[str, int]:
    """The message numbers of the documents in sent/."""
    sidecars = (world.outbound / "sent").glob("*.json")
    return {path.name.removesuffix(".json"): json.loads(path.read_bytes())["msg_no"] for path in sidecars}


def test_found_though_written_anew(make_world: Callable[..., World]) -> None:
    """A document in another encoding, with comments, is found at an access point that writes what it gets anew."""
    world = make_world(quirks=True, deliver_after=3600)
    content = invoice().decode().replace("UTF-8", "ISO-8859-1").replace("<cbc:Note>", "<!-- printed --><cbc:Note>")
    world.front.next("POST /outbox", failed_after)
    world.drop("invoice.xml", content.encode("iso-8859-1"))
    world.settle(ends=("sent",))
    assert story(world) == FOUND
    assert len(world.front.asked("POST /outbox")) == 1


def told(world: World) -> list[str]:
    """What the log says of the document's doubt: each event, and the decision or the number that goes with it."""
    events = [(line, line["event"].removeprefix("document.")) for line in world.log()]
    return [
        " ".join([event, str(line.get("decision") or line.get("msg_no") or "")]).strip()
        for line, event in events
        if event in ("doubted", "found", "not_found", "resolved") and line["file"] == "invoice.xml"
    ]


def test_a_doubt_is_logged(make_world: Callable[..., World]) -> None:
    """That a document is in doubt, why, and what a look has decided of it, stands in the log."""
    world = make_world(deliver_after=3600, outbound={"doubt": "100ms"})
    world.front.next("POST /outbox", instead(500), cut_after)
    world.drop("invoice.xml", invoice())
    world.settle(ends=("sent",))
    assert told(world) == ["doubted", "not_found", "doubted", "found 1"]
    (first, second) = [line for line in world.log() if line["event"] == "document.doubted"]
    assert (first["attempt"], second["attempt"]) == (1, 2)
    assert first["why"]
    assert first["level"] == "warning"


def changed_and_cut(exchange: Exchange) -> None:
    """The access point keeps the document with another text than it got, and can't say so."""
    body = exchange.request.body.replace(b"Thank you for your order.", b"Please visit us again.")
    exchange.request = replace(exchange.request, body=body)
    exchange.arrive()
    exchange.cut()


def test_found_by_its_number(slow_world: World) -> None:
    """A document that the access point has changed is found by its ids, number and issue date."""
    slow_world.front.next("POST /outbox", changed_and_cut)
    slow_world.drop("invoice.xml", invoice())
    slow_world.settle(ends=("sent",))
    assert story(slow_world) == FOUND
    assert len(slow_world.front.asked("POST /outbox")) == 1


def twice_and_cut(exchange: Exchange) -> None:
    """The request arrives twice, as when something in between repeats it, and nobody says so."""
    exchange.arrive()
    exchange.arrive()
    exchange.cut()


def test_once_too_often(twin_world: World) -> None:
    """What the access point has once too often is written down, and never taken for a later document."""
    world = twin_world
    world.front.next("POST /outbox", twice_and_cut, reset_before)
    world.put(world.outbound / "first.xml", invoice())
    with world.service() as service:
        world.until(lambda: numbers(world) == {"first.xml": 1})
        identity = service.accounts[0].access_point.identity
        assert service.journal.numbers.surplus(identity) == [(2, "first.xml")]
        world.put(world.outbound / "second.xml", invoice())
        world.until(lambda: len(numbers(world)) == 2)
    assert numbers(world) == {"first.xml": 1, "second.xml": 3}
    assert [line["msg_no"] for line in world.log() if line["event"] == "message.surplus"] == [2]


@pytest.mark.parametrize(
    ("faults", "sent"),
    [((cut_after, cut_after), [1, 2]), ((cut_after, reset_before), [1, 2]), ((twice_and_cut, cut_after), [1, 2, 3])],
    ids=["both", "one of them", "one too many"],
)
def test_twins(twin_world: World, faults: tuple[Fault, Fault], sent: list[int]) -> None:
    """The same document twice, both in doubt, however many have arrived: each gets a number of its own, in order."""
    world, both_there = twin_world, threading.Barrier(2)

    def together(fault: Fault) -> Fault:
        def waiting(exchange: Exchange) -> None:
            both_there.wait()
            fault(exchange)

        return waiting

    world.front.next("POST /outbox", *map(together, faults))
    for name in ("one.xml", "two.xml"):
        world.put(world.outbound / name, invoice())
    with world.service() as service:
        world.until(lambda: len(numbers(world)) == 2)
        surplus = service.journal.numbers.surplus(service.accounts[0].access_point.identity)
    assert sorted(numbers(world).values()) == [1, 2]
    assert [message.msg_no for message in world.sandbox.store.sent("acme")] == sent
    assert [number for number, _ in surplus] == sent[2:]


def test_a_look_that_breaks_off(slow_world: World) -> None:
    """While the archive can't be read, nothing is concluded from that: the document is not sent again."""
    world = slow_world
    world.front.next("POST /outbox", cut_after)
    world.front.always("GET /messages", instead(200, "<html>Maintenance</html>"))
    world.drop("invoice.xml", invoice())
    with world.service() as service:
        world.until(lambda: [line for line in world.log() if line["event"] == "errand.failed"])
        assert len(service.journal.documents.in_state(State.DOUBT)) == 1
    world.front.heal()
    world.settle(ends=("sent",))
    assert story(world) == FOUND
    assert len(world.front.asked("POST /outbox")) == 1


@pytest.mark.parametrize(
    ("answer", "accepted"), [(("--sent", "1"), [1]), (("--send-again",), [1, 2])], ids=["sent", "send again"]
)
def test_what_cannot_be_compared(slow_world: World, answer: tuple[str, ...], accepted: list[int]) -> None:
    """Where there is a message that may be the document but can't be read, a person decides, and nothing else does."""
    world = slow_world
    world.front.next("POST /outbox", cut_after)
    world.front.always("GET /messages/1/", instead(200, "<Invoice", ("Content-Type", "application/xml")))
    world.drop("invoice.xml", invoice())
    with world.service() as service:
        world.until(service.accounts[0].follower.resolver.needs_a_person)
    with world.service() as service:  # a new start comes to the same
        world.until(service.accounts[0].follower.resolver.needs_a_person)
        assert len(world.front.asked("POST /outbox")) == 1
        resolve(world, *answer)
        world.until(lambda: world.settled(("sent",)))
    assert [message.msg_no for message in world.sandbox.store.sent("acme")] == accepted
    assert world.sidecar("invoice.xml")["msg_no"] == accepted[-1]
    assert "a person says" in story(world)
    decision = "sent" if answer[0] == "--sent" else "to be sent again"
    assert told(world) == ["doubted", f"resolved {decision}, a person says"]


def resolve(world: World, *answer: str) -> None:
    """What a person writes on the command line, beside the daemon."""
    world.filedrop("resolve", "invoice.xml", *answer).check_returncode()


UNREADABLE = instead(200, "<Invoice", ("Content-Type", "application/xml"))


@pytest.fixture
def stepped_world(make_world: Callable[..., World], clock: Clock) -> World:
    """A world that goes by clocks of its own, in which nothing is delivered today."""
    return make_world(outbound=RULES, inbound={"poll": "5m"}, clock=clock.true, deliver_after=24 * 3600)


def test_one_that_cannot_be_compared_holds_no_other(stepped_world: World, clock: Clock) -> None:
    """A message that can't be read holds what was posted when it came, and nothing before or after; a person is told.

    All are of the same sender, receiver and type, in doubt at the same time, and only one has arrived.
    """
    world, life = stepped_world, Life(stepped_world, clock)
    life.take(world, "known.xml")
    world.front.always("GET /messages/2/", UNREADABLE)
    world.front.always(exactly("GET", "/messages"), instead(200, "<html>Maintenance</html>"))
    life.take(world, "before.xml", reset_before)
    life.go_on(2 * 3600)
    life.take(world, "concerned.xml", cut_after)
    life.go_on(2 * 3600)
    life.take(world, "after.xml", reset_before)
    assert len(life.journal.documents.in_state(State.DOUBT)) == 3
    world.front.heal()
    world.front.always("GET /messages/2/", UNREADABLE)
    for _ in range(20):
        life.go_on(300)
    assert world.places() == {
        "known.xml": "sent",
        "before.xml": "sent",
        "concerned.xml": "sending",
        "after.xml": "sent",
    }
    assert world.accepted() == dict.fromkeys(world.dropped, 1)
    (why,) = [line["why"] for line in world.log() if line["event"] == "document.undecided"]
    assert "message 2 may be this document, but can't be compared" in why
    (document,) = life.journal.documents.in_state(State.DOUBT)
    command = f"filedrop resolve {document.id} --sent 2"
    assert command in why
    assert command in (world.outbound / "sending" / "concerned.xml.why.txt").read_text()
    told = ask(world, "status")
    assert "decide: concerned.xml" in told.says
    assert command in told.says
    life.drop()
    done = world.filedrop(*command.split()[1:])
    assert done.returncode == 0, done.stderr
    life = Life(world, clock)
    life.go_on(300)
    assert world.places()["concerned.xml"] == "sent"
    assert world.accepted() == dict.fromkeys(world.dropped, 1)


def test_one_that_can_never_be_had(stepped_world: World, clock: Clock) -> None:
    """Where what may be the document is listed, but never to be had, a person is told when `doubt` is over."""
    world, life = stepped_world, Life(stepped_world, clock)
    world.front.always("GET /messages/1/", instead(404))
    life.take(world, "invoice.xml", cut_after)
    life.go_on(300)
    assert not [line for line in world.log() if line["event"] == "document.undecided"]
    for _ in range(10):
        life.go_on(300)
    (why,) = [line["why"] for line in world.log() if line["event"] == "document.undecided"]
    assert "message 1 may be this document, but can't be compared: its content can't be fetched" in why
    world.front.heal()
    for _ in range(10):
        life.go_on(300)
    life.drop()
    world.invariants()
    assert world.accepted() == {"invoice.xml": 1}


def test_one_that_cannot_be_compared_after_a_change_of_clocks(stepped_world: World, clock: Clock) -> None:
    """Where summer time has come since the clocks were learned, what can't be read is ruled out by no clock."""
    world, life = stepped_world, Life(stepped_world, clock)
    life.take(world, "known.xml")
    world.front.date = lambda: http_date(clock.true() + timedelta(hours=1))
    life.go_on(400)  # it hears of that
    world.front.always("GET /messages/2/", UNREADABLE)
    life.take(world, "invoice.xml", cut_after)
    life.go_on(2 * 3600)
    assert world.places()["invoice.xml"] == "sending"
    assert len(world.front.asked("POST /outbox")) == 2
    assert [line["file"] for line in world.log() if line["event"] == "document.undecided"] == ["invoice.xml"]
    life.drop()
