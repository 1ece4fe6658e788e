from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
import threading
import time
from collections import defaultdict
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path, PureWindowsPath
from typing import TYPE_CHECKING, cast

import pytest
import structlog
from support import sql
from support.documents import BUYER
from support.drops import IDENTITY, NOON, accepted, drop, posted

from filedrop.errors import Changed, ClosedJournal, FiledropError, JournalError
from filedrop.journal import Drop, Duplicate, Journal, MessageRow, Outcome, Waiver, schema
from filedrop.journal.sqlite import UNUSED
from filedrop.model.document import LET_THROUGH, Document, Event, Need, State
from filedrop.model.fault import Fault
from filedrop.model.message import Message
from filedrop.process.guard import Guard
from filedrop.texts import Text

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from filedrop.journal.engine import Connection

LATER = NOON + timedelta(hours=1)
in_sqlite = pytest.mark.parametrize("journal", ["sqlite"], indirect=True)  # a test that looks into its file


def a_message(number: int, **changes: object) -> MessageRow:
    row = MessageRow(
        identity=IDENTITY,
        msg_no=number,
        received="2026-11-20T12:00:00Z",
        sender="0192:1",
        receiver="0192:2",
        state="named",
    )
    return replace(row, **changes)  # type: ignore[arg-type] # the row's own fields


def until(condition: Callable[[], bool]) -> None:
    while not condition():
        time.sleep(0.001)


@in_sqlite
def test_a_long_list_that_is_read_slowly(path: Path, journal: Journal) -> None:
    """The list has each document once, and the journal's file grows no more for it: a share may hang meanwhile."""
    same_name = [drop(number, file="twice.xml") for number in (3001, 3002)]
    journal.documents.record_all([*(drop(number) for number in range(1, 2500)), *same_name])
    files = journal.documents.files_in("f1", "sending")
    listed = [next(files)]
    for number in range(4000, 4300):
        journal.documents.record(drop(number, folder="f2"))
    assert path.with_name(f"{path.name}-wal").stat().st_size < 8_000_000
    assert sorted([*listed, *files]) == sorted(
        [*((f"invoice-{number}.xml", drop(number).id) for number in range(1, 2500)),
         *(("twice.xml", one.id) for one in same_name)]
    )  # fmt: skip


def test_the_newest(journal: Journal) -> None:
    """Of what people may want to know of, each company's newest come first, and how many there are is counted."""
    for nth in range(1, 6):
        journal.documents.record(posted(drop(nth)).doubted(NOON, "no answer"))
    journal.documents.record(accepted(drop(6)))
    journal.documents.record(accepted(drop(7, company="fjord", warnings=("a warning",))))
    journal.documents.record(posted(drop(8)).never_arrived(NOON, "away", due=LATER))
    journal.documents.record(drop(9))
    journal.documents.record(
        accepted(drop(10)).delivered_at(NOON, "2026-11-20T12:00:00Z", None).at("archive/2026-11", "a.xml")
    )

    def found(accepted_before: datetime) -> dict[tuple[str, str], tuple[int, list[str]]]:
        newest = journal.documents.newest(accepted_before, 2)
        return {key: (one.total, [document.file for document in one.documents]) for key, one in newest.items()}

    doubts, waiting = (5, ["invoice-5.xml", "invoice-4.xml"]), (1, ["invoice-8.xml"])
    assert found(NOON) == {
        ("acme", "doubt"): doubts, ("acme", "waiting"): waiting, ("fjord", "sent"): (1, ["invoice-7.xml"]),
    }  # fmt: skip
    assert found(LATER) == {
        ("acme", "doubt"): doubts, ("acme", "waiting"): waiting, ("acme", "overdue"): (1, ["invoice-6.xml"]),
        ("fjord", "overdue"): (1, ["invoice-7.xml"]),
    }  # fmt: skip


def test_what_is_recorded_is_read_again(journal: Journal) -> None:
    """A document comes back as it was written, with every fact, whatever step it took."""
    failed = (
        accepted(drop()).failed(LATER, Fault("not-delivered", "the transfer failed", "ask")).at("failed", "a-2.xml")
    )
    recorded = journal.documents.record(replace(failed, warnings=("a warning",), due=LATER, channel="invoices"))
    assert journal.documents.by_id(recorded.id) == recorded
    assert recorded.revision == 1


def test_texts_of_a_fault(journal: Journal) -> None:
    """The forms and values of a fault's texts are kept, so that its note can be written again after a restart."""
    fault = Fault.of(Text.of("rejected", text="{No} \u202e", status=400))
    recorded = journal.documents.record(posted(journal.documents.record(drop())).failed(NOON, fault))
    kept = journal.documents.by_id(recorded.id)
    assert kept is not None
    assert kept.error is not None
    assert kept.error.texts == fault.texts
    assert [text.message for text in kept.error.texts] == [kept.error.message]


def test_any_file_name_is_kept(journal: Journal) -> None:
    """A name that is no valid Unicode is kept byte by byte."""
    name = "faktura-\udce5.xml"  # what os.fsdecode makes of a name in Latin-1
    recorded = journal.documents.record(drop(file=name, dropped_as=name))
    assert journal.documents.by_id(recorded.id) == recorded


