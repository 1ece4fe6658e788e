"""The request, and what each answer means (contract 6, the table of answers).

The row that says "sending" is on the disk before the request (handover), and the answer is recorded before the file
moves (daemon/recorder). So a crash leaves a document that is looked for, never one that is sent twice.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING

from filedrop.accesspoint import BrokenOff
from filedrop.accesspoint.directory import UNKNOWN
from filedrop.errors import (
    AccessPointError,
    DocumentError,
    JournalError,
    NoClearAnswer,
    Rejected,
    Unauthorized,
    Unavailable,
    Unexplained,
    WrongAddress,
)
from filedrop.files.patience import asking
from filedrop.files.rights import explain
from filedrop.journal import Outcome
from filedrop.model.document import NEVER_ARRIVED, State
from filedrop.model.fault import Fault
from filedrop.model.message import contradiction
from filedrop.outbound.identified import is_answer
from filedrop.outbound.preparing import without_copy
from filedrop.texts import Text
from filedrop.texts.languages import date
from filedrop.texts.printable import command, size

if TYPE_CHECKING:
    from datetime import datetime

    from filedrop.config import Outbound
    from filedrop.model.document import Document
    from filedrop.model.message import Message
    from filedrop.outbound.context import Context
    from filedrop.outbound.upload import OpenedDocument
    from filedrop.storage.company_folders import OutboundFolder

NO_TURN = "sending was stopped, or was put on hold, before its turn came"
STOPPED = "filedrop was stopped before the answer came"
STATUS_SILENCE = 4.0  # seconds to wait for the status of a new message; the next document waits meanwhile


def send(shared: Context, document: Document, opened: OpenedDocument, folder: OutboundFolder) -> Outcome:
    """Post a document whose row says "sending". The calling thread owns only this document."""
    try:
        is_held = asking(local=folder.local)(partial(folder.held_by, shared.steady()))
    except OSError as error:
        why = f"{folder.path} can't be looked into: {explain(error, folder.path)}"
        return Outcome(document.never_arrived(shared.now(), why, due=_next_try(shared, document)))
    if is_held or not shared.account.ready():
        return Outcome(document.never_arrived(shared.now(), NO_TURN))
    document = _ask_directory(shared, document)
    if document.state is State.FAILED:
        return Outcome(without_copy(folder, document, opened))
    return _posted(shared, document.requested(shared.access_point.clock()), opened, local=folder.local)


def _posted(shared: Context, document: Document, opened: OpenedDocument, *, local: bool) -> Outcome:
    try:
        message = shared.access_point.send(document.ids, opened.upload(local=local))
        message = _accepted(shared, document, message)
    except BrokenOff as error:  # the file has changed: due now, to be put back; or it can't be read: due later
        due = _next_try(shared, document) if isinstance(error.__cause__, OSError) else None
        return Outcome(document.never_arrived(shared.now(), str(error), due=due))
    except DocumentError as error:  # an invalid id; nothing was posted
        return Outcome(document.failed(shared.now(), Fault.of(*error.texts)))
    except Rejected as error:
        shared.breaker.record_success(document.id)
        return Outcome(document.failed(shared.now(), rejected(error.text, error.status, document)))
    except (Unauthorized, WrongAddress, Unavailable) as error:
        shared.breaker.record_failure(error, document.id)
        why = str(error)
        if isinstance(error, WrongAddress) and shared.breaker.ready:  # a probe has just been answered
            why = f"{error.answer} for this document alone, so base_url is right: ask the access point's operator why"
        shared.log.info("document.held_back", **document.log_facts, why=why)
        return Outcome(document.never_arrived(shared.now(), why, due=_next_try(shared, document, error.retry_after)))
    except NoClearAnswer as error:
        shared.breaker.record_failure(error, document.id)
        doubted = document.doubted(shared.now(), str(error), unexplained=isinstance(error, Unexplained))
        return Outcome(log_doubt(shared, doubted))
    shared.breaker.record_success(document.id)
    now = shared.now()
    sent = document.sent(now, message.msg_no, received=message.received, uuid=message.uuid)
    return Outcome(sent.later(now + shared.rules.track), message, document.doubted(now, str(_anothers(message))))


def _next_try(shared: Context, document: Document, asked_for: timedelta | None = None) -> datetime:
    """When to try a document again that never arrived; `asked_for` is the pause that the access point asked for."""
    now = shared.now()
    return max(shared.retry.due(now, document.attempts + 1), now + (asked_for or timedelta(0)))


def why_not_taken(document: Document) -> str:
    """Why a waiting document was not taken when it was last posted; "" for any other."""
    last = document.history[-1] if document.history else None
    if document.state is not State.WAITING or document.due is None or last is None or last.event != NEVER_ARRIVED:
        return ""
    return str(last.facts["why"])


def _ask_directory(shared: Context, document: Document) -> Document:
    """The document, warned or failed if the receiver isn't in the directory (contract 2, `directory`).

    An answer fails in any case: many receivers take none, and a warning about each would help nobody.
    """
    objection = None if shared.rules.directory == "off" else shared.directory.objection(document.ids)
    if objection is None:
        return document
    if is_answer(document):
        takes_none = Text.of("not-accepted/answer", receiver=document.receiver, why=objection.message)
        return document.failed(shared.now(), Fault.of(takes_none))
    if is_refused(objection, shared.rules):
        return document.failed(shared.now(), objection)
    shared.log.warning("receiver.doubtful", **document.log_facts, why=objection.message)
    return document.warned(objection.message)


def is_refused(objection: Fault, rules: Outbound) -> bool:
    """Whether a document fails by an objection of the directory. `rules`: the settings of the company."""
    may_be_absent = rules.unreachable != "directory" and objection.code == UNKNOWN  # decided before, or after
    return rules.directory == "refuse" and not may_be_absent


def log_doubt(shared: Context, document: Document) -> Document:
    """Log that a document is in doubt now. Returns the same document."""
    shared.log.warning("document.doubted", **document.log_facts, attempt=document.unclear, why=document.why_in_doubt)
    return document


def _accepted(shared: Context, document: Document, message: Message) -> Message:
    """The message that a document became. Raises NoClearAnswer if the answer was another document's."""
    message = _described(shared, message)
    if otherwise := contradiction(message, document):
        number = message.msg_no
        raise NoClearAnswer(f"the answer was about another document, message {number}: {otherwise}; tell the operator")
    is_anothers = not shared.window.tell(document.id, message)  # before the journal: what leaves the window is in there
    if not is_anothers:
        with suppress(JournalError):  # the recorder asks the journal again
            is_anothers = _is_recorded(shared, document, message)
    if is_anothers:
        shared.access_point.distrust()
        raise _anothers(message)
    return message


