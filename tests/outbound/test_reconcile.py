"""What a comparison of a folder with the journal finds, what it makes of that, and when the next one is made."""

from __future__ import annotations

import hashlib
import math
import os
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from support.bench import CONTENT, lay, row
from support.documents import SELLER, invoice
from support.drops import IDENTITY, accepted, drop, posted
from support.rights import as_anyone
from support.sharing import on_a_share
from support.stepping import Life, under_way
from support.systems import modes
from support.unwritable import refuse_writes

from filedrop.errors import JournalError
from filedrop.files import FileStamp
from filedrop.journal import Waiver
from filedrop.model.document import Document, Need, State
from filedrop.outbound.notes import write_notes
from filedrop.outbound.reconcile import Findings, _adopted, _compare, _end_or_ask, mark
from filedrop.storage import sidecar
from filedrop.storage.marker import read_marker

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.bench import Bench
    from support.stepping import Clock

RESCAN = 120.0  # seconds
ENDS = (".json", ".why.txt")


def compare(bench: Bench, times: int = 1) -> None:
    """Compare the folder with the journal, so often."""
    for _ in range(times):
        bench.clock.pass_on(RESCAN + 1)
        bench.life.pipeline.reconciliation.step(comes_first=False)
        finish(bench)


def finish(bench: Bench) -> None:
    """Take a comparison that has begun to its end."""
    while bench.life.pipeline.reconciliation.is_under_way:
        bench.life.pipeline.reconciliation.step(comes_first=False)


def unsettle(bench: Bench) -> None:
    """Have the journal be one that may have lost what it knew of the folder."""
    bench.life.journal.documents.unsettle(bench.desk.folder.id, bench.desk.folder.changes, [])


def only(bench: Bench) -> Document:
    """The only document in `sending/` that the journal knows."""
    (document,) = bench.life.journal.documents.lying_in(bench.desk.folder.id, "sending")
    return document


def left_over(bench: Bench, name: str = "invoice.xml", content: bytes = CONTENT) -> Path:
    """A file in `sending/` that the journal doesn't know."""
    path = bench.outbound / "sending" / name
    bench.world.put(path, content)
    return path


@pytest.fixture
def in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """A list is made in slices of one name, as one of very many in slices of a thousand."""
    monkeypatch.setattr("filedrop.outbound.reconcile.LISTED_AT_ONCE", 1)


def test_when_it_is_made(bench: Bench) -> None:
    """A comparison is made at the start and after each `rescan`; where it has to come first, at once."""
    compared = bench.life.pipeline.reconciliation
    left_over(bench)
    assert compared.next - bench.clock.steady() == pytest.approx(RESCAN, abs=1)
    bench.clock.pass_on(RESCAN - 2)
    on_a_share(bench.desk.folder)
    compared.step(comes_first=False)
    assert not bench.desk.folder.local
    assert not bench.life.journal.documents.lying_in(bench.desk.folder.id, "sending")
    compared.step(comes_first=True)
    assert only(bench).dropped_as == "invoice.xml"
    assert bench.desk.folder.local
    assert compared.next == bench.clock.steady() + RESCAN
    assert not compared.is_under_way


@pytest.mark.usefixtures("in_slices")
def test_beside_the_steps(bench: Bench) -> None:
    """A comparison of very much goes on a little in each step; at a start, and with a new journal, it is made whole."""
    for number in range(20):
        left_over(bench, f"{number:02}.xml", invoice(f"{number}"))
        lay(bench, "sent", accepted(drop(number)), invoice(f"sent {number}"))
    compared, steps, adopted, at_once = bench.life.pipeline.reconciliation, 0, 0, 0
    bench.clock.pass_on(RESCAN + 1)
    while steps == 0 or compared.is_under_way:
        compared.step(comes_first=False)
        steps += 1
        before, adopted = adopted, len(bench.life.journal.documents.lying_in(bench.desk.folder.id, "sending"))
        at_once = max(at_once, adopted - before)
    assert at_once == 4
    assert steps >= (20 + 20 + 20 + 20) / 4  # what is listed, what is adopted, and both sides of `sent/`
    assert adopted == 20
    unsettle(bench)
    bench.clock.pass_on(RESCAN + 1)
    compared.step(comes_first=False)
    assert not compared.is_under_way
    assert bench.life.journal.folders.is_settled(bench.desk.folder.id)
    bench.clock.pass_on(RESCAN + 1)
    compared.step(comes_first=False)
    assert compared.is_under_way
    compared.step(comes_first=True)
    assert compared.next == bench.clock.steady() + RESCAN
    life = Life(bench.world, bench.clock, state=bench.world.base / "another state")
    assert life.pipeline.reconciliation.next == -math.inf
    life.drop()


