"""Somebody removes the temporary file of a message, whenever that may be: it is fetched again, and delivered once."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest
from support.disks import mounted
from support.documents import invoice, with_attachments
from support.matrix import quick
from support.plug import live, tapped
from support.stepping import RULES, Clock, Life
from support.world import World

from filedrop.process.lock import locked_state

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def world(make_world: Callable[..., World], clock: Clock) -> World:
    return make_world(outbound=RULES | {"workers": "1"}, inbound={"poll": "5m"}, clock=clock.true)


def about_to_poll(world: World, clock: Clock, messages: int) -> Life:
    """A filedrop that has polled, and since then the access point has so many messages."""
    life = Life(world, clock)
    life.go_on(10)
    for number in range(messages):
        world.receive(invoice(f"{number}"))
    clock.pass_on(300)
    return life


def drafts(world: World) -> list[Path]:
    return list(world.inbound.glob(".*.part"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("messages", "step"), [*((1, step) for step in range(1, 13)), *((3, step) for step in range(1, 29))]
)
def test_before_each_side_effect(world: World, clock: Clock, messages: int, step: int) -> None:
    """Whatever filedrop is about to do with one message or several, those whose file is removed now come once."""
    life = about_to_poll(world, clock, messages)

    def remove(_what: str) -> None:
        if len(tap.steps) == step:
            for draft in drafts(world):
                draft.unlink()

    with tapped(remove) as tap:
        life.turn()
        life.do_all()
    life.go_on(1000)
    life.drop()
    world.invariants()


@pytest.mark.parametrize("step", quick(sorted(range(2, 20), key=lambda step: step % 3), 6))
def test_a_piece_before_each_side_effect(make_world: Callable[..., World], clock: Clock, step: int) -> None:
    """Whatever filedrop is about to do with a message, the temporary files of its attachments may be removed."""
    world = make_world(
        outbound=RULES | {"workers": "1"}, inbound={"poll": "5m", "attachments": "beside"}, clock=clock.true
    )
    life = about_to_poll(world, clock, 0)
    world.receive(with_attachments(invoice("1"), *[(f"{number}.pdf", "", b"%PDF-1.7") for number in range(2)]))

    def remove(_what: str) -> None:
        if len(tap.steps) == step:
            for piece in world.inbound.glob(".*.?.tmp"):
                piece.unlink()

    with tapped(remove) as tap:
        life.turn()
        life.do_all()
    life.go_on(1000)
    life.drop()
    world.invariants()


@pytest.mark.parametrize("step", quick(sorted(range(2, 10), key=lambda step: step % 3), 3))
def test_while_nobody_works(tmp_path: Path, step: int) -> None:
    """Where filedrop was killed before it said that it was placing a message, what lies there may be removed."""
    with World(tmp_path) as world:
        world.run_once()
        world.receive(invoice("1"))
        assert live(world, finished=0, received=1, pull_at=step) is None
        with locked_state(world.state) as journal:
            assert not journal.messages.in_states("acme@127.0.0.1", "placing")
        for draft in drafts(world):
            draft.unlink()
        world.settle()
        world.invariants()


@pytest.mark.slow
def test_the_sidecar_does_not_fit(make_world: Callable[..., World], tmp_path: Path) -> None:
    """Where a disk has room for the document only, whoever makes room by removing that loses nothing by it."""
    with mounted(tmp_path / "root" / "acme" / "inbound") as disk:
        world = make_world(inbound={"min_free": "0MB"})
        world.run_once()
        number = world.receive(invoice("1"))
        disk.use_up_names()
        next(disk.path.glob("filler-*")).unlink()
        assert world.filedrop("run", "--once").returncode == 1
        (draft,) = drafts(world)
        draft.unlink()
        assert world.filedrop("run", "--once").returncode == 1
        assert [message.msg_no for message in world.sandbox.store.inbox("acme")] == [number]
        disk.make_room()
        world.settle()
        world.invariants()


def test_it_was_written_into(world: World, clock: Clock) -> None:
    """A temporary file that somebody has written into isn't placed: the message is fetched again, and comes once."""
    life = about_to_poll(world, clock, 1)

    def full(what: str) -> None:
        if what == "place":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with tapped(full):
        life.turn()
        life.do_all()
    (draft,) = drafts(world)
    draft.write_bytes(b"<Invoice>")
    life.go_on(1000)
    life.drop()
    world.invariants()


@pytest.mark.parametrize(
    ("late", "taken"), [(False, False), (False, True), (True, False)], ids=["done", "done, and taken", "done later"]
)
def test_a_rename_that_seemed_to_fail(world: World, clock: Clock, *, late: bool, taken: bool) -> None:
    """Where a share says that a rename failed which it has done, or does yet, the document isn't fetched again."""
    life = about_to_poll(world, clock, 1)

    def rename() -> None:
        (draft,), (beside,) = drafts(world), world.inbound.glob("*.xml.json")
        draft.rename(beside.with_suffix(""))

    def fail(what: str) -> None:
        if what == "place" and list(world.inbound.glob("*.xml.json")):
            if not late:
                rename()
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    with tapped(fail):
        life.turn()
        life.do_all()
    if late:
        rename()
    if taken:
        for path in world.inbound.glob("*.xml*"):
            path.unlink()
    life.go_on(1000)
    life.drop()
    assert len(world.front.asked("GET /messages/1/")) == 1
    assert not world.sandbox.store.inbox("acme")
    assert len(world.delivered()) == (not taken)
