"""Who may replace a host, and when: each rule by itself, on a real database."""

from __future__ import annotations

import json
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import datetime
from typing import TYPE_CHECKING

import pytest
import structlog
from support.commands import run_here
from support.drops import drop
from support.postgres import programs
from support.proxy import Proxy

from filedrop.config import load
from filedrop.daemon.hosting import Hosting, Looking, SignsOfLife
from filedrop.errors import JournalError
from filedrop.journal import Journal, sharing
from filedrop.model.hosts import CHORES, Host, lease_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
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


def hosts_among(engine: Postgres, name: str, state: str = "", takeover: float = 15.0, boot: str = "boot") -> Hosts:
    from filedrop.journal import postgres_hosts  # noqa: PLC0415 - an extra

    return postgres_hosts.hosts_among(engine, name, takeover=takeover, state=state or name, boot=boot)


@pytest.fixture
def two(database: str) -> Iterator[tuple[Postgres, Hosts, Hosts]]:
    """The journal of host a, and the hosts as a and b see them."""
    first, second = opened(database), opened(database)
    with closing(first), closing(second):
        a, b = (hosts_among(engine, name) for engine, name in ((first, "a"), (second, "b")))
        with closing(a), closing(b):
            assert a.enter(is_draining=False)
            assert b.enter(is_draining=False)
            yield first, a, b


def test_one_that_lives_is_not_replaced(two: tuple[Postgres, Hosts, Hosts]) -> None:
    """A sign of life since it was watched keeps a host in its place, however long nothing was seen of it."""
    engine, a, b = two
    assert a.lease(CHORES)
    watched = b.beat().hosts["a"]
    a.beat()
    assert not b.replace(watched)
    assert b.beat().leases[CHORES].host == "a"
    Journal(engine).documents.record(drop(1))


def test_what_it_served_is_free(two: tuple[Postgres, Hosts, Hosts]) -> None:
    """One that is replaced serves nothing, writes nothing, takes nothing, and learns it with its next sign of life."""
    engine, a, b = two
    assert a.lease(CHORES)
    assert not b.lease(CHORES)
    assert b.replace(b.beat().hosts["a"])
    assert b.lease(CHORES)
    with pytest.raises(JournalError, match="another host has replaced this one"):
        Journal(engine).documents.record(drop(1))
    with pytest.raises(JournalError):
        a.lease("account/main")
    assert a.beat().beat is None


def test_hosts_with_other_settings(two: tuple[Postgres, Hosts, Hosts]) -> None:
    """A host takes nothing while another one serves by other settings, also if both begin when nothing is served."""
    _, a, b = two
    a.say('{"root": "/here"}')
    b.say('{"root": "/there"}')
    assert a.beat().leases == b.beat().leases == {}
    assert a.lease("account/north")
    assert not b.lease("account/south")
    b.say('{"root": "/here"}', takes='["account/north"]')
    b.beat()
    assert b.lease("account/south")
    a.give_back("account/north")
    a.say('{"root": "/there"}')
    assert not a.lease("account/north")


def test_hosts_that_take_together(two: tuple[Postgres, Hosts, Hosts]) -> None:
    """Of two hosts with different settings that take at the same time, only one takes anything."""
    _, a, b = two
    a.say('{"root": "/here"}')
    b.say('{"root": "/there"}')
    assert a.beat().leases == b.beat().leases == {}
    for nth in range(10):
        leases = {host: f"{host.me.name}{nth}" for host in (a, b)}
        with ThreadPoolExecutor() as pool:
            taken = list(pool.map(lambda host, lease: host.lease(lease), leases, leases.values()))
        assert sorted(taken) == [False, True]
        for host, lease in leases.items():
            host.give_back(lease)


def test_database_that_does_not_answer(postgres: Server) -> None:
    """A look that gets no answer ends with a sentence that says what to do."""
    with closing(Proxy(postgres.folder / ".s.PGSQL.5432")) as proxy:
        address = f"postgresql://filedrop@127.0.0.1:{proxy.port}/{postgres.emptied()}"
        with closing(opened(address)) as engine, closing(hosts_among(engine, "a", takeover=1.0)) as hosts:
            hosts.look()
            proxy.lose(answers=True)
            with pytest.raises(JournalError, match=r"can't be used: wait timeout expired; .* see that the server runs"):
                hosts.look()


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
    with closing(another), closing(hosts_among(another, "a", state="another")) as third:
        assert not third.enter(is_draining=False)


