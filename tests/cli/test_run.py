"""`filedrop run`, the daemon and the single run."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from support.documents import SELLER, invoice
from support.faults import cut_after, exactly, instead
from support.matrix import quick
from support.systems import stop_signals

if TYPE_CHECKING:
    from collections.abc import Callable

    from cli.conftest import Filedrop
    from support.world import World


def test_once(process: Filedrop, world: World) -> None:
    """`run --once` sends and fetches what is there, says what happened in plain lines, and is status 0."""
    world.drop("invoice.xml", invoice("1"))
    number = world.receive(invoice("2", receiver=SELLER))
    done = process("run", "--once")
    assert done.returncode == 0, done.stderr
    assert "acme: invoice.xml: accepted as message" in done.stdout
    assert f"-{number}-Invoice-" in done.stdout
    assert done.stdout.splitlines()[-1] == "1 sent, 0 failed, 1 received"
    assert json.loads((world.root / "status.json").read_text())["running"] is False


def test_once_with_a_failure(filedrop: Filedrop, world: World) -> None:
    """`run --once` is status 1 when something failed in this run, and says what and why."""
    world.drop("nobody.xml", invoice("1", receiver=None))
    done = filedrop("run", "--once")
    assert done.returncode == 1
    assert "acme: nobody.xml: failed: The receiver's PEPPOL address (ParticipantID) is missing" in done.stdout


def test_once_beside_what_is_not_finished(filedrop: Filedrop, world: World) -> None:
    """A file that `run --once` left, because it isn't whole, is named with the reason, and the status is 1."""
    world.drop("half.xml", invoice("1")[:500])
    done = filedrop("run", "--once")
    assert done.returncode == 1
    assert re.search(r"^acme: waiting: half.xml: Line \d+, column \d+: ", done.stdout, re.MULTILINE)
    assert done.stdout.splitlines()[-1] == "0 sent, 0 failed, 0 received, 1 left"


@pytest.mark.parametrize(("keys", "beside"), quick([({}, "HOLD"), ({"ready_suffix": ".ready"}, "another.xml.ready")]))
def test_once_beside_what_shall_wait(make_world: Callable[..., World], keys: dict[str, str], beside: str) -> None:
    """What is held, or waits for its writer's word, is named too; that it was left is no failure."""
    world = make_world(outbound=keys)
    world.drop("invoice.xml", invoice("1"))
    (world.outbound / beside).touch()
    done = world.filedrop("run", "--once")
    assert done.returncode == 0
    (why,) = [line for line in done.stdout.splitlines() if "invoice.xml" in line or "HOLD" in line]
    assert "it waits for invoice.xml.ready" in why or "filedrop sends nothing from there until you delete it" in why
    assert done.stdout.splitlines()[-1] == "0 sent, 0 failed, 0 received, 1 left"


def test_once_beside_a_doubt(make_world: Callable[..., World]) -> None:
    """Where only a person can tell, `run --once` says that there is a doubt, why, and how to end it; it is status 1."""
    world = make_world(outbound={"doubt": "100ms"})
    world.front.next("POST /outbox", cut_after)
    world.front.always("GET /messages/1/", instead(200, "<Invoice", ("Content-Type", "application/xml")))
    world.drop("invoice.xml", invoice("1"))
    done = world.filedrop("run", "--once")
    assert done.returncode == 1
    assert "acme: invoice.xml: in doubt: " in done.stdout
    assert "acme: 1 doubt: filedrop doesn't know yet whether the access point received them" in done.stdout
    assert re.search(r"^acme: doubt: invoice.xml \[\w{26}\]: ", done.stdout, re.MULTILINE)


@pytest.mark.parametrize("answer", quick([403, 500]))
def test_once_beside_a_doubt_that_is_not_looked_for(make_world: Callable[..., World], answer: int) -> None:
    """Where the access point doesn't list its messages for so long as `doubt`, `run --once` leaves it, and says so."""
    world = make_world(outbound={"doubt": "100ms"})
    world.front.next("POST /outbox", cut_after)
    world.front.always(exactly("GET", "/messages"), instead(answer))
    world.drop("invoice.xml", invoice("1"))
    done = world.filedrop("run", "--once")
    assert done.returncode == 1
    assert "acme: 1 doubt: filedrop doesn't know yet whether the access point received them" in done.stdout


