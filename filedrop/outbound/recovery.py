"""Restores the rows of a folder that knows more than the journal, which is new or an older copy of itself.

A sidecar has all that a row needs, but anybody could have written it. What the journal has no record of counts for the
sidecar's company alone, and a number in the journal stays its document's. A file without a sidecar may have been
posted: it is looked for before it is sent.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from typing import TYPE_CHECKING

from filedrop.files import open_regular
from filedrop.files import place as move
from filedrop.model.document import ENDED_UNSENT, Document, State
from filedrop.outbound.filing import companions
from filedrop.outbound.preparing import with_copy
from filedrop.outbound.sender import STOPPED, log_doubt
from filedrop.storage import sidecar
from filedrop.storage.marker import why_outdated
from filedrop.storage.names import beside

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator

    from filedrop.outbound.desk import Desk
    from filedrop.storage.company_folders import OutboundFolder

ROWS_AT_ONCE = 500
_MOVED_ON = ("state", "place", "file", "delivered", "error", "warnings", "history")  # fields that change after the 201


def suspect_all(desk: Desk) -> bool:
    """Put what waits in doubt, and what is in doubt anew, where the journal is older than the folder's marker.

    Also where it has taken the folder over, or was copied: another filedrop may just have posted these. Returns
    whether it was so.
    """
    shared, folder = desk.shared, desk.folder
    changes = shared.journal.folders.changes(folder.id)
    if folder.changes <= changes.marked and not changes.is_suspect:
        return False
    if (missing := changes.missing(folder.changes)) > 0:
        desk.health.report_outdated(why_outdated(missing))
    identity, rows = shared.access_point.identity, shared.journal.documents.lying_in(folder.id, "sending")
    unposted = [
        row for row in rows if row.state is State.WAITING or (row.state is State.DOUBT and row.identity == identity)
    ]
    suspects = [
        log_doubt(shared, with_copy(folder, row, shared.rules).suspected(shared.now(), identity)) for row in unposted
    ]
    shared.journal.documents.unsettle(folder.id, folder.changes, suspects)
    return True


def restore(desk: Desk) -> Generator[None, None, OSError | None]:
    """Bring the rows up to the folder's sidecars, in slices. Returns the last error of those that can't be read.

    Raises OSError, JournalError.
    """
    journal, moved, claimed = desk.journal, list[Document](), list[Document]()
    troubles: list[OSError] = []
    if desk.health.trouble:  # which has ended: the folder was taken up
        desk.health.report_learning(0)
    for number, document in enumerate(_restored(desk.folder, troubles), 1):
        row = journal.documents.by_id(document.id)
        if companions(document):
            _bring_left(desk.folder, document, {document.file, *([row.file] if row else ())})
        if row is None:
            claimed.append(document)
        elif row.folder == document.folder and _whereabouts(row) != _whereabouts(document):
            if row.msg_no is None:
                claimed.append(document.but(revision=row.revision))
            elif (row.identity, row.msg_no) == (document.identity, document.msg_no):
                later = {name: getattr(document, name) for name in _MOVED_ON}
                moved.append(row.needs_nothing().but(due=None, uuid=row.uuid or document.uuid, **later))
        if number % ROWS_AT_ONCE == 0:
            journal.documents.record_all(moved)
            journal.documents.restore(claimed)
            moved, claimed = [], []
            desk.health.report_learning(number)
            yield
    journal.documents.record_all(moved)
    journal.documents.restore(claimed)
    _end_replaced(desk)
    return troubles[-1] if troubles else None


def _restored(folder: OutboundFolder, troubles: list[OSError]) -> Iterator[Document]:
    """The documents that lie there with a sidecar of ours, in the order of the places that a document goes through.

    A place or sidecar that can't be read goes to `troubles`: it keeps no other from being known.
    """
    archive = folder.at("archive")
    for place in ("sent", *ENDED_UNSENT, *(f"archive/{month}" for month in folder.months())):
        try:
            # A month is opened for this alone: there may be hundreds, and `at` would keep each open.
            within = archive.folder(place.removeprefix("archive/")) if "/" in place else folder.at(place)
            names = frozenset(within.names())
        except FileNotFoundError:  # one that is made late
            continue
        except OSError as error:
            troubles.append(error)
            continue
        for name in sorted(names):
            if name.endswith(".json") and name.removesuffix(".json") in names:
                try:
                    content = sidecar.read(within / name) or {}
                except OSError as error:
                    troubles.append(error)
                    continue
                document = sidecar.restore(content, folder=folder.id, company=folder.company, place=place)
                if document is not None and document.home == place:
                    yield document.at(place, name.removesuffix(".json"))


def _bring_left(folder: OutboundFolder, document: Document, names: Iterable[str]) -> None:
    """Bring what moves with a document after it, whose move was cut off before that; these names it may have had."""
    target = folder.at(document.place) / document.file
    for left in (folder.at(place) / name for place in ("sending", "sent") for name in sorted(names)):
        for end, sha256 in companions(document).items() if left != target else ():
            with suppress(OSError), open_regular(beside(left, end)) as file:
                if hashlib.file_digest(file, "sha256").hexdigest() == sha256:
                    move(beside(left, end), beside(target, end))


def _end_replaced(desk: Desk) -> None:
    """End documents under whose name another document's file lies: their own files were taken."""
    journal, folder, now = desk.journal, desk.folder, desk.now()
    replaced = [
        document
        for place, is_its_own in (("sending", _has_its_bytes), ("sent", _has_its_sidecar))
        for document in journal.documents.lying_in(folder.id, place)
        if not desk.handover.has(document.id) and not is_its_own(folder, document)
    ]
    asked = (
        document.doubted(now, STOPPED) if document.state is State.SENDING else document for document in replaced
    )  # it may be accepted
    journal.documents.record_all(document.gone(now) for document in asked)


def _whereabouts(document: Document) -> tuple[State, str, str]:
    return document.state, document.place, document.file


def _has_its_bytes(folder: OutboundFolder, document: Document) -> bool:
    """Whether the file has the document's bytes. True for a missing file: comparisons find out whether it was taken."""
    with suppress(OSError), open_regular(folder.at(document.place) / document.file) as file:
        return not document.sha256 or hashlib.file_digest(file, "sha256").hexdigest() == document.sha256
    return True


def _has_its_sidecar(folder: OutboundFolder, document: Document) -> bool:
    return sidecar.document_id_in(folder.at(document.place) / f"{document.file}.json") in (None, document.id)