@pytest.mark.usefixtures("in_slices")
def test_at_a_start(bench: Bench, clock: Clock) -> None:
    """The first comparison ends before anything is claimed, clears drafts and, at once, notes without a document."""
    for number in range(10):
        left_over(bench, f"{number}.xml", invoice(f"{number}"))
    draft = bench.outbound / "sending" / ".01JD0000000000000000000001.tmp"
    note = bench.outbound / "failed" / "gone.xml.why.txt"
    note.touch()
    draft.touch()
    bench.life.drop()
    bench.life = Life(bench.world, clock)
    bench.life.pipeline.folder.take_up(bench.life.journal)
    bench.life.pipeline.reconciliation.step(comes_first=False)
    assert not bench.life.pipeline.reconciliation.is_under_way
    assert not draft.exists()
    assert not note.exists()
    assert len(bench.life.journal.documents.lying_in(bench.desk.folder.id, "sending")) == 10
    draft.touch()
    bench.clock.pass_on(RESCAN + 1)
    bench.life.pipeline.reconciliation.step(comes_first=True)
    assert draft.exists()
    bench.life.drop()


def test_drafts_are_cleared_after_a_first_comparison_that_broke_off(bench: Bench, clock: Clock) -> None:
    """Where `sending/` was away at the first comparison, a killed process's drafts go once it is back."""
    sending, aside = bench.outbound / "sending", bench.outbound / ".aside"
    draft = sending / ".01JD0000000000000000000001.tmp"
    draft.touch()
    bench.life.drop()
    bench.life = Life(bench.world, clock)
    bench.life.pipeline.folder.take_up(bench.life.journal)
    sending.rename(aside)
    bench.life.pipeline.reconciliation.step(comes_first=False)
    assert f"{sending} can't be used" in bench.desk.health.unreconciled
    aside.rename(sending)
    compare(bench)
    assert not draft.exists()
    assert bench.desk.health.unreconciled == ""
    bench.life.drop()


@modes
def test_an_archive_that_cannot_be_read(bench: Bench, clock: Clock) -> None:
    """What a kill has left in `sending/` is taken up all the same; drafts are cleared when all can be read again."""
    left_over(bench)
    bench.life.drop()
    archive = bench.outbound / "archive"
    archive.chmod(0)
    with as_anyone():
        bench.life = Life(bench.world, clock)
        bench.life.pipeline.folder.take_up(bench.life.journal)
        bench.life.pipeline.reconciliation.step(comes_first=False)
    archive.chmod(0o700)
    assert bench.desk.health.unreconciled == f"{archive} can't be used: Permission denied"
    assert only(bench).dropped_as == "invoice.xml"
    compare(bench)
    assert bench.desk.health.unreconciled == ""
    bench.life.drop()


@modes
def test_a_place_that_cannot_be_listed(bench: Bench) -> None:
    """What can't be used is said, and logged once; the next comparison is made in its time, and ends what was said."""
    sent = bench.outbound / "sent"
    sent.chmod(0)
    with as_anyone():
        compare(bench)
        assert bench.desk.health.unreconciled == f"{sent} can't be used: Permission denied"
        assert bench.life.pipeline.reconciliation.next == bench.clock.steady() + RESCAN
        assert bench.told("folder.not_reconciled") == 1
        compare(bench)
    assert bench.told("folder.not_reconciled") == 1
    sent.chmod(0o700)
    compare(bench)
    assert bench.desk.health.unreconciled == ""


def test_a_journal_that_fails(bench: Bench) -> None:
    """Where the journal can't be written, the comparison begins again at the next step."""
    left_over(bench)
    compared = bench.life.pipeline.reconciliation
    bench.clock.pass_on(RESCAN + 1)
    refuse_writes(bench.life.journal)
    with pytest.raises(JournalError):
        compared.step(comes_first=False)
    refuse_writes(bench.life.journal, refuses=False)
    assert not compared.is_under_way
    compared.step(comes_first=False)
    assert only(bench).file == "invoice.xml"


