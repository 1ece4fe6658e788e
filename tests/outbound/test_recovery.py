"""What a journal that is new, or an older copy of itself, learns from a folder: which rows, and which not."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from support.bench import CONTENT, lay, row
from support.documents import invoice
from support.drops import NOON, accepted, drop
from support.rights import as_anyone
from support.systems import modes

from filedrop.model.document import Document, State
from filedrop.model.fault import Fault
from filedrop.outbound.recovery import restore, suspect_all
from filedrop.storage import sidecar
from filedrop.storage.marker import why_outdated

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.bench import Bench

FAULT = Fault("rejected", "The access point refuses it.")
DELIVERED = "2026-11-21T08:00:00.000+00:00"
ARCHIVE = "archive/2026-11"


def told(bench: Bench, document: Document, *, place: str = "", name: str = "", beside: bool = True) -> Document:
    """Have the folder tell of a document, by its sidecar; `beside`: its file lies there, too. Returns its row to be."""
    digest = hashlib.sha256(CONTENT).hexdigest()
    document = document.but(folder=bench.desk.folder.id, size=len(CONTENT), sha256=digest)
    document = document.at(place or document.home, name or document.file)
    path = bench.outbound / document.place / document.file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_name(f"{path.name}.json").write_bytes(sidecar.outbound(document, document.file))
    if beside:
        path.write_bytes(CONTENT)
    return document


def restored(bench: Bench) -> int:
    """Restore the rows; in how many slices before the last."""
    return sum(1 for _ in restore(bench.desk))


def delivered(document: Document) -> Document:
    return document.delivered_at(NOON + timedelta(days=1), DELIVERED, "uuid-1")


def said(document: Document) -> dict[str, Any]:
    """Of a row, what a sidecar can say."""
    kept = document.__dict__.copy()
    for name in ("revision", "first_attempt", "attempts", "unclear", "unexplained", "asked", "due"):
        del kept[name]
    return kept


def outdate(bench: Bench, missing: int) -> None:
    """Have the folder's marker have seen so many changes more than the journal, which has seen some."""
    assert bench.life.journal.folders.mark(bench.desk.folder.id).counted > 0
    bench.desk.folder.changes = bench.life.journal.folders.changes(bench.desk.folder.id).marked + missing


def test_an_older_journal_suspects_what_waits(bench: Bench) -> None:
    """Whatever waits may have been posted; what was posted already is no less certain than before."""
    waits = lay(bench, "sending", drop(1))
    asked = lay(bench, "sending", drop(2).sending(NOON, identity="acme@ap.example.com", clock=None))
    elsewhere = lay(bench, "sent", accepted(drop(3)))
    outdate(bench, 1)
    suspect_all(bench.desk)
    suspected = row(bench, waits)
    assert (suspected.state, suspected.identity) == (State.DOUBT, bench.desk.shared.access_point.identity)
    assert suspected.in_doubt_since is not None
    assert abs(suspected.in_doubt_since - bench.desk.shared.now()) < timedelta(seconds=1)
    assert (row(bench, asked), row(bench, elsewhere)) == (asked, elsewhere)
    assert bench.life.journal.folders.changes(bench.desk.folder.id).marked == bench.desk.folder.changes
    assert not bench.life.journal.folders.is_settled(bench.desk.folder.id)
    (line,) = [line for line in bench.world.log() if line["event"] == "journal.outdated"]
    assert (line["company"], line["folder"]) == ("acme", str(bench.outbound))
    assert bench.desk.health.outdated == line["why"] == why_outdated(1)
    assert bench.told("document.doubted") == 1


def test_a_journal_that_has_taken_the_folder_over_suspects_what_waits(bench: Bench) -> None:
    """Once, and without a word of an older copy."""
    waits, at, journal = lay(bench, "sending", drop(1)), bench.desk, bench.life.journal
    at.folder.take_over(journal)
    at.folder.take_up(journal)
    suspect_all(at)
    assert row(bench, waits).state is State.DOUBT
    assert not journal.folders.is_settled(at.folder.id)
    waits = journal.documents.record(row(bench, waits).not_found(NOON))
    suspect_all(at)
    assert row(bench, waits) == waits
    assert not at.health.outdated
    assert not bench.told("journal.outdated")


@pytest.mark.parametrize("missing", [0, -1])
def test_a_journal_that_knows_as_much_suspects_nothing(bench: Bench, missing: int) -> None:
    waits = lay(bench, "sending", drop(1))
    outdate(bench, missing)
    suspect_all(bench.desk)
    assert row(bench, waits) == waits
    assert not bench.desk.health.outdated
    assert not bench.told("journal.outdated")


