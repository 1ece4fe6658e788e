"""The outbound and inbound folders of a company: listing drops, claiming them, marking the folder."""

from __future__ import annotations

import hashlib
import math
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING

from filedrop.files import abandoned, clear_drafts, finish_move, on_their_way, stamp
from filedrop.files.directory import DRAFT
from filedrop.model.document import ENDED_UNSENT, FAILED_IN, UNREACHABLE_IN
from filedrop.model.message import UNASSIGNED
from filedrop.storage import sidecar
from filedrop.storage.answer_folders import CODES
from filedrop.storage.entry_times import OUTBOUND
from filedrop.storage.folder import Folder
from filedrop.storage.hold import HoldFiles, hold_files, is_hold_name
from filedrop.storage.marker import Marker
from filedrop.storage.names import (
    BESIDE,
    NEVER_DOCUMENTS,
    PDF_SUFFIXES,
    is_pdf_name,
    matcher,
    names_document,
    shortened,
)
from filedrop.storage.own_name import move
from filedrop.storage.ready_files import ReadyFiles
from filedrop.storage.withdrawal import withdraw
from filedrop.texts.languages import ENGLISH

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
    from pathlib import Path

    from filedrop.config import Company, Config, Inbound
    from filedrop.files import Directory, Entry, FileStamp, Identity
    from filedrop.journal import Journal
    from filedrop.journal.folders import Changes
    from filedrop.model.document import Document

AHEAD = 1.0  # seconds for which a marker written ahead is valid: writing it takes 1 ms, a post 5 ms
PLACES = ("sending", "sent", "archive", *ENDED_UNSENT)


