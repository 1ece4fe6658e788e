"""`filedrop status` and status.json."""

from __future__ import annotations

import json
import os
import sys
import threading
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
import structlog
from structlog.testing import LogCapture
from support.documents import SELLER, invoice, order

from filedrop import config
from filedrop.service import Service, sole_use
from filedrop.status import Survey, Told
from filedrop.statusfile import StatusFile, read, told_in

if TYPE_CHECKING:
    from cli.conftest import Filedrop
    from support.world import World

COUNTS = ("waiting", "sending", "doubt", "sent", "overdue", "failed", "received", "stuck")


def counts(status: dict[str, Any]) -> dict[str, int]:
    """Those of acme that aren't zero."""
    return {count: status["companies"]["acme"][count] for count in COUNTS if status["companies"]["acme"][count]}


def test_before_the_first_start(filedrop: Filedrop, world: World) -> None:
    """Before filedrop ever ran, status counts what lies in the folders, and says that nothing else is known."""
    world.drop("invoice.xml", invoice("1"))
    status = json.loads(filedrop("status", "--json").stdout)
    assert counts(status) == {"waiting": 1}
    assert status["running"] is False
    account = status["accounts"]["main"]
    assert (account["reachable"], account["login"], account["unread"]) == (None, "unknown", None)
    assert not world.state.exists()


def test_beside_a_daemon(filedrop: Filedrop, world: World) -> None:
    """Beside a running daemon, status knows the folders, the journal, and what only the daemon knows."""
    world.drop("nobody.xml", invoice("1", receiver=None))
    world.receive(order("2", receiver=SELLER))
    world.receive(b"no XML at all")
    with world.daemon():
        file = world.root / "status.json"
        world.until(
            lambda: file.exists() and counts(json.loads(file.read_text())) == {"failed": 1, "received": 1, "stuck": 1}
        )
        status = json.loads(filedrop("status", "--json").stdout)
        told = filedrop("status").stdout
    assert status["running"] is True
    assert counts(status) == {"failed": 1, "received": 1, "stuck": 1}
    account = status["accounts"]["main"]
    assert (account["reachable"], account["login"], account["unread"]) == (True, "ok", 1)
    assert account["last_poll"]
    assert "failed: nobody.xml: Nothing says who receives it" in told
    assert "stuck: message 2" in told


def test_a_wrong_password(filedrop: Filedrop, process: Filedrop, world: World) -> None:
    """With a wrong password status says that the login is refused, and that the document waits for that."""
    world.drop("invoice.xml", invoice("1"))
    world.password_file.write_text("wrong")
    process("run", "--once")
    status = json.loads(filedrop("status", "--json").stdout)
    account = status["accounts"]["main"]
    assert (account["reachable"], account["login"]) == (True, "refused")
    assert counts(status) == {"waiting": 1}
    assert "1 waiting: " in filedrop("status").stdout


def test_an_outage(filedrop: Filedrop, process: Filedrop, world: World) -> None:
    """While the access point is away, `run --once` is status 3 and says why, and so does status."""
    world.front.close()
    done = process("run", "--once")
    assert done.returncode == 3
    assert "main: cannot reach" in done.stdout
    assert "Traceback" not in done.stderr
    account = json.loads(filedrop("status", "--json").stdout)["accounts"]["main"]
    assert (account["reachable"], account["login"]) == (False, "unknown")
    assert "cannot reach" in account["why"]


def test_held(filedrop: Filedrop, world: World) -> None:
    """What is held is counted as waiting, and status says why."""
    (world.outbound / "HOLD").touch()
    world.drop("invoice.xml", invoice("1"))
    world.run_once()
    status = json.loads(filedrop("status", "--json").stdout)
    assert status["companies"]["acme"]["held"] is True
    assert counts(status) == {"waiting": 1}
    assert "HOLD" in filedrop("status").stdout


