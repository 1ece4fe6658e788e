"""A changed configuration is taken up by the running daemon: `filedrop reload`, SIGHUP (contract 7)."""

from __future__ import annotations

import json
import signal
import sys
from typing import TYPE_CHECKING, Any

import pytest
from support.documents import BUYER, SELLER, invoice
from support.faults import Slow
from support.matrix import quick
from support.systems import hang_up
from support.world import events

from filedrop.cli.serving import serve
from filedrop.process.control import Control
from filedrop.status import status_file

if TYPE_CHECKING:
    import subprocess
    from collections.abc import MutableMapping

    from cli.conftest import Filedrop
    from support.faults import Exchange
    from support.world import World

    from filedrop.config import Config

pytestmark = hang_up


def is_up(world: World) -> bool:
    """Has the daemon written its status?"""
    told = status_file.read(world.root)
    return bool(told and told["running"])


def refused(world: World) -> str:
    """Why, by status.json, the configuration isn't in use."""
    told = status_file.read(world.root)
    return told["troubles"].get("configuration", "") if told else ""


def begin_change(world: World, daemon: subprocess.Popen[bytes], slow: Slow) -> None:
    """Have a changed configuration taken up while a request is on the wire."""
    world.until(slow.came.is_set)
    world._keys["outbound"]["workers"] = "2"
    world.config_file()
    daemon.send_signal(signal.SIGHUP)
    world.until(lambda: events(world, "configuration.changed"))


def test_a_new_company_and_a_changed_mapping(filedrop: Filedrop, world: World) -> None:
    """What the new configuration says holds for what is dropped from then on; the process is the same."""
    with world.daemon() as daemon:
        world.until(lambda: is_up(world))
        folder = world.root / "newcomer" / "outbound"
        folder.mkdir(parents=True)
        world._companies["newcomer"] = "{participants: []}"
        world.more = f"mapping: [{{file: 'ours.*', receiver: '{BUYER}'}}]"
        world.config_file()
        done = filedrop("reload")
        assert (done.returncode, done.stderr) == (0, "")
        assert "uses the configuration as it is now" in done.stdout
        world.drop("ours.xml", invoice("1", receiver=None))
        world.until(world.settled)
        assert (folder / ".filedrop").exists()
        world.stop(daemon)
    assert world.sidecar("ours.xml")["sources"]["receiver"] == "mapping 1"
    world.invariants()


@pytest.mark.slow
def test_a_changed_pattern_for_names(filedrop: Filedrop, world: World) -> None:
    """What is received from then on is named by the new pattern; what lies there keeps its name."""
    first = world.receive(invoice("1"))
    with world.daemon() as daemon:
        world.until(world.settled)
        (before,) = world.delivered()
        world._keys["inbound"]["name"] = '"{sender}/{msg_no}"'
        world.config_file()
        assert filedrop("reload").returncode == 0
        second = world.receive(invoice("2"))
        world.until(world.settled)
        world.stop(daemon)
    names = {path.relative_to(world.inbound).as_posix() for path in world.delivered()}
    assert names == {before.name, f"0192_810418052/{second}.xml"}
    assert first != second
    world.invariants()


def test_a_changed_login(filedrop: Filedrop, world: World) -> None:
    """A refused login that the new configuration mends is tried at once, not when the next probe is due."""
    right = world.password_file
    world.password_file = world.base / "wrong"
    world.password_file.write_text("no longer valid")
    world.password_file.chmod(0o600)
    world.config_file()
    world.drop("invoice.xml", invoice("1"))
    with world.daemon() as daemon:
        world.until(lambda: events(world, "account.paused"))
        world.password_file = right
        world.config_file()
        assert filedrop("reload").returncode == 0
        world.until(world.settled)
        world.stop(daemon)
    world.invariants()


