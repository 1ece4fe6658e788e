"""Fetching a message: its document is downloaded into a temporary file, and read.

After a fetch, the document and its attachments are whole. They are on the disk before a row names them (delivery). What
a process that was killed has left without a row, the next one removes.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from filedrop import files, identify
from filedrop.errors import DocumentError, FiledropError, Gone
from filedrop.files.patience import asking
from filedrop.inbound.attachments import pdf_alone, sharing_names, unpack
from filedrop.inbound.temporary import Asked, discard, temporary_name
from filedrop.model.document import local_name, new_id
from filedrop.model.received_name import DEFAULT
from filedrop.storage.names import inbound_name
from filedrop.texts.printable import command, printable

if TYPE_CHECKING:
    from filedrop.files import Directory
    from filedrop.files.directory import Entry
    from filedrop.files.patience import Ask
    from filedrop.identify import Reading
    from filedrop.inbound.attachments import Attachment
    from filedrop.inbound.context import MessageSource
    from filedrop.journal import MessageRow
    from filedrop.model.message import Message
    from filedrop.storage.company_folders import InboundFolder


TOGETHER = 1024 * 1024  # bytes: larger ones are brought to the disk one by one, while their folder does other work


class NotTaken(FiledropError):
    """This message can't be taken, and the cause is the message itself."""


class Fetched(NamedTuple):
    """A message whose document is whole in a temporary file, which `row` is to name; `whereabouts` of its folder.

    `is_on_disk`: whether the file is; it must be before `row` is written.
    """

    message: Message
    row: MessageRow
    reading: Reading
    whereabouts: object
    attachments: tuple[Attachment, ...] = ()
    is_on_disk: bool = True

    def has_pdf_alone(self) -> bool:
        """Whether the document is an envelope with a PDF in place of a document, and the PDF is to lie beside it."""
        listed = [attachment.as_json("document.xml") for attachment in self.attachments]
        return bool(pdf_alone({"document": {"type": self.reading.root_name}, "attachments": listed}))

    def temporaries(self) -> list[str]:
        """The names of its temporary files, that of the document first."""
        return [self.row.temporary, *(attachment.temporary for attachment in self.attachments if attachment.temporary)]

    def discard(self, here: Directory) -> None:
        """Remove its temporary files, which are in this folder. Raises OSError."""
        for temporary in self.temporaries():
            (here / temporary).unlink(missing_ok=True)


def fetch(
    context: MessageSource,
    folder: InboundFolder,
    message: Message,
    row: MessageRow | None,
    leftovers: set[str],
    *,
    later: bool = False,
) -> Fetched:
    """Fetch a message, which has this row, into a temporary file and bring that to the disk.

    `later`: a small one is left to be brought there with others. A failed fetch leaves no file. Where the file can't be
    removed, its name is added to `leftovers`.
    Raises NotTaken, DocumentError, AccessPointError, OSError.
    """
    ask = asking(local=folder.local)
    with folder.in_use():
        temporary = ask(folder.at) / temporary_name(new_id(context.now()), context.access_point.identity)
        try:
            file = ask(lambda: files.create_temporary(temporary))
        except OSError:
            discard(temporary, leftovers, ask)
            raise
        is_whole = False
        try:
            target: BinaryIO = Asked(file, ask)  # type: ignore[assignment] # it has the methods that are used
            reading = _read(context, message, target)
            is_on_disk = not (later and folder.local and reading.size <= TOGETHER)
            if is_on_disk:
                ask(lambda: os.fsync(file.fileno()))
            attachments = unpacked(folder, target, reading, temporary, leftovers, ask=ask)
            is_whole = True
        finally:
            with suppress(OSError):  # a whole file is on the disk already, or its flush shows what is wrong
                ask(file.close)
            if not is_whole:
                discard(temporary, leftovers, ask)
    wanted = inbound_name(folder.pattern or DEFAULT, message, reading)
    row = replace(context.row_of(folder, row or message, "named"), temporary=temporary.name, wanted=wanted)
    return Fetched(message, row, reading, temporary.directory.whereabouts(), attachments, is_on_disk)


def unpacked(
    folder: InboundFolder,
    file: BinaryIO,
    reading: Reading,
    temporary: Entry,
    leftovers: set[str],
    *,
    ask: Ask,
) -> tuple[Attachment, ...]:
    """The attachments of a document that is whole in a temporary file, where the folder is to have them.

    After an error none is left, or its name is added to `leftovers`. Raises OSError, DocumentError.
    """
    if not folder.has_attachments:
        return ()
    file.seek(0)
    attachments = unpack(file, reading, temporary, leftovers, ask)
    return sharing_names(attachments) if folder.pattern is not None else attachments


def _read(context: MessageSource, message: Message, target: BinaryIO) -> Reading:
    try:
        context.access_point.download(message, target, max_size=context.rules.max_size)
    except Gone:
        raise NotTaken(f"the access point lists message {message.msg_no}, but has no document for it") from None
    target.seek(0)
    try:
        reading = identify.read(target, doctype="keep")
    except DocumentError:
        context.access_point.distrust()
        raise
    if not reading.goes_by(message.document_id):
        context.access_point.distrust()
        raise _another(context, message, reading)
    return reading


def _another(context: MessageSource, message: Message, reading: Reading) -> NotTaken:
    """The error for a document that isn't the message's, however well-formed it is."""
    wanted = local_name(message.document_id)
    listed = f'it is listed as "{printable(wanted)}"' if wanted else "the list doesn't say what kind of document it is"
    which = (*context.config.account_option(context.account), str(message.msg_no))
    return NotTaken(
        f'message {message.msg_no} contains "{printable(reading.root_name[:40])}", but {listed}: perhaps another '
        f"server answers in place of the access point. To look at it: {command('filedrop', 'download', *which)}. If it "
        f"is the right document, use that file, and run: {command('filedrop', 'read', *which)}"
    )
