"""Responses are tied in the transaction in which they, or the documents that they are about, are written."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from support.documents import BUYER, SELLER
from support.drops import IDENTITY, NOON, accepted, drop, posted

from filedrop.journal import Journal, Outcome, responses
from filedrop.model.document import Document
from filedrop.model.fault import Fault
from filedrop.model.response import AMBIGUOUS, KEPT, WAITS, Response

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

UUID = "5a3bd5a0-7f6e-4a3f-9f7f-3f3a4d1b2c6d"
ACCESS_POINT = "0242:000123"
in_sqlite = pytest.mark.parametrize("journal", ["sqlite"], indirect=True)  # a test that counts its steps


def rejection(number: str = "1", **changes: Any) -> Response:
    """A rejection by the buyer of the document with this number."""
    response = Response(
        identity=IDENTITY, msg_no=100, received="2026-11-20T13:00:00+00:00", nth=0, company="acme", sender=BUYER,
        receiver=SELLER, number=number, type_code="380", issue_date="", code="RE", words="response", reason="",
        at=NOON,
    )  # fmt: skip
    return replace(response, **changes)


def tied(journal: Journal) -> dict[int, str]:
    """The documents to which responses are tied, by the message numbers of these."""
    return dict(journal.engine.read("SELECT msg_no, document FROM responses ORDER BY msg_no"))  # type: ignore[arg-type]


def send(journal: Journal, document: Any, msg_no: int, **changes: Any) -> Any:
    """Record a document as waiting, posted and accepted."""
    claimed = journal.documents.record(document)
    sending = journal.documents.record(claimed.sending(NOON, identity=IDENTITY, clock=NOON))
    return journal.documents.record(sending.sent(NOON, msg_no, received=None, uuid=None).but(**changes))


def test_one_that_comes_after_its_document(journal: Journal) -> None:
    """It is tied at once, and its document's folder lacks it until it is written."""
    document = send(journal, drop(1), 7)
    journal.responses.record([rejection()])
    assert tied(journal) == {100: document.id}
    (owed,) = journal.responses.owed("f1", "acme", NOON)
    journal.responses.record_written([owed])
    assert journal.responses.owed("f1", "acme", NOON) == []


@pytest.mark.parametrize("by", ["number", "id"])
def test_one_that_comes_before_its_document(journal: Journal, by: str) -> None:
    """It is tied when the document gets its message number, or the message its id."""
    journal.responses.record([rejection() if by == "number" else rejection(f"uuid:{UUID}")])
    claimed = journal.documents.record(drop(1))
    sending = journal.documents.record(claimed.sending(NOON, identity=IDENTITY, clock=NOON))
    assert tied(journal) == {100: ""}
    sent = journal.documents.record(sending.sent(NOON, 7, received=None, uuid=None))
    assert tied(journal) == {100: sent.id if by == "number" else ""}
    journal.documents.record(sent.delivered_at(NOON, "2026-11-20T13:00:00+00:00", UUID))
    assert tied(journal) == {100: sent.id}


@pytest.mark.parametrize("reference", ["1", UUID, f"uuid:{UUID}"])
def test_one_that_comes_before_the_answers(journal: Journal, reference: str) -> None:
    """Where several answers are recorded together, what has waited for one of them is tied to that one."""
    journal.responses.record([rejection(reference)])
    sending = journal.documents.record_all([posted(journal.documents.record(drop(number))) for number in (2, 1, 3)])
    answers = [
        Outcome(document.sent(NOON, 7 + nth, received=None, uuid=UUID if nth == 1 else None))
        for nth, document in enumerate(sending)
    ]
    recorded = journal.numbers.record_answers(answers)
    assert [document.revision for document in recorded if isinstance(document, Document)] == [3, 3, 3]
    assert tied(journal) == {100: sending[1].id}


