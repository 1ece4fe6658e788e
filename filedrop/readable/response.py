"""What a receiver's response says of the documents that it answers, with the reason in words.

Invoice Response, Message Level Response and Message Level Status are an ApplicationResponse; or it is an OrderResponse.
Codes: UNCL4343 as Peppol BIS uses it (Invoice Response 3, Message Level Response 3, Ordering 3, MLS 1.0). The status of
a French invoice is a CrossDomainAcknowledgementAndResponse (CDAR), with codes of its own (XP Z12-012).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from filedrop.model.response import LEVEL_STATUS, Response, is_status
from filedrop.model.siren import siren
from filedrop.readable.tree import NotReadable, tree
from filedrop.readable.words import meaning
from filedrop.times import calendar_day

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from lxml.etree import _Element

    from filedrop.journal import MessageRow

_STATUS = "CrossDomainAcknowledgementAndResponse"
_ROOTS = frozenset({"ApplicationResponse", "OrderResponse", _STATUS})
LARGEST = (
    200_000  # letters of a response, as `tree` counts them: it is read in the daemon, where a million takes a second
)
MOST_ANSWERED = 20  # documents that one response answers, and lines of each that it gives reasons for
LONGEST_VALUE = 500  # characters of a reason, and of any other value
_ACTION = "OPStatusAction"  # the list of codes for what the receiver asks for
_NO_LINE = ("", "NA")  # a Message Level Response says so where no line is meant
_ORDER = "220"
_PAYMENT_RECEIVED = "212"  # the seller's word on an invoice that the buyer has received
_REJECTED, _DUPLICATES = "213", ("DOUBLON", "REJ_UNI")  # of the same invoice that came before: that one is valid
_BUYER = "BY"  # the role
_SIREN = "0002"  # the scheme


class Reply(NamedTuple):
    """What a response says of one document: the number that it gives (or its message's id), the code, and the reason.

    `words` is the list of codes in which the code has its meaning, by the kind of the response.
    `type_code` and `issue_date` are the document's, "" where the response doesn't state them. `seller` and `buyer` are
    the parties of a French invoice whose status it is, by SIREN; "" in other responses, and where it names none.
    """

    number: str
    code: str
    words: str
    reason: str
    type_code: str
    issue_date: str
    seller: str = ""
    buyer: str = ""


def is_response(root_name: str | None) -> bool:
    """Whether a document with this root element may answer others."""
    return root_name in _ROOTS


def responses_of(file: BinaryIO, row: MessageRow, company: str, now: datetime) -> Iterator[Response]:
    """What a received response says of documents that this company has sent. Raises OSError.

    `row` is its message, and `company` the one that it is delivered to. The status of an invoice that another company
    has sent is left out.
    """
    for nth, reply in enumerate(replies_in(file)):
        stated = reply._asdict()
        seller, buyer = stated.pop("seller"), stated.pop("buyer")
        is_of_platform = is_status(reply.code)
        if is_of_platform and siren(seller) != siren(row.receiver):
            continue
        yield Response(
            identity=row.identity,
            msg_no=row.msg_no,
            received=row.received,
            nth=nth,
            company=company,
            sender=buyer if is_of_platform else row.sender,
            receiver=row.receiver,
            at=now,
            **stated,
        )


def replies_in(file: BinaryIO) -> list[Reply]:
    """The replies in a response that was read before; none where it is too large or odd (tree). Raises OSError."""
    try:
        root = tree(file, LARGEST)
    except NotReadable:
        return []
    is_of_platform = str(root.tag).endswith(f"}}{_STATUS}")
    found = _statuses(root) if is_of_platform else _replies(root)
    named = [reply for reply in dict.fromkeys(found) if reply.number and reply.code]
    return [reply for reply in named if is_status(reply.code) == is_of_platform][:MOST_ANSWERED]


def _replies(root: _Element) -> Iterator[Reply]:
    if str(root.tag).endswith("}OrderResponse"):
        for order in root.findall("{*}OrderReference")[:1]:
            number, issued = _text(order, "{*}ID"), calendar_day(_text(order, "{*}IssueDate"))
            reason = _joined([*_texts(root, "{*}Note"), *_reasons_of_order_lines(root)])
            yield Reply(number, _text(root, "{*}OrderResponseCode"), "response", reason, _ORDER, issued)
    words = LEVEL_STATUS if ":mls:" in _text(root, "{*}CustomizationID") else "response"
    for answer in root.findall(".//{*}DocumentResponse")[:MOST_ANSWERED]:
        code = _text(answer, "{*}Response/{*}ResponseCode").upper()
        reason = _joined([*_reasons(answer.findall("{*}Response")), *_reasons_of_lines(answer)])
        for reference in answer.findall("{*}DocumentReference")[:MOST_ANSWERED]:
            number, type_code = _text(reference, "{*}ID"), _text(reference, "{*}DocumentTypeCode")
            yield Reply(number, code, words, reason, type_code, calendar_day(_text(reference, "{*}IssueDate")))


def _statuses(root: _Element) -> Iterator[Reply]:
    """The statuses of invoices that this company may have sent."""
    parties = [*root.iterfind("{*}ExchangedDocument/{*}IssuerTradeParty")]
    parties += root.findall("{*}ExchangedDocument/{*}RecipientTradeParty")
    buyers = [party for party in parties if _text(party, "{*}RoleCode") == _BUYER]
    for invoice in root.findall("{*}AcknowledgementDocument/{*}ReferenceReferencedDocument")[:MOST_ANSWERED]:
        code, reasons = (
            _text(invoice, "{*}ProcessConditionCode"),
            invoice.findall("{*}SpecifiedDocumentStatus")[:MOST_ANSWERED],
        )
        is_duplicate = any(_text(reason, "{*}ReasonCode") in _DUPLICATES for reason in reasons)
        if code == _PAYMENT_RECEIVED or (code == _REJECTED and is_duplicate):
            continue
        yield Reply(
            number=_text(invoice, "{*}IssuerAssignedID"),
            code=code,
            words="process_condition",
            reason=_joined(text for reason in reasons for text in _reasons_of_status(reason)),
            type_code=_text(invoice, "{*}TypeCode"),
            issue_date=calendar_day(_text(invoice, "{*}FormattedIssueDateTime/{*}DateTimeString")),
            seller=_siren(invoice.findall("{*}IssuerTradeParty")),
            buyer=_siren(buyers),
        )


def _siren(parties: Iterable[_Element]) -> str:
    """The SIREN of these parties as a ParticipantID; one with a scheme comes before one without."""
    ids = [number for party in parties for number in party.iterfind("{*}GlobalID")]
    written = [((number.get("schemeID") or "").strip(), "".join((number.text or "").split())) for number in ids]
    schemed = [f"{scheme}:{text}" for scheme, text in written if scheme]
    found = filter(None, map(siren, (*schemed, *(text for scheme, text in written if not scheme))))
    return next((f"{_SIREN}:{number}" for number in found), "")


def _reasons_of_status(status: _Element) -> Iterator[str]:
    """The reason and the notes, or what the reason's code means, and what the buyer asks for."""
    words = [*_texts(status, "{*}Reason"), *_texts(status, "{*}IncludedNote/{*}Content")]
    yield from words or [meaning("status_reason", code) or code for code in _texts(status, "{*}ReasonCode")]
    action = _text(status, "{*}RequestedActionCode")
    if asked := _text(status, "{*}RequestedAction") or meaning("status_action", action) or action:
        yield f"Requested action: {asked}"


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
    for line in answer.findall("{*}LineResponse")[:MOST_ANSWERED]:
        where = _text(line, "{*}LineReference/{*}LineID")
        yield from (_in_line(reason, where) for reason in _reasons(line.findall("{*}Response")))


def _reasons_of_order_lines(root: _Element) -> Iterator[str]:
    for line in root.findall("{*}OrderLine/{*}LineItem")[:MOST_ANSWERED]:
        yield from (_in_line(note, _text(line, "{*}ID")) for note in _texts(line, "{*}Note"))


def _in_line(reason: str, line: str) -> str:
    where = f"line {line}" if line.isdigit() else line
    return reason if line in _NO_LINE or not reason else f"{reason} ({where})"


def _text(element: _Element, path: str) -> str:
    return next(iter(_texts(element, path)), "")[:LONGEST_VALUE]


def _texts(element: _Element, path: str) -> list[str]:
    found = (" ".join(str(child.xpath("string()")).split()) for child in element.iterfind(path))
    return [text for text in found if text]


def _joined(texts: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(filter(None, texts)))[:LONGEST_VALUE]
