"""The system has no thread for a moment: what one was for is done when there is one, and nothing is concluded."""

from __future__ import annotations

import os
import sys
import threading
from collections import Counter
from contextlib import suppress
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from support.documents import invoice
from support.sharing import SHARE
from support.stepping import RULES, Life
from support.world import events

from filedrop.alerts.teller import Teller
from filedrop.daemon.daemon import Daemon
from filedrop.files import trial
from filedrop.files.patience import within
from filedrop.process.lock import locked_state
from filedrop.status.folders import FolderSurvey
from filedrop.status.page_file import _PageFile
from filedrop.status.status_file import NAME, StatusFile

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from support.stepping import Clock
    from support.world import World

    Without = Callable[[str], AbstractContextManager[None]]

ANYBODY = 61234  # a user who has no other process


def test_a_survey(world: World, without_threads: Without) -> None:
    """A folder for which there was no thread isn't said to hang for ever: the next survey looks into it."""
    world.run_once()
    survey = FolderSurvey(world.configuration(), None, ages=True)
    with without_threads(""):
        said = {one.trouble for one in survey.look().values()}
    assert said == {"it can't be checked now: the system has no free thread"}
    assert [one.trouble for one in survey.look().values()] == ["", ""]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="only root makes a user with few threads")
def test_more_folders_than_threads(make_world: Callable[..., World]) -> None:
    """80 companies with 50 threads: all documents are sent, and page and `check` say why most folders are scanned."""
    names = [f"company-{number}" for number in range(80)]
    world = make_world(companies=dict.fromkeys(names, "{participants: []}"))
    for name in names:
        (world.root / name / "outbound").mkdir(parents=True)
        (world.root / name / "outbound" / "invoice.xml").write_bytes(invoice(name))
    rights = "+dac_override,+fowner"
    user = ("setpriv", f"--reuid={ANYBODY}", "--clear-groups", f"--inh-caps={rights}", f"--ambient-caps={rights}")
    limit = ("prlimit", "--nproc=50")
    with world.daemon(under=(*limit, *user)) as daemon:
        world.until(lambda: len([*world.root.glob("*/outbound/archive/*/invoice.xml")]) == len(names))
        world.until(lambda: "raise the limit of threads" in (world.root / "STATUS.html").read_text())
        world.stop(daemon)
    assert world.accepted() == Counter({"?": len(names)})
    assert not events(world, "work.failed")
    assert "of 81 folders; the others are scanned" in world.process("check", under=(*limit, *user)).stdout


def test_a_page(tmp_path: Path, world: World, without_threads: Without) -> None:
    """A page for which there was no thread is written the next time."""
    page = _PageFile(tmp_path, "", None, world._log)  # type: ignore[arg-type] # only a company's asks it
    with without_threads(""), suppress(OSError):
        page.write({}, b"1")  # type: ignore[typeddict-item]
    assert page.is_due("news")


def test_a_stop(world: World, without_threads: Without) -> None:
    """A stop, or a reload, goes on where there is no thread, or was none for status.json just before."""
    with locked_state(world.state) as journal:
        config = world.configuration()
        daemon = Daemon(config, journal, stopped=threading.Event(), log=world._log, watch=False)
        status_file = StatusFile(config, journal, world._log)
        daemon.start()
        with without_threads(NAME), suppress(RuntimeError):
            status_file.report(daemon.report())
        with without_threads("folders-end"):
            daemon.close()
        with without_threads(NAME):
            assert status_file.close(daemon.report()) is None
        assert status_file.close(daemon.report())


def test_a_call_with_a_limit(without_threads: Without) -> None:
    """A call that no thread can make fails as one that the disk refuses: its callers expect nothing else."""
    with without_threads(""), pytest.raises(OSError, match="no thread"):
        within(1.0, lambda: None)


def test_calls_with_a_limit() -> None:
    """One thread makes them one after the other; a call that hangs holds up none, and its thread is used again."""
    ended = threading.Event()
    with pytest.raises(TimeoutError):
        within(0.01, ended.wait)
    first = {within(60.0, threading.get_ident) for _ in range(10)}
    ended.set()
    assert len(first) == 1
    assert len(first | {within(60.0, threading.get_ident) for _ in range(10)}) <= 2


def test_what_a_call_with_a_limit_raises() -> None:
    """An error that nobody foresaw is raised as itself: it was told as a folder that doesn't answer."""
    with pytest.raises(ZeroDivisionError):
        within(60.0, lambda: 1 // 0)


def test_alerts(world: World, without_threads: Without) -> None:
    """Alerts for which there was no thread at the start are begun later, instead of never, without a word."""
    config = world.configuration()
    figures = config.metrics.model_copy(update={"textfile": world.base / "figures"})
    teller = Teller(config.model_copy(update={"metrics": figures}), SimpleNamespace(), world._log)  # type: ignore[arg-type]
    with without_threads(""), suppress(RuntimeError):
        teller.report(SimpleNamespace())  # type: ignore[arg-type]
    assert teller._loop is None


def test_no_thread_to_look_for_hold(
    make_world: Callable[..., World], clock: Clock, monkeypatch: pytest.MonkeyPatch, without_threads: Without
) -> None:
    """On a network share, a document whose sender had no thread to look for HOLD was never posted: no doubt."""
    monkeypatch.setattr(trial, "file_system", lambda _: SHARE)
    world = make_world(outbound=RULES, inbound={"poll": "5m"}, clock=clock.true)
    life = Life(world, clock)
    life.go_on(10)
    with without_threads("patience"):
        life.take(world, "a.xml")
    (document,) = life.journal.documents.called("a.xml", "a.xml")
    assert document.unclear == 0
    life.go_on(600)
    assert world.places()["a.xml"].startswith("archive/")
    life.stop()
