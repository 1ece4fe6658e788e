"""A company's tree of folders: what was dropped, claiming it, names that are free, where a received document goes.

Each folder that the configuration names carries a marker, `.filedrop`, which says which folder it is and whose journal
knows it. Where the journal knows a folder and the marker is missing, another disk is mounted there, or none: the folder
is unavailable, and nothing is created in it. A thread that works in a folder says so with `busy`, so that others can
see when it hangs.
"""

from __future__ import annotations

import fnmatch
import os
import re
import secrets
import shutil
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from filedrop.errors import FolderUnavailable
from filedrop.files import discard, kept, make_folder, place, seal, sync_folder
from filedrop.marker import DRAFT, MARKER, Marker, read_marker
from filedrop.names import BESIDE, HOLDS, is_taken, names_document, numbered, shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from filedrop.document import Document
    from filedrop.files import Seal
    from filedrop.journal import Journal

PATIENCE = 30.0  # seconds until a folder that doesn't answer counts as unavailable (contract 1)
PLACES = ("sending", "sent", "archive", "failed")
_DRAFT = re.compile(r"\.[0-9A-HJKMNP-TV-Z]{26}\.(json|why|part)")


class Folder:
    """A folder of the configuration; `path` is where it lies. Thread-safe.

    Taken up, it has an `id`, and `changes` is how many its marker has seen. `below` is the root of all companies'
    folders: missing folders are made below it, elsewhere only the last one. `local`, as somebody saw it: is_local.
    """

    subfolders: Sequence[str] = ()
    patience = PATIENCE

    def __init__(self, path: Path, *, company: str, below: Path) -> None:
        self.path = path
        self.company = company
        self.id, self.changes, self.local = "", 0, False
        self._below = below
        self._since: dict[int, float] = {}
        self._next_number: dict[Path, int] = {}
        self._taking_up = threading.Lock()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r})"

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Say that this thread works in the folder now: should it not come back, the folder hangs."""
        thread = threading.get_ident()
        if thread in self._since:
            yield
            return
        self._since[thread] = time.monotonic()
        try:
            yield
        finally:
            del self._since[thread]

    @contextmanager
    def not_busy(self) -> Iterator[None]:
        """Within `busy`: what this thread waits for now isn't the folder."""
        thread = threading.get_ident()
        del self._since[thread]
        try:
            yield
        finally:
            self._since[thread] = time.monotonic()

    def stuck(self) -> frozenset[int]:
        """The threads that wait for this folder for longer than anyone should."""
        now = time.monotonic()
        return frozenset(thread for thread, since in list(self._since.items()) if now - since > self.patience)

    def take_up(self, journal: Journal) -> None:
        """See that the folder is there and ours, and make it ours when it is new. Raises FolderUnavailable."""
        if self.stuck():
            raise FolderUnavailable(
                f"{self.path} has not answered for {self.patience:.0f} seconds; see whether its server is up"
            )
        try:
            with self.busy(), self._taking_up:
                self._take_up(journal)
        except OSError as error:
            raise FolderUnavailable(
                f"{self.path} can't be used: {error.strerror or error}; see that it is there and that the service may "
                "write in it"
            ) from error

    def take_over(self, journal: Journal) -> None:
        """Make the folder this journal's whatever its marker says (`check --take-over`). Raises OSError."""
        marker = self._marker()
        folder = marker.folder if marker else journal.folder_at(self.path) or secrets.token_hex(8)
        changes = journal.take_over(folder, self.path)  # first: else a daemon beside us takes it for the older one
        Marker(folder, journal.id, changes).replace(self.path, draft=self.path / DRAFT)
        sync_folder(self.path)

    def clear_drafts(self, place_in: Path, keep: frozenset[str] = frozenset()) -> None:
        """Remove what a process that was killed was about to place, except `keep`. Only while no thread works there."""
        for name in os.listdir(place_in):  # noqa: PTH208 - names, not paths, are wanted
            if (_DRAFT.fullmatch(name) and name not in keep) or name == DRAFT:
                discard(place_in / name)

    def free_names(self, place_in: Path, wanted: str) -> Iterator[str]:
        """Names for a file in a folder below this one, the wanted one first, leaving out those that are taken.

        A name is taken where it, its sidecar or its note lies. Whoever uses one must still place without overwriting.
        """
        target = place_in / wanted
        number = self._next_number.get(target, 1)
        while True:
            name = numbered(wanted, number)
            if not is_taken(place_in / name):
                yield name
            number += 1
            if len(self._next_number) > 10_000:  # noqa: PLR2004 - it saves look-ups only; bounded so that years don't grow it
                self._next_number.clear()
            self._next_number[target] = number

    def _take_up(self, journal: Journal) -> None:
        marker = self._marker()
        if marker is None:
            if journal.folder_at(self.path) is not None:
                raise FolderUnavailable(
                    f"{self.path} has no {MARKER} any more: it isn't mounted, or another disk is; if this is the "
                    "folder, run: filedrop check --take-over"
                )
            marker = self._make(Marker(secrets.token_hex(8), journal.id))
        if marker.journal != journal.id:
            raise FolderUnavailable(
                f"another filedrop serves this folder: {self.path} belongs to the journal {marker.journal}, and this "
                f"one is {journal.id}; if that one is gone for good, run: filedrop check --take-over"
            )
        if marker.changes < journal.changes(marker.folder).least:
            raise FolderUnavailable(
                f"{self.path} has the {MARKER} that it had before it was last taken over: it isn't mounted, or another "
                "disk is; mount the right one"
            )
        known = journal.folder_path(marker.folder)
        if known != self.path:
            if known is not None and marker.names_same(read_marker(known)):
                raise FolderUnavailable(
                    f"{self.path} is a copy of {known}: delete {self.path / MARKER} to make it a folder of its own"
                )
            sync_folder(self.path)  # else a power cut might take a marker from the disk that the journal looks for
            journal.record_folder(marker.folder, self.path)
        self.id, self.changes = marker.folder, marker.changes
        missing = [name for name in self.subfolders if not (self.path / name).is_dir()]
        if missing:
            with kept(self.path) as here:  # should the share go away now, nothing comes to be in its mount point
                if not marker.names_same(read_marker(here)):
                    raise FolderUnavailable(f"{self.path} isn't mounted any more, or another disk is")
                for name in missing:
                    make_folder(here / name)

    def _make(self, marker: Marker) -> Marker:
        for missing in self.missing():
            make_folder(missing)
        try:
            marker.create(self.path)
        except FileExistsError:
            raise FolderUnavailable(f"{self.path} was just taken up by another filedrop") from None
        return marker

    def missing(self) -> list[Path]:
        """The folders to be made before this one is there, the outermost first. Raises FolderUnavailable."""
        if self.path.is_dir():
            return []
        missing = [self.path]
        while not missing[-1].parent.is_dir():
            missing.append(missing[-1].parent)
        if len(missing) > 1 and not (self._below.is_dir() and missing[-1].parent.is_relative_to(self._below)):
            raise FolderUnavailable(f"{missing[0].parent} isn't there; mount it or make it, it is not made up")
        return missing[::-1]

    def _marker(self) -> Marker | None:
        marker = read_marker(self.path)
        if marker is None and (self.path / MARKER).exists():
            raise FolderUnavailable(
                f"{self.path / MARKER} can't be read as a marker; if the folder is ours, run: "
                "filedrop check --take-over"
            )
        return marker


