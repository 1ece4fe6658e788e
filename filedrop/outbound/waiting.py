"""Documents that wait for something of their own: their ids, a validator's verdict, a file that can be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from filedrop.model.document import Need

if TYPE_CHECKING:
    from datetime import datetime

    import structlog

    from filedrop.journal import Journal
    from filedrop.model.document import Document

_LOGGED = {
    Need.IDS: "document.waits",
    Need.VERDICT: "document.not_validated",
    Need.FILE: "document.unreadable",
    Need.PREPARED: "document.not_prepared",
    Need.RECEIVER: "document.receiver_absent",
}  # the names of log events


def log_need(log: structlog.stdlib.BoundLogger, document: Document, *, before: Document | None = None) -> None:
    """Log what a document waits for, unless it waited for the same `before`."""
    if document.needs is None or (before is not None and before.why_without(document.needs) == document.needs_why):
        return
    log.warning(_LOGGED[document.needs], **document.log_facts, why=document.needs_why)


def retry_needy(journal: Journal, log: structlog.stdlib.BoundLogger, folder: str, now: datetime) -> None:
    """Have all that waits for something of its own tried at once after a start, and log it again. Raises JournalError.

    A single run would end before them, and the log of this process would not tell of them.
    """
    for document in journal.documents.needy_documents(folder):
        log_need(log, document)
    journal.documents.retry_needy(folder, now)
