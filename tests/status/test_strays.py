"""Files that nobody will send are shown wherever people look, and so are those in folders that have no company."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.disks import foreign
from support.documents import invoice
from support.stepping import Life

from filedrop.outbound.strays import LIKE_OURS, NO_DOCUMENT, NO_FILE, PUT_THERE
from filedrop.status import daemon_file
from filedrop.status.company import of_company
from filedrop.status.matters import heading, unseen, verdict
from filedrop.status.model import CompanyStrays
from filedrop.status.strays import RemovedFolders
from filedrop.status.survey import Survey, part_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.stepping import Clock
    from support.world import World

    from filedrop.status.model import Status, StrayStatus

RULES = {"rescan": "30s", "settle": "2s", "doubt": "15m", "track": "1m", "retry": "{first: 5s, longest: 15m}"}


@pytest.fixture
def world(make_world: Callable[..., World], clock: Clock) -> World:
    """A world that is compared with the journal each half a minute, by a clock that is told to move on."""
    companies = {"fjord": "{participants: ['0192:123456785']}"}
    return make_world(outbound=RULES, inbound={"poll": "5m"}, clock=clock.true, companies=companies)


def status_of(world: World, life: Life) -> Status:
    """What the daemon shows."""
    survey = Survey(world.configuration(), life.journal)
    now = life.service.accounts[0].context.now()
    return survey.look(part_of(life.service.report()), running=True, now=now)


def strays(status: Status, company: str = "acme") -> list[str] | None:
    """The names of the files that nobody will send."""
    found = status["companies"][company]["strays"]
    return None if found is None else [one["file"] for one in found]


def test_strays_everywhere(world: World, clock: Clock) -> None:
    """A stray counts in the verdict and stands among what needs attention, at once and by itself; gone, so is that.

    A document that somebody has put into `sent/` doesn't count as accepted.
    """
    life = Life(world, clock)
    life.go_on(5)
    world.put(world.outbound / "invoice.xml.txt", invoice("1"))
    world.put(world.outbound / "sent" / "invoice.xml", invoice("2"))
    assert strays(status_of(world, life)) is None
    life.go_on(120)
    status = status_of(world, life)
    assert sorted(strays(status) or []) == ["invoice.xml", "invoice.xml.txt"]
    assert strays(status, "fjord") == []
    assert status["companies"]["acme"]["sent"] == 0
    (matter,) = [one for one in status["matters"] if one["kind"] == "stray"]
    assert heading(matter) == "acme: 2 files that will never be sent"
    assert {item["path"] for item in matter["items"]} == {
        str(world.outbound / "invoice.xml.txt"), str(world.outbound / "sent" / "invoice.xml"),
    }  # fmt: skip
    assert verdict(status).startswith("2 files need")
    config = world.configuration()
    company = of_company(status, config.companies["fjord"], config, frozenset())
    assert not [one for one in company["matters"] if one["kind"] == "stray"]
    company = of_company(status, config.companies["acme"], config, frozenset())
    assert {item["name"]: item["why"] for one in company["matters"] for item in one["items"]} == {
        "invoice.xml.txt": NO_DOCUMENT, "invoice.xml": PUT_THERE,
    }  # fmt: skip
    (world.outbound / "invoice.xml.txt").unlink()
    assert strays(status_of(world, life)) == ["invoice.xml"]
    life.drop()


def test_folder_with_almost_the_name_of_ours(world: World, clock: Clock) -> None:
    """The renamed folder of documents that were sent is reported with what to do."""
    life = Life(world, clock)
    life.go_on(5)
    (world.outbound / "sent").rename(world.outbound / "Sent_")
    (world.outbound / "scans").mkdir()
    life.go_on(120)
    (matter,) = [one for one in status_of(world, life)["matters"] if one["kind"] == "stray"]
    assert {item["name"]: item["why"] for item in matter["items"]} == {"Sent_": LIKE_OURS, "scans": NO_FILE}
    life.drop()


def test_strays_in_the_command(world: World) -> None:
    """The command and the page show what the daemon has found, also when it has stopped, as long as it is there."""
    world.filedrop("run", "--once")
    path = world.outbound / "scan.pdf"
    world.put(path, b"%PDF")
    since = "2026-11-25T12:00:00+00:00"
    stray: StrayStatus = {"file": "scan.pdf", "path": str(path), "why": "no document", "since": since}
    part = replace(daemon_file.read(world.state), strays={"acme": CompanyStrays(5, (stray,))})
    daemon_file.DaemonFile(world.state).write(part)
    shown = world.filedrop("status").stdout
    assert "acme: 5 files that will never be sent: only XML documents" in shown
    assert "acme: stray: scan.pdf: no document" in shown
    assert "acme: stray: and 4 more" in shown
    assert world.filedrop("status", "--check").returncode == 1
    path.unlink()
    assert "scan.pdf" not in world.filedrop("status").stdout


def test_strays_that_are_not_looked_for_yet(world: World, clock: Clock) -> None:
    """After a start, nobody says that strays are gone before they were looked for."""
    life = Life(world, clock)
    life.go_on(5)
    early = {(one.kind, one.company) for one in unseen(status_of(world, life))}
    life.go_on(120)
    later = {(one.kind, one.company) for one in unseen(status_of(world, life))}
    assert ("stray", "acme") in early
    assert ("stray", "acme") not in later
    life.drop()


def test_folder_of_a_company_that_was_removed(world: World, clock: Clock) -> None:
    """What waits or has failed in the folder of a company that the configuration no longer has is shown.

    It is also shown after a restart, until it is gone or the folder's marker is deleted.
    """
    life = Life(world, clock)
    fjord = world.root / "fjord" / "outbound"
    life.go_on(5)
    world.put(fjord / "failed.xml", invoice("1", receiver=None, sender="0192:123456785"))
    life.go_on(60)
    life.stop()
    del world._companies["fjord"]
    world.put(fjord / "waits.xml", invoice("2", sender="0192:123456785"))
    world.put(fjord / "scan.pdf", b"%PDF")
    life = Life(world, clock)
    life.go_on(5)
    (matter,) = [one for one in status_of(world, life)["matters"] if one["kind"] == "stray"]
    assert (matter["company"], matter["about"], matter["number"]) == ("", str(fjord), 2)
    assert f"in {fjord}, which the configuration no longer names" in matter["title"]
    why = {item["name"]: item["why"] for item in matter["items"]}
    assert "its company is no longer in the configuration" in why["waits.xml"]
    assert "PEPPOL address (ParticipantID) is missing" in why["failed.xml"]
    assert world.filedrop("status", "--check").returncode == 1
    (fjord / ".filedrop").unlink()
    assert not status_of(world, life)["matters"]
    life.drop()


def test_folder_that_is_gone(world: World, clock: Clock) -> None:
    """A removed company whose folder is gone, has nothing in it, or is another filedrop's isn't mentioned."""
    life = Life(world, clock)
    fjord = world.root / "fjord" / "outbound"
    life.go_on(5)
    life.stop()
    del world._companies["fjord"]
    life = Life(world, clock)
    life.go_on(5)
    assert not status_of(world, life)["matters"]
    world.put(fjord / "waits.xml", invoice("2", sender="0192:123456785"))
    marker = json.loads((fjord / ".filedrop").read_text())
    (fjord / ".filedrop").write_text(json.dumps(marker | {"journal": "another"}))
    assert not status_of(world, life)["matters"]
    fjord.rename(world.base / "elsewhere")
    assert not status_of(world, life)["matters"]
    life.drop()


def test_folder_of_a_removed_company_that_hangs(world: World, clock: Clock) -> None:
    """One whose server is gone for good is asked once, however often status is taken; others are reported meanwhile."""
    world._companies["gamma"] = "{participants: ['0192:810418052']}"
    life = Life(world, clock)
    life.go_on(5)
    life.stop()
    for name in ("fjord", "gamma"):
        del world._companies[name]
        world.put(world.root / name / "outbound" / "waits.xml", invoice("2"))
    life = Life(world, clock)
    removed = RemovedFolders(world.configuration())
    with foreign(world.root / "fjord" / "outbound", "fuse.sshfs", answers=False):
        before = threading.active_count()
        for _ in range(3):
            removed._next = 0.0  # a minute later
            found = removed.look(life.journal)
            assert [folder.path for folder in found] == [world.root / "gamma" / "outbound"]
        assert threading.active_count() <= before + 1
    removed._next = 0.0
    world.until(lambda: not any(look.is_alive() for look in removed._looks.values()))
    assert len(removed.look(life.journal)) == 2
    life.drop()