def test_the_marker(bench: Bench) -> None:
    """After a comparison the marker says how far the journal has counted; that it can't be written hinders nothing."""
    journal, folder = bench.life.journal, bench.desk.folder
    for number in range(3):
        left_over(bench, f"{number}.xml", invoice(f"{number}"))
    compare(bench)
    marker = read_marker(bench.outbound)
    assert marker is not None
    assert marker.changes == journal.folders.changes(folder.id).counted > 0


@modes
def test_a_marker_that_cannot_be_written(bench: Bench) -> None:
    """That the marker can't be written hinders nothing."""
    lay(bench, "sending", drop())
    (bench.outbound / "sending").chmod(0o500)
    with as_anyone():
        mark(bench.desk)
    (bench.outbound / "sending").chmod(0o700)
    mark(bench.desk)
    marker = read_marker(bench.outbound)
    assert marker is not None
    assert marker.changes == bench.life.journal.folders.changes(bench.desk.folder.id).counted


def test_what_the_journal_does_not_know(bench: Bench) -> None:
    """A file in `sending/` without a row becomes a document under its own name; files of other names are nobody's."""
    path = left_over(bench, "invoice-2.xml")
    path.with_name("invoice-2.xml.json").write_bytes(sidecar.name_alone("invoice.xml", "invoice-2.xml"))
    left_over(bench, "invoice.tmp", invoice("2"))
    compare(bench)
    document = only(bench)
    assert (document.file, document.dropped_as) == ("invoice-2.xml", "invoice.xml")
    assert (document.state, document.sender, document.size) == (State.WAITING, SELLER, len(CONTENT))
    assert [event.event for event in document.history] == ["claimed"]
    compare(bench)
    assert only(bench) == document


def test_rules_for_what_the_journal_does_not_know(make_bench: Callable[..., Bench]) -> None:
    """What is taken up in `sending/` goes by the mapping, as what is claimed."""
    bench = make_bench("mapping: [{channel: {xpath: //Note}}]")
    left_over(bench)
    compare(bench)
    assert only(bench).channel == "Thank you for your order."


def test_what_a_lost_journal_may_have_known(bench: Bench) -> None:
    """What lies in `sending/` may have been posted, by the account of today, since the file was written; it is told."""
    path = left_over(bench)
    left_over(bench, "nobody's.xml", invoice("2", receiver=None))
    written = datetime(2019, 1, 2, tzinfo=UTC)
    os.utime(path, (written.timestamp(), written.timestamp()))
    unsettle(bench)
    compare(bench)
    rows = {
        document.file: document for document in bench.life.journal.documents.lying_in(bench.desk.folder.id, "sending")
    }
    assert rows["nobody's.xml"].state is State.FAILED
    document = rows["invoice.xml"]
    assert (document.state, document.claimed) == (State.DOUBT, written)
    assert document.identity == bench.desk.shared.access_point.identity != ""
    assert document.history[-1].event == "in doubt"
    assert abs(document.history[-1].at - bench.clock.now()) < timedelta(minutes=1)
    assert bench.told("document.doubted") == 1


def test_sidecars_tell_a_lost_journal(bench: Bench) -> None:
    """Where the journal may have lost what it knew, sidecars tell it; one that has lost nothing asks none of them."""
    document, within = accepted(drop(folder=bench.desk.folder.id)), bench.outbound / "sent"
    (within / document.file).write_bytes(CONTENT)
    (within / f"{document.file}.json").write_bytes(sidecar.outbound(document, document.file))
    compare(bench)
    assert bench.life.journal.documents.by_id(document.id) is None
    unsettle(bench)
    compare(bench)
    assert (row(bench, document).state, row(bench, document).place) == (State.SENT, "sent")


@modes
def test_what_cannot_be_read(bench: Bench) -> None:
    """A file in `sending/` that nobody may read is put back under its own name, with all others taken up."""
    path = left_over(bench, "invoice-2.xml")
    path.with_name("invoice-2.xml.json").write_bytes(sidecar.name_alone("invoice.xml", "invoice-2.xml"))
    path.chmod(0)
    left_over(bench, "other.xml", invoice("2"))
    with as_anyone():
        compare(bench)
    assert bench.lying() == {"invoice.xml", "sending/other.xml"}
    assert only(bench).file == "other.xml"
    assert bench.desk.health.unreconciled == ""


