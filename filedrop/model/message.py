"""A message at the access point, and whether it belongs to a document. Pure.

One rule for every answer and every list: a message belongs to a document where all fields that both have agree. The
number alone proves nothing: a server that was set up anew counts from 1 again, and an answer may be for another
request. A field that is missing on either side is ignored.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from filedrop.model.document import same_participant, without_scheme
from filedrop.times import moment, same_moment

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from filedrop.model.document import Document, Ids

UNASSIGNED = "unassigned"  # the company of messages for nobody, in journal, log and pages: no company has this name
LARGEST_NUMBER = 2**63 - 1  # interface, Message: a long integer


def number(text: str | None) -> int | None:
    """A number of the interface (a long integer, not negative); None for any other text."""
    if text is None or not re.fullmatch(r"[0-9]{1,19}", text):
        return None
    value = int(text)
    return value if value <= LARGEST_NUMBER else None


@dataclass(frozen=True, slots=True)
class Message:
    """A message of a list or a single answer; a value that was missing, empty or malformed is None.

    `received` and `delivered` are as written; ids are without the name of their scheme, `uuid` is without its
    prefix; `link` is the document's address as given.
    """

    msg_no: int
    direction: str | None = None
    received: str | None = None
    delivered: str | None = None
    uuid: str | None = None
    sender: str | None = None
    receiver: str | None = None
    channel: str | None = None
    document_id: str | None = None
    process_id: str | None = None
    link: str | None = None

    @property
    def received_at(self) -> datetime | None:
        """`received` as a moment; None where it can't be parsed or has no offset."""
        return moment(self.received)


def contradiction(message: Message, posted: Document | Ids) -> str:
    """How the message contradicts what was posted, in words; "" where it doesn't."""
    if message.direction not in (None, "OUT"):
        return f"its direction is {message.direction}"
    for role, said, ours in (
        ("sender", message.sender, posted.sender),
        ("receiver", message.receiver, posted.receiver),
    ):
        if said and ours and not same_participant(said, ours):
            return f"its {role} is {said}, not {ours}"
    said, ours = message.document_id, posted.document_id
    if said and ours and without_scheme(said).lower() != without_scheme(ours).lower():
        return f"its document id is {said}, not {ours}"
    return ""


def difference(message: Message, document: Document) -> str:
    """Why the message isn't that of an accepted document with the same number, in words; "" where it may be."""
    if same_moment(message.received, document.received) is False:
        return f"it was received at {message.received}, not at {document.received}"
    return contradiction(message, document)


def is_known(message: Message, received: Iterable[str | None]) -> bool | None:
    """Whether the message was received at one of these times (of messages with its number); None if unknown."""
    says = {same_moment(message.received, moment) for moment in received}
    return True if True in says else (None if None in says else False)
