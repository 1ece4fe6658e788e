"""What is embedded in a received document, as files of its own (`inbound.attachments: beside`).

They are made while the document is still a temporary file, and are temporary files beside it: placing gives them their
names, before the document gets its own. What can't be decoded stays in the document, and the sidecar says so.

The first bytes of a file say what it is, and which suffix it gets. What is stated decides only between kinds that the
bytes don't tell apart. No suffix is one that a system executes, or opens in a browser. None ends in `.xml`, by which
programs know the received documents.
"""

from __future__ import annotations

import hashlib
import os
import re
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from filedrop import files
from filedrop.identify import PDF_WITHIN, Begun, Ended, embedded, is_pdf
from filedrop.inbound.temporary import discard, piece_name
from filedrop.storage import checked
from filedrop.storage.names import attachment_name, with_suffix
from filedrop.texts.printable import one_line, size

if TYPE_CHECKING:
    from collections.abc import Mapping

    from filedrop.files.directory import Entry
    from filedrop.files.patience import Ask
    from filedrop.identify import Reading

MOST_FILES = 100  # files of one document: invoices have one or two, and a folder with thousands can't be looked at
LARGEST = 100_000_000  # bytes of one file; base64 makes a third more of it, which must fit into a message
LONGEST_STATED = 255  # letters of a stated name or type in the sidecar

HEAD = 4096  # bytes that are looked at


class FileType(NamedTuple):
    """A media type and a suffix."""

    media_type: str
    suffix: str


UNKNOWN = FileType("application/octet-stream", ".bin")
_TEXT = FileType("text/plain", ".txt")
_CSV = FileType("text/csv", ".csv")
XML = FileType("application/xml", ".xml.txt")
_ZIP = FileType("application/zip", ".zip")
_XLSX = FileType("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", ".xlsx")
_ODS = FileType("application/vnd.oasis.opendocument.spreadsheet", ".ods")
_PDF = FileType("application/pdf", ".pdf")
_MAGIC = (
    (b"%PDF-", _PDF),
    (b"\x89PNG\r\n\x1a\n", FileType("image/png", ".png")),
    (b"\xff\xd8\xff", FileType("image/jpeg", ".jpg")),
    (b"GIF87a", FileType("image/gif", ".gif")),
    (b"GIF89a", FileType("image/gif", ".gif")),
    (b"II*\0", FileType("image/tiff", ".tif")),
    (b"MM\0*", FileType("image/tiff", ".tif")),
)
_OPEN_DOCUMENT = b"mimetype" + _ODS.media_type.encode()  # OpenDocument 1.3 part 2, 3.3: the first file, not compressed
_OPEN_XML = (b"[Content_Types].xml", b"_rels/.rels", b"xl/")  # ISO/IEC 29500-2: one of these comes first
_NO_TEXT = re.compile(rb"[\0-\x08\x0e-\x1a\x1c-\x1f\x7f]")


def filetype(head: bytes, stated_name: str, stated_type: str) -> FileType:
    """What the first bytes of a file (`HEAD` of them, if it has so many) say that it is."""
    for magic, found in _MAGIC:
        if head.startswith(magic):
            return found
    if head.startswith(b"PK\x03\x04"):
        return _of_zip(head, stated_name, stated_type)
    if _is_pdf(head[:PDF_WITHIN], stated_name, stated_type):
        return _PDF
    if not head or _NO_TEXT.search(head):
        return UNKNOWN
    if head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"<?xml"):
        return XML
    return _CSV if _is_stated(_CSV, stated_name, stated_type) else _TEXT


def _is_pdf(head: bytes, stated_name: str, stated_type: str) -> bool:
    """Whether a PDF begins here, behind a line end, a BOM or NULs, or anywhere where it is stated to be one."""
    return is_pdf(head) or (b"%PDF-" in head and _is_stated(_PDF, stated_name, stated_type))


def _of_zip(head: bytes, stated_name: str, stated_type: str) -> FileType:
    if _OPEN_DOCUMENT in head:
        return _ODS
    if _is_stated(_XLSX, stated_name, stated_type) and any(name in head for name in _OPEN_XML):
        return _XLSX
    return _ZIP


def _is_stated(kind: FileType, stated_name: str, stated_type: str) -> bool:
    return stated_name.lower().endswith(kind.suffix) or stated_type.lower().startswith(kind.media_type)


def pdf_alone(content: Mapping[str, Any]) -> str:
    """The name of the PDF that an envelope has in place of a document, by its sidecar's content: Factur-X.

    "" where there is none, where its XML is listed already, or for what others have written into the sidecar.
    """
    try:
        (pdf,) = content["attachments"]
        name = checked.name(pdf["file"])
        return name if content["document"]["type"] == "BinaryContent" and name.endswith(".pdf") else ""
    except (KeyError, TypeError, ValueError):
        return ""


def xml_name(document: str) -> str:
    """The name of the file with the XML of the PDF that lies beside a document of this name."""
    return attachment_name(document, 2, "factur-x", ".xml.txt")


