"""What a PDF says without being opened."""

from __future__ import annotations

import io

import pytest

from filedrop.errors import DocumentError
from filedrop.identify import named_invoice, read

HEAD = b"%PDF-1.7\n" + b"\xe2\xe3 \0" * 30_000


@pytest.mark.parametrize(
    "written",
    [
        b"<fx:DocumentFileName>factur-x.xml</fx:DocumentFileName>",
        b"<zf:DocumentFileName>\n  factur-x.xml\n</zf:DocumentFileName>",
        b'<rdf:Description fx:DocumentFileName="factur-x.xml"/>',
    ],
)
def test_the_invoice_that_a_pdf_names(written: bytes) -> None:
    """A PDF whose metadata names the file of an invoice is reported with this name, wherever that is."""
    content = HEAD + b"<pdfaProperty:name>DocumentFileName</pdfaProperty:name>" + written + HEAD
    for size in (7, 64, len(content)):
        pieces = [content[begin : begin + size] for begin in range(len(HEAD) - 100, len(content) - len(HEAD), size)]
        assert named_invoice(pieces) == "factur-x.xml"
    with pytest.raises(DocumentError, match=r"This is a PDF with an invoice in it \(factur-x.xml\)"):
        read(io.BytesIO(content))


@pytest.mark.parametrize("written", [b"", b"<fx:DocumentFileName>\x1b[2J.xml</fx:DocumentFileName>"])
def test_a_pdf_that_names_no_invoice(written: bytes) -> None:
    """A PDF that names none is a PDF that may have one; a name that can't be one is none."""
    with pytest.raises(DocumentError, match="This is a PDF, not an XML file"):
        read(io.BytesIO(HEAD + written))
