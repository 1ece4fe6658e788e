"""Throughput of the way in: a full inbox, from the start of `run --once` to its exit."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from benchmarks.cases.outward import see
from benchmarks.frame import Bench, Figure, Must, case
from benchmarks.installation import Installation, NullServer
from benchmarks.processes import CPU, PYTHON, RATE, Pace, cost_of

if TYPE_CHECKING:
    from collections.abc import Iterator

INBOX = 2000
WORKERS = 4  # outbound.workers, which is said for both ways


def filedrop(bench: Bench, count: int) -> Pace:
    """Its own pace."""
    with NullServer.running(inbox=count) as server:
        installation = Installation(bench, server, workers=WORKERS)
        cost = installation.run_once()
        see(count, count - server.count("in"), installation.received())
    return cost.pace(count)


def bare_loop(bench: Bench, count: int) -> Pace:
    """The same by requests in as many threads: list, download, mark read."""
    folder, here = bench.new_folder(), bench.new_folder()
    with NullServer.running(inbox=count) as server:
        cost = cost_of(PYTHON, "-m", "benchmarks.bare", "in", server.url, folder, str(WORKERS), folder=here)
        see(count, count - server.count("in"), len(os.listdir(folder)))  # noqa: PTH208 - names are enough
    return cost.pace(count)


@case("in")
def in_(bench: Bench) -> Iterator[Figure]:
    """2,000 messages of 20 KB, beside a bare loop of list, download and mark read."""
    count = bench.amount(INBOX)
    ours, loop = bench.in_turn(partial(filedrop, bench, count), partial(bare_loop, bench, count))
    must = Must(least=0.5, of="ratio")
    name = f"workers: {WORKERS}"
    yield Figure(name, "/s", ours.each(RATE), must, loop.each(RATE), "bare loop")
    yield Figure(f"{name}, CPU", "ms a message", ours.each(CPU), None, loop.each(CPU), "bare loop")
