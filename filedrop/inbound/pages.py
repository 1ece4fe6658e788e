"""The page beside a received document, for people to read and print (`inbound.readable: html`), and the XML of its PDF.

An envelope may have a PDF in place of a document, with the invoice's XML embedded in it: Factur-X. Where the PDF lies
beside the document (`inbound.attachments: beside`), the XML becomes one more attachment.

The row of a message says from its placing on that one of these is owed. They are made after the message was recorded as
read, so that no document holds up another message, whatever it does to the process that reads it. Each attempt is
counted in the journal before it begins: a document that ends filedrop itself is tried twice at most. What can't be made
is told in the sidecar and the log.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import threading
import time
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from filedrop import files, readable
from filedrop.errors import Changed, FolderUnavailable
from filedrop.files.patience import asking
from filedrop.inbound.attachments import LONGEST_STATED, MOST_FILES, XML, pdf_alone, xml_name
from filedrop.inbound.reserving import id_of
from filedrop.pauses import EACH_MINUTE
from filedrop.programs.children import NoAnswer
from filedrop.storage import sidecar
from filedrop.storage.names import page_name
from filedrop.storage.withdrawal import attachments_beside
from filedrop.texts.printable import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
    from typing import Any

    import structlog

    from filedrop.files import Directory, Entry
    from filedrop.files.patience import Ask
    from filedrop.inbound.delivery import InboundDelivery
    from filedrop.journal import Journal, MessageRow
    from filedrop.storage.company_folders import InboundFolder

    Change = Callable[[dict[str, Any]], dict[str, Any]]

ATTEMPTS = 2  # at what is made beside a document
NO_PAGE = "there is no page: {}"
LOOK_AGAIN_AFTER = 0.2  # seconds until a folder is looked at again whose delivery has not taken its first step


class PageMaker:
    """Writes pages beside documents, in the language of each folder, and the XML of PDFs. Thread-safe.

    Nothing is overwritten. Nothing is made where somebody has taken the document.
    """

    def __init__(self, journal: Journal, log: structlog.stdlib.BoundLogger) -> None:
        self.renderer = readable.Renderer()
        self._journal = journal
        self._log = log

    def make(self, folder: InboundFolder, row: MessageRow) -> MessageRow:
        """Make what is owed beside a placed message. Returns its row, with its sidecar as that is now.

        Sidecar and log say what can't be made, and why. Raises FolderUnavailable, NoAnswer, OSError.
        """
        ask = asking(local=folder.local)
        with folder.in_use():
            here = ask(lambda: _open(folder))
            owed = ask(lambda: _owed(here, row))
            if pdf := pdf_alone(owed):
                with suppress(FileNotFoundError):  # taken
                    row = self._write_xml(here, row, pdf, ask)
            if owed.get("page"):
                try:
                    with suppress(FileNotFoundError):  # taken
                        self._write_page(here, row, ask, folder.language, self._notices(row, owed, folder.language))
                except readable.NotReadable as error:
                    return ask(partial(self._without_page, here, row, f"{row.file} {error}"))
        return row

    def give_up(self, folder: InboundFolder | None, row: MessageRow, why: str) -> MessageRow:
        """Say in sidecar and log why what is owed isn't made; None: only in the log, the folder isn't used any more.

        Returns the row, with its sidecar as that is now. Raises FolderUnavailable, OSError.
        """
        if folder is None:
            return self._without(None, row, why)
        ask = asking(local=folder.local)
        with folder.in_use():
            here = ask(lambda: _open(folder))
            return ask(lambda: self._without(here, row, why))

    def _notices(self, row: MessageRow, owed: dict[str, Any], language: str) -> list[str]:
        """What the page says besides the document. Raises JournalError."""
        say = partial(readable.notice, language=language)
        notices = []
        if row.repeats is not None:
            (earlier,) = self._journal.messages.earlier_names([row])
            notices.append(say("repeated", file=earlier or "?", number=row.repeats))
        if "answer_expected" in owed:
            notices.append(say("answer_expected"))
        answered = self._journal.documents.by_ids(self._journal.responses.answered_by(row))
        if sent := [document.file for document in answered if document.company == row.company]:
            notices.append(say("answers_sent", files=", ".join(sent)))
        return notices

    def _write_page(self, here: Directory, row: MessageRow, ask: Ask, language: str, notices: Sequence[str]) -> None:
        document, page = here.entry(row.file), here.entry(page_name(row.file))
        if ask(page.exists):  # made by a process that was killed then
            return
        attachments = ask(lambda: attachments_beside(document))
        shown, xml = document, document.with_name(xml_name(document.name))
        if xml.name in attachments.values():  # the invoice; the document is only an envelope
            shown = xml
            attachments = {MOST_FILES + number: name for number, name in attachments.items()}  # not what is in the XML
        with cast("BinaryIO", ask(lambda: files.open_regular(shown))) as file:
            content = self.renderer.page(_pieces(file, ask), shown.name, language, attachments, notices)
        ask(lambda: _place(page, content, here, document))

    def _write_xml(self, here: Directory, row: MessageRow, pdf: str, ask: Ask) -> MessageRow:
        document, xml = here.entry(row.file), here.entry(xml_name(row.file))
        try:
            with cast("BinaryIO", ask(lambda: files.open_regular(document.with_name(pdf)))) as file:
                name, content = self.renderer.xml_in(_pieces(file, ask))
        except readable.NotReadable as error:
            return ask(partial(self._without_xml, here, row, f"{pdf} {error}"))
        ask(lambda: _place(xml, content, here, document))
        attachment: dict[str, Any] = {
            "file": xml.name,
            "stated_name": one_line(name, LONGEST_STATED),
            "media_type": XML.media_type,
        }
        attachment |= {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        return ask(lambda: _changed(here, row, lambda beside: _with_xml(beside, attachment)))

    def _without(self, here: Directory | None, row: MessageRow, why: str) -> MessageRow:
        owed = _owed(here, row)
        if pdf_alone(owed):
            row = self._without_xml(here, row, why)
        if owed.get("page") and not (here and here.entry(page_name(row.file)).exists()):
            row = self._without_page(here, row, why)
        return row

    def _without_xml(self, here: Directory | None, row: MessageRow, why: str) -> MessageRow:
        self._log.warning("xml.not_made", company=row.company, msg_no=row.msg_no, why=why)
        attachment = {"file": None, "stated_name": None, "error": why}
        return _changed(here, row, lambda content: _with_xml(content, attachment))

    def _without_page(self, here: Directory | None, row: MessageRow, why: str) -> MessageRow:
        def change(content: dict[str, Any]) -> dict[str, Any]:
            warnings = [*content["warnings"], NO_PAGE.format(why)]
            return content | {"page": None, "warnings": warnings} if content.get("page") else content

        self._log.warning("page.not_made", company=row.company, msg_no=row.msg_no, why=why)
        return _changed(here, row, change)


class OwedPages:
    """Makes the pages that are owed, the folders by turns. `turn` is for one thread; the rest is thread-safe.

    `named`: the folders that the configuration names. In those of them that weren't added, pages are made later.
    """

    def __init__(
        self, maker: PageMaker, journal: Journal, named: Container[Path], log: structlog.stdlib.BoundLogger
    ) -> None:
        self._maker = maker
        self._journal = journal
        self._named = named
        self._log = log
        self._deliveries: dict[str, InboundDelivery] = {}  # by folder
        self._turns = itertools.count()
        self._served: dict[str, int] = {}  # the turn in which a folder was last served
        self._not_before: dict[str, float] = {}  # by folder (time.monotonic)
        self._closed = threading.Event()
        self._making = ""  # in this folder
        self._lock = threading.Lock()  # no page is begun in a folder that is just removed

    def add(self, deliveries: Iterable[InboundDelivery]) -> None:
        """Add folders."""
        with self._lock:
            self._deliveries = self._deliveries | {str(delivery.folder.path): delivery for delivery in deliveries}

    def remove(self, deliveries: Collection[InboundDelivery]) -> bool:
        """Begin no more pages in these folders. Returns whether none is being made there."""
        with self._lock:
            self._deliveries = {path: there for path, there in self._deliveries.items() if there not in deliveries}
        return self._making not in {str(delivery.folder.path) for delivery in deliveries}

    def turn(self) -> float:
        """Make the page whose turn it is. Returns the seconds until the next turn. Raises JournalError."""
        owed = self._journal.messages.owed_pages()
        waits = {row.folder: self._wait(row) for row in owed}
        due = [row for row in owed if waits[row.folder] <= 0]
        if not due:
            return min(waits.values(), default=math.inf)
        row = min(due, key=lambda row: self._served.get(row.folder, -1))
        self._served[row.folder] = next(self._turns)
        with self._lock:
            self._making, delivery = row.folder, self._deliveries.get(row.folder)
        try:
            if delivery is not None or Path(row.folder) not in self._named:
                with suppress(Changed):  # by a command beside us: the next turn goes by the row as it is then
                    self._attempt(row, delivery)
        finally:
            self._making = ""
        return 0.0

    def is_done(self) -> bool:
        """Whether no page is owed that can be made now, once each folder has answered or hangs. Raises JournalError."""
        return all(self._wait(row) > 0 for row in self._journal.messages.owed_pages())

    def end_if_idle(self) -> None:
        """End the process that shows documents if it has not been asked for a while. Called now and then."""
        self._maker.renderer.end_if_idle()

    def close(self) -> None:
        """Break off what is being made: it stays owed."""
        self._closed.set()
        self._maker.renderer.close()

    def _wait(self, row: MessageRow) -> float:
        """The seconds until the page of this message may be made."""
        delivery = self._deliveries.get(row.folder)
        if delivery.trouble if delivery is not None else Path(row.folder) in self._named:
            return EACH_MINUTE.seconds()
        if delivery is not None and not delivery.folder.id:
            return LOOK_AGAIN_AFTER
        return self._not_before.get(row.folder, 0.0) - time.monotonic()

    def _attempt(self, row: MessageRow, delivery: InboundDelivery | None) -> None:
        """Make a page, once; None: in a folder that the configuration no longer names. Raises JournalError."""
        tries = row.page or 0
        begun = replace(row, page=min(tries + 1, ATTEMPTS))
        if tries < ATTEMPTS:
            begun = self._journal.messages.record(begun)
        left, made = self._try(begun, tries, delivery)
        if left != begun.page:
            self._journal.messages.record(replace(made, page=left))
        if left is not None:
            self._not_before[row.folder] = time.monotonic() + EACH_MINUTE.seconds()

    def _try(self, row: MessageRow, tries: int, delivery: InboundDelivery | None) -> tuple[int | None, MessageRow]:
        """The attempts that count after an attempt (None where all is made or given up), and the row with its sidecar.

        The sidecar in the row says what a command is told of the message.
        """
        if delivery is None:
            why = f"the configuration no longer names {row.folder}"
            return None, self._maker.give_up(None, row, why)
        folder = delivery.folder
        try:
            if tries < ATTEMPTS:
                return None, self._maker.make(folder, row)
            why = f"filedrop was ended twice while it made the files beside {row.file}"
            return None, self._maker.give_up(folder, row, why)
        except (FolderUnavailable, TimeoutError):  # it is made when the folder is there again
            return tries, row
        except (NoAnswer, OSError) as error:
            if self._closed.is_set() or tries + 1 < ATTEMPTS:
                return (tries if self._closed.is_set() else row.page), row
            why = f"the files beside {row.file} can't be written: {getattr(error, 'strerror', None) or error}"
            with suppress(FolderUnavailable, OSError):  # the log has it
                row = self._maker.give_up(folder, row, why)
            return None, row


def _open(folder: InboundFolder) -> Directory:
    """The folder as it was last found to be ours. Raises FolderUnavailable."""
    try:
        return folder.at()
    except OSError as error:
        raise FolderUnavailable(str(error)) from error


def _place(entry: Entry, content: bytes, here: Directory, document: Entry) -> None:
    """Write a file beside a document. Nothing is overwritten. Raises OSError."""
    with suppress(FileExistsError):
        files.create_whole(entry, content, draft_in=here)
        entry.directory.sync()
        if not document.exists():  # taken meanwhile: nobody would look for what belongs to it
            entry.unlink(missing_ok=True)


def _owed(here: Directory | None, row: MessageRow) -> dict[str, Any]:
    """What the sidecar of a message says of what is to be made beside it; empty where somebody has taken the document.

    By the row, as people may write into the file. Raises OSError.
    """
    if row.file and row.sidecar:
        content: dict[str, Any] = json.loads(row.sidecar)
        return content
    return (_sidecar(here, row) if here else None) or {}


def _with_xml(content: dict[str, Any], attachment: dict[str, Any]) -> dict[str, Any]:
    """The content of a sidecar that lists the XML of the PDF, or why there is none. It is listed once."""
    return content | {"attachments": [*content["attachments"], attachment]} if pdf_alone(content) else content


def _changed(here: Directory | None, row: MessageRow, change: Change) -> MessageRow:
    """Change what the sidecar says, unless somebody has taken the document. Returns the row, which says the same."""
    with suppress(OSError, TypeError, KeyError):  # a full disk, which the log names; somebody has written into it
        if here and (content := _sidecar(here, row)) and (changed := change(content)) != content:
            beside = here.entry(f"{row.file}.json")
            files.replace_whole(beside, sidecar.encoded(changed), draft_in=here)
            if not here.entry(row.file).exists():  # taken meanwhile, perhaps with its sidecar
                beside.unlink(missing_ok=True)
    if row.sidecar is None:
        return row
    return replace(row, sidecar=sidecar.encoded(change(json.loads(row.sidecar))).decode())


def _sidecar(here: Directory, row: MessageRow) -> dict[str, Any] | None:
    """The content of a document's sidecar; None where it is gone or another's. Raises OSError."""
    try:
        content = sidecar.read(here.entry(f"{row.file}.json")) if row.file else None
    except (FileNotFoundError, NotADirectoryError):  # its folder was taken
        return None
    return content if content is not None and content.get("id") == id_of(row) else None


def _pieces(file: BinaryIO, ask: Ask) -> Iterator[bytes]:
    """A file in pieces, each of which is asked for."""
    return iter(lambda: ask(lambda: file.read(readable.PIECE)), b"")