def test_rows_are_made_of_sidecars(bench: Bench) -> None:
    """From wherever a document may lie that was put away, under the name that its file has now."""
    documents = [
        told(bench, accepted(drop(1), msg_no=1)),
        told(bench, drop(2).failed(NOON, FAULT)),
        told(bench, delivered(accepted(drop(3), msg_no=3))),
        told(bench, accepted(drop(4), msg_no=4), name="renamed.xml"),
    ]
    assert {document.place for document in documents} == {"sent", "failed", ARCHIVE}
    (bench.outbound / "sent" / "renamed.xml").rename(bench.outbound / "sent" / "by hand.xml")
    (bench.outbound / "sent" / "renamed.xml.json").rename(bench.outbound / "sent" / "by hand.xml.json")
    documents[3] = documents[3].at("sent", "by hand.xml")
    assert restored(bench) == 0
    for document in documents:
        assert said(row(bench, document)) == said(document)


@pytest.mark.parametrize(
    "how",
    [
        {"beside": False},
        {"place": "failed"},
        {"place": "archive/2026-10"},
    ],
    ids=lambda how: next(iter(how)) + str(next(iter(how.values()))),
)
def test_sidecars_that_make_no_rows(bench: Bench, how: dict[str, Any]) -> None:
    """One without its document, or where no document in its state lies; the others are read all the same."""
    no_row = told(bench, accepted(drop(1), msg_no=1), **how)
    (bench.outbound / "failed" / "a.xml.json").write_text("[]")
    (bench.outbound / "failed" / "a.xml").write_bytes(CONTENT)
    other = told(bench, drop(2).failed(NOON, FAULT))
    also = told(bench, delivered(accepted(drop(3), msg_no=3)))
    assert restored(bench) == 0
    assert bench.life.journal.documents.by_id(no_row.id) is None
    assert [row(bench, one).id for one in (other, also)] == [other.id, also.id]


def test_what_is_known_stays(bench: Bench) -> None:
    """A row that says the same is left alone, whatever else a sidecar says."""
    document = lay(bench, "sent", accepted(drop(1)))
    told(bench, document.but(number="forged"))
    assert restored(bench) == 0
    assert row(bench, document) == document


def test_a_row_without_a_number_takes_the_sidecars(bench: Bench) -> None:
    """What waited when the copy was made: the folder knows that it was sent since."""
    before = lay(bench, "sending", drop(1))
    (bench.outbound / "sending" / before.file).unlink()
    after = told(bench, accepted(drop(1), msg_no=9))
    assert restored(bench) == 0
    now = row(bench, before)
    assert said(now) == said(after)
    assert now.revision == before.revision + 1


def test_a_row_of_the_same_number_goes_on(bench: Bench) -> None:
    """Of a document that the journal knows as sent, a sidecar says only what came after."""
    before = lay(bench, "sent", accepted(drop(1)).asked_after(NOON + timedelta(hours=1)))
    (bench.outbound / "sent" / before.file).unlink()
    forged = {"number": "forged", "receiver": "forged"}
    after = told(bench, delivered(accepted(drop(1))).warned("a warning").but(**forged))
    assert restored(bench) == 0
    now = row(bench, before)
    assert (now.state, now.place, now.file) == (State.DELIVERED, ARCHIVE, before.file)
    assert (now.delivered, now.uuid, now.warnings, now.due) == (DELIVERED, "uuid-1", ("a warning",), None)
    assert now.history == after.history
    assert (now.number, now.receiver, now.msg_no) == (before.number, before.receiver, before.msg_no)
    assert now.revision == before.revision + 1


def test_a_uuid_that_is_known_stays(bench: Bench) -> None:
    before = lay(bench, "sent", accepted(drop(1)).but(uuid="uuid-0"))
    (bench.outbound / "sent" / before.file).unlink()
    told(bench, delivered(accepted(drop(1))))
    restored(bench)
    assert (row(bench, before).state, row(bench, before).uuid) == (State.DELIVERED, "uuid-0")


def test_a_failure_that_came_after(bench: Bench) -> None:
    before = lay(bench, "sent", accepted(drop(1)))
    (bench.outbound / "sent" / before.file).unlink()
    told(bench, accepted(drop(1)).failed(NOON, FAULT))
    restored(bench)
    assert (row(bench, before).state, row(bench, before).error) == (State.FAILED, FAULT)


@pytest.mark.parametrize(
    "differs",
    [{"msg_no": 8}, {"identity": "other@ap.example.com"}, {"folder": "another"}],
    ids=lambda differs: next(iter(differs)),
)
def test_anothers_row_stays(bench: Bench, differs: dict[str, Any]) -> None:
    """A sidecar changes no row of another number, account or folder."""
    journal = bench.life.journal
    known = journal.documents.record(accepted(drop(1)).but(folder=bench.desk.folder.id, place="sent").but(**differs))
    told(bench, delivered(accepted(drop(1))))
    assert restored(bench) == 0
    assert row(bench, known) == known