def test_once_with_a_warning(filedrop: Filedrop, world: World) -> None:
    """What the directory says against a document that is sent all the same is said, and is no failure."""
    world.drop("strange.xml", invoice("1", receiver="0192:123456785"))
    done = filedrop("run", "--once")
    assert done.returncode == 0
    assert "acme: strange.xml: warning: The receiver 0192:123456785 is not in" in done.stdout


def test_once_refused(filedrop: Filedrop, world: World) -> None:
    """A refused login is status 3, also when something failed, and nothing that waits has failed by it."""
    world.drop("nobody.xml", invoice("1", receiver=None))
    world.drop("fine.xml", invoice("2"))
    world.password_file.write_text("wrong")
    done = filedrop("run", "--once")
    assert done.returncode == 3
    assert world.places() == {"nobody.xml": "failed", "fine.xml": "sending"}


@pytest.mark.slow
def test_once_beside_what_is_stuck(filedrop: Filedrop, world: World) -> None:
    """`run --once` is status 1 while a message is stuck, also one that an earlier run has tried, and says why."""
    world.receive(b"no XML at all")
    for _ in range(2):
        done = filedrop("run", "--once")
        assert done.returncode == 1
        assert "acme: message 1 can't be received: " in done.stdout
        assert done.stdout.splitlines()[-1] == "0 sent, 0 failed, 0 received, 1 stuck"


@pytest.mark.parametrize("answer", quick([403, 404, 500]))
def test_once_beside_an_inbox_that_is_refused(filedrop: Filedrop, world: World, answer: int) -> None:
    """`run --once` ends where only the inbox can't be listed, as of a login that may send and not receive: status 1."""
    world.front.always("GET /inbox", instead(answer))
    world.drop("invoice.xml", invoice("1"))
    done = filedrop("run", "--once")
    assert done.returncode == 1
    assert "acme: invoice.xml: accepted as message" in done.stdout
    assert re.search(rf"^main: the inbox can't be listed: .*\b{answer}\b", done.stdout, re.MULTILINE)


@pytest.mark.slow
def test_once_beside_a_journal_that_takes_no_more(filedrop: Filedrop, world: World) -> None:
    """`run --once` is status 1 where the journal can't be written any more, and what it did is not done again."""
    world.drop("invoice.xml", invoice("1"))
    world.run_once()
    world.drop("another.xml", invoice("2"))
    with closing(sqlite3.connect(world.state / "journal.sqlite")) as journal:
        journal.execute(
            "CREATE TRIGGER worn BEFORE UPDATE ON documents BEGIN SELECT RAISE(ABORT, 'disk I/O error'); END"
        )
        done = filedrop("run", "--once")
        journal.execute("DROP TRIGGER worn")
    assert done.returncode == 1
    assert "journal.sqlite can't be used: disk I/O error" in done.stdout
    world.settle()
    world.invariants()


UNUSED = {
    "rich.progress", "smtplib", "email.contentmanager", "flask", "regex", "stdnum", "saxonche", "apprise",
    "prometheus_client", "filedrop.alerts.mail", "filedrop.alerts.addresses", "filedrop.cli.status",
    "filedrop.cli.rehearsal", "filedrop.cli.tables",
}  # fmt: skip


@stop_signals
def test_what_an_idle_daemon_loads(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A daemon loads nothing that only other commands, or settings that it hasn't, need."""
    monkeypatch.setenv("PYTHONPROFILEIMPORTTIME", "1")  # Python reports each import on stderr
    with world.daemon() as daemon:
        world.until((world.root / "STATUS.html").exists)
        world.stop(daemon)
    reported = (world.base / "daemon.log").read_text("utf-8")
    loaded = set(re.findall(r"^import time: .*\| +(\S+)$", reported, re.MULTILINE))
    assert {"filedrop.daemon.daemon", "requests", "jinja2"} <= loaded
    assert not loaded & UNUSED


@stop_signals
def test_the_daemon(process: Filedrop, world: World) -> None:
    """The daemon serves until SIGTERM, then ends with status 0; a second one is refused with status 2."""
    with world.daemon() as daemon:
        world.drop("invoice.xml", invoice("1"))
        world.until(world.settled)
        second = process("run")
        assert second.returncode == 2
        assert "another filedrop is running" in second.stderr
        world.stop(daemon)
    world.invariants()
