"""How long a start takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks import history
from benchmarks.frame import Bench, Figure, Must, case
from benchmarks.installation import WITHOUT_CONFIG, Installation, NullServer
from benchmarks.processes import CPU, FILEDROP, PYTHON, SECONDS, Cost, cost_of

if TYPE_CHECKING:
    from collections.abc import Iterator

ROUNDS = 10  # starts are short, and vary
ROWS = 100_000


def ready(installation: Installation) -> Cost:
    """A start to READY, as systemd would hear it."""
    with installation.daemon() as daemon:
        return Cost(daemon.ready, daemon.cpu(), daemon.memory(), 0)


@case("start")
def start(bench: Bench) -> Iterator[Figure]:
    """To READY with an empty journal and one of 100,000 rows; `--help`; beside a Python that does nothing."""
    folder = bench.new_folder()
    with NullServer.running() as server:
        empty, full = (Installation(bench, server) for _ in range(2))
        empty.run_once()
        history.remember(full, delivered=bench.amount(ROWS), files=False)
        ours, ours_full, helped, bare = bench.in_turn(
            lambda: ready(empty),
            lambda: ready(full),
            lambda: cost_of(*FILEDROP, "--help", folder=folder, env=WITHOUT_CONFIG),
            lambda: cost_of(PYTHON, "-c", "pass", folder=folder),
            rounds=1 if bench.tiny else ROUNDS,
        )
    python = bare.each(SECONDS)
    yield Figure("READY, empty journal", "s", ours.each(SECONDS), Must(most=0.6), python, "python -c pass")
    yield Figure("READY, empty journal, CPU", "s", ours.each(CPU))
    yield Figure("READY, 100,000 rows", "s", ours_full.each(SECONDS), Must(most=1), ours.each(SECONDS), "empty journal")
    yield Figure("--help", "s", helped.each(SECONDS), Must(most=0.25), python, "python -c pass")
    yield Figure("--help, CPU", "s", helped.each(CPU), None, bare.each(CPU), "python -c pass")
