"""How long `status`, `history` and the page take beside a journal of 100,000 documents of the last two weeks."""

from __future__ import annotations

import threading
import time
from datetime import timedelta
from typing import TYPE_CHECKING

import structlog

from benchmarks import history
from benchmarks.frame import Bench, Figure, Must, Samples, case
from benchmarks.installation import WITHOUT_CONFIG, Installation, NullServer
from benchmarks.processes import FILEDROP, SECONDS, Cost, cost_of
from filedrop import config
from filedrop.daemon.daemon import Daemon
from filedrop.process.lock import locked_state
from filedrop.status.status_file import StatusFile

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS = 100_000


def write(installation: Installation) -> Cost:
    """The second time that a daemon's survey, status.json and both pages are made and written."""
    settings = config.load(installation.config)
    with locked_state(settings.state) as journal:
        log = structlog.get_logger()
        daemon = Daemon(settings, journal, stopped=threading.Event(), log=log, watch=False)
        file = StatusFile(settings, journal, log)
        took = 0.0
        for running in (True, False):  # which differ, so that all is written
            begun = time.perf_counter()
            file._survey_all(daemon.report(), running=running)  # noqa: SLF001 - what its thread does, without the timer
            took = time.perf_counter() - begun
    return Cost(took, 0, 0, 0)


@case("status")
def status(bench: Bench) -> Iterator[Figure]:
    """`status` and `history` as processes, and a daemon's status.json and pages, with 100,000 rows."""
    folder = bench.new_folder()

    def command(installation: Installation, *words: str) -> Cost:
        return cost_of(*FILEDROP, "--config", str(installation.config), *words, folder=folder, env=WITHOUT_CONFIG)

    with NullServer.running() as server:
        installation, young = Installation(bench, server), Installation(bench, server)
        history.remember(installation, delivered=bench.amount(ROWS), files=False, over=timedelta(days=14))
        history.remember(young, delivered=1, files=False)
        asked, written, told, told_of_one = bench.in_turn(
            lambda: command(installation, "status"),
            lambda: write(installation),
            lambda: command(installation, "history", history.name_of(0)),
            lambda: command(young, "history", history.name_of(0)),
            rounds=1 if bench.tiny else 5,
        )
    yield Figure("status, 100,000 rows", "s", asked.each(SECONDS), Must(most=1))
    yield Figure("the page, 100,000 rows", "s", written.each(SECONDS), Must(most=1))
    more = [many.seconds - one.seconds for many, one in zip(told.results, told_of_one.results, strict=True)]
    yield Figure("history, 100,000 rows, more than with one", "s", Samples(more, told.others), Must(most=0.1))
