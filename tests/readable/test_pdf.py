"""The XML of an invoice is found wherever a PDF has it, and a damaged PDF is a sentence."""

from __future__ import annotations

import io
import random
from contextlib import suppress

import pytest
from support.documents import credit_note, envelope, invoice, order
from support.pdfs import XML, Embedded, pdf, pdf_of

from filedrop.readable import NotReadable
from filedrop.readable.pdf import xml_in


@pytest.mark.parametrize("name", ["factur-x.xml", "ZUGFeRD-invoice.xml", "zugferd-invoice.xml", "xrechnung.xml"])
@pytest.mark.parametrize("only_associated", [False, True])
def test_found(name: str, only_associated: bool) -> None:  # noqa: FBT001 - pytest gives it by name
    """Under each name of Factur-X and ZUGFeRD, in the tree of names or only among the associated files."""
    assert xml_in(io.BytesIO(pdf(name, only_associated=only_associated))) == (name, XML)


ANY = Embedded("RE-1001.xml", invoice(), "Alternative")
OTHER = Embedded("a.xml", b"<other/>", "Alternative")
CII_1 = b'<rsm:CrossIndustryDocument xmlns:rsm="urn:ferd:CrossIndustryDocument:invoice:1p0"/>'
ORDER_X = b'<a:SCRDMCCBDACIOMessageStructure xmlns:a="urn:un:unece:uncefact:data:SCRDMCCBDACIOMessageStructure:100"/>'


@pytest.mark.parametrize(
    "name",
    [
        "C:\\temp\\factur-x.xml",
        "/srv/out/Factur-X.xml",
        "HD:out:xrechnung.xml",
        "..\\ZUGFeRD-invoice.xml",
        "order-x.xml",
    ],
)
def test_name_with_a_path(name: str) -> None:
    """The last part of a name is what counts: some software writes the whole path of its own file."""
    assert xml_in(io.BytesIO(pdf_of(ANY, Embedded(name, XML)))) == (name, XML)


@pytest.mark.parametrize(
    "content",
    [invoice(), credit_note(), order(), CII_1, ORDER_X, envelope(invoice()), invoice().decode().encode("utf-16")],
)
def test_any_name(content: bytes) -> None:
    """Under any name, the only invoice or order is found by its root, also where a file next to it can't be read."""
    wanted = Embedded("RE-1001.xml", content.replace(b'encoding="UTF-8"', b""))
    files = (Embedded("list.csv", b"1;2"), OTHER, Embedded("scan.pdf", b"%PDF-1.7"), wanted)
    assert xml_in(io.BytesIO(pdf_of(*files))) == (wanted.name, wanted.content)


def test_relationship() -> None:
    """Of several invoices, the one that is stated to be another form of the page, or its data, comes first."""
    for relationship in ("Alternative", "Data", "Source"):
        wanted = Embedded("b.xml", invoice("2"), relationship)
        files = (Embedded("a.xml", invoice("1"), "Supplement"), wanted, Embedded("c.xml", invoice("3")))
        assert xml_in(io.BytesIO(pdf_of(*files))) == (wanted.name, wanted.content)


def test_several_invoices() -> None:
    """Which of several invoices is the PDF's isn't guessed; one that is there twice is one."""
    with pytest.raises(NotReadable, match=r"has several invoices in it \(a.xml, b.xml\)"):
        xml_in(io.BytesIO(pdf_of(Embedded("a.xml", invoice("1")), Embedded("b.xml", invoice("2")))))
    assert xml_in(io.BytesIO(pdf_of(Embedded("a.xml", invoice()), Embedded("b.xml", invoice())))) == (
        "a.xml",
        invoice(),
    )


@pytest.mark.parametrize("levels", [1, 3, 40])
def test_tree_of_names(levels: int) -> None:
    """The tree of names may have any depth that a program makes."""
    assert xml_in(io.BytesIO(pdf_of(ANY, levels=levels))) == (ANY.name, ANY.content)


@pytest.mark.parametrize("algorithm", ["RC4-40", "RC4-128", "AES-128", "AES-256"])
def test_owner_password(algorithm: str) -> None:
    """A PDF that opens without a password is read; one that needs a password is said to need one."""
    assert xml_in(io.BytesIO(pdf_of(ANY, owner="secret", algorithm=algorithm))) == (ANY.name, ANY.content)
    with pytest.raises(NotReadable, match="can only be opened with a password"):
        xml_in(io.BytesIO(pdf_of(ANY, owner="secret", user="other", algorithm=algorithm)))


def test_damaged() -> None:
    """A PDF with wrong bytes in it has its XML, or is said to be damaged; no other error comes of it."""
    whole, draw = pdf(), random.Random(0)  # noqa: S311 - no secret
    for number in range(200):
        content = bytearray(whole)
        for _ in range(draw.randint(1, 20)):
            at = draw.randrange(len(content))
            content[at : at + draw.randint(0, 3)] = draw.randbytes(draw.randint(0, 3))
        print(number)  # noqa: T201 - pytest shows it when the test fails
        with suppress(NotReadable):
            xml_in(io.BytesIO(content))
