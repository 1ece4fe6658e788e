"""The journal alone, on each engine: the three records of each document on its way out."""

from __future__ import annotations

import itertools
import time
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from benchmarks.frame import Bench, Figure, Must, Samples, Skipped, case
from filedrop.journal import JOURNAL, Database, Journal, Outcome
from filedrop.model.document import Document, Event, new_id
from filedrop.model.message import Message
from tests.support.documents import BILLING_PROCESS, BUYER, INVOICE_ID, SELLER
from tests.support.postgres import Server, programs
from tests.support.proxy import Proxy

if TYPE_CHECKING:
    from collections.abc import Iterator

BATCH = 16  # documents in one commit
NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
RECEIVED = "2026-11-20T12:00:01.000+00:00"
IDENTITY = "c000@127.0.0.1"
_NUMBERS = itertools.count(1)


def rate(journal: Journal, documents: int) -> float:
    """Documents a second that are recorded as about to be posted, as accepted, and as moved."""
    begun = time.perf_counter()
    for _ in range(0, documents, BATCH):
        sending = [_new().sending(NOON, identity=IDENTITY, clock=NOON) for _ in range(BATCH)]
        recorded = journal.documents.record_sending(sending, "refuse", warning=str)
        answers = [_answer(document) for document in recorded if isinstance(document, Document)]
        accepted = journal.numbers.record_answers(answers)
        moved = [document.at("sent", document.file) for document in accepted if isinstance(document, Document)]
        journal.documents.record_places(moved)
        assert len(moved) == BATCH
    return documents / (time.perf_counter() - begun)


def _new() -> Document:
    number = next(_NUMBERS)
    return Document(
        id=new_id(NOON), company="c000", folder="f", account="main", file=f"{number}.xml", dropped_as=f"{number}.xml",
        claimed=NOON, size=1, sha256=str(number), meaning=str(number), sender=SELLER, receiver=BUYER,
        document_id=INVOICE_ID, process_id=BILLING_PROCESS, sources={}, type="Invoice", number=str(number),
        issue_date="2026-11-20", history=(Event(NOON, "claimed"),),
    )  # fmt: skip


def _answer(document: Document) -> Outcome:
    message = Message(msg_no=next(_NUMBERS), received=RECEIVED)
    accepted = document.sent(NOON, message.msg_no, received=RECEIVED, uuid=None)
    return Outcome(accepted, message, otherwise=document)


@case("database")
def database(bench: Bench) -> Iterator[Figure]:
    """The journal in PostgreSQL beside the one in a file: documents a second, and messages to the server."""
    found = programs()
    if not found:
        raise Skipped("PostgreSQL is not there: install the extra `dev`")
    documents = bench.amount(960, tiny=BATCH)
    with closing(Server(found[min(found, key=int)])) as server:
        proxy = Proxy(server.folder / ".s.PGSQL.5432")
        name = server.database()
        with closing(Journal.at(bench.new_folder() / JOURNAL, is_daemons=True)) as file:
            with closing(Journal.in_database(Database(server.address(name)))) as journal:
                rate(journal, BATCH)
                ours, theirs = bench.in_turn(lambda: rate(journal, documents), lambda: rate(file, documents))
            must = Must(least=0.75, of="ratio")
            yield Figure("out", "documents/s", ours.each(float), must, theirs.each(float), "SQLite")
        with closing(proxy):
            address = f"postgresql://filedrop@127.0.0.1:{proxy.port}/{name}"
            with closing(Journal.in_database(Database(address))) as journal:
                rate(journal, BATCH)
                before = proxy.requests
                rate(journal, documents)
            messages = (proxy.requests - before) * BATCH / documents
        yield Figure(f"messages for {BATCH} documents", "", Samples([messages], [0.0]), Must(most=18))
