"""Hours of work at a steady rate, both ways, with an access point of ordinary misfortunes. Runs only when named.

70 documents a second are half a million in two hours. The access point's misfortunes are in `soakserver`. All pauses
are in minutes of 60 seconds, or shorter ones where the whole is short: a sample, what `track` and `doubt` wait, when
what is accepted is delivered, an outage. At the end each document must have been accepted exactly once, and each
message have come exactly once: else the case fails. The picture is written anew with each sample.
"""

from __future__ import annotations

import math
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.cases.latency import percentile
from benchmarks.chart import Chart, draw
from benchmarks.frame import Bench, Figure, Must, Samples, case
from benchmarks.installation import Daemon, Installation, NullServer
from benchmarks.machine import Load, cpu_seconds
from benchmarks.processes import PROJECT
from benchmarks.traffic import COMPANIES, Accounting, Dropper

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HOURS = 2.0
OUT, IN = 34, 36  # a second: of what goes out, filedrop walks 250,000 at most when it looks for one in doubt
MINUTE, SAMPLES = 60.0, 30  # seconds; in shorter runs there are at least so many minutes
TAKEN_EVERY = 1.0  # second
DRAINED = 30  # minutes after which what is still open will not end any more
PICTURE = PROJECT / "benchmarks" / "soak.svg"
MB = 1e6
MUST_BE_NONE = Must(most=0)


@dataclass(slots=True)
class Sample:
    """What a minute came to: of the daemon, and in cores what its driver and its access point took."""

    minutes: float
    memory: float
    descriptors: int
    threads: int
    wal: float
    journal: float
    cpu: float
    beside: float
    others: float
    p50: float
    p99: float
    accepted: float
    received: float
    backlog: int
    unread: int


class Soak:
    """One run: who drops, who takes, and what was sampled."""

    def __init__(self, installation: Installation, daemon: Daemon, picture: Path) -> None:
        self.installation = installation
        self.daemon = daemon
        self.picture = picture
        self.samples: list[Sample] = []
        self.begun = self._last = time.monotonic()
        self.dropper = Dropper(self.installation.outbound)
        self.accounting = Accounting(inbound(installation))
        self.posted: dict[int, int] = {}
        self._heard = 0
        self._received = 0
        self._load = Load().__enter__()
        self._cpu = self._cpus()

    def sample(self) -> None:
        """See how it stands."""
        now, server, daemon = time.monotonic(), self.installation.server, self.daemon
        latencies = list(self._hear(server))
        passed, taken = now - self._last, self.accounting.taken - self._received
        cpu = [(after - before) / passed for before, after in zip(self._cpu, self._cpus(), strict=True)]
        self._load.__exit__()
        self.samples.append(
            Sample(
                minutes=(now - self.begun) / 60,
                memory=daemon.memory(),
                descriptors=daemon.descriptors(),
                threads=daemon.threads(),
                wal=self._size("journal.sqlite-wal"),
                journal=self._size("journal.sqlite"),
                cpu=cpu[0],
                beside=cpu[1],
                others=self._load.others,
                p50=percentile(latencies, 50) if len(latencies) > 1 else math.nan,
                p99=percentile(latencies, 99) if len(latencies) > 1 else math.nan,
                accepted=len(latencies) / passed,
                received=taken / passed,
                backlog=len(self.dropper.closed),
                unread=server.made()[1],
            )
        )
        self._last, self._received, self._cpu = now, self.accounting.taken, self._cpus()
        self._load = Load().__enter__()
        self.picture.write_text(self._drawn(), encoding="utf-8")

    def is_done(self) -> bool:
        """Has all come to its end: delivered, put away, taken?"""
        made, unread = self.installation.server.made()
        return not unread and self.accounting.taken >= made and self.put_away() >= self.dropper.dropped

    def put_away(self, place: str = "archive") -> int:
        """How many documents lie there, below it too."""
        folders = [path / place for path in self.installation.outbound]
        return sum(name.endswith(".xml") for folder in folders for _, _, names in os.walk(folder) for name in names)

    def _hear(self, server: NullServer) -> Iterator[float]:
        """The milliseconds from the close to the acceptance, of what was accepted since the last time."""
        posts = server.posts(self._heard + 1)
        self._heard += len(posts)
        for number, at in posts:
            self.posted[number] = self.posted.get(number, 0) + 1
            closed = self.dropper.closed.pop(number, None)
            if closed is not None:
                yield 1000 * (at - closed)

    def _cpus(self) -> tuple[float, float]:
        return self.daemon.cpu(), time.process_time() + cpu_seconds(self.installation.server.pid)

    def _size(self, name: str) -> float:
        with suppress(FileNotFoundError):
            return (self.installation.state / name).stat().st_size / MB
        return 0.0

    def _drawn(self) -> str:
        def of(*names: str) -> dict[str, list[float]]:
            return {name: [getattr(sample, name) for sample in self.samples] for name in names}

        charts = (
            Chart("Memory, resident", "MB", of("memory")),
            Chart("From dropped to accepted", "ms", of("p50", "p99"), by_tens=True),
            Chart("Documents", "a second", of("accepted", "received")),
            Chart("Waiting", "documents", of("backlog", "unread")),
            Chart("Open descriptors", "number", of("descriptors")),
            Chart("Threads", "number", of("threads")),
            Chart("The journal's WAL", "MB", of("wal")),
            Chart("The journal", "MB", of("journal")),
            Chart("CPU of filedrop", "cores", of("cpu")),
            Chart("CPU beside it", "cores", of("beside", "others")),
        )
        total = self.dropper.dropped + self.accounting.taken
        title = f"filedrop, {self.samples[-1].minutes:.0f} minutes, {total:,} documents: {OUT} a second out, {IN} in"
        return draw(title, [sample.minutes for sample in self.samples], charts)


