"""The wire breaks again and again: nothing is sent or delivered twice, nothing is lost."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING

import pytest
from support.documents import invoice
from support.faults import answered, cut_after, exactly, failed_after, reset_before, silent_after, unreadable_after

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.faults import Exchange, Fault, Request
    from support.world import World

FAULTS = (cut_after, failed_after, unreadable_after, reset_before)
QUESTIONS = ("/messages", "/outbox", "/inbox", "/statistics")
EACH = 12  # documents and messages


def test_every_third_request(either_world: World) -> None:
    """Whatever happens to every third upload, download and mark-read, each document arrives once, both ways."""
    break_every_third(either_world, *FAULTS)


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_every_third_request_the_same_way(either_world: World, fault: Fault) -> None:
    """The same, with one fault at a time."""
    break_every_third(either_world, fault)


def break_every_third(world: World, *faults: Fault) -> None:
    """Documents both ways, while these faults take turns at every third request."""
    for number in range(EACH):
        world.drop(f"invoice-{number}.xml", invoice(f"out {number}"))
        world.receive(invoice(f"in {number}"))
    world.front.every(3, "POST /outbox", in_turn(*faults))
    world.front.every(3, _marks_read, in_turn(*faults))
    # A download that can't be read is the message's own fault, and tried again much later.
    downloads = in_turn(*[fault for fault in faults if fault is not unreadable_after] or [answered])
    for msg_no in list(world.received)[2::3]:
        world.front.next(f"GET /messages/{msg_no}/", downloads)
    world.settle()
    world.invariants()
    assert world.accepted() == dict.fromkeys(world.dropped, 1)


def in_turn(*faults: Fault) -> Fault:
    """Each of these in its turn."""
    turns = cycle(faults)

    def fault(exchange: Exchange) -> None:
        next(turns)(exchange)

    return fault


def test_silence_is_not_an_answer(make_world: Callable[..., World]) -> None:
    """An access point that takes a document and never answers: it is found there, and not sent again."""
    world = make_world(read_timeout="1s")
    world.drop("invoice.xml", invoice("1"))
    world.front.next("POST /outbox", silent_after)
    world.settle()
    world.invariants()
    assert len(world.front.asked("POST /outbox")) == 1


def test_questions_may_fail(world: World) -> None:
    """Every second question that can't be answered is asked again, and nothing is concluded from it meanwhile."""
    for number in range(EACH):
        world.drop(f"invoice-{number}.xml", invoice(f"out {number}"))
        world.receive(invoice(f"in {number}"))
    world.front.every(2, "POST /outbox", cut_after)
    for path in QUESTIONS:
        world.front.every(2, exactly("GET", path), failed_after)
    world.settle()
    world.invariants()


def _marks_read(request: Request) -> bool:
    return request.method == "POST" and request.path.endswith("/read")