class OutboundFolder(Folder):
    """An `outbound/` with its `sending/`, `sent/`, `archive/`, `failed/` and `not-on-peppol/`.

    `ready`: its ready files. `takes_answers`: the company's answers to received documents are sent from here
    (outbound/answers). `has_pdfs`: a PDF belongs to the document of its name. `has_aside`: documents may be
    in `not-on-peppol/`.
    """

    subfolders = PLACES
    made_late = (UNREACHABLE_IN,)

    def __init__(
        self,
        path: Path,
        *,
        company: str,
        below: Path,
        served: Container[Path] = (),
        patterns: Sequence[str],
        ready_suffix: str | None = None,
        ignore: Sequence[str] = (),
        language: str = ENGLISH,
        takes_answers: bool = False,
        has_pdfs: bool = False,
        has_aside: bool = False,
    ) -> None:
        super().__init__(path, company=company, below=below, served=served)
        self.language = language  # of its notes
        self.takes_answers = takes_answers
        self.has_pdfs = has_pdfs
        self.has_aside = has_aside
        self.ends = (*BESIDE, *PDF_SUFFIXES) if has_pdfs else BESIDE  # of files by which a name is taken
        self._matches = matcher(patterns)
        self._expects = matcher(ignore) if ignore else None
        self.ready = ReadyFiles(self.at, ready_suffix)
        self._marked_ahead = -math.inf
        self._cleared = False  # of a killed process's drafts
        self._hold_files = HoldFiles()

    def mark(self, journal: Journal) -> None:
        """Write the journal's count of changes to the marker, which it records first. Raises as `mark_ahead`."""
        if journal.folders.changes(self.id).counted != self.changes:
            self.branching.check(journal)
            self._mark(journal, journal.folders.mark(self.id))

    def mark_ahead(self, journal: Journal, now: float) -> None:
        """Write a count to the marker that is higher than in any older copy of the journal, before a post at `now`.

        It is on the disk on return. Done at most once a second (monotonic clock). Raises OSError, and FolderUnavailable
        where another database's filedrop has the folder by now.
        """
        with self._taking_up:
            if now - self._marked_ahead < AHEAD:
                return
            self.branching.check(journal)
            self._mark(journal, journal.folders.mark_ahead(self.id))
            self.at().sync()
            self._marked_ahead = now

    def _mark(self, journal: Journal, changes: Changes) -> None:
        # Drafted in `sending/`: a draft in `outbound/` itself would raise file events.
        marker = Marker(self.id, journal.id, changes.counted, changes.branch)
        marker.replace(self.at(), draft_in=self.at("sending"))
        self.changes = changes.counted

    def dropped(self, now: float | None = None) -> Iterator[str]:
        """The names of the files in `outbound/` that may be documents, lazily. Raises OSError.

        `now`: the steady time, if known; then this listing counts for `held_by`, too.
        """
        entries = self._hold_files.listed(self.at(), now)
        return (entry.name for entry in entries if self.is_dropped(entry))

    def is_dropped(self, entry: os.DirEntry[str]) -> bool:
        """Whether this entry of `outbound/` may be a document. Raises OSError."""
        is_named = self.names_document(entry.name) and not is_hold_name(entry.name)
        return is_named and entry.is_file(follow_symlinks=False)

    def names_document(self, name: str) -> bool:
        """Whether this is a document's name, by the folder's patterns. In `outbound/` itself, a hold file's isn't."""
        is_companion = name.lower().endswith(self.ready.ends) or self.is_pdf(name)
        return names_document(name) and not is_companion and self._matches(name)

    def is_pdf(self, name: str) -> bool:
        """Whether a file of this name belongs to a document, as its PDF, by the present settings."""
        return self.has_pdfs and is_pdf_name(name)

    def may_be_pdf(self, name: str) -> bool:
        """Whether a file of this name may be there as the PDF of a document, by any settings."""
        return is_pdf_name(name) and not self.names_document(name)

    def expects(self, name: str) -> bool:
        """Whether files of this name may be in `outbound/` although they are no documents (`outbound.ignore`)."""
        return self._expects is not None and self._expects(name)

    def held_by(self, now: float | None = None) -> str:
        """The name of a hold file, because of which nothing of this folder may be posted; "" for none. Raises OSError.

        `now` is the steady time: usual spellings are seen at once, others within a second, or ten times as long as a
        listing takes. Without it, the folder is listed in any case.
        """
        return self._hold_files.find(self.at(), now)

    @property
    def known_hold(self) -> str:
        """The hold file that was found last; "" where none was there. Asks no disk."""
        return self._hold_files.known

    def hold_files(self) -> Iterator[str]:
        """The names of all hold files, lazily. Raises OSError."""
        return hold_files(self.at())

    def names(self, place_in: str) -> Iterator[str]:
        """All names in a folder below, lazily: there may be many. Raises OSError."""
        with suppress(FileNotFoundError):
            yield from self.at(place_in).names()

    def claim(
        self,
        name: str,
        is_spoken_for: Callable[[str], bool] = lambda _: False,
        *,
        dropped_as: str | None = None,
        identity: Identity | None = None,
        ends: Collection[str] = BESIDE,
        pdfs: Collection[Entry] = (),
    ) -> str:
        """Move a file of `outbound/`, after its `pdfs`, to a free name in `sending/`, and return that name.

        `is_spoken_for`: whether the name may be another document's. `dropped_as`: the name that it was dropped with, if
        that is another. `identity`: the file's, where known. `ends`: as `free_names` takes them. Raises OSError
        (FileNotFoundError where the file is gone).
        """
        own, here, sending = dropped_as or name, self.at(), self.at("sending")
        for free in self.free_names(sending, shortened(own), ends):
            if not is_spoken_for(free):
                before = name if pdfs and free != name else ""
                with suppress(FileExistsError):
                    move(here / name, sending / free, own, identity, draft_in=sending, pdfs=pdfs, before=before)
                    return free
        raise AssertionError  # free_names never ends

    def look_for_aside(self) -> None:
        """Note whether documents may be in `not-on-peppol/`, whatever is set by now. Raises OSError."""
        self.has_aside |= any(self.names(UNREACHABLE_IN))

    def ended(self) -> Iterator[Directory]:
        """The folders of what ended and wasn't sent, as far as documents may be in them. Raises OSError."""
        for place_in in ENDED_UNSENT if self.has_aside else (FAILED_IN,):
            with suppress(FileNotFoundError):  # filedrop has made none yet
                yield self.at(place_in)

    def stamp(self, place_in: str, file: str) -> FileStamp | None:
        """The stamp of a file, or None where there is none."""
        return stamp(self.at(place_in) / file)

    def came_back(self, document: Document) -> bool:
        """Whether `outbound/` has a file of the document's size. It may be the document, which then isn't taken."""
        return any(there.size == document.size for name in self.dropped() if (there := self.stamp("", name)))

    def clear_drafts_once(self, *, failed: bool = False) -> None:
        """Remove drafts that a killed process left, and end its moves. Works only once; after an error, again.

        `failed`: moves of this process have failed, and are ended in any case. Raises OSError.
        """
        if failed or not self._cleared:
            for place_in in () if self._cleared else ("", "archive", "sending"):
                clear_drafts(self.at(place_in))
            for place_in in (*OUTBOUND, *(f"archive/{month}" for month in self.months()[-1:])):
                with suppress(FileNotFoundError):  # one that is made late
                    here = self.at(place_in)
                    for moving, name in on_their_way(here):
                        finish_move(moving, chain([name], self.free_names(here, name)))
            self._cleared = True

    def documents(self, place_in: str) -> Iterator[str]:
        """The names of files in a folder below, except notes and sidecars. Raises OSError."""
        with suppress(FileNotFoundError):
            yield from self._files(place_in)

    def months(self) -> list[str]:
        """The folders in `archive/`, in the order of their names. Raises OSError."""
        return sorted(month.name for month in self.at("archive").scan() if month.is_dir(follow_symlinks=False))

    def _files(self, place_in: str) -> Iterator[str]:
        for entry in self.at(place_in).scan():
            if not entry.name.endswith(NEVER_DOCUMENTS) and entry.is_file(follow_symlinks=False):
                yield entry.name

    def notes(self, place_in: str) -> Iterator[tuple[str, str]]:
        """The names of notes, sidecars and posted copies there, each with its document's name. Raises OSError."""
        ends = ((name, name.removesuffix(end)) for name in self.names(place_in) for end in NEVER_DOCUMENTS)
        return ((name, of) for name, of in ends if of != name and self.names_document(of))


