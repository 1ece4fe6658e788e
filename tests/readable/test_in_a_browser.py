"""Pages in a real browser: nothing is cut off, words stay whole, and on paper a heading stays with its table."""

from __future__ import annotations

import re
import shutil
import subprocess
from io import BytesIO
from typing import TYPE_CHECKING

import pytest
from support.browser import Browser, started
from support.documents import invoice

from filedrop.readable import html, sheets
from filedrop.texts.languages import LANGUAGES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow

# What is wider than the phone, and each word of a line that is broken.
PROBLEMS = r"""
const found = [], wide = document.documentElement.clientWidth, range = document.createRange();
if (document.documentElement.scrollWidth > wide) found.push("scrolls sideways");
for (const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT); walk.nextNode();)
  for (const word of walk.currentNode.data.matchAll(/\S+/g)) {
    range.setStart(walk.currentNode, word.index);
    range.setEnd(walk.currentNode, word.index + word[0].length);
    const places = [...range.getClientRects()];
    if (places.some(place => place.right > wide)) found.push("out of sight: " + word[0]);
    if (word[0].length < 30 && new Set(places.map(place => place.top)).size > 1) found.push("broken: " + word[0]);
  }
return found;
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started() as browser:
        yield browser


def written(folder: Path, document: bytes, language: str = "en") -> Path:
    page = folder / "page.html"
    page.write_bytes(html.page(sheets.sheet(BytesIO(document), language), "invoice.xml", {}))
    return page


def with_a_path() -> bytes:
    """An invoice with long words, and a path where a line's number is expected, as responses have it."""
    words, path = "Trafikkavviklingstiltak ved Blåbærsyltetøyfabrikken", "/cac:CatalogueLine[3]" * 5
    document = invoice().replace(b"Blueberry jam", words.encode())
    return document.replace(b"<cbc:ID>1</cbc:ID>", f"<cbc:ID>{path}</cbc:ID>".encode())


def with_large_numbers() -> bytes:
    """The same with large numbers, and a unit in words."""
    document = with_a_path().replace(b">1000.00<", b">12345678.00<").replace(b">250.00<", b">90000.0000<")
    return document.replace(b'unitCode="C62">4<', b'unitCode="LS">35890.0000<')


@pytest.mark.parametrize("language", LANGUAGES)
def test_on_a_phone(browser: Browser, tmp_path: Path, language: str) -> None:
    """Nothing is beyond the edge, no word is broken that fits, and each cell says what it is."""
    browser.open(written(tmp_path, with_large_numbers(), language), width=390)
    assert browser.run(PROBLEMS) == []
    label = "return getComputedStyle(document.querySelector('td.n:last-child'), '::before').content"
    assert browser.run(label) == f'"{sheets.sheet(BytesIO(invoice()), language).blocks[3].columns[-1][0]}"'


def test_on_a_screen(browser: Browser, tmp_path: Path) -> None:
    """A path in the place of a line's number leaves room for the rest."""
    for width in (900, 1280):
        browser.open(written(tmp_path, with_a_path()), width=width)
        assert browser.run(PROBLEMS) == []


def test_on_paper(browser: Browser, tmp_path: Path) -> None:
    """Wherever a page ends, no heading ends it, and a table goes on below its head; each page has its number."""
    to_text = shutil.which("pdftotext")
    if not to_text:
        pytest.skip("no pdftotext: apt-get install poppler-utils")
    line = re.search(rb"<cac:InvoiceLine>.*</cac:InvoiceLine>", invoice(), re.DOTALL)
    assert line
    address = b"<cac:PostalAddress>"
    ends, begins = set(), set()
    for height in range(16, 44, 3):
        taller = address + b"<cac:AddressLine><cbc:Line>Somewhere</cbc:Line></cac:AddressLine>" * height
        document = invoice().replace(line[0], line[0] * 30).replace(address, taller)
        browser.open(written(tmp_path, document))
        (tmp_path / "page.pdf").write_bytes(browser.printed())
        text = subprocess.run([to_text, "-layout", tmp_path / "page.pdf", "-"], check=True, capture_output=True).stdout
        pages = [page.strip().splitlines() for page in text.decode().split("\f") if page.strip()]
        numbers = [page.pop().replace(" ", "") for page in pages]
        assert numbers == [f"{number}/{len(pages)}" for number in range(1, len(pages) + 1)]
        pages = ["\n".join(page).strip().splitlines() for page in pages]
        ends |= {page[-1].split()[0] for page in pages[:-1]}
        begins |= {page[0].split()[0] for page in pages[1:]}
    assert not ends & {"LINES", "TAX", "PAYMENT", "NOTES", "No.", "Category"}
    assert {"LINES", "No."} <= begins
    assert not begins & {"1", "Standard"}
