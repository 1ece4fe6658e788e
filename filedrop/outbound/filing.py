"""A document's move to the place of its state: its sidecar, its note, and then its file.

The sidecar comes first: it reserves the name, and it says which document the name belongs to. A move that was cut off
is found again by its sidecar, so putting away can be repeated until it is complete.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from typing import TYPE_CHECKING

from filedrop.errors import FiledropError
from filedrop.files import NO_FILE, FileStamp, InUse, discard, identity_at, identity_of, make_folder, open_known, place
from filedrop.model.document import ENDED_UNSENT, State
from filedrop.storage import sidecar
from filedrop.storage.names import BESIDE, POSTED, REJECTED_NOTE, beside, pdfs_beside, shortened
from filedrop.storage.own_name import move, note_names
from filedrop.texts import Text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from filedrop.files import Directory, Draft, Drafts, Entry, Identity
    from filedrop.model.document import Document
    from filedrop.storage.company_folders import OutboundFolder

COMPARED = 1_000_000  # bytes: of larger files, only the size is compared


class FileGone(FiledropError):
    """The document's file isn't where it was: it is missing, or another lies there."""


def begin(
    folder: OutboundFolder, document: Document, *, resumed: bool, posted: FileStamp | None = None
) -> Move | Document:
    """A document's move to the place of its state; the document at that place, where an earlier attempt has moved it.

    `resumed`: an earlier attempt, of this process or another, may have begun this move. `posted`: the stamp of
    the file that was just posted, which isn't read again. Raises FileGone, OSError.
    """
    source = folder.at(document.place) / document.file
    known = None if resumed or document.unclear or posted is None else _identity_of_posted(source, posted)
    identity = known or _own(source, document)  # another may lie there since: it is compared
    if resumed or identity is None or (known is None and _is_begun(folder, document)):
        found = _already(folder, document)
        moved = found is not None and _own(found, document)
        if found is not None and moved and (identity is None or _is_current(found, document)):
            _clear_notes(source)  # the earlier move succeeded, even if it returned an error
            bring_along(document, source, found)
            return document.at(document.home, found.name)
        if identity is None:
            raise FileGone(document.dropped_as)
        if found is not None and not moved:  # the name is reserved again, by a current sidecar
            _clear_notes(found)
    return Move(folder, document, source, identity)


def _is_absent(document: Document) -> bool:
    """Whether it was sent with the warning that the directory doesn't have its receiver."""
    if not document.warnings:  # as most have none
        return False
    says = Text.of("receiver-unknown", receiver=document.receiver, lookup="").message
    return any(warning.startswith(says) for warning in document.warnings)


class Move:
    """A move in three steps, each for many documents: `write`, `reserve`, `complete`.

    In between, the sidecars are brought to the disk together, and the journal is asked about all names at once. It is
    asked only when the sidecars have reserved them.
    """

    def __init__(self, folder: OutboundFolder, document: Document, source: Entry, identity: Identity) -> None:
        self.document = document
        self._source = source
        self._identity = identity
        self._home = _home(folder, document)
        self._ready = folder.ready
        self._language = folder.language
        ends = (*folder.ends, *companions(document), *([REJECTED_NOTE] if document.state is State.DELIVERED else []))
        self._names = folder.free_names(self._home, shortened(document.dropped_as), ends)
        self._target: Entry
        self._drafts: dict[str, Draft]  # by the suffix that each gets; the sidecar first, which reserves the name

    def write(self, drafts: Drafts, taken: set[tuple[str, str]]) -> None:
        """Write sidecar and note for the next free name, which isn't in `taken` and is added to it. Raises OSError."""
        document = self.document
        name = next(name for name in self._names if (document.home, name) not in taken)
        taken.add((document.home, name))
        self._target = self._home / name
        said = sidecar.outbound(document, name, has_copy=has_copy(document, self._source))
        self._drafts = {".json": drafts.write(said)}
        if document.home in ENDED_UNSENT and document.error:
            note = sidecar.why(document, document.error, name, self._ready.name(name), language=self._language)
            self._drafts[".why.txt"] = drafts.write(note)
        elif document.state is State.SENT and _is_absent(document):
            waits = Text.of("waits/absent", receiver=document.receiver_name or document.receiver)
            self._drafts[".why.txt"] = drafts.write(sidecar.waits(document, waits, language=self._language))

    @property
    def target(self) -> tuple[str, str]:
        """The place and the name that the document gets."""
        return self.document.home, self._target.name

    def reserve(self, drafts: Drafts) -> bool:
        """Place the sidecar and the note. False where the name is taken after all: write again. Raises OSError."""
        placed: list[Entry] = []
        try:
            for suffix, draft in self._drafts.items():
                drafts.place(draft, self._target.beside(suffix))
                placed.append(self._target.beside(suffix))
        except FileExistsError:  # a person put a file there meanwhile, which keeps the name
            _discard(placed)
            return False
        except InUse:
            _discard(placed)
            raise
        return True

    def complete(self, *, is_spoken_for: bool) -> Document | None:
        """Move the file to the reserved name. None where that is taken after all: write again.

        `is_spoken_for`: the name may be another document's although no file lies there. Raises FileGone, OSError
        (InUse: nothing was moved).
        """
        placed, is_moved = [self._target.beside(suffix) for suffix in self._drafts], False
        try:
            if not is_spoken_for:
                self._move_file(self._target)
                is_moved = True
        except FileExistsError:  # a person put a file there meanwhile
            pass
        except (FileGone, InUse):
            _discard(placed)
            raise
        if is_moved:
            bring_along(self.document, self._source, self._target)
            return self.document.at(*self.target)
        _discard(placed)
        return None

    def _move_file(self, target: Entry) -> None:
        is_same = identity_at(self._source) == self._identity
        if not (is_same or self._source.directory.abilities.inodes):  # a server may change the time of a file
            is_same = _own(self._source, self.document) is not None
        if not is_same:  # a person may have exchanged it while others were written
            raise FileGone(self.document.dropped_as)
        try:
            place(self._source, target, self._identity)
        except FileNotFoundError:
            raise FileGone(self.document.dropped_as) from None
        _clear_notes(self._source)


