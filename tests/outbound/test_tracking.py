"""Delivery tracking: how often an access point is asked for many documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.documents import invoice
from support.stepping import RULES, Life

if TYPE_CHECKING:
    from collections.abc import Callable

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
        life.pipeline.at.scanner.look_now()
        life.go_on(1)
    life.go_on(150)
    life.stop()
    assert list(world.places()) == names
    assert all(place.startswith("archive/") for place in world.places().values())
    asked = len(world.front.asked("GET /outbox"))
    assert 20 / 5 <= asked <= 20 / 5 + 2, "every 5 s while some become due"