class StopsAtOnce(threading.Event):
    """A stop that comes as soon as somebody waits."""

    def wait(self, timeout: float | None = None) -> bool:
        self.set()
        return super().wait(timeout)


@pytest.mark.parametrize(("boot", "replaces"), [("", False), ("boot", True)])
def test_a_namesake_whose_start_is_unknown(database: str, tmp_path: Path, boot: str, *, replaces: bool) -> None:
    """If nobody knows when the machine started, its namesake may be the original of a copy, and is waited for."""
    config = load(configured(tmp_path, database))
    with closing(opened(database)) as first, closing(opened(database)) as second:
        assert hosts_among(first, "a", boot=boot).enter(is_draining=False)
        copy = Hosting(hosts_among(second, "a", boot=boot), config, structlog.get_logger())
        assert copy.enter(StopsAtOnce()) == replaces
        copy.close(is_clean=True)


def configured(folder: Path, database: str, accounts: tuple[str, ...] = ("main",)) -> Path:
    """The file of a configuration with these accounts, each of a company."""
    path = folder / "config.yaml"
    lines = [f"state: {folder}/state", f"root: {folder}/root", f"journal: {database}", "accounts:"]
    lines += [
        f"  {name}: {{base_url: https://ap.example.com, username: {name}, password_env: PW}}" for name in accounts
    ]
    lines += ["companies:", *(f"  {name}: {{participants: [], account: {name}}}" for name in accounts), ""]
    path.write_text("\n".join(lines))
    return path


def test_one_run_takes_nothing_later(database: str, tmp_path: Path) -> None:
    """`run --once` serves what was free at its beginning. No host gives it an account, and it takes none later."""
    config, lease, stopped = (
        load(configured(tmp_path, database, ("main", "other"))),
        lease_of("other"),
        threading.Event(),
    )
    with closing(opened(database)) as first, closing(opened(database)) as second:
        daemon, once = (
            Hosting(hosts_among(engine, name, takeover=1.0), config, structlog.get_logger())
            for engine, name in ((first, "daemon"), (second, "once"))
        )
        assert daemon.enter(stopped)
        try:
            until(lambda: len(daemon.mine) == 3, what="the daemon serves all")
            with once.for_one_run(stopped):
                pass_beats(first, "daemon", "once")
                assert not daemon.spare
                assert sharing.drain(first, "daemon", lease)
                pass_beats(first, "daemon")
                daemon.give_back(lease)
                until(lambda: not sharing.hosts_of(first)[0].is_taken(lease), what="an account is free")
                pass_beats(first, "once")
                assert not sharing.hosts_of(first)[0].is_taken(lease)
        finally:
            daemon.close(is_clean=True)


def test_a_row_that_no_host_can_read(database: str, tmp_path: Path) -> None:
    """An error that nobody foresaw costs a host one look at the others, and no sign of life."""
    config = load(configured(tmp_path, database))
    with closing(opened(database)) as first, closing(opened(database)) as second:
        daemon = Hosting(hosts_among(first, "daemon", takeover=1.0), config, structlog.get_logger())
        assert hosts_among(second, "other", takeover=600.0).enter(is_draining=False)
        assert daemon.enter(threading.Event())
        try:
            second.write(lambda connection: connection.execute("UPDATE hosts SET settings = '?' WHERE name = 'other'"))
            pass_beats(second, "daemon")
        finally:
            daemon.close(is_clean=True)


def pass_beats(engine: Postgres, *names: str) -> None:
    """Wait until these hosts have looked again, from the beginning of a turn to its end."""
    before = sharing.hosts_of(engine)[0].hosts
    until(
        lambda: all(sharing.hosts_of(engine)[0].hosts[name].beat > before[name].beat + 2 for name in names),
        what="signs",
    )


def until(condition: Callable[[], bool], *, what: str) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.02)