class InboundFolder(Folder):
    """An `inbound/`: received documents, each with its sidecar.

    `has_attachments`, `has_pages`: whether what is embedded in them, or pages of them, are to lie beside them.
    `owner`: the only account that writes there, and the other accounts, by their identities; None where several do.
    """

    def __init__(
        self,
        path: Path,
        *,
        company: str,
        below: Path,
        served: Container[Path] = (),
        language: str = ENGLISH,
        settings: Inbound | Company | None = None,
        name: str | None = None,
        owner: tuple[str, Collection[str]] | None = None,
    ) -> None:
        super().__init__(path, company=company, below=below, served=served)
        self.owner = owner
        self.language = language  # of its pages and notes
        self.has_attachments = settings is not None and settings.attachments == "beside"
        self.has_pages = settings is not None and settings.readable == "html"
        self.pattern = name  # of the names of received documents; None: the default
        self._cleared_for: set[str] = set()  # accounts, of a killed process's drafts
        self._depth = (name or "").count("/")  # of the folders that names lead into

    def clear_drafts_once(self, account: str, others: Iterable[str], named: Callable[[], frozenset[str]]) -> None:
        """Remove drafts that a killed process left, except those `named` in the journal. Once for each account.

        Accounts are given by their identities. Those of the `others` stay: another process may be about to name them.
        """
        with self._taking_up:
            if account not in self._cleared_for:
                here, keep, spared = self.at(), named(), frozenset(map(draft_owner, others))
                for draft in filter(None, map(DRAFT.fullmatch, keep)):
                    if draft["owner"] not in spared:
                        _end_placing(here / draft[0])
                left = abandoned(here, named=keep, others=spared)
                self._clear_reserved(left)
                clear_drafts(here, left)
                self._cleared_for.add(account)

    @property
    def has_folders(self) -> bool:
        """Whether names of received documents lead into folders in it."""
        return self._depth > 0

    def places(self) -> Iterator[Directory]:
        """The folder itself, and those in it as deep as names lead, without following links. Raises OSError.

        No name leads into the folders of answers.
        """
        return _within(self.at(), self._depth, without=CODES)

    def _clear_reserved(self, drafts: Iterable[str]) -> None:
        """Remove what another filedrop, which had the folder before us, had placed beside these drafts."""
        ids = {found["id"] for draft in drafts if (found := DRAFT.fullmatch(draft)) and draft.endswith(".part")}
        for there in self.places() if ids else ():
            names = frozenset(there.names())
            waiting = (name for name in names if name.endswith(".json") and name.removesuffix(".json") not in names)
            for name in waiting:
                if sidecar.document_id_in(there / name) in ids:
                    with suppress(PermissionError):
                        withdraw(there, name.removesuffix(".json"))


