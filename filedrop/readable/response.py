"""What a receiver's response says of the documents that it answers.

Invoice Response, Message Level Response and Message Level Status are an ApplicationResponse; or it is an OrderResponse.
Codes: UNCL4343 as Peppol BIS uses it (Invoice Response 3, Message Level Response 3, Ordering 3, MLS 1.0).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from lxml import etree

from filedrop.errors import DocumentError
from filedrop.identify.content import business_document
from filedrop.identify.encoding import form_of, transcode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lxml.etree import _Element

ROOTS = frozenset({"ApplicationResponse", "OrderResponse"})
LARGEST = 1_000_000  # bytes of a response
MOST = 20  # documents that one response answers
LONGEST = 500  # characters of a reason, and of any other value
_ORDER = "220"


class Answer(NamedTuple):
    """What a response says of one document: the number that it gives (or its message's id), the code, and the reason.

    `type_code` and `issue_date` are the document's, "" where the response doesn't state them.
    """

    number: str
    code: str
    reason: str
    type_code: str
    issue_date: str


def answers_in(file: BinaryIO) -> list[Answer]:
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
    found: list[Answer] = []
    if etree.QName(root).localname == "OrderResponse":
        for order in root.findall("{*}OrderReference")[:1]:
            number, issued = _text(order, "{*}ID"), _text(order, "{*}IssueDate")
            reason = _joined(_texts(root, "{*}Note"))
            found.append(Answer(number, _text(root, "{*}OrderResponseCode"), reason, _ORDER, issued))
    for answer in root.findall(".//{*}DocumentResponse")[:MOST]:
        code = _text(answer, "{*}Response/{*}ResponseCode")
        reasons = _texts(answer, "{*}Response/{*}Description") + _texts(answer, "{*}Response/{*}Status/{*}StatusReason")
        for reference in answer.findall("{*}DocumentReference")[:MOST]:
            number, type_code = _text(reference, "{*}ID"), _text(reference, "{*}DocumentTypeCode")
            found.append(Answer(number, code, _joined(reasons), type_code, _text(reference, "{*}IssueDate")))
    return [one for one in dict.fromkeys(found) if one.number and one.code][:MOST]


def _text(element: _Element, path: str) -> str:
    return next(iter(_texts(element, path)), "")[:LONGEST]


def _texts(element: _Element, path: str) -> list[str]:
    found = (" ".join(str(one.xpath("string()")).split()) for one in element.iterfind(path))
    return [text for text in found if text]


def _joined(texts: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(filter(None, texts)))[:LONGEST]
