"""The table of answers (contract 6), seen from a document: what becomes of it after each answer to its upload.

A document's story is the history in its sidecar, which says in order what has happened to it.
"""

from __future__ import annotations

import threading
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from support.documents import invoice
from support.faults import answered, cut_after, instead, reset_before, unreadable_after

from filedrop.model.document import State

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.faults import Exchange, Fault, Match
    from support.world import World

ACCEPTED = "claimed, sending, accepted"
HELD_BACK = "claimed, sending, never arrived, sending, accepted"
FOUND = "claimed, sending, in doubt, found"
SENT_AGAIN = "claimed, sending, in doubt, not found at the access point, sending, accepted"
FAILED = "claimed, sending, failed"
UNCLEAR = (200, 303, 500, 503)  # whether the document has arrived or not
A_DATABASE = "could not execute statement: insert into message (document_id) values (?)"  # field notes: it is a 400 too
failed_before = instead(500, "Unknown server error occurred.")


def cut_before(exchange: Exchange) -> None:
    """The request was read, and reached nobody."""
    exchange.cut()


def silent_before(exchange: Exchange) -> None:
    """The request was read, reached nobody, and nobody answers."""
    exchange.keep_silent()


def only_a_location(exchange: Exchange) -> None:
    """The document is accepted, and its number is in the answer's Location only."""
    location = next(value for name, value in exchange.arrive().headers if name == "Location")
    exchange.answer(201, b"", [("Location", location)])


def after_arrival(status: int) -> Fault:
    """The access point has done what was asked, and this is the answer."""

    def fault(exchange: Exchange) -> None:
        exchange.arrive()
        exchange.answer(status, "hm")

    return fault


@pytest.fixture
def slow_world(make_world: Callable[..., World]) -> World:
    """A world in which nothing is delivered today: what is accepted stays in sent/."""
    return make_world(deliver_after=3600, outbound={"doubt": "100ms"})


def story(world: World, name: str = "invoice.xml") -> str:
    """What has happened to a document, in its sidecar's words."""
    return ", ".join(event["event"] for event in world.sidecar(name)["history"])


def end(world: World) -> None:
    """Let everything come to where it stays."""
    world.settle(ends=("sent", "failed"))
    world.invariants()


def paused(world: World) -> list[str]:
    """How the account stood, each time that it paused."""
    return [line["condition"] for line in world.log() if line["event"] == "account.paused"]


def looks_between_posts(world: World) -> list[int]:
    """How often the archive was read between each upload and the next."""
    posts = [index for index, request in enumerate(world.front.requests) if request.line == "POST /outbox"]
    return [
        sum(request.line == "GET /messages" for request in world.front.requests[one:other])
        for one, other in pairwise(posts)
    ]


@pytest.mark.parametrize("fault", [answered, only_a_location], ids=lambda fault: fault.__name__)
def test_accepted(slow_world: World, fault: Fault) -> None:
    """A 201 with a message number, in its body or its Location, means accepted."""
    slow_world.front.next("POST /outbox", fault)
    slow_world.drop("invoice.xml", invoice())
    end(slow_world)
    assert story(slow_world) == ACCEPTED


def test_busy(slow_world: World) -> None:
    """A busy access point has not got the document: it is sent later, without being looked for."""
    slow_world.front.next("POST /outbox", *[instead(429)] * 3)  # the client alone asks three times
    slow_world.drop("invoice.xml", invoice())
    end(slow_world)
    assert story(slow_world) == HELD_BACK
    assert not slow_world.front.asked("GET /messages")


def test_left_alone_for_as_long_as_it_asks(slow_world: World) -> None:
    """An access point that asks to be left alone for an hour is left alone: all documents wait, none fails."""
    slow_world.front.always("POST /outbox", instead(503, "", ("Retry-After", "3600")))
    slow_world.drop("invoice.xml", invoice("1"))
    with slow_world.service() as service:
        slow_world.until(lambda: paused(slow_world) == ["away"])
        slow_world.drop("another.xml", invoice("2"))
        slow_world.until(lambda: len(service.journal.documents.in_state(State.WAITING)) == 2)
        assert 3500 < service.accounts[0].breaker.wait() <= 3600
        assert "3600 s" in service.accounts[0].breaker.report.why
    assert set(slow_world.places().values()) == {"sending"}
    assert len(slow_world.front.asked("POST /outbox")) == 1


