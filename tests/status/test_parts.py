"""What can't be shown costs its row or its page alone, says so there, and needs attention."""

from __future__ import annotations

import json
import os
import re
import sys
import threading
from contextlib import closing
from datetime import UTC, datetime
from errno import EISDIR
from sqlite3 import connect
from typing import TYPE_CHECKING

import pytest
import structlog
from support.documents import SELLER, invoice
from support.status import text_of, write_now

from filedrop.daemon.daemon import Daemon
from filedrop.journal import JOURNAL
from filedrop.journal.totals import Sent
from filedrop.model.document import State
from filedrop.process.guard import Guard
from filedrop.process.lock import locked_state
from filedrop.status import lately, page, page_file, status_file
from filedrop.status.matters import verdict
from filedrop.status.status_file import StatusFile
from filedrop.status.survey import DaemonPart, Survey

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.world import World

NOW = datetime(2026, 11, 27, 12, tzinfo=UTC)


def write_status(world: World, turns: int = 2) -> StatusFile:
    """Have a daemon in this process write its status: what one turn couldn't show is in that of the next one."""
    with locked_state(world.state) as journal:
        daemon = Daemon(world.configuration(), journal, stopped=threading.Event(), log=world._log, watch=False)
        daemon.run_once(lambda _daemon: None)
        file = StatusFile(daemon.config, journal, world._log)
        for _ in range(turns):
            write_now(file, daemon.report())
        return file


def damage(world: World, statement: str) -> None:
    """Change the journal as no filedrop does."""
    with closing(connect(world.state / JOURNAL)) as journal, journal:
        journal.execute(statement)


def test_a_document_that_was_taken(make_world: Callable[..., World]) -> None:
    """A document that a person took out of `sent/` is among the last ones that were sent, and stops no page."""
    world = make_world(deliver_after=3600)
    world.drop("gone.xml", invoice("1"))
    world.run_once()
    (world.outbound / "sent" / "gone.xml").unlink()
    with locked_state(world.state) as journal:
        (document,) = journal.documents.in_state(State.SENT)
        journal.documents.record(document.taken(NOW))  # as two comparisons of the folder do
    write_status(world)
    for folder in (world.root, world.root / "acme"):
        assert re.search(r"gone\.xml Invoice 1 .* taken 1 ", text_of(folder / "STATUS.html"))


def test_a_row_that_cannot_be_shown(world: World) -> None:
    """It is named, with a sentence in place of its content; the other rows are there, and the trouble is reported."""
    config = world.configuration()
    status = Survey(config, None).look(DaemonPart(), running=True, now=NOW)
    sent = Sent(NOW, "acme", "good.xml", "Invoice", "1", SELLER, None, 7, "delivered", "")  # type: ignore[arg-type]
    rows = [sent, sent._replace(file="<odd>.xml", state="odd"), sent._replace(file="other.xml")]
    happened = lately.Lately(rows, [], lately.days_until(NOW), lately.nothing(NOW).days)
    guard = Guard()
    content = page.render(
        status, happened, guard=guard, place=config.root, host="", company="acme", pages=(), readable={}, language="nb"
    ).decode()
    assert "good.xml" in content
    assert "other.xml" in content
    assert '<th scope="row">&lt;odd&gt;.xml</th><td colspan="9">filedrop kan ikke vise dette nå.</td>' in content
    (part,) = guard.troubles
    assert part == f"{config.root / 'STATUS.html'}: <odd>.xml"


def test_a_company_that_cannot_be_shown(make_world: Callable[..., World]) -> None:
    """A row of the journal that nobody can read costs its company's page alone; status, log and --check have it."""
    world = make_world(companies={"globex": "{participants: []}"})
    world.drop("fine.xml", invoice("1"))
    world.run_once()
    damage(world, "UPDATE documents SET state = 'odd'")
    write_status(world, turns=3)
    assert "filedrop can't show this now." in text_of(world.root / "acme" / "STATUS.html")
    assert "Nothing was sent" not in text_of(world.root / "acme" / "STATUS.html")
    assert "Nothing was sent, received or failed." in text_of(world.root / "globex" / "STATUS.html")
    status = status_file.read(world.root)
    assert status is not None
    (matter,) = (matter for matter in status["matters"] if matter["kind"] == "trouble")
    assert "what acme sent and received lately: an error in filedrop; please report it" in matter["title"]
    assert verdict(status) == "1 problem needs attention."
    check = world.filedrop("status", "--check")
    assert check.returncode == 1
    assert "what acme sent and received lately" in check.stdout
    failures = [event["what"] for event in world.log() if event["event"] == "work.failed"]
    assert failures == ["what acme sent and received lately"], "once, not at each turn"


