"""A document that is twice as large costs twice as much to show, whatever it repeats: the stylesheets are linear."""

from __future__ import annotations

import re
import time
from contextlib import suppress
from copy import deepcopy
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from lxml import etree
from support.corpus import DOCUMENTS, needs_corpus

from filedrop.identify.content import business_document
from filedrop.readable import sheets

if TYPE_CHECKING:
    from support.matrix import Sample

UBL = "urn:oasis:names:specification:ubl:schema:xsd:{0}-2"
KINDS = {
    **{name: f"{{{UBL.format(name)}}}{name}" for name in ("Invoice", "CreditNote", "Order", "OrderResponse")},
    **{name: f"{{{UBL.format(name)}}}{name}" for name in ("DespatchAdvice", "ApplicationResponse")},
    "CrossIndustryInvoice": sheets._CII,
    "CrossDomainAcknowledgementAndResponse": sheets._CDAR,
}
FEW, MANY = 400, 4000  # elements, and again twice as many: where the result is measured, and where the work is
MENTIONED = frozenset(
    name
    for path in Path(sheets.__file__).parent.glob("*.xsl")
    for name in re.findall(r"(?:cac|cbc|ram|rsm):(\w+)", path.read_text(encoding="utf-8"))
) | {"."}
MUCH = 3.0  # times as much work for twice as much; it is 4 where something grows with the square
LONG = 100  # letters that a value grows by with each repetition of what is below it
SMALL = 0.03  # seconds of CPU time that say nothing


@cache
def rich() -> dict[str, etree._Element]:
    """By kind, a document that has every element, once, that some document of this kind in the corpus has."""
    roots = {KINDS[kind]: etree.Element(KINDS[kind]) for kind in KINDS}
    for path in sorted(DOCUMENTS.rglob("*.xml")):
        with suppress(etree.XMLSyntaxError):
            document = business_document(etree.parse(path).getroot())
            if document.tag in roots:
                _merge(roots[str(document.tag)], document)
    return {kind: roots[tag] for kind, tag in KINDS.items()}


def _merge(into: etree._Element, element: etree._Element) -> None:
    for key, value in element.attrib.items():
        into.set(key, value)
    if not len(element):
        into.text = into.text or (element.text or "").strip()[:100]
    for child in element.iterchildren(etree.Element):
        there = into.find(str(child.tag))
        _merge(etree.SubElement(into, child.tag) if there is None else there, child)


def grown(root: etree._Element, place: str, count: int) -> etree._Element:
    """The document in which each element within this place is there so often, and all values above are so long."""
    made = deepcopy(root)
    parent = made.find(place)
    assert parent is not None
    for above in parent.iterancestors():
        for value in above:
            if not len(value):
                value.text = (value.text or "x") + "x" * LONG * count
    for child in list(parent):
        at = parent.index(child)
        for _ in range(count - 1):
            parent.insert(at, deepcopy(child))
    return made


def work(document: etree._Element) -> tuple[float, int]:
    """What it takes to transform a document: seconds of CPU time, and letters of the result."""
    name = sheets._STYLESHEETS.get(str(document.tag), "ubl.xsl")
    began = time.thread_time()
    result = sheets._stylesheet(name)(etree.ElementTree(document))
    return time.thread_time() - began, len(etree.tostring(result))


def grows(root: etree._Element, place: str, count: int) -> str:
    """How the work grows where it does so too fast; "" where it doesn't."""
    found = ""
    for _ in range(3):  # the machine may be busy
        once, twice = (work(grown(root, place, number)) for number in (count, 2 * count))
        has_much_result = twice[1] > MUCH * once[1]
        if not has_much_result and (twice[0] < SMALL or twice[0] < MUCH * once[0]):
            return ""
        found = f"{place}: {once} -> {twice}"
    return found


def places(root: etree._Element) -> list[tuple[str, int]]:
    """Where something can be repeated, with the number of elements in it."""
    tree = etree.ElementTree(root)
    found = [(tree.getelementpath(one), sum(1 for _ in one.iter())) for one in root.iter() if len(one)]
    return [(path, size) for path, size in found if any(name in MENTIONED for name in path.split("}")[-1:])]


@needs_corpus
def test_twice_as_much(sample: Sample) -> None:
    """All that is in one place of a document is repeated, each place in turn: neither result nor work grows faster."""
    of_kinds = [(kind, *place) for kind in KINDS for place in places(rich()[kind])]
    repeat_each(sample(of_kinds, 40), FEW)


@needs_corpus
@pytest.mark.slow
@pytest.mark.timeout(600)  # several in one
def test_twice_as_much_of_a_lot(sample: Sample) -> None:
    """The same with many elements, of which a part that grows faster takes more of the time."""
    of_kinds = [(kind, *place) for kind in sample(sorted(KINDS), 1) for place in places(rich()[kind])]
    repeat_each(of_kinds, MANY)


def repeat_each(of_kinds: list[tuple[str, str, int]], elements: int) -> None:
    """Repeat the content of each place of a document of its kind, so that it has this many elements, or fails."""
    found = [
        f"{kind}: {how}"
        for kind, place, size in of_kinds
        if (how := grows(rich()[kind], place, max(elements // size, 10)))
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("attribute", [b'a%d="1"', b'xmlns:p%d="u%d" p%d:a="1"'], ids=["", "each of a namespace"])
def test_very_many_attributes(attribute: bytes) -> None:
    """An element with thousands of attributes, for each of which lxml looks through all others, isn't shown."""
    attributes = b" ".join(attribute.replace(b"%d", b"%d" % nth) for nth in range(10_000))
    with pytest.raises(sheets.NotReadable, match="more than 200 attributes"):
        sheets.sheet(BytesIO(b'<Invoice xmlns="%b"><a %b/></Invoice>' % (UBL.format("Invoice").encode(), attributes)))
