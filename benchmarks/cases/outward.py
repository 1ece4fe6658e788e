"""Throughput of the way out: a backlog, from the start of `run --once` to its exit."""

from __future__ import annotations

import os
import shutil
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import documents
from benchmarks.frame import Bench, Figure, Must, Samples, Skipped, case
from benchmarks.installation import Installation, NullServer, until
from benchmarks.processes import CPU, PYTHON, RATE, STEADY, Pace, cost_of, living
from tests.support.documents import BILLING_PROCESS, BUYER, INVOICE_ID, SELLER

if TYPE_CHECKING:
    from collections.abc import Iterator

BACKLOG = 2000
BY_CURL = 500  # one process a file: its rate is the same from the first to the last
SLOW = 0.05  # seconds
CURL = Path(__file__).parents[1] / "curl.sh"


def filedrop(bench: Bench, count: int, workers: int, delay: float = 0.0) -> Pace:
    """Its own pace."""
    with NullServer.running(delay=delay) as server:
        installation = Installation(bench, server, workers=workers)
        start = installation.run_once()
        installation.drop(range(count))
        cost = installation.run_once()
        see(count, server.count("out"), len(server.posted()), installation.sent())
    return cost.pace(count, start)


def bare_loop(bench: Bench, count: int, workers: int) -> Pace:
    """The same by requests in threads: no journal, no fsync, no moves."""
    folder, here = bench.new_folder(), bench.new_folder()
    documents.drop(folder, range(count))
    with NullServer.running() as server:
        cost = cost_of(PYTHON, "-m", "benchmarks.bare", "out", server.url, folder, str(workers), folder=here)
        see(count, server.count("out"))
    return cost.pace(count)


def durable_floor(bench: Bench, count: int, workers: int) -> Pace:
    """The same by a program of 150 lines with filedrop's order of safety, which survives no failure."""
    folder, empty, here = bench.new_folder(), bench.new_folder(), bench.new_folder()
    documents.drop(folder, range(count))
    with NullServer.running() as server:
        start, cost = (
            cost_of(PYTHON, "-m", "benchmarks.floor", server.url, place, str(workers), folder=here)
            for place in (empty, folder)
        )
        see(count, server.count("out"), sum(name.endswith(".xml") for name in os.listdir(folder / "sent")))  # noqa: PTH208 - names are enough
    return cost.pace(count, start)


def disk(bench: Bench, count: int, workers: int) -> Pace:
    """The same as the disk sees it: one fsync, one rename and one fsync of the folder for each."""
    folder, here = bench.new_folder(), bench.new_folder()
    cost = cost_of(PYTHON, "-m", "benchmarks.bare", "disk", str(count), folder, str(workers), folder=here)
    see(count, len(os.listdir(folder / "sent")))  # noqa: PTH208 - names are enough
    return cost.pace(count)


def curl_script(bench: Bench, count: int) -> float:
    """The same by the shell script with inotifywait and curl, one process a file: from the drop to the last move."""
    backlog, folder = bench.new_folder(), bench.new_folder()
    names = documents.drop(backlog, range(count))
    (folder / "sent").mkdir()
    with NullServer.running() as server:
        ids = (server.url, folder, SELLER, BUYER, INVOICE_ID, BILLING_PROCESS)
        with living(CURL, *ids) as script:
            until(lambda: _watches(script.pid), what="inotifywait watches")
            begun = time.monotonic()
            for name in names:
                (backlog / name).rename(folder / name)
            until(lambda: len(os.listdir(folder / "sent")) == count, every=0.01, what="the script has sent all")  # noqa: PTH208 - names are enough
            seconds = time.monotonic() - begun
        see(count, server.count("out"))
    return count / seconds


def _watches(script: int) -> bool:
    """Does a process of the script's group have an inotify watch?"""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if os.getpgid(int(process.name)) == script and "inotify wd" in "".join(
                info.read_text() for info in (process / "fdinfo").iterdir()
            ):
                return True
        except (FileNotFoundError, ProcessLookupError):
            continue
    return False


def see(wanted: int, *counts: int) -> None:
    """A figure of work that wasn't done is none. Raises RuntimeError."""
    if any(count != wanted for count in counts):
        raise RuntimeError(f"{wanted} documents were to be handled, and counted were {counts}")


@case("out")
def out(bench: Bench) -> Iterator[Figure]:
    """2,000 documents of 20 KB by workers; beside a bare loop, the least program with the same safety, and the disk."""
    count = bench.amount(BACKLOG)
    for workers in bench.these(1, 4, 16):
        ours, loop, floor, least = bench.in_turn(
            partial(filedrop, bench, count, workers),
            partial(bare_loop, bench, count, workers),
            partial(durable_floor, bench, count, workers),
            partial(disk, bench, count, workers),
        )
        is_usual = workers == 4
        name, milliseconds = f"workers: {workers}", "ms a document"
        must = Must(least=0.4 if workers > 1 else 0.3, of="ratio")
        yield Figure(name, "/s", ours.each(RATE), must, loop.each(RATE), "bare loop")
        must = Must(most=2.2, of="ratio") if is_usual else None
        yield Figure(f"{name}, CPU", milliseconds, ours.each(CPU), must, loop.each(CPU), "bare loop")
        yield Figure(name, "/s", ours.each(RATE), None, floor.each(RATE), "durable floor")
        must = Must(most=1.5, of="ratio") if is_usual else None
        yield Figure(f"{name}, steady CPU", milliseconds, ours.each(STEADY), must, floor.each(STEADY), "durable floor")
        yield Figure(name, "/s", ours.each(RATE), None, least.each(RATE), "the disk alone")


@case("out-curl")
def out_curl(bench: Bench) -> Iterator[Figure]:
    """The same with 4 workers, beside a shell script with inotifywait and curl."""
    missing = [tool for tool in ("inotifywait", "curl") if shutil.which(tool) is None]
    if missing:
        raise Skipped(f"{' and '.join(missing)} not installed: apt install inotify-tools curl")
    count, by_curl = bench.amount(BACKLOG), bench.amount(BY_CURL)
    ours, script = bench.in_turn(lambda: filedrop(bench, count, 4).rate, partial(curl_script, bench, by_curl))
    yield Figure("workers: 4", "/s", ours.each(float), Must(least=4, of="ratio"), script.each(float), "curl script")


@case("out-slow")
def out_slow(bench: Bench) -> Iterator[Figure]:
    """2,000 documents to a server that takes 50 ms for an answer, by workers; beside workers / 50 ms."""
    count = bench.amount(BACKLOG)
    for workers in bench.these(1, 4, 16):
        rounds = 1 if workers == 1 else bench.rounds  # a hundred seconds of waiting vary little
        (ours,) = bench.in_turn(partial(filedrop, bench, count, workers, SLOW), rounds=rounds)
        best = Samples([workers / SLOW] * rounds, ours.others)
        must = Must(least=0.85, of="ratio") if workers == 4 else None
        yield Figure(f"workers: {workers}", "/s", ours.each(RATE), must, best, "workers / 50 ms")
