"""Turns file events into wake(): the only room that knows watchdog.

Events only say "look there now". What they say of a file is worth one thing more: that its writer has closed it, or
moved it in, and written nothing since. They may be lost, so nothing depends on them; scans find the same, later.
"""

from __future__ import annotations

import os
import sys
import threading
from typing import TYPE_CHECKING

from filedrop.disk import file_system
from filedrop.names import HOLDS

if TYPE_CHECKING:
    from pathlib import Path

    import structlog
    from watchdog.events import FileSystemEvent
    from watchdog.observers.api import BaseObserver, ObservedWatch

    from filedrop.config import Watch
    from filedrop.lane import Lane


def mode(path: Path, wanted: Watch) -> tuple[Watch, str]:
    """`events` or `scan` for a folder, and why (contract 1, `watch: auto`)."""
    if wanted != "auto":
        return wanted, f"the configuration says watch: {wanted}"
    lies_on = file_system(path)
    if lies_on.network:
        return (
            "scan",
            f"it lies on a network file system ({lies_on.kind or 'unknown'}), which tells no events of other machines",
        )
    return "events", f"it lies on a local file system ({lies_on.kind or 'unknown'})"


class Watcher:
    """Watches outbound folders and wakes their lanes."""

    def __init__(self, log: structlog.stdlib.BoundLogger) -> None:
        self._log = log
        self._observer: BaseObserver | None = None
        self._starting = threading.Lock()
        self._told: dict[Lane, Watch] = {}
        self._watches: dict[Lane, tuple[int, ObservedWatch]] = {}

    def watch(self, lane: Lane) -> bool:
        """Watch this folder, anew if it was removed and made again. False: only scans will find its files."""
        path = lane.folder.path
        if lane not in self._told:
            self._told[lane], why = mode(path, lane.watch)
            self._log.info(
                "folder.watched", company=lane.folder.company, folder=str(path), how=self._told[lane], why=why
            )
        if self._told[lane] == "scan":
            return False
        try:
            inode = path.stat().st_ino
        except OSError:
            return False
        known = self._watches.get(lane)
        if known is not None and known[0] == inode:
            return True
        try:
            observer = self._observing()
            if known is not None:
                observer.unschedule(known[1])
                del self._watches[lane]
            watch = observer.schedule(_Wakes(lane), os.fspath(path), event_filter=_events())  # type: ignore[arg-type] # it has the one method that is called
        except OSError as error:
            why = (
                f"files are found by scanning alone, every `rescan`: no file events ({error.strerror or error}); raise "
                "fs.inotify.max_user_watches or fs.inotify.max_user_instances (sysctl)"
            )
            if lane.unwatched != why:  # each sweep tries again
                self._log.warning("folder.scanned", company=lane.folder.company, folder=str(path), why=why)
            lane.unwatched = why
            return False
        lane.unwatched = ""
        self._watches[lane] = (inode, watch)
        lane.look_now()  # what came before the watch began
        return True

    def _observing(self) -> BaseObserver:
        """The observer, which begins with the first folder. Raises OSError where the system has none to give."""
        with self._starting:
            if self._observer is None:
                observer = _observer()
                observer.daemon = True
                observer.start()
                self._observer = observer  # only now: `close` may come at any moment, and joins it
            return self._observer

    def close(self) -> None:
        """Stop watching."""
        if self._observer is not None:
            self._observer.stop()
            self._observer.join(5)


if sys.platform == "linux":

    def _observer() -> BaseObserver:
        # start-up: not every command watches
        from watchdog.observers.inotify import InotifyObserver  # noqa: PLC0415
        from watchdog.observers.inotify_move_event_grouper import InotifyMoveEventGrouper  # noqa: PLC0415

        # It would hold back whatever comes after a file that left the folder, as each does that we claim, to see where
        # to: half a second that an invoice would lie there for nothing.
        InotifyMoveEventGrouper.delay = 0.0
        # Without full events, a file that is moved in from elsewhere looks like one that is just being begun.
        return InotifyObserver(generate_full_events=True)

else:

    def _observer() -> BaseObserver:
        from watchdog.observers import Observer  # noqa: PLC0415 - likewise

        return Observer()


def _events() -> list[type[FileSystemEvent]]:
    """Those that say something. Opening, and closing without writing, do not: our own reading makes such events."""
    from watchdog import events  # noqa: PLC0415 - likewise

    return [
        events.FileCreatedEvent,
        events.FileModifiedEvent,
        events.FileClosedEvent,
        events.FileMovedEvent,
        events.FileDeletedEvent,
    ]


class _Wakes:
    """What watchdog calls."""

    def __init__(self, lane: Lane) -> None:
        self._lane = lane
        self._folder = os.fspath(lane.folder.path)

    def dispatch(self, event: FileSystemEvent) -> None:
        """One event. It does no work here: an exception would end watchdog's thread."""
        _, name = os.path.split(os.fsdecode(event.src_path or ""))
        folder, into = os.path.split(os.fsdecode(event.dest_path or ""))
        lane = self._lane
        match event.event_type:
            case "modified":  # a later write cancels what was closed; waking is left to the end of the writing
                lane.closed.discard(name)
            case "created":
                lane.closed.discard(name)
                lane.look_now(name)
            case "closed":
                lane.was_closed(name)
            case "moved" if folder == self._folder:
                lane.was_closed(into)
            case "moved" | "deleted" if name in HOLDS:
                lane.look_now()
            case _:
                pass
