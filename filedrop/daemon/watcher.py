"""Turns file events into letters to the workers in the folders; the only module that knows watchdog.

An event only says where to look, and one thing more of a file: that its writer has closed it or moved it in, and has
written nothing since. (Windows reports no closing; there, `files.is_closed` asks.) Events may be lost, and nobody is
told of what other computers do on a share, so nothing depends on them: scans find the same files later. Whether any
come from a folder is tried, with a hidden file.

Each watched folder takes a thread of watchdog's. Where the system has few, most are for the work: the other folders
are scanned.
"""

from __future__ import annotations

import errno
import os
import queue
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from filedrop.files import create_temporary, discard
from filedrop.files.directory import literal
from filedrop.files.disk import file_system
from filedrop.outbound.mailbox import Closed, Touched, Written
from filedrop.storage.hold import is_hold_name

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import structlog
    from watchdog.events import FileSystemEvent
    from watchdog.observers.api import BaseObserver, EventEmitter, ObservedWatch

    from filedrop.config import Watch
    from filedrop.outbound.mailbox import FileEvent
    from filedrop.storage.folder import Folder


SPARE = 10  # threads that are left for requests, status and pages
RAISE_THREADS = "raise the limit of threads (pids of the container, TasksMax of the service, or ulimit -u)"
EVENT_WITHIN = 5.0  # seconds: an event takes a thousandth, on a busy computer more
_TELLS_CLOSING = _WATCHES_SHARES = sys.platform != "win32"


def mode(path: Path, wanted: Watch) -> tuple[Watch, str]:
    """`events` or `scan` for a folder, and why (contract 1, `watch: auto`)."""
    if wanted != "auto":
        return wanted, f"the configuration says watch: {wanted}"
    lies_on = file_system(path)
    kind = lies_on.kind or "unknown"
    if lies_on.local:
        return "events", f"it is on a local file system ({kind})"
    why = f"events from other computers aren't seen here ({kind}): their files are found by scanning, every `rescan`"
    return ("events" if _WATCHES_SHARES else "scan"), why


class Watcher:
    """Watches outbound folders. Thread-safe. `is_closed`: it never watches any, so that scans alone find the files."""

    def __init__(self, log: structlog.stdlib.BoundLogger, *, is_closed: bool = False) -> None:
        self._log = log
        self._observer: BaseObserver | None = None
        self._starting = threading.Lock()
        self._is_closed = is_closed
        self._most, self._is_limited = 0, False  # so many threads at once the system has had, and has no more

    def watch_of(self, folder: Folder, wanted: Watch) -> FolderWatch:
        """The watch of one folder, which has not begun."""
        return FolderWatch(self, folder, wanted, self._log)

    @property
    def is_closed(self) -> bool:
        """Whether it is closed: it can't be started again."""
        return self._is_closed

    def observing(self) -> BaseObserver:
        """The observer, which starts with the first folder. Raises OSError where the system has none left.

        Nor is a folder watched, where too few threads would be left for all else.
        """
        with self._starting:
            if not self._has_left(2 * SPARE):
                raise OSError(errno.EAGAIN, "too few threads are left")
            if self._observer is None:
                observer = _observer()
                observer.daemon = True
                observer.start()
                self._observer = observer  # last: `close` may run at any moment, and joins it
            return self._observer

    def end(self, watch: ObservedWatch) -> None:
        """Watch a folder no longer."""
        if self._observer is not None and not self._is_closed:
            with suppress(KeyError):  # it has ended, or the watcher is just being closed
                self._observer.unschedule(watch)

    def tick(self) -> None:
        """Watch fewer folders where too few threads are left for all else. Called each second."""
        if self._observer is not None and self._observer.emitters and not self._has_left(SPARE):
            for emitter in [*self._observer.emitters.copy()][:SPARE]:
                self.end(emitter.watch)

    def _has_left(self, number: int) -> bool:
        """Whether the system has so many threads more. They are started, until its limit is known."""
        count = threading.active_count()
        if count + number > self._most and not self._is_limited:
            more = startable(4 * SPARE)  # more, so that not each folder asks
            self._most, self._is_limited = count + more, more < 4 * SPARE
        return count + number <= self._most

    def close(self) -> None:
        """Stop watching."""
        self._is_closed = True
        if self._observer is not None:
            self._observer.stop()
            self._observer.join(5)


