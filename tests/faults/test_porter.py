"""The second process that reads and posts while very many wait: it may end at any moment, and so may who called it."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.documents import invoice
from support.faults import answered, cut_after, reset_before

from filedrop.porter import MANY

if TYPE_CHECKING:
    import subprocess

    from support.faults import Exchange, Fault
    from support.world import World

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows hands over no open files: no porter there")

OUT, IN = 4 * MANY, MANY + 20
EVERY = 25  # requests


def drop_very_many(world: World) -> None:
    for number in range(OUT):
        world.drop(f"invoice-{number}.xml", invoice(f"out {number}"))


def porters(caller: int) -> list[int]:
    """The porters that this process has called, by their process ids."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            command = (process / "cmdline").read_bytes()
            parent = int((process / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == caller and b"filedrop.porter" in command:
                found.append(int(process.name))
    return found


def lives(process: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def events(world: World) -> set[str]:
    return {line["event"] for line in world.log()}


def test_very_many_each_way(world: World) -> None:
    """Each of very many documents is accepted once, as itself, and each of very many messages delivered once."""
    drop_very_many(world)
    for number in range(IN):
        world.receive(invoice(f"in {number}"))
    world.settle(60)
    world.invariants()
    assert world.accepted() == dict.fromkeys(world.dropped, 1)
    assert "porter.called" in events(world)
    assert "porter.lost" not in events(world)
    assert not porters(os.getpid())


@pytest.mark.parametrize("fate", [answered, cut_after, reset_before])
def test_it_is_killed_again_and_again(world: World, fate: Fault) -> None:
    """What a porter was posting when it ended is looked for; the rest goes on, with it or without."""
    killed = []

    def kill(exchange: Exchange) -> None:
        try:
            fate(exchange)
        finally:
            for porter in porters(os.getpid()):
                with suppress(ProcessLookupError):
                    os.kill(porter, signal.SIGKILL)
                    killed.append(porter)

    world.front.every(EVERY, "POST /outbox", kill)
    drop_very_many(world)
    world.settle(60)
    world.invariants()
    assert world.accepted() == dict.fromkeys(world.dropped, 1)
    assert killed


def with_a_porter(world: World, daemon: subprocess.Popen[bytes]) -> list[int]:
    """Its porters, as soon as it has one that is likely to be at work."""
    called: list[int] = []

    def has_called() -> bool:
        called[:] = porters(daemon.pid)
        return bool(called) and len(world.sandbox.store.sent("acme")) > MANY

    world.until(has_called, what="a porter is called")
    return called


def test_who_called_it_is_killed(world: World) -> None:
    """A porter ends with whoever called it, and the next start finds out what it has done."""
    drop_very_many(world)
    with world.daemon() as daemon:
        called = with_a_porter(world, daemon)
        daemon.kill()
        daemon.wait()
        world.until(lambda: not any(map(lives, called)), what="the porter is gone")
    assert not world.settled(), "it was killed when there was nothing left to do"
    world.settle(60)
    world.invariants()
    assert world.accepted() == dict.fromkeys(world.dropped, 1)


def test_a_stop_that_is_said_to_both(world: World) -> None:
    """A service manager stops each process of a service: what is being posted comes to its end, nothing is in doubt."""
    drop_very_many(world)
    with world.daemon() as daemon:
        for process in (*with_a_porter(world, daemon), daemon.pid):
            os.kill(process, signal.SIGTERM)
        assert daemon.wait(30) == 0
    assert not world.settled(), "it was stopped when there was nothing left to do"
    assert not any(
        event["event"] == "in doubt" for name in world.dropped for event in world.sidecar(name).get("history", ())
    )
    world.settle(60)
    world.invariants()
    assert world.accepted() == dict.fromkeys(world.dropped, 1)


def test_it_is_sent_away(world: World) -> None:
    """A porter that has nothing to do is sent away."""
    drop_very_many(world)
    with world.service() as service:
        world.until(lambda: porters(os.getpid()), what="a porter is called")
        (account,) = service.accounts
        world.until(world.settled, 60, what="everything settles")
        account.porter.see(0, float("inf"))
        assert not porters(os.getpid())
