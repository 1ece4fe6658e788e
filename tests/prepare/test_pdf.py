"""A PDF is put into an invoice: there only, once, and every other byte stays."""

from __future__ import annotations

import base64
import hashlib
import io
import re
import xml.etree.ElementTree as ET
from functools import partial
from typing import TYPE_CHECKING

import pytest
from support.corpus import DOCUMENTS, needs_corpus
from support.documents import cii, credit_note, envelope, invoice, order, with_attachments
from support.prepared import in_corpus, newly_broken, on_the_wire, pieces, undone, written

from filedrop.errors import DocumentError
from filedrop.identify import read
from filedrop.model.prepared import PdfFile
from filedrop.prepare import Edit, applied, attachments, may_have_attachments, pdf_edits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Pdf = tuple[PdfFile, Callable[[], Iterator[bytes]]]

CONTENT = b"%PDF-1.7\n" + bytes(range(256)) * 3 + b"\n%%EOF\n"
NAME = "invoice-1001.pdf"
CBC = "urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2"


def pdf(content: bytes = CONTENT, name: str = NAME, size: int = 1 << 16) -> Pdf:
    return PdfFile(name, len(content), hashlib.sha256(content).hexdigest()), partial(pieces, content, size)


def edits(document: bytes, of: Pdf | None = None, size: int = 1 << 16) -> list[Edit]:
    reading = read(io.BytesIO(document))
    return pdf_edits(partial(pieces, document, size), reading, *(of or pdf(size=size)), company="acme")


def prepared(document: bytes, of: Pdf | None = None, size: int = 1 << 16) -> bytes:
    return b"".join(applied(pieces(document, size), edits(document, of, size)))


def attached(document: bytes) -> list[tuple[str | None, str | None, bytes]]:
    """Name, media type and content of each attachment, by another reader than filedrop's."""
    return [
        (element.get("filename"), element.get("mimeCode"), base64.b64decode("".join(element.itertext())))
        for element in ET.fromstring(document).iter()  # noqa: S314 - the tests' own writing, or the corpus
        if element.tag.rpartition("}")[2] in ("EmbeddedDocumentBinaryObject", "AttachmentBinaryObject")
    ]


def refused(document: bytes, of: Pdf | None = None) -> str:
    with pytest.raises(DocumentError) as caught:
        edits(document, of)
    assert caught.value.code == "not-prepared"
    return str(caught.value)


@pytest.mark.parametrize("size", [1, 61, 1 << 16])
@pytest.mark.parametrize("document", [invoice(), credit_note(), cii()])
def test_pdf_in_a_document(document: bytes, size: int) -> None:
    """The PDF is an attachment by its own name; all other bytes and the lines stay, and again nothing is left to do."""
    posted = prepared(document, size=size)
    assert attached(posted) == [(NAME, "application/pdf", CONTENT)]
    assert undone(posted, document, edits(document, size=size)) == document
    assert posted.count(b"\n") == document.count(b"\n")
    assert edits(posted) == []
    assert attachments([posted]) == [(NAME, pdf()[0].sha256)]
    assert b"DocumentTypeCode" not in posted


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5])
def test_base64_of_any_length(length: int) -> None:
    """However long the PDF is, and in whatever pieces it is read, the receiver gets its bytes."""
    for size in (1, 2, 3, 7):
        assert attached(prepared(invoice(), pdf(CONTENT[:length], size=size)))[0][2] == CONTENT[:length]


@pytest.mark.parametrize(
    ("document", "before", "behind"),
    [
        (invoice(), b"CustomizationID", b"<cac:AccountingSupplierParty>"),
        (
            invoice().replace(
                b"<cac:AccountingSupplierParty>",
                b"<cac:AdditionalDocumentReference><cbc:ID>1</cbc:ID></cac:AdditionalDocumentReference>"
                b"<cac:ProjectReference><cbc:ID>P</cbc:ID></cac:ProjectReference><cac:AccountingSupplierParty>",
                1,
            ),
            b"<cbc:ID>1</cbc:ID>",
            b"<cac:ProjectReference>",
        ),
        (
            credit_note().replace(
                b"<cac:AccountingSupplierParty>",
                b"<cac:OriginatorDocumentReference><cbc:ID>O</cbc:ID></cac:OriginatorDocumentReference>"
                b"<cac:AccountingSupplierParty>",
                1,
            ),
            b"CustomizationID",
            b"<cac:OriginatorDocumentReference>",
        ),
        (cii(), b"BuyerTradeParty>", b"</ram:ApplicableHeaderTradeAgreement>"),
        (
            cii().replace(
                b"</ram:ApplicableHeaderTradeAgreement>",
                b"<ram:SpecifiedProcuringProject/></ram:ApplicableHeaderTradeAgreement>",
            ),
            b"BuyerTradeParty>",
            b"<ram:SpecifiedProcuringProject/>",
        ),
    ],
)
def test_place(document: bytes, before: bytes, behind: bytes) -> None:
    """The attachment is where the XSD wants it: behind the other references, and before what follows them."""
    posted = prepared(document)
    at = posted.index(b"application/pdf")
    assert posted.index(before) < at < posted.index(behind)


