"""What a page leaves out: the values of a document, and which of them stand beside a label on its page."""

from __future__ import annotations

import datetime as dt
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from lxml import etree
from support import corpus as data

from filedrop.identify.content import business_document
from filedrop.readable.words import words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from filedrop.readable import Sheet

TERMS = Path(__file__).parent / "terms"
UBL = "urn:oasis:names:specification:ubl:schema:xsd:"
UN = "urn:un:unece:uncefact:data:standard:"
NAMESPACES = {
    "cac": f"{UBL}CommonAggregateComponents-2",
    "cbc": f"{UBL}CommonBasicComponents-2",
    "ext": f"{UBL}CommonExtensionComponents-2",
    "ram": f"{UN}ReusableAggregateBusinessInformationEntity:100",
    "udt": f"{UN}UnqualifiedDataType:100",
    "qdt": f"{UN}QualifiedDataType:100",
}
EMBEDDED = ("EmbeddedDocumentBinaryObject", "AttachmentBinaryObject")
_NO_VALUES = ("UBLExtensions", "Signature")  # of a computer for a computer: signatures above all
_YES = {"true": "yes", "1": "yes", "false": "no", "0": "no"}
# What the type of a document stands for: the label says it.
_TYPES = {"50": ("tender", "project"), "130": ("invoiced_object",), "916": ("attachments",)}
_VAT = ("TaxScheme/ID", "TradeTax/TypeCode", "IncludedTradeTax/TypeCode")  # VAT is the tax that a label means
_DAY = re.compile(r"(\d{4})(\d{2})(\d{2})")


class Value(NamedTuple):
    """A value of a document: the path of its element without namespaces, and its text."""

    path: str
    text: str


def values(root: etree._Element) -> Iterator[Value]:
    """Each value of a document, but what is embedded in it and its signatures."""
    stack = [(root, "")]
    while stack:
        element, path = stack.pop()
        name = etree.QName(element).localname
        if name in (*EMBEDDED, *_NO_VALUES):
            continue
        children = list(element.iterchildren(etree.Element))
        stack += [(child, f"{path}/{etree.QName(child).localname}") for child in reversed(children)]
        if not children and (text := " ".join((element.text or "").split())):
            yield Value(path, text)


def left_out(root: etree._Element, sheet: Sheet) -> list[Value]:
    """The values of a document that its sheet doesn't show beside a label; "Other details" don't count."""
    text = " ".join(" ".join(labelled(sheet)).split())
    return [value for value in values(root) if not any(_stands(form, text) for form in _forms(value))]


def labelled(sheet: Sheet) -> Iterator[str]:
    """Each text of a sheet with its label before it; those without a label, and the other details, are left out."""
    yield f"{sheet.title} {sheet.headline} {sheet.number}"
    for block in sheet.blocks:
        if block.title == words(sheet.language).label("other_details"):
            continue
        yield from (f"{fact.label} {fact.value}" for fact in block.facts if fact.label)
        for party in block.parties:
            yield from (f"{party.role} {line}" for line in party.lines if party.role)
            yield from (f"{fact.label} {fact.value}" for fact in party.facts if fact.label)
        for row in block.rows:
            for (label, _), cell in zip(block.columns, row, strict=True):
                yield from (f"{label} {text}" for text in (cell.text, *cell.details) if label)
        yield from (f"{block.title} {paragraph}" for paragraph in block.paragraphs if block.title)
    yield from (f"{sheet.attached_title} {attached.text}" for attached in sheet.attached)


def _stands(form: str, text: str) -> bool:
    """Whether this is a word, or several, of the text, and no part of a longer one."""
    found = text.find(form)
    while found >= 0:
        before, after = text[found - 1 : found], text[found + len(form) : found + len(form) + 1]
        if not (before.isalnum() and form[0].isalnum()) and not (after.isalnum() and form[-1].isalnum()):
            return True
        found = text.find(form, found + 1)
    return False


def _forms(value: Value) -> Iterator[str]:
    """The ways in which a page may show a value: as stated, and as a reader writes numbers, days, yes and no."""
    said, text = words("en"), value.text
    yield text
    yield from (said.number(text, decimals) for decimals in range(4))
    if "Date" in value.path and _DAY.match(text):
        yield _DAY.sub(r"\1-\2-\3", text[:8])
    if value.path.endswith(_VAT) and text == "VAT":
        yield said.label("tax_rate")
    if value.path.endswith("TypeCode") and text in _TYPES:
        yield from (said.label(key) for key in _TYPES[text])
    if value.path.endswith("ChargeIndicator") or value.path.endswith("ChargeIndicator/Indicator"):
        yield said.label("true" if _YES.get(text.lower()) == "yes" else "false")
    elif "Indicator" in value.path:
        yield said.label(_YES.get(text.lower(), text))