@modes
def test_what_cannot_be_read_and_may_have_been_posted(bench: Bench) -> None:
    """It stays, that is said, and the others are taken up; only when it can be read is the folder settled."""
    path = left_over(bench)
    path.chmod(0)
    left_over(bench, "other.xml", invoice("2"))
    unsettle(bench)
    with as_anyone():
        compare(bench)
    assert bench.lying() == {"sending/invoice.xml", "sending/other.xml"}
    assert only(bench).file == "other.xml"
    assert bench.desk.health.unreconciled == f"{path} can't be used: Permission denied"
    assert not bench.life.journal.folders.is_settled(bench.desk.folder.id)
    path.chmod(0o600)
    compare(bench)
    assert len(bench.life.journal.documents.lying_in(bench.desk.folder.id, "sending")) == 2
    assert bench.life.journal.folders.is_settled(bench.desk.folder.id)


@pytest.mark.parametrize("doubtful", [True, False])
def test_what_is_gone_meanwhile(bench: Bench, *, doubtful: bool) -> None:
    """What lay in `sending/` when that was listed, and is gone or no file any more, is nobody's."""
    (bench.outbound / "sending" / "folder.xml").mkdir()
    for name in ("gone.xml", "folder.xml"):
        assert _adopted(bench.desk, name, doubtful=doubtful) is None
    assert bench.lying() == set()


@pytest.mark.parametrize("content", [CONTENT[:500], invoice("2", size=20_000)], ids=["half", "too large"])
def test_what_was_never_ready(make_bench: Callable[..., Bench], content: bytes) -> None:
    """What can't be read as a document is put back under its own name: there it is waited for, or fails."""
    bench = make_bench(max_size="10KB")
    path = left_over(bench, "invoice-2.xml", content)
    path.with_name("invoice-2.xml.json").write_bytes(sidecar.name_alone("invoice.xml", "invoice-2.xml"))
    compare(bench)
    assert bench.lying() == {"invoice.xml"}
    assert not bench.life.journal.documents.lying_in(bench.desk.folder.id, "sending")


@pytest.mark.parametrize("place", ["sending", "sent"])
def test_renamed_by_a_person(bench: Bench, place: str) -> None:
    """A file that was renamed in `sending/`, or moved there from `sent/`, is still the document that it was."""
    document = lay(bench, place, accepted(drop()) if place == "sent" else drop())
    (bench.outbound / place / document.file).rename(bench.outbound / "sending" / "other.xml")
    compare(bench)
    now = only(bench)
    assert (now.id, now.place, now.file) == (document.id, "sending", "other.xml")
    assert now.state is document.state


def test_a_second_of_the_same_bytes(bench: Bench) -> None:
    """A file in `sending/` of the same bytes as another that lies where it belongs is a document of its own."""
    first = lay(bench, "sending", drop())
    left_over(bench, "other.xml")
    compare(bench)
    assert {one.file for one in bench.life.journal.documents.lying_in(bench.desk.folder.id, "sending")} == {
        first.file,
        "other.xml",
    }


@pytest.mark.parametrize("same", [True, False], ids=["this file", "an earlier one"])
def test_let_through_before_the_journal_knew(bench: Bench, *, same: bool) -> None:
    """What a person has let through under its own name is let through though it was claimed without a row."""
    path = left_over(bench, "invoice-2.xml")
    path.with_name("invoice-2.xml.json").write_bytes(sidecar.name_alone("invoice.xml", "invoice-2.xml"))
    waiver = Waiver(hashlib.sha256(CONTENT).hexdigest(), FileStamp.of(path.stat()).modified - (not same))
    bench.life.journal.waivers.give(bench.desk.folder.id, "invoice.xml", waiver)
    compare(bench)
    assert only(bench).was_let_through is same


def test_a_file_that_a_person_took(bench: Bench) -> None:
    """A document that waits ends as taken when two comparisons have missed its file, not one; that is told."""
    taken, there = lay(bench, "sending", drop(1)), lay(bench, "sending", drop(2), invoice("2"))
    (bench.outbound / "sending" / taken.file).unlink()
    compare(bench)
    assert row(bench, taken).state is State.WAITING
    compare(bench)
    assert row(bench, taken).state is State.TAKEN
    assert row(bench, taken).history[-1].event == "taken"
    assert abs(row(bench, taken).history[-1].at - bench.clock.now()) < timedelta(minutes=1)
    assert row(bench, there) == there
    assert bench.told("document.taken") == 1
    assert not bench.desk.shared.missing._was_asked


