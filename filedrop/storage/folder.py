"""A folder of the configuration: whether it is there, is ours, and answers.

Each folder that the configuration names contains a marker, `.filedrop`, with the id of the folder and of the journal
that knows it. Where the journal knows a folder but the marker is missing, another disk is mounted there, or none: then
the folder is unavailable, and nothing is created in it. All access is by descriptors (`at`), so links can't mislead it.
"""

from __future__ import annotations

import errno
import os
import secrets
import threading
from typing import TYPE_CHECKING

from filedrop.errors import Cause, FolderUnavailable
from filedrop.files import Directory, Tree, clear_drafts, is_missing, make_folder, may_use
from filedrop.files.disk import shortage
from filedrop.files.rights import explain
from filedrop.files.trial import Trial
from filedrop.storage.branching import UNKNOWN, Branching
from filedrop.storage.marker import MARKER, Marker, read_marker
from filedrop.storage.names import BESIDE, is_taken, numbered
from filedrop.texts.printable import command

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from filedrop.files import Abilities
    from filedrop.journal import Journal
    from filedrop.journal.folders import Changes


TAKE_OVER = "filedrop check --take-over"
ANOTHERS = f"another filedrop serves this folder; if that one is gone for good, run: {TAKE_OVER}"


class NotYetThere(FolderUnavailable):
    """The folder is new; filedrop makes it when it runs."""


