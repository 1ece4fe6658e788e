"""What can be read of a PDF without opening it: that it is one, and whether it says that an invoice is embedded in it.

A Factur-X or ZUGFeRD PDF names the file of its invoice in its metadata (Factur-X 1.0, 6.3: `DocumentFileName`), which
hardly any software compresses. A PDF without this name may still have an invoice in it. To find that out, readable/pdf
opens the PDF in a child process.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_PDF = re.compile(rb"(?:\A|[\r\n\0]|\xef\xbb\xbf)%PDF-")
PDF_WITHIN = 1024  # bytes in which viewers look for the beginning of a PDF
_NAMED = re.compile(rb"DocumentFileName(?:>|\s?=\s?[\"'])\s{0,9}([A-Za-z0-9_.-]{1,60}\.xml)\b", re.IGNORECASE)
_LONGEST_PLACE = 128  # bytes that such a place has at most


def is_pdf(head: bytes) -> bool:
    """Whether a PDF begins in the first kilobyte: at once, or behind a line end, a BOM or NULs. Viewers look there."""
    return _PDF.search(head, 0, PDF_WITHIN) is not None


def named_invoice(pieces: Iterable[bytes]) -> str:
    """The name of the invoice's file by the metadata of a PDF, which is given in pieces; "" where it names none."""
    last = b""
    for piece in pieces:
        if found := _NAMED.search(last + piece):
            return found[1].decode("ascii")
        last = (last + piece)[-_LONGEST_PLACE:]
    return ""
