"""STATUS.html: where it is written, by whom, when, and what it says."""

from __future__ import annotations

import itertools
import re
import sys
import threading
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

import pytest
from support.disks import foreign
from support.documents import BUYER, SELLER, invoice, order
from support.status import text_of, write_now

from filedrop.daemon.daemon import Daemon
from filedrop.files.patience import within
from filedrop.process.lock import locked_state
from filedrop.status import folders, page_file
from filedrop.status.matters import Key
from filedrop.status.status_file import StatusFile
from filedrop.status.survey import DaemonPart, Survey
from filedrop.texts import guide

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.world import World

OTHER = "0192:810418052"


def report(world: World) -> None:
    """Have a daemon in this process do what there is, and write its last word."""
    with locked_state(world.state) as journal:
        daemon = Daemon(world.configuration(), journal, stopped=threading.Event(), log=world._log, watch=False)
        daemon.run_once(lambda _daemon: None)
        StatusFile(daemon.config, journal, world._log).close(daemon.report())


def test_nothing_received_yet(world: World) -> None:
    """Until its first message, a company's page says that nothing shows yet whether its account receives for it."""
    page, says = world.root / "acme" / "STATUS.html", "Nothing has been received for acme through main yet."
    report(world)
    assert says in text_of(page)
    world.receive(invoice("1", sender=BUYER, receiver=SELLER))
    report(world)
    assert says not in text_of(page)


def test_what_it_says(world: World) -> None:
    """Beside a daemon, the page says how it stands, what needs a person, with the command, and what came and went."""
    file = world.root / "STATUS.html"
    with world.daemon():
        world.until((world.root / "acme" / "STATUS.html").exists)  # the root's page names it from its next time on
        world.drop("nobody.xml", invoice("1", receiver=None))
        world.drop("fine.xml", invoice("2"))
        world.receive(order("3", receiver=SELLER))
        received = "-Order-0192_810418052.xml"
        told = ("fine.xml Invoice 2", "delivered", "1 received", received, "1 document needs attention.")
        world.until(lambda: all(words in text_of(file) for words in told))
        text = text_of(file)
        html = file.read_text(encoding="utf-8")
    assert "acme 1 failed Correct what the note of each file names" in text
    assert "The receiver's PEPPOL address (ParticipantID) is missing" in text
    assert "filedrop retry acme nobody.xml" in text
    assert 'href="acme/outbound/failed/nobody.xml.why.txt"' in html
    assert "1 failed the top line is 1 a day; a document that failed twice counts twice" in text
    assert "1 sent" in text
    assert "1 received" in text
    assert 'href="acme/STATUS.html"' in html
    assert "http" not in html.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")


def test_when_it_is_stopped(world: World) -> None:
    """The last word of a daemon that is stopped is that it doesn't run, and how it is started."""
    report(world)
    assert "filedrop isn't running." in text_of(world.root / "STATUS.html")
    assert "data-written" not in (world.root / "STATUS.html").read_text(encoding="utf-8")


def test_a_company_sees_its_own_alone(make_world: Callable[..., World]) -> None:
    """A company's page has its data, and nothing of another's, nor of the account that they share."""
    world = make_world(companies={"globex": "{participants: []}"})
    world.drop("secret-of-acme.xml", invoice("1", receiver=None))
    world.drop("fine-of-acme.xml", invoice("2"))
    report(world)
    own, others = (text_of(world.root / name / "STATUS.html") for name in ("acme", "globex"))
    assert "secret-of-acme.xml" in own
    assert "fine-of-acme.xml" in own
    assert "globex" not in own
    assert "acme" not in others
    assert "unread" not in own + others
    assert "unread" in text_of(world.root / "STATUS.html")


def test_no_folder_is_made_for_a_page(make_world: Callable[..., World], tmp_path: Path) -> None:
    """A company whose folders lie elsewhere has a page where somebody has made its folder, and only there."""
    elsewhere = tmp_path / "elsewhere"
    keys = f"outbound: {elsewhere / 'out'}, inbound: {elsewhere / 'in'}"
    world = make_world(companies={"globex": f"{{participants: [], {keys}}}"})
    for name in ("out", "in"):
        (elsewhere / name).mkdir(parents=True)
    report(world)
    assert not (world.root / "globex").exists()
    assert not list(elsewhere.rglob("STATUS.html"))
    (world.root / "globex").mkdir()
    report(world)
    assert "globex" in text_of(world.root / "globex" / "STATUS.html")