def received_paths(inbound: Path, name: str) -> list[Path]:
    """Where a received document with this name may be: where it was placed, else where a person moved it."""
    path = inbound / name
    return [path, *(inbound / folder / path.name for folder in CODES)]


def moved_to(here: Directory) -> list[Directory]:
    """The folders of an inbound folder into which a person may have moved what was received. Raises OSError."""
    return [there for name in CODES if (there := folder_below(here, name))]


def folder_below(here: Directory, path: str) -> Directory | None:
    """A folder at a path below another one; None where there is none that filedrop may look into. Raises OSError."""
    with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
        return here.below(path)
    return None


def _within(here: Directory, depth: int, without: Container[str] = ()) -> Iterator[Directory]:
    yield here
    for entry in here.scan() if depth else ():
        if entry.is_dir(follow_symlinks=False) and entry.name not in without:
            with suppress(FileNotFoundError, NotADirectoryError, PermissionError):  # taken, or a person's own
                yield from _within(here.folder(entry.name), depth - 1)


def draft_owner(account: str) -> str:
    """What the drafts of an account are marked with, which is given by its identity."""
    return hashlib.sha256(account.encode()).hexdigest()[:8]


def _end_placing(draft: Entry) -> None:
    """Remove a draft that a killed process has placed by a link (`files.system.place`): it has its other name."""
    with suppress(FileNotFoundError):
        if draft.lstat().st_nlink > 1:
            draft.unlink()


class NamedFolders:
    """The paths of all folders that the configuration names, also after a reload. Thread-safe."""

    def __init__(self, paths: Container[Path]) -> None:
        self._paths = paths

    def __contains__(self, path: object) -> bool:
        """Whether the configuration names this folder now."""
        return path in self._paths

    def replace(self, paths: Container[Path]) -> None:
        """Go by another configuration."""
        self._paths = paths


def outbound_folder(
    config: Config, company: Company, path: Path, served: Container[Path] | None = None
) -> OutboundFolder:
    """One of a company's outbound folders. `served`: the folders that the configuration names, if that may change."""
    rules = config.outbound
    return OutboundFolder(
        path,
        company=company.name,
        below=config.root,
        served=config.folders if served is None else served,
        patterns=rules.files,
        ready_suffix=rules.ready_suffix,
        ignore=rules.ignore,
        language=company.language,
        takes_answers=path == company.outbound[0],
        has_pdfs=company.prepare.has_pdfs,
        has_aside=company.unreachable != "directory",
    )


def inbound_folder(config: Config, company: Company, served: Container[Path] | None = None) -> InboundFolder:
    """A company's inbound folder. `served`: the folders that the configuration names, if that may change."""
    named = config.folders if served is None else served
    return InboundFolder(
        company.inbound,
        company=company.name,
        below=config.root,
        served=named,
        language=company.language,
        settings=company,
        name=company.received_name,
        owner=_owner(config, company.account),
    )


def unassigned_folder(config: Config, served: Container[Path] | None = None) -> InboundFolder | None:
    """The folder for messages that belong to no company; None where the configuration has none.

    `served`: the folders that the configuration names, if that may change.
    """
    if config.unassigned is None:
        return None
    named = config.folders if served is None else served
    return InboundFolder(
        config.unassigned,
        company=UNASSIGNED,
        below=config.root,
        served=named,
        language=config.language,
        settings=config.inbound,
        name=config.inbound.name,
        owner=_owner(config, *config.accounts) if len(config.accounts) == 1 else None,
    )


def _owner(config: Config, name: str) -> tuple[str, Collection[str]]:
    account = config.accounts[name].identity
    return account, {other.identity for other in config.accounts.values()} - {account}
