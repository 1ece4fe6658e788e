"""What is said of what waits, fails or is on its way is so, and what is advised works."""

from __future__ import annotations

import os
import re
import secrets
import socket
import sys
import threading
from datetime import datetime
from errno import EACCES
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.commands import ask
from support.documents import BUYER, SELLER, invoice, order
from support.faults import instead
from support.rights import as_anyone
from support.status import write_now
from support.stepping import RULES, Life
from support.systems import WINDOWS, modes

from filedrop.daemon.daemon import Daemon
from filedrop.files import FileStamp, InUse
from filedrop.outbound.reporting import waiting_files
from filedrop.outbound.upload import unreadable
from filedrop.process import systemd
from filedrop.process.lock import locked_state
from filedrop.status.status_file import StatusFile, read
from filedrop.status.survey import Survey, part_of, start_command
from filedrop.texts.languages import date

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.faults import Exchange
    from support.stepping import Clock
    from support.world import World

NOT_ALLOWED = "filedrop is not allowed to read the file"
IN_USE = "Another program has the file open, or filedrop is not allowed to read it"


def reported(world: World) -> dict[str, Any]:
    """What a daemon says after its work, in status.json, of acme."""
    with locked_state(world.state) as journal:
        daemon = Daemon(world.configuration(), journal, stopped=threading.Event(), log=world._log, watch=False)
        daemon.run_once(lambda _daemon: None)
        file = StatusFile(daemon.config, journal, world._log)
        write_now(file, daemon.report())
    status = read(world.root)
    assert status
    return dict(status["companies"]["acme"])