def test_reason_with_any_file_name(journal: Journal) -> None:
    """What a document waits for may quote a name that is no valid Unicode, and is recorded as people can read it."""
    waits = drop().waits_for(NOON, Need.PREPARED, "x_\udcfc.xml can't be written", due=LATER)
    recorded = journal.documents.record(waits)
    assert recorded.needs_why == "x_?.xml can't be written"
    assert journal.documents.by_id(recorded.id) == recorded
    assert recorded.waits_for(NOON, Need.PREPARED, "x_\udcfc.xml can't be written", due=LATER) == recorded
    assert not journal.engine.trouble


def test_value_that_python_refuses(journal: Journal) -> None:
    """Of documents that are recorded together, one with a value that can't be kept holds up no other."""

    def also(connection: Connection, document: Document) -> None:
        if document.number == "2":
            connection.execute("SELECT id FROM documents WHERE number = :value", {"value": "x_\udcfc.xml"})

    documents = [posted(drop(nth)) for nth in (1, 2, 3)]
    first, second, third = journal.documents.record_sending(documents, "refuse", warning=lambda _: "", also=also)
    assert isinstance(first, Document)
    assert isinstance(third, Document)
    assert isinstance(second, JournalError)
    assert "can't keep a value" in str(second)
    assert not journal.engine.trouble


def test_answer_with_any_file_name(journal: Journal) -> None:
    """A response of the company's own software is recorded, whatever bytes its name has."""
    answer = drop(file="AB_\udcfc.xml", receiver=BUYER)
    journal.engine.write(lambda connection: journal.answers.record_sent(connection, answer, "1001", "AB"))


def test_row_that_cannot_be_kept(journal: Journal) -> None:
    """A row that the database itself refuses is no trouble of the journal: everything else goes on."""
    statement = "INSERT INTO documents (id) VALUES ('incomplete')"
    with pytest.raises(JournalError, match="can't keep a value"):
        journal.engine.write(lambda connection: connection.execute(statement))
    assert not journal.engine.trouble


RECORD_AND_DIE = """
import os, sys
sys.path.insert(0, {tests!r})
from pathlib import Path
from support.drops import drop
from filedrop.journal import Journal
Journal.at(Path({path!r})).documents.record(drop())
os._exit(9)
"""


def test_a_record_outlives_its_process(path: Path) -> None:
    """A record is on the disk when its call returns, even if the process ends with that."""
    code = RECORD_AND_DIE.format(tests=str(Path(__file__).parents[1]), path=str(path))
    ended = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2], check=False)
    assert ended.returncode == 9
    journal = Journal.at(path)
    assert journal.documents.by_id(drop().id) is not None
    journal.close()


@in_sqlite
def test_a_record_reaches_the_disk(journal: Journal) -> None:
    """SQLite is told to flush at every commit."""
    assert journal.engine._writer.execute("PRAGMA synchronous").fetchone() == (2,)
    assert journal.engine._writer.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_thread_that_outlives_the_close(journal: Journal) -> None:
    """Whatever a thread asks for after the close, it gets an error that nobody logs, and opens nothing again."""
    with journal.engine.reading(), journal.engine.reading():
        pass  # two are idle now
    journal.close()
    logged = structlog.testing.CapturingLogger()
    guard = Guard(structlog.wrap_logger(logged))
    for call in (journal.check_writable, partial(journal.engine.value, "SELECT 1"), journal.check_integrity):
        assert isinstance(guard.attempt("step", call), ClosedJournal)
    assert not logged.calls


def test_a_stale_step_is_refused(journal: Journal) -> None:
    """What a person's command recorded meanwhile isn't overwritten by a step taken before it."""
    first = journal.documents.record(drop())
    taken = journal.documents.record(first.taken(NOON))
    with pytest.raises(Changed):
        journal.documents.record(posted(first))
    assert journal.documents.by_id(first.id) == taken


def test_a_document_is_written_once_as_new(journal: Journal) -> None:
    """Two threads can't both bring in the same document."""
    journal.documents.record(drop())
    with pytest.raises(Changed):
        journal.documents.record(drop())


def test_of_several_the_stale_are_left_out(journal: Journal) -> None:
    """One document that has changed meanwhile doesn't keep the others' steps from being written."""
    documents = journal.documents.record_all([drop(1), drop(2), drop(3)])
    journal.documents.record(documents[1].taken(NOON))
    written = journal.documents.record_all([posted(document) for document in documents])
    assert [document.id for document in written] == [drop(1).id, drop(3).id]
    assert [document.state for document in written] == [State.SENDING, State.SENDING]


def test_of_several_each_has_its_result(journal: Journal) -> None:
    """What is new, known already, stale or odd in one batch is each written, or refused, as it would be alone."""
    known, stale = journal.documents.record_all([drop(1), drop(2)])
    journal.documents.record(stale.taken(NOON))
    odd = drop(3, file="ä\udcff 1.xml", dropped_as="ä\udcff.xml", number='1"\\u0041\U0001f600', warnings=("\\", "é\n"))
    results = journal.documents.record_each([drop(4), drop(1), posted(stale), odd, posted(known)])
    assert [type(result) for result in results] == [Document, Changed, Changed, Document, Document]
    assert [str(result).rpartition(" ")[0] for result in results[1:3]] == [
        "invoice-1.xml is in the journal",
        "invoice-2.xml was taken a step further",
    ]
    assert journal.documents.by_id(odd.id) == odd.but(revision=1) == results[3]


