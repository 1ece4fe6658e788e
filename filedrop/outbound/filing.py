"""The last move of a document: its sidecar, its note, and then its file, to the place of its state.

The sidecar comes first: it reserves the name, and it says which document the name belongs to. A move that was cut off
is found again by its sidecar, so putting away can be repeated until it is complete. `Moves` brings many moves to the
disk together; until then the journal has the place before the move, and the next start looks there first.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from filedrop.errors import FiledropError, FolderUnavailable, JournalError
from filedrop.files import (
    NO_FILE,
    InUse,
    create_whole,
    discard,
    identity_at,
    identity_of,
    make_folder,
    open_known,
    place,
    replace_whole,
)
from filedrop.model.document import State
from filedrop.storage import sidecar
from filedrop.storage.names import shortened
from filedrop.storage.own_name import clear_left, move

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from filedrop.files import Directory, Entry, Identity
    from filedrop.model.document import Document
    from filedrop.outbound.context import FolderContext
    from filedrop.storage.folders import OutboundFolder

COMPARED = 1_000_000  # bytes: of larger files, only the size is compared
AT_ONCE = 32  # moves that are brought to the disk together


class FileGone(FiledropError):
    """The document's file is missing both where it was and where it belongs."""


def put_away(
    folder: OutboundFolder,
    document: Document,
    *,
    is_spoken_for: Callable[[str, str], bool] = lambda _place, _file: False,
    resumed: bool = False,
) -> Document:
    """Move a document's file to the place of its state, sidecar and note first, and return the document at that place.

    `is_spoken_for`: whether a place and file name may be another document's although no file lies there.
    `resumed`: an earlier process may have begun this move. Raises FileGone, OSError (InUse: nothing was moved).
    """
    source = folder.at(document.place) / document.file
    # A file that has lain there for some time may have been replaced: compare it. One just posted is trusted.
    has_lain = resumed or document.unclear or document.place == "sent"
    identity = _own(source, document) if has_lain else identity_at(source)
    if resumed or identity is None or (has_lain and _is_begun(folder, document)):
        found = _already(folder, document)
        if found is not None and _own(found, document):  # the earlier move succeeded, even if it returned an error
            _clear_notes(source)
            return document.at(document.home, found.name)
        if identity is None:
            raise FileGone(document.dropped_as)
        if found is not None:  # the name is reserved again below, by a current sidecar
            _clear_notes(found)
    home = _home(folder, document)
    for name in folder.free_names(home, shortened(document.dropped_as)):
        if _place(folder, document, (source, identity), home / name, is_spoken_for):
            _clear_notes(source)
            return document.at(document.home, name)
    raise AssertionError  # free_names never ends


def _home(folder: OutboundFolder, document: Document) -> Directory:
    if "/" in document.home:  # the month may be new; `archive/` is missing only if the share is
        within, _, month = document.home.partition("/")
        entry = folder.at(within) / month
        if not entry.is_folder():
            make_folder(entry)
    return folder.at(document.home)


def put_back(folder: OutboundFolder, file: str, dropped_as: str) -> None:
    """Move a claimed file back to `outbound/`. Raises OSError."""
    here, sending = folder.at(), folder.at("sending")
    for name in folder.free_names(here, dropped_as):
        with suppress(FileExistsError):
            move(sending / file, here / name, dropped_as, draft_in=sending)
            _clear_notes(sending / file)
            return


def put_back_changed(at: FolderContext, document: Document) -> None:
    """Move a file that changed after its claim back to `outbound/`, where readiness begins again (contract 1)."""
    shared = at.shared
    with at.tolerant():
        put_back(at.folder, document.file, document.dropped_as)
        shared.journal.record(document.taken(shared.now()))
        shared.log.info("document.changed", company=document.company, file=document.file)
    at.scanner.look_now()


def lies_at(folder: OutboundFolder, document: Document) -> bool:
    """Whether the file lies at its known place, or where a move that was cut off brought it. Raises OSError."""
    with suppress(FileNotFoundError):
        if _own(folder.at(document.place) / document.file, document):
            return True
    found = _already(folder, document) if document.home != document.place else None
    return found is not None and found.exists()


def _own(entry: Entry, document: Document) -> Identity | None:
    """The identity of the document's own file; None if it is missing, or a person has replaced it. Raises OSError."""
    try:
        file, status = open_known(entry)
        with file:
            if status.st_size != document.size:
                return None
            compared = document.sha256 and document.size <= COMPARED
            if compared and hashlib.file_digest(file, "sha256").hexdigest() != document.sha256:
                return None
            return identity_of(status)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno in NO_FILE:
            return None
        if document.sha256 and not isinstance(error, PermissionError):
            raise
        return identity_at(entry)  # an unreadable file was never posted


def _place(
    folder: OutboundFolder,
    document: Document,
    file: tuple[Entry, Identity],
    target: Entry,
    is_spoken_for: Callable[[str, str], bool],
) -> bool:
    """Write sidecar and note, and move the file. False where the name is taken after all."""
    content, sending = sidecar.outbound(document, target.name), folder.at("sending")
    try:
        create_whole(target.beside(".json"), content, draft_in=sending)
    except FileExistsError:
        return False
    if is_spoken_for(document.home, target.name):  # only now: the sidecar has reserved the name
        _clear_notes(target)
        return False
    if document.state is State.FAILED and document.error:
        note = sidecar.why(document, document.error, target.name)
        replace_whole(target.beside(".why.txt"), note, draft_in=sending)
    try:
        place(file[0], target, file[1])
    except FileExistsError:  # a person put a file there meanwhile, which keeps the name
        _clear_notes(target)
        return False
    except InUse:
        _clear_notes(target)
        raise
    except FileNotFoundError:
        _clear_notes(target)
        raise FileGone(document.dropped_as) from None
    return True


