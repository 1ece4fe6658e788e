"""The look at a dropped file: whether its writer is done, and what the file contains.

Files are read whole before they are moved. A file that isn't ready stays where it is. The scanner remembers what was
seen of it, so that a large or broken file is read again only after a change.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from filedrop.errors import DocumentError
from filedrop.files import FileStamp, InUse, is_closed
from filedrop.identify import WRONG_END_TAG
from filedrop.outbound.pdf_look import look_for_pdf
from filedrop.outbound.pdfs import NO_PDF, PdfLook
from filedrop.outbound.readiness import LATER, Clock, look_again, wait_for_writer
from filedrop.outbound.upload import Changing, OpenedDocument, unreadable
from filedrop.prepare import may_have_attachments
from filedrop.storage.own_name import own_name

if TYPE_CHECKING:
    import os

    from filedrop.identify import Reading
    from filedrop.outbound.desk import Desk


@dataclass(frozen=True, slots=True)
class ReadyFile:
    """A file in `outbound/` whose writer is done, and the name that it was dropped with.

    `content` is what was read of it, and then it is open; or why it will never be a document. `pdf` goes with it.
    """

    name: str
    dropped_as: str
    status: os.stat_result
    content: Reading | DocumentError
    opened: OpenedDocument | None
    pdf: PdfLook = NO_PDF

    @property
    def stamp(self) -> FileStamp:
        """The file's stamp when it was looked at."""
        return FileStamp.of(self.status)

    def close(self) -> None:
        """Close the file."""
        if self.opened is not None:
            self.opened.close()


def look_at(desk: Desk, name: str) -> ReadyFile | None:
    """Read a file if its writer is done; else the scanner remembers it. Raises OSError, JournalError."""
    try:
        opened = OpenedDocument.open(desk.folder.at() / name)
    except OSError as error:
        return look_at_unreadable(desk, name, error)
    ready = None
    try:
        ready = (_look_into_both if desk.folder.has_pdfs else look_into)(desk, name, opened)
    finally:
        if ready is None or ready.opened is None:
            opened.close()
    return ready


def _look_into_both(desk: Desk, name: str, opened: OpenedDocument) -> ReadyFile | None:
    """The same with the PDF that goes with it. Raises OSError, JournalError."""
    pdf = None
    if desk.scanner.waits_for_pdf(name, opened.stamp):  # it was read when it began to wait
        pdf = look_for_pdf(desk, name, opened.status, None, is_awaited=True)
        if pdf is None:
            return None
    ready = look_into(desk, name, opened)
    if ready is None:
        return None
    if pdf is None or pdf.found is None:  # the file may have waited for one that is gone, and that it didn't need
        reading = None if isinstance(ready.content, DocumentError) else ready.content
        is_awaited = reading is not None and may_have_attachments(reading)
        pdf = look_for_pdf(desk, name, opened.status, reading, is_awaited=is_awaited)
    return replace(ready, pdf=pdf) if pdf else None


def look_into(desk: Desk, name: str, opened: OpenedDocument) -> ReadyFile | None:
    """Read an open file if its writer is done; else the scanner remembers it. Raises OSError, JournalError."""
    rules, stamp = desk.rules, opened.stamp
    content: Reading | DocumentError
    try:
        if not is_writer_done(desk, name, opened.status):
            return None
        content = desk.scanner.fault(name, stamp) or opened.read(rules.max_size, desk.identification.xpaths)
    except Changing:
        desk.scanner.note_written(name)
        desk.scanner.remember(name, stamp, desk.steady(), look_again=rules.settle.total_seconds())
        return None
    except DocumentError as error:
        content = error
    except OSError as error:
        is_used = isinstance(error, PermissionError)  # it could be opened: somebody writes it, or has locked a part
        return look_at_unreadable(desk, name, InUse(error.errno, error.strerror) if is_used else error)
    if not isinstance(content, DocumentError):
        return _ready(desk, name, opened.status, content, opened)
    # Its writer may go on without a file event: look again, but read it only after a change. What a writer that is done
    # has ended wrongly, it doesn't correct by going on.
    is_final = content.texts[0].values.get("why") == WRONG_END_TAG and _is_reported(desk, name)
    if content.code == "not-xml" and not is_final and _is_given_time(desk, name, opened.status, content):
        return None
    return _ready(desk, name, opened.status, content)