def test_a_folder_for_documents_has_no_page(make_world: Callable[..., World], tmp_path: Path) -> None:
    """Where a company's folder is itself one for documents, no page lies between them."""
    inbound = tmp_path / "root" / "globex"
    outbound = tmp_path / "out"
    outbound.mkdir()
    keys = f"outbound: {outbound}, inbound: {inbound}"
    world = make_world(companies={"globex": f'{{participants: ["0192:123456785"], {keys}}}'})
    report(world)
    assert (inbound / ".filedrop").exists()
    assert not (inbound / "STATUS.html").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_links_and_folders_in_its_place(world: World) -> None:
    """A link in the page's place is replaced, never followed; a folder there, or for the company, stops nothing."""
    world.run_once()
    victim = world.base / "victim"
    victim.write_text("mine")
    (world.root / "STATUS.html").symlink_to(victim)
    (world.root / "acme" / "STATUS.html").mkdir()
    report(world)
    assert victim.read_text() == "mine"
    assert not (world.root / "STATUS.html").is_symlink()
    assert "filedrop" in text_of(world.root / "STATUS.html")
    assert (world.root / "acme" / "STATUS.html").is_dir()
    assert [event["why"] for event in world.log() if event["event"] == "page.not_written"]
    assert not list(world.root.rglob("*.tmp"))


def test_a_draft_that_a_killed_daemon_left(world: World) -> None:
    """The next daemon removes it, in the root and in a company's folder."""
    world.run_once()
    drafts = [folder / f".{26 * '0'}.tmp" for folder in (world.root, world.root / "acme")]
    for draft in drafts:
        draft.write_text("half a pa")
    with world.daemon():
        world.until(lambda: not any(draft.exists() for draft in drafts))


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_a_company_that_is_a_link(make_world: Callable[..., World], tmp_path: Path) -> None:
    """Whoever puts a link in the place of a company's folder has no page written where it leads."""
    out = tmp_path / "out"
    out.mkdir()
    victim = tmp_path / "victim"
    victim.mkdir()
    keys = f"outbound: {out}, inbound: {tmp_path / 'in'}"
    world = make_world(companies={"globex": f"{{participants: [], {keys}}}"})
    (tmp_path / "in").mkdir()
    (world.root / "globex").symlink_to(victim)
    report(world)
    assert not list(victim.iterdir())
    assert (world.root / "STATUS.html").exists()


def test_a_folder_that_hangs(make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch) -> None:
    """While a company's folder doesn't answer, the page in the root says so, and the others have theirs."""
    monkeypatch.setattr(folders, "PATIENCE", 1.0)
    monkeypatch.setattr(page_file, "PATIENCE", 1.0)
    world = make_world(companies={"globex": "{participants: []}"})
    world.run_once()
    with foreign(world.root / "globex", "fuse", answers=False), locked_state(world.state) as journal:
        daemon = Daemon(world.configuration(), journal, stopped=threading.Event(), log=world._log, watch=False)
        write_now(StatusFile(daemon.config, journal, world._log), daemon.report())
        assert "doesn't respond" in text_of(world.root / "STATUS.html")
        assert "filedrop acme" in text_of(world.root / "acme" / "STATUS.html")
    assert [event["company"] for event in world.log() if event["event"] == "page.not_written"] == ["globex"]