def inbound(installation: Installation) -> list[Path]:
    """Where messages come in, a folder for each company."""
    return [path.parent / "inbound" for path in installation.outbound]


def steadily(soak: Soak, seconds: float, minute: float) -> None:
    """Drop at the rate, take what has come in, and sample each minute."""
    begun = time.monotonic()
    take_at, sample_at = begun, begun + minute
    for nth in range(round(seconds * OUT)):
        time.sleep(max(0.0, begun + nth / OUT - time.monotonic()))
        soak.dropper.drop()
        now = time.monotonic()
        if now >= take_at:
            soak.accounting.take()
            take_at = now + TAKEN_EVERY
        if now >= sample_at:
            soak.sample()
            sample_at += minute


def to_the_end(soak: Soak, minute: float) -> None:
    """Nothing new comes; what is open comes to its end, or RuntimeError."""
    deadline = sample_at = time.monotonic()
    deadline += DRAINED * max(minute, 2.0)
    while not soak.is_done():
        soak.accounting.take()
        if time.monotonic() > deadline:
            return  # the counts say what is missing
        if time.monotonic() >= sample_at + minute:
            soak.sample()
            sample_at += minute
        time.sleep(max(0.2, minute / 30))
    soak.accounting.take()
    soak.sample()


@case("soak", only_named=True)
def soak(bench: Bench) -> Iterator[Figure]:
    """Hours (--hours) of 70 documents a second, both ways, with misfortunes; draws --picture. Only when named."""
    seconds = 5.0 if bench.tiny else 3600 * (bench.hours or HOURS)
    minute = min(MINUTE, seconds / SAMPLES)
    picture = bench.picture or (bench.new_folder() / PICTURE.name if bench.tiny else PICTURE)
    options = (f"--rate={IN}", f"--minute={minute}")
    with NullServer.started("benchmarks.soakserver", *options) as server:
        installation = Installation(bench, server, companies=COMPANIES)
        milliseconds = round(1000 * minute)
        rules = f"retry: {{first: 1s, longest: {max(1000, milliseconds)}ms}}, doubt: {2 * milliseconds}ms"
        poll = f"inbound: {{poll: {max(1000, milliseconds // 6)}ms}}"
        installation.configure(4, track=f"{milliseconds}ms, {rules}", more=(poll,))
        for folder in inbound(installation):
            folder.mkdir()
        with installation.daemon() as daemon:
            run = Soak(installation, daemon, picture)
            steadily(run, seconds, minute)
            made, _ = server.made(stop=True)
            to_the_end(run, minute)
        failed = run.put_away("failed")
    yield from figures(run, made, failed)
    see_the_promise(run, made)


def figures(run: Soak, made: int, failed: int) -> Iterator[Figure]:
    """What is in the report; each round is a sample."""
    samples, others = run.samples, [sample.others for sample in run.samples]

    def of(name: str) -> Samples:
        return Samples([getattr(sample, name) for sample in samples], others)

    def count(number: int) -> Samples:
        return Samples([number], others)

    dropped = run.dropper.dropped
    yield Figure("dropped", "documents", count(dropped), note="numbered from 1")
    yield Figure("accepted not exactly once", "documents", count(wrong(run.posted, dropped)), MUST_BE_NONE)
    yield Figure("not in archive/ at the end", "documents", count(dropped - run.put_away()), MUST_BE_NONE)
    yield Figure("in failed/", "documents", count(failed), MUST_BE_NONE)
    yield Figure("made", "messages", count(made))
    yield Figure("delivered not exactly once", "messages", count(wrong(run.accounting.times, made)), MUST_BE_NONE)
    yield Figure("delivered otherwise than sent", "messages", count(len(run.accounting.spoilt)), MUST_BE_NONE)
    quarter = max(1, len(samples) // 4)
    for name, unit in (("memory", "MB"), ("descriptors", ""), ("threads", "")):
        values = of(name).values
        late, early = (Samples(part, others) for part in (values[-quarter:], values[:quarter]))
        yield Figure(f"{name}, last quarter", unit, late, None, early, "first quarter", f"at most {max(values):.0f}")
    for name in Sample.__slots__:
        yield Figure(name, UNITS.get(name, ""), of(name), note="median of the minutes")


UNITS = {"minutes": "min", "memory": "MB", "wal": "MB", "journal": "MB", "cpu": "cores", "beside": "cores",
         "others": "cores", "p50": "ms", "p99": "ms", "accepted": "/s", "received": "/s"}  # fmt: skip


def wrong(times: dict[int, int], last: int) -> int:
    """How many of the numbers from 1 to the last, and of others, weren't there exactly once."""
    return sum(times.get(number, 0) != 1 for number in range(1, last + 1)) + sum(
        not 1 <= number <= last for number in times
    )


def see_the_promise(run: Soak, made: int) -> None:
    """Every document exactly once, both ways. Raises RuntimeError."""
    dropped, accounting = run.dropper.dropped, run.accounting
    broken = wrong(run.posted, dropped), wrong(accounting.times, made), len(accounting.spoilt)
    if any(broken):
        out, in_, spoilt = broken
        raise RuntimeError(
            f"{out} documents weren't accepted exactly once, {in_} messages weren't delivered exactly once, and "
            f"{spoilt} were delivered otherwise than sent"
        )
