"""Delivery tracking: how often an access point is asked for many documents, and what its lists prove."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from support.documents import invoice
from support.faults import answered
from support.stepping import RULES, Life

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.faults import Exchange, Request
    from support.stepping import Clock
    from support.world import World


def test_one_after_the_other(make_world: Callable[..., World], clock: Clock) -> None:
    """Documents that are sent one after the other are asked after together: the lists aren't read for each."""
    outbound = RULES | {"track": "100s", "rescan": "1s", "settle": "0s"}
    world = make_world(outbound=outbound, inbound={"poll": "5m"}, clock=clock.true, deliver_after=1)
    life = Life(world, clock)
    life.go_on(5)
    names = [f"{nth:02}.xml" for nth in range(20)]
    for name in names:
        world.drop(name, invoice(name))
        life.touch()
        life.go_on(1)
    life.go_on(150)
    life.stop()
    assert list(world.places()) == names
    assert all(place.startswith("archive/") for place in world.places().values())
    asked = len(world.front.asked("GET /outbox"))
    assert 20 / 5 <= asked <= 20 / 5 + 2, "every 5 s while some become due"


def test_what_the_outbox_lists_is_on_its_way(make_world: Callable[..., World], clock: Clock) -> None:
    """A document that the outbox lists hasn't left it, though the archive, read for another, spells its message so."""
    world = make_world(
        outbound=RULES | {"overdue": "1h"}, inbound={"poll": "5m"}, clock=clock.true, deliver_after=100_000
    )

    def without_the_second(exchange: Exchange) -> None:
        if exchange.request.path != "/outbox":  # a single question
            return answered(exchange)
        return exchange.answer(
            200, re.sub(rb"<message>(?:(?!</message>).)*<msg-no>2<.*?</message>", b"", listed(exchange))
        )

    def in_whole_seconds(exchange: Exchange) -> None:
        exchange.answer(200, re.sub(rb"(<received>[^<.]*)[.][0-9]+", rb"\1", listed(exchange)))

    def listed(exchange: Exchange) -> bytes:
        return exchange.arrive().body.replace(b"\n", b" ")

    world.front.always("GET /outbox", without_the_second)
    world.front.always("GET /messages", in_whole_seconds)
    life = Life(world, clock)
    life.go_on(10)
    for nth in ("1", "2"):
        world.drop(f"{nth}.xml", invoice(nth))
    for _ in range(3):  # they are seen, have settled, and are taken as far as they go
        life.touch()
        life.go_on(3)
    life.go_on(3 * 3600)
    life.stop()
    assert world.places() == {"1.xml": "sent", "2.xml": "failed"}
    assert world.error("2.xml") == "not-delivered"


def test_a_list_that_moves_up(make_world: Callable[..., World], clock: Clock) -> None:
    """While the outbox is read, messages leave it, and others move up to a page already read: they are still in it.

    One that really has left it fails all the same, in the end.
    """
    world = make_world(
        outbound=RULES | {"overdue": "1h"}, inbound={"poll": "5m"}, clock=clock.true, deliver_after=100_000
    )
    names = [f"{nth:02}.xml" for nth in range(1, 41)]

    def when_ten_were_delivered(exchange: Exchange) -> None:
        with world.sandbox.store._writing() as connection:
            connection.execute("UPDATE messages SET due = 0 WHERE msg_no <= 10")
        answered(exchange)

    def is_for_the_second_page(request: Request) -> bool:
        return request.line == "GET /outbox" and "index=2" in request.target

    life = Life(world, clock)
    life.go_on(10)
    for name in names:
        world.drop(name, invoice(name))
    for _ in range(20):
        life.touch()
        life.go_on(3)
    assert set(world.places().values()) == {"sent"}
    life.stop()
    clock.pass_on(3 * 3600)
    world.front.next(is_for_the_second_page, when_ten_were_delivered)
    life = Life(world, clock)
    life.go_on(3 * 3600)
    assert [world.places()[name].split("/")[0] for name in names] == ["archive"] * 10 + ["sent"] * 30
    with world.sandbox.store._writing() as connection:
        connection.execute("UPDATE messages SET due = NULL, listed = 0 WHERE msg_no = 40")
    life.go_on(3 * 3600)
    life.stop()
    assert [world.places()[name] for name in names[10:]] == ["sent"] * 29 + ["failed"]
