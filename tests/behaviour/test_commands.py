"""The administrator's programs are run after something has happened to a document, at least once, in nobody's way."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import sys
import threading
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from support.documents import BUYER, SELLER, invoice, order
from support.world import whole_lines

from filedrop.journal import JOURNAL
from filedrop.readable import rendering

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.world import World

FINE = "told(sys.stdin.read())"


@pytest.fixture
def with_commands(make_world: Callable[..., World], tmp_path: Path) -> Callable[..., World]:
    """Makes a world in which a program is run after everything; by default, it writes what it is told to a file."""

    def make(script: str = FINE, timeout: str = "10m", **changes: object) -> World:
        program = tmp_path / "program.py"
        program.write_text(
            "import json, os, sys, time\n"
            "def told(sidecar):\n"
            "    facts = {key: os.environ['FILEDROP_' + key] for key in ('EVENT', 'COMPANY', 'FILE')}\n"
            "    there = os.path.exists(facts['FILE'])\n"
            f"    with open({str(tmp_path / 'told')!r}, 'a') as file:\n"
            "        file.write(json.dumps([facts, there, json.loads(sidecar)]) + '\\n')\n"
            f"{script}\n"
        )
        run = f"[{sys.executable}, {program}]"
        more = f"commands: {{after_received: {run}, after_failed: {run}, after_delivered: {run}, timeout: {timeout}}}"
        return make_world(more=more, **changes)

    return make


def told(base: Path) -> list[tuple[dict[str, str], bool, dict[str, object]]]:
    """What the program was told, each time."""
    file = base / "told"
    return [tuple(json.loads(line)) for line in whole_lines(file)] if file.exists() else []


def test_each_event(with_commands: Callable[..., World], tmp_path: Path) -> None:
    """It gets the event, the company, the path of the file, which lies there, and the sidecar; each once."""
    world = with_commands()
    world.drop("good.xml", invoice("1"))
    world.drop("bad.xml", invoice("2", receiver=None))
    number = world.receive(order("3", sender=BUYER, receiver=SELLER))
    with world.service():
        world.until(lambda: len(told(tmp_path)) == 3, what="three were told")
        world.until(world.settled)
    by_event = {facts["EVENT"]: (facts, there, sidecar) for facts, there, sidecar in told(tmp_path)}
    assert by_event.keys() == {"delivered", "failed", "received"}
    assert all(there and facts["COMPANY"] == "acme" for facts, there, _ in by_event.values())
    assert by_event["failed"][0]["FILE"] == str(world.outbound / "failed" / "bad.xml")
    assert by_event["failed"][2] == world.sidecar("bad.xml")
    assert by_event["delivered"][2]["state"] == "delivered"
    assert by_event["received"][2]["msg_no"] == number
    assert by_event["received"][0]["FILE"].startswith(str(world.inbound))
    world.run_once()
    assert len(told(tmp_path)) == 3


def test_run_once_waits_for_them(with_commands: Callable[..., World], tmp_path: Path) -> None:
    """A single run ends when they have been run."""
    world = with_commands()
    world.receive(order("3", sender=BUYER, receiver=SELLER))
    world.run_once()
    assert len(told(tmp_path)) == 1


def test_after_its_page(with_commands: Callable[..., World], tmp_path: Path) -> None:
    """Where pages are wanted, a received document's command is run when its page lies beside it."""
    page = "os.environ['FILEDROP_FILE'].removesuffix('.xml') + '.html'"
    world = with_commands(f"assert os.path.exists({page})\n{FINE}", inbound={"readable": "html"})
    world.receive(order("3", sender=BUYER, receiver=SELLER))
    world.run_once()
    assert len(told(tmp_path)) == 1


