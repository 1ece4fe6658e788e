"""The question to a person about a document in doubt that only a person can decide (contract 6).

The question stands in the document's history, so that note, `status` and sidecar have it in every process.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from filedrop.model.document import Event
from filedrop.text import command

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from filedrop.model.document import Document
    from filedrop.outbound.matching import Candidate

ASKED = "a person is asked"  # the event
NAMED = 3  # messages in one question


def question(document: Document) -> str:
    """The open question about this document; "" if there is none."""
    for event in reversed(document.history):
        if event.event in (ASKED, "in doubt"):
            return str(event.facts.get("why", "")) if event.event == ASKED else ""
    return ""


def asked(document: Document, now: datetime, why: str) -> Document:
    """The same document with this question in its history."""
    return document.but(history=(*document.history, Event(now, ASKED, {"why": why})))


def sentence(document: Document, hindrances: Sequence[Candidate]) -> str:
    """The question: which messages keep a document in doubt, and the commands by which a person ends that."""
    perhaps = [f"message {one.message.msg_no} {_evidence(one, document)}" for one in hindrances[:NAMED]]
    if len(hindrances) > NAMED:
        perhaps.append(f"and {len(hindrances) - NAMED} more")
    arrived = command("filedrop", "resolve", document.id, "--sent", str(hindrances[0].message.msg_no))
    lost = command("filedrop", "resolve", document.id, "--send-again")
    return (
        f"it may have arrived at the access point: {'; '.join(perhaps)}. Look there, then run one of these: {arrived} "
        f"(if it arrived, with its message number), or {lost} (if it didn't)"
    )


def commands_in(sentence: str) -> list[str]:
    """The commands in a question, to choose one from."""
    return re.findall(r"filedrop resolve \w+ (?:--sent \d+|--send-again)", sentence)


def _evidence(candidate: Candidate, document: Document) -> str:
    """What speaks for the message being this document, and what against it."""
    match candidate.content:
        case "incomparable":
            return "may be this document, but can't be compared: its content can't be read as a document"
        case "missing":
            return "may be this document, but can't be compared: its content can't be fetched"
    if document.company in candidate.contested_for:
        return "has the same content, but may be another document, which was accepted under that number"
    first = document.first_attempt
    return (
        f"has the same content, but was received at {candidate.message.received}, and this was first sent at "
        f"{first.isoformat(timespec='seconds') if first else 'another time'} by the access point's clock"
    )
