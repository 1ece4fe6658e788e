"""The daemon is killed again and again while documents go both ways."""

from __future__ import annotations

import random
import sqlite3
import threading
from typing import TYPE_CHECKING

import pytest
from support.documents import invoice, with_attachments
from support.faults import answered, cut_after, reset_before
from support.matrix import draw_seed

from filedrop.journal import JOURNAL

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

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


def test_killed_ten_times(make_world: Callable[..., World]) -> None:
    """A daemon that is killed at ten random moments loses nothing, sends and delivers nothing twice, leaves nothing.

    Every other message has two attachments, which lie beside it.
    """
    world = make_world(inbound={"attachments": "beside"})
    chance = random.Random(draw_seed())  # noqa: S311 - it is to be repeated, not secret
    for number in range(OUT):
        world.drop(f"invoice-{number}.xml", invoice(f"out {number}"))
    for number in range(IN):
        embeds = [("a.pdf", "application/pdf", b"%PDF-1.7" * 1000), ("b.txt", "text/plain", b"text")] * (number % 2)
        world.receive(with_attachments(invoice(f"in {number}"), *embeds))
    for _ in range(KILLS):
        fate = chance.choice([reset_before, cut_after, answered])
        with world.daemon() as daemon:
            killed_at(world, daemon, chance.randint(1, LATEST), fate)
        assert not world.settled(), "it was killed when there was nothing left to do"
    with world.daemon() as daemon:
        world.until(world.settled, 60, what="everything settles")
        world.stop(daemon)
    world.invariants()
    assert world.accepted() == dict.fromkeys(world.dropped, 1)
    assert not list(world.root.glob(".*"))


@pytest.mark.parametrize("workers", [1, 4])
def test_killed_with_very_many_waiting(make_world: Callable[..., World], workers: int) -> None:
    """However many wait, only what was on its way is in doubt: twice as many as there are workers at most."""
    world = make_world(outbound={"workers": str(workers)})
    for number in range(100):
        world.drop(f"{number}.xml", invoice(f"{number}"))
    with world.daemon() as daemon:
        killed_at(world, daemon, 30, answered)
    with sqlite3.connect(world.state / JOURNAL) as journal:
        ((sending,),) = journal.execute("SELECT count(*) FROM documents WHERE state = 'sending'")
    assert sending <= 2 * workers
    world.settle(60)
    world.invariants()
    assert world.accepted() == dict.fromkeys(world.dropped, 1)
