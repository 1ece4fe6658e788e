"""Claiming: a dropped file that is ready moves into `sending/` and becomes a document.

Files are read whole before they are moved, and the journal is asked about all of a batch in between. A file that isn't
ready stays where it is. The scanner remembers what was seen of it, so that a large or broken file is read again only
after a change.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from filedrop.errors import Changed, DocumentError
from filedrop.files import FileStamp, InUse, discard, identity_of, is_closed, place
from filedrop.journal import Drop, Waiver
from filedrop.model.document import LET_THROUGH, Document, Event
from filedrop.model.fault import Fault
from filedrop.outbound.context import new_document
from filedrop.outbound.filing import lies_at, put_back
from filedrop.outbound.handover import Claimed
from filedrop.outbound.identified import identified_in, identified_now
from filedrop.outbound.readiness import LATER, Clock, look_again, wait_for_writer
from filedrop.outbound.upload import Changing, OpenedDocument, unreadable
from filedrop.storage import sidecar
from filedrop.storage.names import shortened
from filedrop.storage.own_name import clear_left, own_name

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator

    from filedrop.files import Identity
    from filedrop.identify import Reading
    from filedrop.outbound.desk import Desk
    from filedrop.storage.folders import OutboundFolder

AFTER_ITS_REQUEST = 0.5  # seconds between looks at a returned file while a sender has its document


@dataclass(frozen=True, slots=True)
class Ready:
    """A dropped file whose writer is done, and the name that it was dropped with.

    Either it was read and is open, or `fault` says why it will never be a document.
    """

    name: str
    own: str
    status: os.stat_result
    opened: OpenedDocument | None = None
    fault: DocumentError | None = None

    def close(self) -> None:
        """Close the file."""
        if self.opened is not None:
            self.opened.close()


def claim(desk: Desk, names: Iterable[str]) -> Iterator[Claimed]:
    """Claim those of these dropped files that are ready: their documents, with the open files. Raises JournalError."""
    files = deque[Ready]()
    try:
        for name in names:
            with desk.health.tolerant():
                file = _look(desk, name)
                if file is not None:
                    files.append(file)
        known = _known_of(desk, files)
        while files:
            claimed = None
            with desk.health.tolerant():
                claimed = _claim(desk, files[0], is_known=files[0].name in known)
            file = files.popleft()
            if claimed is None or claimed.opened is None:
                file.close()
            if claimed is not None:
                yield claimed
    finally:
        for file in files:
            file.close()


def _known_of(desk: Desk, files: Iterable[Ready]) -> set[str]:
    """The names of those files that rows in the journal may concern: mostly none, by one question for all."""
    read = {file.name: file.opened.reading.sha256 for file in files if file.opened and file.opened.reading}
    drops = [Drop(file.name, shortened(file.own), read[file.name]) for file in files if file.name in read]
    return desk.shared.journal.documents.known_of(desk.folder.id, drops)


def _look(desk: Desk, name: str) -> Ready | None:
    """Read a file if its writer is done. Raises OSError, JournalError."""
    try:
        opened = OpenedDocument.open(desk.folder.at() / name)
    except FileNotFoundError:
        return None
    except InUse as error:
        _wait_for_others(desk, name, error)
        return None
    except OSError as error:
        return _look_at_unreadable(desk, name, error)
    ready = None
    try:
        ready = _look_into(desk, name, opened)
    except InUse as error:
        _wait_for_others(desk, name, error)
    finally:
        if ready is None or ready.opened is None:
            opened.close()
    return ready


def _claim(desk: Desk, file: Ready, *, is_known: bool) -> Claimed | None:
    """Claim a file that was ready when it was read. `is_known`: what `Journal.known_of` returns of it."""
    try:
        if file.fault is not None:
            return _claim_failed(desk, file, file.fault)
        if _has_to_wait(desk, file.name, file.status, _clock(desk)):  # it was written again while others were read
            return None
        return _claim_whole(desk, file, is_known=is_known)
    except InUse as error:
        _wait_for_others(desk, file.name, error)
        return None


def _wait_for_others(desk: Desk, name: str, error: InUse) -> None:
    """Remember a file that somebody has open. Logged once if that lasts: a missing permission looks the same."""
    lies_there = desk.folder.stamp("", name)
    if lies_there is None:
        return
    now, seen, fault = desk.shared.steady(), desk.scanner.seen.get(name), None
    in_use_for = now - seen.since if seen and seen.stamp == lies_there else 0.0
    if in_use_for >= LATER:
        fault = unreadable(desk.folder.path / name, error)
        if seen is None or seen.fault is None:
            desk.shared.log.info("document.in_use", company=desk.folder.company, file=name, why=error.strerror)
    desk.scanner.remember(name, lies_there, now, look_again=look_again(in_use_for), fault=fault)


def _look_into(desk: Desk, name: str, opened: OpenedDocument) -> Ready | None:
    rules, stamp, now = desk.shared.rules, opened.stamp, _clock(desk)
    if _has_to_wait(desk, name, opened.status, now):
        return None
    fault = desk.scanner.fault(name, stamp)
    if fault is None:
        try:
            reading = opened.read(rules.max_size, desk.identification.xpaths)
        except Changing:
            desk.scanner.note_written(name)
            desk.scanner.remember(name, stamp, now.steady, look_again=rules.settle.total_seconds())
            return None
        except DocumentError as error:
            fault = error
        except PermissionError as error:  # it could be opened: somebody has locked a part of it
            raise InUse(error.errno, error.strerror) from error
        except OSError as error:
            return _look_at_unreadable(desk, name, error)
        else:
            return Ready(name, _own_name(desk, name, reading), opened.status, opened)
    unchanged = desk.scanner.unchanged(name, opened.status, now)
    patience = rules.incomplete_after.total_seconds() - unchanged
    if fault.code == "not-xml" and patience > 0:
        # Its writer may go on without a file event: look again, but read it only after a change.
        again_in = min(patience, rules.rescan.total_seconds())
        desk.scanner.remember(name, stamp, now.steady, look_again=again_in, unchanged=unchanged, fault=fault)
        return None
    return Ready(name, _own_name(desk, name), opened.status, fault=fault)


def _has_to_wait(desk: Desk, name: str, status: os.stat_result, now: Clock) -> bool:
    """Whether a file's writer may not be done; then the scanner remembers it. Raises InUse where it certainly isn't."""
    unchanged = desk.scanner.unchanged(name, status, now)
    wait = _wait(desk, name, status, unchanged)
    if wait:
        desk.scanner.remember(name, FileStamp.of(status), now.steady, look_again=wait, unchanged=unchanged)
    return bool(wait)


def _wait(desk: Desk, name: str, status: os.stat_result, unchanged: float) -> float:
    """How many more seconds the writer may need, 0 if it is done. Raises InUse where it certainly isn't."""
    entry = desk.folder.at() / name
    if desk.folder.ready_file(name) is None:
        closed = is_closed(entry) and desk.folder.local  # on a server, not everybody is seen who writes
        closed |= desk.scanner.is_closed(name)
        return wait_for_writer(unchanged, settle=desk.shared.rules.settle, closed=closed, local=desk.folder.local)
    if desk.folder.waits_for(name, status.st_mtime_ns):
        return desk.shared.rules.rescan.total_seconds()
    is_closed(entry)  # for the InUse that it raises on Windows; asked last: just then nobody else can open it
    return 0.0