def test_many_threads_write_at_once(journal: Journal) -> None:
    """Records of many threads are all kept, each told to its own thread, and one's error is no other's."""
    journal.documents.record(drop(0))
    told: dict[int, Document | Changed] = {}
    begin = threading.Barrier(16)

    def write(thread: int) -> None:
        begin.wait()
        for number in range(thread, 320, 16):
            try:
                told[number] = journal.documents.record(drop(number))
            except Changed as error:
                told[number] = error

    threads = [threading.Thread(target=write, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert isinstance(told.pop(0), Changed)
    assert told == {number: replace(drop(number), revision=1) for number in range(1, 320)}
    assert len(journal.documents.lying_in("f1", "sending")) == 320


def test_threads_share_a_commit(journal: Journal) -> None:
    """What has queued while another commit was under way is written with one flush, not one each."""
    commits = journal.engine.commits
    threads = [threading.Thread(target=journal.documents.record, args=(drop(number),)) for number in range(1, 9)]
    with journal.engine._writer_lock:
        for thread in threads:
            thread.start()
        until(lambda: len(journal.engine._queue) == 8)
    for thread in threads:
        thread.join()
    assert journal.engine.commits == commits + 1
    assert len(journal.documents.lying_in("f1", "sending")) == 8


def test_one_threads_trouble_is_not_the_others(journal: Journal) -> None:
    """A wish that the engine itself refuses fails alone; what was queued with it is written."""
    impossible = drop(1, size=2**70)
    results: dict[int, object] = {}

    def write(document: Document) -> None:
        try:
            results[document.size] = journal.documents.record(document)
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is this thread's
            results[document.size] = error

    threads = [threading.Thread(target=write, args=(document,)) for document in (drop(2), impossible, drop(3))]
    with journal.engine._writer_lock:
        for thread in threads:
            thread.start()
        until(lambda: len(journal.engine._queue) == 3)
    for thread in threads:
        thread.join()
    assert isinstance(results.pop(2**70), Exception)
    assert not journal.engine.trouble, "the journal can be written, so all other documents are posted"
    assert all(isinstance(result, Document) for result in results.values())
    assert {document.id for document in journal.documents.lying_in("f1", "sending")} == {drop(2).id, drop(3).id}


def test_a_damaged_file_is_told_as_a_sentence(path: Path) -> None:
    """A file that is no journal is named, with what to look at; it isn't overwritten."""
    path.write_bytes(b"this is not SQLite" * 100)
    with pytest.raises(JournalError, match=r"journal\.sqlite is damaged: .*not a database"):
        Journal.at(path)
    assert path.read_bytes() == b"this is not SQLite" * 100


@in_sqlite
def test_a_journal_that_cannot_be_written_says_so(journal: Journal) -> None:
    """On a full disk a record raises, so that nothing is posted; with room again, it works as before."""
    (pages,) = journal.engine._writer.execute("PRAGMA page_count").fetchone()
    journal.engine._writer.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(JournalError, match=r"can't be used: .*full; nothing is posted until it can"):
        journal.documents.record_all(drop(number, warnings=("x" * 1000,)) for number in range(100))
    journal.engine._writer.execute("PRAGMA max_page_count = 100000")
    journal.documents.record(drop())
    assert len(journal.documents.lying_in("f1", "sending")) == 1


def sent_before(journal: Journal, **changes: object) -> Document:
    """A document that the access point has accepted."""
    return journal.documents.record(accepted(journal.documents.record(drop(1, **changes))))


def again(journal: Journal, **changes: object) -> Document:
    """Another drop, of the first one's content but for `changes`, about to be posted."""
    alike = {"meaning": "meaning-1", "number": "1"}
    return posted(journal.documents.record(drop(2, **(alike | changes))))


def record_sending(journal: Journal, document: Document, rule: str) -> Document:
    (result,) = journal.documents.record_sending([document], rule, warning=lambda first: f"as {first.dropped_as}")
    if isinstance(result, FiledropError):
        raise result
    return result


def let_through(document: Document) -> Document:
    """The same document, which a person has let through."""
    return replace(document, history=(*document.history, Event(NOON, LET_THROUGH)))


def test_the_same_content_is_refused(journal: Journal) -> None:
    """`refuse`: the same content from the same sender to the same receiver is not posted again, from any company."""
    first = sent_before(journal)
    second = again(journal, company="fjord", folder="f2")
    with pytest.raises(Duplicate) as refused:
        record_sending(journal, second, "refuse")
    assert refused.value.document == first
    assert journal.documents.by_id(second.id) == replace(second, state=State.WAITING, identity="", first_attempt=None,
                                                  history=second.history[:1])  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"meaning": "another"}, "refuse"),
        ({"receiver": "0192:111111111"}, "refuse"),
        ({"sender": "0192:111111111"}, "refuse"),
        ({"meaning": "another", "number": "2"}, "number"),
        ({"meaning": "another", "issue_date": "2025-11-20"}, "number"),
        ({"meaning": "another", "type": "CreditNote"}, "number"),
        ({"meaning": "another", "number": None}, "number"),
        ({}, "allow"),
    ],
)
def test_what_is_no_duplicate(journal: Journal, changes: dict[str, str | None], rule: str) -> None:
    """Other content, another party, and under `number` another number, date or type, is another document."""
    sent_before(journal)
    assert record_sending(journal, again(journal, **changes), rule).state is State.SENDING


