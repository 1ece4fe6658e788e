"""A page says what its document says, in words, and does nothing else, whoever wrote the document."""

from __future__ import annotations

import hashlib
import io
import re
from base64 import b64encode
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.corpus import DOCUMENTS, needs_corpus
from support.documents import credit_note, envelope, invoice, order, with_attachments

from filedrop import readable
from filedrop.readable import html, sheets, tree
from filedrop.readable.labels import LABELS
from filedrop.texts.languages import LANGUAGES

if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER = Path(readable.__file__).parent
TAGS = {
    "html", "head", "meta", "title", "style", "body", "main", "header", "footer", "section", "div", "h1", "h2", "p",
    "dl", "dt", "dd", "table", "thead", "tbody", "tr", "th", "td", "small", "ul", "li", "a",
}  # fmt: skip


class Page(HTMLParser):
    """What a browser would find in a page: its tags with their attributes, and its text."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.said = ""
        self.style = ""
        self.feed(page.decode())
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] == "style" and not self.style:
            self.style = data
        else:
            self.said += data + "\n"

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)


def shown(document: bytes, language: str = "en", beside: Mapping[int, str] | None = None) -> Page:
    return Page(html.page(sheets.sheet(io.BytesIO(document), language), "document.xml", beside or {}))


def assert_harmless(page: Page) -> None:
    """It has only our tags, no script, no handler, and no address but those beside it."""
    for tag, attributes in page.tags:
        assert tag in TAGS
        for name, value in attributes.items():
            assert name in (
                "class",
                "colspan",
                "data-label",
                "lang",
                "charset",
                "content",
                "http-equiv",
                "name",
                "href",
            )
            if name == "href":
                assert (value or "").startswith("./")
                assert "/" not in (value or "")[2:]
    assert "url(" not in page.style
    assert "@import" not in page.style


def test_an_invoice() -> None:
    """Number, dates, parties, lines, taxes, totals and payment are those that the document states."""
    said = shown(invoice()).said
    for text in ("Invoice", "1001", "2026-11-20", "2026-12-20", "Blåbær og Bær AS", "Kjøper Kommune", "Blueberry jam",
                 "4 pcs", "25 %", "Standard rate (S)", "1,000.00 NOK", "1,250.00 NOK", "Credit transfer (30)",
                 "NO9386011117947", "Thank you for your order.", "document.xml"):  # fmt: skip
        assert text in said


def test_the_totals_are_as_stated() -> None:
    """A total that contradicts the lines is shown as it is, with two decimals; one that isn't there is not made up."""
    wrong = invoice().replace(b">1250.00</cbc:PayableAmount>", b">7.5</cbc:PayableAmount>")
    assert "7.50 NOK" in shown(wrong).said
    without = re.sub(rb"<cbc:PayableAmount.*?</cbc:PayableAmount>", b"", invoice())
    assert "To be paid" not in shown(without).said


@pytest.mark.parametrize(
    ("language", "words"),
    {
        "en": "Invoice;Seller;To be paid;1,250.00 NOK",
        "nb": "Faktura;Selger;Å betale;1\xa0250,00 NOK",
        "sv": "Faktura;Säljare;Att betala;1\xa0250,00 NOK",
        "da": "Faktura;Sælger;At betale;1.250,00 NOK",
        "de": "Rechnung;Verkäufer;Zahlbetrag;1.250,00 NOK",
    }.items(),
)
def test_languages(language: str, words: str) -> None:
    """The words are those of the reader, and numbers are written as there."""
    page = shown(invoice(), language)
    assert all(word in page.said for word in words.split(";"))
    assert page.tags[0] == ("html", {"lang": language})


def test_only_what_is_shown() -> None:
    """Of very many lines, those that are left out are counted, and make no column of their own."""
    line = re.search(rb"<cac:InvoiceLine>.*</cac:InvoiceLine>", invoice(), re.DOTALL)
    assert line
    document = invoice().replace(line[0], b"<cac:InvoiceLine><cbc:ID>1</cbc:ID></cac:InvoiceLine>" * 2000 + line[0] * 2)
    sheet = sheets.sheet(io.BytesIO(document))
    (lines,) = [block for block in sheet.blocks if block.title == "Lines"]
    assert len(lines.rows) == 2000
    assert [name for name, _ in lines.columns] == ["No."]
    assert "2" in lines.more


def test_every_label_of_the_stylesheets() -> None:
    """Each label that a stylesheet asks for has its English words."""
    asked = set()
    for stylesheet in FOLDER.glob("*.xsl"):
        text = stylesheet.read_text()
        asked |= set(re.findall(r' key="([a-zA-Z_]+)"| role="([A-Z][a-zA-Z]+)"|name="key">([a-z_]+)<', text))
    assert {word for words in asked for word in words if word} <= LABELS.keys()


