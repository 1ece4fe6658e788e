"""A document that the access point refuses at once, while it answers all else: it waits alone, and nobody with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.documents import invoice
from support.faults import answered, instead
from support.matrix import quick
from support.stepping import RULES, Life

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.faults import Fault, Request
    from support.stepping import Clock
    from support.world import World

BUSY = instead(503, "Busy", ("Retry-After", "3600"))
REFUSALS = pytest.mark.parametrize(
    "refusal", quick([BUSY, instead(404), instead(405), instead(429)]), ids=["503 for an hour", "404", "405", "429"]
)


def of(*names: str) -> Callable[[Request], bool]:
    """The uploads of these documents, which are named after their numbers."""
    numbers = [f">{name}</cbc:ID>".encode() for name in names]
    return lambda request: request.line == "POST /outbox" and any(number in request.body for number in numbers)


def drop(life: Life, world: World, name: str) -> None:
    world.drop(name, invoice(name))
    life.touch()


@REFUSALS
def test_a_document_that_is_refused_at_once(make_world: Callable[..., World], clock: Clock, refusal: Fault) -> None:
    """Others are sent at once, the inbox is read, and it is sent itself when it is taken; a 404 never fails it.

    A Retry-After is honoured once: it may be the access point's own wish.
    """
    world = make_world(outbound=RULES, inbound={"poll": "1m"}, clock=clock.true)
    life = Life(world, clock)
    try:
        life.go_on(10)
        world.front.always(of("bad.xml"), refusal)
        drop(life, world, "bad.xml")
        life.go_on(3700 if refusal is BUSY else 30)
        breaker = life.service.accounts[0].breaker
        for number in range(12):
            drop(life, world, f"{number}.xml")
            world.receive(invoice(f"received {number}"))
            life.go_on(90)
            assert breaker.report.condition == "ok"
            assert world.places()[f"{number}.xml"].split("/")[0] in ("sent", "archive")
            assert len(world.delivered()) == number + 1
            life.go_on(510)
        assert world.places()["bad.xml"] == "sending"
        uploads = [request for request in world.front.asked("POST /outbox") if of("bad.xml")(request)]
        assert 0 < len(uploads) < 60
        note = (world.outbound / "sending" / "bad.xml.why.txt").read_text()
        assert "answered" in note
        assert "waiting for its turn" not in note
        world.front.heal()
        life.go_on(3700)
        assert world.places()["bad.xml"].split("/")[0] == "archive"
        world.invariants()
    finally:
        life.drop()


@pytest.mark.parametrize("asked_for", ["600", "3600"])
def test_how_long_it_waits(make_world: Callable[..., World], clock: Clock, asked_for: str) -> None:
    """It is left alone for as long as its 503 asks, and tried again then."""
    world = make_world(outbound=RULES, inbound={"poll": "5m"}, clock=clock.true)
    life = Life(world, clock)
    try:
        life.go_on(10)
        world.front.next("POST /outbox", *[instead(503, "", ("Retry-After", asked_for))])
        drop(life, world, "bad.xml")
        life.go_on(int(asked_for) - 60)
        assert len(world.front.asked("POST /outbox")) == 1
        life.go_on(120)
        assert world.places()["bad.xml"].split("/")[0] in ("sent", "archive")
    finally:
        life.drop()


@REFUSALS
def test_all_documents_are_refused(make_world: Callable[..., World], clock: Clock, refusal: Fault) -> None:
    """Where no document is taken, though GET is answered, the account pauses: it isn't flooded, and nothing fails."""
    world = make_world(outbound=RULES, inbound={"poll": "5m"}, clock=clock.true)
    life = Life(world, clock)
    try:
        life.go_on(10)
        world.front.always("POST /outbox", refusal)
        for number in range(20):
            world.drop(f"{number}.xml", invoice(str(number)))
        life.touch()
        life.go_on(60)
        assert life.service.accounts[0].breaker.report.condition != "ok"
        life.go_on(4 * 3600)
        assert set(world.places().values()) == {"sending"}
        assert len(world.front.asked("POST /outbox")) < 20 * 20
        world.front.heal()
        life.go_on(2 * 3600)
        assert {place.split("/")[0] for place in world.places().values()} == {"archive"}
        world.invariants()
    finally:
        life.drop()


def test_run_once_with_a_document_that_is_refused(world: World) -> None:
    """A single run sends the others, ends, and says with its status that one is left."""
    world.front.always(of("bad.xml"), instead(404))
    world.drop("bad.xml", invoice("bad.xml"))
    world.drop("good.xml", invoice("good.xml"))
    done = world.filedrop("run", "--once")
    assert done.returncode == 1, done.stderr
    assert world.accepted() == {"good.xml": 1}
    assert world.places()["bad.xml"] == "sending"
    world.front.heal()
    world.front.always("POST /outbox", answered)
    world.settle()
    world.invariants()
