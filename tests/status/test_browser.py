"""The page in a real browser: nothing is out of sight, all can be read, and nothing in it is more than text."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from support.browser import Browser, started
from support.documents import SELLER, invoice, order
from support.status import write_now

from filedrop.daemon.daemon import Daemon
from filedrop.process.lock import locked_state
from filedrop.status import status_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.world import World

pytestmark = pytest.mark.slow
HTML = """<img src=x onerror="alert(1)"> & <b>'quotes'.xml"""
LONG = f"{'x' * 196}.xml"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started() as browser:
        yield browser


def written(world: World) -> None:
    """Have all done that is there, and the pages written."""
    with locked_state(world.state) as journal:
        daemon = Daemon(world.configuration(), journal, stopped=threading.Event(), log=world._log, watch=False)
        daemon.run_once(lambda _daemon: None)
        status_file.StatusFile(daemon.config, journal, world._log).close(daemon.report())


@pytest.mark.parametrize("failed", [0, 3, 500])
def test_what_is_seen(make_world: Callable[..., World], browser: Browser, failed: int) -> None:
    """On a phone and a screen, by day and by night: nothing is cut off, faint, or without a name."""
    world = make_world(companies={"globex": "{participants: []}"}, deliver_after=3600)
    names = [HTML, LONG, *(f"nobody-{number}.xml" for number in range(failed))][:failed]
    for number, name in enumerate(names):
        world.drop(name, invoice(f"n{number}", receiver=None))
    for number in range(3):
        world.drop(f"fine-{number}.xml", invoice(str(number)))
    world.receive(order("4", receiver=SELLER))
    written(world)
    problems = []
    for file in (world.root / "STATUS.html", world.root / "acme" / "STATUS.html"):
        for width in (390, 1280):
            for scheme in ("light", "dark"):
                browser.open(file, width=width, scheme=scheme)
                browser.run("document.querySelectorAll('details').forEach(part => { part.open = true })")
                problems += [f"{file.parent.name} {width} {scheme}: {problem}" for problem in browser.problems()]
    assert not problems
    text = browser.text()
    assert "filedrop isn't running." in text
    assert (f"{failed} failed" in text.partition("The last 14 days")[0]) == bool(failed)
    if failed:
        assert HTML in text or failed > 20  # the newest are named
        assert browser.run("return document.images.length") == 0
        assert browser.run("return [...document.querySelectorAll('.why a')].map(a => a.getAttribute('href'))")[0]
    assert ("and 480 more" in text) == (failed == 500)


def test_an_old_page_says_so(world: World, browser: Browser) -> None:
    """A page that no daemon has written for minutes warns; one of a daemon that was stopped says that anyway."""
    written(world)
    file = world.root / "STATUS.html"
    stale = "const box = document.getElementById('stale'); return box.hidden ? '' : box.textContent"
    browser.open(file)
    assert not browser.run(stale)
    with locked_state(world.state) as journal:
        daemon = Daemon(world.configuration(), journal, stopped=threading.Event(), log=world._log, watch=False)
        write_now(status_file.StatusFile(daemon.config, journal, world._log), daemon.report())
    html = file.read_text(encoding="utf-8")
    browser.open(file)
    assert not browser.run(stale)
    old = datetime.now().astimezone() - timedelta(minutes=7)
    begin, _, rest = html.partition('data-written="')
    file.write_text(f'{begin}data-written="{old.isoformat()}"{rest.partition(chr(34))[2]}', encoding="utf-8")
    browser.open(file)
    assert browser.run(stale).startswith("This page is 7 minutes old: filedrop isn't running")
    assert browser.problems() == []


def test_nothing_else_is_run(world: World, browser: Browser) -> None:
    """What somebody adds to the page is neither run nor fetched: its policy forbids that."""
    written(world)
    file = world.root / "STATUS.html"
    added = "<script>document.title = 'theirs'</script><style>h1 { display: none }</style></body>"
    file.write_text(file.read_text(encoding="utf-8").replace("</body>", added), encoding="utf-8")
    browser.open(file)
    assert browser.run("return document.title") != "theirs"
    assert browser.run("return getComputedStyle(document.querySelector('h1')).display") == "flex"
    assert any("Content Security Policy" in problem for problem in browser.problems())


def test_in_print_no_state_and_no_participant_is_broken(world: World, browser: Browser) -> None:
    """On A4 each state and each ParticipantID stands in one line, and the tables within the page."""
    for number in range(3):
        world.drop(f"invoice-of-a-customer-{number}-with-a-long-long-name.xml", invoice(f"INV-2026-000{number}"))
    world.receive(order("4", receiver=SELLER))
    world.settle()
    written(world)
    browser.open(world.root / "STATUS.html", width=740, media="print")
    lines = """return [...document.querySelectorAll('.lately .id, .lately .state')].map(cell => {
        const range = document.createRange(); range.selectNodeContents(cell); return range.getClientRects().length })"""
    assert browser.run(lines) == [1] * 7
    assert browser.run("return document.documentElement.scrollWidth") <= 740


def test_the_filter(world: World, browser: Browser) -> None:
    """What is typed hides all rows without it; without script there is no box, and everything is shown."""
    for number in range(3):
        world.drop(f"nobody-{number}.xml", invoice(f"n{number}", receiver=None))
        world.drop(f"fine-{number}.xml", invoice(str(number)))
    world.settle(ends=("archive", "failed"))
    written(world)
    browser.open(world.root / "STATUS.html")
    assert {"nobody-1.xml", "fine-1.xml", "fine-2.xml"} <= set(browser.text().split())
    kind = """const box = document.getElementById('words'); box.value = 'FINE-1';
        box.dispatchEvent(new Event('input')); return document.getElementById('found').textContent"""
    assert browser.run(kind) == "1 found"
    seen = set(browser.text().split())
    assert "fine-1.xml" in seen
    assert not {"nobody-1.xml", "fine-2.xml"} & seen
    assert browser.problems() == []


def test_what_stays_while_the_page_is_refreshed(world: World) -> None:
    """Words in the box, and the open page for accountants, keep no page from being refreshed, and stay as they are."""
    world.drop("fine.xml", invoice("1"))
    world.drop("other.xml", invoice("2"))
    world.settle()
    file = world.root / "acme" / "STATUS.html"
    with locked_state(world.state) as journal, started() as browser:  # a browser of its own, whose clock is fast
        daemon = Daemon(world.configuration(), journal, stopped=threading.Event(), log=world._log, watch=False)
        write_now(status_file.StatusFile(daemon.config, journal, world._log), daemon.report())
        browser.hurry()
        browser.open(file)
        browser.run(
            """const box = document.getElementById('words'); box.focus(); box.value = 'fine.xml';
            box.dispatchEvent(new Event('input')); document.querySelector('details').open = true"""
        )
        file.write_text(file.read_text("utf-8").replace("fine.xml", "fine.xml of today"), "utf-8")
        world.until(lambda: "fine.xml of today" in browser.text())
        assert browser.run("return document.getElementById('words').value") == "fine.xml"
        assert "other.xml" not in browser.text()
        assert browser.run("return document.getElementById('found').textContent") == "1 found"
        assert browser.run("return document.querySelector('details').open")


@pytest.mark.parametrize("width", [390, 1280, 1920])
def test_no_word_is_broken(world: World, browser: Browser, width: int) -> None:
    """States, ids, times and numbers stand in one line each, however long a file's and a party's name are."""
    world.drop(LONG, invoice("1").replace("Kjøper Kommune".encode(), f"{'Kommune' * 20}".encode()))
    world.drop("fine.xml", invoice("2"))
    world.settle()
    written(world)
    browser.open(world.root / "STATUS.html", width=width)
    lines = """return [...document.querySelectorAll('.id, .state, .lately time, .number, thead th')]
        .map(cell => { const range = document.createRange(); range.selectNodeContents(cell);
        return new Set([...range.getClientRects()].map(box => Math.round(box.bottom / 8))).size })"""
    assert set(browser.run(lines)) <= {0, 1}
    assert browser.run("return document.documentElement.scrollWidth") <= width