def _is_begun(folder: OutboundFolder, document: Document) -> bool:
    """Whether this move was begun before, which an older copy of the journal doesn't know."""
    with suppress(FileNotFoundError):
        beside = folder.at(document.home) / f"{shortened(document.dropped_as)}.json"
        return sidecar.identity_of(beside) == document.id
    return False


def _already(folder: OutboundFolder, document: Document) -> Entry | None:
    """The entry whose name an earlier attempt reserved for this document, or None. Raises OSError."""
    with suppress(FileNotFoundError):  # the month has no folder yet
        home, wanted = folder.at(document.home), shortened(document.dropped_as)
        if sidecar.identity_of(home / f"{wanted}.json") == document.id:
            return home / wanted
        stem = wanted.rpartition(".")[0] or wanted
        for name in home.names():  # an iterator: there may be a hundred thousand
            if name.startswith(stem) and name.endswith(".json") and sidecar.identity_of(home / name) == document.id:
                return home / name.removesuffix(".json")
    return None


def _clear_notes(document: Entry) -> None:
    for suffix in (".json", ".why.txt"):
        discard(document.beside(suffix))


def bring_to_disk(folder: OutboundFolder, places: Iterable[str]) -> None:
    """Bring moves between these places to the disk. Raises OSError.

    Where documents went comes first: their old sidecars are gone for good once the place they came from is on the disk.
    """
    for name in sorted(places, key=lambda name: {"sent": 1, "sending": 2}.get(name, 0)):
        folder.at(name).sync()


class Moves:
    """Moves of one folder's files that disk and journal don't have yet. `total` counts all moves.

    `may_resume`: an earlier process may have begun moves that are still to be made.
    """

    def __init__(self, at: FolderContext) -> None:
        self._at = at
        self.total = 0
        self.may_resume = True
        self._begun: set[str] = set()  # ids of documents whose move has failed
        self._moved: list[tuple[Document, Document]] = []  # before and after each move

    def put_away(self, document: Document, *, left: bool = False) -> None:
        """Put a document away if it belongs to another place. What the disk refuses is logged.

        `left`: the document was found in the journal, where an earlier process may have left it.
        """
        if document.home == document.place:
            return
        # Not of each document that is found there: what was begun is looked for among all names of the new place.
        resumed = (left and self.may_resume) or document.id in self._begun or document.id in self._at.missed
        with self._at.tolerant():
            try:
                _clear_left(self._at, document)
                spoken_for = partial(self._at.shared.journal.speaks_of, document.folder)
                after = put_away(self._at.folder, document, is_spoken_for=spoken_for, resumed=resumed)
            except FileGone:
                _miss(self._at, document)
            except InUse as error:  # retried by each scan, logged once: a missing permission looks the same
                if document.id not in self._begun:
                    facts = {"company": document.company, "file": document.file}
                    self._at.shared.log.info("document.in_use", **facts, why=error.strerror)
                self._begun.add(document.id)
            except (OSError, FolderUnavailable):
                self._begun.add(document.id)
                raise
            else:
                self._at.missed.pop(document.id, None)
                self._begun.discard(document.id)
                _log_move(self._at, document, after)
                self._moved.append((document, after))
                self.total += 1
                if len(self._moved) >= AT_ONCE:
                    self.flush()

    def flush(self) -> None:
        """Bring the moves to the disk, then to the journal. After an error, a later scan does both again."""
        if not self._moved:
            return
        moved, self._moved = self._moved, []
        try:
            bring_to_disk(self._at.folder, {document.place for move in moved for document in move})
            self._at.shared.journal.record_places(after for _, after in moved)
        except (OSError, JournalError) as error:
            self._at.shared.log.warning("moves.not_flushed", folder=str(self._at.folder.path), why=str(error))


def _log_move(at: FolderContext, document: Document, after: Document) -> None:
    facts = {"company": document.company, "file": after.file}
    if document.state is State.FAILED and document.error:
        at.shared.log.warning("document.failed", **facts, code=document.error.code, why=document.error.message)
    else:
        at.shared.log.info("document.put_away", **facts, state=document.state.value, msg_no=document.msg_no)


def _clear_left(at: FolderContext, document: Document) -> None:
    """Free the name that a document had in `failed/` before it was moved back: it gets it again if it fails again."""
    name = at.names_in_failed.pop(document.id, None)
    if name is not None and document.state is State.FAILED:
        failed = at.folder.at("failed")
        clear_left(failed / name, at.folder.id, at.shared.journal)
        at.folder.names_are_free_again(failed, shortened(document.dropped_as))


def _miss(at: FolderContext, document: Document) -> None:
    """Note a missing file: a person may be moving it, or the share is away. After `rescan`, it counts as taken."""
    shared = at.shared
    try:
        at.folder.take_up(shared.journal)
    except FolderUnavailable:  # the next step reports it
        return
    first = at.missed.setdefault(document.id, shared.steady())
    if at.folder.came_back(document) or shared.steady() - first < shared.rules.rescan.total_seconds():
        return
    del at.missed[document.id]
    shared.journal.record(document.gone(shared.now()))
    shared.log.warning("document.taken", company=document.company, file=document.file, state=document.state.value)
