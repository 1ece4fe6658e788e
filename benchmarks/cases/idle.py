"""What it costs to have nothing to do."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

from benchmarks.frame import Bench, Figure, Must, case, once
from benchmarks.installation import Installation, NullServer
from benchmarks.machine import Load

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CALM = 15.0  # seconds after which a start is over
WHILE = 120.0  # seconds
MUST = {1: None, 20: Must(most=0.5), 200: Must(most=2)}  # per cent of a core


def lives(installations: Sequence[Installation], seconds: float) -> list[tuple[float, int]]:
    """Let a daemon of each live so long. CPU seconds and waits of each whole life."""
    with contextlib.ExitStack() as stack:
        daemons = [stack.enter_context(installation.daemon()) for installation in installations]
        time.sleep(seconds)
        return [daemon.stop() for daemon in daemons]


@case("idle")
def idle(bench: Bench) -> Iterator[Figure]:
    """CPU and wake-ups of a daemon with nothing to do, by companies: a life of 135 s less one of 15 s."""
    calm, while_ = bench.seconds(CALM), bench.seconds(WHILE)
    with NullServer.running() as server:
        wanted = MUST if not bench.tiny else {1: None, 2: None}
        installations = [Installation(bench, server, companies=companies) for companies in wanted]
        for installation in installations:
            installation.run_once()  # makes the folders
        short = lives(installations, calm)
        with Load() as load:
            long = lives(installations, calm + while_)
    for (companies, must), (cpu_before, waits_before), (cpu, waits) in zip(wanted.items(), short, long, strict=True):
        name = f"companies: {companies}"
        yield Figure(f"{name}, CPU", "% of a core", once(100 * (cpu - cpu_before) / while_, load), must)
        yield Figure(f"{name}, waits", "a minute", once(60 * (waits - waits_before) / while_, load))
