"""PDFs with files embedded in them, and the envelope that has a PDF in place of a document: Factur-X."""

from __future__ import annotations

import contextlib
import io
from base64 import b64encode
from typing import NamedTuple

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


class Embedded(NamedTuple):
    """A file in a PDF, and what its PDF says that it is of the page."""

    name: str
    content: bytes
    relationship: str = ""


def pdf_of(*files: Embedded, levels: int = 0, owner: str = "", user: str = "", algorithm: str = "AES-256") -> bytes:
    """A PDF with these files, whose tree of names has so many levels below its root.

    `owner`: the password for changing it, if it has any. `user`: the one for opening it.
    """
    writer = PdfWriter()
    writer.add_blank_page(100, 100)
    for file in files:
        specification = writer.add_attachment(file.name, file.content).pdf_object
        if file.relationship:
            specification[NameObject("/AFRelationship")] = NameObject(f"/{file.relationship}")
    names = writer.root_object["/Names"]
    for _ in range(levels):
        node = DictionaryObject({NameObject("/Kids"): ArrayObject([names.raw_get("/EmbeddedFiles")])})  # type: ignore[attr-defined] # a dictionary
        names[NameObject("/EmbeddedFiles")] = writer._add_object(node)  # type: ignore[index] # likewise
    if owner:
        writer.encrypt(user, owner, algorithm=algorithm)
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
