"""The daemon is killed again and again while documents go both ways."""

from __future__ import annotations

import random
import signal
import threading
from typing import TYPE_CHECKING

from support.documents import invoice
from support.faults import answered, cut_after, reset_before
from support.matrix import draw_seed

if TYPE_CHECKING:
    import subprocess

    from support.faults import Exchange, Fault
    from support.world import World

KILLS = 10
LATEST = 15  # requests of one life: so that ten lives don't come to the end of the work
OUT, IN = 60, 40


def killed_at(world: World, daemon: subprocess.Popen[bytes], request: int, fate: Fault) -> None:
    """Kill the daemon at its n-th request, when this has become of it; returns when it is dead."""
    done = threading.Event()

    def kill(exchange: Exchange) -> None:
        try:
            fate(exchange)
        finally:
            daemon.kill()
            done.set()

    world.front.next("", *[answered] * (request - 1), kill)
    world.until(done.is_set, what=f"request {request}")
    daemon.wait()


def test_killed_ten_times(world: World) -> None:
    """A daemon that is killed at ten random moments loses nothing, sends and delivers nothing twice, leaves nothing."""
    chance = random.Random(draw_seed())  # noqa: S311 - it is to be repeated, not secret
    for number in range(OUT):
        world.drop(f"invoice-{number}.xml", invoice(f"out {number}"))
    for number in range(IN):
        world.receive(invoice(f"in {number}"))
    for _ in range(KILLS):
        fate = chance.choice([reset_before, cut_after, answered])
        with world.daemon() as daemon:
            killed_at(world, daemon, chance.randint(1, LATEST), fate)
        assert not world.settled(), "it was killed when there was nothing left to do"
    with world.daemon() as daemon:
        world.until(world.settled, 60, what="everything settles")
        daemon.send_signal(signal.SIGTERM)
        assert daemon.wait(20) == 0
    world.invariants()
    assert world.accepted() == dict.fromkeys(world.dropped, 1)
    assert not list(world.root.glob(".*"))
