"""What much work leaves behind: rows in the journal, documents and sidecars in `archive/` and `sent/`."""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from benchmarks.documents import SIZE
from filedrop import config
from filedrop.journal import Journal
from filedrop.model.document import Document, Event, new_id
from filedrop.process.lock import JOURNAL
from filedrop.storage import sidecar
from tests.support.documents import BILLING_PROCESS, BUYER, INVOICE_ID, SELLER

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.installation import Installation

FIRST = 3_000_000_000  # message numbers that the null access point doesn't give
AGO = timedelta(minutes=10)  # not overdue
LATER = timedelta(hours=1)  # not asked after while something is measured; a later one is believed no clock
IDS = ("sender", "receiver", "document_id", "process_id")
CONTENT = b"<never-read/>"
AT_ONCE = 2000  # rows of one commit


def remember(
    installation: Installation, *, delivered: int = 0, sent: int = 0, files: bool = True, over: timedelta = timedelta()
) -> None:
    """Give an installation so many documents that were delivered, and accepted: rows, and the files that go with them.

    The documents are short: nobody reads them any more, only their names count. They came `over` this time until now.
    """
    installation.run_once()  # makes the folders and the journal
    journal = Journal.at(installation.state / JOURNAL)
    outbound = installation.outbound[0]
    folder = journal.folders.at(outbound)
    identity = config.load(installation.config).accounts["main"].identity
    assert folder
    try:
        for start in range(0, delivered + sent, AT_ONCE):
            documents = [
                past(number, folder, identity, delivered=number < delivered, ago=over * number / (delivered + sent))
                for number in range(start, min(start + AT_ONCE, delivered + sent))
            ]
            journal.documents.record_all(documents)
            if files:
                write(outbound, documents)
    finally:
        journal.close()


def name_of(number: int) -> str:
    """The file name of such a document."""
    return f"past-{number:010}.xml"


def past(number: int, folder: str, identity: str, *, delivered: bool, ago: timedelta = timedelta()) -> Document:
    """A document that was accepted a while ago, and maybe delivered."""
    at = datetime.now().astimezone() - AGO - ago
    digest = hashlib.sha256(b"%d" % number).hexdigest()
    name = name_of(number)
    document = Document(
        id=new_id(at), company="c000", folder=folder, account="main", file=name, dropped_as=name, claimed=at,
        size=SIZE, sha256=digest, meaning=digest[::-1], sender=SELLER, receiver=BUYER, document_id=INVOICE_ID,
        process_id=BILLING_PROCESS, sources=dict.fromkeys(IDS, "document"), type="Invoice", number=f"past {number}",
        issue_date="2026-11-20", history=(Event(at, "claimed"),),
    )  # fmt: skip
    document = document.sending(at, identity=identity, clock=at)
    document = document.sent(at, FIRST + number, received=at.isoformat(), uuid=None).later(at + LATER)
    if delivered:
        document = document.delivered_at(at, at.isoformat(), None)
    return document.at(document.home, name)


def write(outbound: Path, documents: list[Document]) -> None:
    """Write their files and sidecars to where they lie."""
    for document in documents:
        path = outbound / document.place / document.file
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(CONTENT)
        path.with_name(f"{path.name}.json").write_bytes(sidecar.outbound(document, document.file))
