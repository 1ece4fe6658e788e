"""The page beside a received document, for people to read and print (`inbound.readable: html`).

It is made after the document was placed and marked as read: what can't be shown is told in the sidecar and the log,
and holds up nothing. Where a process is killed in between, the next one makes it: the message isn't recorded as read
before.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, BinaryIO, cast

from filedrop import files, readable
from filedrop.files.patience import asking
from filedrop.inbound.reserving import id_of, reserved
from filedrop.storage import sidecar
from filedrop.storage.names import page_name
from filedrop.storage.withdrawal import attachments_beside

if TYPE_CHECKING:
    from filedrop.files import Directory
    from filedrop.inbound.context import InboundContext
    from filedrop.journal import MessageRow
    from filedrop.model.message import Message
    from filedrop.storage.folders import InboundFolder


def add_page(context: InboundContext, folder: InboundFolder, message: Message, row: MessageRow) -> None:
    """Write the page of a message that was placed, where the configuration wants pages. Nothing is overwritten.

    Why there is none stands in the sidecar and in the log, except where the document was taken already.
    """
    if context.rules.readable == "off" or row.folder != str(folder.path):
        return

    def write() -> str:
        with folder.in_use():
            here = folder.at()
            placed = replace(message, received=row.received or message.received)
            name = row.file or next(reserved(here, placed, row), "")
            try:
                if name:
                    _write(here, name, context.rules.readable_language)
            except readable.NotReadable as error:
                why = f"{name} {error}"
            except OSError as error:
                why = f"the page of {name} can't be written: {error.strerror or error}"
            else:
                return ""
            _tell(here, name, id_of(row), why)
        return why

    try:
        why = asking(local=folder.local)(write)
    except OSError as error:  # it doesn't answer
        why = str(error)
    if why:
        context.log.warning("page.not_made", company=folder.company, msg_no=row.msg_no, why=why)


def _write(here: Directory, name: str, language: str) -> None:
    document, page = here / name, here / page_name(name)
    with suppress(FileNotFoundError, FileExistsError):  # taken; made by a process that was killed then
        with cast("BinaryIO", files.open_regular(document)) as file:
            content = readable.page(readable.sheet(file, language), name, attachments_beside(document))
        files.create_whole(page, content)
        if not document.exists():  # taken meanwhile: nobody would look for its page
            page.unlink(missing_ok=True)


def _tell(here: Directory, name: str, id_: str, why: str) -> None:
    """Say in the sidecar why the document has no page, unless somebody has taken it."""
    document, beside = here / name, here / f"{name}.json"
    with suppress(OSError, TypeError, KeyError):  # a full disk, which the log names; somebody has written into it
        content = sidecar.read(beside) or {}
        if content.get("id") == id_ and content.get("page"):
            warnings = [*content["warnings"], f"there is no page: {why}"]
            files.replace_whole(beside, sidecar.encoded(content | {"page": None, "warnings": warnings}))
            if not document.exists():  # taken meanwhile, perhaps with its sidecar
                beside.unlink(missing_ok=True)
