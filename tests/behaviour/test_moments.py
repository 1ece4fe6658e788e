"""Servers that write one moment in several ways: milliseconds in one answer, whole seconds or another offset later."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.documents import invoice
from support.faults import cut_after, instead
from support.matrix import quick
from support.stepping import RULES, Life

from filedrop.sandbox.dialect import DOCUMENT, FIELD, with_oddities

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.stepping import Clock
    from support.world import World

    from filedrop.sandbox.dialect import Dialect

ODD = [
    pytest.param(names, id=" ".join(names))
    for names in (
        ["seconds-cut"], ["seconds-rounded"], ["another-offset"],
        ["seconds-cut", "another-offset"], ["seconds-rounded", "another-offset"],
    )
]  # fmt: skip
EITHER = pytest.mark.parametrize("dialect", [DOCUMENT, FIELD], ids=["as documented", "as in the field"])


@EITHER
@pytest.mark.parametrize("odd", quick(ODD))
def test_deliveries_where_received_changes_its_digits(
    make_world: Callable[..., World], dialect: Dialect, odd: list[str]
) -> None:
    """Every delivered document ends in archive/, none in failed/, however the 201's `received` is written later."""
    world = make_world(dialect=dialect, oddities=odd, outbound={"overdue": "1s"})
    for number in range(5):
        world.drop(f"{number}.xml", invoice(str(number)))
        world.receive(invoice(f"received {number}"))
    world.settle()
    assert {place.split("/")[0] for place in world.places().values()} == {"archive"}
    assert sum(world.accepted().values()) == 5
    assert len(world.delivered()) == 5
    world.invariants()


@pytest.mark.parametrize("odd", [["seconds-cut"], ["seconds-rounded"]], ids=lambda names: names[0])
def test_doubts_where_received_changes_its_digits(make_world: Callable[..., World], odd: list[str]) -> None:
    """A document whose answer was lost is found at such a server, and sent once."""
    world = make_world(quirks=True, oddities=odd)
    world.drop("known.xml", invoice("known"))
    world.settle()
    world.front.next("POST /outbox", cut_after)
    world.drop("doubted.xml", invoice("doubted"))
    world.settle()
    assert {place.split("/")[0] for place in world.places().values()} == {"archive"}
    world.invariants()


def test_a_doubt_where_the_offset_changes(make_world: Callable[..., World]) -> None:
    """Where the archive shows a document an hour before it was sent, nothing is sent again: a person is asked."""
    world = make_world(quirks=True, oddities=["another-offset"])
    world.drop("known.xml", invoice("known"))
    world.settle()
    world.front.next("POST /outbox", cut_after)
    world.drop("doubted.xml", invoice("doubted"))
    with world.service():
        world.until(lambda: [line for line in world.log() if line["event"] == "document.undecided"])
    assert world.places()["doubted.xml"] == "sending"
    assert world.accepted() == {"known.xml": 1, "doubted.xml": 1}


@pytest.mark.parametrize("odd", quick(ODD))
@pytest.mark.parametrize("then", ["it is marked", "it was stuck", "killed"])
def test_a_message_where_received_changes_its_digits(
    make_world: Callable[..., World], clock: Clock, odd: list[str], then: str
) -> None:
    """A message whose `received` changes between the list and later answers is delivered once, and marked as read."""
    world = make_world(outbound=RULES, inbound={"poll": "1m"}, clock=clock.true)
    clock.pass_on(0.107)
    life = Life(world, clock)
    try:
        life.go_on(10)
        if then == "it was stuck":
            world.front.always("GET /messages/1/", instead(404))
        number = world.receive(invoice("1"))
        for _ in range(10):
            life.turn()
            life.do_all(but="mark_read")
            clock.pass_on(10)
        assert len(world.delivered()) == (0 if then == "it was stuck" else 1)
        world.speak(with_oddities(DOCUMENT, odd))
        world.front.heal()
        if then == "killed":
            life.drop()
            life = Life(world, clock)
        life.go_on(3600, until=lambda: not world.sandbox.store.inbox("acme"))
        life.go_on(300)  # it isn't delivered again
        (row,) = life.journal.messages.numbered(number)
        assert row.state == "read"
        assert not world.sandbox.store.inbox("acme")
        assert len(world.delivered()) == 1
        world.invariants()
    finally:
        life.drop()
