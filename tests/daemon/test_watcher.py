"""Folders that are watched, and removed or unmounted meanwhile."""

from __future__ import annotations

import itertools
import queue
import sys
import threading
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any

import pytest
import structlog
from support.disks import mounted
from support.holdings import our_holdings
from watchdog.observers.api import ObservedWatch

from filedrop.daemon.watcher import SPARE, Watcher, _observer, mode
from filedrop.files.disk import FileSystem
from filedrop.outbound.mailbox import Closed, FileEvent
from filedrop.storage.company_folders import OutboundFolder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


posix = pytest.mark.skipif(sys.platform == "win32", reason="links take rights on Windows")
PATIENCE = 90.0  # seconds: bounds only what has gone wrong


@contextmanager
def made(folder: Path) -> Iterator[None]:
    """An empty folder, which is removed after this."""
    folder.mkdir()
    yield
    folder.rmdir()


def test_the_private_parts_of_watchdog() -> None:
    """What filedrop uses of watchdog beyond its documentation is there; pyproject.toml bounds the version for that.

    If this fails with a new version, adapt filedrop/daemon/watcher.py before you raise the bound.
    """
    if sys.platform == "win32":
        from watchdog.observers import winapi  # noqa: PLC0415

        assert hasattr(winapi.DirectoryChangeReader("", recursive=False), "_buf_queue"), "winapi: the queue of a reader"
    else:
        from watchdog.observers import inotify, inotify_move_event_grouper  # noqa: PLC0415

        grouper, group = inotify_move_event_grouper.InotifyMoveEventGrouper, inotify.InotifyWatchGroup
        assert hasattr(grouper, "delay"), "inotify_move_event_grouper: the pause after each file that moves out"
        assert "_active_callbacks_by_watch" in group.__dataclass_fields__, "inotify: the watches that still receive"
        observer = _observer()
        assert "_inotify" in vars(observer._emitter_class(queue.Queue(), ObservedWatch(".", recursive=False)))


@pytest.mark.skipif(sys.platform == "win32", reason="what is watched can't be removed and made again at once there")
@pytest.mark.parametrize("there", [made, mounted], ids=["removed", "unmounted"])
def test_a_folder_that_was_away_for_a_moment(tmp_path: Path, there: Any) -> None:
    """What is removed or unmounted is watched again when it is back, also where its inode is what it was."""
    folder, letters = tmp_path / "outbound", queue.SimpleQueue[FileEvent]()
    outbound = OutboundFolder(folder, company="acme", below=tmp_path, patterns=["*.xml"])
    with closing(Watcher(structlog.wrap_logger(structlog.testing.CapturingLogger()))) as watcher:
        watch = watcher.watch_of(outbound, "events")
        with there(folder):
            watch.begin(letters.put, was_away=False)
        with there(folder):
            for number in itertools.count():  # until the system has told of the end
                watch.begin(letters.put, was_away=False)
                (folder / f"{number}.xml").touch()
                with suppress(queue.Empty):
                    while not isinstance(letters.get(timeout=0.1), Closed):
                        pass
                    break
            for file in folder.iterdir():
                file.unlink()


