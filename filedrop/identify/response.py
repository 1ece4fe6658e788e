"""What a receiver's response says of the documents that it answers.

Invoice Response, Message Level Response and Message Level Status are an ApplicationResponse; or it is an OrderResponse.
Codes: UNCL4343 as Peppol BIS uses it (Invoice Response 3, Message Level Response 3, Ordering 3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from lxml import etree

from filedrop.identify.content import business_document

if TYPE_CHECKING:
    from lxml.etree import _Element

ROOTS = frozenset({"ApplicationResponse", "OrderResponse"})
LARGEST = 1_000_000  # bytes of a response
MOST = 20  # answers in one
LONGEST = 500  # characters of a reason
_TYPES = {"380": "Invoice", "381": "CreditNote", "220": "Order"}  # UNCL1001


class Response(NamedTuple):
    """An answer to one document: the number that it gives (or its message's id), the code, and the reason in words.

    `type`: the root element of what is answered, "" where the response doesn't say.
    """

    number: str
    code: str
    reason: str
    type: str


def responses_in(file: BinaryIO) -> list[Response]:
    """The answers in a response that was read before; none where it can't be understood. Raises OSError."""
    content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        return []
    try:
        tree = etree.fromstring(content, etree.XMLParser(resolve_entities=False, no_network=True))
    except etree.XMLSyntaxError:
        return []
    root = business_document(tree)
    found: list[Response] = []
    for order in _each(root, "self::*[local-name()='OrderResponse']"):
        code, reason = _text(order, "*[local-name()='OrderResponseCode']"), _texts(order, "*[local-name()='Note']")
        number = _text(order, "*[local-name()='OrderReference']/*[local-name()='ID']")
        found.append(Response(number, code, reason, "Order"))
    for answer in _each(root, ".//*[local-name()='DocumentResponse']")[:MOST]:
        said = "*[local-name()='Response']"
        code = _text(answer, f"{said}/*[local-name()='ResponseCode']")
        words = "*[local-name()='Description'] | {0}/*[local-name()='Status']/*[local-name()='StatusReason']"
        reason = _texts(answer, f"{said}/{words.format(said)}")
        for reference in _each(answer, "*[local-name()='DocumentReference']")[:MOST]:
            kind = _TYPES.get(_text(reference, "*[local-name()='DocumentTypeCode']"), "")
            found.append(Response(_text(reference, "*[local-name()='ID']"), code, reason, kind))
    return [one for one in found if one.number and one.code][:MOST]


def _each(element: _Element, xpath: str) -> list[_Element]:
    found = element.xpath(xpath)
    return [one for one in found if isinstance(one, etree._Element)] if isinstance(found, list) else []  # noqa: SLF001 - lxml has no other name for it


def _text(element: _Element, xpath: str) -> str:
    return " ".join(str(element.xpath(f"string({xpath})")).split())[:LONGEST]


def _texts(element: _Element, xpath: str) -> str:
    return "; ".join(filter(None, (_text(one, ".") for one in _each(element, xpath))))[:LONGEST]