class FolderWatch:
    """The watch of one folder. For the worker in it alone."""

    def __init__(self, watcher: Watcher, folder: Folder, wanted: Watch, log: structlog.stdlib.BoundLogger) -> None:
        self._watcher = watcher
        self._folder = folder
        self._wanted = wanted
        self._log = log.bind(company=folder.company, folder=str(folder.path))
        self._mode: Watch | None = None
        self._watch: ObservedWatch | None = None
        self._emitter: EventEmitter | None = None  # the thread of watchdog's that serves the watch
        self._inode = 0  # of the folder that is watched
        self._why_not = ""

    def begin(self, put: Callable[[FileEvent], None], *, was_away: bool) -> str:
        """Have the folder's events `put`, again if it was removed and created again.

        Returns why it can't be watched, so that scans alone find its files; "" where it is, or isn't to be.
        """
        path = self._folder.path
        if self._watcher.is_closed:
            return self._why_not
        if self._mode is None:
            self._mode, why = mode(path, self._wanted)
            self._log.info("folder.watched", how=self._mode, why=why)
        if self._mode == "scan":
            return ""
        try:
            inode = os.stat(literal(path)).st_ino  # noqa: PTH116 - a text for the system
        except OSError:
            return self._why_not
        # A folder that was away, for a moment, too, has lost its watch, and may have its inode again. One that
        # was moved keeps its watch, by the old path (tests/findings/watchdog-moved-folder.sh).
        if self._watch and self._inode == inode and not was_away and self.is_watched():
            return ""
        try:
            observer = self._watcher.observing()
            self.end()
            # The path may be a link (tests/findings/watchdog-link.sh).
            reports, watched = _Reports(put, path), literal(path)
            self._watch = observer.schedule(reports, watched, event_filter=_events(), follow_symlink=True)  # type: ignore[arg-type] # it has the one method that is called
            self._emitter = next(each for each in observer.emitters.copy() if each.watch == self._watch)
            self._see_event(reports)
        except OSError as error:
            self.end()
            remedy = _REMEDIES.get(error.errno or 0, "")
            lacks = error.strerror or error
            why = f"files are found by scanning alone, every `rescan`: no file events ({lacks}){remedy}"
            if self._why_not != why:  # each scan tries again: logged once
                self._log.warning("folder.scanned", why=why)
            self._why_not = why
            return why
        self._inode, self._why_not = inode, ""
        put(Touched())  # for files from before the watch
        return ""

    def is_watched(self) -> bool:
        """Whether the system still watches; it ends that when the folder is removed or unmounted."""
        return self._emitter is not None and _watches(self._emitter)

    def _see_event(self, reports: _Reports) -> None:
        """Make a file, of which an event must come. Raises OSError where none does."""
        try:
            probe = self._folder.at().draft()
            reports.probe = probe.name
            create_temporary(probe).close()
            discard(probe)
        except OSError:  # nothing can be made there now
            return
        if not reports.has_come.wait(EVENT_WITHIN):
            raise OSError(errno.ETIMEDOUT, "a file that was made there raised none")

    def end(self) -> None:
        """Watch the folder no longer."""
        watch, self._watch, self._emitter = self._watch, None, None
        if watch is not None:
            self._watcher.end(watch)


def startable(number: int) -> int:
    """How many threads more the system has, this number at most."""
    end, started = threading.Event(), list[threading.Thread]()
    with suppress(RuntimeError):
        while len(started) < number:
            thread = threading.Thread(target=end.wait, name="spare", daemon=True)
            thread.start()
            started.append(thread)
    end.set()
    for thread in started:
        thread.join()
    return len(started)