def test_while_a_document_has_no_clear_answer(journal: Journal) -> None:
    """A rejection that may be of a corrected invoice, whose answer isn't known yet, waits for that answer."""
    first = send(journal, drop(1), 7)
    journal.responses.record([rejection()])
    corrected = journal.documents.record(posted(drop(2, number="1")))
    journal.responses.record([rejection(msg_no=101)])
    assert tied(journal) == {100: first.id, 101: ""}
    journal.documents.record(corrected.sent(NOON + timedelta(minutes=1), 8, received=None, uuid=None))
    assert tied(journal) == {100: first.id, 101: corrected.id}


def test_after_a_document_got_no_message(journal: Journal) -> None:
    """A rejection that has waited for an unclear answer is of the first invoice where the other was never accepted."""
    first = send(journal, drop(1), 7)
    other = journal.documents.record(posted(drop(2, number="1")))
    journal.responses.record([rejection()])
    assert tied(journal) == {100: ""}
    journal.documents.record(other.failed(NOON, Fault("rejected", "No.", "")))
    assert tied(journal) == {100: first.id}


@pytest.mark.parametrize(
    ("changes", "is_tied"),
    [
        ({}, True),
        ({"number": UUID}, True),
        ({"receiver": "0242:000456"}, True),
        ({"company": "unassigned"}, True),
        ({"identity": "acme@another.example.com"}, False),
        ({"sender": "0192:123456785"}, False),
        ({"number": UUID[:-1]}, False),
        ({"number": f"{UUID}0"}, False),
        ({"number": "1"}, False),
    ],
)
def test_a_message_level_status(journal: Journal, changes: dict[str, Any], is_tied: bool) -> None:  # noqa: FBT001
    """By an access point, with the message's whole id, in an inbox of the account that posted it: nothing less."""
    document = send(journal, drop(1), 7, uuid=UUID)
    values = {"number": f"uuid:{UUID}", "sender": ACCESS_POINT} | changes
    journal.responses.record([rejection(**values)])
    assert tied(journal) == {100: document.id if is_tied else ""}


def test_its_own_company_first(journal: Journal) -> None:
    """Of two documents with one number in two companies, the one of the company that got the response is meant."""
    send(journal, drop(1, company="fjord", folder="f2"), 7)
    own = send(journal, drop(2, number="1"), 8)
    journal.responses.record([rejection()])
    assert tied(journal) == {100: own.id}


def test_a_restored_document(journal: Journal) -> None:
    """What was restored from a sidecar counts in its own company only, also where the response came first."""
    journal.responses.record([rejection(), rejection(msg_no=101, company="fjord")])
    restored = accepted(drop(1, company="fjord", folder="f2"))
    journal.documents.restore([restored])
    assert tied(journal) == {100: "", 101: restored.id}


def test_a_number_of_an_older_server(journal: Journal) -> None:
    """Two messages with one number, of which a server that was set up anew sent the second, are two responses."""
    send(journal, drop(1), 7)
    journal.responses.record([rejection()])
    journal.responses.record([rejection()])  # it is placed once more, after a crash
    journal.responses.record([rejection(received="2026-11-21T08:00:00+00:00")])
    assert journal.engine.read("SELECT count(*) FROM responses") == [(2,)]


def test_one_that_waited_for_too_long(journal: Journal) -> None:
    """A response to what was sent from elsewhere isn't tied to a document that gets the same number weeks later."""
    journal.responses.record([rejection(at=NOON - WAITS - timedelta(minutes=1))])
    send(journal, drop(1), 7)
    assert tied(journal) == {100: ""}
    journal.responses.record([rejection("2", msg_no=101)])
    assert tied(journal) == {101: ""}  # and it is removed


def test_an_ambiguous_one(journal: Journal) -> None:
    """It is said once, by the worker of one of the documents' folders, and never tied."""
    send(journal, drop(1), 7)
    send(journal, drop(2, number="1"), 8)
    journal.responses.record([rejection()])
    (response,) = journal.responses.owed("f1", "acme", NOON)
    assert response.document == AMBIGUOUS
    assert [document.msg_no for document in journal.responses.documents_meant(response)] == [7, 8]


