"""What was read of a file becomes its document's ids, or the reason why the document can't be sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from filedrop import identify
from filedrop.errors import DocumentError, Unanswered
from filedrop.identify.content import MAIL
from filedrop.identify.identity import explained
from filedrop.model.document import Document, Need, State, same_participant
from filedrop.model.fault import Fault
from filedrop.outbound.waiting import log_need
from filedrop.storage.names import pdf_name
from filedrop.texts import Text
from filedrop.texts.printable import valid

if TYPE_CHECKING:
    from datetime import datetime

    from filedrop.config import Outbound
    from filedrop.identify import Identity, Reading
    from filedrop.identify.content import Missing
    from filedrop.outbound.context import Context, Identification

ANSWER = "answer"  # the source of an answer's ids: those of the message that it answers (outbound/answers)
_IDS = ("sender", "receiver", "document_id", "process_id")


def identified(by: Identification, document: Document, reading: Reading, rules: Outbound, now: datetime) -> Document:
    """The document with what was read of its file and with its ids; failed, if it can't be sent.

    If a mapping rule's table doesn't answer now, the document waits without ids, to be identified again.
    """
    before, document = document, with_facts(document, reading)
    try:
        identity = by.identify(reading, document.dropped_as)
        document = document.but(
            sender=_valid(identity.sender),
            receiver=_valid(identity.receiver),
            document_id=_valid(identity.document_id),
            process_id=_valid(identity.process_id),
            channel=_valid(identity.channel) or "",
            sources=dict(identity.sources),
            warnings=tuple(identity.warnings),
        )
        if document.sender is None:
            _check_sender_without_scheme(document, reading.missing["sender"], by.participants, rules.foreign_sender)
        try:
            identify.demand(identity, reading)
        except DocumentError as error:
            if rules.unreachable == "directory" or not _has_mail_alone(identity, reading, error):
                raise
            document = _check_sender(document, by.participants, rules.foreign_sender)
            return document.unreachable(now, _by_mail(document, identity, reading))
        document = _check_sender(document, by.participants, rules.foreign_sender)
        return document if before.needs in (Need.VERDICT, Need.RECEIVER) else document.needs_nothing()
    except Unanswered as error:
        return document.waits_for(now, Need.IDS, str(error), due=now + min(rules.rescan, rules.retry.longest))
    except DocumentError as error:
        return document.failed(now, Fault.of(*error.texts))


def _has_mail_alone(identity: Identity, reading: Reading, error: DocumentError) -> bool:
    """Whether only the receiver is missing, of which the document states a mail address that no mapping rule knows.

    A rule must have been asked for it: many systems write the mail address of each customer.
    """
    is_stated = reading.missing["receiver"].scheme == MAIL if "receiver" in reading.missing else False
    is_asked = any("receiver" in tried.unset for tried in identity.tries)
    codes = {text.code for text in error.texts if text.form.partition("/")[0] != "ids"}
    return is_stated and is_asked and codes == {"no-receiver"}


def _by_mail(document: Document, identity: Identity, reading: Reading) -> Fault:
    address = reading.missing["receiver"].value
    facts = {"receiver": document.receiver_name or address, "address": address}
    where = explained("receiver", identity, reading)
    return Fault.of(Text.of("not-on-peppol/mail", **facts, where=where), other_way(document))


def other_way(document: Document) -> Text:
    """What a person can do with a document whose receiver can't be reached over Peppol."""
    file, pdf = document.dropped_as, document.pdf
    if pdf is None:
        return Text.of("not-on-peppol/other-way", file=file)
    return Text.of("not-on-peppol/with-pdf", file=file, pdf=pdf_name(file, pdf.name))


def with_facts(document: Document, reading: Reading) -> Document:
    """The document with what was read of its file, but for the ids."""
    return document.but(
        sha256=reading.sha256,
        meaning=reading.meaning,
        type=reading.root_name,
        number=reading.number,
        issue_date=reading.issue_date,
        receiver_name=reading.receiver_name,
        type_code=reading.type_code,
    )


def is_identified(document: Document) -> bool:
    """Whether the document has all ids that are needed to post it."""
    return all(getattr(document, name) for name in _IDS)


def identified_in(shared: Context, by: Identification, document: Document, reading: Reading) -> Document:
    """The document with its ids, failed, or still without ids; a new reason to wait is logged."""
    after = identified(by, document, reading, shared.rules, shared.now())
    log_need(shared.log, after, before=document)
    return after


def is_answer(document: Document) -> bool:
    """Whether a document answers a received one, and so goes by the ids of that one's message."""
    return document.sources.get("sender") == ANSWER


def keeps_ids(document: Document) -> bool:
    """Whether a document stays with its ids, since it may have been posted by them, or is an answer."""
    return is_identified(document) and (bool(document.identity) or is_answer(document))


def identified_now(shared: Context, by: Identification, document: Document, reading: Reading) -> Document:
    """A waiting document with the ids that the mapping rules have for it now. Raises JournalError."""
    if document.state is not State.WAITING or keeps_ids(document):
        return document
    after = identified_in(shared, by, document.but(**dict.fromkeys(_IDS)), reading)
    same = (*_IDS, "channel", "state", "needs")
    is_as_before = all(getattr(after, name) == getattr(document, name) for name in same)
    return document if is_identified(document) and is_as_before else shared.journal.documents.record(after)


def _valid(text: str | None) -> str | None:
    """The text as valid Unicode: a mapping rule may have taken it from a file name that is not."""
    return None if text is None else valid(text)


def _check_sender(document: Document, participants: tuple[str, ...], rule: str) -> Document:
    """Check the company's right to the sender (contract 2, `foreign_sender`): warn, or raise DocumentError."""
    if rule == "allow" or not participants or document.sources.get("sender", "").startswith("mapping"):
        return document
    if any(same_participant(document.sender, participant) for participant in participants):
        return document
    listed = ", ".join(participants)
    foreign = Text.of("foreign-sender", sender=document.sender, company=document.company, participants=listed)
    if rule == "warn":
        return document.warned(foreign.message)
    raise DocumentError(foreign)


def _check_sender_without_scheme(document: Document, stated: Missing, participants: tuple[str, ...], rule: str) -> None:
    """Check the company's right to a sender of which the document has only the value. Raises DocumentError."""
    if stated.value and not stated.scheme and participants and rule == "refuse":
        listed = ", ".join(participants)
        facts = {"sender": stated.value, "company": document.company, "participants": listed}
        raise DocumentError(Text.of("foreign-sender/no-scheme", **facts))
