"""Latency: from the writer's close to the 201."""

from __future__ import annotations

import itertools
import random
import time
from statistics import quantiles
from typing import TYPE_CHECKING

from benchmarks.documents import numbered_document
from benchmarks.frame import Bench, Figure, Must, Samples, case, once
from benchmarks.installation import Installation, NullServer, until
from benchmarks.machine import Load

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

ONE_BY_ONE, TOGETHER, FEW = 300, 1000, 500  # documents
RATE = 50  # a second
MUST = {50: Must(most=30), 95: Must(most=80), 99: None}  # milliseconds


def one_by_one(count: int) -> Iterator[float]:
    """Pauses long enough for each to be accepted before the next comes, and in step with nothing."""
    chance = random.Random(1)  # noqa: S311 - no secret
    return (chance.uniform(0.1, 0.2) for _ in range(count))


def at_a_rate(count: int) -> Iterator[float]:
    """Pauses that make it so many a second."""
    return itertools.repeat(1 / RATE, count)


def latencies(installation: Installation, pauses: Iterable[float], first: int = 1) -> list[float]:
    """The milliseconds from each close to the 201, with a running daemon; a document is written after each pause."""
    before, after = numbered_document()
    closed: dict[int, float] = {}
    due = time.monotonic()
    for number, pause in enumerate(pauses, first):
        due += pause
        time.sleep(max(0.0, due - time.monotonic()))
        with (installation.outbound[0] / f"invoice-{number:010}.xml").open("wb") as file:
            file.write(before + b"%010d" % number + after)
            file.flush()
            closed[number] = time.monotonic()
    server = installation.server
    until(lambda: closed.keys() <= server.posted().keys(), every=0.5, what="all documents are accepted")
    posted = server.posted()
    return [1000 * (posted[number] - at) for number, at in closed.items()]


def percentile(values: Sequence[float], percent: int) -> float:
    """So many per cent of the values are at most this."""
    return quantiles(values, n=100, method="inclusive")[percent - 1]


@case("latency")
def latency(bench: Bench) -> Iterator[Figure]:
    """From the writer's close to the 201, one document at a time and at 50 a second."""
    with NullServer.running() as server:
        installation = Installation(bench, server)
        with installation.daemon():
            time.sleep(bench.seconds(3))
            first = 1
            for name, pauses in (
                ("one at a time", list(one_by_one(bench.amount(ONE_BY_ONE)))),
                (f"{RATE} a second", list(at_a_rate(bench.amount(TOGETHER)))),
            ):
                with Load() as load:
                    measured = latencies(installation, pauses, first)
                first += len(pauses)
                for percent, must in MUST.items():
                    yield Figure(f"{name}, p{percent}", "ms", once(percentile(measured, percent), load), must)
                yield Figure(f"{name}, longest", "ms", once(max(measured), load))


def p95(bench: Bench, installation: Installation, first: int) -> Samples:
    """The 95th percentile at the rate, of a daemon started for it."""
    with installation.daemon():
        time.sleep(bench.seconds(3))
        with Load() as load:
            measured = latencies(installation, at_a_rate(bench.amount(FEW)), first)
    return once(percentile(measured, 95), load)
