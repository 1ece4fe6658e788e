"""Old months of `archive/` are removed with their rows (`keep.archive`), and nothing else is."""

from __future__ import annotations

import json
from contextlib import closing
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from support.documents import invoice
from support.matrix import is_full
from support.responses import response
from support.stepping import RULES, Life

from filedrop.journal import JOURNAL, Journal
from filedrop.model.document import Event, new_id
from filedrop.outbound import retention
from filedrop.outbound.mailbox import Returned
from filedrop.storage import sidecar

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.stepping import Clock
    from support.world import World

    from filedrop.model.document import Document

A_DAY = 24 * 3600.0  # seconds
KEPT = "keep: {archive: 60d}\n"
YEARS = 100_000 if is_full() else 2000  # documents of two years


@pytest.fixture
def world(make_world: Callable[..., World], clock: Clock) -> World:
    return make_world(outbound=RULES, inbound={"poll": "5m"}, clock=clock.true, more=KEPT)


def sent(world: World, life: Life, *names: str) -> None:
    """Send these documents, and see them delivered."""
    for name in names:
        world.drop(name, invoice(name))
    life.touch()
    life.go_on(300)
    assert all(world.places()[name].startswith("archive/") for name in names)


def months(world: World) -> list[str]:
    """The months that lie there."""
    return sorted(month.name for month in (world.outbound / "archive").iterdir())


def after(world: World, clock: Clock, life: Life, days: float) -> Life:
    """A filedrop that is started so many days later, and has gone on for some hours."""
    life.stop()
    clock.pass_on(days * A_DAY)
    life = Life(world, clock)
    life.go_on(3 * 3600)
    return life


def test_a_month_that_is_wholly_older(world: World, clock: Clock) -> None:
    """It is removed with its rows, the next one stays; and the same content may be sent again."""
    life = Life(world, clock)
    sent(world, life, "june.xml", "june too.xml")  # it is the first of June
    life = after(world, clock, life, 40)
    sent(world, life, "july.xml")
    life = after(world, clock, life, 45)
    assert months(world) == ["2020-06", "2020-07"]  # June ended 55 days ago
    life = after(world, clock, life, 10)
    assert months(world) == ["2020-07"]
    known = [name for name in ("june.xml", "june too.xml", "july.xml") if life.journal.documents.called(name, name)]
    assert known == ["july.xml"]
    for name, earlier in (("again.xml", "june.xml"), ("july again.xml", "july.xml")):
        (world.outbound / name).write_bytes(invoice(earlier))
    life.touch()
    life.go_on(600)
    life.stop()
    assert (world.outbound / "archive" / "2020-09" / "again.xml").exists()
    assert (world.outbound / "failed" / "july again.xml").exists()


def test_note_of_a_rejection(world: World, clock: Clock) -> None:
    """It is removed with its document; a person's file of that name stays."""
    life = Life(world, clock)
    sent(world, life, "june.xml", "june too.xml")
    month = world.outbound / "archive" / "2020-06"
    own = month / "june too.xml.rejected.txt"
    own.write_text("my own words")
    for name in ("june.xml", "june too.xml"):
        world.receive(response(name, id_=name))
    life.go_on(900, until=(month / "june.xml.rejected.txt").exists)
    life = after(world, clock, life, 95)
    life.stop()
    assert list(month.iterdir()) == [own]


def test_settings_of_a_company(world: World, clock: Clock) -> None:
    """Months are removed where the company's own `keep.archive` is over, and by the common one where it has none."""
    for company, kept in {"fjord": "forever", "tind": "90d"}.items():
        world._companies[company] = f"{{participants: [], keep: {{archive: {kept}}}}}"
    folders = {company: world.root / company / "outbound" for company in world._companies}
    for company, outbound in folders.items():
        outbound.mkdir(parents=True, exist_ok=True)
        world.put(outbound / "june.xml", invoice(company))
    for days, companies in {0: ["acme", "fjord", "tind"], 95: ["fjord", "tind"], 40: ["fjord"]}.items():
        clock.pass_on(days * A_DAY)
        life = Life(world, clock)
        life.go_on(100)
        life.stop()
        there = [company for company, outbound in folders.items() if list(outbound.glob("archive/*/june.xml"))]
        assert there == companies


