"""One step of the way out: the request, and what each answer means (contract 6, the table of answers).

The order is the safety: the row that says "sending" is on the disk before the request leaves, what was heard is on the
disk before the file moves. A crash at any point leaves a document that is looked for, never one that is sent twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from filedrop.accesspoint import BrokenOff
from filedrop.document import Fault, State
from filedrop.doubt import is_owned
from filedrop.errors import (
    DocumentError,
    FiledropError,
    NoClearAnswer,
    Rejected,
    Unauthorized,
    Unavailable,
    Unexplained,
    WrongAddress,
)
from filedrop.journal import Duplicate
from filedrop.moments import backoff

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from filedrop.accesspoint import Message
    from filedrop.desk import Desk
    from filedrop.document import Document
    from filedrop.folders import OutboundFolder
    from filedrop.upload import Opened


def begin(desk: Desk, documents: Sequence[Document]) -> list[Document | FiledropError]:
    """Before documents are posted: as the journal has them then, SENDING and in one commit.

    One that is not to be posted is FAILED, and not recorded yet; where the journal took none of it, Changed or
    JournalError stands in its place.
    """
    seen = [_see_receiver(desk, document) for document in documents]
    identity, clock = desk.access_point.identity, desk.access_point.clock()
    wanted = [document for document in seen if document.state is not State.FAILED]
    # Before the requests, so that a crash during one leaves a document that we look for, not one that we send twice.
    recorded = desk.journal.record_sending(
        [document.sending(desk.now(), identity=identity, clock=clock) for document in wanted], desk.rules.duplicates
    )
    begun: dict[str, Document | FiledropError] = {
        document.id: document.failed(desk.now(), _duplicate(result.document))
        if isinstance(result, Duplicate)
        else result
        for document, result in zip(wanted, recorded, strict=True)
    }
    return [begun.get(document.id, document) for document in seen]


def _see_receiver(desk: Desk, document: Document) -> Document:
    """Would the receiver get it? (contract 2, `directory`)"""
    objection = None if desk.rules.directory == "off" else desk.directory.objection(document.ids)
    if objection is None:
        return document
    if desk.rules.directory == "refuse":
        return document.failed(desk.now(), objection)
    desk.log.warning("receiver.doubtful", company=document.company, file=document.file, why=objection.message)
    return document.warned(objection.message)


def post(desk: Desk, document: Document, opened: Opened, folder: OutboundFolder) -> Document | None:
    """Post a document that was begun, and return it as the answer leaves it; that is to be recorded.

    None when the file changed under the request, which was broken off: it never arrived and readiness begins again.
    """
    try:
        message = _accepted(desk, opened.post(desk.access_point, document.ids, folder.busy))
    except BrokenOff:
        return None
    except DocumentError as error:  # an id that can't be one; nothing was posted
        return document.failed(desk.now(), Fault(error.code, error.message, error.hint))
    except Rejected as error:
        desk.standing.answered()
        return document.failed(desk.now(), rejected(error.text, error.status))
    except (Unauthorized, WrongAddress, Unavailable) as error:
        desk.standing.heard(error, document.id)
        desk.log.info("document.held_back", file=document.file, company=document.company, why=str(error))
        retry = desk.rules.retry
        due = desk.now() + backoff(document.attempts + 1, retry.first, retry.longest)
        return document.never_arrived(desk.now(), str(error), due=due)
    except NoClearAnswer as error:
        desk.standing.heard(error, document.id)
        return document.doubted(desk.now(), str(error), unexplained=isinstance(error, Unexplained))
    desk.standing.answered()
    now = desk.now()
    sent = document.sent(now, message.msg_no, received=message.received, uuid=message.uuid)
    return sent.later(now + desk.rules.track)


def _accepted(desk: Desk, message: Message) -> Message:
    """The message that a document became. Raises NoClearAnswer for another's answer."""
    number = message.msg_no
    # In this order: what is given back there is in the journal by then.
    is_new = desk.heard.take(str(number))
    if not is_new or is_owned(message, desk.journal.owned(desk.access_point.identity, [number]).get(number, ())):
        raise NoClearAnswer(f"the answer was another document's: message {number} is known; tell the operator")
    return message


def rejected(text: str, status: int) -> Fault:
    """The access point refused the document in these words."""
    said = (
        f'the access point refused it (HTTP {status}): "{text}"'
        if text
        else f"the access point refused it (HTTP {status}) and gave no reason"
    )
    return Fault("rejected", said, "mend the document, or its ids in the mapping, and drop it again")


def unreadable(path: Path, error: OSError) -> DocumentError:
    """The file can't be read: as a document's fault."""
    return DocumentError(
        "unreadable",
        f"{path.name} can't be read: {error.strerror or error}",
        f"give the service the right to read {path.parent} and what is in it",
    )


def _duplicate(first: Document) -> Fault:
    number = f" (message number {first.msg_no})" if first.msg_no is not None else ""
    what = f"{first.type or 'document'} {first.number or ''}".strip()
    return Fault(
        "duplicate",
        f"the same {what} from {first.sender} to {first.receiver} was dropped before as {first.dropped_as} "
        f"on {first.claimed.isoformat(sep=' ', timespec='minutes')} and is {first.state}{number}",
        "delete it; only if it really is to be sent once more, let it through with retry --anyway",
    )
