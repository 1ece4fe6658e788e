"""What a receiver's response says of the documents that it answers, with the reason in words.

Invoice Response, Message Level Response and Message Level Status are an ApplicationResponse; or it is an OrderResponse.
Codes: UNCL4343 as Peppol BIS uses it (Invoice Response 3, Message Level Response 3, Ordering 3, MLS 1.0).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from filedrop.readable.tree import NotReadable, tree
from filedrop.readable.words import meaning

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lxml.etree import _Element

ROOTS = frozenset({"ApplicationResponse", "OrderResponse"})
LARGEST = (
    200_000  # letters of a response, as `tree` counts them: it is read in the daemon, where a million takes a second
)
MOST = 20  # documents that one response answers, and lines of each that it gives reasons for
LONGEST = 500  # characters of a reason, and of any other value
_ACTION = "OPStatusAction"  # the list of codes for what the receiver asks for
_NO_LINE = ("", "NA")  # a Message Level Response says so where no line is meant
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
    """The answers in a response that was read before; none where it is too large or odd (tree). Raises OSError."""
    try:
        root = tree(file, LARGEST)
    except NotReadable:
        return []
    found: list[Answer] = []
    if str(root.tag).endswith("}OrderResponse"):
        for order in root.findall("{*}OrderReference")[:1]:
            number, issued = _text(order, "{*}ID"), _text(order, "{*}IssueDate")
            reason = _joined([*_texts(root, "{*}Note"), *_reasons_of_order_lines(root)])
            found.append(Answer(number, _text(root, "{*}OrderResponseCode"), reason, _ORDER, issued))
    for answer in root.findall(".//{*}DocumentResponse")[:MOST]:
        code = _text(answer, "{*}Response/{*}ResponseCode").upper()
        reason = _joined([*_reasons(answer.findall("{*}Response")), *_reasons_of_lines(answer)])
        for reference in answer.findall("{*}DocumentReference")[:MOST]:
            number, type_code = _text(reference, "{*}ID"), _text(reference, "{*}DocumentTypeCode")
            found.append(Answer(number, code, reason, type_code, _text(reference, "{*}IssueDate")))
    return [answer for answer in dict.fromkeys(found) if answer.number and answer.code][:MOST]


def _reasons(responses: Iterable[_Element]) -> Iterator[str]:
    """The texts of a Response, and of each Status the reason, the correct values and what the receiver asks for.

    Codes stand for the reason only where there are no words.
    """
    for response in responses:
        words = _texts(response, "{*}Description")
        yield from words
        for status in response.findall("{*}Status"):
            yield from (own_words := _texts(status, "{*}StatusReason"))
            yield from _meanings(status, is_explained=bool(words or own_words))
            for condition in status.findall("{*}Condition"):
                yield ": ".join(filter(None, (_text(condition, "{*}AttributeID"), _text(condition, "{*}Description"))))


def _meanings(status: _Element, *, is_explained: bool) -> Iterator[str]:
    """What the receiver asks for, and unless that `is_explained`, why; a code without a meaning stands for itself."""
    for element in status.findall("{*}StatusReasonCode"):
        code = (element.text or "").strip()
        if code and element.get("listID") == _ACTION:
            yield f"Requested action: {meaning('status_action', code) or code}"
        elif code and not is_explained:
            yield meaning("status_reason", code) or code


def _reasons_of_lines(answer: _Element) -> Iterator[str]:
    for line in answer.findall("{*}LineResponse")[:MOST]:
        where = _text(line, "{*}LineReference/{*}LineID")
        yield from (_in_line(reason, where) for reason in _reasons(line.findall("{*}Response")))


def _reasons_of_order_lines(root: _Element) -> Iterator[str]:
    for line in root.findall("{*}OrderLine/{*}LineItem")[:MOST]:
        yield from (_in_line(note, _text(line, "{*}ID")) for note in _texts(line, "{*}Note"))


def _in_line(reason: str, line: str) -> str:
    where = f"line {line}" if line.isdigit() else line
    return reason if line in _NO_LINE or not reason else f"{reason} ({where})"


def _text(element: _Element, path: str) -> str:
    return next(iter(_texts(element, path)), "")[:LONGEST]


def _texts(element: _Element, path: str) -> list[str]:
    found = (" ".join(str(child.xpath("string()")).split()) for child in element.iterfind(path))
    return [text for text in found if text]


def _joined(texts: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(filter(None, texts)))[:LONGEST]
