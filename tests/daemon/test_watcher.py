"""Folders that are watched, and removed or unmounted meanwhile."""

from __future__ import annotations

import itertools
import queue
import sys
from contextlib import closing, contextmanager, suppress
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
import structlog
from support.disks import mounted

from filedrop.daemon.watcher import Watcher

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def context(folder: Path, heard: queue.SimpleQueue[str]) -> Any:
    """As much of a folder's context as a watcher asks for; `heard` gets the names of its files."""
    scanner = SimpleNamespace(look_now=lambda name="": heard.put(name), is_written=heard.put, was_closed=heard.put)
    health = SimpleNamespace(trouble="", unwatched="")
    return SimpleNamespace(folder=SimpleNamespace(path=folder, company="acme"), health=health, scanner=scanner)


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
    folder, heard = tmp_path / "outbound", queue.SimpleQueue[str]()
    at = context(folder, heard)
    with closing(Watcher(structlog.wrap_logger(structlog.testing.CapturingLogger()))) as watcher:
        with there(folder):
            watcher.watch(at, "events")
        with there(folder):
            name = ""
            for number in itertools.count():  # until the system has told of the end
                watcher.watch(at, "events")
                (folder / f"{number}.xml").touch()
                with suppress(queue.Empty):
                    while not (name := heard.get(timeout=0.1)):
                        pass
                if name:
                    break
            for file in folder.iterdir():
                file.unlink()
