"""`filedrop run`, the daemon and the single run."""

from __future__ import annotations

import json
import signal
import sqlite3
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from support.documents import SELLER, invoice, order

if TYPE_CHECKING:
    from pathlib import Path

    from cli.conftest import Filedrop
    from support.world import World


def everything_below(base: Path) -> dict[str, bytes]:
    """Every file with its content, and every folder."""
    return {
        str(path.relative_to(base)): path.read_bytes() if path.is_file() else b""
        for path in base.rglob("*")
        if path.name != "config.yaml" and "access point" not in path.parts
    }


def test_once(process: Filedrop, world: World) -> None:
    """`run --once` sends and fetches what is there, says what happened in plain lines, and is status 0."""
    world.drop("invoice.xml", invoice("1"))
    number = world.receive(order("2", receiver=SELLER))
    done = process("run", "--once")
    assert done.returncode == 0, done.stderr
    assert "acme: invoice.xml: accepted as message" in done.stdout
    assert f"-{number}-Invoice-" in done.stdout
    assert done.stdout.splitlines()[-1] == "1 sent, 0 failed, 1 received"
    assert json.loads((world.root / "status.json").read_text())["running"] is False


def test_once_with_a_failure(process: Filedrop, world: World) -> None:
    """`run --once` is status 1 when something failed in this run, and says what and why."""
    world.drop("nobody.xml", invoice("1", receiver=None))
    done = process("run", "--once")
    assert done.returncode == 1
    assert "acme: nobody.xml: failed: Nothing says who receives it" in done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="no file is ready there before ten seconds, and it doesn't wait")
def test_once_refused(process: Filedrop, world: World) -> None:
    """A refused login is status 3, also when something failed, and nothing that waits has failed by it."""
    world.drop("nobody.xml", invoice("1", receiver=None))
    world.drop("fine.xml", invoice("2"))
    world.password_file.write_text("wrong")
    done = process("run", "--once")
    assert done.returncode == 3
    assert world.places() == {"nobody.xml": "failed", "fine.xml": "sending"}


def test_once_beside_what_is_stuck(process: Filedrop, world: World) -> None:
    """`run --once` is status 1 while a message is stuck, also one that an earlier run has tried, and says why."""
    world.receive(b"no XML at all")
    for _ in range(2):
        done = process("run", "--once")
        assert done.returncode == 1
        assert "acme: message 1 can't be taken: " in done.stdout
        assert done.stdout.splitlines()[-1] == "0 sent, 0 failed, 0 received, 1 stuck"


def test_once_beside_a_journal_that_takes_no_more(process: Filedrop, world: World) -> None:
    """`run --once` is status 1 where the journal can't be written any more, and what it did is not done again."""
    world.drop("invoice.xml", invoice("1"))
    world.run_once()
    world.drop("another.xml", invoice("2"))
    with closing(sqlite3.connect(world.state / "journal.sqlite")) as journal:
        journal.execute(
            "CREATE TRIGGER worn BEFORE UPDATE ON documents BEGIN SELECT RAISE(ABORT, 'disk I/O error'); END"
        )
        done = process("run", "--once")
        journal.execute("DROP TRIGGER worn")
    assert done.returncode == 1
    assert "journal.sqlite can't be used: disk I/O error" in done.stdout
    world.settle()
    world.invariants()


def test_dry_run_of_nothing(filedrop: Filedrop, world: World) -> None:
    """A dry run with nothing to send says so."""
    done = filedrop("run", "--once", "--dry-run")
    assert (done.returncode, done.stdout) == (0, "There is nothing to send.\n")
    assert filedrop("run", "--once", "--dry-run", "--json").stdout == ""
    assert not world.state.exists()


def test_dry_run(filedrop: Filedrop, world: World) -> None:
    """`run --once --dry-run` says what would be sent as whom and what would fail, and touches nothing."""
    world.drop("fine.xml", invoice("1"))
    world.drop("nobody.xml", invoice("2", receiver=None))
    world.drop("foreign.xml", invoice("3", sender="0192:123456785"))
    world.drop("half.xml", invoice("4")[:500])
    before = everything_below(world.base)
    done = filedrop("run", "--once", "--dry-run", "--json")
    assert everything_below(world.base) == before
    assert world.front.requests == []
    assert done.returncode == 1
    told = {row["file"]: row for row in map(json.loads, done.stdout.splitlines())}
    assert {name: row["verdict"] for name, row in told.items()} == {
        "fine.xml": "would send", "nobody.xml": "would fail", "foreign.xml": "would fail", "half.xml": "not ready",
    }  # fmt: skip
    assert told["fine.xml"]["sender"] == SELLER
    assert "would send" in filedrop("run", "--once", "--dry-run").stdout


def test_dry_run_knows_what_was_sent(filedrop: Filedrop, world: World) -> None:
    """A dry run beside what was sent before says which documents would be refused as duplicates."""
    world.drop("invoice.xml", invoice("1"))
    world.run_once()
    world.put(world.outbound / "again.xml", invoice("1"))
    before = everything_below(world.base)
    done = filedrop("run", "--once", "--dry-run", "--json")
    assert everything_below(world.base) == before
    (told,) = map(json.loads, done.stdout.splitlines())
    assert (told["file"], told["verdict"]) == ("again.xml", "would fail")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGTERM; its service is stopped by the manager")
def test_the_daemon(process: Filedrop, world: World) -> None:
    """The daemon serves until SIGTERM, then ends with status 0; a second one is refused with status 2."""
    with world.daemon() as daemon:
        world.drop("invoice.xml", invoice("1"))
        world.until(world.settled)
        second = process("run")
        assert second.returncode == 2
        assert "another filedrop runs" in second.stderr
        daemon.send_signal(signal.SIGTERM)
        assert daemon.wait(20) == 0
    world.invariants()