def test_prefixes() -> None:
    """Where a namespace has no prefix, or the usual one is another's, the attachment declares its own."""
    for declared in (b"", b' xmlns:cbc="urn:ours" xmlns:cac="urn:ours"'):
        document = re.sub(rb"<(/?)cac:", rb"<\1a:", re.sub(rb"<(/?)cbc:", rb"<\1b:", invoice()))
        document = document.replace(b"xmlns:cac=", b"xmlns:a=").replace(b"xmlns:cbc=", b"xmlns:b=", 1)
        document = document.replace(b"<Invoice ", b"<Invoice" + declared + b" ")
        assert attached(prepared(document))[0][2] == CONTENT
    default = b'<q:Invoice xmlns:q="urn:oasis:names:specification:ubl:schema:xsd:Invoice-2" xmlns="%s">'
    document = default % CBC.encode() + b"<CustomizationID>c</CustomizationID></q:Invoice>"
    assert attached(prepared(document)) == [(NAME, "application/pdf", CONTENT)]


@pytest.mark.parametrize("name", ["a'b\"c & <é> %.pdf", "Rechnung Müller.PDF", "\udcff.pdf", "a\tb\x01.pdf"])
def test_names(name: str) -> None:
    """Every file name that a system allows becomes one that XML allows."""
    ((stated, _, content),) = attached(prepared(invoice(), pdf(name=name)))
    assert content == CONTENT
    assert stated is not None
    assert stated.endswith(name[-4:])


def test_already_in_it() -> None:
    """A document that has the PDF under any name gets nothing; another attachment of its name is refused."""
    posted = prepared(invoice(), pdf(name="anything.pdf"))
    assert edits(posted, pdf()) == []
    for another in (b"%PDF-1.4", "", "no base64"):
        document = with_attachments(invoice(), (NAME.upper(), "application/pdf", another))
        assert "already has another attachment named" in refused(document)


def test_refusals() -> None:
    """What is signed or enveloped, has no place for a PDF or is no invoice is refused, in words."""
    signature = b'<ds:Signature xmlns:ds="http://www.w3.org/2000/09/xmldsig#"/>'
    assert "is signed" in refused(invoice().replace(b"<cbc:Note>", signature + b"<cbc:Note>"))
    assert "is in an envelope" in refused(envelope(invoice()))
    assert "only into invoices and credit notes, and this document is another one (Order)" in refused(order())
    assert not may_have_attachments(read(io.BytesIO(order())))
    for profile in ("urn:factur-x.eu:1p0:minimum", "urn:cen.eu:en16931:2017#compliant#urn:factur-x.eu:1p0:basic"):
        assert f"profile ({profile}) has no place" in refused(cii(customization=profile))
    empty = cii()
    start = empty.index(b"<ram:ApplicableHeaderTradeAgreement>")
    end = empty.index(b"</ram:ApplicableHeaderTradeAgreement>") + len(b"</ram:ApplicableHeaderTradeAgreement>")
    for agreement in (b"", b"<ram:ApplicableHeaderTradeAgreement/>"):
        assert "has no place" in refused(empty[:start] + agreement + empty[end:])


def _check(path: Path) -> None:
    document = on_the_wire(path.read_bytes())
    made = edits(document)
    posted = b"".join(applied(pieces(document, 1 << 16), made))
    before, after = read(io.BytesIO(document)), read(io.BytesIO(posted))
    assert undone(posted, document, made) == document
    assert edits(posted) == []
    assert (NAME, "application/pdf", CONTENT) in attached(posted)
    assert len(attached(posted)) == len(attached(document)) + 1
    assert posted.count(b"\n") == document.count(b"\n")
    assert not written(made[0]).count(b"\n")
    facts = ("root_name", "customization", "number", "issue_date", "type_code", "sender_name", "found", "missing")
    assert all(getattr(before, fact) == getattr(after, fact) for fact in facts)


@needs_corpus
def test_corpus_sample() -> None:
    """A real document gets the PDF, and is the same document otherwise."""
    _check(DOCUMENTS / "OpenPEPPOL+peppol-bis-invoice-3" / "rules" / "examples" / "base-example.xml")


@pytest.mark.slow
@needs_corpus
def test_corpus() -> None:
    """Every real invoice gets the PDF, or is refused in words, and is the same document otherwise."""
    paths, done = in_corpus(may_have_attachments), 0
    for path in paths:
        try:
            _check(path)
            done += 1
        except DocumentError as error:
            assert error.code == "not-prepared"  # noqa: PT017 - few are refused, in words
    assert done > len(paths) * 0.9 > 200


@pytest.mark.slow
@needs_corpus
def test_corpus_by_the_published_rules(tmp_path: Path) -> None:
    """No real document breaks a rule with the PDF that it kept without."""
    found = newly_broken(in_corpus(may_have_attachments), prepared, tmp_path / "rules")
    assert not {name: rules for name, rules in found.items() if rules}
