"""Three hosts, and one misfortune after another, alone and in pairs: each document is sent, delivered and filed once.

    FILEDROP_NEMESIS=500 pytest tests/hosts/test_nemesis.py

for so many misfortunes. FILEDROP_SEED=N chooses them; a failure tells the seed.
"""

from __future__ import annotations

import os
import random
import secrets
import signal
import time
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from itertools import combinations
from typing import TYPE_CHECKING

import pytest
from support.postgres import Server, programs
from support.proxy import Proxy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from support.hosts import SharedTree

if not programs():
    pytest.skip("NO POSTGRESQL HERE: install the extra `dev`, on Linux", allow_module_level=True)

NUMBER = int(os.environ.get("FILEDROP_NEMESIS", "3"))
SEED = int(os.environ.get("FILEDROP_SEED") or secrets.randbelow(10**6))
TAKEOVER = 4.0  # seconds
DAYS = 3  # by which a clock is wrong, at most
PROGRAMS = next(iter(programs().values()))
SOCKET = ".s.PGSQL.5432"


class Nemesis:
    """What befalls the hosts: each misfortune is a context, in which it lasts."""

    def __init__(
        self, tree: SharedTree, proxies: dict[str, Proxy], ends: ExitStack, server: Server, chance: random.Random
    ) -> None:
        self.tree = tree
        self.proxies = proxies
        self.server = server
        self.chance = chance
        self.done: list[str] = []
        self._ends = ends

    def strike(self, *kinds: str) -> None:
        """Let misfortunes happen to a host each, and end."""
        hosts = self.chance.sample(sorted(self.tree.daemons), len(kinds))
        seconds = self.chance.uniform(0.1, 2.5) * TAKEOVER
        self.done.append(f"{kinds} {hosts} {seconds:.1f}")
        with ExitStack() as lasting:
            for kind, host in zip(kinds, hosts, strict=True):
                misfortune: Callable[[str], AbstractContextManager[None]] = getattr(self, kind)
                lasting.enter_context(misfortune(host))
            self.busy(seconds)

    def is_over(self) -> bool:
        """Whether all is served again; what has ended is started again, as a service manager does."""
        for host, daemon in list(self.tree.daemons.items()):
            if daemon.poll() is not None:
                self.tree.start(host)
        return self.tree.are_served()

    def busy(self, seconds: float) -> None:
        """Let documents come while time passes."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.tree.drop()
            time.sleep(self.chance.uniform(0.1, 0.6))

    @contextmanager
    def kill(self, host: str) -> Iterator[None]:
        self.tree.kill(host)
        yield
        self.tree.start(host)

    @contextmanager
    def hang(self, host: str) -> Iterator[None]:
        daemon = self.tree.daemons[host]
        daemon.send_signal(signal.SIGSTOP)
        yield
        daemon.send_signal(signal.SIGCONT)

    @contextmanager
    def stop(self, host: str) -> Iterator[None]:
        self.tree.stop(host)
        yield
        self.tree.start(host)

    @contextmanager
    def cut(self, host: str) -> Iterator[None]:
        self.proxies[host].cut()
        yield

    @contextmanager
    def silent(self, host: str) -> Iterator[None]:
        proxy = self.proxies[host]
        proxy.is_silent = True
        proxy.lose(requests=True, answers=True)
        yield
        proxy.is_silent = False
        proxy.cut()

    @contextmanager
    def one_way(self, host: str) -> Iterator[None]:
        proxy = self.proxies[host]
        proxy.lose(answers=True)
        yield
        proxy.cut()

    @contextmanager
    def clock(self, host: str) -> Iterator[None]:
        """It is set, and set right later."""
        self.tree.set_clock(host, self.chance.uniform(-DAYS, DAYS) * 86400)
        yield
        self.tree.set_clock(host, 0)

    @contextmanager
    def database(self, _host: str) -> Iterator[None]:
        self.server.stop()
        self.busy(self.chance.uniform(0, TAKEOVER))
        self.server.start()
        yield

    @contextmanager
    def promote(self, _host: str) -> Iterator[None]:
        """The server fails, and its standby takes over, without which nothing was committed."""
        standby = self._ends.enter_context(closing(Server(PROGRAMS, standby_of=self.server)))
        self.server.commit_on_standby()
        yield
        self.server.stop()
        standby.promote()
        self.server = standby
        for proxy in self.proxies.values():
            proxy.lead_to(standby.folder / SOCKET)


KINDS = ("kill", "hang", "stop", "cut", "silent", "one_way", "clock", "database", "promote")
ALONE = [(kind,) for kind in KINDS]
PAIRS = [pair for pair in combinations(KINDS, 2) if pair != ("database", "promote")]


@pytest.fixture
def nemesis(tmp_path: Path) -> Iterator[Nemesis]:
    from support.hosts import SharedTree  # noqa: PLC0415 - it needs an extra

    with ExitStack() as stack:
        server = stack.enter_context(closing(Server(PROGRAMS)))
        database = server.database()
        proxies = {name: stack.enter_context(closing(Proxy(server.folder / SOCKET))) for name in ("a", "b", "c", "own")}
        *addresses, own = (f"postgresql://filedrop@127.0.0.1:{proxy.port}/{database}" for proxy in proxies.values())
        tree = stack.enter_context(SharedTree(tmp_path, addresses, own=own, accounts=4, takeover=TAKEOVER, shares=True))
        yield Nemesis(tree, proxies, stack, server, random.Random(SEED))  # noqa: S311 - nobody is to be kept from guessing it


@pytest.mark.slow
@pytest.mark.timeout(900 + 60 * NUMBER)  # the last wait alone has 600: two looks, `doubt` apart, for what is in doubt
def test_each_document_once(nemesis: Nemesis, record_property: Callable[[str, object], None]) -> None:
    """Whatever befalls them, in the end each document was sent once, delivered once and filed once."""
    tree = nemesis.tree
    for host in "abc":
        tree.start(host)
    tree.until(lambda: tree.are_served() and len(tree.seen().hosts) == 3, what="all is served")
    for nth in range(NUMBER):
        nemesis.strike(*nemesis.chance.choice(PAIRS if nth % 2 else ALONE))
        tree.until(nemesis.is_over, what=f"all is served after {nemesis.done[-3:]}")
    record_property("nemesis", f"{len(tree.dropped)} documents, {len(nemesis.done)} misfortunes, seed {SEED}")
    tree.until(lambda: nemesis.is_over() and tree.is_settled(), 600, what="all is delivered and filed")
    assert not tree.wrong(), (SEED, nemesis.done)
    for host in list(tree.daemons):
        tree.stop(host)
