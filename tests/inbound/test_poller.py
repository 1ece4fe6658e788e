"""Which messages a poll hands out, and which folders it has looked at again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.documents import invoice
from support.faults import instead
from support.stepping import RULES, Life

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.stepping import Clock
    from support.world import World


def test_the_folder_of_nobody_is_back(make_world: Callable[..., World], clock: Clock) -> None:
    """A folder that was away is looked at again though no message is for it: the trouble doesn't stay for ever."""
    world = make_world(outbound=RULES, inbound={"poll": "1m"}, clock=clock.true)
    unassigned = world.root / "unassigned"
    world._unassigned = str(unassigned)
    life = Life(world, clock)
    life.go_on(10)
    life.stop()
    unassigned.rename(world.base / "away")
    life = Life(world, clock)
    life.go_on(10)
    poller = life.service.accounts[0].poller
    assert list(poller.trouble()) == [unassigned]
    (world.base / "away").rename(unassigned)
    life.go_on(125)
    assert poller.trouble() == {}
    life.stop()


def test_a_folder_is_back_while_its_message_waits(make_world: Callable[..., World], clock: Clock) -> None:
    """It is looked at again, too, where its only message is stuck, and isn't to be tried for long."""
    world = make_world(outbound=RULES, inbound={"poll": "1m"}, clock=clock.true)
    life = Life(world, clock)
    world.front.always("GET /messages/1/", instead(404))
    world.receive(invoice("1"))
    life.go_on(4200)
    poller = life.service.accounts[0].poller
    assert poller.summary.stuck == {"acme": 1}
    life.stop()
    world.inbound.rename(world.base / "away")
    life = Life(world, clock)
    life.go_on(10)
    poller = life.service.accounts[0].poller
    assert list(poller.trouble()) == [world.inbound]
    (world.base / "away").rename(world.inbound)
    life.go_on(125)
    assert poller.trouble() == {}
    life.stop()
