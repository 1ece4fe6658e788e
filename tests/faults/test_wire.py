"""The wire breaks at every third request: nothing is sent or delivered twice, nothing is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.documents import invoice
from support.faults import cut_after, failed_after, reset_before, silent_after, unreadable_after

if TYPE_CHECKING:
    from support.faults import Fault, Request
    from support.world import World

FAULTS = pytest.mark.parametrize(
    "fault", [cut_after, failed_after, unreadable_after, reset_before], ids=lambda fault: fault.__name__
)


@FAULTS
def test_documents_are_sent_once(either_world: World, fault: Fault) -> None:
    """Whatever happens to every third upload, before or after it has arrived, each document is accepted once."""
    world = either_world
    for number in range(9):
        world.drop(f"invoice-{number}.xml", invoice(str(number)))
    world.front.every(3, "POST /outbox", fault)
    world.settle(50)
    world.invariants()
    assert world.accepted() == dict.fromkeys(world.dropped, 1)


def test_silence_is_not_an_answer(world: World) -> None:
    """An access point that takes a document and never answers: it is found there, and not sent again."""
    world.drop("invoice.xml", invoice("1"))
    world.front.next("POST /outbox", silent_after)
    world.settle(50)
    world.invariants()
    assert len(world.front.asked("POST /outbox")) == 1


@FAULTS
def test_messages_are_delivered_once(either_world: World, fault: Fault) -> None:
    """Whatever happens to every third download and mark-read, each message is delivered once, and read."""
    world = either_world
    for number in range(9):
        world.receive(invoice(str(number)))
    world.front.every(3, _marks_read, fault)
    if fault is not unreadable_after:  # a document that can't be read is the message's own fault, and tried again later
        world.front.next("GET /messages/3/", fault)
        world.front.next("GET /messages/6/", fault)
        world.front.next("GET /messages/9/", fault)
    world.settle(50)
    world.invariants()


@FAULTS
def test_both_ways_at_once(either_world: World, fault: Fault) -> None:
    """Every third request that changes something at the access point goes wrong, while documents go both ways."""
    world = either_world
    for number in range(9):
        world.drop(f"invoice-{number}.xml", invoice(str(number)))
        world.receive(invoice(f"received {number}"))
    world.front.every(3, "POST /", fault)
    world.settle(50)
    world.invariants()


@pytest.mark.parametrize("path", ["/messages", "/outbox", "/inbox", "/statistics"])
def test_questions_may_fail(world: World, path: str) -> None:
    """Every second question that can't be asked is asked again, and nothing is concluded from it meanwhile."""
    for number in range(4):
        world.drop(f"invoice-{number}.xml", invoice(str(number)))
        world.receive(invoice(f"received {number}"))
    world.front.every(2, "POST /outbox", cut_after)
    world.front.every(2, lambda request: (request.method, request.path) == ("GET", path), failed_after)
    world.settle(50)
    world.invariants()


def _marks_read(request: Request) -> bool:
    return request.method == "POST" and request.path.endswith("/read")