def test_a_file_that_was_only_moved_for_a_while(bench: Bench) -> None:
    """A file that lies there again at every second comparison was never taken."""
    document = lay(bench, "sending", drop())
    path, aside = bench.outbound / "sending" / document.file, bench.world.base / "aside.xml"
    for _ in range(3):
        path.rename(aside)
        compare(bench)
        aside.rename(path)
        compare(bench)
    assert row(bench, document) == document


def test_files_that_may_have_come_back(bench: Bench) -> None:
    """While a file of its size lies in `outbound/`, a document isn't taken: it may be that. All others are."""
    back = [lay(bench, "sending", drop(number), invoice(f"{number}")) for number in range(1, 6)]
    gone = [lay(bench, "sending", drop(number), invoice(f"{number}")) for number in range(10, 15)]
    for document in (*back, *gone):
        (bench.outbound / "sending" / document.file).unlink()
    (bench.outbound / "other.xml").write_bytes(invoice("1"))
    compare(bench, 3)
    assert {row(bench, document).state for document in back} == {State.WAITING}
    assert {row(bench, document).state for document in gone} == {State.TAKEN}
    (bench.outbound / "other.xml").write_bytes(b"<another/>")
    compare(bench)
    assert {row(bench, document).state for document in back} == {State.TAKEN}


def begin(bench: Bench) -> None:
    """Take a comparison so far that the first of ten files in `sending/` has been taken up."""
    for number in range(10):
        left_over(bench, f"left over {number}.xml", invoice(f"left over {number}"))
    before = len(bench.life.journal.documents.lying_in(bench.desk.folder.id, "sending"))
    bench.clock.pass_on(RESCAN + 1)
    while len(bench.life.journal.documents.lying_in(bench.desk.folder.id, "sending")) == before:
        bench.life.pipeline.reconciliation.step(comes_first=False)
    assert bench.life.pipeline.reconciliation.is_under_way


@pytest.mark.usefixtures("in_slices")
def test_put_back_while_it_is_compared(bench: Bench) -> None:
    """A file that lies there again before its document is ended wasn't taken, and is asked after by nobody."""
    document = lay(bench, "sending", in_doubt(bench))
    path, aside = bench.outbound / "sending" / document.file, bench.world.base / "aside.xml"
    path.rename(aside)
    compare(bench, 2)
    bench.desk.shared.missing.note_asked(document.id)
    begin(bench)
    aside.rename(path)
    finish(bench)
    assert row(bench, document) == document
    assert not bench.desk.shared.missing._was_asked


@pytest.mark.usefixtures("in_slices")
def test_claimed_while_it_is_compared(bench: Bench) -> None:
    """A file in `sending/` that gets its row before it is its turn becomes no second document."""
    begin(bench)
    content = invoice("left over 9")
    document = lay(bench, "sending", drop(file="left over 9.xml"), content)
    finish(bench)
    rows = bench.life.journal.documents.lying_in(bench.desk.folder.id, "sending")
    assert [one for one in rows if one.file == document.file] == [document]
    assert len(rows) == 10


def test_a_file_that_a_sender_has(bench: Bench) -> None:
    """While a sender or validator has a document, or it is on its way to its place, its file is missed by nobody."""
    posted = lay(bench, "sending", drop(1))
    moving = lay(bench, "sending", accepted(drop(2)), invoice("2"))
    for document in (posted, moving):
        (bench.outbound / "sending" / document.file).unlink()
    under_way(bench.life.pipeline).add(posted.id)
    compare(bench, 3)
    assert row(bench, posted) == posted
    assert row(bench, moving) == moving
    assert not bench.desk.shared.missing._was_asked


def in_doubt(bench: Bench, identity: str = "") -> Document:
    """A document in `sending/` that may have arrived."""
    return drop().suspected(drop().claimed, identity or bench.desk.shared.access_point.identity)


def sent(bench: Bench) -> Document:
    """A document in `sent/` that isn't delivered yet."""
    due = accepted(drop()).claimed + timedelta(days=36500)
    return accepted(drop()).but(identity=bench.desk.shared.access_point.identity, due=due)


@pytest.mark.parametrize("place", ["sending", "sent"])
def test_the_access_point_is_asked_first(bench: Bench, place: str) -> None:
    """What the access point may have ends as taken only when it was asked once more; for that, a sent one is due."""
    document = lay(bench, place, sent(bench) if place == "sent" else in_doubt(bench))
    path = bench.outbound / place / document.file
    path.unlink()
    compare(bench, 4)
    assert row(bench, document).state is document.state
    assert bench.desk.shared.missing._was_asked == {document.id: False}
    if place == "sent":
        due = row(bench, document).due
        assert due is not None
        assert due < bench.clock.now()
        assert row(bench, document).revision == document.revision + 1
    bench.desk.shared.missing.note_asked(document.id)
    compare(bench)
    assert row(bench, document).state is State.TAKEN
    assert not bench.desk.shared.missing._was_asked
    assert bench.told("document.taken") == 1


