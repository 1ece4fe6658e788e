"""Three hosts, and one misfortune after another: each document is sent once, delivered once and filed once.

    FILEDROP_NEMESIS=500 pytest tests/hosts/test_nemesis.py

for so many misfortunes. FILEDROP_SEED=N chooses them; a failure tells the seed.
"""

from __future__ import annotations

import os
import random
import secrets
import signal
import time
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING

import pytest
from support.postgres import programs
from support.proxy import Proxy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from support.hosts import SharedTree
    from support.postgres import Server, Servers

if not programs():
    pytest.skip("NO POSTGRESQL HERE: install the extra `dev`, on Linux", allow_module_level=True)

NUMBER = int(os.environ.get("FILEDROP_NEMESIS", "3"))
SEED = int(os.environ.get("FILEDROP_SEED") or secrets.randbelow(10**6))
TAKEOVER = 4.0  # seconds


class Nemesis:
    """What befalls the hosts."""

    def __init__(self, tree: SharedTree, proxies: dict[str, Proxy], server: Server, chance: random.Random) -> None:
        self.tree = tree
        self.proxies = proxies
        self.server = server
        self.chance = chance
        self.done: list[str] = []

    def strike(self, kind: str) -> None:
        """Let one misfortune happen, and end."""
        host = self.chance.choice(sorted(self.tree.daemons))
        seconds = self.chance.uniform(0.1, 2.5) * TAKEOVER
        self.done.append(f"{kind} {host} {seconds:.1f}")
        getattr(self, kind)(host, seconds)
        self.restart()

    def restart(self) -> None:
        """What a service manager does: start again what has ended."""
        for host, daemon in list(self.tree.daemons.items()):
            if daemon.poll() is not None:
                self.tree.start(host)

    def busy(self, seconds: float) -> None:
        """Let documents come while time passes."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.tree.drop()
            time.sleep(self.chance.uniform(0.1, 0.6))

    def kill(self, host: str, seconds: float) -> None:
        self.tree.kill(host)
        self.busy(seconds)
        self.tree.start(host)

    def hang(self, host: str, seconds: float) -> None:
        daemon = self.tree.daemons[host]
        daemon.send_signal(signal.SIGSTOP)
        self.busy(seconds)
        daemon.send_signal(signal.SIGCONT)

    def stop(self, host: str, seconds: float) -> None:
        self.tree.stop(host)
        self.busy(seconds)
        self.tree.start(host)

    def cut(self, host: str, seconds: float) -> None:
        self.proxies[host].cut()
        self.busy(seconds)

    def silent(self, host: str, seconds: float) -> None:
        proxy = self.proxies[host]
        proxy.is_silent = True
        proxy.lose(requests=True, answers=True)
        self.busy(seconds)
        proxy.is_silent = False
        proxy.cut()

    def one_way(self, host: str, seconds: float) -> None:
        proxy = self.proxies[host]
        proxy.lose(answers=True)
        self.busy(seconds)
        proxy.cut()

    def database(self, _host: str, seconds: float) -> None:
        self.server.stop()
        self.busy(seconds / 2)
        self.server.start()


KINDS = ("kill", "hang", "stop", "cut", "silent", "one_way", "database")


@pytest.fixture
def nemesis(servers: Servers, tmp_path: Path) -> Iterator[Nemesis]:
    from support.hosts import SharedTree  # noqa: PLC0415 - it needs an extra

    server = servers[next(iter(programs()))]
    database = server.database()
    with ExitStack() as stack:
        proxies = {host: stack.enter_context(closing(Proxy(server.folder / ".s.PGSQL.5432"))) for host in "abc"}
        addresses = [f"postgresql://filedrop@127.0.0.1:{proxy.port}/{database}" for proxy in proxies.values()]
        own = server.address(database)
        tree = stack.enter_context(SharedTree(tmp_path, addresses, own=own, accounts=4, takeover=TAKEOVER, shares=True))
        yield Nemesis(tree, proxies, server, random.Random(SEED))  # noqa: S311 - nobody is to be kept from guessing it


@pytest.mark.slow
@pytest.mark.timeout(900 + 60 * NUMBER)  # the last wait alone has 600: two looks, `doubt` apart, for what is in doubt
def test_each_document_once(nemesis: Nemesis, record_property: Callable[[str, object], None]) -> None:
    """Whatever befalls them, in the end each document was sent once, delivered once and filed once."""
    tree = nemesis.tree
    for host in nemesis.proxies:
        tree.start(host)
    tree.until(lambda: tree.are_served() and len(tree.seen().hosts) == 3, what="all is served")
    order = [*KINDS] * (NUMBER // len(KINDS) + 1)
    nemesis.chance.shuffle(order)
    for kind in order[:NUMBER]:
        nemesis.strike(kind)
        tree.until(tree.are_served, what=f"all is served after {nemesis.done[-3:]}")
    record_property("nemesis", f"{len(tree.dropped)} documents, {len(nemesis.done)} misfortunes, seed {SEED}")
    tree.until(tree.is_settled, 600, what="all is delivered and filed")
    assert not tree.wrong(), (SEED, nemesis.done)
    for host in list(tree.daemons):
        tree.stop(host)