def _claim_whole(desk: Desk, file: Ready, *, is_known: bool) -> Claimed | None:
    journal, opened, name = desk.shared.journal, file.opened, file.name
    if opened is None or opened.reading is None:
        raise ValueError(f"{name} was not read")
    reading = opened.reading
    for document in journal.numbers.open_like(desk.folder.id, reading.sha256) if is_known else ():
        if not lies_at(desk.folder, document):
            return _claim_returned(desk, file, document, reading)
    moved = _move_in(desk, file, is_known=is_known)
    if moved is None:
        return None
    new, waived = moved.document, False
    if is_known:
        new, waived = waiving(desk, new, name, Waiver(reading.sha256, opened.stamp.modified))
    new = identified_in(desk.shared, desk.identification, new, reading)
    return Claimed(new, moved.opened, waived=name if waived else "")


def waiving(desk: Desk, document: Document, name: str, of_file: Waiver) -> tuple[Document, bool]:
    """The document, let through if a person has let this file through; and whether there is a waiver of its name."""
    waiver = desk.shared.journal.waivers.of(desk.folder.id, name)
    if waiver == of_file:
        document = document.but(history=(*document.history, Event(document.claimed, LET_THROUGH)))
    return document, waiver is not None


def _own_name(desk: Desk, name: str, reading: Reading | None = None) -> str:
    folder = desk.folder
    return own_name(folder.at() / name, folder.at("failed"), folder.id, desk.shared.journal, reading)