def _is_recorded(shared: Context, document: Document, message: Message) -> bool:
    """Whether the journal has this message as another document's. Raises JournalError."""
    numbers = shared.journal.numbers
    is_new = shared.numbers.use(message.msg_no, lambda: numbers.highest(document.identity))
    return not is_new and numbers.is_owned(document.identity, message, document.company)


def _anothers(message: Message) -> NoClearAnswer:
    return NoClearAnswer(f"the answer was another document's: message {message.msg_no} is known; tell the operator")


def _described(shared: Context, message: Message) -> Message:
    """The message; if the answer did not say when it was received, its status instead, if that comes soon.

    Without `received`, another message with its number, on a server that was set up anew, would look the same.
    """
    if message.received is None:
        with suppress(AccessPointError):
            return shared.access_point.status(message.msg_no, silence=STATUS_SILENCE) or message
    return message


def rejected(text: str, status: int, document: Document) -> Fault:
    """The fault of a document that the access point refused, in its words."""
    if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        too_large, pdf = Text.of("rejected/too-large", status=status, text=text or "-"), document.pdf
        has_pdf = pdf is not None and document.prepared is not None and "pdf" in document.prepared.changed
        in_it = [Text.of("rejected/too-large-pdf", pdf=pdf.name, size=size(pdf.size))] if pdf and has_pdf else []
        return Fault.of(too_large, *in_it)
    return Fault.of(Text.of("rejected" if text else "rejected/silent", status=status, text=text))


def no_answer(document: Document) -> Fault:
    """The fault of a document that had no clear answer too often, and was never found at the access point."""
    return Fault.of(Text.of("no-answer", times=document.unclear, why=document.why_in_doubt))


def same_number(first: Document) -> str:
    """The warning for a document when `first`, with its number, date and sender, was sent with another content.

    It names only what doesn't change of `first`: each attempt warns in the same words.
    """
    return (
        f"{first.type or 'document'} {first.number} of {first.issue_date or 'the same date'} was dropped before as "
        f"{first.dropped_as} on {date(first.claimed)}, with another content or for another receiver, and was "
        "sent or may have been: make sure that the receiver doesn't book it twice"
    )


def duplicate(first: Document) -> Fault:
    """The fault of a document when `first` was, or may have been, sent with the same content.

    It says nothing of `first` that changes later: `filedrop history` shows what became of it.
    """
    if first.msg_no is not None:
        form = "duplicate"
    else:
        form = "duplicate/together" if first.state is State.SENDING and not first.unclear else "duplicate/perhaps"
    return Fault.of(
        Text.of(
            form,
            document=f"{first.type or 'document'} {first.number or ''}".strip(),
            first=first.dropped_as,
            when=first.claimed,
            sender=first.sender,
            receiver=first.receiver,
            message_number=f" (message number {first.msg_no})" if first.msg_no is not None else "",
            history=command("filedrop", "history", first.id),
        ),
    )
