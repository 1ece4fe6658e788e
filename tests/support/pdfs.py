"""PDFs with files embedded in them, and the envelope that has a PDF in place of a document: Factur-X."""

from __future__ import annotations

import contextlib
import io
from base64 import b64encode

from pypdf import PdfReader, PdfWriter
from pypdf.errors import PyPdfError
from pypdf.generic import ArrayObject, DictionaryObject, NameObject
from support.documents import envelope

XML = "\ufeff<?xml version='1.0'?><Invoice><Item>Bicyclette à 3 roues</Item></Invoice>".encode()


def pdf(
    name: str = "factur-x.xml", content: bytes = XML, *, only_associated: bool = False, password: str = ""
) -> bytes:
    """A PDF with a file embedded in it, and another one before it; in its list of associated files alone, if wanted."""
    writer = PdfWriter()
    writer.add_blank_page(100, 100)
    writer.add_attachment("a.xml", b"<other/>")
    embedded = writer.add_attachment(name, content)
    stream = embedded.pdf_object["/EF"].raw_get("/F")  # type: ignore[union-attr] # a dictionary
    writer._replace_object(stream, stream.get_object().flate_encode())
    if only_associated:
        writer.root_object[NameObject("/AF")] = ArrayObject([embedded.pdf_object])
        writer.root_object[NameObject("/Names")] = DictionaryObject()
    if password:
        writer.encrypt(password, algorithm="RC4-128")
    written = io.BytesIO()
    writer.write(written)
    return written.getvalue()


def xml_in(content: bytes) -> bytes | None:
    """The file `factur-x.xml` in a PDF; None where there is none of at most 10 MB, or where it can't be read."""
    with contextlib.suppress(PyPdfError, ValueError):
        reader = PdfReader(io.BytesIO(content))
        found = None if reader.is_encrypted else reader.attachments.get("factur-x.xml")
        return found[0] if found and len(found[0]) <= 10_000_000 else None
    return None


def kids_in_a_circle() -> bytes:
    """A PDF whose tree of embedded files contains itself."""
    writer = PdfWriter()
    writer.add_blank_page(100, 100)
    node = writer._add_object(DictionaryObject())
    node.get_object()[NameObject("/Kids")] = ArrayObject([node, node])  # type: ignore[index] # a dictionary
    writer.root_object[NameObject("/Names")] = DictionaryObject({NameObject("/EmbeddedFiles"): node})
    written = io.BytesIO()
    writer.write(written)
    return written.getvalue()


def enveloped(content: bytes) -> bytes:
    """An envelope with this PDF in place of a document."""
    inside = b64encode(content).decode()
    content_of = "http://peppol.eu/xsd/ticc/envelope/1.0"
    return envelope(
        f'<?xml version="1.0"?><BinaryContent xmlns="{content_of}" mimeType="application/pdf" '
        f'encoding="Base64Binary">{inside}</BinaryContent>'.encode()
    )
