"""Snapshots of the folders of the configuration: whether each is there and ours, and its files. Nothing is changed.

A thread of its own looks at each, mostly one after the other: a folder that hangs holds up the next for a moment only.
First, one thread looks at the times of all: a folder whose entries and whose journal are unchanged isn't listed again.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from heapq import nlargest
from typing import TYPE_CHECKING, Any, NamedTuple

from filedrop.errors import Cause, FolderUnavailable, JournalError
from filedrop.files import patience
from filedrop.files.disk import free_space, shortage
from filedrop.files.rights import explain
from filedrop.model.document import FAILED_IN, UNREACHABLE_IN
from filedrop.model.report import LISTED
from filedrop.storage import sidecar
from filedrop.storage.company_folders import (
    InboundFolder,
    OutboundFolder,
    inbound_folder,
    outbound_folder,
    unassigned_folder,
)
from filedrop.storage.entry_times import LOOKED_THROUGH_AFTER, OUTBOUND, entry_times
from filedrop.storage.hold import holds
from filedrop.storage.marker import read_marker, why_outdated
from filedrop.storage.names import is_received
from filedrop.texts.languages import ENGLISH, Translatable, marked, translated
from filedrop.texts.printable import size

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from pathlib import Path

    from filedrop.config import Config
    from filedrop.files import Directory, Entry
    from filedrop.journal import Journal
    from filedrop.model.fault import Fault
    from filedrop.storage.folder import Folder

PATIENCE = 3.0  # seconds for all folders together to answer
HUNG = "it doesn't respond: check that its server is running"
LONGEST_REASON = 2000  # letters of a reason that anybody may have written
_IN_NOTE = marked("its note says what is wrong.")


class ForAdministrators(str):
    """A reason that only administrators can use, for which there is no note either."""

    __slots__ = ()


_WITHOUT_SIDECAR = ForAdministrators("its sidecar is missing; filedrop history NAME shows what happened to it")


class Lying(NamedTuple):
    """Something that lies in a folder: since when, in seconds since 1970, under which name, and what is to be said.

    `code`: of the fault that its sidecar tells, "" where there is none. `known`: its number and its receiver's name.
    """

    since: float
    name: str
    why: str = ""
    code: str = ""
    known: str = ""


@dataclass(slots=True)
class FolderSnapshot:
    """What lies in a folder: how many things of each kind, and the newest of those that a person may want to know of.

    `counts`: documents by the name of their place, without strays that were asked for. `failed` are at most `LISTED`,
    the newest first; `aside` are all in `not-on-peppol/`; `there` are those of the asked-for files that lie in it.
    `trouble` is the sentence that says why the folder is unavailable, "" while it isn't, and `cause` the same for code;
    `warnings` say what else is wrong with it, `refused` why files can't be moved or written there. `disk` is the number
    of its file system, `free` are the bytes free there; None where they aren't known. `oldest` says, in seconds since
    1970, since when the oldest of `failed` and, if that was asked for, of `inbound` has lain there.
    """

    trouble: str = ""
    cause: Cause | None = None
    warnings: tuple[str, ...] = ()
    refused: str = ""
    counts: Counter[str] = field(default_factory=Counter)
    failed: list[Lying] = field(default_factory=list)
    aside: list[Lying] = field(default_factory=list)
    there: set[Path] = field(default_factory=set)
    held_by: str = ""
    oldest: dict[str, float] = field(default_factory=dict)
    disk: int | None = None
    free: int | None = None


class _Kept(NamedTuple):
    """A snapshot without any trouble, what it depends on, and until when it may be shown (time.monotonic)."""

    key: object
    snapshot: FolderSnapshot
    until: float


class FolderSurvey:
    """Looks at all folders of a configuration, as often as asked. Without a journal it can't tell whose they are.

    `ages`: whether to find the age of what was received. That is asked of each file, which costs a share time.
    """

    def __init__(self, config: Config, journal: Journal | None, *, ages: bool) -> None:
        self._journal = journal
        self._ages = ages
        self._min_free = config.inbound.min_free
        self._folders = tuple(folders(config))
        self._seen: dict[Path, FolderSnapshot] = {}
        self._looks: dict[Path, tuple[threading.Thread, float]] = {}  # the last one at each folder, and when it began
        self._kept: dict[Path, _Kept] = {}
        self._comparing: threading.Thread | None = None

    def look(self, asked_for: Iterable[Path] = ()) -> dict[Path, FolderSnapshot]:
        """A snapshot of each folder, by its path. A folder that hangs is not looked at again before it answers.

        `asked_for`: the files whose presence is looked up. Of a slow folder, what was seen before is returned.
        """
        names: dict[Path, set[str]] = {}
        for path in asked_for:
            names.setdefault(path.parent, set()).add(path.name)
        deadline = time.monotonic() + PATIENCE
        moment = PATIENCE / 2 / max(1, len(self._folders))
        threads = []
        unchanged = self._unchanged(names)
        for folder in self._folders:
            if folder.path not in unchanged and not self._is_asked(folder.path):
                below = _below(folder.path, names)
                arguments = (folder, below)
                thread = threading.Thread(target=self._look, args=arguments, daemon=True)
                try:
                    thread.start()
                except RuntimeError:  # the next look tries again
                    self._seen[folder.path] = FolderSnapshot(
                        "it can't be checked now: the system has no free thread", Cause.OTHER
                    )
                    continue
                self._looks[folder.path] = thread, time.monotonic()
                threads.append(thread)
                thread.join(moment)
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        return {folder.path: self._told(folder.path) for folder in self._folders}

    def _unchanged(self, names: Mapping[Path, Collection[str]]) -> set[Path]:
        """The folders in which the last look would see the same again; their free space is new."""
        found: set[Path] = set()
        if self._comparing and self._comparing.is_alive():  # one of them hangs
            return found

        def compare() -> None:
            version = self._version()
            for folder in self._folders:
                kept = self._kept.get(folder.path)
                if kept is None or time.monotonic() >= kept.until or self._is_asked(folder.path):
                    continue
                with suppress(OSError):
                    is_same = kept.key == self._key(folder, _below(folder.path, names), version)
                    if is_same and (free := free_space(folder.path)) and not self._is_short(folder, free):
                        self._seen[folder.path] = replace(kept.snapshot, free=free)
                        found.add(folder.path)

        self._comparing = threading.Thread(target=compare, daemon=True)
        with suppress(RuntimeError):  # the system has no free thread
            self._comparing.start()
            self._comparing.join(PATIENCE / 2)
        return found.copy()

    def _is_short(self, folder: Folder, free: int) -> bool:
        """Whether there may be too little room: then it is looked at. Raises OSError."""
        return bool(shortage(folder.path) or _too_full(free, self._min_free))

    def _version(self) -> int | None:
        with suppress(JournalError):
            return self._journal.engine.version() if self._journal else None
        return None

    def _key(self, folder: Folder, names: Mapping[Path, Collection[str]], version: int | None) -> object:
        """All that a snapshot depends on but the disk's room and the files' content; None where that can't be told."""
        places = OUTBOUND if isinstance(folder, OutboundFolder) else ("",)
        has_folders = isinstance(folder, InboundFolder) and folder.has_folders
        if version is None or has_folders or not {folder.path / place for place in places}.issuperset(names):
            return None
        times = entry_times(folder, places, datetime.now().astimezone())
        return times and (version, times, {path: frozenset(asked) for path, asked in names.items()})

    def _is_asked(self, path: Path) -> bool:
        """Whether a look at this folder is still under way."""
        return path in self._looks and self._looks[path][0].is_alive()

    def _told(self, path: Path) -> FolderSnapshot:
        """What was seen in a folder, unless it never answered, or doesn't for too long."""
        seen = self._seen.get(path)
        is_hung = self._is_asked(path) and time.monotonic() - self._looks[path][1] > patience.UNAVAILABLE_AFTER
        return FolderSnapshot(HUNG, Cause.HUNG) if seen is None or is_hung else seen

    def _look(self, folder: OutboundFolder | InboundFolder, names: Mapping[Path, Collection[str]]) -> None:
        self._kept.pop(folder.path, None)
        try:
            key = self._key(folder, names, self._version())  # before the listing, which may miss what comes later
            try:
                snapshot = self._snapshot(folder, self._journal, names)
            except JournalError:
                snapshot = self._snapshot(folder, None, names)
            if key and not snapshot.warnings and not snapshot.refused:
                self._kept[folder.path] = _Kept(key, replace(snapshot), time.monotonic() + LOOKED_THROUGH_AFTER)
            self._seen[folder.path] = snapshot
        except FolderUnavailable as error:
            self._seen[folder.path] = FolderSnapshot(str(error), error.cause)
        except OSError as error:
            why = f"it can't be looked into: {explain(error, folder.path)}"
            self._seen[folder.path] = FolderSnapshot(why, Cause.OUTSIDE)

    def _snapshot(
        self, folder: OutboundFolder | InboundFolder, journal: Journal | None, names: Mapping[Path, Collection[str]]
    ) -> FolderSnapshot:
        with folder.in_use():
            folder.check_ownership(journal)
            if isinstance(folder, OutboundFolder):
                snapshot = _outbound(folder, names)
            else:
                snapshot = _inbound(folder, names, ages=self._ages)
            snapshot.disk, snapshot.free = folder.at().identity[0], free_space(folder.path)
            snapshot.refused = shortage(folder.path)
            full = "" if isinstance(folder, OutboundFolder) else _too_full(snapshot.free, self._min_free)
            snapshot.warnings = tuple(filter(None, (outdated(folder, journal), snapshot.refused or full)))
        return snapshot