def test_what_stays(world: World, clock: Clock) -> None:
    """A person's own files stay, and so does what is unfinished, wherever its file lies."""
    life = Life(world, clock)
    sent(world, life, "done.xml")
    world.sandbox.store.deliver_after = 10**9
    world.drop("on its way.xml", invoice("on its way"))
    life.touch()
    life.go_on(30)
    life.stop()
    month = world.outbound / "archive" / "2020-06"
    for name in ("on its way.xml", "on its way.xml.json"):
        (world.outbound / "sent" / name).rename(month / name)
    (month / "remarks.txt").write_text("looked at")
    (month / "list.json").write_text("[]")
    clock.pass_on(120 * A_DAY)
    life = Life(world, clock)
    life.go_on(60)  # nobody has asked yet whether it was taken
    life.stop()
    left = ["list.json", "on its way.xml", "on its way.xml.json", "remarks.txt"]
    assert sorted(path.name for path in month.iterdir()) == left


def test_original_of_a_held_copy(world: World, clock: Clock) -> None:
    """A document stays with its row while another version of it is in `outbound/`, which stays, too; and no longer."""
    life = Life(world, clock)
    sent(world, life, "june.xml", "june too.xml")
    copy = world.outbound / "june (copy).xml"
    world.put(copy, invoice("june.xml", note="another"))
    life = after(world, clock, life, 95)
    assert copy.exists()
    assert {path.name for path in (world.outbound / "archive" / "2020-06").iterdir()} == {"june.xml", "june.xml.json"}
    assert life.journal.documents.called("june.xml", "june.xml")
    assert not life.journal.documents.called("june too.xml", "june too.xml")
    copy.unlink()
    life = after(world, clock, life, 1)
    life.stop()
    assert months(world) == []


def test_what_else_has_a_sidecar(world: World, clock: Clock) -> None:
    """What a person has put into an old month with its sidecar stays: what was received, and what has failed."""
    life = Life(world, clock)
    sent(world, life, "done.xml")
    world.receive(invoice("received"))
    (world.outbound / "broken.xml").write_bytes(invoice("done.xml"))
    life.touch()
    life.go_on(900)
    month = world.outbound / "archive" / "2020-06"
    theirs = [*world.inbound.glob("*.xml*"), *(world.outbound / "failed").glob("*.xml*")]
    assert len(theirs) == 5  # two documents, two sidecars and a note
    for path in theirs:
        path.rename(month / path.name)
    after(world, clock, life, 120).stop()
    assert sorted(path.name for path in month.iterdir()) == sorted(path.name for path in theirs)


@pytest.mark.parametrize("ours", [True, False], ids=["ours", "the access point's"])
def test_a_clock_that_is_far_ahead(make_world: Callable[..., World], clock: Clock, *, ours: bool) -> None:
    """Where one clock says that all is old, and the other that it isn't, nothing is removed."""
    ahead = timedelta(days=4000)
    others = clock.true if ours else lambda: clock.true() + ahead
    world = make_world(outbound=RULES, inbound={"poll": "5m"}, clock=others, more=KEPT)
    life = Life(world, clock)
    sent(world, life, "done.xml")
    if ours:
        clock.skew = ahead
    lying = months(world)
    life = after(world, clock, life, 0)
    life.stop()
    assert months(world) == lying


def test_for_ever(make_world: Callable[..., World], clock: Clock) -> None:
    """Unless the configuration says so, nothing is ever removed."""
    world = make_world(outbound=RULES, inbound={"poll": "5m"}, clock=clock.true)
    life = Life(world, clock)
    sent(world, life, "done.xml")
    after(world, clock, life, 4000).stop()
    assert months(world) == ["2020-06"]


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_two_years_while_documents_are_sent(make_world: Callable[..., World]) -> None:
    """Two years are removed a little at a time, the journal shrinks, and what is dropped meanwhile is sent."""
    world = make_world(more=KEPT)
    world.drop("recent.xml", invoice("recent"))
    world.settle()
    with closing(Journal.at(world.state / JOURNAL)) as journal:
        (recent,) = journal.documents.called("recent.xml", "recent.xml")
        long_ago(world.outbound, journal, recent)
    full = (world.state / JOURNAL).stat().st_size
    with world.service():
        for number in range(50):
            world.drop(f"meanwhile-{number}.xml", invoice(f"meanwhile {number}"))
        world.until(lambda: months(world) == [recent.place.removeprefix("archive/")], 2400, what="all is removed")
        world.until(lambda: (world.state / JOURNAL).stat().st_size < full / 3, 120, what="the journal shrinks")
        world.until(world.settled)
    world.invariants()
    assert world.accepted() == dict.fromkeys(world.dropped, 1)
    with closing(Journal.at(world.state / JOURNAL)) as journal:
        assert journal.documents.called("recent.xml", "recent.xml")
        assert not journal.documents.called("past-1.xml", "past-1.xml")