def _claim_returned(desk: Desk, file: Ready, document: Document, reading: Reading) -> Claimed | None:
    """Continue an open document whose own file is gone, with this file of the same bytes (contract 1).

    A person has moved it back, or the disk has lost the claim's rename in a power cut.
    """
    shared, folder, name = desk.shared, desk.folder, file.name
    if desk.handover.has(document.id):  # its sender has the file open
        desk.scanner.remember(name, FileStamp.of(file.status), shared.steady(), look_again=AFTER_ITS_REQUEST)
        return None
    _let_go(folder, file.opened)
    moved = document.file
    has_place = document.place == "sending" and folder.stamp("sending", moved) is None
    if has_place:
        place(folder.at() / name, folder.at("sending") / moved, _identity(desk, file.status))
    else:  # its sidecar may be gone and its name in use: it starts again from sending/
        moved = _moved_in(desk, name, document.dropped_as, file.status)
    is_same, opened = _compared(desk, moved, file)
    if not is_same:
        put_back(folder, moved, name)
        return None
    if not has_place:
        document = _recorded_in(desk, document, moved)
    desk.scanner.forget(name)
    _clear_beside(folder, name)
    desk.moves.note_found(document.id)
    shared.log.info("document.returned", **document.log_facts, state=document.state.value)
    return Claimed(identified_now(desk.shared, desk.identification, document, reading), opened)


def _recorded_in(desk: Desk, document: Document, file: str) -> Document:
    """Record that a document lies in `sending/` now; again where an answer has just taken it a step further."""
    journal = desk.shared.journal
    while True:
        try:
            return journal.documents.record(document.at("sending", file))
        except Changed:
            newer = journal.documents.by_id(document.id)
            if newer is None:
                raise
            document = newer


def _claim_failed(desk: Desk, file: Ready, fault: DocumentError) -> Claimed | None:
    moved = _move_in(desk, file)
    if moved is None:
        return None
    return Claimed(moved.document.failed(desk.shared.now(), Fault.of(*fault.texts)), None)


def _look_at_unreadable(desk: Desk, name: str, error: OSError) -> Ready | None:
    path = desk.folder.path / name
    try:
        status = (desk.folder.at() / name).lstat()
    except FileNotFoundError:
        return None
    now = _clock(desk)
    unchanged = desk.scanner.unchanged(name, status, now)
    patience, rescan = desk.shared.rules.incomplete_after.total_seconds() - unchanged, desk.shared.rules.rescan
    seen = desk.scanner.seen.get(name)
    failed_before = seen is not None and seen.fault is not None and seen.stamp == FileStamp.of(status)
    if patience > 0 or not failed_before:  # its writer may lock it (Windows) or set rights last; a share may fail once
        again_in = min(patience if patience > 0 else math.inf, rescan.total_seconds())
        fault = unreadable(path, error)
        desk.scanner.remember(
            name, FileStamp.of(status), now.steady, look_again=again_in, unchanged=unchanged, fault=fault
        )
        return None
    return Ready(name, _own_name(desk, name), status, fault=unreadable(path, error))