@pytest.mark.parametrize("place", ["sending", "sent"])
def test_put_back_before_the_answer(bench: Bench, place: str) -> None:
    """Where the file lies there again, what the access point was asked since counts no more."""
    document = lay(bench, place, sent(bench) if place == "sent" else in_doubt(bench))
    path, aside = bench.outbound / place / document.file, bench.world.base / "aside.xml"
    path.rename(aside)
    compare(bench, 2)
    bench.desk.shared.missing.note_asked(document.id)
    aside.rename(path)
    compare(bench)
    assert not bench.desk.shared.missing._was_asked
    path.rename(bench.outbound / "other.xml")
    compare(bench)
    bench.desk.shared.missing.note(document.id)
    bench.desk.shared.missing.note_asked(document.id)
    compare(bench)
    assert not bench.desk.shared.missing._was_asked
    assert row(bench, document).state is document.state


def test_of_an_account_that_nobody_told(bench: Bench) -> None:
    """A document whose sidecar, of an earlier version, tells no account is asked after at the one that there is."""
    document = lay(bench, "sent", sent(bench).but(identity=""))
    (bench.outbound / "sent" / document.file).unlink()
    compare(bench, 3)
    assert row(bench, document).state is State.SENT
    assert bench.desk.shared.missing._was_asked == {document.id: False}


def test_a_step_further_meanwhile(bench: Bench) -> None:
    """A document that was taken a step further since it was found missing isn't ended by what was known before."""
    before = lay(bench, "sent", sent(bench))
    now = bench.life.journal.documents.record(before.delivered_at(bench.clock.now(), "2027-01-01T00:00:00Z", None))
    bench.desk.shared.missing.note(before.id)
    bench.desk.shared.missing.note_asked(before.id)
    _end_or_ask(bench.desk.shared, before)
    assert row(bench, before) == now


@pytest.mark.parametrize("place", ["sending", "sent"])
def test_of_another_account(bench: Bench, place: str) -> None:
    """A document of an account that isn't asked from here ends as taken when two comparisons have missed it."""
    document = in_doubt(bench, IDENTITY) if place == "sending" else sent(bench).but(identity=IDENTITY)
    document = lay(bench, place, document)
    (bench.outbound / place / document.file).unlink()
    compare(bench, 2)
    assert row(bench, document).state is State.TAKEN


def test_notes_in_sending(bench: Bench) -> None:
    """What has been in `sending/` for five minutes has a note that says why, also where somebody removes the note.

    It is written once, and ends with the document.
    """
    (bench.outbound / "HOLD").touch()
    document = lay(bench, "sending", drop(claimed=bench.clock.now()))
    note = bench.outbound / "sending" / f"{document.file}.why.txt"
    compare(bench)
    assert not note.exists()
    compare(bench, 2)
    assert "HOLD" in note.read_text()
    written = note.stat().st_ino
    compare(bench)
    assert note.stat().st_ino == written
    note.unlink()
    compare(bench)
    assert "HOLD" in note.read_text()
    (bench.outbound / "HOLD").unlink()
    compare(bench)
    assert "HOLD" not in note.read_text()
    (bench.outbound / "sending" / document.file).unlink()
    compare(bench, 3)
    assert bench.lying() == set()


def test_a_note_of_what_is_being_sent(bench: Bench) -> None:
    """What has waited for five minutes and is being sent now has a note that says so."""
    (bench.outbound / "HOLD").touch()
    document = lay(bench, "sending", drop(claimed=bench.clock.now() - timedelta(hours=1)))
    note = bench.outbound / "sending" / f"{document.file}.why.txt"
    compare(bench)
    assert "HOLD" in note.read_text()
    bench.life.journal.documents.record(posted(row(bench, document)))
    compare(bench)
    assert "It is being sent at this moment" in note.read_text()