class OutboundFolder(Folder):
    """An `outbound/` with its `sending/`, `sent/`, `archive/` and `failed/`. `holds`: see `held`."""

    subfolders = PLACES

    def __init__(
        self, path: Path, *, company: str, below: Path, patterns: Sequence[str], ready_suffix: str | None = None
    ) -> None:
        super().__init__(path, company=company, below=below)
        self._matches = re.compile("|".join(fnmatch.translate(pattern) for pattern in patterns), re.IGNORECASE).match
        self._ready_suffix = ready_suffix
        self.holds = [path / name for name in HOLDS]

    def mark(self, journal: Journal) -> None:
        """Have the marker say how many changes the journal has counted. The journal is told first. Raises OSError."""
        if journal.changes(self.id).counted != self.changes:
            self.changes = journal.mark(self.id)
            # Moved out of `sending/`, so that no marker comes to be where the share isn't mounted any more.
            Marker(self.id, journal.id, self.changes).replace(self.path, draft=self.path / "sending" / DRAFT)

    def dropped(self) -> Iterator[str]:
        """The names of the files in `outbound/` that may be documents, one after the other. Raises OSError."""
        with os.scandir(self.path) as entries:
            for entry in entries:
                if self.names_document(entry.name) and entry.is_file(follow_symlinks=False):
                    yield entry.name

    def names_document(self, name: str) -> bool:
        """Does the name say that it is a document of this folder?"""
        if self._ready_suffix and name.lower().endswith(self._ready_suffix.lower()):
            return False
        return names_document(name) and self._matches(name) is not None

    def held(self) -> bool:
        """Is one of `holds` there, so that nothing of this folder is to be posted now?"""
        with self.busy():
            return any(hold.exists() for hold in self.holds)

    def names(self, place_in: str) -> Iterator[str]:
        """All that lies in `sending/`, `sent/` or `failed/`, one after the other: it may be much. Raises OSError."""
        with suppress(FileNotFoundError), os.scandir(self.path / place_in) as entries:
            for entry in entries:
                yield entry.name

    def claim(self, name: str, is_spoken_for: Callable[[str], bool] = lambda _: False) -> str:
        """Move a dropped file to a name in `sending/` that nobody else may lay claim to. OSError: gone, and others."""
        for free in self.free_names(self.path / "sending", shortened(name)):
            if not is_spoken_for(free):
                with suppress(FileExistsError):
                    place(self.path / name, self.path / "sending" / free)
                    return free
        raise AssertionError  # free_names never ends

    def ready_file(self, name: str) -> Path | None:
        """The file whose being there says that `name` is ready, where the configuration wants one."""
        return self.path / (name + self._ready_suffix) if self._ready_suffix else None

    def seal(self, place_in: str, file: str) -> Seal | None:
        """The seal of what lies there, or None."""
        return seal(self.path / place_in / file)

    def came_back(self, document: Document) -> bool:
        """Does a file that may be this document's lie in `outbound/`, under whatever name? Then it isn't taken."""
        with self.busy():
            return any(there.size == document.size for name in self.dropped() if (there := self.seal("", name)))

    def draft(self, document_id: str, suffix: str) -> Path:
        """Where something that belongs to this document is written before it is placed."""
        return self.path / "sending" / f".{document_id}{suffix}"

    def documents(self, place_in: str) -> Iterator[str]:
        """What lies there, by name, but for notes and sidecars. Raises OSError."""
        return (name for name in self.names(place_in) if not name.endswith(BESIDE))

    def notes(self, place_in: str) -> Iterator[tuple[str, str]]:
        """The notes and sidecars that lie there, each with the document that it belongs to. Raises OSError."""
        ends = ((name, name.removesuffix(end)) for name in self.names(place_in) for end in BESIDE)
        return ((name, of) for name, of in ends if of != name and self.names_document(of))


class InboundFolder(Folder):
    """An `inbound/`: received documents, each with its sidecar."""

    def draft(self, message_id: str, suffix: str) -> Path:
        """Where something that belongs to this message is written before it is placed."""
        return self.path / f".{message_id}{suffix}"

    def __init__(self, path: Path, *, company: str, below: Path) -> None:
        super().__init__(path, company=company, below=below)
        self._cleared = False

    def clear_drafts_once(self, named: Callable[[], frozenset[str]]) -> None:
        """Remove what a process that was killed was fetching, before this one fetches; not what the journal `named`."""
        with self._taking_up:
            if not self._cleared:
                self.clear_drafts(self.path, named())
                self._cleared = True

    def free_space(self) -> int:
        """How many bytes there is room for. Raises OSError."""
        return shutil.disk_usage(self.path).free
