"""The question to a person about a document in doubt that only a person can decide (contract 6).

The question stands in the document's history, so that note, `status` and sidecar have it in every process.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from filedrop.model.document import Event
from filedrop.text import command

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from filedrop.model.document import Document

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


def sentence(document: Document, evidence: Mapping[int, str]) -> str:
    """The question: which messages keep a document in doubt, and the commands by which a person ends that.

    `evidence`: by the number of each of these messages, what speaks for and against it.
    """
    perhaps = [f"message {msg_no} {says}" for msg_no, says in islice(evidence.items(), NAMED)]
    if len(evidence) > NAMED:
        perhaps.append(f"and {len(evidence) - NAMED} more")
    arrived = command("filedrop", "resolve", document.id, "--sent", str(next(iter(evidence))))
    lost = command("filedrop", "resolve", document.id, "--send-again")
    return (
        f"it may have arrived at the access point: {'; '.join(perhaps)}. Look there, then run one of these: {arrived} "
        f"(if it arrived, with its message number), or {lost} (if it didn't)"
    )


def commands_in(sentence: str) -> list[str]:
    """The commands in a question, to choose one from."""
    return re.findall(r"filedrop resolve \w+ (?:--sent \d+|--send-again)", sentence)