def test_the_same_number_is_refused(journal: Journal) -> None:
    """`number`: the same type, number and issue date from the same sender is a duplicate, to whomever it goes."""
    sent_before(journal)
    with pytest.raises(Duplicate):
        record_sending(journal, again(journal, meaning="mended", receiver="0192:111111111"), "number")


@pytest.mark.parametrize(
    ("changes", "warnings"),
    [
        ({"meaning": "another"}, 1),
        ({"receiver": "0192:111111111"}, 1),
        ({"meaning": "another", "company": "fjord"}, 1),
        ({"meaning": "another", "sender": "0192:111111111"}, 0),
        ({"meaning": "another", "number": "2"}, 0),
        ({"meaning": "another", "number": None}, 0),
        ({"meaning": "another", "issue_date": "2025-11-20"}, 0),
        ({"meaning": "another", "type": "CreditNote"}, 0),
    ],
)
def test_warning_of_the_same_number(journal: Journal, changes: dict[str, str | None], warnings: int) -> None:
    """`refuse`: what `number` would refuse is posted with a warning about the earlier document; nothing else is."""
    first = sent_before(journal)
    posted_again = record_sending(journal, again(journal, **changes), "refuse")
    assert posted_again.warnings == (f"as {first.dropped_as}",) * warnings


def test_no_warning_of_what_was_refused(journal: Journal) -> None:
    """An invoice that is corrected after it was rejected is sent without a warning."""
    journal.documents.record(posted(journal.documents.record(drop())).failed(NOON, Fault("rejected", "no")))
    assert record_sending(journal, again(journal, meaning="mended"), "refuse").warnings == ()


def test_participants_of_duplicates_are_compared_as_peppol_does(journal: Journal) -> None:
    """The same sender in capitals is the same sender."""
    sent_before(journal, sender="9908:ABC")
    with pytest.raises(Duplicate):
        record_sending(journal, again(journal, sender="9908:abc"), "refuse")


def test_what_was_refused_may_be_sent_again(journal: Journal) -> None:
    """A document that the access point rejected stands in nobody's way."""
    journal.documents.record(posted(journal.documents.record(drop())).failed(NOON, Fault("rejected", "no")))
    assert record_sending(journal, again(journal), "refuse").state is State.SENDING


def test_a_duplicate_is_let_through_once(journal: Journal) -> None:
    """`retry --anyway` lets one document through, not all that follow."""
    sent_before(journal)
    record_sending(journal, let_through(again(journal)), "refuse")
    with pytest.raises(Duplicate):
        record_sending(
            journal, posted(journal.documents.record(drop(3, meaning="meaning-1", sha256="sha-2"))), "refuse"
        )


def test_a_duplicate_that_was_let_through_leaves_the_next_to_another(journal: Journal) -> None:
    """While a document that was let through is tried again, a person may let another of its content through."""
    sent_before(journal)
    first = record_sending(journal, let_through(again(journal)), "refuse")
    first = journal.documents.record(first.never_arrived(LATER, "no connection"))
    second, third = (
        posted(journal.documents.record(drop(number, meaning="meaning-1", sha256="sha-2"))) for number in (3, 4)
    )
    assert record_sending(journal, posted(first), "refuse").state is State.SENDING
    assert record_sending(journal, let_through(second), "refuse").state is State.SENDING
    with pytest.raises(Duplicate):
        record_sending(journal, third, "refuse")


def test_a_file_that_is_let_through(journal: Journal) -> None:
    """A waiver is for one name in one folder, whatever letters it has; the last word counts, until it ends."""
    name = "faktura-\udce5.xml"
    journal.waivers.give("f1", name, Waiver("sha-1", 1))
    journal.waivers.give("f1", name, Waiver("sha-1", 2**62))
    assert journal.waivers.of("f1", name) == Waiver("sha-1", 2**62)
    assert (journal.waivers.of("f2", name), journal.waivers.of("f1", "faktura.xml")) == (None, None)
    assert (journal.waivers.waived("f1"), journal.waivers.waived("f2")) == ([name], [])
    journal.waivers.end("f1", [name])
    assert journal.waivers.waived("f1") == []


def test_what_is_known_of_a_drop(journal: Journal) -> None:
    """The journal knows a drop by its bytes or its name in `sending/`, while that document is open, or by a waiver."""
    document = journal.documents.record(drop(1))

    def knows(name: str = "other.xml", file: str = "other.xml", sha256: str = "sha-9", folder: str = "f1") -> bool:
        others = [Drop(f"{nth}.txt", f"{nth}.xml", f"sha-{nth}") for nth in range(100, 140)]  # as many as in a batch
        known = journal.documents.known_of(folder, [*others[:20], Drop(name, file, sha256), *others[20:]])
        assert known <= {name}
        return name in known

    assert (knows(sha256="sha-1"), knows(file="invoice-1.xml")) == (True, True)
    assert (knows(), knows(name="invoice-1.xml")) == (False, False)
    assert not knows(sha256="sha-1", file="invoice-1.xml", folder="f2")
    journal.waivers.give("f1", "other.xml", Waiver("sha-7", 1))
    assert (knows(), knows(name="third.xml"), knows(folder="f2")) == (True, False, False)
    journal.documents.record(document.taken(NOON))
    assert not knows(name="third.xml", sha256="sha-1", file="invoice-1.xml")


