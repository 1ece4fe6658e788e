"""The question to a person about a document in doubt that only a person can decide (contract 6).

The question stands in the document's history, so that note, `status` and sidecar have it in every process.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from filedrop.model.document import Event
from filedrop.texts.printable import command

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from filedrop.model.document import Document

ASKED = "a person is asked"  # the event
NAMED = 3  # messages in one question


def question(document: Document) -> str:
    """The open question about this document; "" if there is none."""
    event = _open(document)
    return str(event.facts.get("why", "")) if event else ""


def commands(document: Document) -> list[str]:
    """The commands that answer the open question about this document, one of which a person chooses; [] without one."""
    event = _open(document)
    msg_no = event.facts.get("message") if event else None  # a stranger's history may lack it
    return _commands(document, msg_no if isinstance(msg_no, int) else "MSG_NO") if event else []


def asked(document: Document, now: datetime, evidence: Mapping[int, str]) -> Document:
    """The same document with a question in its history: which messages keep it in doubt, and what a person can do.

    `evidence`: by the number of each of these messages, what speaks for and against it.
    """
    perhaps = [f"message {msg_no} {says}" for msg_no, says in islice(evidence.items(), NAMED)]
    if len(evidence) > NAMED:
        perhaps.append(f"and {len(evidence) - NAMED} more")
    first = next(iter(evidence))
    arrived, lost = _commands(document, first)
    why = (
        f"it may have arrived at the access point: {'; '.join(perhaps)}. Look there, then run one of these: {arrived} "
        f"(if it arrived, with its message number), or {lost} (if it didn't)"
    )
    return document.but(history=(*document.history, Event(now, ASKED, {"why": why, "message": first})))


def _open(document: Document) -> Event | None:
    """The event of the open question; None if there is none."""
    last = next((event for event in reversed(document.history) if event.event in (ASKED, "in doubt")), None)
    return last if last and last.event == ASKED else None


def _commands(document: Document, msg_no: object) -> list[str]:
    resolve = ("filedrop", "resolve", document.id)
    return [command(*resolve, "--sent", str(msg_no)), command(*resolve, "--send-again")]