def _move_in(desk: Desk, ready: Ready, *, is_known: bool = True) -> Claimed | None:
    """Rename a file into `sending/`. None if it is gone, or was written or replaced before the rename."""
    folder, name, own = desk.folder, ready.name, ready.own
    _let_go(folder, ready.opened)
    try:
        file = _moved_in(desk, name, own, ready.status, is_known=is_known)
    except FileNotFoundError:
        return None
    is_same, opened = _compared(desk, file, ready)
    if not is_same:
        put_back(folder, file, name)
        return None
    desk.scanner.forget(name)
    _clear_beside(folder, name)
    document = new_document(desk.shared, folder, own, file, ready.status.st_size)
    desk.shared.log.info("document.claimed", **document.log_facts)
    in_failed = folder.at("failed") / name
    if in_failed.beside(".json").exists() or in_failed.beside(".why.txt").exists():
        desk.moves.note_in_failed(document.id, name)
        if own != name:  # its note has named this file, and must not name the next one
            clear_left(in_failed, folder.id, desk.shared.journal)
    return Claimed(document, opened)


def _let_go(folder: OutboundFolder, opened: OpenedDocument | None) -> None:
    """Close a file before its move, where that is read again: an SMB server gives no second name to an open file."""
    if opened is not None and not folder.abilities.inodes:
        opened.close()


def _compared(desk: Desk, file: str, ready: Ready) -> tuple[bool, OpenedDocument | None]:
    """Whether the file of this name in `sending/` is what was read in `outbound/`, and that file, opened.

    Where its inode doesn't tell, it is read again: another computer may have replaced it meanwhile. Raises OSError.
    """
    if desk.folder.abilities.inodes:
        return desk.folder.stamp("sending", file) == FileStamp.of(ready.status), ready.opened
    before = ready.opened.reading if ready.opened else None
    opened, is_same = None, False
    try:
        opened = OpenedDocument.open(desk.folder.at("sending") / file)
        reading = opened.read(desk.shared.rules.max_size, desk.identification.xpaths)
        is_same = before is not None and before.sha256 == reading.sha256
    except Changing:
        pass
    except DocumentError as error:
        is_same = ready.fault is not None and ready.fault.code == error.code
    except OSError:
        if ready.fault is None:  # the next comparison reads it
            raise
        is_same = True
    finally:
        is_used = is_same and before is not None
        if opened is not None and not is_used:
            opened.close()
    return is_same, opened if is_used else None


def _moved_in(desk: Desk, name: str, own: str, status: os.stat_result, *, is_known: bool = True) -> str:
    """Move a file to a free name in `sending/` that is in no row, and return it: a power cut can undo a row's move."""

    def is_spoken_for(file: str) -> bool:
        is_asked = is_known or file != shortened(own)
        return is_asked and bool(desk.shared.journal.documents.spoken_of(desk.folder.id, [("sending", file)]))

    return desk.folder.claim(name, is_spoken_for, dropped_as=own, identity=_identity(desk, status))


def _identity(desk: Desk, status: os.stat_result) -> Identity:
    return identity_of(status, desk.folder.abilities)


def _clear_beside(folder: OutboundFolder, name: str) -> None:
    """Remove the ready files, and the note and sidecar of a document that was moved back: they have been read."""
    here = folder.at()
    for ready_file in folder.ready_files(name):
        discard(here / ready_file)
    discard(here / f"{name}.why.txt")
    beside = here / f"{name}.json"
    if beside.exists() and sidecar.read(beside) is not None:
        discard(beside)


def _clock(desk: Desk) -> Clock:
    return Clock(desk.shared.steady(), desk.shared.now().timestamp())
