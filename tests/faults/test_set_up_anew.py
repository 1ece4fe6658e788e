"""An access point that is set up anew counts from the start again: a number is no longer the message that it was."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from support.documents import invoice
from support.faults import answered, cut_after, instead
from support.matrix import quick
from support.stepping import RULES, Clock, Life
from support.unwritable import refuse_writes

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.faults import Exchange, Fault
    from support.world import World


@pytest.fixture
def slow_world(make_world: Callable[..., World]) -> World:
    """A world in which nothing is delivered today: what is accepted stays in sent/."""
    return make_world(deliver_after=3600, outbound={"doubt": "100ms"})


def location_only(exchange: Exchange) -> None:
    """The access point has accepted the document, and says no more than where its message is."""
    answer = exchange.arrive()
    exchange.answer(answer.status, b"", [one for one in answer.headers if one[0] == "Location"])


@pytest.mark.parametrize("status", [answered, instead(404)], ids=["status told", "status not told"])
@pytest.mark.parametrize("afterwards", quick([answered, location_only, cut_after]))
def test_numbers_told_alone(slow_world: World, status: Fault, afterwards: Fault) -> None:
    """A document whose message gave its number alone doesn't own that number for ever: the next is accepted once."""
    world = slow_world
    world.front.always("POST /outbox", location_only)
    world.front.always("GET /outbox", status)  # lists too: nothing more is learned of these messages
    for number in range(3):
        world.drop(f"old-{number}.xml", invoice(f"old {number}"))
    world.settle(ends=("sent",))
    assert [message.msg_no for message in world.sandbox.store.sent("acme")] == [1, 2, 3]
    world.set_up_anew(deliver_after=3600)
    world.front.heal()
    world.front.always("POST /outbox", afterwards)
    world.drop("new.xml", invoice("new"))
    with world.service():
        world.until(lambda: world.places().get("new.xml") == "sent")
    assert world.sidecar("new.xml")["msg_no"] == 1
    assert world.accepted() == {"new.xml": 1}


@pytest.mark.parametrize("content", ["another", "the same"])
def test_anothers_delivery(make_world: Callable[..., World], content: str) -> None:
    """What becomes of another message of its number is not heard of a document: it fails, and its note says why."""
    world = make_world(deliver_after=3600, outbound={"overdue": "1s"})
    world.drop("invoice.xml", invoice("1"))
    world.settle(ends=("sent",))
    world.set_up_anew()
    world.send_from_elsewhere(invoice("1" if content == "the same" else "2"))
    assert [(one.msg_no, one.delivered is not None) for one in world.sandbox.store.sent("acme")] == [(1, True)]
    with world.service():
        world.until(lambda: world.places().get("invoice.xml") == "failed")
    assert world.error("invoice.xml") == "not-delivered"
    note = (world.outbound / "failed" / "invoice.xml.why.txt").read_text()
    assert "at the access point is another message now" in note


def test_two_documents_of_one_number(make_world: Callable[..., World]) -> None:
    """Of two documents of one number, before and after that, only the one whose message it is, is delivered."""
    world = make_world(deliver_after=3600, outbound={"overdue": "1s"})
    world.drop("old.xml", invoice("old"))
    world.settle(ends=("sent",))
    world.set_up_anew()
    world.drop("new.xml", invoice("new"))
    world.settle()
    assert {name: place.split("/")[0] for name, place in world.places().items()} == {
        "old.xml": "failed", "new.xml": "archive",
    }  # fmt: skip
    assert {world.sidecar(name)["msg_no"] for name in world.dropped} == {1}


@pytest.mark.parametrize("duplicates", ["allow", "refuse"])
@pytest.mark.parametrize("answer", quick([answered, location_only]))
def test_a_file_that_comes_back(make_world: Callable[..., World], duplicates: str, answer: Fault) -> None:
    """A file that is moved out of sent/ and back is its document's, also where its number was another's before."""
    clock = Clock()
    world = make_world(
        outbound=RULES | {"duplicates": duplicates}, inbound={"poll": "5m"}, clock=clock.true, deliver_after=3600
    )
    life = Life(world, clock)
    life.go_on(10)
    life.take(world, "old.xml")
    world.set_up_anew(deliver_after=3600)
    life.take(world, "new.xml", answer)
    (world.outbound / "sent" / "new.xml").rename(world.outbound / "new.xml")
    life.go_on(1000)
    life.drop()
    assert len(world.front.asked("POST /outbox")) == 2
    assert world.places() == {"old.xml": "sent", "new.xml": "sent"}


def test_a_message_that_was_fetched_before(make_world: Callable[..., World]) -> None:
    """What was fetched of a message while the journal couldn't be written doesn't stay when another has its number."""
    clock = Clock()
    world = make_world(outbound=RULES, inbound={"poll": "5m"}, clock=clock.true)
    life = Life(world, clock)
    life.go_on(30)
    world.receive(invoice("old"))
    refuse_writes(life.journal)
    life.go_on(400)
    assert list(world.inbound.glob(".*.part"))
    world.set_up_anew()
    world.received.clear()
    world.receive(invoice("new"))
    refuse_writes(life.journal, refuses=False)
    life.go_on(1000)
    life.drop()
    world.invariants()


@pytest.mark.parametrize("begun", ["in this poll", "in an earlier one"])
@pytest.mark.parametrize("back", [0, -72], ids=["clock goes on", "clock set back"])
def test_a_message_that_was_listed_before(make_world: Callable[..., World], begun: str, back: int) -> None:
    """What is to be marked as read isn't, where another message has got its number since: that one comes, too."""
    clock = Clock()
    world = make_world(outbound=RULES, inbound={"poll": "5m"}, clock=clock.true)
    life = Life(world, clock)
    life.go_on(10)
    number = world.receive(invoice("old"))
    for _ in range(2 if begun == "in an earlier one" else 1):
        world.front.next("POST /inbox", instead(500))
        life.do_each("mark_read")
        clock.pass_on(300)
        life.turn()
        life.do_all(but="mark_read")
    world.front.heal()
    assert "mark_read" in life.jobs
    world.set_up_anew()
    clock.pass_on(5)
    clock.skew = timedelta(hours=back)
    assert world.receive(invoice("new")) == number
    life.go_on(1000)
    life.drop()
    assert not world.sandbox.store.inbox("acme")
    assert sorted(path.read_bytes() for path in world.delivered()) == [invoice("new"), invoice("old")]
