"""This build beside that of another commit: `python -m benchmarks compare COMMIT [PART...]`.

The usual parts take a quarter of an hour on two idle cores. `rows` makes two journals of a million documents, `burst`
sends 100,000 twice: these two are measured only if they are named.
"""

from __future__ import annotations

import contextlib
import itertools
import subprocess
import sys
import time
import venv
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from benchmarks import documents
from benchmarks.cases import growth, inward, memory, outward
from benchmarks.cases.idle import WHILE
from benchmarks.cases.latency import FEW, at_a_rate, latencies, percentile
from benchmarks.cases.start import ROUNDS, ready
from benchmarks.frame import Bench, Figure, Must, Samples, Skipped, case, once
from benchmarks.installation import Installation, NullServer, until
from benchmarks.machine import Load
from benchmarks.processes import CPU, PROJECT, RATE, SECONDS, STEADY, Cost

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from benchmarks.frame import Rounds

T = TypeVar("T")

FIRST = "296a5be"  # the commit that the targets are ratios to
FIVE = 5  # rounds
COMPANIES, FEW_COMPANIES = 200, 20
BACKLOG, BURST, LARGE, ROWS = 20_000, 100_000, 16, 1_000_000
CALM = 100.0  # seconds after which what 200 companies have to do at a start is over
REMEMBER = """
import sys
from pathlib import Path
from types import SimpleNamespace
from benchmarks import history
state, outbound, config, count = sys.argv[1:]
installation = {"state": Path(state), "outbound": [Path(outbound)], "config": Path(config), "run_once": lambda: None}
history.remember(SimpleNamespace(**installation), delivered=int(count), files=False)
"""


class Build:
    """A build: its `python`, and the `tree` of its commit."""

    def __init__(self, bench: Bench, python: str, tree: Path) -> None:
        self._bench = bench
        self.python, self.tree = python, tree

    def installed(self, server: NullServer, **facts: int) -> Installation:
        """A new installation of this build, with its folders and its journal."""
        self.use()
        installation = Installation(self._bench, server, **facts)
        installation.run_once()
        return installation

    def use(self) -> None:
        """Have new installations use this build."""
        self._bench.filedrop = (self.python, "-P", "-m", "filedrop")

    def measure(self, measure: Callable[[], T]) -> T:
        """What is measured with this build."""
        self.use()
        return measure()


class Comparison:
    """Both builds, this one and the other."""

    def __init__(self, bench: Bench, mine: Build, theirs: Build) -> None:
        self.bench, self.builds = bench, (mine, theirs)
        self.rounds = 1 if bench.tiny else max(FIVE, bench.rounds)

    def in_turn(self, measure: Callable[[], T], rounds: int = 0) -> list[Rounds[T]]:
        """What both builds come to, in turn."""
        return self.bench.in_turn(
            *(partial(build.measure, measure) for build in self.builds), rounds=rounds or self.rounds
        )

    def figure(self, name: str, unit: str, mine: Samples, theirs: Samples, must: Must | None = None) -> Figure:
        """A figure of both; what the ratio must be counts for the first commit alone."""
        wanted = must if self.bench.commit.startswith(FIRST) else None
        return Figure(name, unit, mine, wanted, theirs, self.bench.commit)


@contextlib.contextmanager
def built(commit: str, folder: Path) -> Iterator[tuple[str, Path]]:
    """The Python of that commit's filedrop, in an environment of its own, and its tree. Raises Skipped: no commit."""
    git = ("git", "-C", str(PROJECT), "worktree")
    tree, environment = folder / "tree", folder / "environment"
    added = subprocess.run([*git, "add", "--detach", tree, commit], capture_output=True, text=True, check=False)
    if added.returncode:
        raise Skipped(added.stderr.strip())
    try:
        venv.create(environment, with_pip=True)
        python = environment / "bin" / "python"
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--editable", tree], check=True)
        yield str(python), tree
    finally:
        subprocess.run([*git, "remove", "--force", tree], check=True)


