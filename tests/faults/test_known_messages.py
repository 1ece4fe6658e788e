"""A message is known again however it is written, and whatever the access point's host is called: it comes once."""

from __future__ import annotations

import errno
import json
import os
import re
from typing import TYPE_CHECKING

import pytest
from support.documents import BILLING_PROCESS, BUYER, INVOICE_ID, SELLER, invoice
from support.faults import instead
from support.plug import tapped
from support.stepping import RULES, Clock, Life

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.faults import Exchange, Fault
    from support.world import World

RECEIVED = re.compile(rb"(<received>)([^<]+T\d\d:\d\d:\d\d)[.]?(\d*)([^<]*)(</)")
UNMARKED = instead(500)


@pytest.fixture
def world(make_world: Callable[..., World], clock: Clock) -> World:
    return make_world(outbound=RULES, inbound={"poll": "5m"}, clock=clock.true)


def written(form: Callable[[str, str, str], str]) -> Fault:
    """The access point writes when it received a message in another form: of its seconds, fraction and offset."""

    def fault(exchange: Exchange) -> None:
        def other(found: re.Match[bytes]) -> bytes:
            begin, seconds, fraction, offset, end = (group.decode() for group in found.groups())
            return f"{begin}{form(seconds, fraction, offset)}{end}".encode()

        answer = exchange.arrive()
        exchange.answer(answer.status, RECEIVED.sub(other, answer.body))

    return fault


FORMS = {
    "cut off": lambda seconds, _fraction, offset: f"{seconds}{offset}",
    "rounded": lambda seconds, fraction, offset: f"{seconds[:-2]}{int(seconds[-2:]) + (fraction >= '500'):02}{offset}",
    "finer": lambda seconds, fraction, offset: f"{seconds}.{fraction}312{offset}",
    "not at all": lambda _seconds, _fraction, _offset: "",
}


@pytest.mark.parametrize("form", FORMS)
def test_received_in_two_forms(world: World, clock: Clock, form: str) -> None:
    """When it was received may be told to the millisecond or to the second: what was placed isn't fetched again."""
    life = Life(world, clock)
    life.go_on(10)
    clock.pass_on(0.7 - clock.passed % 1)
    number = world.receive(invoice("1"))
    world.front.next("POST /inbox", UNMARKED)
    life.go_on(300)
    assert len(world.delivered()) == 1
    world.front.always("GET /inbox", written(FORMS[form]))
    life.go_on(1000)
    life.drop()
    assert len(world.front.asked(f"GET /messages/{number}/")) == 1
    world.invariants()


def test_two_lists_in_two_forms(make_world: Callable[..., World], clock: Clock) -> None:
    """What an inbox of 25 shows to the second, and the archive to the millisecond, is one message in one poll."""
    world = make_world(quirks=True, outbound=RULES, inbound={"poll": "5m"}, clock=clock.true)
    life = Life(world, clock)
    life.go_on(10)
    for _ in range(3):  # so that the archive is read, too
        world.sandbox.store.receive(
            sender=BUYER, receiver=SELLER, document_id=INVOICE_ID, process_id=BILLING_PROCESS, content=b"Dear Sirs,"
        )
    for number in range(60):
        clock.pass_on(1.7)
        world.receive(invoice(f"{number}"))
    to_the_millisecond = written(lambda seconds, _fraction, offset: f"{seconds}.999{offset}")
    world.front.always(lambda request: request.line == "GET /messages", to_the_millisecond)
    life.go_on(2000)
    life.drop()
    assert world.front.asked("GET /messages")
    assert all(len(world.front.asked(f"GET /messages/{number}/")) == 1 for number in world.received)
    world.invariants()


def test_a_server_that_was_set_up_anew(world: World, clock: Clock) -> None:
    """A message with the number of one that is placed and not marked read is another, and isn't marked read for it."""
    life = Life(world, clock)
    life.go_on(10)
    number = world.receive(invoice("1"))
    world.front.always("POST /inbox", UNMARKED)
    life.go_on(300)
    assert len(world.delivered()) == 1
    world.front.heal()
    with world.sandbox.store._writing() as connection:
        connection.execute("DELETE FROM messages")
    assert world.receive(invoice("2")) == number
    world.front.next(f"GET /messages/{number}/", UNMARKED)
    life.go_on(2000)
    life.drop()
    assert not world.sandbox.store.inbox("acme")
    assert sorted(path.read_bytes() for path in world.delivered()) == [invoice("1"), invoice("2")]


