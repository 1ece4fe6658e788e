"""The page beside a received document, for people to read and print (`inbound.readable: html`).

The row of a message says from its placing on that its page is owed. It is made after the message was recorded as read,
so that no document holds up another message, whatever it does to the process that shows it. Each attempt is counted in
the journal before it begins: a document that ends filedrop itself is tried twice at most. What can't be shown is told
in the sidecar and the log.
"""

from __future__ import annotations

import itertools
import math
import threading
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from filedrop import files, readable
from filedrop.children import NoAnswer
from filedrop.errors import FolderUnavailable
from filedrop.files.patience import asking
from filedrop.inbound.reserving import id_of
from filedrop.storage import sidecar
from filedrop.storage.names import page_name
from filedrop.storage.withdrawal import attachments_beside

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable, Iterator
    from typing import Any

    import structlog

    from filedrop.files import Directory
    from filedrop.files.patience import Ask
    from filedrop.inbound.delivery import InboundDelivery
    from filedrop.journal import Journal, MessageRow
    from filedrop.storage.folders import InboundFolder

ATTEMPTS = 2  # at a page
NO_PAGE = "there is no page: {}"
AGAIN = 60.0  # seconds until a folder is tried again that is unavailable, or where a page could not be written
SOON = 0.2  # seconds until a folder is looked at again whose delivery has not taken its first step


class PageMaker:
    """Writes pages beside documents, in the language of each folder. Thread-safe. Nothing is overwritten."""

    def __init__(self, log: structlog.stdlib.BoundLogger) -> None:
        self.renderer = readable.Renderer()
        self._log = log

    def make(self, folder: InboundFolder, row: MessageRow) -> str:
        """Write the page of a placed message. Returns why there is none, as its sidecar and the log say, or "".

        There is none where somebody has taken the document. Raises FolderUnavailable, NoAnswer, OSError.
        """
        ask = asking(local=folder.local)
        with folder.in_use():
            here = ask(lambda: _open(folder))
            beside = ask(lambda: _sidecar(here, row))
            if not row.file or (beside is not None and not beside.get("page")):  # none was wanted when it came
                return ""
            try:
                with suppress(FileNotFoundError):  # taken
                    self._write(here, row, folder.language, ask)
            except readable.NotReadable as error:
                why = f"{row.file} {error}"
                ask(lambda: self._tell(here, row, why))
                return NO_PAGE.format(why)
        return ""

    def give_up(self, folder: InboundFolder, row: MessageRow, why: str) -> str:
        """Say in sidecar and log why a document has no page. Returns that. Raises FolderUnavailable, OSError."""
        ask = asking(local=folder.local)
        with folder.in_use():
            here = ask(lambda: _open(folder))
            ask(lambda: self._tell(here, row, why))
        return NO_PAGE.format(why)

    def _write(self, here: Directory, row: MessageRow, language: str, ask: Ask) -> None:
        document, page = here.entry(row.file), here.entry(page_name(row.file))
        if ask(page.exists):  # made by a process that was killed then
            return
        with cast("BinaryIO", ask(lambda: files.open_regular(document))) as file:
            attachments = ask(lambda: attachments_beside(document))
            content = self.renderer.page(_pieces(file, ask), document.name, language, attachments, repeats=row.repeats)

        def place() -> None:
            with suppress(FileExistsError):
                files.create_whole(page, content, draft_in=here)
                page.directory.sync()
            if not document.exists():  # taken meanwhile: nobody would look for its page
                page.unlink(missing_ok=True)

        ask(place)

    def _tell(self, here: Directory, row: MessageRow, why: str) -> None:
        """Say why the document has no page, unless somebody has taken it."""
        self._log.warning("page.not_made", company=row.company, msg_no=row.msg_no, why=why)
        with suppress(OSError, TypeError, KeyError):  # a full disk, which the log names; somebody has written into it
            document, beside = here.entry(row.file), here.entry(f"{row.file}.json")
            content = _sidecar(here, row)
            if content and content.get("page") and not here.entry(page_name(row.file)).exists():
                warnings = [*content["warnings"], NO_PAGE.format(why)]
                files.replace_whole(
                    beside, sidecar.encoded(content | {"page": None, "warnings": warnings}), draft_in=here
                )
                if not document.exists():  # taken meanwhile, perhaps with its sidecar
                    beside.unlink(missing_ok=True)


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
            return AGAIN
        if delivery is not None and not delivery.folder.id:
            return SOON
        return self._not_before.get(row.folder, 0.0) - time.monotonic()

    def _attempt(self, row: MessageRow, delivery: InboundDelivery | None) -> None:
        """Make a page, once; None: in a folder that the configuration no longer names. Raises JournalError."""
        tries = row.page or 0
        begun = replace(row, page=min(tries + 1, ATTEMPTS))
        if tries < ATTEMPTS and not self._journal.messages.record_page(row, begun.page):
            return
        left, why = self._try(begun, tries, delivery)
        if left != begun.page:
            self._journal.messages.record_page(begun, left, why)
        if left is not None:
            self._not_before[row.folder] = time.monotonic() + AGAIN

    def _try(self, row: MessageRow, tries: int, delivery: InboundDelivery | None) -> tuple[int | None, str]:
        """The attempts that count after an attempt at a page; None where it is made or given up, and why."""
        if delivery is None:
            why = f"the configuration no longer names {row.folder}"
            self._log.warning("page.not_made", company=row.company, msg_no=row.msg_no, why=why)
            return None, NO_PAGE.format(why)
        folder = delivery.folder
        try:
            if tries < ATTEMPTS:
                return None, self._maker.make(folder, row)
            why = f"filedrop was ended twice while it made the page of {row.file}"
            return None, self._maker.give_up(folder, row, why)
        except (FolderUnavailable, TimeoutError):  # it is made when the folder is there again
            return tries, ""
        except (NoAnswer, OSError) as error:
            if self._closed.is_set() or tries + 1 < ATTEMPTS:
                return (tries if self._closed.is_set() else row.page), ""
            why = f"the page of {row.file} can't be written: {getattr(error, 'strerror', None) or error}"
            with suppress(FolderUnavailable, OSError):  # the log has it
                self._maker.give_up(folder, row, why)
            return None, NO_PAGE.format(why)


def _open(folder: InboundFolder) -> Directory:
    """The folder as it was last found to be ours. Raises FolderUnavailable."""
    try:
        return folder.at()
    except OSError as error:
        raise FolderUnavailable(str(error)) from error


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
