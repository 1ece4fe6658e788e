"""How long documents wait where a host is killed, and where the database is away: two hosts on one PostgreSQL."""

from __future__ import annotations

import itertools
import os
import signal
import time
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from typing import TYPE_CHECKING

from benchmarks import documents
from benchmarks.cases.latency import percentile
from benchmarks.frame import Bench, Figure, Must, Skipped, case, once
from benchmarks.installation import Installation, NullServer, until
from benchmarks.machine import Load
from filedrop.journal.postgres import Postgres
from filedrop.journal.sharing import hosts_of
from filedrop.model.hosts import lease_of
from tests.support.postgres import Server, programs

if TYPE_CHECKING:
    from collections.abc import Iterator

ACCOUNTS = 4
TAKEOVER = 15  # seconds, the default
AWAY = 5.0  # seconds without a database
KILLS, STOPS = 20, 10


class Hosts:
    """Two hosts, one of which serves all accounts, with an empty folder for each account."""

    def __init__(self, bench: Bench, database: Server, server: NullServer, ends: ExitStack) -> None:
        self._database = database
        self._server = server
        self._ends = ends
        self._numbers = itertools.count(1)
        self._draft = bench.new_folder()
        address = database.address(database.database())
        self._first = Installation(bench, server, companies=ACCOUNTS, accounts=ACCOUNTS)
        self._first.settle = 0
        self._hosts = {name: self._first.on_another_host(bench.new_folder()) for name in "ab"}
        for name, host in self._hosts.items():
            more = (f"host: {name}", f"takeover: {TAKEOVER}s", "hosts: {share: false}", f'journal: "{address}"')
            host.configure(4, more=more)
        self._pids = {name: self._start(name) for name in self._hosts}
        self._journal = ends.enter_context(closing(Postgres(address)))

    def _start(self, name: str) -> int:
        return self._ends.enter_context(self._hosts[name].daemon()).pid

    def waits(self, misfortune: AbstractContextManager[None]) -> list[float]:
        """The seconds from the end of a misfortune until a document of each account, dropped amid it, is accepted."""
        numbers = []
        with misfortune:
            for folder, sender in zip(self._first.outbound, self._first.participants, strict=True):
                numbers.append(next(self._numbers))
                (name,) = documents.drop(self._draft, numbers[-1:], sender=sender)
                (self._draft / name).rename(folder / name)
        begun = time.monotonic()
        until(lambda: self._server.posted().keys() >= set(numbers), every=0.2, what="all are accepted")
        posted = self._server.posted()
        return [posted[number] - begun for number in numbers]

    @contextmanager
    def kill(self) -> Iterator[None]:
        """The host that serves all is killed."""
        self._restart()
        host = self._serving().pop()
        time.sleep(TAKEOVER / 5)  # the other one has watched it
        os.kill(self._pids.pop(host), signal.SIGKILL)
        yield

    @contextmanager
    def outage(self) -> Iterator[None]:
        """The database is stopped."""
        self._restart()
        self._database.stop()
        time.sleep(AWAY / 2)
        yield
        time.sleep(AWAY / 2)
        self._database.start()

    def _restart(self) -> None:
        """Start what was killed, and wait until one host serves all and the other one is there."""
        for name in self._pids.keys() ^ self._hosts.keys():
            self._pids[name] = self._start(name)
        until(self._are_served, what="one host serves all, and the other one is there")

    def _serving(self) -> set[str]:
        seen, _ = hosts_of(self._journal)
        leases = (seen.leases.get(lease_of(name)) for name in self._first.accounts)
        return {lease.host if lease and lease.incarnation else "" for lease in leases}

    def _are_served(self) -> bool:
        return len(self._serving()) == 1 and self._serving() <= hosts_of(self._journal)[0].hosts.keys() == {*"ab"}


@case("takeover", only_named=True)
def takeover(bench: Bench) -> Iterator[Figure]:
    """The seconds until the next document of each account is sent: after a host is killed, and after an outage."""
    found = programs()
    if not found:
        raise Skipped("PostgreSQL is not there: install the extra `dev`")
    with ExitStack() as ends:
        database = ends.enter_context(closing(Server(found[min(found, key=int)])))
        server = ends.enter_context(NullServer.running())
        hosts = Hosts(bench, database, server, ends)

        with Load() as load:
            killed = [wait for _ in range(bench.amount(KILLS, tiny=1)) for wait in hosts.waits(hosts.kill())]
            back = [wait for _ in range(bench.amount(STOPS, tiny=1)) for wait in hosts.waits(hosts.outage())]
    for name, waits, most in (("killed", killed, TAKEOVER + 3), ("database back", back, 3)):
        for percent in (50, 95):
            must = Must(most=most) if percent == 95 else None
            yield Figure(f"{name}, p{percent}", "s", once(percentile(waits, percent), load), must)
        yield Figure(f"{name}, longest of {len(waits)}", "s", once(max(waits), load))