_REMEDIES = {errno.EAGAIN: f"; each watched folder takes one: {RAISE_THREADS}, and restart filedrop"}

if sys.platform == "linux":
    _INOTIFY = "; raise fs.inotify.max_user_watches or fs.inotify.max_user_instances (sysctl)"
    _REMEDIES |= {errno.ENOSPC: _INOTIFY, errno.EMFILE: _INOTIFY}

    def _observer() -> BaseObserver:
        # Imported late to start fast: not every command watches.
        from watchdog.observers.inotify import InotifyObserver  # noqa: PLC0415
        from watchdog.observers.inotify_move_event_grouper import InotifyMoveEventGrouper  # noqa: PLC0415

        # Else events wait for half a second after each claim (tests/findings/watchdog-move-out.sh).
        InotifyMoveEventGrouper.delay = 0.0
        # Without full events, a file that is moved in looks like one that is still being written.
        return InotifyObserver(generate_full_events=True)

elif sys.platform == "win32":

    def _observer() -> BaseObserver:
        from watchdog.observers import api, read_directory_changes, winapi  # noqa: PLC0415 - not every command watches

        class Reader(winapi.DirectoryChangeReader):
            def get_events(self, timeout: float) -> list[winapi.WinAPINativeEvent]:
                # watchdog's waits until nothing has come for a second: this, until something has come.
                with suppress(queue.Empty):
                    self._buf_queue.queue.appendleft(self._buf_queue.get(timeout=timeout))
                return super().get_events(0)

        class Emitter(read_directory_changes.WindowsApiEmitter):
            def on_thread_start(self) -> None:
                self._reader = reader = Reader(self.watch.path, recursive=False)
                try:
                    reader.start()
                except queue.Empty:  # it has ended before it began
                    raise OSError(errno.ENOENT, "the folder can't be opened", self.watch.path) from None

        return api.BaseObserver(Emitter)

else:

    def _observer() -> BaseObserver:
        from watchdog.observers import Observer  # noqa: PLC0415 - not every command watches

        return Observer()


def _watches(emitter: EventEmitter) -> bool:
    """Whether a thread of watchdog's still receives events: tests/findings/watchdog-unmount.sh."""
    group = getattr(emitter, "_inotify", None)  # Linux's; nothing public tells
    return emitter.is_alive() and bool(getattr(group, "_active_callbacks_by_watch", True))


def _events() -> list[type[FileSystemEvent]]:
    """The events that count. Opening, and closing without writing, are left out: our own reading causes them.

    On Windows, watchdog takes a copy that was given its original's date for a change of attributes.
    """
    from watchdog import events  # noqa: PLC0415 - not every command watches

    return [
        events.FileCreatedEvent,
        events.FileModifiedEvent,
        *([] if _TELLS_CLOSING else [events.FileAttribEvent]),
        events.FileClosedEvent,
        events.FileMovedEvent,
        events.FileDeletedEvent,
    ]


class _Reports:
    """The handler that watchdog calls."""

    def __init__(self, put: Callable[[FileEvent], None], folder: Path) -> None:
        self.probe = ""  # the name of a file of ours
        self.has_come = threading.Event()  # set by an event of that
        self._put = put
        self._folder = literal(folder)

    def dispatch(self, event: FileSystemEvent) -> None:
        """Handle one event, without doing work: an exception ends all watches (tests/findings/watchdog-handler.sh)."""
        _, name = os.path.split(os.fsdecode(event.src_path or ""))
        if name == self.probe:
            self.has_come.set()
            return
        folder, into = os.path.split(os.fsdecode(event.dest_path or ""))
        put = self._put
        match event.event_type:
            case "modified" if _TELLS_CLOSING:  # a write cancels an earlier close; the end of the writing wakes
                put(Written(name))
            case "created" | "modified" | "attrib":
                put(Touched(name))
            case "closed":
                put(Closed(name))
            case "moved" if folder == self._folder:
                put(Closed(into))
            case "moved" | "deleted" if is_hold_name(name):
                put(Touched())