def test_two_alike_cannot_both_pass(journal: Journal) -> None:
    """Two identical documents that are posted at the same moment: one is sent, the other is its duplicate."""
    documents = [posted(journal.documents.record(drop(number, meaning="same"))) for number in range(1, 9)]
    begin, passed = threading.Barrier(len(documents)), []

    def send(document: Document) -> None:
        begin.wait()
        try:
            passed.append(record_sending(journal, document, "refuse"))
        except Duplicate:
            return

    threads = [threading.Thread(target=send, args=(document,)) for document in documents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(passed) == 1


def test_several_are_posted_together(journal: Journal) -> None:
    """Of documents that are written together each has its own fate: one alike is refused, one changed is left alone."""
    meanings = enumerate(("same", "same", "third", "fourth"), start=1)
    first, alike, changed, last = (
        posted(journal.documents.record(drop(number, meaning=meaning))) for number, meaning in meanings
    )
    journal.documents.record(changed)
    commits = journal.commits
    results = journal.documents.record_sending([first, alike, changed, last], "refuse", warning=str)
    assert [getattr(result, "state", type(result)) for result in results] == [
        State.SENDING, Duplicate, Changed, State.SENDING]  # fmt: skip
    assert [journal.documents.by_id(result.id) for result in results if isinstance(result, Document)] == results[::3]
    assert journal.commits == commits + 1
    again_ = journal.documents.record_each(
        [document.sent(NOON, 7, received=None, uuid=None) for document in (results[0], first)]
    )
    assert [getattr(result, "state", type(result)) for result in again_] == [State.SENT, Changed]


def test_what_a_sweep_is_given(journal: Journal) -> None:
    """A sweep gets what is waiting and due, found as sending, or not yet put away; the finished and the others' not."""
    documents = {
        "waiting": drop(1),
        "not yet": drop(2, due=LATER),
        "sending": posted(drop(3)),
        "doubt": posted(drop(4)).doubted(NOON, "?"),
        "to put away": accepted(drop(5), 5),
        "sent": accepted(drop(6), 6).at("sent", "a.xml"),
        "failed": drop(7).failed(NOON, Fault("not-xml", "no")),
        "done": accepted(drop(8), 8).delivered_at(NOON, "2026-11-20", None).at("archive/2026-11", "a.xml"),
        "another's": drop(9, folder="f2"),
    }
    names = {document.id: name for name, document in documents.items()}
    journal.documents.record_all(documents.values())

    def given(now: datetime | None = NOON, limit: int = 9) -> list[str]:
        return [
            names[document.id] for document in journal.documents.steps_due("f1", now, longest=LATER - NOON, limit=limit)
        ]

    assert given() == given(limit=1) == ["to put away", "sending", "failed", "waiting"]  # none hides the others
    assert (
        given(now=LATER)
        == given(now=NOON - timedelta(days=1))
        == ["to put away", "sending", "failed", "waiting", "not yet"]
    )
    assert given(now=None) == ["to put away", "sending", "failed"]
    assert journal.documents.next_due("f1") == LATER


def test_what_cannot_be_put_away_hides_nothing(journal: Journal) -> None:
    """Where more has failed than is read at once, what a kill has left as being sent is read all the same."""
    journal.documents.record_all([drop(number).failed(NOON, Fault("not-xml", "no")) for number in (1, 2)])
    left = journal.documents.record(posted(drop(3)))
    assert left in journal.documents.steps_due("f1", NOON, longest=LATER - NOON, limit=1)


def test_what_one_folder_refuses_hides_no_other_document(journal: Journal) -> None:
    """Where more can't be put into `archive/` than is read at once, what was accepted since is put away."""
    delivered = [accepted(drop(number), number).delivered_at(NOON, "2026-11-20", None) for number in (1, 2)]
    journal.documents.record_all(delivered)
    newer = [
        journal.documents.record(accepted(drop(3), 3)),
        journal.documents.record(drop(4).failed(NOON, Fault("not-xml", "no"))),
    ]
    due = journal.documents.steps_due("f1", NOON, longest=LATER - NOON, limit=1)
    assert [document for document in newer if document in due] == newer


@in_sqlite
def test_years_of_documents_slow_nothing_down(journal: Journal) -> None:
    """No statement but a person's search reads through all that was ever sent or received: each has a fitting index."""
    plans = {
        name: [step for *_, step in journal.engine._writer.execute(f"EXPLAIN QUERY PLAN {text}", defaultdict(str))]
        for name, text in sql.statements().items()
    }
    assert {"BY_ID", "IN_STATES", "ADOPT", "FORGET 0", "WAIVED", "RECEIVED_AS", "SENT_BEFORE"} < plans.keys()
    assert "USE TEMP B-TREE FOR ORDER BY" in plans["IN_STATES"]  # in their order, they would be found by nothing else
    of_few = "|".join(re.findall(r"INDEX (\w+) ON \w+ \([^)]*\) WHERE open", "".join(schema.DEFINITIONS)))
    through = rf"SCAN (documents|messages)(?! USING (COVERING )?INDEX ({of_few})\b)"  # few rows are open
    scans = {name for name, plan in plans.items() if re.search(through, "; ".join(plan))}
    assert scans == {"SEARCH", "SEARCH_MESSAGES", "PLACED_AS"}


@in_sqlite
def test_what_is_on_its_way_slows_no_sweep(journal: Journal) -> None:
    """What is asked at each sweep and turn costs SQLite no more steps because many documents are on their way."""
    asked = {
        "steps_due": lambda: journal.documents.steps_due("f1", NOON, longest=LATER - NOON, limit=9),
        "steps_astray": lambda: journal.documents.steps_due("f1", None, longest=LATER - NOON, limit=9),
        "next_due": lambda: journal.documents.next_due("f1"),
        "tracking_due": lambda: journal.documents.tracking_due(IDENTITY),
        "kept_in_sending": lambda: journal.documents.kept_in_sending("f1", NOON, LATER),
    }

    def steps(ask: Callable[[], object]) -> int:
        ask()
        (connection,) = journal.engine._readers
        taken: list[None] = []
        connection.set_progress_handler(lambda: taken.append(None), 1)
        ask()
        connection.set_progress_handler(None, 1)
        return len(taken)

    def on_its_way(nth: int) -> Document:
        return accepted(drop(nth), nth).at("sent", f"{nth}.xml").asked_after(LATER)

    journal.documents.record_all(map(on_its_way, range(1, 4)))
    few = {name: steps(ask) for name, ask in asked.items()}
    journal.documents.record_all(map(on_its_way, range(4, 500)))
    assert {name: steps(ask) for name, ask in asked.items()} == few
    assert all(few.values())


def test_older_sqlite_knows_the_words() -> None:
    """An upsert names what it may meet: before SQLite 3.35 that is no choice, and Enterprise Linux 9 has 3.34."""
    sources = [file.read_text(encoding="utf-8") for file in Path(schema.__file__).parent.glob("*.py")]
    upserts = re.findall(r"ON CONFLICT (?:\(\w+\) )?DO UPDATE", "".join(sources))
    assert upserts
    assert "ON CONFLICT DO UPDATE" not in upserts


def test_whose_a_message_number_is(journal: Journal) -> None:
    """A number belongs to one document for ever, within its account; surplus numbers are nobody else's either."""
    document = sent_before(journal)
    journal.numbers.record_surplus(IDENTITY, 8, "2026-11-20T12:00:09Z", document)
    assert journal.numbers.owned(IDENTITY, range(2000)) == {7: [document.received], 8: ["2026-11-20T12:00:09Z"]}
    assert journal.numbers.owned("another@ap.example.com", [7, 8]) == {}
    assert [journal.numbers.highest(identity) for identity in (IDENTITY, "another@ap.example.com")] == [8, 0]


@pytest.mark.parametrize("received", ["2026-11-20T12:00:01Z", None])
def test_answer_with_the_number_of_another(journal: Journal, received: str | None) -> None:
    """Of two documents for which the access point names one message, the first keeps it, whatever is known of it."""
    first = journal.documents.record(accepted(journal.documents.record(drop(1))).but(received=received))
    doubtful = journal.documents.record(posted(journal.documents.record(drop(2))).doubted(NOON, "no answer"))
    message = Message(
        msg_no=7, sender=first.sender, receiver=first.receiver, document_id=first.document_id,
        process_id=first.process_id, received="2026-11-20T12:00:01Z",
    )  # fmt: skip
    sent = doubtful.sent(NOON, 7, received=message.received, uuid=None, event="found")
    (after,) = journal.numbers.record_answers([Outcome(sent, message, otherwise=doubtful)])
    assert isinstance(after, Document)
    assert (after.state, after.msg_no) == (State.DOUBT, None)


def test_what_a_sidecar_claims(journal: Journal) -> None:
    """A row that was made from a sidecar has its number and its content for its own company, and for no other."""
    journal.documents.restore([accepted(drop(1)).at("sent", "1.xml")])
    assert journal.numbers.owned(IDENTITY, [7], "acme") == {7: ["2026-11-20T12:00:01.000+00:00"]}
    assert journal.numbers.owned(IDENTITY, [7], "fjord") == journal.numbers.owned(IDENTITY, [7]) == {}
    with pytest.raises(Duplicate):
        record_sending(journal, again(journal, folder="f2"), "refuse")
    assert record_sending(journal, posted(drop(3, company="fjord", meaning="meaning-1")), "number").revision == 1


def test_a_surplus_number_that_comes_again(journal: Journal) -> None:
    """After a server was set up anew, a surplus message may have the number of an older one: the newer is known."""
    document = sent_before(journal)
    for received in ("2026-11-20T12:00:09Z", "2026-11-21T12:00:00Z"):
        journal.numbers.record_surplus(IDENTITY, 8, received, document)
    assert journal.numbers.owned(IDENTITY, [8]) == {8: ["2026-11-21T12:00:00Z"]}
    assert [(one.id, one.msg_no) for one in journal.numbers.owners(IDENTITY, [7, 8], "acme")] == [
        (document.id, 7), (document.id, 8),
    ]  # fmt: skip


def test_what_tells_of_the_access_points_clocks(journal: Journal) -> None:
    """When messages were asked for and received, of the latest; and of those that were known before a document."""
    known = sent_before(journal)
    later = journal.documents.record(posted(journal.documents.record(drop(2))))
    doubtful = journal.documents.record(posted(journal.documents.record(drop(3))).doubted(NOON, "no answer"))
    journal.documents.record(doubtful.sent(NOON, 9, received="2026-11-20T14:00:00Z", uuid=None, event="found"))
    assert journal.numbers.times(IDENTITY) == [(NOON, known.received)]
    assert journal.numbers.times("another@ap.example.com") == []
    assert journal.numbers.received_before(later) == [known.received]
    assert journal.numbers.received_before(known) == []


@in_sqlite
def test_a_duplicate_is_looked_for_without_waiting(journal: Journal) -> None:
    """Whoever only asks for a document's like doesn't wait for another program that writes."""
    first = journal.documents.record(accepted(journal.documents.record(drop(1, meaning="the same"))))
    with closing(sqlite3.connect(journal.engine.path)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        found = journal.documents.duplicate_of(drop(2, meaning="the same"), by_number=False)
    assert found is not None
    assert found.id == first.id


def test_messages_are_known_by_more_than_their_number(journal: Journal) -> None:
    """A server set up anew counts from the start again: the same number with another time is another message."""
    first, second = a_message(1), a_message(1, received="2026-11-21T12:00:00Z", state="stuck")
    first, second = journal.messages.record(first), journal.messages.record(second)
    first = journal.messages.record(replace(first, state="read"))
    assert {row.received: row for row in journal.messages.numbered(1)} == {
        first.received: first,
        second.received: second,
    }
    assert journal.messages.in_states(IDENTITY, "stuck") == [second]
    journal.messages.forget(second)
    assert journal.messages.in_states(IDENTITY, "stuck") == []


def test_a_messages_step_from_a_stale_row(journal: Journal) -> None:
    """It is refused and overwrites nothing, and holds up no other message's of the same commit."""
    stale = journal.messages.record(a_message(1))
    read = journal.messages.record(replace(stale, state="read"))
    for row in (a_message(1), stale):
        with pytest.raises(Changed, match="message 1 was taken a step further"):
            journal.messages.record(row)
        journal.messages.forget(row)
        assert journal.messages.adopt("former@ap.example.com", [row]) == []
    other, refused = journal.messages.record_all([a_message(2), stale])
    assert refused is None
    assert journal.messages.in_states(IDENTITY, "read", "named") == [read, other]


def test_a_message_of_a_former_account(journal: Journal) -> None:
    """Its row becomes the account's; where the account has the message itself by now, it stays as it is."""
    former = [a_message(number, identity="former@ap.example.com", state="read") for number in (1, 2)]
    one, two = map(journal.messages.record, former)
    own = journal.messages.record(a_message(2))
    assert journal.messages.adopt(IDENTITY, [one, two]) == [replace(one, identity=IDENTITY, revision=2)]
    assert journal.messages.in_states(IDENTITY, "read", "named") == [replace(one, identity=IDENTITY, revision=2), own]


def test_temporary_files_that_are_named(journal: Journal) -> None:
    """The journal knows which temporary files of a folder hold whole documents."""
    journal.messages.record_all([
        a_message(1, folder="/srv/a", temporary=".1.part"),
        a_message(2, folder="/srv/a", temporary=".2.part", state="read"),
        a_message(3, folder="/srv/b", temporary=".3.part"),
    ])  # fmt: skip
    assert journal.messages.drafts("/srv/a") == {".1.part"}


def test_folders(journal: Journal, tmp_path: Path) -> None:
    """A folder is known by its id, found by its place, and remembered as settled when it moves."""
    assert journal.folders.path("f1") is None
    assert journal.folders.at(tmp_path) is None
    journal.folders.record("f1", tmp_path)
    assert not journal.folders.is_settled("f1")
    journal.folders.settle("f1")
    journal.folders.record("f1", tmp_path / "moved")
    assert journal.folders.path("f1") == tmp_path / "moved"
    assert journal.folders.at(tmp_path / "moved") == "f1"
    assert journal.folders.is_settled("f1")


def test_a_drives_root_is_a_folder_like_others(journal: Journal) -> None:
    """A path without a name, as a share of Windows has, may be where another folder was seen before."""
    share = cast("Path", PureWindowsPath("//server/invoices"))
    journal.folders.record("f1", share)
    journal.folders.record("f2", share)
    assert journal.folders.at(share) == "f2"


def test_changes_are_counted_by_folder(journal: Journal) -> None:
    """Each record of a document counts for its folder, and what is refused doesn't; what was marked stays so."""
    first = journal.documents.record(drop(1))
    with pytest.raises(Changed):
        journal.documents.record(drop(1))
    journal.documents.record_all([posted(first), first, drop(2), drop(3, folder="f2")])
    assert [journal.folders.changes(folder)[:3] for folder in ("f1", "f2", "f3")] == [(3, 0, 0), (1, 0, 0), (0, 0, 0)]
    assert journal.folders.mark("f1").counted == 3
    journal.documents.record(drop(4))
    assert journal.folders.changes("f1")[:3] == (4, 3, 0)


def test_a_folder_is_to_be_taken_up_anew(journal: Journal, tmp_path: Path) -> None:
    """That is written with the steps of its documents; from then on more is counted than its marker has seen."""
    journal.folders.record("f1", tmp_path)
    journal.folders.settle("f1")
    waiting = journal.documents.record(drop())
    journal.documents.unsettle("f1", 40, [waiting.suspected(NOON, IDENTITY)])
    assert not journal.folders.is_settled("f1")
    assert [document.id for document in journal.documents.in_state(State.DOUBT)] == [waiting.id]
    counted, marked, *_ = journal.folders.changes("f1")
    assert counted > marked == 40
    journal.documents.unsettle("f1", 39, [])  # late: what was marked stays so
    assert journal.folders.changes("f1").marked == 40


def test_a_folder_is_taken_over(journal: Journal, tmp_path: Path) -> None:
    """Its marker must have seen more than before, and what waits there is suspect until it is put in doubt."""
    journal.folders.record("f1", tmp_path)
    journal.folders.settle("f1")
    journal.documents.record(drop())
    assert journal.folders.take_over("f1", tmp_path) == journal.folders.changes("f1") == (2, 2, 2, True, ("",))
    assert [journal.folders.changes("f1").missing(seen) for seen in (2, 3)] == [0, 1]
    assert not journal.folders.is_settled("f1")
    assert journal.folders.mark_ahead("f1")[:4] == (3, 3, 2, True), "a post of before changes nothing about that"
    journal.documents.unsettle("f1", 2, [])
    assert journal.folders.changes("f1")[:4] == (4, 3, 2, False)


def test_totals(journal: Journal) -> None:
    """What is sent, delivered, failed and received is counted as it happens, once; what is restored isn't new."""
    rejected, not_xml = Fault("rejected", "no"), Fault("not-xml", "no")
    sent, failed, refused = journal.documents.record_all([accepted(drop(1)), drop(2), posted(drop(3))])
    journal.documents.record_places([sent.at("sent", "a.xml")])
    assert journal.totals.events() == [], "it is counted when its state changes"
    journal.documents.record(failed.failed(NOON, not_xml).at("failed", "b.xml"))
    journal.documents.record(refused.failed(NOON, rejected))
    journal.documents.record(drop(4).failed(NOON, rejected))
    waiting = journal.documents.record(posted(drop(5)))
    journal.documents.record(waiting.sent(NOON, 5, received=None, uuid=None))
    with pytest.raises(Changed):
        journal.documents.record(waiting.failed(NOON, rejected))
    journal.documents.restore(
        [drop(6).failed(NOON, rejected).at("failed", "f.xml"), accepted(drop(7)).at("sent", "g.xml")]
    )
    delivered = journal.documents.by_id(drop(7).id)
    assert delivered is not None
    journal.documents.record(delivered.delivered_at(NOON, "2026-11-20T12:00:00Z", None))
    row = a_message(1, company="acme")
    for state in ("named", "placing", "read", "read"):
        row = journal.messages.record(replace(row, state=state))
    row = a_message(2, company="acme")
    for state in ("stuck", "read"):  # by a person
        row = journal.messages.record(replace(row, state=state))
    assert sorted(journal.totals.events()) == [
        ("acme", "delivered", "", 1, NOON),
        ("acme", "failed", "not-xml", 1, None),
        ("acme", "failed", "rejected", 2, None),
        ("acme", "received", "", 1, None),
        ("acme", "sent", "", 1, NOON),
    ]


def test_under_way(journal: Journal) -> None:
    """What is unfinished is counted by company and state, with the oldest of each."""
    journal.documents.record_all([drop(1), drop(2), posted(drop(3)).doubted(NOON, "cut off"), drop(4, company="fjord")])
    journal.documents.record_all(
        [accepted(drop(5)), drop(6).taken(NOON), accepted(drop(7)).delivered_at(NOON, "2026-11", None)]
    )
    assert sorted(journal.totals.under_way()) == [
        ("acme", "doubt", 1, drop(3).claimed),
        ("acme", "sent", 1, NOON),
        ("acme", "waiting", 2, drop(1).claimed),
        ("fjord", "waiting", 1, drop(4).claimed),
    ]


def test_a_file_that_cannot_become_smaller(path: Path) -> None:
    """A file that another program made, such as of a dump, is asked once: nobody waits for its end."""
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE other (one)")
    with closing(Journal.at(path)) as journal:
        assert journal.engine.value("PRAGMA auto_vacuum") == 0
        journal.removal.forget(
            [one.id for one in journal.documents.record_all([drop(number) for number in range(100)])]
        )
        assert journal.engine.value(UNUSED) > 0
        assert not journal.engine.shrink()


@in_sqlite
def test_a_file_that_becomes_smaller(journal: Journal) -> None:
    """Else what was removed is given back to the disk, to the last page."""
    journal.removal.forget([one.id for one in journal.documents.record_all([drop(number) for number in range(2000)])])
    while journal.engine.shrink():
        pass
    assert journal.engine.value(UNUSED) == 0
