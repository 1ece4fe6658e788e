"""A glimpse of a folder of the configuration: is it there and ours, and what lies in it? It only looks.

A thread looks at one folder after the other; where one hangs, another thread looks at those behind it.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from filedrop import sidecar
from filedrop.disk import shortage
from filedrop.errors import FolderUnavailable, JournalError
from filedrop.files import may_use
from filedrop.folders import PLACES, InboundFolder, OutboundFolder
from filedrop.marker import MARKER, read_marker, why_outdated
from filedrop.names import HOLDS, names_document

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime
    from pathlib import Path

    from filedrop.config import Config
    from filedrop.folders import Folder
    from filedrop.journal import Journal

PATIENCE = 3.0  # seconds for all folders together to answer
TAKE_OVER = "filedrop check --take-over"
LISTED = 20  # of each kind by name: enough to act on, little enough to read
IGNORED_AFTER = 3600.0  # seconds (contract 1, never documents)
_NEVER_NAMED = frozenset({"thumbs.db", "desktop.ini", ".ds_store", MARKER, *HOLDS})


@dataclass(slots=True)
class Glimpse:
    """What lies in a folder: how many documents by place, which of them failed and why, what has lain there ignored.

    `failed` and `ignored` name at most `LISTED`. `trouble` is the sentence that says why the folder is unavailable, ""
    while it isn't; `warning` one that says what else is wrong with it.
    """

    trouble: str = ""
    warning: str = ""
    documents: Counter[str] = field(default_factory=Counter)
    failed: dict[str, str] = field(default_factory=dict)
    ignored: list[str] = field(default_factory=list)
    held: bool = False


class NotYetThere(FolderUnavailable):
    """The folder is new; filedrop makes it."""


class Lookout:
    """Looks at all folders of a configuration, as often as asked. Without a journal it can't tell whose they are."""

    def __init__(self, config: Config, journal: Journal | None) -> None:
        self._journal = journal
        self._folders = tuple(folders(config))
        self._unseen: set[Path] = set()
        self._seen: dict[Path, Glimpse] = {}

    def look(self, now: datetime) -> dict[Path, Glimpse]:
        """A glimpse of each folder, by its path. One that hangs is not looked at again before it answers."""
        deadline = time.monotonic() + PATIENCE
        moment = PATIENCE / 2 / max(1, len(self._folders))
        waiting = deque(folder for folder in self._folders if folder.path not in self._unseen)
        self._unseen.update(folder.path for folder in waiting)
        threads: list[threading.Thread] = []
        while waiting:
            threads.append(threading.Thread(target=self._look_at_each, args=(waiting, now), daemon=True))
            threads[-1].start()
            left = math.inf
            while len(waiting) < left:  # as long as it gets on
                left = len(waiting)
                threads[-1].join(moment)
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        hung = Glimpse(trouble="it does not answer; see whether its server is up")
        paths = (folder.path for folder in self._folders)
        return {path: hung if path in self._unseen else self._seen[path] for path in paths}

    def _look_at_each(self, waiting: deque[Folder], now: datetime) -> None:
        while waiting:
            try:
                folder = waiting.popleft()
            except IndexError:  # another thread has taken the last
                return
            self._look(folder, now)
            self._unseen.discard(folder.path)

    def _look(self, folder: Folder, now: datetime) -> None:
        try:
            try:
                self._seen[folder.path] = _glimpse(folder, self._journal, now)
            except JournalError:
                self._seen[folder.path] = _glimpse(folder, None, now)
        except FolderUnavailable as error:
            self._seen[folder.path] = Glimpse(trouble=str(error))
        except OSError as error:
            self._seen[folder.path] = Glimpse(trouble=f"it can't be looked into: {error.strerror or error}")


def folders(config: Config) -> Iterable[Folder]:
    """Every folder that the configuration names for documents."""
    rules = config.outbound
    for company in config.companies.values():
        for path in company.outbound:
            yield OutboundFolder(
                path, company=company.name, below=config.root, patterns=rules.files, ready_suffix=rules.ready_suffix
            )
        yield InboundFolder(company.inbound, company=company.name, below=config.root)
    if config.unassigned is not None:
        yield InboundFolder(config.unassigned, company="unassigned", below=config.root)