@pytest.mark.parametrize(
    ("document", "title"),
    [(credit_note(), "Credit note"), (order(), "Order"), (envelope(invoice()), "Invoice")],
    ids=["credit note", "order", "envelope"],
)
def test_other_kinds(document: bytes, title: str) -> None:
    """Other documents, and those in an envelope, have pages of their own."""
    page = shown(document)
    assert page.said.count("Blåbær og Bær AS") == 1
    assert next(text for text in page.said.splitlines() if text.strip()).startswith(title)


def test_a_kind_without_a_stylesheet() -> None:
    """Any other document is an outline of its elements, with what their values are in."""
    said = shown(
        b'<Reminder><ID>7</ID><LegalTotal><PayableAmount currencyID="NOK">10</PayableAmount></LegalTotal></Reminder>'
    ).said
    assert " ".join(said.split()).startswith("Reminder 7 Reminder 7 ID 7 Legal Total Payable Amount 10 (NOK)")


def test_an_outline_has_no_empty_heading() -> None:
    """What is embedded, but has no name and lies nowhere beside the page, gets no heading above nothing."""
    namespace = "urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2"
    tag = "EmbeddedDocumentBinaryObject"
    document = f'<Reminder><ID>7</ID><{tag} xmlns="{namespace}">JVBERi0x</{tag}></Reminder>'.encode()
    assert "Attachments" not in shown(document).said
    assert "Attachments" in shown(document, beside={1: "x-1.pdf"}).said


def test_attachments_are_linked() -> None:
    """What lies beside the page is linked by its name, what lies in the document alone is only named."""
    document = with_attachments(
        invoice(), ("a.pdf", "application/pdf", b"%PDF-"), ("b.pdf", "application/pdf", b"%PDF-")
    )
    page = shown(document, beside={2: "x-2-b ü.pdf"})
    assert [attributes["href"] for tag, attributes in page.tags if tag == "a"] == ["./x-2-b%20%C3%BC.pdf"]
    assert "a.pdf" in page.said


def test_only_we_number_what_is_embedded() -> None:
    """A document that has our attribute itself, with whatever in it, is shown like any other."""
    said = shown(b'<Reminder><ID filedrop-number="x">7</ID><Note filedrop-number="1">Pay</Note></Reminder>').said
    assert " ".join(said.split()).startswith("Reminder 7 Reminder 7 ID 7 Note Pay This page was made")


def test_its_policy() -> None:
    """The page lets a browser load nothing, and apply its one style alone."""
    page = shown(invoice())
    assert_harmless(page)
    (policy,) = [one["content"] for tag, one in page.tags if one.get("http-equiv") == "Content-Security-Policy"]
    digest = b64encode(hashlib.sha256(page.style.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


MARKUP = [
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</style><script>x</script>", "<!--", "]]>",
    "</title><script>x</script>", "javascript:alert(1)", "{0.__class__}", "&lt;script&gt;", "' onmouseover='x", "%s%n",
    "\u202eevil\u202c", "<a href='http://evil.example/'>x</a>", "<xsl:value-of select='x'/>",
]  # fmt: skip


@pytest.mark.parametrize("markup", MARKUP)
@pytest.mark.parametrize("make", [invoice, order, credit_note], ids=["invoice", "order", "credit note"])
def test_markup_in_every_value(make: type, markup: str) -> None:
    """Whatever stands in any text or attribute of a document is text on its page."""
    told = markup.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;").replace("]]>", "]]&gt;")
    document = make().decode()
    head, _, body = document.partition("<cbc:CustomizationID>")
    everywhere = re.sub(r">[^<>\n]+</", lambda _: f">{told}</", "<cbc:CustomizationID>" + body)
    everywhere = re.sub(r'="[^"]*"', lambda _: f'="{told}"', everywhere)
    page = shown((head + everywhere).encode(), beside={1: markup.replace("/", "_")})
    assert_harmless(page)
    assert "\u202e" not in page.said


def test_markup_in_names() -> None:
    """An outline shows an element's name, whatever that is."""
    assert_harmless(
        shown("<a><onclick.x·y>1</onclick.x·y><script>alert(1)</script><iframe src='http://evil'/></a>".encode())
    )


XSL = "http://www.w3.org/1999/XSL/Transform"
HOSTILE = {
    "an entity of a file": '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a><b>&x;</b></a>',
    "an entity of an address": '<!DOCTYPE a SYSTEM "http://127.0.0.1:1/x.dtd"><a><b>text</b></a>',
    "a laugh for each": '<!DOCTYPE a [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]><a c="&b;"><b>&b;</b></a>',
    "a stylesheet of its own": '<?xml-stylesheet href="http://127.0.0.1:1/" type="text/xsl"?><a><b>text</b></a>',
    "a stylesheet": f'<x:stylesheet xmlns:x="{XSL}"><x:include href="/etc/passwd"/></x:stylesheet>',
    "an inclusion": '<a xmlns:xi="http://www.w3.org/2001/XInclude"><xi:include href="/etc/passwd" parse="text"/></a>',
}


