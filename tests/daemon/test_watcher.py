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

from filedrop.daemon.watcher import Watcher
from filedrop.outbound.mailbox import Closed, FileEvent
from filedrop.storage.folders import OutboundFolder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


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
        with there(folder):
            watcher.watch(outbound, "events", letters.put, was_away=False)
        with there(folder):
            for number in itertools.count():  # until the system has told of the end
                watcher.watch(outbound, "events", letters.put, was_away=False)
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
    if is_watched:
        watcher.watch(outbound, "events", letters.put, was_away=False)
    watcher.close()
    before = threading.active_count()
    watcher.watch(outbound, "events", letters.put, was_away=False)
    assert threading.active_count() <= before
