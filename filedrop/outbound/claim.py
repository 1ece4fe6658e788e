"""Claiming: a dropped file that is ready moves into `sending/` and becomes a document.

All files of a batch are looked at before the first one is moved: the journal is asked about them at once.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING

from filedrop.errors import Changed, DocumentError
from filedrop.files import Entry, InUse, discard_seen, identity_of, place, stamps
from filedrop.journal import Drop, Waiver
from filedrop.model.document import LET_THROUGH, Document, Event, State
from filedrop.model.fault import Fault
from filedrop.outbound.context import new_document
from filedrop.outbound.filing import bring_along, lies_at, put_back
from filedrop.outbound.handover import Claim
from filedrop.outbound.identified import identified_in, identified_now
from filedrop.outbound.look import ReadyFile, is_writer_done, look_at, remember_in_use
from filedrop.outbound.preparing import keep_copy
from filedrop.outbound.upload import Changing, OpenedDocument
from filedrop.outbound.versions import originals
from filedrop.storage import sidecar
from filedrop.storage.names import POSTED, beside, pdf_name, shortened
from filedrop.storage.own_name import brought, clear_copy, clear_left

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from filedrop.identify import Reading
    from filedrop.outbound.desk import Desk
    from filedrop.storage.company_folders import OutboundFolder

AFTER_ITS_REQUEST = 0.5  # seconds between looks at a returned file while a sender has its document


def claim_files(desk: Desk, names: Iterable[str]) -> Iterator[Claim]:
    """Claim those of these dropped files that are ready: their documents, with the open files. Raises JournalError."""
    files = deque[ReadyFile]()
    try:
        for name in names:
            with desk.health.tolerant():
                ready = look_at(desk, name)
                if ready is not None:
                    files.append(ready)
        known, copies = _known_of(desk, files), originals(desk, files)
        while files:
            claim = None
            with desk.health.tolerant():
                claim = _claim(desk, files[0], is_known=files[0].name in known, copy_of=copies.get(files[0].name))
            ready = files.popleft()
            if claim is None or claim.opened is None:
                ready.close()
            if claim is not None:
                yield claim
    finally:
        for ready in files:
            ready.close()


def _known_of(desk: Desk, files: Iterable[ReadyFile]) -> set[str]:
    """The names of those files that rows in the journal may concern, by one question for all: of what was read, few."""
    names, drops = set[str](), list[Drop]()
    for ready in files:
        if isinstance(ready.content, DocumentError):
            names.add(ready.name)
        else:
            drops.append(Drop(ready.name, shortened(ready.dropped_as), ready.content.sha256))
    return names | desk.journal.documents.known_of(desk.folder.id, drops)


def _claim(desk: Desk, ready: ReadyFile, *, is_known: bool, copy_of: str | None = None) -> Claim | None:
    """Claim a file that was ready when it was read, unless it is another version of a document (`versions.originals`).

    `is_known`: a row in the journal may concern it.
    """
    try:
        if isinstance(ready.content, DocumentError):
            return _claim_new(desk, ready, is_known=True)
        if not is_writer_done(desk, ready.name, ready.status):  # it was written again while others were read
            return None
        journal = desk.journal
        for document in journal.numbers.open_like(desk.folder.id, ready.content.sha256) if is_known else ():
            if not lies_at(desk.folder, document):
                return _claim_returned(desk, ready, document, ready.content)
        if copy_of is not None and journal.waivers.of(desk.folder.id, ready.name) is None:
            again = desk.rules.rescan.total_seconds() if copy_of else 1.0
            desk.scanner.remember(ready.name, ready.stamp, desk.steady(), look_again=again, copy_of=copy_of)
            return None
        return _claim_new(desk, ready, is_known=is_known)
    except InUse as error:
        remember_in_use(desk, ready.name, error)
        return None


def _claim_new(desk: Desk, ready: ReadyFile, *, is_known: bool) -> Claim | None:
    """Begin a document with this file."""
    shared, folder, name, content = desk.shared, desk.folder, ready.name, ready.content
    moved = _move_in(desk, ready, ready.dropped_as, is_known=is_known)
    if moved is None:
        return None
    file, opened = moved
    document = new_document(shared, folder, ready.dropped_as, file, ready.status.st_size)
    if ready.pdf.found is not None:
        pdf = ready.pdf.found.file
        document = document.but(pdf=replace(pdf, name=pdf_name(ready.dropped_as, pdf.name)))
    shared.log.info("document.claimed", **document.log_facts)
    for left in (ended / name for ended in folder.ended()):
        if left.beside(".json").exists() or left.beside(".why.txt").exists():
            desk.moves.note_left(document.id, name)
            clear_copy(left, folder.id, shared.journal)
            if ready.dropped_as != name:  # its note has named this file, and must not name the next one
                clear_left(left, folder.id, shared.journal)
    if isinstance(content, DocumentError):
        return Claim(document.failed(shared.now(), Fault.of(*content.texts)), None)
    has_waiver = False
    if is_known:
        waiver = Waiver(content.sha256, ready.stamp.modified)
        document, has_waiver = let_through(desk, document, name, waiver)
    document = identified_in(shared, desk.identification, document, content)
    if ready.pdf.refusal is not None and document.state is State.WAITING:
        document = document.failed(shared.now(), Fault.of(*ready.pdf.refusal.texts))
    return Claim(document, opened, waived=name if has_waiver else "")


def let_through(desk: Desk, document: Document, name: str, of_file: Waiver) -> tuple[Document, bool]:
    """The document, let through if a person has let this file through; and whether there is a waiver of its name."""
    waiver = desk.journal.waivers.of(desk.folder.id, name)
    if waiver == of_file:
        document = document.but(history=(*document.history, Event(document.claimed, LET_THROUGH)))
    return document, waiver is not None


def _claim_returned(desk: Desk, ready: ReadyFile, document: Document, reading: Reading) -> Claim | None:
    """Continue an open document whose own file is gone, with this file of the same bytes (contract 1).

    A person has moved it back, or the disk has lost the claim's rename in a power cut.
    """
    shared, folder = desk.shared, desk.folder
    if desk.handover.has(document.id):  # its sender has the file open
        desk.scanner.remember(ready.name, ready.stamp, shared.steady(), look_again=AFTER_ITS_REQUEST)
        return None
    if _has_new_pdf(ready, document):  # readiness has begun again
        shared.journal.documents.record(document.taken(shared.now()))
        return _claim_new(desk, ready, is_known=True)
    # Its sidecar may be gone and its name in use: then it starts again from sending/ under another one.
    has_place = document.place == "sending" and folder.stamp("sending", document.file) is None
    moved = _move_in(desk, ready, document.dropped_as, file=document.file if has_place else "")
    if moved is None:
        return None
    file, opened = moved
    if not has_place:
        before = folder.at(document.place) / document.file
        document = _record_in_sending(desk, document, file)
        bring_along(document, before, folder.at("sending") / file)
    if opened is not None:
        keep_copy(folder, document, opened, shared.rules)
    desk.moves.note_found(document.id)
    shared.log.info("document.returned", **document.log_facts, state=document.state.value)
    return Claim(identified_now(shared, desk.identification, document, reading), opened)


def _has_new_pdf(ready: ReadyFile, document: Document) -> bool:
    """Whether a document that was never posted came back with another PDF than it was claimed with."""
    found, before = ready.pdf.found, document.pdf
    return found is not None and not document.was_posted and (before is None or before.sha256 != found.file.sha256)


def _record_in_sending(desk: Desk, document: Document, file: str) -> Document:
    """Record that a document lies in `sending/` now; again where an answer has just taken it a step further."""
    journal = desk.journal
    while True:
        try:
            return journal.documents.record(document.at("sending", file))
        except Changed:
            newer = journal.documents.by_id(document.id)
            if newer is None:
                raise
            document = newer


def _move_in(
    desk: Desk, ready: ReadyFile, dropped_as: str, *, file: str = "", is_known: bool = True
) -> tuple[str, OpenedDocument | None] | None:
    """Move a file into `sending/`: as `file`, or under a free name that is in no row (a power cut can undo a move).

    Returns its name there, and the file, opened. None if it is gone, or was written or replaced before the move.
    """
    folder, identity = desk.folder, identity_of(ready.status, desk.folder.abilities)
    found = ready.pdf.found
    pdfs = [found.where] if found is not None and isinstance(found.where, Entry) else []

    def is_spoken(name: str) -> bool:
        is_asked = is_known or name != shortened(dropped_as)
        return is_asked and bool(desk.journal.documents.spoken_of(folder.id, [("sending", name)]))

    if not folder.abilities.inodes:  # it is read again: an SMB server gives no second name to an open file
        ready.close()
    names = [ready.name, *(pdf.name for pdf in pdfs)]
    # Once the document is gone, a system that uses the same names each time writes the files of the next one.
    companions = [*folder.ready.seen(*names), *stamps(_came_along(folder, ready.name))]
    try:
        if file:
            target = folder.at("sending") / file
            pdfs = [pdf for pdf in pdfs if not beside(target, pdf.name).exists()]  # its own may have stayed
            with brought(pdfs, target):
                place(folder.at() / ready.name, target, identity)
        else:
            ends = (*folder.ends, POSTED) if desk.rules.prepare.is_on else folder.ends
            file = folder.claim(ready.name, is_spoken, dropped_as=dropped_as, identity=identity, ends=ends, pdfs=pdfs)
    except FileNotFoundError:
        return None
    is_same, opened = _compare(desk, file, ready)
    if found and pdfs and is_same:  # where no inode tells, its content is compared when it is put into the document
        pdf = folder.stamp("sending", pdf_name(file, found.file.name))
        is_same = pdf == found.stamp if folder.abilities.inodes else pdf is not None
    if not is_same:
        if opened is not None and opened is not ready.opened:
            opened.close()
        put_back(folder, file, ready.name)
        return None
    for name in names:
        desk.scanner.forget(name)
    for companion, seen in companions:
        discard_seen(companion, seen)
    return file, opened


def _compare(desk: Desk, file: str, ready: ReadyFile) -> tuple[bool, OpenedDocument | None]:
    """Whether the file of this name in `sending/` is what was read in `outbound/`, and that file, opened.

    Where its inode doesn't tell, it is read again: another computer may have replaced it meanwhile. Raises OSError.
    """
    if desk.folder.abilities.inodes:
        return desk.folder.stamp("sending", file) == ready.stamp, ready.opened
    before, opened, is_same = ready.content, None, False
    try:
        opened = OpenedDocument.open(desk.folder.at("sending") / file)
        reading = opened.read(desk.rules.max_size, desk.identification.xpaths)
        is_same = not isinstance(before, DocumentError) and before.sha256 == reading.sha256
    except Changing:
        pass
    except DocumentError as error:
        is_same = isinstance(before, DocumentError) and before.code == error.code
    except OSError:
        if not isinstance(before, DocumentError):
            raise
        is_same = True  # the next comparison reads it
    finally:
        is_used = is_same and not isinstance(before, DocumentError)
        if opened is not None and not is_used:
            opened.close()
    return is_same, opened if is_used else None


def _came_along(folder: OutboundFolder, name: str) -> Iterator[Entry]:
    """What may have come back with a document that had ended: its note, its sidecar, and what was posted for it."""
    document = folder.at() / name
    said = document.beside(".json")
    content = sidecar.read(said) if said.exists() else None
    if content and content.get("posted"):
        yield document.beside(POSTED)
        for left in (ended / name for ended in folder.ended()):
            if not left.exists():  # that may have stayed
                yield left.beside(POSTED)
    yield document.beside(".why.txt")
    if content:  # the last: without it, nobody knows that the copy may go
        yield said