@pytest.mark.skipif(sys.platform == "win32", reason="systemd is Linux's")
def test_what_systemd_shows(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The line that `systemctl status` shows is that of `status --check`."""
    world.drop("nobody.xml", invoice("1", receiver=None))
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(address := f"\0filedrop-{secrets.token_hex(8)}")
        manager.settimeout(10)
        monkeypatch.setenv("NOTIFY_SOCKET", address.replace("\0", "@"))
        reported(world)
        assert manager.recv(4096).decode() == "STATUS=1 document needs attention. (acme: 1 failed)"


def test_a_duplicate_is_let_through_by_the_command_that_is_shown(world: World) -> None:
    """A failed duplicate is to be deleted: no command that sends it again is shown, but its note has one that works.

    The command for another document is as it was.
    """
    world.drop("first.xml", invoice("1"))
    world.settle()
    world.put(world.outbound / "dup.xml", invoice("1"))
    world.run_once()
    says = ask(world, "status").says
    assert "delete each duplicate" in says
    assert "--anyway" not in says
    world.put(world.outbound / "nobody.xml", invoice("2", receiver=None))
    reported(world)
    status = read(world.root)
    assert status
    (matter,) = status["matters"]
    assert {item["name"]: item["do"] for item in matter["items"]} == {
        "dup.xml": [],
        "nobody.xml": ["filedrop retry acme nobody.xml"],
    }
    assert matter["advice"].startswith("delete duplicates. For the others, ")
    assert "filedrop retry acme NAME" in matter["advice"]
    assert "--anyway" not in "".join(path.read_text("utf-8") for path in world.root.rglob("STATUS.html"))
    why = {item["name"]: item["why"] for item in matter["items"]}
    note = (world.outbound / "failed" / "dup.xml.why.txt").read_text("utf-8")
    assert why["dup.xml"] in note
    assert why["dup.xml"] in ask(world, "history", "dup.xml").output
    assert "filedrop retry --anyway acme dup.xml" in note
    assert ask(world, "retry", "--anyway", "acme", "dup.xml").status == 0


def test_what_was_being_posted_when_filedrop_was_killed(world: World) -> None:
    """It is on its way while a daemon runs; after a kill it is looked for."""
    asked, go_on = threading.Event(), threading.Event()

    def slow(_exchange: Exchange) -> None:
        asked.set()
        go_on.wait()

    world.front.next("POST /outbox", slow)
    world.drop("invoice.xml", invoice("1"))
    try:
        with world.daemon():
            world.until(asked.is_set)
            says = ask(world, "status").says
        killed = ask(world, "status").says
    finally:
        go_on.set()
    assert "acme: 1 sending: being sent to the access point now" in says
    assert "acme: 1 sending: filedrop looks for them at the access point when it runs again" in killed


@pytest.mark.slow
def test_messages_that_a_folder_has_no_room_for(make_world: Callable[..., World]) -> None:
    """Messages for companies here that are held by a folder: it is said by which, and why."""
    world = make_world(inbound={"min_free": "999999999MB"})
    world.receive(order("1", receiver=SELLER))
    of_one = "main: 1 unread message at the last poll is for your companies"
    with world.daemon():
        world.until(lambda: f"{of_one}: nothing is fetched into {world.inbound}: only " in ask(world, "status").says)
        page, of_company = world.root / "STATUS.html", world.root / "acme" / "STATUS.html"
        held = f"is for your companies: nothing is fetched into {world.inbound}: only "
        world.until(lambda: of_company.exists() and held in page.read_text(encoding="utf-8"))
        assert "nothing is fetched into" not in of_company.read_text(encoding="utf-8")
        world.receive(order("2", receiver=SELLER))
        world.until(
            lambda: "main: 2 unread messages at the last poll are for your companies" in ask(world, "status").says
        )
    assert "filedrop fetches them when it runs again" in ask(world, "status").says


def test_folders_that_filedrop_makes(world: World) -> None:
    """Folders that filedrop makes at its first start need no person."""
    says = ask(world, "status").says
    assert "filedrop isn't running." in says
    assert "attention" not in says
    assert "unavailable" not in says


@pytest.mark.skipif(WINDOWS, reason="there, the registry tells which services there are")
@pytest.mark.parametrize(
    ("units", "configuration", "command"),
    [
        ("", "config.yaml", "filedrop run"),
        ("filedrop.service", "config.yaml", "filedrop service start"),
        ("filedrop@.service", "north.yaml", "filedrop service start north"),
        ("filedrop.service filedrop@.service", "north.yaml", "filedrop service start north"),
        ("filedrop@.service", "../north.yaml", "filedrop --config {} run"),
        ("filedrop.service", "../north.yaml", "filedrop --config {} run"),
    ],
)
def test_how_it_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, units: str, configuration: str, command: str
) -> None:
    """By its service where one is installed, and else by hand; always by its own configuration."""
    monkeypatch.setattr(systemd, "BOOTED", tmp_path)
    monkeypatch.setattr(systemd, "FOLDERS", (tmp_path / "none", tmp_path))
    monkeypatch.setattr(systemd, "ETC", tmp_path / "etc")
    for unit in units.split():
        (tmp_path / unit).touch()
    path = (tmp_path / "etc" / configuration).resolve()
    path.parent.mkdir(exist_ok=True)
    monkeypatch.chdir(path.parent)
    for named in (path, Path(path.name)):
        assert start_command(named) == command.format(path)
    monkeypatch.setattr(systemd, "BOOTED", tmp_path / "none")
    by_hand = "filedrop run" if configuration == "config.yaml" else f"filedrop --config {path} run"
    assert start_command(path) == by_hand


@pytest.mark.skipif(WINDOWS, reason="there, the registry tells which services there are")
def test_how_the_only_one_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The only service may go by a configuration of another name, which its drop-in says."""
    monkeypatch.setattr(systemd, "BOOTED", tmp_path)
    monkeypatch.setattr(systemd, "FOLDERS", (tmp_path,))
    monkeypatch.setattr(systemd, "ETC", tmp_path / "etc")
    for unit in ("filedrop.service", "filedrop@.service"):
        (tmp_path / unit).touch()
    drop_in, north = tmp_path / "filedrop.service.d" / "50-filedrop.conf", tmp_path / "etc" / "north.yaml"
    drop_in.parent.mkdir()
    drop_in.write_text(f"[Service]\nEnvironment=FILEDROP_CONFIG={north}\n")
    assert start_command(north) == "filedrop service start"
    assert start_command(north.with_name("south.yaml")) == "filedrop service start south"


def test_each_has_its_own_reason(make_world: Callable[..., World]) -> None:
    """While the access point is away, a file that isn't whole, and one that isn't validated, have their own reasons."""
    world = make_world()
    world.front.close()
    world.drop("half.xml", invoice("1")[:500])
    world.drop("whole.xml", invoice("2"))
    acme = reported(world)
    assert acme["waiting"] == 2
    assert "cannot reach" in acme["reasons"]["waiting"]
    assert acme["reasons"]["waiting"].endswith("; the files below have reasons of their own")
    assert [document["file"] for document in acme["documents"]] == ["half.xml"]


def test_what_is_not_validated_says_so_while_the_access_point_is_away(
    make_world: Callable[..., World], tmp_path: Path
) -> None:
    """What waits for a verdict says so also while the access point is away, though that holds all."""
    program = tmp_path / "program.py"
    program.write_text("import sys\nsys.exit(7)")
    more = f"validation: {{command: [{sys.executable}, {program}], timeout: 60s}}"
    world = make_world(outbound={"validate": "refuse"}, more=more)
    world.drop("unjudged.xml", invoice("1"))
    with world.service():
        world.until(lambda: "unjudged.xml" in ask(world, "status").says)
    world.front.close()
    acme = reported(world)
    assert "cannot reach" in acme["reasons"]["waiting"]
    (document,) = acme["documents"]
    assert document["file"] == "unjudged.xml"
    assert "status 7" in document["why"]


def test_a_message_for_nobody_that_can_not_be_taken(make_world: Callable[..., World], clock: Clock) -> None:
    """It needs a person as one of a company's does: it is told with what to do, by its account."""
    world = make_world(outbound=RULES, inbound={"poll": "1m"}, clock=clock.true)
    world._unassigned = str(world.root / "unassigned")
    world.receive_for_nobody()
    world.front.always("GET /messages/1/", instead(404))
    life = Life(world, clock)
    life.go_on(130)
    now = clock.now()
    status = Survey(world.configuration(), life.journal).look(part_of(life.service.report()), running=True, now=now)
    (matter,) = status["matters"]
    assert (matter["kind"], matter["company"], matter["about"], matter["number"]) == ("stuck", "", "main", 1)
    assert matter["title"] == "1 stuck, for none of the companies"
    (item,) = matter["items"]
    assert (item["name"], item["do"]) == (f"message 1 from {BUYER}", ["filedrop read 1"])
    assert status["companies"]["acme"]["stuck"] == 0
    shown = world.filedrop("status").stdout
    assert f"main: stuck: message 1 from {BUYER}: the access point lists message 1, but has no document" in shown
    life.stop()


@modes
def test_a_file_that_nobody_may_read(world: World) -> None:
    """When it fails is said, as of a file that isn't finished."""
    world.drop("locked.xml", invoice("1"))
    (world.outbound / "locked.xml").chmod(0)
    begun = datetime.now().astimezone()
    with as_anyone():
        (document,) = reported(world)["documents"]
    said = re.fullmatch(r".*read the file.*; it fails on (.*), unless it can be read by then", document["why"])
    assert said
    patience = world.configuration().outbound.incomplete_after
    assert said[1] in {date(moment + patience) for moment in (begun, datetime.now().astimezone())}


def test_when_a_file_fails(make_world: Callable[..., World], clock: Clock) -> None:
    """One that can't be read, and has lain there for long, fails at the next look; one that is in use never does."""
    world = make_world(outbound=RULES, inbound={"poll": "5m"}, clock=clock.true)
    life = Life(world, clock)
    life.go_on(10)
    at, stamp = life.pipeline.desk, FileStamp(1, 1, 1)
    for name, error in (("locked.xml", PermissionError(EACCES, "no")), ("used.xml", InUse(EACCES, "somebody has it"))):
        fault = unreadable(world.outbound / name, error)
        at.scanner.remember(name, stamp, clock.steady(), look_again=30, unchanged=3600, fault=fault)
    now = clock.now()
    assert {file.path: file.why for file in waiting_files(at)} == {
        world.outbound / "locked.xml": f"{NOT_ALLOWED}; it fails on {date(now)}, unless it can be read by then",
        world.outbound / "used.xml": f"{IN_USE}; filedrop tries again until it can read the file",
    }
    life.stop()


def test_a_ready_file_that_is_too_old(make_world: Callable[..., World], clock: Clock) -> None:
    """Where the ready file lies there and is older than its document, it is said that it must not be."""
    world = make_world(outbound=RULES | {"ready_suffix": ".ready"}, inbound={"poll": "5m"}, clock=clock.true)
    life = Life(world, clock)
    life.go_on(10)
    ready = world.outbound / "a.xml.ready"
    ready.touch()
    os.utime(ready, (0, 0))
    life.take(world, "a.xml")
    said = {file.path: file.why for file in life.pipeline.report.waiting}
    assert said == {world.outbound / "a.xml": "it waits for a.xml.ready, which must not be older than this file"}
    life.stop()


@modes
def test_a_subfolder_that_nobody_may_write_in(world: World) -> None:
    """It is named, with what is to be done."""
    world.run_once()
    world.drop("invoice.xml", invoice("1"))
    sent = world.outbound / "sent"
    sent.chmod(0o555)
    with as_anyone():
        acme = reported(world)
    says = f"files can't be moved or written in {sent}: Permission denied ({sent} belongs to "
    warnings = [warning for folder in acme["folders"] for warning in folder["warnings"]]
    assert any(one.startswith(says) and one.endswith(f"; run: sudo chmod u+rwx {sent}") for one in warnings)
    assert f"{world.outbound}: {says}" in ask(world, "status").says
