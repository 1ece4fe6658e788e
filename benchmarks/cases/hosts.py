"""Several hosts on one journal in PostgreSQL: what two or three of them send in the time in which one sends as much."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from benchmarks import documents
from benchmarks.cases.outward import RATE, SLOW, see
from benchmarks.frame import Bench, Figure, Must, Skipped, case
from benchmarks.installation import Installation, NullServer, until
from filedrop.journal.postgres import Postgres
from filedrop.journal.sharing import hosts_of
from filedrop.model.hosts import CHORES
from tests.support.postgres import Server, programs

if TYPE_CHECKING:
    from collections.abc import Iterator

ACCOUNTS = 4
WORKERS = 16  # of each account: with the usual 4, the 50 ms would limit any number of hosts to 320 a second
BACKLOG = 2000
HOSTS = "abc"


@dataclass(frozen=True, slots=True)
class Shared:
    """Documents a second, from the first post to the last move; CPU seconds of all hosts for 1,000 of them."""

    rate: float
    cpu: float


def shared(bench: Bench, database: Server, count: int, hosts: int) -> Shared:
    """A backlog that appears at once in the folders of all accounts, which so many running hosts have shared."""
    address = database.address(database.database())
    with ExitStack() as stack:
        server = stack.enter_context(NullServer.running(delay=SLOW))
        first = Installation(bench, server, companies=ACCOUNTS, accounts=ACCOUNTS)
        first.settle = 0
        installations = {name: first.on_another_host(bench.new_folder()) for name in HOSTS[:hosts]}
        backlogs = [bench.new_folder() for _ in first.outbound]
        for nth, backlog in enumerate(backlogs):
            documents.drop(backlog, range(nth, count, ACCOUNTS), sender=first.participants[nth])
        daemons = []
        for name, installation in installations.items():
            installation.configure(WORKERS, more=(f"host: {name}", f'journal: "{address}"'))
            daemons.append(stack.enter_context(installation.daemon()))
        journal = stack.enter_context(closing(Postgres(address)))
        until(lambda: _are_shared(journal, HOSTS[:hosts]), every=0.2, what="the accounts are shared")
        before = sum(daemon.cpu() for daemon in daemons)
        for backlog, folder in zip(backlogs, first.outbound, strict=True):
            for path in backlog.iterdir():
                path.rename(folder / path.name)
        until(lambda: server.count("out") == count and first.sent() == count, what=f"{hosts} hosts have sent all")
        end, cpu = time.monotonic(), sum(daemon.cpu() for daemon in daemons) - before
        posted = server.posted()
        see(count, len(posted))
        for daemon in daemons:
            daemon.stop()
    return Shared(count / (end - min(posted.values())), 1000 * cpu / count)


def _are_shared(journal: Postgres, hosts: str) -> bool:
    """Whether all accounts are served, and each host serves as many as another, or one less."""
    leases = hosts_of(journal)[0].leases.values()
    serving = Counter(lease.host for lease in leases if lease.incarnation and lease.name != CHORES)
    counts = [serving[host] for host in hosts]
    return sum(counts) == ACCOUNTS and max(counts) - min(counts) <= 1


@case("hosts")
def hosts(bench: Bench) -> Iterator[Figure]:
    """One, two and three hosts on one PostgreSQL, with four accounts and a server that takes 50 ms for an answer."""
    found = programs()
    if not found:
        raise Skipped("PostgreSQL is not there: install the extra `dev`")
    count = bench.amount(BACKLOG, tiny=2 * ACCOUNTS)
    with closing(Server(found[min(found, key=int)])) as database:
        one, *several = bench.in_turn(
            *(partial(shared, bench, database, count, hosts) for hosts in (1, *bench.these(2, 3)))
        )
    yield Figure("1 host", "/s", one.each(RATE))
    yield Figure("1 host, CPU", "ms a document", one.each(lambda measured: measured.cpu))
    for number, measured in enumerate(several, start=2):
        must = Must(least=1.8, of="ratio") if number == 2 else None
        note = "" if ACCOUNTS % number == 0 else "one of them serves 2 of the 4 accounts"
        yield Figure(f"{number} hosts", "/s", measured.each(RATE), must, one.each(RATE), "1 host", note)
        yield Figure(f"{number} hosts, CPU", "ms a document", measured.each(lambda measured: measured.cpu))
