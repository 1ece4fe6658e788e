"""Files that nobody will send: what the daemon reports of them, and those in folders that have no company any more."""

from __future__ import annotations

import math
import threading
import time
from contextlib import suppress
from heapq import nlargest, nsmallest
from typing import TYPE_CHECKING

from filedrop.files import Directory
from filedrop.model.document import ENDED_UNSENT
from filedrop.model.report import LISTED
from filedrop.status.folders import why_failed
from filedrop.status.model import CompanyStrays, RemovedFolder, StrayStatus
from filedrop.storage.company_folders import OutboundFolder
from filedrop.storage.marker import is_marked
from filedrop.times import from_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from filedrop.config import Config
    from filedrop.journal import Journal
    from filedrop.model.report import FolderReport

PATIENCE = 1.0  # seconds for all folders to answer that nobody serves
EVERY = 60.0  # seconds between two looks at such folders
NOBODY_SENDS = "filedrop doesn't send it: its company is no longer in the configuration"


def strays_by_company(folders: Iterable[FolderReport]) -> dict[str, CompanyStrays]:
    """The strays that these folders report, by company.

    A company is missing until one of its folders was looked at for long enough.
    """
    found: dict[str, CompanyStrays] = {}
    for folder in folders:
        if folder.strays is None:
            continue
        here = [
            StrayStatus(
                file=stray.path.name, path=str(stray.path), why=stray.why,
                since=from_seconds(stray.since).isoformat(timespec="seconds"),
            )
            for stray in folder.strays.newest
        ]  # fmt: skip
        before = found.get(folder.company, CompanyStrays(0, ()))
        listed = nlargest(LISTED, (*before.listed, *here), key=lambda stray: stray["since"])
        found[folder.company] = CompanyStrays(before.number + folder.strays.number, tuple(listed))
    return found


class RemovedFolders:
    """Looks at the outbound folders of companies that were removed from the configuration, or renamed in it."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._found: dict[Path, RemovedFolder] = {}
        self._looks: dict[Path, threading.Thread] = {}
        self._next = -math.inf

    def look(self, journal: Journal) -> list[RemovedFolder]:
        """Those that still have their marker and files that would be sent, or have failed. Once a minute at most.

        A folder that hangs is not looked at again before it answers; until then, what was found there last counts.
        """
        if time.monotonic() >= self._next:
            folders = journal.folders.paths().items()
            removed = {path: folder for folder, path in folders if path not in self._config.folders}
            self._found = {path: found for path, found in self._found.items() if path in removed}
            self._looks = {path: look for path, look in self._looks.items() if look.is_alive()}
            begun = [
                self._begin(path, folder, journal.id) for path, folder in removed.items() if path not in self._looks
            ]
            deadline = time.monotonic() + PATIENCE
            for thread in filter(None, begun):
                thread.join(max(0.0, deadline - time.monotonic()))
            self._next = time.monotonic() + EVERY
        return list(self._found.copy().values())

    def _begin(self, path: Path, folder_id: str, journal_id: str) -> threading.Thread | None:
        """The thread that looks at a folder; None where the system has none now."""
        thread = threading.Thread(target=self._look, args=(path, folder_id, journal_id), daemon=True)
        with suppress(RuntimeError):
            thread.start()
            self._looks[path] = thread
            return thread
        return None

    def _look(self, path: Path, folder_id: str, journal_id: str) -> None:
        files = CompanyStrays(0, ())
        with suppress(OSError):  # it is gone
            files = self._files(path, folder_id, journal_id)
        if files.number:
            self._found[path] = RemovedFolder(path, files)
        else:
            self._found.pop(path, None)

    def _files(self, path: Path, folder_id: str, journal_id: str) -> CompanyStrays:
        here = Directory.open(path)
        is_ours = is_marked(here, folder_id, journal_id)
        made = (name for name in OutboundFolder.subfolders if name not in OutboundFolder.made_late)
        if not (is_ours and all((here / name).is_folder() for name in made)):
            return CompanyStrays(0, ())
        folder = OutboundFolder(path, company="", below=path.parent, patterns=self._config.outbound.files)
        number, listed = 0, list[tuple[str, str]]()
        ended = ((place, filter(folder.names_document, folder.documents(place))) for place in ENDED_UNSENT)
        for place, names in (*ended, ("", folder.dropped())):
            few = list[str]()
            for name in names:
                number += 1
                few.append(name)
                few = nsmallest(LISTED, few) if len(few) > 2 * LISTED else few
            listed += [(place, name) for name in nsmallest(LISTED, few)]
        return CompanyStrays(number, tuple(_status_of(folder, place, name) for place, name in listed[:LISTED]))


def _status_of(folder: OutboundFolder, place: str, name: str) -> StrayStatus:
    entry = folder.at(place) / name
    why = why_failed(entry)[0] if place else NOBODY_SENDS
    since = ""
    with suppress(FileNotFoundError):
        since = from_seconds(entry.lstat().st_mtime).isoformat(timespec="seconds")
    return StrayStatus(file=name, path=str(folder.path / place / name), why=why, since=since)