@pytest.mark.parametrize("at_once", [1, 2])
def test_in_slices(bench: Bench, monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    """After each slice its rows are written, those that are new and those that go on together."""
    monkeypatch.setattr("filedrop.outbound.recovery.ROWS_AT_ONCE", at_once)
    known = lay(bench, "sent", accepted(drop(1), msg_no=1))
    (bench.outbound / "sent" / known.file).unlink()
    told(bench, delivered(accepted(drop(1), msg_no=1)))
    new = [told(bench, accepted(drop(nth), msg_no=nth)) for nth in (2, 3, 4)]

    def written() -> int:
        known_now = row(bench, known).state is State.DELIVERED
        return known_now + sum(bench.life.journal.documents.by_id(one.id) is not None for one in new)

    assert [written() for _ in restore(bench.desk)] == list(range(at_once, 5, at_once))
    assert row(bench, known).revision == known.revision + 1


def of_other_bytes(bench: Bench, document: Document) -> None:
    (bench.outbound / document.place / document.file).write_bytes(invoice("other"))


def of_its_bytes(bench: Bench, document: Document) -> None:
    assert (bench.outbound / document.place / document.file).read_bytes() == CONTENT


def missing(bench: Bench, document: Document) -> None:
    (bench.outbound / document.place / document.file).unlink()


def beside_anothers_sidecar(bench: Bench, document: Document) -> None:
    told(bench, accepted(drop(9), msg_no=9), name=document.file)


def beside_its_sidecar(bench: Bench, document: Document) -> None:
    told(bench, document)


@pytest.mark.parametrize(
    ("place", "lies", "end"),
    [
        ("sending", of_other_bytes, State.TAKEN),
        ("sending", of_its_bytes, State.WAITING),
        ("sending", missing, State.WAITING),
        ("sent", of_other_bytes, State.SENT),
        ("sent", beside_anothers_sidecar, State.TAKEN),
        ("sent", beside_its_sidecar, State.SENT),
    ],
)
def test_documents_whose_name_is_anothers(
    bench: Bench, place: str, lies: Callable[[Bench, Document], None], end: State
) -> None:
    """What lies there under its name isn't the document: it was taken, and the row's name is free."""
    document = lay(bench, place, drop(1) if place == "sending" else accepted(drop(1)))
    lies(bench, document)
    restored(bench)
    now = row(bench, document)
    assert now.state is end
    if end is State.TAKEN:
        assert abs(now.history[-1].at - bench.desk.shared.now()) < timedelta(seconds=1)


def test_a_document_of_which_no_digest_is_known(bench: Bench) -> None:
    """It can't be told from another, and stays."""
    document = bench.life.journal.documents.record(drop(1).but(folder=bench.desk.folder.id, sha256=""))
    of_other_bytes(bench, document)
    restored(bench)
    assert row(bench, document).state is State.WAITING


@modes
@pytest.mark.parametrize("what", ["archive/2026-10", "archive/2026-10/1.xml.json"])
def test_what_cannot_be_read_hides_nothing_else(bench: Bench, what: str) -> None:
    """Where a month or a sidecar can't be read, all others are known all the same; it is said, and tried again."""
    hidden = told(bench, accepted(drop(1), 1).delivered_at(NOON, DELIVERED.replace("-11-", "-10-"), None), name="1.xml")
    others = [
        told(bench, accepted(drop(2), 2), name="2.xml"),
        told(bench, delivered(accepted(drop(3), 3)), place=ARCHIVE, name="3.xml"),
    ]
    unreadable = bench.outbound / what
    mode = unreadable.stat().st_mode
    unreadable.chmod(0)
    with as_anyone():
        compared = bench.life.pipeline.reconciliation
        bench.life.journal.documents.unsettle(bench.desk.folder.id, bench.desk.folder.changes, [])
        compared.step(comes_first=True)
    if what == "archive/2026-10":
        assert bench.desk.health.unreconciled == f"{unreadable} can't be used: Permission denied"
        assert not bench.life.journal.folders.is_settled(bench.desk.folder.id)
    known = {document.id for document in bench.life.journal.documents.by_ids([one.id for one in (hidden, *others)])}
    assert known == {one.id for one in others}
    unreadable.chmod(mode)
    bench.life.journal.documents.unsettle(bench.desk.folder.id, bench.desk.folder.changes, [])
    compared.step(comes_first=True)
    assert bench.desk.health.unreconciled == ""
    assert bench.life.journal.folders.is_settled(bench.desk.folder.id)
    assert row(bench, hidden).msg_no == 1


def test_another_lies_where_one_was_being_posted(bench: Bench) -> None:
    """A document whose request a kill broke off may be accepted, though its file was taken: it stays a duplicate."""
    posted = drop(1).sending(NOON, identity=bench.desk.shared.access_point.identity, clock=None)
    document = lay(bench, "sending", posted)
    (bench.outbound / "sending" / document.file).write_bytes(invoice("another"))
    restored(bench)
    ended = row(bench, document)
    assert (ended.state, ended.unclear) == (State.TAKEN, 1)
    assert ended.may_be_accepted