def test_no_note_of_what_has_gone_on(bench: Bench) -> None:
    """What was accepted while notes are written gets none."""
    documents = [lay(bench, "sending", drop(nth, claimed=bench.clock.now() - timedelta(hours=1))) for nth in (1, 2)]
    there = {document.id: document.file for document in documents}
    notes = write_notes(bench.desk, {}, there)
    next(notes)
    (noted,) = (bench.outbound / "sending").glob("*.why.txt")
    (other,) = (document for document in documents if noted.name != f"{document.file}.why.txt")
    bench.life.journal.documents.record(accepted(row(bench, other)))
    assert not list(notes)
    assert list((bench.outbound / "sending").glob("*.why.txt")) == [noted]


@pytest.mark.usefixtures("in_slices")
def test_what_begins_to_wait_during_a_comparison(bench: Bench) -> None:
    """It isn't forgotten by that comparison, which doesn't know it."""
    lay(bench, "sending", drop(claimed=bench.clock.now()))
    slices = _compare(bench.desk, Findings())
    next(slices)
    bench.desk.handover._put_off.add("another")
    assert list(slices)
    assert bench.desk.handover.put_off == {"another"}


def test_what_waits_for_nothing_any_more(bench: Bench) -> None:
    """A document that a person has taken isn't counted as one that is put off, or waits for a mapping rule's table."""
    now = bench.clock.now()
    waits = drop(claimed=now).waits_for(now, Need.IDS, "the table doesn't answer", due=now + timedelta(hours=1))
    document = lay(bench, "sending", waits)
    bench.desk.handover._put_off.add(document.id)
    compare(bench)
    assert bench.desk.handover.put_off
    assert bench.life.journal.documents.needy(bench.desk.folder.id, now) == 1
    (bench.outbound / "sending" / document.file).unlink()
    compare(bench, 3)
    assert not bench.desk.handover.put_off
    assert bench.life.journal.documents.needy(bench.desk.folder.id, now) == 0


@modes
def test_notes_that_cannot_be_written(bench: Bench) -> None:
    """That a note can't be written is said; everything else is done, and the folder is settled."""
    unsettle(bench)
    document = lay(bench, "sending", drop(claimed=bench.clock.now() - timedelta(hours=1)))
    note = bench.outbound / "sending" / f"{document.file}.why.txt"
    note.mkdir()
    left_over(bench, "other.xml", invoice("2"))
    compare(bench)
    assert bench.desk.health.unreconciled.startswith(f"{note} can't be used: ")
    assert bench.life.journal.folders.is_settled(bench.desk.folder.id)
    marker = read_marker(bench.outbound)
    assert marker is not None
    assert marker.changes == bench.life.journal.folders.changes(bench.desk.folder.id).counted
    assert len(bench.life.journal.documents.lying_in(bench.desk.folder.id, "sending")) == 2


@pytest.mark.parametrize("place", ["", "sending", "sent", "failed"])
@pytest.mark.usefixtures("in_slices")
def test_notes_without_a_document(bench: Bench, place: str) -> None:
    """Notes and sidecars whose document was taken are cleared away by the second comparison that finds them alone."""
    within = bench.outbound / place
    for name in ("gone.xml", "there.xml", "another.xml"):
        for end in ENDS:
            (within / f"{name}{end}").write_bytes(sidecar.name_alone(name, name))
        if name != "gone.xml":
            (within / name).write_bytes(b"<locked/>")
    kept = {path.name for path in within.iterdir() if path.is_file()} - {"gone.xml.json", "gone.xml.why.txt"}
    if place == "sending":
        for name in ("there.xml", "another.xml"):
            document = lay(bench, place, drop(1 if name == "there.xml" else 2, file=name), invoice(name))
            assert document.file == name
    compare(bench)
    assert (within / "gone.xml.json").exists()
    compare(bench)
    assert {path.name for path in within.iterdir() if path.is_file()} == kept


def lay_alone(bench: Bench, place: str, names: list[str], content: bytes) -> set[str]:
    """Have files lie there that are called as sidecars of documents that don't."""
    for name in names:
        (bench.outbound / place / f"{name}.json").write_bytes(content)
    return {f"{place}/{name}.json".removeprefix("/") for name in names}


def test_notes_of_others(bench: Bench) -> None:
    """In `outbound/`, what is called like a sidecar and is none of ours stays; what is called like no note stays."""
    theirs = lay_alone(bench, "", [f"theirs {number}.xml" for number in range(5)], b"{}")
    theirs |= lay_alone(bench, "", ["notes.tmp"], sidecar.name_alone("notes.tmp", "notes.tmp"))
    lay_alone(bench, "", [f"ours {number}.xml" for number in range(5)], sidecar.name_alone("ours.xml", "ours.xml"))
    lay_alone(bench, "failed", ["theirs.xml"], b"{}")
    compare(bench, 3)
    assert bench.lying() == theirs


