"""What a file is, by its first bytes, and the suffix that it gets for that.

What is stated decides only between kinds that the bytes don't tell apart. No suffix is one that a system executes, or
opens in a browser; none ends in `.xml`, which is how programs know the received documents.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from filedrop.identify import PDF_WITHIN, is_pdf

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
