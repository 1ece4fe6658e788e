"""Who may replace a host, and when: each rule by itself, on a real database."""

from __future__ import annotations

import re
from contextlib import closing
from datetime import datetime
from typing import TYPE_CHECKING

import pytest
from support.commands import run_here
from support.drops import drop
from support.postgres import programs

from filedrop.daemon.hosting import Watch
from filedrop.errors import JournalError
from filedrop.journal import Journal
from filedrop.model.hosts import CHORES, Host

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.postgres import Server

    from filedrop.journal.engine import Connection
    from filedrop.journal.postgres import Postgres
    from filedrop.journal.postgres_hosts import Hosts

if not programs():
    pytest.skip("NO POSTGRESQL HERE: install the extra `dev`, on Linux", allow_module_level=True)


@pytest.fixture
def database(postgres: Server) -> str:
    return postgres.address(postgres.emptied())


def opened(database: str) -> Postgres:
    from filedrop.journal.postgres import Postgres  # noqa: PLC0415 - an extra

    return Postgres(database, is_daemons=True, patience=5.0)


@pytest.fixture
def two(database: str) -> Iterator[tuple[Postgres, Hosts, Hosts]]:
    """The journal of host a, and the hosts as a and b see them."""
    first, second = opened(database), opened(database)
    with closing(first), closing(second):
        a, b = (
            engine.hosts(name, takeover=15.0, state=name, boot="") for engine, name in ((first, "a"), (second, "b"))
        )
        with closing(a), closing(b):
            assert a.enter(is_draining=False)
            assert b.enter(is_draining=False)
            yield first, a, b


def test_one_that_lives_is_not_replaced(two: tuple[Postgres, Hosts, Hosts]) -> None:
    """A sign of life since it was watched keeps a host in its place, however long nothing was seen of it."""
    engine, a, b = two
    assert a.take(CHORES)
    watched = b.beat().hosts["a"]
    a.beat()
    assert not b.replace(watched)
    assert b.beat().leases[CHORES].host == "a"
    Journal(engine).documents.record(drop(1))


def test_what_it_served_is_free(two: tuple[Postgres, Hosts, Hosts]) -> None:
    """One that is replaced serves nothing, writes nothing, takes nothing, and learns it with its next sign of life."""
    engine, a, b = two
    assert a.take(CHORES)
    assert not b.take(CHORES)
    assert b.replace(b.beat().hosts["a"])
    assert b.take(CHORES)
    with pytest.raises(JournalError, match="another host has replaced this one"):
        Journal(engine).documents.record(drop(1))
    with pytest.raises(JournalError):
        a.take("account/main")
    assert a.beat().beat is None


def test_one_that_is_amid_a_transaction(two: tuple[Postgres, Hosts, Hosts]) -> None:
    """Its session is ended first: nothing waits for it, and nothing of it is written."""
    engine, _, b = two
    seen = b.beat()

    def work(connection: Connection) -> None:
        connection.execute("INSERT INTO restored VALUES ('1')")
        assert b.replace(seen.hosts["a"])

    with pytest.raises(JournalError):
        engine.write(work)
    assert not engine.read("SELECT 1 FROM restored")


@pytest.mark.usefixtures("two")
def test_a_name_is_one_hosts(database: str) -> None:
    """Another process with the name of a host that is there doesn't become one."""
    another = opened(database)
    with closing(another), closing(another.hosts("a", takeover=15.0, state="another", boot="")) as third:
        assert not third.enter(is_draining=False)


def test_shown_to_the_second(two: tuple[Postgres, Hosts, Hosts], database: str, tmp_path: Path) -> None:
    """`filedrop hosts` shows the last sign of life of each host with its seconds: a takeover takes a few of them."""
    config = tmp_path / "config.yaml"
    accounts = "{main: {base_url: https://ap.example.com, username: acme, password_env: SECRET}}"
    config.write_text(
        f"state: {tmp_path}\njournal: {database}\naccounts: {accounts}\ncompanies: {{acme: {{participants: []}}}}\n"
    )
    _, a, _ = two
    shown = run_here("--config", str(config), "hosts").stdout.splitlines()
    for host in a.beat().hosts.values():
        (line,) = [line for line in shown if line.startswith(f"{host.name} ")]
        seconds = re.findall(r" (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[+-]\d\d:\d\d) ", line)
        assert [abs(datetime.fromisoformat(moment).timestamp() - host.at) < 60 for moment in seconds] == [True]


def host(beat: int, takeover: float = 15.0) -> Host:
    return Host("a", "its process", beat, takeover, "state", "boot", "1", "{}", is_draining=False, at=0.0)


def test_a_count_is_watched_by_ones_own_clock() -> None:
    """Since it was first seen as it is now, and anew after a time in which nothing could be seen."""
    now = [1000.0]
    watch = Watch(steady=lambda: now[0])
    watch.see({"a": host(1)})
    now[0] += 10
    watch.see({"a": host(1)})
    assert watch.stood_still(host(1)) == 10
    assert watch.stood_still(host(2)) == 0
    watch.see({"a": host(2)})
    now[0] += 5
    assert watch.stood_still(host(2)) == 5
    watch.forget()
    assert watch.stood_still(host(2)) == 0
