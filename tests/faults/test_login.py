"""A login that is refused is nobody's fault but the password's: no document fails by it, and it is tried seldom."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

from support.documents import invoice
from support.world import PASSWORD

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.world import World

BETWEEN_PROBES = 1  # seconds, by the configuration below


def test_a_wrong_password(make_world: Callable[..., World]) -> None:
    """With a wrong password nothing fails and hardly anything is asked; when it is mended, everything goes at once."""
    world = make_world(outbound={"retry": f"{{first: 100ms, longest: {BETWEEN_PROBES}s}}"})
    for number in range(20):
        world.drop(f"invoice-{number}.xml", invoice(f"out {number}"))
        world.receive(invoice(f"in {number}"))
    world.password_file.write_text("wrong")
    assert world.filedrop("run", "--once").returncode == 3
    assert 1 <= len(world.front.requests) <= 5
    account = json.loads(world.filedrop("status", "--json").stdout)["accounts"]["main"]
    assert (account["reachable"], account["login"]) == (True, "refused")

    once, begun = len(world.front.requests), time.monotonic()
    with world.daemon() as daemon:
        world.until(lambda: len(world.front.requests) >= once + 2, what="the daemon is refused, and tries again")
        assert len(world.front.requests) - once <= 1 + (time.monotonic() - begun) / BETWEEN_PROBES
        assert set(world.places().values()) == {"sending"}
        world.password_file.write_text(PASSWORD)
        world.until(world.settled)
        assert daemon.poll() is None
    world.invariants()