def test_a_mistake(filedrop: Filedrop, world: World) -> None:
    """A configuration with a mistake leaves the old one at work; status, log and command say what and where.

    And status shows beside the mistake what the daemon wrote, which works by the configuration before.
    """
    with world.daemon() as daemon:
        world.until(lambda: (told := status_file.read(world.root)) and told["running"] and not told["matters"])
        world.more = "outbond: {}"
        world.config_file()
        status = filedrop("status")
        assert status.returncode == 2
        assert "outbond: unknown key" in status.stderr
        assert "and uses that one. It reported at " in status.stdout
        assert "filedrop is running. Everything is working." in status.stdout
        daemon.send_signal(signal.SIGHUP)  # what `kill -HUP` does, which looks at nothing before
        world.until(lambda: "outbond: unknown key" in refused(world))
        why = events(world, "configuration.refused")[0]["why"]
        assert "outbond: unknown key" in why
        assert why.endswith("; correct it, and run: filedrop reload")
        assert "and uses the configuration before that. It reported at " in filedrop("status").stdout
        (world.base / "config.yaml").write_text(f"{world.config_text()}mapping: [\n  - x: }}\n")
        assert "filedrop is running." in filedrop("status").stdout
        world.drop("invoice.xml", invoice("1"))
        world.until(world.settled)
        world.more = ""
        world.config_file()
        done = filedrop("reload", "--json")
        assert (done.returncode, json.loads(done.stdout)["is_used"]) == (0, True)
        world.until(lambda: refused(world) == "")
        assert events(world, "configuration.unchanged")
        world.stop(daemon)
    world.invariants()


@pytest.mark.parametrize("mistake", quick(["outbond: {}", "mapping: [\n  - x: }"]), ids=["a wrong key", "no YAML"])
def test_a_mistake_by_the_command(filedrop: Filedrop, world: World, mistake: str) -> None:
    """`filedrop reload` names the mistake, and afterwards status.json, so page and alerts, has it, too."""
    with world.daemon() as daemon:
        world.until(lambda: is_up(world))
        world.more = mistake
        world.config_file()
        told = filedrop("reload")
        assert told.returncode == 2
        assert "config.yaml:" in told.stderr
        assert "filedrop still uses the old configuration" in told.stderr
        told = filedrop("reload", "--json")
        result = json.loads(told.stdout)
        assert (told.returncode, result["is_used"], told.stderr) == (2, False, "")
        assert result["mistakes"][-1] == "filedrop still uses the old configuration"
        world.until(lambda: "config.yaml:" in refused(world))
        world.stop(daemon)
    told = filedrop("reload")
    assert told.returncode == 2
    assert "config.yaml:" in told.stderr
    assert "keeps working" not in told.stderr, "none is running"


def test_what_needs_a_restart(filedrop: Filedrop, world: World) -> None:
    """Another state can't be taken up while filedrop runs: the old configuration goes on, and that is said."""
    with world.daemon() as daemon:
        world.until(lambda: is_up(world))
        before, world.state = world.state, world.base / "another"
        world.config_file()
        daemon.send_signal(signal.SIGHUP)
        world.until(lambda: f"{world.state} is another folder; stop filedrop" in refused(world))
        told = filedrop("reload")
        assert told.returncode == 1
        assert f"no filedrop is running with the state {world.state}" in told.stderr
        world.drop("invoice.xml", invoice("1"))
        world.until(world.settled)
        assert not world.state.exists()
        world.state = before
        world.stop(daemon)
    world.invariants()


def test_what_is_on_the_wire(world: World) -> None:
    """A request goes on to its answer while the configuration is taken up, and its document is never in doubt."""
    slow = Slow()
    world.front.next("POST /outbox", slow)
    world.drop("on the wire.xml", invoice("1"))
    with world.daemon() as daemon:
        begin_change(world, daemon, slow)
        world.drop("dropped meanwhile.xml", invoice("2"))
        slow.release.set()
        world.until(world.settled)
        world.stop(daemon)
    assert len(events(world, "service.started")) == 2
    assert "doubted" not in {event["event"] for event in world.sidecar("on the wire.xml")["history"]}
    world.invariants()