def test_a_document_that_cannot_be_read(make_world: Callable[..., World]) -> None:
    """A document in doubt whose row nobody can read costs the documents that the journal names, and not the status."""
    world = make_world(deliver_after=3600)
    world.drop("bad.xml", invoice("1"))
    world.drop("nobody.xml", invoice("2", receiver=None))
    world.run_once()
    damage(world, "UPDATE documents SET state = 'doubt', open = 1, warnings = 'odd' WHERE state = 'sent'")
    with locked_state(world.state) as journal:
        status = Survey(world.configuration(), journal).look(DaemonPart(), running=True, now=NOW)
    assert status["companies"]["acme"]["failed"] == 1
    (trouble,) = (matter["title"] for matter in status["matters"] if matter["kind"] == "trouble")
    assert trouble.startswith("which documents wait, are in doubt, are overdue or have warnings: an error in filedrop")


def test_a_message_that_cannot_be_read(world: World) -> None:
    """A stuck message whose row nobody can read costs its account's messages, and not the status."""
    world.receive(invoice("1"))
    world.run_once()
    damage(world, "UPDATE messages SET state = 'stuck', due = 'odd'")
    with locked_state(world.state) as journal:
        status = Survey(world.configuration(), journal).look(DaemonPart(), running=True, now=NOW)
    (trouble,) = (matter["title"] for matter in status["matters"] if matter["kind"] == "trouble")
    assert re.match(r"which messages of \w+ are stuck: an error in filedrop", trouble)


@pytest.mark.skipif(sys.platform == "win32", reason="NTFS has no such time")
def test_a_file_from_beyond_the_calendar(world: World) -> None:
    """A time that no calendar has, which anybody can give a file, stops no status."""
    world.drop("nobody.xml", invoice("1", receiver=None))
    world.run_once()
    for seconds in (-(10**15), 10**15):
        os.utime(world.outbound / "failed" / "nobody.xml.json", (seconds, seconds))
        status = Survey(world.configuration(), None).look(DaemonPart(), running=True, now=NOW)
        (document,) = status["companies"]["acme"]["documents"]
        assert document["file"] == "nobody.xml"


@pytest.mark.parametrize("language", ["en", "nb"])
def test_a_file_without_its_sidecar(make_world: Callable[..., World], language: str) -> None:
    """The page of a company names it, and leaves the command that knows more to the administrator's page."""
    world = make_world(more=f"language: {language}")
    world.drop("nobody.xml", invoice("1", receiver=None))
    world.run_once()
    (world.outbound / "failed" / "nobody.xml.json").unlink()
    write_status(world)
    assert "filedrop history NAME" in text_of(world.root / "STATUS.html")
    assert "nobody.xml" in text_of(world.root / "acme" / "STATUS.html")
    assert "filedrop history" not in text_of(world.root / "acme" / "STATUS.html")


def test_a_page_that_was_not_written_for_long(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """It needs attention, with its path and why, and no longer when it can be written again."""
    world.run_once()
    there = world.root / "acme" / "STATUS.html"
    there.mkdir()
    assert not [line for line in troubles(world) if str(there) in line], "not at once"
    monkeypatch.setattr(page_file, "LATE", 0.0)
    (line,) = (line for line in troubles(world) if str(there) in line)
    assert line == f"{there} can't be written, so it shows an older status: {os.strerror(EISDIR)}"
    there.rmdir()
    assert troubles(world) == []


def troubles(world: World) -> list[str]:
    """What status.json says isn't as it should be."""
    write_status(world)
    status = status_file.read(world.root)
    assert status is not None
    return list(status["troubles"].values())


def test_an_error_is_logged_once() -> None:
    """A part that can't be made has its sentence in each round, is logged when that is new, and costs no other part."""
    log = structlog.testing.CapturingLogger()
    guard = Guard(structlog.wrap_logger(log))
    for _ in range(2):
        guard.begin()
        assert guard.make("broken", lambda: int("x"), 0) == 0
        assert guard.make("whole", lambda: int("7"), 0) == 7
        assert list(guard.troubles) == ["broken"]
    guard.begin()
    assert guard.make("broken", lambda: 1, 0) == 1
    assert guard.troubles == {}
    assert len(log.calls) == 1


def test_a_sidecar_that_takes_long_to_read(make_world: Callable[..., World]) -> None:
    """Whatever a neighbour writes as the reason of a failed document, all companies have their status soon."""
    own = {"acme": f"{{participants: ['{SELLER}'], language: nb}}", "globex": "{participants: []}"}
    world = make_world(companies=own)
    world.drop("nobody.xml", invoice("1", receiver=None))
    world.run_once()
    beside = world.outbound / "failed" / "nobody.xml.json"
    says = json.loads(beside.read_bytes())
    duplicate = "The same x was sent before, as y, on z. The same x may have been sent before, as y, on z. "
    says["error"]["message"] = duplicate * 21  # as long as a reason may be
    beside.write_text(json.dumps(says))
    thread = threading.Thread(target=write_status, args=(world, 1), daemon=True)
    thread.start()
    thread.join(60)  # it takes a tenth of a second; by recursion over the messages it took hours
    pages = [world.root / name / "STATUS.html" for name in ("", "acme", "globex")]
    assert all(path.exists() for path in [*pages, world.root / "status.json"])
    assert "nobody.xml" in text_of(world.root / "acme" / "STATUS.html")