@dataclass(frozen=True, slots=True)
class Attachment:
    """What was embedded: `temporary` is its file's name, "" where none was written, and `fault` then says why.

    `name` is the one that the document states, as it is written there, None where it states none. `shares_name`: its
    file has the name of the document, but for the suffix.
    """

    number: int
    name: str | None = None
    type: FileType = UNKNOWN
    size: int = 0
    sha256: str = ""
    temporary: str = ""
    fault: str = ""
    shares_name: bool = False

    def named(self, document: str) -> str:
        """The name that it gets beside a document of this name."""
        if self.shares_name:
            return with_suffix(document, self.type.suffix)
        return attachment_name(document, self.number, self.name, self.type.suffix)

    def as_json(self, document: str) -> dict[str, Any]:
        """What the sidecar of a document of this name says of it."""
        if not self.temporary:
            return {"file": None, "stated_name": _cleaned(self.name), "error": self.fault}
        return {
            "file": self.named(document),
            "stated_name": _cleaned(self.name),
            "media_type": self.type.media_type,
            "size": self.size,
            "sha256": self.sha256,
        }


def unpack(
    document: BinaryIO, reading: Reading, temporary: Entry, leftovers: set[str], ask: Ask
) -> tuple[Attachment, ...]:
    """Write what is embedded in a document beside its temporary file, and bring that to the disk.

    `document` stands at its beginning. After an error no file is left, or its name is added to `leftovers`. `ask` is
    for calls that may hang. Raises OSError, DocumentError where somebody has written into the document since.
    """
    unpacking = _Unpacking(temporary, ask)
    try:
        for event in embedded(document, reading.form):
            unpacking.feed(event)
    except BaseException:
        unpacking.give_up(leftovers)
        raise
    return unpacking.attachments()


def sharing_names(attachments: tuple[Attachment, ...]) -> tuple[Attachment, ...]:
    """The attachments, the first PDF of which gets the document's own name: a program shows both as one invoice."""
    first = next((attachment for attachment in attachments if attachment.type.suffix == ".pdf"), None)
    return tuple(replace(attachment, shares_name=attachment is first) for attachment in attachments)


class _Unpacking:
    def __init__(self, temporary: Entry, ask: Ask) -> None:
        self._temporary = temporary
        self._ask = ask
        self._done: list[Attachment] = []
        self._begun = Begun(None, None)
        self._number = 0
        self._file: BinaryIO | None = None
        self._fault = ""

    def feed(self, event: Begun | bytes | Ended) -> None:
        match event:
            case Begun():
                self._begin(event)
            case Ended():
                self._end(event.fault)
            case _:
                self._write(event)

    def attachments(self) -> tuple[Attachment, ...]:
        more = self._number - len(self._done)
        if more:
            fault = f"{more} more are in the document; {MOST_FILES} at most are written"
            self._done.append(Attachment(MOST_FILES + 1, fault=fault))
        return tuple(self._done)

    def give_up(self, leftovers: set[str]) -> None:
        if self._file is not None:
            with suppress(OSError):
                self._ask(self._file.close)
        for number in range(1, min(self._number, MOST_FILES) + 1):
            discard(self._piece(number), leftovers, self._ask)

    def _piece(self, number: int) -> Entry:
        return self._temporary.with_name(piece_name(self._temporary.name, number))

    def _begin(self, begun: Begun) -> None:
        self._number += 1
        self._begun, self._fault, self._size = begun, "", 0
        self._digest, self._head = hashlib.sha256(), b""

    def _write(self, data: bytes) -> None:
        if self._number > MOST_FILES or self._fault:
            return
        if self._size + len(data) > LARGEST:
            self._fault = f"it is larger than {size(LARGEST)}"
            return
        if self._file is None:
            piece = self._piece(self._number)
            self._ask(lambda: piece.unlink(missing_ok=True))  # of an earlier attempt
            self._file = self._ask(lambda: files.create_temporary(piece))
        file = self._file
        self._ask(lambda: file.write(data))
        self._digest.update(data)
        self._head += data[: HEAD - len(self._head)]
        self._size += len(data)

    def _end(self, fault: str) -> None:
        if self._number > MOST_FILES:
            return
        fault = self._fault or fault
        file, self._file = self._file, None
        if file is not None:
            try:
                if not fault:
                    self._ask(file.flush)
                    self._ask(lambda: os.fsync(file.fileno()))
            finally:
                self._ask(file.close)
        name, stated_type = (text[:LONGEST_STATED] if text else None for text in self._begun)
        attachment = Attachment(self._number, name, fault=fault)
        if not fault:
            attachment = replace(
                attachment,
                type=filetype(self._head, name or "", stated_type or ""),
                size=self._size,
                sha256=self._digest.hexdigest(),
                temporary=piece_name(self._temporary.name, self._number),
            )
        elif file is not None:
            self._ask(self._piece(self._number).unlink)
        self._done.append(attachment)


def _cleaned(stated: str | None) -> str | None:
    return one_line(stated, LONGEST_STATED) if stated else None