def test_of_a_removed_document(journal: Journal) -> None:
    """What was removed from the archive leaves no responses behind."""
    document = send(journal, drop(1), 7)
    journal.responses.record([rejection()])
    journal.removal.forget([document.id])
    assert tied(journal) == {}


STEPS = 1000  # of SQLite's machine: a statement that reads thousands of rows takes many more


@in_sqlite
def test_the_cost_of_made_up_references(journal: Journal, path: Path) -> None:
    """Thousands of responses that name no document of ours are read by no scan, no status and no other document."""
    send(journal, drop(1), 7)
    strange = [
        rejection(f"X-{number}-{nth}", msg_no=1000 + number, nth=nth) for number in range(200) for nth in range(20)
    ]
    journal.responses.record(strange)
    journal.responses.record([rejection("2", msg_no=2000 + nth, sender="0192:123456785") for nth in range(2000)])
    journal.responses.record([rejection(f"S-{nth}", msg_no=5000 + nth, code="213", sender="") for nth in range(500)])
    journal.responses.record([rejection()])
    moment = NOON.timestamp()
    parties = {"from_party": BUYER, "to_party": SELLER}
    asked: dict[str, dict[str, Any]] = {
        responses._OWED: {"folder": "f1", "company": "acme", "since": moment - 1, "most": 1000},
        responses._REJECTIONS: {"since": moment - 1},
        responses._WAITING_FOR: {"number": "2", "uuid": None, "receiver": BUYER, "since": moment - 1},
        responses._MEANT: {"number": "X-9", "uuid": "X-9", "company": "acme", "is_status": True, "issue_date": ""}
        | parties,
        responses._FORGET_UNTIED: {"since": moment - 1},
    }
    with closing(sqlite3.connect(path)) as connection:
        for statement, values in asked.items():
            taken: list[int] = []
            connection.set_progress_handler(lambda taken=taken: taken.append(1), 1)  # type: ignore[misc]
            connection.execute(statement, values).fetchall()
            connection.set_progress_handler(None, 1)
            assert 0 < len(taken) < STEPS, statement


@in_sqlite
def test_the_cost_of_a_receivers_many_answers(journal: Journal) -> None:
    """However often a receiver has answered one number, what is recorded next costs what it cost before.

    Neither a document with that number, while the answers wait for one of another kind, nor one answer more.
    """
    orders = [rejection(msg_no=1000 + nth, type_code="220") for nth in range(2000)]
    journal.responses.record(orders)
    first = send(journal, drop(1), 7)
    send(journal, drop(2, number="1"), 8)
    assert taken(journal, lambda: journal.documents.record(first)) < KEPT * STEPS
    journal.responses.record([rejection(msg_no=4000 + nth) for nth in range(2000)])
    assert taken(journal, lambda: journal.responses.record([rejection(msg_no=9000)])) < STEPS


def test_others_beside_a_receivers_many_rejections(journal: Journal) -> None:
    """However often one document is rejected, each other one is among the rejections, with the last words on each."""
    flooded, other = send(journal, drop(1), 7), send(journal, drop(2), 8)
    journal.responses.record([rejection("2", msg_no=500)])
    journal.responses.record([rejection(msg_no=1000 + nth, at=NOON + timedelta(seconds=nth)) for nth in range(300)])
    found = [(response.document, response.msg_no) for response in journal.responses.rejections(NOON)]
    assert found == [(flooded.id, 1299), (other.id, 500)]


def taken(journal: Journal, work: Callable[[], object]) -> int:
    """The steps of SQLite's machine that this takes within its transactions."""
    steps: list[int] = []
    journal.engine.write(lambda connection: connection.set_progress_handler(lambda: steps.append(1), 1))
    work()
    journal.engine.write(lambda connection: connection.set_progress_handler(None, 1))
    return len(steps)