def test_without_a_page(with_commands: Callable[..., World], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the page can't be made, the command is run all the same, once, and told why, as the sidecar says."""
    monkeypatch.setattr(rendering, "SECONDS", 0.01)
    world = with_commands(inbound={"readable": "html"})
    world.receive(order("3", sender=BUYER, receiver=SELLER))
    world.run_once()
    assert not list(world.inbound.glob("*.html"))
    ((_, _, sidecar),) = told(tmp_path)
    (beside,) = world.inbound.glob("*.json")
    assert sidecar == json.loads(beside.read_text())
    assert "there is no page" in str(sidecar["warnings"])


@pytest.mark.parametrize(
    ("script", "timeout", "why"),
    [
        ("sys.exit(print('no room') or 3)", "10m", "ended with status 3"),
        ("while True: time.sleep(1)", "1s", "took longer than 1 seconds"),
    ],
)
def test_a_failure_is_told(with_commands: Callable[..., World], script: str, timeout: str, why: str) -> None:
    """One that fails or hangs is told of, is not run again for that document, and holds up nothing."""
    world = with_commands(script, timeout=timeout)
    world.drop("bad.xml", invoice("2", receiver=None))
    with world.service() as service:
        world.until(lambda: service.report().troubles)
        (about,) = service.report().troubles
        assert about == "commands.after_failed of acme"
        assert why in service.report().troubles[about]
        world.until(lambda: not service.journal.errands.first())
        world.drop("good.xml", invoice("1"))
        world.until(world.settled)
    assert world.accepted() == {"good.xml": 1}


def test_one_that_is_missing_is_tried_again(with_commands: Callable[..., World], tmp_path: Path) -> None:
    """Where the program isn't there, what is to be run stays in the journal, and is run when it is."""
    world = with_commands()
    right = world.more
    world.more = right.replace(sys.executable, str(tmp_path / "nothing"))
    world.drop("bad.xml", invoice("2", receiver=None))
    with world.service() as service:
        world.until(lambda: service.report().troubles)
        assert "can't be started" in service.report().troubles["commands.after_failed of acme"]
    world.more = right
    with world.service():
        world.until(lambda: told(tmp_path))
    assert told(tmp_path)[0][0]["EVENT"] == "failed"


def owed(with_commands: Callable[..., World], **changes: object) -> World:
    """A world in which a message was received whose command is still to be run: its program is missing until now."""
    world = with_commands(**changes)
    right = world.more
    world.more = right.replace(sys.executable, "/nothing")
    world.receive(order("3", sender=BUYER, receiver=SELLER))
    with world.service() as service:
        world.until(lambda: service.report().troubles)
        world.until(world.settled)
    world.more = right
    return world


def test_sidecar_is_the_journals(with_commands: Callable[..., World], tmp_path: Path) -> None:
    """A program is told what was received, whatever somebody has written into the sidecar since."""
    world = owed(with_commands)
    (beside,) = world.inbound.glob("*.json")
    written = json.loads(beside.read_text())
    beside.write_text(json.dumps(written | {"sender": "0192:999999999", "company": "other", "file": "../../x"}))
    world.run_once()
    ((facts, there, sidecar),) = told(tmp_path)
    assert there
    assert facts["FILE"] == str(beside.with_name(written["file"]))
    assert sidecar == written
    with closing(sqlite3.connect(world.state / JOURNAL)) as journal:  # and nothing of it is kept for ever
        assert journal.execute("SELECT count(*) FROM errands").fetchone() == (0,)
        assert journal.execute("SELECT count(*) FROM messages WHERE sidecar IS NOT NULL").fetchone() == (0,)


def test_nothing_is_kept_without_a_command(world: World) -> None:
    """Where no command is wanted, the journal doesn't keep sidecars."""
    world.receive(order("3", sender=BUYER, receiver=SELLER))
    world.settle()
    with closing(sqlite3.connect(world.state / JOURNAL)) as journal:
        assert journal.execute("SELECT state, sidecar FROM messages").fetchall() == [("read", None)]


@pytest.mark.skipif(sys.platform == "win32", reason="not everybody may make symbolic links there")
@pytest.mark.parametrize("kind", ["link", "folder", "pipe"])
def test_a_link_in_its_place(with_commands: Callable[..., World], tmp_path: Path, kind: str) -> None:
    """A program isn't run where a link or the like lies in the document's place, and status says why."""
    world = owed(with_commands)
    secret = tmp_path / "secret.xml"
    secret.write_bytes(invoice("9"))
    (document,) = world.inbound.glob("*.xml")
    document.unlink()
    if kind == "link":
        document.symlink_to(secret)
    elif kind == "folder":
        document.mkdir()
    else:
        os.mkfifo(document)
    with world.service() as service:
        world.until(lambda: not service.journal.errands.first())
        assert "was not run for" in service.report().troubles["commands.after_received of acme"]
        assert "somebody has replaced it with a link" in service.report().troubles["commands.after_received of acme"]
    assert not told(tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="not everybody may make symbolic links there")
def test_a_link_in_its_folders_place(with_commands: Callable[..., World], tmp_path: Path) -> None:
    """Likewise for a failed document whose folder was replaced by a link."""
    world = with_commands()
    right = world.more
    world.more = right.replace(sys.executable, "/nothing")
    world.drop("bad.xml", invoice("2", receiver=None))
    with world.service() as service:
        world.until(lambda: service.report().troubles)
    (world.outbound / "failed").rename(tmp_path / "elsewhere")
    (world.outbound / "failed").symlink_to(tmp_path / "elsewhere")
    world.more = right
    with world.service() as service:
        world.until(lambda: not service.journal.errands.first())
        assert "was not run for" in service.report().troubles["commands.after_failed of acme"]
    assert not told(tmp_path)


def test_killed_meanwhile(with_commands: Callable[..., World], tmp_path: Path) -> None:
    """Killed while a program runs, filedrop runs it once more after the next start."""
    begun = tmp_path / "begun"
    draft = tmp_path / "draft"
    script = (
        f"if not os.path.exists({str(begun)!r}):\n"
        f"    with open({str(draft)!r}, 'w') as file:\n"
        "        file.write(str(os.getpid()))\n"
        f"    os.rename({str(draft)!r}, {str(begun)!r})\n"
        f"    time.sleep(1000)\n{FINE}"
    )
    world = with_commands(script)
    world.drop("bad.xml", invoice("2", receiver=None))
    with world.daemon() as daemon:
        world.until(begun.exists)
        daemon.kill()
        daemon.wait()
    os.kill(int(begun.read_text()), signal.SIGTERM)  # nobody else ends it now
    with world.service():
        world.until(lambda: told(tmp_path))
    assert len(told(tmp_path)) == 1


def test_one_after_the_other(with_commands: Callable[..., World], tmp_path: Path) -> None:
    """Each company's are run one at a time, in the order of what has happened."""
    lock = tmp_path / "running"
    script = f"os.mkdir({str(lock)!r})\ntime.sleep(0.05)\n{FINE}\nos.rmdir({str(lock)!r})"
    world = with_commands(script)
    for nth in range(6):
        world.drop(f"{nth}.xml", invoice(str(nth), receiver=None))
    with world.service() as service:
        world.until(lambda: len(told(tmp_path)) == 6)
        assert service.report().troubles == {}


def test_what_goes_on_behind_it(with_commands: Callable[..., World], tmp_path: Path) -> None:
    """One that leaves a program behind, with its pipes open, has ended; filedrop keeps nothing open for those."""
    children = tmp_path / "children"
    behind = "[sys.executable, '-c', 'import time; time.sleep(1000)']"
    script = (
        f"import subprocess\nprint(subprocess.Popen({behind}).pid, file=open({str(children)!r}, 'a'))\nprint('done')"
    )
    world = with_commands(script)
    for nth in range(3):
        world.drop(f"{nth}.xml", invoice(str(nth), receiver=None))
    try:
        with world.service() as service:
            world.until(lambda: children.exists() and len(children.read_text().split()) == 3)
            world.until(lambda: not service.journal.errands.first())
            assert service.report().troubles == {}
            world.until(lambda: not [one for one in threading.enumerate() if one.name == "program"])
    finally:
        for child in children.read_text().split():
            os.kill(int(child), signal.SIGTERM)


def test_very_much_output(with_commands: Callable[..., World]) -> None:
    """A program may print a gigabyte: its beginning is told, and nothing more of it is kept."""
    world = with_commands("for _ in range(16384): sys.stdout.write('words ' * 10923)\nsys.exit(3)")
    world.drop("bad.xml", invoice("2", receiver=None))
    with world.service() as service:
        world.until(lambda: service.report().troubles, 120)
        (why,) = service.report().troubles.values()
        assert "ended with status 3" in why
        assert "words words" in why
        assert len(why) < 1000


def test_none_by_default(world: World) -> None:
    """Where none is configured, the journal keeps nothing to be run."""
    world.drop("bad.xml", invoice("2", receiver=None))
    with world.service() as service:
        world.until(world.settled)
        assert service.journal.errands.first() == []