def _home(folder: OutboundFolder, document: Document) -> Directory:
    within, _, name = document.home.rpartition("/")
    if within or name in folder.made_late:  # the month may be new; another folder is missing only if the share is
        entry = folder.at(within) / name
        if not entry.is_folder():
            make_folder(entry)
    return folder.at(document.home)


def companions(document: Document) -> dict[str, str]:
    """What moves with a document: how the names end (`storage.names.beside`), each with its SHA-256."""
    posted = {POSTED: document.prepared.sha256} if document.prepared else {}
    return posted | ({document.pdf.name: document.pdf.sha256} if document.pdf else {})


def bring_along(document: Document, source: Entry, target: Entry) -> None:
    """Move what was posted in a document's place, its PDF, and the note that it was rejected, after it.

    What is missing, is. Raises OSError.
    """
    may_have_note = document.state is State.DELIVERED and any(sidecar.responses(document))
    ends = (*companions(document), *([REJECTED_NOTE] if may_have_note else []))
    for end in ends if source != target else ():
        with suppress(FileNotFoundError, FileExistsError):  # a person has taken it, or has put another there
            place(beside(source, end), beside(target, end))


def has_copy(document: Document, entry: Entry) -> bool:
    """Whether what was posted in place of the document is beside this entry, its file. Raises OSError."""
    return document.prepared is not None and entry.beside(POSTED).exists()


def put_back(folder: OutboundFolder, file: str, dropped_as: str) -> None:
    """Move a claimed file back to `outbound/`, and then its PDF; its copy is made again. Raises OSError.

    Here the document goes first: while it is there, a system that uses the same names each time writes nothing. If its
    PDF can't follow under that name, both get the next one. A file that was claimed was ready: it gets a ready file.
    """
    here, sending = folder.at(), folder.at("sending")
    claimed = source = sending / file
    pdfs = pdfs_beside(claimed, folder.names_document)
    discard(claimed.beside(POSTED))
    for name in folder.free_names(here, dropped_as, (*BESIDE, *pdfs)):
        with suppress(FileExistsError):
            if pdfs:  # after a kill, they follow by this
                note_names(claimed, dropped_as, name)
            if not any(folder.ready.seen(name)):
                folder.ready.write(name, sending)
            move(source, here / name, dropped_as, draft_in=sending)
            if source != claimed:
                _clear_notes(source)
            source = here / name
            for pdf in pdfs:
                with suppress(FileNotFoundError):
                    place(sending / pdf, beside(source, pdf))
            _clear_notes(claimed)
            return


def lies_at(folder: OutboundFolder, document: Document) -> bool:
    """Whether the file lies at its known place, or where a move that was cut off brought it. Raises OSError."""
    with suppress(FileNotFoundError):
        if _own(folder.at(document.place) / document.file, document):
            return True
    found = _already(folder, document) if document.home != document.place else None
    return found is not None and found.exists()


def _identity_of_posted(entry: Entry, posted: FileStamp) -> Identity | None:
    """The identity of the file there, where it has the stamp of what was posted. Raises OSError."""
    with suppress(FileNotFoundError):
        status = entry.lstat()
        if FileStamp.of(status) == posted:
            return identity_of(status, entry.directory.abilities)
    return None


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
            return identity_of(status, entry.directory.abilities)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno in NO_FILE:
            return None
        if document.sha256 and not isinstance(error, PermissionError):
            raise
        return identity_at(entry)  # an unreadable file was never posted


def _is_begun(folder: OutboundFolder, document: Document) -> bool:
    """Whether this move was begun before, which an older copy of the journal doesn't know."""
    with suppress(FileNotFoundError):
        beside = folder.at(document.home) / f"{shortened(document.dropped_as)}.json"
        return sidecar.document_id_in(beside) == document.id
    return False


def _is_current(found: Entry, document: Document) -> bool:
    """Whether the sidecar was written for this move; a person may have laid a copy there, with its older sidecar."""
    return (sidecar.read(found.beside(".json")) or {}).get("state") == document.state.value


def _already(folder: OutboundFolder, document: Document) -> Entry | None:
    """The entry whose name an earlier attempt reserved for this document, or None. Raises OSError."""
    with suppress(FileNotFoundError):  # the month has no folder yet
        home, wanted = folder.at(document.home), shortened(document.dropped_as)
        if sidecar.document_id_in(home / f"{wanted}.json") == document.id:
            return home / wanted
        stem = wanted.rpartition(".")[0] or wanted
        for name in home.names():  # an iterator: there may be a hundred thousand
            if name.startswith(stem) and name.endswith(".json") and sidecar.document_id_in(home / name) == document.id:
                return home / name.removesuffix(".json")
    return None


def _clear_notes(document: Entry) -> None:
    _discard([document.beside(suffix) for suffix in (".json", ".why.txt")])


def _discard(entries: Iterable[Entry]) -> None:
    for entry in entries:
        discard(entry)
