"""The XML of an invoice inside a PDF: Factur-X and ZUGFeRD embed it as a file (ISO 19005-3).

pypdf is an extra (`filedrop[pdf]`), and only the child process loads it.
"""

from __future__ import annotations

import zlib
from io import BytesIO
from typing import TYPE_CHECKING, BinaryIO

from filedrop.readable.tree import NotReadable
from filedrop.text import one_line, size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pypdf import PdfReader
    from pypdf.generic import EmbeddedFile

NAMES = frozenset(  # in lower case
    {"factur-x.xml", "xrechnung.xml", "zugferd-invoice.xml"}  # Factur-X 1.0, 6.2.2, and ZUGFeRD 1.0 and 2.0
)
LARGEST_XML = 10_000_000  # bytes
_LONGEST_ERROR = 200  # letters
_DAMAGED = (  # what pypdf raises, besides its own errors; any other error ends the child process
    LookupError, ValueError, TypeError, AttributeError, ArithmeticError, RuntimeError, AssertionError, zlib.error
)  # fmt: skip


def xml_in(pdf: BinaryIO) -> tuple[str, bytes]:
    """The name and the content of the file with the invoice's XML. Raises NotReadable."""
    try:
        import pypdf  # noqa: PLC0415 - an extra
    except ModuleNotFoundError:
        missing = "pypdf isn't installed: filedrop manual documents shows how to install it"
        raise NotReadable(f"can't be searched for its XML: {missing}") from None
    try:
        reader = pypdf.PdfReader(BytesIO(pdf.read()))
        if reader.is_encrypted:
            raise NotReadable("is encrypted: its XML can't be read")
        found = next(((name, file.content) for name, file in _embedded(reader) if name.lower() in NAMES), None)
    except (pypdf.errors.PyPdfError, *_DAMAGED) as error:
        why = one_line(f"{type(error).__name__}: {error}", _LONGEST_ERROR)
        raise NotReadable(f"can't be searched for its XML: the PDF is damaged ({why})") from error
    if found is None:
        raise NotReadable("has no XML of an invoice in it")
    if len(found[1]) > LARGEST_XML:
        raise NotReadable(f"has XML in it that is larger than {size(LARGEST_XML)}")
    return found


def _embedded(reader: PdfReader) -> Iterator[tuple[str, EmbeddedFile]]:
    """The files in a PDF with each of their names: those of its name tree, then those that only `AF` lists."""
    from pypdf.generic import ArrayObject, EmbeddedFile  # noqa: PLC0415 - an extra

    for file in reader.attachment_list:
        yield file.name, file
        yield file.alternative_name or "", file
    listed = reader.root_object.get("/AF", ArrayObject()).get_object()
    for associated in listed if isinstance(listed, ArrayObject) else ():
        file = EmbeddedFile("", associated.get_object())
        yield file.alternative_name or "", file
