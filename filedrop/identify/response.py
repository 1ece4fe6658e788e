"""What a receiver's response says of the documents that it answers.

Invoice Response, Message Level Response and Message Level Status are an ApplicationResponse; or it is an OrderResponse.
Codes: UNCL4343 as Peppol BIS uses it (Invoice Response 3, Message Level Response 3, Ordering 3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from lxml import etree

from filedrop.errors import DocumentError
from filedrop.identify.content import business_document
from filedrop.identify.encoding import form_of, transcode

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
    try:  # in UTF-8, as lxml knows fewer names of encodings than Python
        whole = b"".join(transcode([content], form_of(content)))
        tree = etree.fromstring(whole, etree.XMLParser(resolve_entities=False, no_network=True))
    except (etree.XMLSyntaxError, DocumentError):
        return []
    root = business_document(tree)
    found: list[Response] = []
    if etree.QName(root).localname == "OrderResponse":
        number, code = _text(root, "{*}OrderReference/{*}ID"), _text(root, "{*}OrderResponseCode")
        found.append(Response(number, code, _joined(_texts(root, "{*}Note")), "Order"))
    for answer in root.findall(".//{*}DocumentResponse")[:MOST]:
        code = _text(answer, "{*}Response/{*}ResponseCode")
        said = _texts(answer, "{*}Response/{*}Description") + _texts(answer, "{*}Response/{*}Status/{*}StatusReason")
        for reference in answer.findall("{*}DocumentReference")[:MOST]:
            kind = _TYPES.get(_text(reference, "{*}DocumentTypeCode"), "")
            found.append(Response(_text(reference, "{*}ID"), code, _joined(said), kind))
    return [one for one in found if one.number and one.code][:MOST]


def _text(element: _Element, path: str) -> str:
    return next(iter(_texts(element, path)), "")[:LONGEST]


def _texts(element: _Element, path: str) -> list[str]:
    return [" ".join(str(one.xpath("string()")).split()) for one in element.iterfind(path)]


def _joined(texts: list[str]) -> str:
    return "; ".join(filter(None, texts))[:LONGEST]
