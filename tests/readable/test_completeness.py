"""Pages show what documents say: every term of the standards' own lists, and nearly every value of real documents."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest
from lxml import etree
from support import pages
from support.corpus import IS_THERE, REASON, needs_corpus
from support.documents import invoice

from filedrop.readable import sheets
from filedrop.texts.languages import LANGUAGES

if TYPE_CHECKING:
    from support.matrix import Sample

    from filedrop.readable import Sheet

SHARE = 97  # of a hundred values
NAMES = ("Invoice", "CreditNote", "CrossIndustryInvoice", "Order", "OrderResponse", "DespatchAdvice")
NAMES += ("ApplicationResponse", "CrossDomainAcknowledgementAndResponse")


def shown(document: etree._Element, language: str = "en") -> Sheet:
    return sheets.sheet(io.BytesIO(etree.tostring(document)), language)


@pytest.mark.parametrize("kind", pages.KINDS)
def test_each_term_of_a_standard(kind: str) -> None:
    """A document with all terms of its standard has each on its page, beside a label and outside of other details."""
    if kind in pages.RULES and not IS_THERE:
        pytest.skip(REASON)
    document = pages.complete(kind)
    assert pages.left_out(document, shown(document)) == []


@needs_corpus
def test_values_of_real_documents(sample: Sample) -> None:
    """Of the values of real documents, at least 97 of a hundred are on their pages outside of other details."""
    found: dict[str, list[etree._Element]] = {name: [] for name in NAMES}
    for root in pages.corpus(NAMES):
        found[etree.QName(root).localname].append(root)
    for name in NAMES:
        stated = missing = 0
        few = len(found[name]) < 100  # of which those with most missing weigh too much in a sample
        for document in found[name] if few else sample(found[name], 20):
            stated += len(list(pages.values(document)))
            missing += len(pages.left_out(document, shown(document)))
        assert 100 - 100 * missing / stated >= SHARE, name


@pytest.mark.parametrize("language", LANGUAGES)
def test_labels_in_each_language(language: str) -> None:
    """A page in another language has the same facts: no label has become empty."""
    document = pages.complete("CrossIndustryInvoice")
    english, other = shown(document), shown(document, language)
    assert [len(block.facts) for block in other.blocks] == [len(block.facts) for block in english.blocks]
    assert all(fact.label for block in other.blocks for fact in block.facts)


def with_elements(count: int) -> bytes:
    """An invoice with so many elements that no stylesheet knows."""
    more = "".join(f"<cac:Odd><cbc:Thing>thing-{number}</cbc:Thing></cac:Odd>" for number in range(count))
    return invoice().replace(b"<cac:AccountingSupplierParty>", more.encode() + b"<cac:AccountingSupplierParty>")


def test_what_no_place_is_for() -> None:
    """A value that has no place on the page is under "Other details", by the names that it has in the document."""
    (block,) = (block for block in sheets.sheet(io.BytesIO(with_elements(1))).blocks if block.title == "Other details")
    assert block.entries == [(0, "Odd", ""), (1, "Thing", "thing-0")]
    assert "Other details" not in [block.title for block in sheets.sheet(io.BytesIO(invoice())).blocks]


def test_other_details_have_an_end() -> None:
    """Of very many other details, 200 entries are listed, and the page says how many more there are."""
    sheet = sheets.sheet(io.BytesIO(with_elements(5000)))
    (block,) = (block for block in sheet.blocks if block.title == "Other details")
    assert len(block.entries) == 200
    assert "9800 more" in block.more


def test_lines_beyond_the_last_that_is_shown() -> None:
    """Lines that a page leaves out are counted below its lines, and are not listed as other details."""
    line = invoice().partition(b"<cac:InvoiceLine>")[2].partition(b"</cac:InvoiceLine>")[0]
    many = invoice().replace(line, line + b"</cac:InvoiceLine><cac:InvoiceLine>".join([b"", *[line] * 2010]), 1)
    assert "Other details" not in [block.title for block in sheets.sheet(io.BytesIO(many)).blocks]
