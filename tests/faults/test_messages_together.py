"""Several messages are delivered together: what befalls one leaves the others as they are."""

from __future__ import annotations

import errno
import os
import sqlite3
from typing import TYPE_CHECKING

import pytest
from support.disks import mounted
from support.documents import invoice
from support.faults import answered, instead
from support.matrix import quick
from support.plug import tapped
from support.stepping import RULES, Clock, Life
from support.unwritable import refuse_writes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from support.faults import Exchange
    from support.world import World


MESSAGES = 16


@pytest.fixture
def world(make_world: Callable[..., World], clock: Clock) -> World:
    """A world in which messages are taken together, however few they are, and asked for every five minutes."""
    return make_world(outbound=RULES | {"workers": "1"}, inbound={"poll": "5m"}, clock=clock.true)


@pytest.fixture
def life(world: World, clock: Clock) -> Iterator[Life]:
    one = about_to_poll(world, clock)
    yield one
    one.drop()


def about_to_poll(world: World, clock: Clock) -> Life:
    """A filedrop that has polled, and since then the access point has sixteen messages."""
    life = Life(world, clock)
    life.go_on(10)
    for number in range(MESSAGES):
        world.receive(invoice(f"{number:02}"))
    clock.pass_on(300)
    return life


def fetch_all(life: Life) -> None:
    """Have the messages listed and fetched; they are still to be placed."""
    life.turn()
    life.do_each("deliver")
    life.do_each("fetched")


def test_each_is_taken_as_itself(world: World, life: Life) -> None:
    """All of them lie in their folder, each with its sidecar, before the first is marked read."""
    there: list[int] = []

    def look(exchange: Exchange) -> None:
        there.append(len(world.delivered()))
        answered(exchange)

    world.front.next("POST /inbox", look)
    fetch_all(life)
    commits = life.journal.commits
    life.do_each("deliver")
    assert life.journal.commits == commits + 2  # they are named, and are about to be placed
    life.do_all()
    assert there == [MESSAGES]
    assert not world.sandbox.store.inbox("acme")
    world.invariants()


@pytest.mark.parametrize(
    ("path", "answer", "stuck"),
    [
        ("GET /messages/3/", 404, 1),  # nothing is there
        ("GET /messages/3/", 500, 1),
        ("POST /inbox/3/", 500, 0),
    ],
)
def test_one_cannot_be_taken(world: World, life: Life, path: str, answer: int, stuck: int) -> None:
    """The others are delivered and marked read, and that one when it can be."""
    world.front.always(path, instead(answer))
    life.turn()
    life.do_all()
    assert len(world.delivered()) == MESSAGES - stuck
    assert [message.msg_no for message in world.sandbox.store.inbox("acme")] == [3]
    world.front.heal()
    life.go_on(2000)
    assert not world.sandbox.store.inbox("acme")
    world.invariants()


def test_one_is_no_document(world: World, life: Life) -> None:
    """It is stuck, and the others are delivered and marked read."""
    world.front.always("GET /messages/3/", instead(200, "<html>Maintenance", ("Content-Type", "text/html")))
    life.turn()
    life.do_all()
    assert len(world.delivered()) == MESSAGES - 1
    world.front.heal()
    life.go_on(2000)
    world.invariants()


def test_they_come_slowly(world: World, life: Life) -> None:
    """What has come doesn't wait for the others."""
    life.turn()
    life.do_each("deliver")
    life.do(life.jobs.index("fetched"))
    life.do_each("deliver")
    assert len(world.delivered()) == 1
    assert life.jobs.count("fetched") == MESSAGES - 1
    life.do_all()
    assert not world.sandbox.store.inbox("acme")
    world.invariants()


@pytest.mark.parametrize("answer", quick([401, 405, 503]))
def test_the_access_point_goes_away(world: World, life: Life, answer: int) -> None:
    """An outage, or a login that is refused, is one request and a probe, not one request for each message."""
    life.turn()
    for line in ("GET", "POST"):
        world.front.always(line, instead(answer))
    life.do_all()
    assert len(world.front.asked("GET /messages/")) == 1
    assert not world.delivered()
    world.front.heal()
    life.go_on(4000)
    assert not world.sandbox.store.inbox("acme")
    world.invariants()


def test_one_is_taken_from_under_us(world: World, life: Life) -> None:
    """Somebody, a virus scanner say, removes the temporary file of one: the others are delivered."""

    def remove(exchange: Exchange) -> None:
        answered(exchange)
        sorted(world.inbound.glob(".*.part"))[2].unlink()

    world.front.always("GET /messages/4/", remove)  # when the third has been fetched
    fetch_all(life)
    life.do_each("deliver")
    assert len(world.delivered()) == MESSAGES - 1
    world.front.heal()
    life.go_on(2000)
    assert not world.sandbox.store.inbox("acme")
    world.invariants()