@pytest.mark.parametrize("document", HOSTILE.values(), ids=HOSTILE)
def test_nothing_is_fetched(document: str) -> None:
    """No entity, stylesheet or inclusion of a document is opened, resolved or expanded."""
    page = shown(document.encode())
    assert_harmless(page)
    assert "root:" not in page.said
    assert len(page.said) < 500


def test_stylesheets_open_nothing(tmp_path: Path) -> None:
    """Even a stylesheet of ours couldn't read a file: that is denied to all of them."""
    from lxml import etree  # noqa: PLC0415 - one test's

    (tmp_path / "secret.xml").write_text("<secret>42</secret>")
    written = tmp_path / "reads.xsl"
    written.write_text(
        '<x:stylesheet version="1.0" xmlns:x="http://www.w3.org/1999/XSL/Transform"><x:template match="/"><y>'
        f"<x:value-of select=\"document('{tmp_path}/secret.xml')\"/></y></x:template></x:stylesheet>"
    )
    original, sheets._FOLDER = sheets._FOLDER, tmp_path
    try:
        result = sheets._stylesheet("reads.xsl")(etree.ElementTree(etree.Element("a")))
        assert "42" not in str(result)
    except etree.XSLTError:
        pass
    finally:
        sheets._FOLDER = original
        sheets._stylesheet.cache_clear()


def test_a_stylesheet_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a stylesheet breaks off, the document can't be shown, and it is said why."""
    ends = '<xsl:message terminate="yes">broken here</xsl:message></xsl:template></xsl:stylesheet>'
    (tmp_path / "ubl.xsl").write_text(
        '<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"><xsl:template match="/">' + ends
    )
    monkeypatch.setattr(sheets, "_FOLDER", tmp_path)
    sheets._stylesheet.cache_clear()
    try:
        with pytest.raises(readable.NotReadable, match=r"can't be shown by ubl\.xsl"):
            sheets.sheet(io.BytesIO(invoice()))
    finally:
        sheets._stylesheet.cache_clear()


def test_a_page_that_would_be_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page has an end: it is not made where it would be larger, and it is said why."""
    monkeypatch.setattr(html, "LARGEST", 5000)
    with pytest.raises(readable.NotReadable, match="its page would have more than 5 KB"):
        shown(invoice())


TOO_MUCH = {
    "too deep": (b"<a>" * 300 + b"</a>" * 300, "nested more than 256 deep"),
    "too large": (b"<a><b>" + b"x" * (tree.LARGEST + 10) + b"</b></a>", "is too large to be shown"),
    "too large an attribute": (b'<a b="' + b"x" * (tree.LARGEST + 10) + b'"/>', "has no end"),
    "half of it": (b"<a><b>", "is not well-formed XML (line 1"),
    "nothing": (b"", "is not well-formed XML"),
    "a namespace that is no address": (b'<a xmlns="a b"/>', "can't be shown: it has a name that can't be used"),
    "an encoding that doesn't exist": (b'<?xml version="1.0" encoding="klingon"?><a/>', "can't be shown: "),
}


@pytest.mark.parametrize(("document", "why"), TOO_MUCH.values(), ids=TOO_MUCH)
def test_what_is_not_shown(document: bytes, why: str) -> None:
    """What is no whole document, or too much of one, is not shown, and it is said why."""
    with pytest.raises(readable.NotReadable, match=re.escape(why)):
        sheets.sheet(io.BytesIO(document))


def test_what_is_embedded_does_not_count() -> None:
    """A document with a large PDF in it is shown: what is embedded is no part of its page."""
    assert "Blueberry jam" in shown(invoice(size=tree.LARGEST + 1_000_000)).said


@pytest.mark.slow
def test_very_many_lines() -> None:
    """Of a document with very many lines so many are shown as can be read, and the page says how many it lacks."""
    line = re.search(rb"<cac:InvoiceLine>.*</cac:InvoiceLine>", invoice(), re.DOTALL)
    assert line
    said = shown(invoice().replace(line[0], line[0].replace(b"    ", b"") * 2010)).said
    assert "10 more lines are in the document and not on this page." in said


@needs_corpus
def test_real_documents() -> None:
    """Each kind of real document has a page, and each page is harmless."""
    files = sorted(path for path in DOCUMENTS.rglob("*") if path.is_file())
    pages = 0
    for file in files[::12]:
        try:
            page = shown(file.read_bytes(), LANGUAGES[pages % len(LANGUAGES)])
        except readable.NotReadable:
            continue
        assert_harmless(page)
        pages += 1
    assert pages > 50