def _below(path: Path, names: Mapping[Path, Collection[str]]) -> dict[Path, Collection[str]]:
    return {parent: asked for parent, asked in names.items() if parent.is_relative_to(path)}


def folders(config: Config) -> Iterable[OutboundFolder | InboundFolder]:
    """Every folder that the configuration names for documents."""
    for company in config.companies.values():
        for path in company.outbound:
            yield outbound_folder(config, company, path)
        if company.may_receive:
            yield inbound_folder(config, company)
    if unassigned := unassigned_folder(config):
        yield unassigned


def outdated(folder: Folder, journal: Journal | None) -> str:
    """The sentence that says that the journal is older than this folder, "" where it isn't. Raises OSError."""
    marker = read_marker(folder.at())
    if marker is None or journal is None:
        return ""
    missing = journal.folders.changes(marker.folder).missing(marker.changes)
    return why_outdated(missing) if missing > 0 else ""


def _outbound(folder: OutboundFolder, names: Mapping[Path, Collection[str]]) -> FolderSnapshot:
    snapshot = FolderSnapshot()
    for entry in folder.at().scan():
        if holds(entry):
            snapshot.held_by = entry.name
        elif folder.is_dropped(entry):
            snapshot.counts["outbound"] += 1
    for place in ("sending", "sent"):
        snapshot.counts[place] = sum(1 for _ in _documents(folder, place))
    for path, asked in names.items():
        place = "" if path == folder.path else path.relative_to(folder.path).as_posix()
        for name in asked:
            with suppress(OSError):  # no such place: anybody may have written the report
                if (folder.at(place) / name).exists():
                    snapshot.there.add(path / name)
                    snapshot.counts[place] -= place == "sent" and folder.names_document(name)
    failed = list(_lying(folder, FAILED_IN))
    snapshot.counts["failed"] = len(failed)
    snapshot.aside = list(_lying(folder, UNREACHABLE_IN))
    if failed:
        snapshot.oldest["failed"] = min(failed).since
    for file in nlargest(LISTED, failed):
        why, code, known = why_failed(folder.at("failed") / file.name)
        snapshot.failed.append(file._replace(why=why, code=code, known=known))
    return snapshot