class Folder:
    """The folder of the configuration at `path`. Thread-safe.

    `take_up` sets `id` and `changes`, the count in its marker. `below` is the root of all companies' folders: below it,
    missing parent folders are made too, elsewhere only the folder itself. `served` are the paths of all folders of the
    configuration. `take_up` makes the `trial` once, and again after the folder was away.
    """

    subfolders: Sequence[str] = ()
    made_late: Collection[str] = ()  # of these: made for the first file that is put there

    def __init__(self, path: Path, *, company: str, below: Path, served: Container[Path] = ()) -> None:
        self.path = path
        self.company = company
        self.id, self.changes = "", 0
        self._below = below
        self._served = served
        self.trial = Trial(path)
        self._tree = Tree(path, lambda: self.abilities)
        self.branching = Branching(path, self.at)
        self._next_number: dict[tuple[Path, str], int] = {}
        self._taking_up = threading.Lock()

    @property
    def abilities(self) -> Abilities:
        """What can be done in the folder."""
        return self.trial.abilities

    @property
    def local(self) -> bool:
        """Whether the folder is on a disk of this computer."""
        return self.abilities.local

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r})"

    def in_use(self) -> AbstractContextManager[None]:
        """A context that keeps the folder's descriptors open, to save opening them for each file."""
        return self._tree.in_use()

    def serves(self, path: Path | None) -> bool:
        """Whether the configuration names this folder, or another one at `path`."""
        return path is not None and path in self._served

    def at(self, place_in: str = "") -> Directory:
        """The folder itself, or one in it: `sending`, `archive/2026-11`. Raises OSError, also for a link."""
        return self._tree.at(place_in)

    def take_up(self, journal: Journal) -> None:
        """Check that the folder is there and ours; make and mark it where it is new. Raises FolderUnavailable."""
        try:
            with self.in_use(), self._taking_up:
                try:
                    self._take_up(journal)
                except BaseException:
                    self._tree.give_up()
                    self.trial.forget()  # another may be mounted there when it is back
                    raise
        except OSError as error:
            said, is_denied = explain(error, error.filename or self.path), isinstance(error, PermissionError)
            advice = "" if is_denied else "; see that it is there and that the service may write in it"
            raise FolderUnavailable(f"{self.path} can't be used: {said}{advice}") from error

    def take_over(self, journal: Journal) -> None:
        """Make the folder this journal's, even if its marker says otherwise (`check --take-over`). Raises OSError."""
        here = Directory.open(self.path)
        marker = read_marker(here)
        if marker is None or self._is_copy(marker, journal.folders.path(marker.folder)):
            folder = journal.folders.at(self.path) or secrets.token_hex(8)
        else:
            folder = marker.folder
        changes = journal.folders.take_over(folder, self.path)  # first: else a running daemon thinks the marker too old
        Marker(folder, journal.id, changes.counted, changes.branch).replace(here)
        here.sync()

    def free_names(self, place_in: Directory, wanted: str, ends: Collection[str] = BESIDE) -> Iterator[str]:
        """Free names for a file in a folder below this one, the wanted one first. Never ends.

        A name is taken where the file exists, or one with such an ending beside it. The caller must still place without
        overwriting.
        """
        target = place_in.path, wanted
        number = self._next_number.get(target, 1)
        if number > 1 and not is_taken(place_in / wanted, ends):  # free again: the next numbers may be free, too
            number = 1
        while True:
            name = numbered(wanted, number)
            if not is_taken(place_in / name, ends):
                yield name
            number += 1
            if len(self._next_number) > 10_000:  # noqa: PLR2004 - a cache, bounded so that it doesn't grow for years
                self._next_number.clear()
            self._next_number[target] = number

    def names_are_free_again(self, place_in: Directory, wanted: str) -> None:
        """Try all numbers for this name again: files were removed, though the name itself may still be taken."""
        self._next_number.pop((place_in.path, wanted), None)

    def check_ownership(self, journal: Journal | None) -> None:
        """Raise FolderUnavailable or OSError where `take_up` would, NotYetThere where it would make the folder.

        Changes nothing. Each error text continues a sentence that begins with the path. Without a journal, the owner in
        the marker isn't checked.
        """
        self.missing_in(self._tree.renew(self._inspect(journal)[0]))

    def _take_up(self, journal: Journal) -> None:
        try:
            here, marker, seen_at, changes = self._inspect(journal)
        except NotYetThere:
            here, marker, seen_at, changes = self._make(), None, None, None
        except FolderUnavailable as error:
            raise FolderUnavailable(f"{self.path}: {error}") from None
        except PermissionError as error:
            why = f"{self.path} can't be listed: {explain(error, self.path)}"
            raise FolderUnavailable(why) from error
        if self.trial.is_due(here):
            if why := self.trial.make(here):
                raise FolderUnavailable(f"{self.path}: {why}")
            self._tree.give_up()  # what is open goes by what was presumed
        if marker is None:
            marker = self._mark_new(here, journal)
        if seen_at != self.path:
            here.sync()  # else a power cut may remove a marker that the journal expects
            journal.folders.record(marker.folder, self.path)
        if changes is not None:
            marker = self.branching.begin(here, marker, journal, changes)
        self.id, self.changes = marker.folder, marker.changes
        here = self._tree.renew(here)  # first: if the share goes away now, no folder is made at its mount point
        for name in sorted({*self.missing_in(here)}.difference(self.made_late)):
            make_folder(here / name)

    def _mark_new(self, here: Directory, journal: Journal) -> Marker:
        folder = secrets.token_hex(8)
        marker = Marker(folder, journal.id, branch=journal.folders.changes(folder).branch)
        try:
            marker.create(here)
        except FileExistsError:
            raise FolderUnavailable(f"{self.path} was just taken up by another filedrop") from None
        return marker

    def _inspect(self, journal: Journal | None) -> tuple[Directory, Marker | None, Path | None, Changes | None]:
        """The folder, opened; its marker, None where it needs a new one; where the journal last saw that, its counts.

        Raises as `check_ownership` does.
        """
        try:
            here = Directory.open(self.path, lambda: self.abilities)
        except (FileNotFoundError, NotADirectoryError):
            if self._is_known(journal):
                raise FolderUnavailable(
                    "it is missing: check that it is mounted; if it was deleted, create it again and run: "
                    f"{self._taking_over}",
                    Cause.MISSING,
                ) from None
            if self.path.exists():
                raise FolderUnavailable("it is not a folder; name another in the configuration") from None
            within = self.missing_folders()[0].parent
            if not may_use(within):
                lacks = shortage(within) or explain(PermissionError(errno.EACCES, os.strerror(errno.EACCES)), within)
                cause = Cause.OUTSIDE if within == self._below else Cause.OTHER
                raise FolderUnavailable(f"it can't be created: {lacks}", cause) from None
            raise NotYetThere("it doesn't exist yet; filedrop creates it when it runs", Cause.NEW) from None
        marker = read_marker(here)
        if marker is None:
            self._check_unmarked(here, journal)
            return here, None, None, None
        if journal is None:
            return here, marker, None, None
        seen_at, changes = journal.folders.path(marker.folder), journal.folders.changes(marker.folder)
        if why := self._why_not_ours(marker, journal, seen_at, changes):
            raise FolderUnavailable(why)
        return here, marker, seen_at, changes

    @property
    def _taking_over(self) -> str:
        """The command that takes over this folder alone: others may be away, and must stay so."""
        return f"{TAKE_OVER} --folder {command(str(self.path))}"

    def _is_known(self, journal: Journal | None) -> bool:
        return journal is not None and journal.folders.at(self.path) is not None

    def _check_unmarked(self, here: Directory, journal: Journal | None) -> None:
        """Raise FolderUnavailable where a folder without a marker of ours isn't a new one."""
        if not is_missing(here / MARKER):
            raise FolderUnavailable(
                f"its {MARKER} can't be read as a marker; if the folder is filedrop's, run: {self._taking_over}"
            )
        if self._is_known(journal):
            raise FolderUnavailable(
                f"its {MARKER} is missing: it isn't mounted, or another disk is mounted there; if this is the right "
                f"folder, run: {self._taking_over}",
                Cause.MISSING,
            )

    def _why_not_ours(self, marker: Marker, journal: Journal, seen_at: Path | None, changes: Changes) -> str:
        if marker.journal != journal.id:
            return ANOTHERS
        if marker.changes < changes.least:
            return (
                f"its {MARKER} is from before it was last taken over: it isn't mounted, or another disk is mounted "
                f"there; "
                "mount the right one"
            )
        if self._is_copy(marker, seen_at):
            return (
                f"it is a copy of {seen_at}: delete its {MARKER} to make it a folder of its own; if it was moved from "
                "there, name only its new place in the configuration"
            )
        return "" if journal.folders.knows(changes, marker.branch, marker.changes) else UNKNOWN

    def _is_copy(self, marker: Marker, seen_at: Path | None) -> bool:
        """Whether this marker was copied from the folder where the journal last saw it. Raises OSError.

        A folder counts as moved here only where its old path is no longer in the configuration, or now has another
        marker. Otherwise a forged marker could pass for another folder while that one is away.
        """
        if seen_at in (None, self.path):
            return False
        there = read_marker(seen_at)
        return seen_at in self._served if there is None else there.folder == marker.folder

    def missing_in(self, here: Directory) -> list[str]:
        """The subfolders that are missing. Raises OSError, FolderUnavailable where a file or link is in their place."""
        entries = [here / name for name in self.subfolders]
        missing = [entry for entry in entries if not entry.is_folder()]
        for entry in missing:
            if entry.exists():
                raise FolderUnavailable(
                    f"{entry} is no folder, but a link or a file, and filedrop follows no link there: put a folder in "
                    "its place"
                )
        return [entry.name for entry in missing]

    def _make(self) -> Directory:
        for missing in self.missing_folders():
            within = Directory.open(missing.parent)
            clear_drafts(within)
            make_folder(within / missing.name)
        return Directory.open(self.path, lambda: self.abilities)

    def missing_folders(self) -> list[Path]:
        """This folder and its missing parents, the outermost first. Raises FolderUnavailable."""
        missing = [self.path]
        while not missing[-1].parent.is_dir():
            missing.append(missing[-1].parent)
        if len(missing) > 1 and not (self._below.is_dir() and missing[-1].parent.is_relative_to(self._below)):
            away = self._below if self.path.is_relative_to(self._below) else missing[0].parent
            cause = Cause.OUTSIDE if away == self._below else Cause.OTHER
            raise FolderUnavailable(f"{away} isn't there; mount it or create it: filedrop doesn't create it", cause)
        return missing[::-1]