def test_nothing_listens(make_world: Callable[..., World]) -> None:
    """A document that no connection could be made for waits in sending/, and goes when the access point is back."""
    world = make_world(deliver_after=3600, inbound={"poll": "1h"})  # so that the upload is what finds it away
    sandbox = world.sandbox
    sandbox.start()
    world.front.url = sandbox.base_url
    with world.service() as service:
        world.until(lambda: service.accounts[0].poller.summary.last_poll)
        sandbox.stop()
        world.drop("invoice.xml", invoice())
        world.until(lambda: paused(world) == ["away"])
        sandbox.start()
        world.until(lambda: world.settled(("sent",)))
    sandbox.stop()
    world.invariants()
    assert story(world) == HELD_BACK


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (400, "Wrong recipientId value: 0192:810418052"),
        (400, "Unable to parse the XML document"),
        (413, "Too large"),
        (415, "Not XML"),
        (422, "Line 7: the total is wrong"),
        (401, "Not your participant"),
        (403, "Not your participant"),
    ],
)
def test_refused(slow_world: World, status: int, text: str) -> None:
    """A document that the access point refuses for its own sake fails as `rejected`, with the access point's words."""
    slow_world.front.always(is_about("4711"), instead(status, text))
    slow_world.drop("refused.xml", invoice("4711"))
    slow_world.drop("another.xml", invoice("1"))
    with slow_world.service() as service:
        slow_world.until(lambda: slow_world.settled(("sent", "failed")))
        assert service.accounts[0].breaker.ready
    slow_world.invariants()
    (failed,) = [name for name, place in slow_world.places().items() if place == "failed"]
    assert story(slow_world, failed) == FAILED
    assert slow_world.error(failed) == "rejected"
    error = slow_world.sidecar(failed)["error"]
    assert text in error["message"] + error["administrator"]
    assert text in (slow_world.outbound / "failed" / f"{failed}.why.txt").read_text()


@pytest.mark.parametrize("status", [401, 403])
def test_refused_login(slow_world: World, status: int) -> None:
    """A login that is refused everywhere pauses the account; no document fails, and all go when it is good again."""
    world = slow_world
    with world.service() as service:
        world.until(lambda: service.accounts[0].breaker.ready)
        world.front.always("", instead(status, "<html>go away</html>"))
        world.drop("invoice.xml", invoice())
        world.until(lambda: paused(world))
        world.front.heal()
        world.until(lambda: world.settled(("sent",)))
    world.invariants()
    assert set(paused(world)) == {"refused"}


@pytest.mark.parametrize("status", [404, 405, 307])
def test_wrong_address(make_world: Callable[..., World], status: int) -> None:
    """Where there is no access point the account pauses and says so; the document waits and is sent there later."""
    world = make_world(deliver_after=3600, inbound={"poll": "1h"})  # so that the upload is what finds it wrong
    with world.service() as service:
        world.until(lambda: service.accounts[0].poller.summary.last_poll)
        world.front.always("", instead(status, "", ("Location", "/elsewhere")))
        world.drop("invoice.xml", invoice())
        world.until(lambda: paused(world))
        world.front.heal()
        world.until(lambda: world.settled(("sent",)))
    world.invariants()
    assert story(world) == HELD_BACK
    (pause,) = [line for line in world.log() if line["event"] == "account.paused"]
    assert pause["condition"] == "wrong address"
    assert "correct base_url" in pause["why"]