@pytest.mark.slow
def test_a_slow_download(world: World) -> None:
    """A download that goes on for long isn't waited for: the daemon by the changed configuration begins it anew."""
    slow = Slow()

    def on_and_on(exchange: Exchange) -> None:
        exchange.say(b"HTTP/1.1 200 OK\r\n\r\n<Invoice>" + b" " * 200_000)
        slow.came.set()
        while not slow.release.wait(0.05):
            exchange.say(b" " * 65536)
        exchange.cut()

    number = world.receive(invoice("1", BUYER, SELLER))
    world.front.next(f"GET /messages/{number}/", on_and_on)
    with world.daemon() as daemon:
        begin_change(world, daemon, slow)
        world.until(lambda: not world.sandbox.store.inbox("acme"))
        slow.release.set()
        world.stop(daemon)
    assert [path.read_bytes() for path in world.delivered()] == list(world.received.values())
    assert not events(world, "message.stuck")
    world.invariants()


@pytest.mark.slow
def test_stopped_meanwhile(world: World) -> None:
    """A stop while the last answer is awaited is a stop like any other."""
    slow = Slow()
    world.front.next("POST /outbox", slow)
    world.drop("invoice.xml", invoice("1"))
    with world.daemon() as daemon:
        begin_change(world, daemon, slow)
        daemon.send_signal(signal.SIGTERM)
        slow.release.set()
        assert daemon.wait() == 0
    world.settle()
    world.invariants()


@pytest.mark.slow
def test_under_load(filedrop: Filedrop, world: World) -> None:
    """Taken up ten times while documents and messages come and go: none is lost, none goes twice."""
    with world.daemon() as daemon:
        for nth in range(10):
            for number in range(8):
                world.drop(f"{nth}-{number}.xml", invoice(f"{nth}{number}"))
                world.receive(invoice(f"R{nth}{number}", BUYER, SELLER))
            world.until(lambda: is_up(world))
            world._keys["outbound"]["workers"] = str(1 + nth % 2)
            world.config_file()
            assert filedrop("reload").returncode == 0
        world.until(world.settled)
        world.stop(daemon)
    assert len(events(world, "service.started")) > 5
    world.invariants()


@pytest.mark.usefixtures("world")
def test_nobody_there(filedrop: Filedrop) -> None:
    """Where no filedrop runs, that is said."""
    told = filedrop("reload")
    assert told.returncode == 1
    assert "it reads the configuration when it starts" in told.stderr


def test_an_error_that_nobody_foresaw(world: World) -> None:
    """A configuration that can't be read in a way that nobody foresaw ends no daemon: it goes on by the one before."""
    control, told = Control(), list[str]()

    def hear(event: MutableMapping[str, Any]) -> None:
        if event["event"] == "configuration.refused":
            told.append(event["why"])
            control.stopped.set()

    def reread() -> Config:
        raise IndexError

    serve(world.configuration(), control, reread=reread, hear=hear, is_up=control.ask_reload)
    (why,) = told
    assert why.startswith(
        "the old configuration stays in use, because the changed one can't be used: an unexpected error"
    )


@pytest.mark.slow
def test_a_command_that_runs(filedrop: Filedrop, world: World) -> None:
    """A reload leaves a running command alone, however long that takes: it comes to its end, and is run once."""
    program, began, may_end, ended = (world.base / name for name in ("program.py", "began", "may end", "ended"))
    program.write_text(
        "import pathlib, time\n"
        f"open({str(began)!r}, 'a').write('once\\n')\n"
        f"while not pathlib.Path({str(may_end)!r}).exists():\n"
        "    time.sleep(0.05)\n"
        f"open({str(ended)!r}, 'a').write('once\\n')\n"
    )
    world.more = f"commands: {{after_received: [{sys.executable}, {program}]}}"
    world.receive(invoice("1"))
    with world.daemon() as daemon:
        world.until(began.exists)
        for workers in ("2", "3"):
            world._keys["outbound"]["workers"] = workers
            world.config_file()
            assert filedrop("reload").returncode == 0
        may_end.touch()
        world.until(ended.exists)
        world.receive(invoice("2"))
        world.until(lambda: len(ended.read_text().splitlines()) == 2, what="the next one's command was run")
        world.stop(daemon)
    assert began.read_text().splitlines() == ["once", "once"]