def test_a_folder_that_hangs_since_it_was_looked_into(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a folder begins to hang between a look and the page, the next page is written: none was while it hung."""
    world.run_once()
    monkeypatch.setattr(page_file, "PATIENCE", 0.5)
    with locked_state(world.state) as journal:
        daemon = Daemon(world.configuration(), journal, stopped=threading.Event(), log=world._log, watch=False)
        status = Survey(daemon.config, journal).look(DaemonPart(), running=True, now=datetime.now(UTC))
        with foreign(world.inbound, "fuse", answers=False):
            file = StatusFile(daemon.config, journal, world._log)
            with pytest.raises(TimeoutError, match=r"for 0\.5 seconds"):  # then the next survey says that it hangs
                within(30, lambda: file._write_down(status, datetime.now(UTC)))


def test_it_is_written_when_something_changes_and_else_rarely(world: World) -> None:
    """Nothing is written for nothing; what has changed is written at once."""
    with locked_state(world.state) as journal:
        daemon = Daemon(world.configuration(), journal, stopped=threading.Event(), log=world._log, watch=False)
        daemon.run_once(lambda _daemon: None)
        status_file = StatusFile(daemon.config, journal, world._log)
        seen = []
        for turn in range(3):
            if turn == 2:
                world.put(world.outbound / "new.xml", invoice("1"))
            write_now(status_file, daemon.report())
            seen.append(
                [(world.root / name).stat().st_ino for name in ("STATUS.html", "status.json", "acme/STATUS.html")]
            )
    assert seen[0] == seen[1]
    assert all(one != other for one, other in zip(seen[1], seen[2], strict=True))


def test_pages_while_nothing_changes(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The root's page and status.json are written each minute, a company's page each quarter of an hour.

    That the inbox was polled again is no change. Each page warns only when it is older than that.
    """
    paths = [world.root / name for name in ("STATUS.html", "status.json", "acme/STATUS.html")]
    with locked_state(world.state) as journal:
        daemon = Daemon(world.configuration(), journal, stopped=threading.Event(), log=world._log, watch=False)
        daemon.run_once(lambda _daemon: None)
        status_file, seen = StatusFile(daemon.config, journal, world._log), [[0, 0, 0]]
        for passed in (0, 60, 0, 900):
            begun = time.monotonic()
            monkeypatch.setattr(
                time, "monotonic", partial(lambda shift, clock: clock() + shift, passed, time.monotonic)
            )
            report = daemon.report()
            polled = report.made + timedelta(seconds=passed)
            accounts = [replace(account, inbox=replace(account.inbox, last_poll=polled)) for account in report.accounts]
            write_now(status_file, replace(report, accounts=tuple(accounts)))
            seen.append([path.stat().st_ino for path in paths])
            assert time.monotonic() >= begun + passed
    is_written = [[now != before for now, before in zip(*pair, strict=True)] for pair in itertools.pairwise(seen)]
    assert is_written == [[True] * 3, [True, True, False], [False] * 3, [True] * 3]
    warns = [re.search(r'data-old="(\d+)"', path.read_text("utf-8")) for path in (paths[0], paths[2])]
    assert [int(found[1]) for found in warns if found] == [5, 20]


@pytest.mark.parametrize(
    ("common", "own", "whole"),
    [("400d", "400d", ["400 days"]), ("forever", "90d", ["90 days"]), ("400d", "90d", ["400 days", "90 days"])],
)
def test_how_long_the_archive_is_kept(
    make_world: Callable[..., World], common: str, own: str, whole: list[str]
) -> None:
    """Where old months are removed, each page says for its companies that their documents are no longer known."""
    companies = {"fjord": f"{{participants: [], keep: {{archive: {own}}}}}"}
    world = make_world(companies=companies, more=f"keep: {{archive: {common}}}\n")
    report(world)
    pages = {name: text_of(world.root / name / "STATUS.html") for name in ("", "acme", "fjord")}
    kept = {name: re.findall(r"The archive is kept for (.+?)\.", page) for name, page in pages.items()}
    assert kept == {"": whole, "acme": whole[:1] if common != "forever" else [], "fjord": whole[-1:]}
    assert (f"fjord: The archive is kept for {whole[-1]}" in pages[""]) is (common != own)


def test_other_party_and_readable_page(make_world: Callable[..., World]) -> None:
    """The other party's name stands beside its id; a received document links to its page while that is there."""
    world = make_world(companies={"acme": f"{{participants: ['{SELLER}'], readable: html}}"})
    world.drop("fine.xml", invoice("1"))
    number = world.receive(order("3", receiver=SELLER))
    world.settle()
    report(world)
    (received,) = world.inbound.glob("*.xml")
    text, html = text_of(world.root / "STATUS.html"), (world.root / "STATUS.html").read_text(encoding="utf-8")
    assert f"fine.xml Invoice 1 Kjøper Kommune {BUYER} delivered" in text
    assert f"{received.name} Order 3 Kjøper Kommune {BUYER} {number}" in text
    page = received.with_suffix(".html")
    assert page.exists()
    assert f'<a href="acme/inbound/{page.name}">{received.name}</a>' in html
    assert f'<a href="inbound/{page.name}">' in (world.root / "acme" / "STATUS.html").read_text(encoding="utf-8")
    page.unlink()
    report(world)
    assert page.name not in (world.root / "STATUS.html").read_text(encoding="utf-8")


def test_counts_that_are_0_have_no_column(make_world: Callable[..., World]) -> None:
    """A count that is 0 for every company isn't shown; without any count, a sentence says so."""
    world = make_world(companies={"globex": "{participants: []}"})
    report(world)
    text = text_of(world.root / "STATUS.html")
    assert "Nothing is waiting, on its way or to be taken." in text
    assert "Stuck" not in text
    world.drop("nobody.xml", invoice("1", receiver=None))
    report(world)
    assert "Company Failed acme 1 globex The last 14 days" in text_of(world.root / "STATUS.html")


def test_a_companys_page_has_no_commands(make_world: Callable[..., World]) -> None:
    """A company's page says what its people can do, and has no command, no key and nothing for administrators."""
    world = make_world(outbound={"doubt": "1h", "incomplete_after": "1h"}, deliver_after=3600)
    world.drop("nobody.xml", invoice("1", receiver=None))
    world.drop("fine.xml", invoice("2"))
    world.drop("half.xml", invoice("3")[:500])
    world.receive(b"no XML at all")
    report(world)
    world.front.close()
    world.drop("waits.xml", invoice("4"))
    report(world)
    everything, own = (text_of(folder / "STATUS.html") for folder in (world.root, world.root / "acme"))
    assert "filedrop retry acme nobody.xml" in everything
    assert "filedrop read 1" in everything
    assert not re.search(r"filedrop (run|retry|read|resolve|service|--config)\b|outbound\.|inbound\.|MSG_NO|sudo", own)
    assert "Read the note of each file, and do what it says." in own
    assert "1 message can't be fetched" in own
    assert "filedrop isn't running Tell your administrator; your files wait, nothing is lost." in own


def test_guide_on_a_companys_page(make_world: Callable[..., World]) -> None:
    """A company's page ends with the manual's page for its people, closed, in their language; the root's has none."""
    world = make_world(companies={"acme": f'{{participants: ["{SELLER}"], language: nb}}'})
    report(world)
    shown = (world.root / "acme" / "STATUS.html").read_text("utf-8")
    title, text = guide.in_html("nb")
    assert f'<details class="guide">\n<summary>{title}</summary>\n{text}\n</details>' in shown
    assert title == "For regnskapsførere"
    assert "<details" not in (world.root / "STATUS.html").read_text("utf-8")


def test_hold_file_on_a_companys_page(world: World) -> None:
    """A company's page names the hold file as it is spelled, so that its people find and delete it."""
    (world.outbound / "hold.txt").touch()
    world.drop("invoice.xml", invoice("1"))
    page = world.root / "acme" / "STATUS.html"
    with world.daemon():
        world.until(lambda: f"hold.txt is in {world.outbound}; filedrop sends nothing from there" in text_of(page))


def test_the_administrator_has_been_told(make_world: Callable[..., World]) -> None:
    """A company's page says so only of what an alert has reported."""
    world = make_world()
    world.receive(b"no XML at all")
    with locked_state(world.state) as journal:
        daemon = Daemon(world.configuration(), journal, stopped=threading.Event(), log=world._log, watch=False)
        daemon.run_once(lambda _daemon: None)
        for reported, says in (
            (frozenset(), "Tell your administrator; nothing is lost"),
            (frozenset({Key("stuck", "acme")}), "Your administrator has been told; nothing is lost"),
        ):
            file = StatusFile(daemon.config, journal, world._log, reported=lambda reported=reported: reported)
            write_now(file, daemon.report())
            assert says in text_of(world.root / "acme" / "STATUS.html")