def _lying(folder: OutboundFolder, place: str) -> Iterator[Lying]:
    """The documents that ended in a place, each since its sidecar was written."""
    names = set(folder.names(place))
    for name in _documents(folder, place):
        document = folder.at(place) / name
        told_by = document.beside(".json") if f"{name}.json" in names else document
        with suppress(FileNotFoundError):  # a person has just taken it
            yield Lying(told_by.lstat().st_mtime, name)


def _documents(folder: OutboundFolder, place: str) -> Iterator[str]:
    """The documents in `sending/`, `sent/` or `failed/`, by name, one after the other: they may be very many."""
    return filter(folder.names_document, folder.documents(place))


def _too_full(free: int | None, least: int) -> str:
    """Why nothing is fetched into a folder with so much room, "" where there is enough."""
    if free is None or free >= least:
        return ""
    return f"only {size(free)} free; nothing is fetched below {size(least)} (inbound.min_free): free some space"


def why_failed(document: Entry) -> tuple[str, str, str]:
    """Why the document failed that lies there, with which code, and as what people know it, by its sidecar."""
    content = sidecar.read(document.beside(".json")) or {}
    of, to = content.get("document"), content.get("receiver_name")
    stated: dict[str, Any] = of if isinstance(of, dict) else {}  # somebody may have written into it
    type_, number, name = (str(text or "")[:LONGEST_REASON] for text in (stated.get("type"), stated.get("number"), to))
    known = Translatable(partial(sidecar.called, type_, number, name))
    fault = sidecar.fault_in(content)
    return (Translatable(partial(_failure, fault)), fault.code, known) if fault else (_WITHOUT_SIDECAR, "", known)


def _failure(fault: Fault, language: str) -> str:
    """Why a document failed. Where its sidecar has no texts, only its note may be in another language."""
    if language != ENGLISH and fault.message and not fault.texts:
        return translated(_IN_NOTE, language)
    return (fault.message if language == ENGLISH else fault.message_in(language))[:LONGEST_REASON]


def _inbound(folder: InboundFolder, names: Mapping[Path, Collection[str]], *, ages: bool) -> FolderSnapshot:
    snapshot = FolderSnapshot()
    for path, asked in names.items():
        for name in asked:
            with suppress(OSError):  # its folder was taken
                inside = (path / name).relative_to(folder.path).as_posix()
                if folder.at().entry(inside).exists():
                    snapshot.there.add(path / name)
    for place in folder.places():
        with suppress(FileNotFoundError):  # somebody has just taken it
            _count_received(place, snapshot, ages=ages)
    return snapshot


def _count_received(place: Directory, snapshot: FolderSnapshot, *, ages: bool) -> None:
    for entry in place.scan():
        if is_received(entry.name) and entry.is_file(follow_symlinks=False):
            snapshot.counts["inbound"] += 1
            if not ages:
                continue
            with suppress(FileNotFoundError):  # somebody has just taken it
                since = entry.stat(follow_symlinks=False).st_mtime
                snapshot.oldest["inbound"] = min(since, snapshot.oldest.get("inbound", since))
