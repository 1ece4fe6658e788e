"""A share that reports errors, also of what it has done: what lies there is looked at before anything is concluded."""

from __future__ import annotations

import errno
import random
import sys
from typing import TYPE_CHECKING

import pytest
from support.documents import invoice
from support.flaky import Fate, Flaky
from support.matrix import draw_seed, quick
from support.responses import response

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.flaky import Call
    from support.world import World

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="calls are made to fail as Linux has them")

RENAMES = ("renameat2", "rename", "replace")
ERRORS = (errno.EIO, errno.ESTALE, errno.ENOENT, errno.EEXIST)


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    """A world whose folders filedrop has served before."""
    world = make_world(outbound={"rescan": "100ms"}, inbound={"poll": "100ms"})
    world.run_once()
    return world


def end(place: str) -> str:
    """The place below `outbound/`, whatever month it is."""
    return place.partition("/")[0]


@pytest.mark.parametrize("code", quick(ERRORS), ids=errno.errorcode.get)
@pytest.mark.parametrize("place", ["sending", "sent", "failed", "archive"])
def test_a_move_that_was_done(world: World, place: str, code: int) -> None:
    """A move to any place that has happened, but is told as an error, and looked at in vain then: it counts as done."""
    told: list[Call] = []

    def judge(call: Call) -> Fate | None:
        moved = call.name in RENAMES and call.paths[-1].name == "one.xml" and place in call.paths[-1].parts
        if not told and moved:
            told.append(call)
            return Fate(code, done=True)
        if len(told) in (1, 2, 3) and call.name in ("open", "stat") and call.paths[0].name == "one.xml":
            told.append(call)
            return Fate(errno.ESTALE)
        return None

    world.drop("one.xml", invoice("1", **({"receiver": None} if place == "failed" else {})))
    with Flaky(world.root, judge):
        world.settle()
    assert told
    assert end(world.places()["one.xml"]) == ("failed" if place == "failed" else "archive")
    assert world.sidecar("one.xml")["state"] == ("failed" if place == "failed" else "delivered")
    world.invariants()


def test_a_response_that_could_not_be_read_once(world: World) -> None:
    """A receiver's response is delivered when it can be read, and then stands with what it answers."""
    told: list[Call] = []

    def judge(call: Call) -> Fate | None:
        if call.name != "open" or call.paths[0].suffix != ".part":
            return None
        told.append(call)
        return Fate(errno.EIO) if len(told) == 2 else None  # the first makes it

    world.drop("invoice.xml", invoice("1001"))
    world.run_once()
    world.receive(response("1001"))
    with Flaky(world.root, judge), world.service():
        world.until(lambda: world.sidecar("invoice.xml").get("responses"))
        world.until(world.settled, what="the message is marked as read")
    assert len(told) > 2
    assert len(world.delivered()) == 1
    world.invariants()


@pytest.mark.parametrize("code", ERRORS, ids=errno.errorcode.get)
def test_a_file_that_could_not_be_opened_once(make_world: Callable[..., World], code: int) -> None:
    """A file that has lain there for long, and can't be opened once, is looked at again before it fails."""
    world = make_world(outbound={"rescan": "100ms", "incomplete_after": "0s"})
    world.run_once()
    told: list[Call] = []

    def judge(call: Call) -> Fate | None:
        if told or call.name != "open" or call.paths[0] != world.outbound / "one.xml":
            return None
        told.append(call)
        return Fate(code)

    world.drop("one.xml", invoice("1"))
    with Flaky(world.root, judge):
        world.settle(ends=("archive",))
    assert told
    world.invariants()


def test_three_in_a_hundred_calls(world: World) -> None:
    """Three calls in a hundred fail, before or after they have done their work: everything goes, once, to its end."""
    chance = random.Random(draw_seed())  # noqa: S311 - it is to be repeated, not secret

    def judge(_: Call) -> Fate | None:
        return Fate(chance.choice(ERRORS[:2]), done=chance.random() < 0.5) if chance.random() < 0.03 else None

    for number in range(40):
        world.drop(f"{number}.xml", invoice(f"{number}", **({"receiver": None} if number % 8 == 0 else {})))
    for number in range(10):
        world.receive(invoice(f"in {number}"))
    with Flaky(world.root, judge), world.service():
        world.until(lambda: {*map(end, world.places().values())} == {"archive", "failed"})
        world.until(lambda: not world.sandbox.store.inbox("acme"))
    world.settle()  # drafts that couldn't be removed are cleared at a start
    assert set(world.accepted().values()) == {1}
    assert len(world.accepted()) == 35
    world.invariants()
