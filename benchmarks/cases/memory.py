"""Memory: idle, and how much more a large document takes on its way out or in."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

from benchmarks.cases.outward import see
from benchmarks.documents import SIZE
from benchmarks.frame import Bench, Figure, Must, Samples, case, once
from benchmarks.installation import Installation, NullServer
from benchmarks.machine import Load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LARGE = 99_900_000  # bytes: max_size is 100 MB by default
CALM = 15.0  # seconds after which a start is over


def out(bench: Bench, count: int, size: int) -> float:
    """The most memory of a `run --once` that sends so many documents of this size, all at once."""
    with NullServer.running() as server:
        installation = Installation(bench, server, workers=count)
        installation.drop(range(count), size=size)
        cost = installation.run_once()
        see(count, server.count("out"), installation.sent())
    installation.remove()
    return cost.memory


def in_(bench: Bench, count: int, size: int) -> float:
    """The same of one that receives them."""
    with NullServer.running(inbox=count, size=size) as server:
        installation = Installation(bench, server, workers=count)
        cost = installation.run_once()
        see(count, count - server.count("in"), installation.received())
    installation.remove()
    return cost.memory


@case("memory")
def memory(bench: Bench) -> Iterator[Figure]:
    """Idle; and what documents of 100 MB take more than small ones, out and in, one and 16 at once."""
    with NullServer.running() as server:
        installation = Installation(bench, server)
        with installation.daemon() as daemon, Load() as load:
            time.sleep(bench.seconds(CALM))
            idle = daemon.memory()
    yield Figure("idle", "MB", once(idle, load), Must(most=70))
    size = bench.amount(LARGE, tiny=200_000)
    ways: dict[str, Callable[[Bench, int, int], float]] = {"out": out, "in": in_}
    for way, run in ways.items():
        for count, must in ((1, Must(most=20)), (bench.amount(16, tiny=2), None)):
            large, small = bench.in_turn(partial(run, bench, count, size), partial(run, bench, count, SIZE), rounds=1)
            pairs = zip(large.results, small.results, strict=True)
            more = Samples([one - other for one, other in pairs], large.others)
            note = f"more than the {small.each(float).median:.0f} MB for small ones"
            yield Figure(f"100 MB {way}, {count} at once", "MB", more, must, note=note)