@case("compare", only_named=True)
def compare(bench: Bench) -> Iterator[Figure]:
    """This build beside that of a commit, in turn: COMMIT, and what of PARTS, all but `rows` and `burst` by default."""
    if not bench.commit:
        raise Skipped("name a commit: python -m benchmarks compare COMMIT")
    if unknown := set(bench.parts) - PARTS.keys():
        raise Skipped(f"there is no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    with built(bench.commit, bench.new_folder()) as other:
        both = Comparison(bench, Build(bench, sys.executable, PROJECT), Build(bench, *other))
        for part in bench.parts or [part for part in PARTS if part not in ("rows", "burst")]:
            yield from PARTS[part](both)


def _out(both: Comparison) -> Iterator[Figure]:
    """A backlog by workers, beside that of the other build and beside the bare loop."""
    bench = both.bench
    count = bench.amount(outward.BACKLOG)
    for workers in bench.these(4, 1, 16):
        measures = [partial(build.measure, partial(outward.filedrop, bench, count, workers)) for build in both.builds]
        loop = partial(outward.bare_loop, bench, count, workers)
        mine, theirs, bare = bench.in_turn(*measures, loop, rounds=both.rounds)
        name, is_usual = f"out, workers: {workers}", workers == 4
        must = Must(least=1.8 if is_usual else 1.6, of="ratio")
        yield both.figure(name, "/s", mine.each(RATE), theirs.each(RATE), must)
        must = Must(most=0.58, of="ratio")
        yield both.figure(f"{name}, CPU", "ms each", mine.each(CPU), theirs.each(CPU), must if is_usual else None)
        yield both.figure(f"{name}, steady CPU", "ms each", mine.each(STEADY), theirs.each(STEADY))
        least, most = (Must(least=0.45, of="ratio"), Must(most=1.9, of="ratio")) if is_usual else (None, None)
        yield Figure(name, "/s", mine.each(RATE), least, bare.each(RATE), "bare loop")
        yield Figure(f"{name}, CPU", "ms each", mine.each(CPU), most, bare.each(CPU), "bare loop")


def _in(both: Comparison) -> Iterator[Figure]:
    mine, theirs = both.in_turn(partial(inward.filedrop, both.bench, both.bench.amount(outward.BACKLOG)))
    yield both.figure("in", "/s", mine.each(RATE), theirs.each(RATE), Must(least=1.6, of="ratio"))
    yield both.figure("in, CPU", "ms each", mine.each(CPU), theirs.each(CPU), Must(most=0.65, of="ratio"))


def _slow(both: Comparison) -> Iterator[Figure]:
    """An access point that takes 50 ms: mostly waiting, so one round of a few documents is enough."""
    measure = partial(outward.filedrop, both.bench, both.bench.amount(FEW), 4, outward.SLOW)
    mine, theirs = both.in_turn(measure, rounds=1)
    yield both.figure("out, 50 ms", "/s", mine.each(RATE), theirs.each(RATE), Must(least=0.97, of="ratio"))
    yield both.figure("out, 50 ms, CPU", "ms each", mine.each(CPU), theirs.each(CPU), Must(most=1.03, of="ratio"))


def _latency(both: Comparison) -> Iterator[Figure]:
    bench = both.bench

    def measured() -> list[float]:
        with NullServer.running() as server:
            installation = Installation(bench, server)
            with installation.daemon():
                time.sleep(bench.seconds(3))  # what is loaded after READY is no part of it
                return latencies(installation, at_a_rate(bench.amount(FEW)))

    mine, theirs = both.in_turn(measured)
    for percent in (50, 95):
        value = partial(percentile, percent=percent)
        must = Must(most=1.03, of="ratio")
        yield both.figure(f"latency, p{percent}", "ms", mine.each(value), theirs.each(value), must)


def _starts(
    both: Comparison, name: str, grow: Callable[[Build, Installation], object], most: float
) -> Iterator[Figure]:
    bench = both.bench
    with NullServer.running() as server:
        installations = [build.installed(server) for build in both.builds]
        for build, installation in zip(both.builds, installations, strict=True):
            grow(build, installation)
        measures = [partial(ready, installation) for installation in installations]
        mine, theirs = bench.in_turn(*measures, rounds=1 if bench.tiny else ROUNDS)
    yield both.figure(name, "s", mine.each(SECONDS), theirs.each(SECONDS), Must(most=most, of="ratio"))
    yield both.figure(f"{name}, CPU", "s", mine.each(CPU), theirs.each(CPU))


def _start(both: Comparison) -> Iterator[Figure]:
    yield from _starts(both, "READY", lambda _build, _installation: None, 0.65)


def _rows(both: Comparison) -> Iterator[Figure]:
    """A start with a million rows, which each build has written itself; the starts end by SIGKILL."""
    count = both.bench.amount(ROWS)

    def remember(build: Build, installation: Installation) -> None:
        facts = (installation.state, installation.outbound[0], installation.config, str(count))
        subprocess.run([build.python, "-c", REMEMBER, *facts], cwd=build.tree, check=True)

    yield from _starts(both, f"READY, {count:,} rows", remember, 0.3)


def _idle(both: Comparison) -> Iterator[Figure]:
    """Both at the same time, once what a start has to do is over."""
    bench = both.bench
    companies = bench.amount(COMPANIES)
    with NullServer.running() as server, contextlib.ExitStack() as stack:
        installations = [build.installed(server, companies=companies) for build in both.builds]
        daemons = [stack.enter_context(installation.daemon()) for installation in installations]
        time.sleep(bench.seconds(CALM))
        before = [daemon.cpu() for daemon in daemons]
        with Load() as load:
            time.sleep(bench.seconds(WHILE))
        cpu = [once(daemon.cpu() - used, load) for daemon, used in zip(daemons, before, strict=True)]
        many = [once(daemon.memory(), load) for daemon in daemons]
    name = f"idle, companies: {companies}"
    unit = f"s in {bench.seconds(WHILE):.0f} s"
    yield both.figure(f"{name}, CPU", unit, cpu[0], cpu[1], Must(most=0.2, of="ratio"))
    yield both.figure(f"{name}, memory", "MB", many[0], many[1])

    def idle() -> float:
        with NullServer.running() as server:
            installation = Installation(bench, server)
            with installation.daemon() as daemon:
                time.sleep(bench.seconds(memory.CALM))
                return daemon.memory()

    mine, theirs = both.in_turn(idle, rounds=1)
    yield both.figure("idle, memory", "MB", mine.each(float), theirs.each(float), Must(most=0.75, of="ratio"))


def _companies(both: Comparison) -> Iterator[Figure]:
    """2,000 files dealt out to 20 companies, beside one company's, while this build runs."""
    count, numbers = both.bench.amount(outward.BACKLOG), itertools.count(1)
    with NullServer.running() as server:
        several = [both.builds[0].installed(server, companies=companies) for companies in (FEW_COMPANIES, 1)]
        measures = [partial(growth.throughput_while_it_runs, each, count, numbers) for each in several]
        many, single = both.bench.in_turn(*measures, rounds=both.rounds)
    must = Must(least=0.9, of="ratio")
    yield Figure(f"companies: {FEW_COMPANIES}", "/s", many.each(float), must, single.each(float), "one company")


def _large(both: Comparison) -> Iterator[Figure]:
    size, count = both.bench.amount(memory.LARGE, tiny=200_000), both.bench.amount(LARGE, tiny=2)
    for way, run in (("out", memory.out), ("in", memory.in_)):
        mine, theirs = both.in_turn(partial(run, both.bench, count, size), rounds=1)
        name = f"100 MB {way}, {count} at once, memory"
        yield both.figure(name, "MB", mine.each(float), theirs.each(float), Must(most=1.03, of="ratio"))


def _backlog(both: Comparison) -> Iterator[Figure]:
    count = both.bench.amount(BACKLOG)

    def sent() -> Cost:
        with NullServer.running() as server:
            installation = Installation(both.bench, server)
            installation.run_once()
            installation.drop(range(count))
            cost = installation.run_once()
            outward.see(count, server.count("out"), installation.sent())
        installation.remove()
        return cost

    mine, theirs = both.in_turn(sent, rounds=1)
    name = f"backlog of {count:,}"
    yield both.figure(name, "s", mine.each(SECONDS), theirs.each(SECONDS), Must(most=1.03, of="ratio"))
    peaks = [rounds.each(lambda cost: cost.memory) for rounds in (mine, theirs)]
    yield both.figure(f"{name}, memory", "MB", *peaks, Must(most=1.03, of="ratio"))


def _burst(both: Comparison) -> Iterator[Figure]:
    """The most memory of a daemon for which 100,000 documents are dropped at once."""
    count = both.bench.amount(BURST)

    def peak() -> float:
        with NullServer.running() as server:
            installation = Installation(both.bench, server)
            names = documents.drop(waiting := both.bench.new_folder(), range(count))
            with installation.daemon() as daemon:
                for name in names:
                    (waiting / name).rename(installation.outbound[0] / name)
                until(lambda: server.count("out") >= count, every=0.2, patience=growth.LONG, what="all are accepted")
                most = daemon.memory(peak=True)
        installation.remove()
        return most

    mine, theirs = both.in_turn(peak, rounds=1)
    name = f"burst of {count:,}, memory"
    yield both.figure(name, "MB", mine.each(float), theirs.each(float), Must(most=1.03, of="ratio"))


PARTS: dict[str, Callable[[Comparison], Iterator[Figure]]] = {
    "out": _out, "in": _in, "slow": _slow, "latency": _latency, "start": _start, "idle": _idle,
    "companies": _companies, "large": _large, "backlog": _backlog, "rows": _rows, "burst": _burst,
}  # fmt: skip