def long_ago(outbound: Path, journal: Journal, recent: Document) -> None:
    """Lay documents like this one into the archive that were delivered three months to two years ago, and rows."""
    for first in range(0, YEARS, 1000):
        documents = []
        for number in range(first, min(first + 1000, YEARS)):
            at = recent.claimed - timedelta(days=95 + 635 * number / YEARS)
            name = f"past-{number}.xml"
            past = recent.but(
                id=new_id(at), revision=0, file=name, dropped_as=name, claimed=at, accepted=at, received=at.isoformat(),
                delivered=at.isoformat(), msg_no=10**6 + number, meaning=f"{number}", history=(Event(at, "delivered"),),
            )  # fmt: skip
            documents.append(past.at(past.home, name))
        journal.documents.record_all(documents)
        for document in documents:
            path = outbound / document.place / document.file
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(b"<past/>")
            path.with_name(f"{path.name}.json").write_bytes(sidecar.outbound(document, document.file))


def test_progress(world: World, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a month takes long, status and log say how far its removal is."""
    life = Life(world, clock)
    sent(world, life, "a.xml", "b.xml", "c.xml")
    life.stop()
    clock.pass_on(100 * A_DAY)
    monkeypatch.setattr(retention, "LONGEST_STEP", 0.0)  # seconds: each document takes a step
    life = Life(world, clock)
    life.go_on(600, until=lambda: life.pipeline.report.progress)
    said = "old documents are being removed: 1 of 3 in archive/2020-06"
    assert life.pipeline.report.progress == said
    life.go_on(600)
    assert life.pipeline.report.progress == ""
    life.stop()
    assert [(line["documents"], line["of"]) for line in world.log() if line["event"] == "archive.removing"] == [(1, 3)]


def test_a_company_that_was_called_otherwise(world: World, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its rows go with its months, too: what is removed is no duplicate's first any more."""
    life = Life(world, clock)
    sent(world, life, "june.xml")
    renamed = world.config_text().replace("  acme: {", f"  new: {{outbound: {world.outbound}, ")
    monkeypatch.setattr(world, "config_text", lambda: renamed)
    life = after(world, clock, life, 120)
    assert months(world) == []
    assert not life.journal.documents.called("june.xml", "june.xml")
    life.stop()


def test_one_that_can_not_be_removed(world: World, clock: Clock) -> None:
    """It is told, and keeps neither the others nor the months after it."""
    life = Life(world, clock)
    sent(world, life, "a.xml", "b.xml")
    life = after(world, clock, life, 40)
    sent(world, life, "july.xml")
    stubborn = world.outbound / "archive" / "2020-06" / "a.xml"
    stubborn.unlink()
    stubborn.mkdir()
    life = after(world, clock, life, 100)
    assert months(world) == ["2020-06"]
    assert [path.name for path in sorted(stubborn.parent.iterdir())] == ["a.xml", "a.xml.json"]
    assert not any(life.journal.documents.called(name, name) for name in ("a.xml", "b.xml", "july.xml"))
    assert "folder.refuses" in [line["event"] for line in world.log()]
    life.stop()


def test_a_delivery_of_long_ago(world: World, clock: Clock) -> None:
    """What an access point with a wrong clock says it delivered a year ago is kept: by our clock it was just now."""
    life = Life(world, clock)
    life.take(world, "a.xml")
    (document,) = life.journal.documents.called("a.xml", "a.xml")
    long_ago = "2019-06-01T12:00:00.000+00:00"
    delivered = document.delivered_at(life.pipeline.desk.shared.now(), long_ago, None)
    life.pipeline.put(Returned(life.journal.documents.record(delivered)))
    life.go_on(3 * 3600)
    assert world.places()["a.xml"] == "archive/2019-06"
    life = after(world, clock, life, 61)
    life.stop()
    assert "a.xml" not in world.places()


def test_what_a_sidecar_without_history_has_restored(world: World, clock: Clock) -> None:
    """A row of a new journal whose sidecar tells no history goes with its month like any other."""
    life = Life(world, clock)
    sent(world, life, "a.xml")
    life.stop()
    beside = world.outbound / world.places()["a.xml"] / "a.xml.json"
    beside.write_text(json.dumps(json.loads(beside.read_text()) | {"history": []}))
    for name in [*world.state.glob("journal*"), world.outbound / ".filedrop", world.inbound / ".filedrop"]:
        name.unlink()
    clock.pass_on(100 * A_DAY)
    life = Life(world, clock)
    life.go_on(3 * 3600)
    life.stop()
    assert "a.xml" not in world.places()
    assert not [line for line in world.log() if line["event"] == "work.failed"]
