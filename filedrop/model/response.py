"""A received response, and which of the documents that were sent from here it is about. Pure.

A response gives the number of a document, or the id of its message. Its sender and receiver are those of its message,
which the access point vouches for; what the response itself states of them doesn't count.

The status of a French invoice (CDAR) is sent by a platform, whose id says nothing. It counts by the invoice's number
and date, by the SIREN of the message's receiver, which must be that of the seller whom the status names, and by the
SIREN of the buyer, where the status names one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from filedrop.model.document import Document, State, participant_key
from filedrop.model.siren import siren
from filedrop.model.twins import same_or_twin

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

AMBIGUOUS = "?"  # in place of a document's id
REFUSED = "210"  # code of French platforms: by the buyer
REJECTED = ("RE", REFUSED, "213", "501")  # codes; of French platforms, the others: rejected, inadmissible
KEPT = 50  # responses that a document keeps, the last ones: with thousands, its sidecar could not be read any more
LEVEL_STATUS = "response_mls"  # the list of codes of a Message Level Status
WAITS = timedelta(days=7)  # for which a response waits for what it is about
_ACCESS_POINTS = "0242:"  # the scheme of service providers, which send each Message Level Status (Peppol MLS 1.0)
_INVOICE, _CREDIT_NOTE, _ORDER = "invoice", "credit note", "order"
# UNCL1001, as EN 16931 (BT-3) and Peppol BIS Ordering 3 use it
_CODES = {
    _INVOICE: "71 80 82 84 102 130 202 203 204 211 218 219 295 325 326 331 380 382 383 384 385 386 387 388 389 390 393"
    " 394 395 456 457 527 553 575 623 633 751 780 817 870 875 876 877 935",
    _CREDIT_NOTE: "81 83 261 262 296 308 381 396 420 458 502 503 532",
    _ORDER: "105 220 221 224 226 227 228 258 402",
}
_KINDS = {code: kind for kind, codes in _CODES.items() for code in codes.split()}
_ROOTS = {
    "Invoice": _INVOICE,
    "SelfBilledInvoice": _INVOICE,
    "CreditNote": _CREDIT_NOTE,
    "SelfBilledCreditNote": _CREDIT_NOTE,
    "Order": _ORDER,
}
_STATUS = re.compile("[0-9]{3}")  # the codes of French platforms (XP Z12-012)
_EITHER = "CrossIndustryInvoice"  # the root of an invoice, or of a credit note


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """What one received message says of one document.

    `identity`, `msg_no`, `received`, `sender` and `receiver` are the message's, and `nth` numbers what it says of
    several documents. `company` is where it was delivered. `number` is the document's number or its message's id. For
    the status of a French invoice, `sender` is the buyer, "" where the status names none.
    `type_code` and `issue_date` are the document's as the response states them, "" where it doesn't. `words` is the
    list of codes (readable) in which `code` has its meaning: by the same code, a Message Level Status says something
    else than an Invoice Response. `document` is the id of the document that it is tied to: "" until then, AMBIGUOUS
    where it may be about several.
    """

    identity: str
    msg_no: int
    received: str
    nth: int
    company: str
    sender: str
    receiver: str
    number: str
    type_code: str
    issue_date: str
    code: str
    words: str
    reason: str
    at: datetime
    document: str = ""

    @property
    def is_by_access_point(self) -> bool:
        """Whether an access point has sent it."""
        return is_access_point(self.sender)

    @property
    def is_by_receiver(self) -> bool:
        """Whether the receiver has sent it, or has refused an invoice on a French platform."""
        return self.code == REFUSED if self.is_status else not self.is_by_access_point

    @property
    def is_status(self) -> bool:
        """Whether it is the status of a French invoice, which a platform has sent."""
        return is_status(self.code)

    @property
    def message_id(self) -> str:
        """What would be the id of the document's message, in the form of `Document.uuid`."""
        return self.number.removeprefix("uuid:")


def is_access_point(participant: str | None) -> bool:
    """Whether a ParticipantID is the id of an access point."""
    return participant_key(participant or "").startswith(_ACCESS_POINTS)


def is_status(code: str) -> bool:
    """Whether a code is one of a French platform, and not of a receiver or an access point."""
    return bool(_STATUS.fullmatch(code))


def is_pending(document: Document) -> bool:
    """Whether the document's request has had no clear answer yet: a response may already be about it."""
    return document.state in (State.SENDING, State.DOUBT)


def meant_by(
    response: Response, documents: Sequence[Document], rejected: Mapping[str, datetime] | None = None
) -> list[Document]:
    """Those of these documents that a response may be about: one, where that is clear.

    `rejected`: by document id, when a response first rejected it. A rejected document isn't meant any more once its
    successor with the same number was accepted.
    """
    found = [document for document in documents if _may_be_meant(document, response)]
    rejections = rejected or {}

    def is_succeeded(document: Document) -> bool:
        since = rejections.get(document.id)
        return since is not None and any(other.accepted is None or other.accepted > since for other in found)

    preferences: tuple[Callable[[Document], bool], ...] = (
        lambda document: document.uuid == response.message_id,
        lambda document: document.company == response.company,
        lambda document: _is_of_its_kind(document, response.type_code),  # much software writes 380 into each status
        lambda document: document.type_code == response.type_code,
        lambda document: document.issue_date == response.issue_date,
        lambda document: (
            document.state not in (State.FAILED, State.UNREACHABLE, State.TAKEN)
        ),  # else the same one, since sent again
        lambda document: not is_succeeded(document),
    )
    for is_preferred in preferences:
        found = [document for document in found if is_preferred(document)] or found
    return found


def _may_be_meant(document: Document, response: Response) -> bool:
    """Whether the response is by the document's receiver to its sender, or by an access point, about this message.

    The companies count, by whichever of their ids. A response that came long before the document was dropped is about
    another document with that number, sent from elsewhere.
    """
    if response.at < document.claimed - WAITS:
        return False
    if response.is_status:
        return _is_its_invoice(document, response)
    is_its_message = document.uuid is not None and document.uuid == response.message_id
    is_by_receiver = same_or_twin(document.receiver, response.sender) and same_or_twin(
        document.sender, response.receiver
    )
    if is_by_receiver:
        return is_its_message or (document.number == response.number and _is_of_its_kind(document, response.type_code))
    return is_its_message and response.is_by_access_point and document.identity == response.identity


def _is_its_invoice(document: Document, response: Response) -> bool:
    """Whether a platform's status is about this invoice or credit note."""
    stated = (response.number, response.issue_date, siren(response.receiver))
    if not all(stated) or stated != (document.number, document.issue_date, siren(document.sender)):
        return False
    buyer, receiver = siren(response.sender), siren(document.receiver)
    is_invoice = document.type == _EITHER or _ROOTS.get(document.type or "") in (_INVOICE, _CREDIT_NOTE)
    return is_invoice and (not buyer or not receiver or buyer == receiver)


def _is_of_its_kind(document: Document, type_code: str) -> bool:
    """Whether the code may name the document's type; a code that isn't known here may name any.

    By the document's own code and by its root: a receiver may answer a UBL Invoice with the code 381 by either.
    """
    kind, own = _KINDS.get(type_code), _KINDS.get(document.type_code or "")
    if kind is None or kind in (own, _ROOTS.get(document.type or "")):
        return True
    return document.type == _EITHER and own is None and kind != _ORDER
