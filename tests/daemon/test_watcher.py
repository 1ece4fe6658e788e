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

from filedrop.daemon.watcher import Watcher
from filedrop.outbound.mailbox import Closed, FileEvent
from filedrop.storage.folders import OutboundFolder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


PATIENCE = 90.0  # seconds: bounds only what has gone wrong


@contextmanager
def made(folder: Path) -> Iterator[None]:
    """An empty folder, which is removed after this."""
    folder.mkdir()
    yield
    folder.rmdir()


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