# ------------------------------------------------------------------------------------------------ complete documents


def complete(kind: str) -> etree._Element:
    """A document of this kind with every term that the standard's own list has for it, each with its own value."""
    namespace, paths = _terms(kind)
    name = kind.partition(" ")[0]
    prefix = {None: namespace} if name != "CrossIndustryInvoice" else {"rsm": namespace}
    root = etree.Element(f"{{{namespace}}}{name}", nsmap={**NAMESPACES, **prefix})
    for number, path in enumerate(paths):
        _add(root, path, number)
    for element in root.iter():
        element.attrib.pop("case", None)
    return root


def _add(root: etree._Element, path: str, number: int) -> None:
    element = root
    *above, last = path.strip("/").split("/")
    for step in above:
        name, _, condition = step.partition("[")
        matching = [child for child in element.findall(_clark(name, root)) if child.get("case", "") == condition]
        element = matching[0] if matching else etree.SubElement(element, _clark(name, root))
        if condition:
            element.set("case", condition)
    name, _, fixed = last.partition("=")
    name, _, attribute = name.partition("@")
    leaf = etree.SubElement(element, _clark(name, root))
    leaf.text = fixed or _own(path.partition("@")[0], number)
    if attribute:
        leaf.set(*attribute.split(":", 1))
    if name.endswith("Amount") and name.startswith("cbc:"):
        leaf.set("currencyID", "EUR")
    if name.endswith(("Quantity", "Measure")):
        leaf.set("unitCode", "KGM")
    if "DateTimeString" in name or "DateString" in name:
        leaf.set("format", "102")


def _clark(name: str, root: etree._Element) -> str:
    prefix, _, local = name.partition(":")
    return f"{{{NAMESPACES.get(prefix) or etree.QName(root).namespace}}}{local}"


def _own(path: str, number: int) -> str:
    """A value that no other term has, in the form of its type."""
    day = dt.date(2031, 1, 1) + dt.timedelta(days=number)
    forms = {
        ("TaxScheme/cbc:ID", "TradeTax/ram:TypeCode"): "VAT",
        ("CustomizationID",): "urn:cen.eu:en16931:2017",
        ("Date",): day.isoformat(),
        ("DateTimeString", "DateString", ":DateTime"): f"{day:%Y%m%d}",
        ("Time",): f"{number // 60 % 24:02}:{number % 60:02}:07",
        ("Indicator",): "false",
        ("Amount", "Quantity", "Measure", "Percent", "Rate", "Numeric"): f"{2000 + number}.{number % 90 + 10}",
    }
    return next((form for ends, form in forms.items() if path.endswith(ends)), f"v{number}x")


@cache
def _terms(kind: str) -> tuple[str, list[str]]:
    """The namespace of the root, and the path of each value."""
    file = TERMS / f"{kind}.txt"
    if file.is_file():
        namespace, *paths = file.read_text(encoding="utf-8").split("\n")
        return namespace, [path for path in paths if path]
    rules = (data.RULES / f"PEPPOLBIS-{RULES[kind]}.xslt").read_text(encoding="utf-8")
    name = kind.partition(" ")[0]
    matched = re.findall(rf'match="/ubl:{name}(/[^"]*[^*"])"', rules)
    paths = [path for path in matched if not re.search(r"[|\[*]", path)]
    above = {path.rpartition("/")[0] for path in paths}
    ends = [path for path in paths if path not in above and not path.endswith(EMBEDDED)]
    return f"{UBL}{name}-2", [path for path in ends if path.rpartition("/")[2].startswith("cbc:")]


RULES = {  # the rules of a Peppol document, which name each element that it may have
    "Order": "T01",
    "OrderResponse": "T76",
    "OrderResponse advanced": "T116",
    "OrderResponse agreement": "T110",
    "DespatchAdvice": "T16",
    "ApplicationResponse": "T111",
    "ApplicationResponse mlr": "T71",
}
KINDS = ("Invoice", "CreditNote", "CrossIndustryInvoice", "CrossDomainAcknowledgementAndResponse", *RULES)


def corpus(kinds: Iterable[str]) -> Iterator[etree._Element]:
    """The real documents of these kinds; their names are those of other standards, too."""
    roots = {f"{{{_terms(kind)[0]}}}{kind.partition(' ')[0]}" for kind in kinds}
    for path in sorted(path for path in data.DOCUMENTS.rglob("*") if path.is_file()):
        try:
            root = business_document(etree.parse(path).getroot())
        except etree.XMLSyntaxError:
            continue
        if root.tag in roots:
            yield root
