"""This build beside that of another commit: `python -m benchmarks compare COMMIT`."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
import venv
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from benchmarks.cases import inward, outward
from benchmarks.cases.idle import WHILE
from benchmarks.cases.latency import FEW, at_a_rate, latencies, percentile
from benchmarks.cases.start import ROUNDS, ready
from benchmarks.frame import Bench, Figure, Skipped, case, once
from benchmarks.installation import Installation, NullServer
from benchmarks.machine import Load
from benchmarks.processes import CPU, PROJECT, RATE, SECONDS, STEADY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

T = TypeVar("T")
Commands = tuple[tuple[str, ...], tuple[str, ...]]

COMPANIES = 200  # that have nothing to do
CALM = 100.0  # seconds after which what 200 companies have to do at a start is over


@contextlib.contextmanager
def built(commit: str, folder: Path) -> Iterator[tuple[str, ...]]:
    """The command of that commit's filedrop, in an environment of its own. Raises Skipped: there is no such commit."""
    git = ("git", "-C", str(PROJECT), "worktree")
    tree, environment = folder / "tree", folder / "environment"
    added = subprocess.run([*git, "add", "--detach", tree, commit], capture_output=True, text=True, check=False)
    if added.returncode:
        raise Skipped(added.stderr.strip())
    try:
        venv.create(environment, with_pip=True)
        python = environment / "bin" / "python"
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--editable", tree], check=True)
        yield (str(python), "-P", "-m", "filedrop")
    finally:
        subprocess.run([*git, "remove", "--force", tree], check=True)


@case("compare", only_named=True)
def compare(bench: Bench) -> Iterator[Figure]:
    """This build beside that of a commit, in turn: both ways, latency, start, memory, and 200 idle companies."""
    if not bench.commit:
        raise Skipped("name a commit: python -m benchmarks compare COMMIT")
    with built(bench.commit, bench.new_folder()) as other:
        commands = ((sys.executable, "-P", "-m", "filedrop"), other)
        yield from _throughput(bench, commands)
        yield from _latency(bench, commands)
        yield from _start(bench, commands)
        yield from _idle(bench, commands)


def _by(bench: Bench, command: tuple[str, ...], measure: Callable[[], T]) -> Callable[[], T]:
    """The measure, taken with that command."""

    def run() -> T:
        bench.filedrop = command
        return measure()

    return run


def _throughput(bench: Bench, commands: Commands) -> Iterator[Figure]:
    count = bench.amount(outward.BACKLOG)
    cases = {f"out, workers: {workers}": partial(outward.filedrop, bench, count, workers) for workers in (1, 4, 16)}
    cases["out, 50 ms"] = partial(outward.filedrop, bench, count, 4, outward.SLOW)
    cases["in"] = partial(inward.filedrop, bench, count)
    for name, measure in cases.items():
        mine, theirs = bench.in_turn(*(_by(bench, command, measure) for command in commands))
        yield Figure(name, "/s", mine.each(RATE), None, theirs.each(RATE), bench.commit)
        yield Figure(f"{name}, CPU", "ms each", mine.each(CPU), None, theirs.each(CPU), bench.commit)
        if name != "in":  # the cost of a start alone isn't measured there
            yield Figure(f"{name}, steady CPU", "ms each", mine.each(STEADY), None, theirs.each(STEADY), bench.commit)


def _latency(bench: Bench, commands: Commands) -> Iterator[Figure]:
    def measured() -> list[float]:
        with NullServer.running() as server:
            installation = Installation(bench, server)
            with installation.daemon():
                return latencies(installation, at_a_rate(bench.amount(FEW)))

    mine, theirs = bench.in_turn(*(_by(bench, command, measured) for command in commands))
    for percent in (50, 95):
        value = partial(percentile, percent=percent)
        yield Figure(f"latency, p{percent}", "ms", mine.each(value), None, theirs.each(value), bench.commit)


def _start(bench: Bench, commands: Commands) -> Iterator[Figure]:
    with NullServer.running() as server:
        measures = []
        for command in commands:
            bench.filedrop = command
            installation = Installation(bench, server)
            installation.run_once()
            measures.append(partial(ready, installation))
        mine, theirs = bench.in_turn(*measures, rounds=1 if bench.tiny else ROUNDS)
    yield Figure("READY", "s", mine.each(SECONDS), None, theirs.each(SECONDS), bench.commit)
    yield Figure("READY, CPU", "s", mine.each(CPU), None, theirs.each(CPU), bench.commit)


def _idle(bench: Bench, commands: Commands) -> Iterator[Figure]:
    """Both at the same time, once what a start has to do is over."""
    with NullServer.running() as server, contextlib.ExitStack() as stack:
        installations = []
        for command in commands:
            bench.filedrop = command
            installations.append(Installation(bench, server, companies=bench.amount(COMPANIES)))
            installations[-1].run_once()  # makes the folders
        daemons = [stack.enter_context(installation.daemon()) for installation in installations]
        time.sleep(bench.seconds(CALM))
        before = [daemon.cpu() for daemon in daemons]
        with Load() as load:
            time.sleep(bench.seconds(WHILE))
        cpu = [once(daemon.cpu() - used, load) for daemon, used in zip(daemons, before, strict=True)]
        memory = [once(daemon.memory(), load) for daemon in daemons]
    name = f"idle, companies: {bench.amount(COMPANIES)}"
    yield Figure(f"{name}, CPU", f"s in {bench.seconds(WHILE):.0f} s", cpu[0], None, cpu[1], bench.commit)
    yield Figure(f"{name}, memory", "MB", memory[0], None, memory[1], bench.commit)