def see_ours(folder: Folder, journal: Journal | None) -> None:
    """Raise FolderUnavailable where `Folder.take_up` would, but touch nothing; NotYetThere where it would make it."""
    path = folder.path
    known = journal is not None and journal.folder_at(path) is not None
    if not path.is_dir():
        if known:
            raise FolderUnavailable(
                f"it is gone: see that it is mounted; if it was deleted, make it again and run: {TAKE_OVER}"
            )
        _see_makeable(folder)
        raise NotYetThere("it isn't there yet; filedrop makes it when it runs")
    marker = read_marker(path)
    if marker is None and (path / MARKER).exists():
        raise FolderUnavailable(f"its {MARKER} can't be read as a marker; if it is ours, run: {TAKE_OVER}")
    if marker is None and known:
        raise FolderUnavailable(
            f"it has no {MARKER} any more: it isn't mounted, or another disk is; if this really is the folder, run: "
            f"{TAKE_OVER}"
        )
    if marker is None or journal is None:
        return
    if marker.journal != journal.id:
        raise FolderUnavailable(f"another filedrop serves this folder; if that one is gone for good, run: {TAKE_OVER}")
    if marker.changes < journal.changes(marker.folder).least:
        raise FolderUnavailable(
            f"it has the {MARKER} that it had before it was last taken over: it isn't mounted, or another disk is; "
            "mount the right one"
        )
    elsewhere = journal.folder_path(marker.folder)
    if elsewhere not in (None, path) and marker.names_same(read_marker(elsewhere)):
        raise FolderUnavailable(f"it is a copy of {elsewhere}: delete its {MARKER} to make it a folder of its own")


def outdated(folder: Folder, journal: Journal | None) -> str:
    """The sentence that says that the journal is older than this folder, "" where it isn't. Raises OSError."""
    marker = read_marker(folder.path)
    if marker is None or journal is None:
        return ""
    missing = marker.changes - journal.changes(marker.folder).marked
    return why_outdated(missing) if missing > 0 else ""


def _see_makeable(folder: Folder) -> None:
    if folder.path.exists():
        raise FolderUnavailable("it is no folder; name another in the configuration")
    within = folder.missing()[0].parent
    if not may_use(within):
        raise FolderUnavailable(f"it can't be made: give filedrop's user the right to read and write in {within}")


def _glimpse(folder: Folder, journal: Journal | None, now: datetime) -> Glimpse:
    see_ours(folder, journal)
    glimpse = _outbound(folder, now) if isinstance(folder, OutboundFolder) else _inbound(folder)
    glimpse.warning = outdated(folder, journal) or shortage(folder.path)
    return glimpse


def _outbound(folder: OutboundFolder, now: datetime) -> Glimpse:
    glimpse = Glimpse(held=folder.held())
    long_ago = now.timestamp() - IGNORED_AFTER
    with os.scandir(folder.path) as entries:
        for entry in entries:
            if folder.names_document(entry.name) and entry.is_file(follow_symlinks=False):
                glimpse.documents["outbound"] += 1
            elif entry.name.lower() not in _NEVER_NAMED and entry.name not in (*PLACES, *HOLDS):
                status = entry.stat(follow_symlinks=False)
                if max(status.st_mtime, status.st_ctime) < long_ago:
                    glimpse.ignored.append(entry.name)
    glimpse.ignored = sorted(glimpse.ignored)[:LISTED]
    for place in ("sending", "sent"):
        glimpse.documents[place] = sum(1 for _ in _documents(folder, place))
    failed = sorted(_documents(folder, "failed"))
    glimpse.documents["failed"] = len(failed)
    glimpse.failed = {name: why_failed(folder.path / "failed" / name) for name in failed[:LISTED]}
    return glimpse


def _documents(folder: OutboundFolder, place: str) -> Iterator[str]:
    """The documents in `sending/`, `sent/` or `failed/`, by name, one after the other: they may be very many."""
    return filter(folder.names_document, folder.names(place))


def why_failed(document: Path) -> str:
    """Why the document failed that lies there, by its sidecar."""
    content = sidecar.read(document.with_name(f"{document.name}.json")) or {}
    error = content.get("error")
    return str(error.get("message")) if isinstance(error, dict) else "it lies here without a sidecar of ours"


def _inbound(folder: Folder) -> Glimpse:
    with os.scandir(folder.path) as entries:
        received = sum(names_document(entry.name) and entry.is_file(follow_symlinks=False) for entry in entries)
    return Glimpse(documents=Counter(inbound=received))