@pytest.mark.parametrize("taken", [False, True], ids=["there", "taken"])
def test_journal_that_was_put_back(world: World, clock: Clock, *, taken: bool) -> None:
    """What an older journal doesn't know, the sidecar in `inbound/` tells: it isn't placed again, but marked as read.

    Where the document isn't there any more, it comes again, marked as a possible duplicate.
    """
    life = Life(world, clock)
    life.go_on(10)
    life.stop()
    copy = world.copy_of_journal()
    life = Life(world, clock)
    world.front.always("POST /inbox", UNMARKED)
    numbers = [world.receive(invoice(str(nth))) for nth in range(3)]
    life.go_on(300)
    before = world.delivered()
    assert len(before) == 3
    life.drop()
    world.put_back(copy)
    world.front.heal()
    if taken:
        before[0].unlink()
    life = Life(world, clock)
    life.go_on(600)
    life.stop()
    assert not world.sandbox.store.inbox("acme")
    again = before[0].with_name(f"{before[0].stem}-2.xml")
    assert world.delivered() == ([again] if taken else [before[0]]) + before[1:]
    if taken:
        beside = json.loads(again.with_name(f"{again.name}.json").read_bytes())
        assert beside["possible_duplicate_of"] == numbers[0]
    events = [line["msg_no"] for line in world.log() if line["event"] == "message.known"]
    assert sorted(events) == numbers[taken:]


def at_host(world: World, host: str) -> None:
    """From now on, the configuration calls the access point's host so."""
    world.front.url = f"http://{host}:{world.front.port}"


@pytest.mark.parametrize("taken", [False, True], ids=["left there", "taken"])
def test_placed_before_the_host_was_called_otherwise(world: World, clock: Clock, *, taken: bool) -> None:
    """What was placed and not marked read is only marked read when `base_url` has another name, and its first again."""
    number = world.receive(invoice("1"))
    world.front.next("POST /inbox", UNMARKED, UNMARKED)
    for host in ("127.0.0.1", "localhost", "127.0.0.1"):
        at_host(world, host)
        life = Life(world, clock)
        life.go_on(100)
        life.drop()
        if taken:
            for path in world.delivered():
                path.unlink()
    assert not world.sandbox.store.inbox("acme")
    assert len(world.front.asked(f"GET /messages/{number}/")) == 1
    assert len(world.delivered()) == (not taken)
    assert [(line["before"], line["now"]) for line in world.log() if line["event"] == "messages.known"] == [
        ("acme@127.0.0.1", "acme@localhost"), ("acme@localhost", "acme@127.0.0.1")
    ]  # fmt: skip


@pytest.mark.parametrize("removed", [False, True], ids=["left there", "removed"])
def test_fetched_before_the_host_was_called_otherwise(world: World, clock: Clock, *, removed: bool) -> None:
    """What was fetched and not placed comes once, whether its temporary file is there or not; nothing is left."""
    life = Life(world, clock)
    life.go_on(10)
    world.receive(invoice("1"))
    clock.pass_on(300)
    life.turn()
    with tapped(no_room):
        life.do_all()
    life.drop()
    (draft,) = world.inbound.glob(".*.part")
    if removed:
        draft.unlink()
    at_host(world, "localhost")
    life = Life(world, clock)
    life.go_on(310)
    life.drop()
    world.invariants()
    assert len(world.front.asked("GET /messages/1/")) == 1 + removed


def no_room(what: str) -> None:
    if what == "place":
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_stuck_before_the_host_was_called_otherwise(world: World, clock: Clock) -> None:
    """What couldn't be taken goes on with its pauses, is counted once, and is delivered once when it can be."""
    number = world.receive(invoice("1"))
    world.front.always(f"GET /messages/{number}/", instead(200, "<a/>"))
    for host in ("127.0.0.1", "localhost"):
        at_host(world, host)
        life = Life(world, clock)
        life.go_on(310)
        life.drop()
        assert json.loads(world.filedrop("status", "--json").stdout)["companies"]["acme"]["stuck"] == 1
    world.front.heal()
    life = Life(world, clock)
    life.go_on(2000)
    life.drop()
    world.invariants()


def test_the_same_number_elsewhere(world: World, clock: Clock) -> None:
    """Another access point's message of the same number is another one, though it be between the same parties."""
    world.receive(invoice("1"))
    life = Life(world, clock)
    life.go_on(310)
    life.drop()
    with world.sandbox.store._writing() as connection:
        connection.execute("DELETE FROM messages")
    world.receive(invoice("2"))
    world.front.always("GET /inbox", written(FORMS["not at all"]))
    at_host(world, "localhost")
    life = Life(world, clock)
    life.go_on(310)
    life.drop()
    assert sorted(path.read_bytes() for path in world.delivered()) == [invoice("1"), invoice("2")]