def look_at_unreadable(desk: Desk, name: str, error: OSError) -> ReadyFile | None:
    """A file that the system doesn't read; None while that may change, and if it is gone. Raises as `look_at`."""
    if isinstance(error, InUse):
        remember_in_use(desk, name, error)
        return None
    try:
        status = (desk.folder.at() / name).lstat()
    except FileNotFoundError:
        return None
    seen, fault = desk.scanner.seen.get(name), unreadable(desk.folder.path / name, error)
    has_failed_before = seen is not None and seen.fault is not None and seen.stamp == FileStamp.of(status)
    # Its writer may lock it (Windows) or set rights last; a share may fail once.
    if _is_given_time(desk, name, status, fault, is_first=not has_failed_before):
        return None
    return _ready(desk, name, status, fault)


def is_writer_done(desk: Desk, name: str, status: os.stat_result) -> bool:
    """Whether a file's writer is done; else the scanner remembers the file. Raises InUse where it certainly isn't."""
    now = _clock(desk)
    unchanged = desk.scanner.unchanged(name, status, now)
    wait = _wait(desk, name, status, unchanged)
    if wait:
        desk.scanner.remember(name, FileStamp.of(status), now.steady, look_again=wait, unchanged=unchanged)
    return not wait


def remember_in_use(desk: Desk, name: str, error: InUse) -> None:
    """Remember a file that somebody has open. Logged once if that lasts: a missing permission looks the same."""
    stamp = desk.folder.stamp("", name)
    if stamp is None:
        return
    now, seen, fault = desk.steady(), desk.scanner.seen.get(name), None
    in_use_for = now - seen.since if seen and seen.stamp == stamp else 0.0
    if in_use_for >= LATER:
        fault = unreadable(desk.folder.path / name, error)
        if seen is None or seen.fault is None:
            desk.log.info("document.in_use", company=desk.folder.company, file=name, why=error.strerror)
    desk.scanner.remember(name, stamp, now, look_again=look_again(in_use_for), fault=fault)


def _wait(desk: Desk, name: str, status: os.stat_result, unchanged: float) -> float:
    """How many more seconds the writer may need, 0 if it is done. Raises InUse where it certainly isn't."""
    entry = desk.folder.at() / name
    if not desk.folder.ready.ends:
        closed = is_closed(entry) and desk.folder.local  # on a server, not everybody is seen who writes
        closed |= desk.scanner.is_closed(name)
        return wait_for_writer(unchanged, settle=desk.rules.settle, closed=closed, local=desk.folder.local)
    if desk.folder.ready.missing(name, status.st_mtime_ns):
        return desk.rules.rescan.total_seconds()
    is_closed(entry)  # for the InUse that it raises on Windows; asked last: just then nobody else can open it
    return 0.0


def _is_reported(desk: Desk, name: str) -> bool:
    """Whether a ready file, or an event, has reported that a file's writer is done."""
    return bool(desk.folder.ready.ends) or desk.scanner.is_closed(name)


def _is_given_time(
    desk: Desk, name: str, status: os.stat_result, fault: DocumentError, *, is_first: bool = False
) -> bool:
    """Whether a file may yet become a document, at its first look or for `incomplete_after`; then it is remembered."""
    now, rules = _clock(desk), desk.rules
    unchanged = desk.scanner.unchanged(name, status, now)
    patience = rules.incomplete_after.total_seconds() - unchanged
    if patience <= 0 and not is_first:
        return False
    again_in = min(patience if patience > 0 else math.inf, rules.rescan.total_seconds())
    stamp = FileStamp.of(status)
    desk.scanner.remember(name, stamp, now.steady, look_again=again_in, unchanged=unchanged, fault=fault)
    return True


def _ready(
    desk: Desk,
    name: str,
    status: os.stat_result,
    content: Reading | DocumentError,
    opened: OpenedDocument | None = None,
) -> ReadyFile:
    folder, reading = desk.folder, None if isinstance(content, DocumentError) else content
    dropped_as = own_name(folder.at() / name, folder.ended(), folder.id, desk.journal, reading)
    return ReadyFile(name, dropped_as, status, content, opened)


def _clock(desk: Desk) -> Clock:
    return Clock(desk.steady(), desk.now().timestamp())