def test_shown_to_the_second(two: tuple[Postgres, Hosts, Hosts], database: str, tmp_path: Path) -> None:
    """`filedrop hosts` shows the last sign of life of each host with its seconds: a takeover takes a few of them."""
    config = configured(tmp_path, database)
    _, a, _ = two
    shown = run_here("--config", str(config), "hosts").stdout.splitlines()
    for host in a.beat().hosts.values():
        (line,) = [line for line in shown if line.startswith(f"{host.name} ")]
        seconds = re.findall(r" (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[+-]\d\d:\d\d) ", line)
        assert [abs(datetime.fromisoformat(moment).timestamp() - host.at) < 60 for moment in seconds] == [True]


def test_hosts_that_are_gone(two: tuple[Postgres, Hosts, Hosts], database: str, tmp_path: Path) -> None:
    """One that was replaced is silent until it is back or forgotten; one that has left itself is stopped."""
    config = configured(tmp_path, database)

    def shown() -> dict[str, str]:
        lines = run_here("--config", str(config), "hosts").stdout.splitlines()
        return {line.split()[0]: line.split()[1] for line in lines if line.strip()}

    def forget(name: str) -> int:
        return run_here("--config", str(config), "hosts", "forget", name).returncode

    _, a, b = two
    assert a.lease(CHORES)
    assert a.lease(lease_of("main"))
    assert run_here("--config", str(config), "hosts").returncode == 0
    b.leave()
    assert shown()["b"] == "stopped"
    assert run_here("--config", str(config), "hosts").returncode == 0
    assert b.enter(is_draining=False)
    assert b.beat().gone == ()
    assert a.replace(a.beat().hosts["b"])
    ((name, _, is_stopped),) = a.beat().gone
    assert (name, is_stopped) == ("b", False)
    assert shown()["b"] == "silent"
    assert run_here("--config", str(config), "hosts").returncode == 1
    assert (forget("a"), forget("c"), forget("b")) == (2, 2, 0)
    assert "b" not in shown()
    assert a.beat().gone == ()
    assert run_here("--config", str(config), "hosts").returncode == 0


def host(beat: int, takeover: float = 15.0) -> Host:
    return Host("a", "its process", beat, takeover, "state", "boot", "1", "{}", is_draining=False, at=0.0)


def test_a_count_is_watched_by_ones_own_clock() -> None:
    """Since it was first seen as it is now, and anew after a time in which nothing could be seen."""
    now = [1000.0]
    watch = SignsOfLife(steady=lambda: now[0])
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


CHECKED = """
accounts: {{main: {{base_url: "http://127.0.0.1:9", username: acme, password: secret}}}}
companies: {{acme: {{participants: ["0192:987654325"]}}}}
host: a
root: {base}/root
state: {base}/state
journal: {database}
"""


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(0.0, "host b doesn't see a file"), pytest.param(5.0, "host b sees a file", marks=pytest.mark.slow)],
)
def test_check_of_the_share_by_another_host(
    two: tuple[Postgres, Hosts, Hosts], database: str, tmp_path: Path, seconds: float, expected: str
) -> None:
    """`check` makes a file, and reports whether each other host sees it in time. It leaves no file behind."""
    root, config = tmp_path / "root", tmp_path / "config.yaml"
    for folder in (root, tmp_path / "state"):
        folder.mkdir()
    config.write_text(CHECKED.format(base=tmp_path, database=database))
    b, has_ended = two[2], threading.Event()

    def live() -> None:
        looking = Looking("b", seconds)
        while not has_ended.wait(0.02):
            b.beat()
            for look in b.looks():
                looking.begin(look, {root})
            for sight in looking.ended():
                b.answer(sight)

    host = threading.Thread(target=live)
    host.start()
    try:
        lines = run_here("--config", str(config), "check", "--json").stdout.splitlines()
    finally:
        has_ended.set()
        host.join()
    (found,) = (found for line in lines if "host b" in (found := json.loads(line))["says"])
    assert expected in found["says"]
    assert (found["about"], found["result"]) == (str(root), "failed" if seconds == 0 else "ok")
    assert not list(root.iterdir())