@pytest.mark.parametrize("is_watched", [True, False], ids=["watched before", "for the first time"])
def test_a_look_after_the_end(tmp_path: Path, is_watched: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """A folder that is looked into while filedrop ends, or takes up a changed configuration, isn't watched any more.

    It made each such look fail, or left a thread of watchdog's behind with each reload.
    """
    letters = queue.SimpleQueue[FileEvent]()
    outbound = OutboundFolder(tmp_path, company="acme", below=tmp_path, patterns=["*.xml"])
    watcher = Watcher(structlog.wrap_logger(structlog.testing.CapturingLogger()))
    watch = watcher.watch_of(outbound, "events")
    if is_watched:
        watch.begin(letters.put, was_away=False)
    watcher.close()
    before = threading.active_count()
    watch.begin(letters.put, was_away=False)
    assert threading.active_count() <= before


def test_few_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders are watched while the system has threads for all else; the others are scanned, and say what to raise."""
    start, most = threading.Thread.start, threading.active_count() + 2 * SPARE + 5

    def start_if_any_is_left(thread: threading.Thread) -> None:
        if threading.active_count() >= most:
            raise RuntimeError("can't start new thread")
        start(thread)

    def take(number: int) -> None:
        for _ in range(number):
            threading.Thread(target=ended.wait).start()

    letters, ended = queue.SimpleQueue[FileEvent](), threading.Event()
    paths = [tmp_path / str(number) for number in range(5)]
    for path in paths:
        path.mkdir()
    folders = [OutboundFolder(path, company="acme", below=tmp_path, patterns=["*.xml"]) for path in paths]
    monkeypatch.setattr(threading.Thread, "start", start_if_any_is_left)
    with closing(Watcher(structlog.wrap_logger(structlog.testing.CapturingLogger()))) as watcher:
        watches = [watcher.watch_of(folder, "events") for folder in folders]
        first, *_, last = [watch.begin(letters.put, was_away=False) for watch in watches]
        assert first == ""
        assert "by scanning alone" in last
        assert "raise the limit of threads" in last
        try:
            take(SPARE + 5)
            watcher.tick()
            assert not any(watch.is_watched() for watch in watches)
            assert "by scanning alone" in watches[0].begin(letters.put, was_away=False)
        finally:
            ended.set()


def test_a_folder_that_is_watched_no_longer(tmp_path: Path) -> None:
    """The system has no watch of it any more, no thread is left, and another folder is watched as before."""
    letters, others = queue.SimpleQueue[FileEvent](), queue.SimpleQueue[FileEvent]()
    paths = [tmp_path / "ends", tmp_path / "stays"]
    for path in paths:
        path.mkdir()
    folders = [OutboundFolder(path, company="acme", below=tmp_path, patterns=["*.xml"]) for path in paths]
    with closing(Watcher(structlog.wrap_logger(structlog.testing.CapturingLogger()))) as watcher:
        ends, stays = (watcher.watch_of(folder, "events") for folder in folders)
        stays.begin(others.put, was_away=False)
        before = our_holdings()
        for number in range(3):  # and it may begin again
            ends.begin(letters.put, was_away=False)
            (paths[0] / f"{number}.xml").touch()
            while letters.get(timeout=PATIENCE) != Closed(f"{number}.xml"):
                pass
            ends.end()
            assert our_holdings() == before
            ends.end()
        (paths[0] / "unseen.xml").touch()
        (paths[1] / "seen.xml").touch()
        while others.get(timeout=PATIENCE) != Closed("seen.xml"):
            pass
        assert "unseen.xml" not in {letters.get().name for _ in range(letters.qsize())}


@posix
def test_a_folder_behind_a_link(tmp_path: Path) -> None:
    """The events of a folder come, too, where a symbolic link leads to it."""
    (tmp_path / "disk").mkdir()
    (tmp_path / "outbound").symlink_to(tmp_path / "disk")
    letters = queue.SimpleQueue[FileEvent]()
    outbound = OutboundFolder(tmp_path / "outbound", company="acme", below=tmp_path, patterns=["*.xml"])
    with closing(Watcher(structlog.wrap_logger(structlog.testing.CapturingLogger()))) as watcher:
        assert watcher.watch_of(outbound, "events").begin(letters.put, was_away=False) == ""
        (tmp_path / "elsewhere.xml").touch()
        (tmp_path / "elsewhere.xml").rename(tmp_path / "disk" / "a.xml")
        while letters.get(timeout=PATIENCE) != Closed("a.xml"):
            pass


def test_a_folder_whose_events_stay_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder counts as watched only after an event of it has come; until then, it says that scans find its files."""
    outbound = OutboundFolder(tmp_path, company="acme", below=tmp_path, patterns=["*.xml"])
    letters = queue.SimpleQueue[FileEvent]()
    with closing(Watcher(structlog.wrap_logger(structlog.testing.CapturingLogger()))) as watcher:
        watch = watcher.watch_of(outbound, "events")
        with monkeypatch.context() as patched:
            patched.setattr("filedrop.daemon.watcher.EVENT_WITHIN", 0.1)
            patched.setattr("filedrop.daemon.watcher._events", list)  # none pass
            assert "by scanning alone" in watch.begin(letters.put, was_away=False)
        assert watch.begin(letters.put, was_away=False) == ""
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(sys.platform != "linux", reason="kinds of file systems are Linux's")
@pytest.mark.parametrize(("local", "says"), [(True, "local file system (x)"), (False, "other computers aren't seen")])
def test_how_files_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str, *, local: bool) -> None:
    """Events are used on each file system; where other computers raise none, that is said."""
    monkeypatch.setattr("filedrop.daemon.watcher.file_system", lambda _: FileSystem("x", network=False, local=local))
    how, why = mode(tmp_path, "auto")
    assert how == "events"
    assert says in why
