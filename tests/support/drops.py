"""Outbound documents as the core knows them, without a file or an access point: for tests of single rooms."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from support.documents import BILLING_PROCESS, BUYER, INVOICE_ID, SELLER

from filedrop.model.document import Document, Event

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
IDENTITY = "acme@ap.example.com"


def drop(nth: int = 1, /, **changes: Any) -> Document:
    """The n-th drop of a day: an invoice that has just been claimed. `changes` are the document's own fields."""
    claimed = NOON + timedelta(seconds=nth)
    name = f"invoice-{nth}.xml"
    document = Document(
        id=f"01JD000000000000000000{nth:04}", company="acme", folder="f1", account="main", file=name,
        dropped_as=name, claimed=claimed, size=1000 + nth, sha256=f"sha-{nth}", meaning=f"meaning-{nth}",
        sender=SELLER, receiver=BUYER, document_id=INVOICE_ID, process_id=BILLING_PROCESS,
        sources={"sender": "document"}, type="Invoice", number=str(nth), issue_date="2026-11-20",
        history=(Event(claimed, "claimed"),),
    )  # fmt: skip
    return replace(document, **changes)


def posted(document: Document) -> Document:
    """The same document, about to be posted."""
    return document.sending(NOON, identity=IDENTITY, clock=NOON)


def accepted(document: Document, msg_no: int = 7) -> Document:
    """The same document, accepted by the access point."""
    return posted(document).sent(NOON, msg_no, received="2026-11-20T12:00:01.000+00:00", uuid=None)