def test_notes_of_what_was_moved_back(bench: Bench) -> None:
    """While a file waits in `outbound/`, what lies in `failed/` under its name tells the name it was dropped with."""
    waiting = [f"invoice-{number}.xml" for number in range(5)]
    left = lay_alone(bench, "failed", waiting, b"{}")
    lay_alone(bench, "failed", [f"gone-{number}.xml" for number in range(5)], b"{}")
    for name in waiting:
        (bench.outbound / name).write_bytes(b"<half")
    compare(bench, 3)
    assert bench.lying() == left | set(waiting)
    for name in waiting:
        (bench.outbound / name).unlink()
    compare(bench, 2)
    assert bench.lying() == set()


@pytest.mark.parametrize("place", ["", "sending", "sent", "failed"])
def test_notes_of_what_was_moved_for_a_while(bench: Bench, place: str) -> None:
    """A note whose document lies there again at every second comparison isn't alone, and stays."""
    path, aside = bench.outbound / place / "invoice.xml", bench.world.base / "aside.xml"
    note = path.with_name("invoice.xml.why.txt")
    if place == "sending":
        lay(bench, place, drop(file="invoice.xml"))
    else:
        path.write_bytes(CONTENT)
    note.touch()
    compare(bench)
    for _ in range(2):
        path.rename(aside)
        compare(bench)
        assert note.exists()
        aside.rename(path)
        compare(bench)
        assert note.exists()


def test_what_was_let_through_and_taken(bench: Bench) -> None:
    """What a person has let through is over when two comparisons have found no such file in `outbound/`."""
    folder, journal = bench.desk.folder.id, bench.life.journal
    for name in ("there.xml", "gone.xml"):
        journal.waivers.give(folder, name, Waiver("sha", 1))
    (bench.outbound / "there.xml").write_bytes(b"<half")
    compare(bench)
    assert sorted(journal.waivers.waived(folder)) == ["gone.xml", "there.xml"]
    compare(bench)
    assert journal.waivers.waived(folder) == ["there.xml"]


@pytest.mark.usefixtures("in_slices")
def test_the_folder_goes_amid_a_comparison(bench: Bench) -> None:
    """What was begun is given up, and with it the state of the journal that it read: else the journal's file grew."""
    for number in range(10):
        lay(bench, "sent", accepted(drop(number)), invoice(f"{number}"))
    bench.clock.pass_on(RESCAN + 1)
    bench.life.pipeline.step()
    assert bench.life.pipeline.reconciliation.is_under_way
    bench.outbound.rename(bench.world.base / "away")
    bench.life.pipeline.step()
    assert not bench.life.pipeline.reconciliation.is_under_way
    assert "it is missing" in bench.desk.health.trouble
    (bench.world.base / "away").rename(bench.outbound)


@pytest.mark.usefixtures("in_slices")
def test_a_comparison_that_takes_long(bench: Bench, clock: Clock) -> None:
    """A folder whose first comparison takes minutes answers with each slice, and isn't taken for one that hangs."""
    for number in range(3):
        left_over(bench, f"{number}.xml", invoice(f"{number}"))
    bench.life.drop()
    bench.life = Life(bench.world, clock)
    workers, pipeline = bench.life.service.workers, bench.life.pipeline
    answers, hangs = pipeline.reconciliation._answers, list[bool]()

    def after_twenty_seconds() -> None:
        workers._busy[pipeline] -= 20.0
        answers()
        hangs.append(workers.is_hung(pipeline))

    pipeline.reconciliation._answers = after_twenty_seconds
    bench.life.go_on(10)
    assert len(hangs) > 2
    assert not any(hangs)
    bench.life.drop()


def test_markers_that_were_replaced(bench: Bench) -> None:
    """What sshfs leaves of a marker that is replaced while it is read is removed from a share, and nothing else."""
    others, marker = b"<open by another program/>", (bench.outbound / ".filedrop").read_bytes()
    (bench.outbound / ".fuse_hidden0000029700000001").write_bytes(marker)
    (bench.outbound / ".fuse_hidden0000029700000002").write_bytes(others)
    on_a_share(bench.desk.folder)
    for _ in _compare(bench.desk, Findings()):
        pass
    assert bench.lying() == {".fuse_hidden0000029700000002"}