@pytest.mark.parametrize(
    "fault",
    [*(after_arrival(status) for status in UNCLEAR), after_arrival(400), unreadable_after, cut_after],
    ids=[*map(str, UNCLEAR), "400", "201 unreadable", "cut"],
)
def test_unclear_and_arrived(slow_world: World, fault: Fault) -> None:
    """A document that has arrived though the answer didn't say so is found there, and not sent again."""
    slow_world.front.next("POST /outbox", fault)
    slow_world.drop("invoice.xml", invoice())
    end(slow_world)
    assert story(slow_world) == FOUND
    assert len(slow_world.front.asked("POST /outbox")) == 1


@pytest.mark.parametrize(
    "fault",
    [*map(instead, UNCLEAR), instead(400, A_DATABASE), instead(201, "<a>"), cut_before, reset_before],
    ids=[*map(str, UNCLEAR), "400", "201 unreadable", "cut", "reset"],
)
def test_unclear_and_not_arrived(slow_world: World, fault: Fault) -> None:
    """A document that certainly has not arrived is sent again, after two complete looks for it."""
    world = slow_world
    world.front.next("POST /outbox", fault)
    world.drop("invoice.xml", invoice())
    end(world)
    assert story(world) == SENT_AGAIN
    assert looks_between_posts(world) == [2]


def test_no_answer_and_not_arrived(make_world: Callable[..., World]) -> None:
    """A document that the access point read, and neither took nor answered, is sent again, after two complete looks."""
    world = make_world(deliver_after=3600, read_timeout="2s", outbound={"doubt": "100ms"})
    world.front.next("POST /outbox", silent_before)
    world.drop("invoice.xml", invoice())
    end(world)
    assert story(world) == SENT_AGAIN
    assert looks_between_posts(world) == [2]


def test_three_that_nobody_explains(slow_world: World) -> None:
    """The third 400 without a known reason makes a document fail with its text; it was looked for after each."""
    slow_world.front.always("POST /outbox", instead(400, A_DATABASE))
    slow_world.drop("invoice.xml", invoice())
    end(slow_world)
    assert slow_world.error("invoice.xml") == "rejected"
    assert A_DATABASE in slow_world.sidecar("invoice.xml")["error"]["message"]
    assert looks_between_posts(slow_world) == [2, 2]
    assert len(slow_world.front.asked("GET /messages")) == 6


def test_the_tenth_unclear_answer(slow_world: World) -> None:
    """A document that got no clear answer ten times fails as `no-answer`, and its note says how to go on."""
    slow_world.front.always("POST /outbox", failed_before)
    slow_world.drop("invoice.xml", invoice())
    end(slow_world)
    assert slow_world.error("invoice.xml") == "no-answer"
    assert looks_between_posts(slow_world) == [2] * 9
    assert "retry --anyway" in (slow_world.outbound / "failed" / "invoice.xml.why.txt").read_text()


def test_one_documents_trouble_is_its_own(slow_world: World) -> None:
    """While one document gets nothing but unclear answers, the others go, and the account doesn't pause."""
    world = slow_world
    world.front.always(is_about("4711"), failed_before)
    world.drop("trouble.xml", invoice("4711"))
    with world.service():
        world.until(lambda: sum(map(is_about("4711"), world.front.asked("POST /outbox"))) >= 3)
        world.drop("invoice.xml", invoice("1"))
        world.until(lambda: world.places().get("invoice.xml") == "sent")
    assert paused(world) == []


def is_about(number: str) -> Match:
    """Uploads of the invoice with this number."""
    return lambda request: f"<cbc:ID>{number}</cbc:ID>".encode() in request.body


def test_three_documents_in_a_row(slow_world: World) -> None:
    """Three different documents without a clear answer, one after the other: the account pauses, and then all go."""
    world, all_there = slow_world, threading.Barrier(3)

    def failed_together(exchange: Exchange) -> None:
        all_there.wait()
        failed_before(exchange)

    world.front.next("POST /outbox", *[failed_together] * 3)
    for number in range(3):
        world.drop(f"invoice-{number}.xml", invoice(str(number)))
    end(world)
    assert paused(world) == ["away"]
    assert set(world.places().values()) == {"sent"}
