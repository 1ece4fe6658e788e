"""Growth: the same with much behind it, many companies, or very much before it."""

from __future__ import annotations

import itertools
import time
from functools import partial
from typing import TYPE_CHECKING

from benchmarks import documents, history
from benchmarks.cases.latency import p95
from benchmarks.cases.outward import BACKLOG, see
from benchmarks.frame import Bench, Figure, Must, Samples, case, once
from benchmarks.installation import Daemon, Installation, NullServer, until
from benchmarks.machine import Load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MUCH = 100_000
COMPANIES = 200
WITHIN = 0.8  # of the small case's rate
LONG = 3600.0  # seconds for all of them


def throughput(installation: Installation, count: int, numbers: Iterator[int]) -> float:
    """Documents a second, of a backlog with these numbers."""
    server = installation.server
    before = server.count("out")
    installation.drop(itertools.islice(numbers, count))
    cost = installation.run_once()
    see(count, server.count("out") - before)
    return count / cost.seconds


def throughput_while_it_runs(installation: Installation, count: int, numbers: Iterator[int]) -> float:
    """The same in a daemon that has nothing else to do, from the first drop to the last 201."""
    server = installation.server

    def send(count: int) -> float:
        begun, before = time.monotonic(), server.count("out")
        installation.drop(itertools.islice(numbers, count))
        until(lambda: server.count("out") - before == count, what="all are accepted")
        return time.monotonic() - begun

    with installation.daemon() as daemon:
        send(1)  # all folders have been compared
        seconds = send(count)
        daemon.stop()  # not killed: what was under way would be looked for in the next measurement
        return count / seconds


def beside_the_small_case(
    bench: Bench, grow: Callable[[Installation], object], *, companies: int = 1
) -> Iterator[Figure]:
    """Throughput and latency of an installation that has grown, beside one that hasn't; both live as long as this."""
    count = bench.amount(BACKLOG)
    with NullServer.running() as server, NullServer.running() as other_server:
        small = Installation(bench, server)
        large = Installation(bench, other_server, companies=companies)
        grow(large)
        numbers = itertools.count(1)
        must = Must(least=WITHIN, of="ratio")
        for what, measure in (("throughput", throughput), ("throughput while it runs", throughput_while_it_runs)):
            ours, theirs = bench.in_turn(
                partial(measure, large, count, numbers), partial(measure, small, count, numbers)
            )
            yield Figure(f"{what}, workers: 4", "/s", ours.each(float), must, theirs.each(float), "the small case")
        late, small_late = (p95(bench, installation, next(numbers) * 10) for installation in (large, small))
        must = Must(most=1 / WITHIN, of="ratio")
        yield Figure("latency at 50 a second, p95", "ms", late, must, small_late, "the small case")


@case("growth-archive")
def growth_archive(bench: Bench) -> Iterator[Figure]:
    """With 100,000 delivered documents: as many rows in the journal, and twice as many files in archive/."""
    yield from beside_the_small_case(bench, lambda large: history.remember(large, delivered=bench.amount(MUCH)))


@case("growth-sent")
def growth_sent(bench: Bench) -> Iterator[Figure]:
    """With 100,000 accepted documents that aren't delivered yet: rows, and twice as many files in sent/."""
    yield from beside_the_small_case(bench, lambda large: history.remember(large, sent=bench.amount(MUCH)))


@case("growth-companies")
def growth_companies(bench: Bench) -> Iterator[Figure]:
    """With 200 companies, among which the documents are dealt out."""
    companies = bench.amount(COMPANIES, tiny=2)
    yield from beside_the_small_case(bench, lambda _: None, companies=companies)


@case("growth-backlog")
def growth_backlog(bench: Bench) -> Iterator[Figure]:
    """100,000 documents of 20 KB dropped at once: time to the first 201, memory, and the rate in each tenth."""
    count = bench.amount(MUCH, tiny=20)
    with NullServer.running() as server:
        installation = Installation(bench, server)
        backlog = bench.new_folder()
        names = documents.drop(backlog, range(1, count + 1))
        with installation.daemon() as daemon:
            time.sleep(bench.seconds(3))
            with Load() as load:
                dropped = time.monotonic()
                for name in names:
                    (backlog / name).rename(installation.outbound[0] / name)
                loads, peaks = wait_for_tenths(server, daemon, count)
            memory = daemon.memory(peak=True)
        accepted = sorted(server.posted().values())
        see(count, len(accepted), server.count("out"))
    yield Figure("the first 201", "s", once(accepted[0] - dropped, load), Must(most=3))
    yield Figure("memory", "MB", once(memory, load), Must(most=150), note=f"in each tenth {listed(peaks)}")
    yield Figure("all", "/s", once(count / (accepted[-1] - dropped), load))
    tenth = count // 10
    ends = [dropped, *accepted[tenth - 1 :: tenth]]
    rates = [tenth / (end - start) for start, end in itertools.pairwise(ends)]
    note = f"all tenths {listed(rates)}, others used {', '.join(f'{load.others:.1f}' for load in loads)} cores"
    slowest, first = Samples([min(rates)], [load.others]), Samples([rates[0]], [load.others])
    yield Figure("the slowest tenth", "/s", slowest, Must(least=WITHIN, of="ratio"), first, "the first tenth", note)


def wait_for_tenths(server: NullServer, daemon: Daemon, count: int) -> tuple[list[Load], list[float]]:
    """Wait until all are accepted; what others did meanwhile, and the memory at the end, of each tenth."""
    loads, memory = [], []
    for tenth in range(1, 11):
        with Load() as load:
            wanted = count * tenth // 10
            until(lambda: server.count("out") >= wanted, every=0.2, patience=LONG, what="all are accepted")  # noqa: B023 - at once
        loads.append(load)
        memory.append(daemon.memory())
    return loads, memory


def listed(values: list[float]) -> str:
    """In a row, without fractions."""
    return ", ".join(f"{value:.0f}" for value in values)