def test_ignored_files(world: World) -> None:
    """What has lain ignored in outbound/ for over an hour is named; not what just came, nor what is filedrop's own."""
    world.run_once()
    world.put(world.outbound / "invoice.pdf", b"%PDF")
    (world.outbound / "HOLD").touch()
    survey = Survey(config.parse(world.config_text()), None)
    now = datetime.now().astimezone()
    for later, named in ((timedelta(0), []), (timedelta(hours=2), ["invoice.pdf"])):
        status = survey.take(Told(), running=None, now=now + later)
        assert status["companies"]["acme"]["ignored"] == named


def test_a_table_that_is_broken(filedrop: Filedrop, world: World) -> None:
    """A table of the mapping that is spoilt while filedrop runs is named by status, and once in the log."""
    table = world.base / "customers.csv"
    table.write_text("customer,participant\n1,0192:987654325\n")
    config_file = world.base / "config.yaml"
    config_file.write_text(f"{world.config_text()}tables: {{customers: '{table}'}}\n")
    heard = LogCapture()
    log = structlog.wrap_logger(structlog.ReturnLogger(), processors=[heard])
    with sole_use(world.state) as journal:
        service = Service(config.load(config_file), journal, stopped=threading.Event(), log=log, watch=False)
        status_file = StatusFile(service.config, journal, log)
        service.start()
        table.write_text("customer,participant\n1\n")
        for _ in range(2):
            status_file.close(service)
        service.close()
    why = f"table customers: {table}: line 2 has 1 columns; write two, a key and a value"
    assert [event["why"] for event in heard.entries if event["event"] == "table.broken"] == [why]
    assert why in filedrop("status", config=config_file).stdout.splitlines()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such names")
def test_names_drive_no_terminal(filedrop: Filedrop, world: World) -> None:
    """A file's name can neither drive the terminal nor forge a line."""
    name = "\x1b[31mred\nacme: forged.xml"
    world.drop(name, invoice("1", receiver=None))
    world.run_once()
    told = filedrop("status").stdout
    assert "\x1b" not in told
    assert "failed: \\x1b[31mred\\nacme: forged.xml" in told


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a folder that hangs is made with a pipe")
def test_a_folder_that_hangs(process: Filedrop, world: World) -> None:
    """A folder that doesn't answer is reported as such, and nothing waits for it."""
    world.run_once()
    (world.outbound / ".filedrop").unlink()
    os.mkfifo(world.outbound / ".filedrop")
    (world.inbound / "received.xml").write_bytes(order())
    done = process("status", "--json")
    status = json.loads(done.stdout)
    outbound, inbound = status["companies"]["acme"]["folders"]
    assert (outbound["available"], inbound["available"]) == (False, True)
    assert "does not answer" in outbound["why"]
    assert counts(status) == {"received": 1}


def test_a_folder_that_is_not_mounted(filedrop: Filedrop, world: World) -> None:
    """A folder whose marker is gone is reported as unavailable, with what to do."""
    world.run_once()
    (world.outbound / ".filedrop").unlink()
    told = filedrop("status").stdout
    assert f"{world.outbound}: it has no .filedrop any more" in told
    assert "filedrop check --take-over" in told


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read every state")
def test_as_another_user(filedrop: Filedrop, process: Filedrop, world: World) -> None:
    """Who may not read the state sees what the daemon wrote to the share."""
    world.drop("invoice.xml", invoice("1", receiver=None))
    process("run", "--once")
    world.state.chmod(0o000)
    try:
        done = filedrop("status", "--json")
    finally:
        world.state.chmod(0o700)
    assert done.returncode == 0
    assert counts(json.loads(done.stdout)) == {"failed": 1}


def test_a_share_full_of_nonsense(filedrop: Filedrop, world: World) -> None:
    """A status.json that somebody else wrote costs status nothing but what it should have said."""
    world.run_once()
    for nonsense in (
        "[]",
        '{"filedrop": 1}',
        '{"filedrop": 1, "written": "x", "accounts": {"main": {"login": 1}}}',
        "\0",
    ):
        (world.root / "status.json").write_text(nonsense)
        assert told_in(read(world.root)).accounts == {}
    done = filedrop("status", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["accounts"]["main"]["login"] == "unknown"
