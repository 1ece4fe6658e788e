"""Documents whose receivers can't be reached over Peppol (contract 2, `unreachable`): they are put aside, not posted.

A directory that is broken says no to everybody, or for a while to some. So one no puts nothing aside: a second one must
have been given when the document was due again, by a directory that has somebody else meanwhile.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from filedrop.identify.participants import wrong_number
from filedrop.model.document import Need, same_participant
from filedrop.model.fault import Fault
from filedrop.model.twins import twin
from filedrop.outbound.identified import is_answer, other_way
from filedrop.outbound.waiting import log_need
from filedrop.texts import Text

if TYPE_CHECKING:
    from filedrop.config import Outbound
    from filedrop.model.document import Document
    from filedrop.outbound.context import Context

PROOF = 3600.0  # seconds for which a yes to another receiver shows that the directory works, at most
DELIVERED_TO = 3  # receivers that are asked about for that


def must_ask(document: Document, rules: Outbound) -> bool:
    """Whether the directory is asked for the receiver before a document's first request. `rules`: of the company."""
    is_decided = document.was_posted or document.was_let_through
    return rules.unreachable == "aside" and not (is_decided or document.identity or is_answer(document))


def ask(shared: Context, document: Document) -> tuple[Document, bool]:
    """Ask the directory for the receiver of a waiting document. Returns the document, and whether it may be posted."""
    now, after, due = shared.now(), shared.rules.unreachable_after, document.due
    why = f"the directory has no {document.receiver}"
    # What is due later than it can be waits since before the clock was set.
    is_again = document.why_without(Need.RECEIVER) == why and due is not None and not now < due <= now + after
    within = max(0.0, (now - due).total_seconds()) if is_again and due else None
    is_there, age = shared.directory.has(document.ids, asked_within=within)
    if is_there is not False:
        if is_there:
            shared.guard.note_success(_about(shared))
        return document, True
    if not is_again:  # all that had one answer are due together, so that they have the next one together
        due = max(now, now + after - timedelta(seconds=age))
        waits = document.waits_for(now, Need.RECEIVER, why, due=due)
        log_need(shared.log, waits, before=document)
        return waits, False
    if not _is_believed(shared, document):
        return document, True
    return document.unreachable(now, fault(shared, document)), False


def _is_believed(shared: Context, document: Document) -> bool:
    """Whether the directory has somebody else, by an answer since its first no. What is wrong with it is noted."""
    since = shared.now() - (document.needs_since or shared.now())
    delivered = shared.journal.documents.delivered_to(document.company, DELIVERED_TO)
    others = [other for other in (*shared.participants, *delivered) if not same_participant(other, document.receiver)]
    within = min(max(0.0, since.total_seconds()), PROOF)
    has_somebody = shared.directory.has_somebody(document.ids, others, asked_within=within)
    if has_somebody is not False:
        shared.guard.note_success(_about(shared))
    elif others:
        none_of = ", ".join(dict.fromkeys(others))
        why = (
            f"the directory of account {shared.account.name} has none of {none_of}: nothing is put aside meanwhile, "
            "and it is asked again for each document"
        )
        shared.guard.note(_about(shared), why, "directory.has_nobody")
    return has_somebody is True


def _about(shared: Context) -> str:
    return f"directory of {shared.account.name}"


def fault(shared: Context, document: Document) -> Fault:
    """Why a document isn't sent, or wasn't delivered: its receiver isn't in the directory."""
    said, receiver = list[Text](), document.receiver or ""
    if wrong := wrong_number(receiver):
        said.append(Text.of(f"not-on-peppol/{wrong}", number=receiver.partition(":")[2]))
    if (other := twin(receiver)) and shared.directory.has(document.ids, receiver=other)[0]:
        said.append(Text.of("not-on-peppol/twin", twin=other))
    facts = {"receiver": document.receiver_name or receiver, "lookup": shared.directory.lookup_of(receiver)}
    if document.accepted is not None:
        said.append(Text.of("not-on-peppol/sent", when=document.accepted, msg_no=document.msg_no, **facts))
    else:
        said.append(Text.of("not-on-peppol", **facts))
    return Fault.of(*said, other_way(document))