def test_there_is_room_for_some_of_them(make_world: Callable[..., World], tmp_path: Path, clock: Clock) -> None:
    """What there is no room for is fetched when there is some; nothing that doesn't lie there is marked read."""
    with mounted(tmp_path / "root" / "acme" / "inbound") as disk:
        world = make_world(
            outbound=RULES | {"workers": "1"}, inbound={"poll": "5m", "min_free": "0MB"}, clock=clock.true
        )
        life = about_to_poll(world, clock)
        disk.use_up_names()
        for filler in list(disk.path.glob("filler-*"))[:5]:
            filler.unlink()
        fetch_all(life)
        life.do_each("deliver")
        assert "nothing can be put into" in str(world)
        assert len(world.sandbox.store.inbox("acme")) == MESSAGES
        disk.make_room()
        life.go_on(2000)
        life.drop()
        assert not world.sandbox.store.inbox("acme")
        world.invariants()


@pytest.mark.parametrize("placed", [0, 2, 15])
def test_the_journals_disk_is_full_too_while_they_get_their_names(world: World, life: Life, placed: int) -> None:
    """Those whose names the disk has refused, which the journal can't be told, are placed when there is room again."""

    def full(what: str) -> None:
        if tap.steps.count("commit") >= 2 and len(world.delivered()) >= placed:  # they are about to be placed
            if what == "place":
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            if what == "commit":
                raise sqlite3.OperationalError("database or disk is full")

    fetch_all(life)
    with tapped(full) as tap:
        life.do_each("deliver")
    assert len(world.delivered()) == placed
    life.go_on(1000)
    assert not world.sandbox.store.inbox("acme")
    life.drop()
    world.invariants()


@pytest.mark.parametrize("nth", [5, MESSAGES + 1 + 5], ids=["document", "sidecar"])  # between them, the folder
def test_the_disk_refuses_one(world: World, life: Life, nth: int) -> None:
    """A document or a sidecar that isn't brought to the disk keeps back its own message alone."""

    def refuse(what: str) -> None:
        if what == "fsync" and tap.steps.count("fsync") == nth:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    fetch_all(life)
    with tapped(refuse) as tap:
        life.do_each("deliver")
    assert len(world.delivered()) == MESSAGES - 1
    life.go_on(1000)
    assert not world.sandbox.store.inbox("acme")
    world.invariants()


def test_the_journal_fails(world: World, life: Life) -> None:
    """What has been fetched isn't fetched again when it can be written."""
    refuse_writes(life.journal)
    fetch_all(life)
    life.do_each("deliver")
    assert not world.delivered()
    refuse_writes(life.journal, refuses=False)
    life.go_on(400)
    assert len(world.front.asked("GET /messages/")) == MESSAGES
    assert not world.sandbox.store.inbox("acme")
    world.invariants()


def with_one_that_could_not_be_named(world: World, clock: Clock) -> Life:
    """A filedrop that has fetched a message while its journal could not be written; now it can."""
    life = Life(world, clock)
    life.go_on(10)
    world.receive(invoice("first"))
    clock.pass_on(300)
    refuse_writes(life.journal)
    life.turn()
    life.do_all()
    refuse_writes(life.journal, refuses=False)
    return life


def test_one_that_could_not_be_named_beside_a_new_one(world: World, clock: Clock) -> None:
    """What was fetched and couldn't be named is fetched once, whatever befalls one that is taken with it later."""
    life = with_one_that_could_not_be_named(world, clock)
    world.receive(invoice("second"))
    clock.pass_on(300)
    life.turn()
    life.journal.engine._writer.execute("ALTER TABLE messages RENAME TO away")  # nothing can be read of messages
    life.do_all()
    life.journal.engine._writer.execute("ALTER TABLE away RENAME TO messages")
    life.go_on(1000)
    assert not list(world.inbound.glob(".*.part"))
    life.drop()
    world.invariants()
    assert len(world.front.asked("GET /messages/1/")) == 1


@pytest.mark.parametrize("others", [0, 1])
def test_one_that_could_not_be_named_and_is_read_elsewhere(world: World, clock: Clock, others: int) -> None:
    """What was fetched of it doesn't lie about for ever."""
    life = with_one_that_could_not_be_named(world, clock)
    assert list(world.inbound.glob(".*.part"))
    (unread,) = world.sandbox.store.inbox("acme")
    world.sandbox.store.mark_read(unread)
    for number in range(others):
        world.receive(invoice(f"another {number}"))
    life.go_on(1000)
    assert len(world.delivered()) == others
    assert not list(world.inbound.glob(".*.part"))
    life.drop()
