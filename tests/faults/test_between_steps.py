"""What came to light where filedrop goes a step at a time: each test is one order of events that once went wrong."""

from __future__ import annotations

import hashlib
import json
import math
import os
import sys
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.documents import invoice
from support.faults import answered, cut_after, exactly, instead
from support.plug import tapped
from support.rights import as_anyone
from support.stepping import RULES, Clock, Life, report_closed, touch, under_way
from support.systems import processes_shown
from support.unwritable import refuse_writes

from filedrop.errors import JournalError
from filedrop.journal import Waiver
from filedrop.model.document import CAME_BACK, State
from filedrop.outbound.mailbox import Returned

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.faults import Exchange
    from support.world import World

    from filedrop.outbound.pipeline import OutboundPipeline


@pytest.fixture
def world(make_world: Callable[..., World], clock: Clock) -> World:
    """A world that a life goes through a step at a time."""
    return make_world(outbound=RULES, inbound={"poll": "5m"}, clock=clock.true)


@pytest.fixture
def life(world: World, clock: Clock) -> Iterator[Life]:
    """A filedrop that has made its folders."""
    one = Life(world, clock)
    one.go_on(10)
    yield one
    one.drop()


def test_a_journal_that_cannot_be_written_costs_one_download(world: World, life: Life) -> None:
    """While the journal can't be written, a message is fetched once and kept, not once more at each poll."""
    number = world.receive(invoice("1"))
    refuse_writes(life.journal)
    life.go_on(1000)
    assert len(world.front.asked(f"GET /messages/{number}/")) == 1
    assert len(list(world.inbound.glob(".*.part"))) == 1
    assert not world.delivered()
    refuse_writes(life.journal, refuses=False)
    life.go_on(400)
    world.invariants()
    assert len(world.front.asked(f"GET /messages/{number}/")) == 1


def test_a_message_whose_time_is_written_in_two_ways(world: World, life: Life) -> None:
    """A message is known by the moment at which it was received, however that is written, and is delivered once."""

    def in_another_way(exchange: Exchange) -> None:
        answer = exchange.arrive()
        exchange.answer(answer.status, answer.body.replace(b"+00:00</received>", b"Z</received>"))

    number = world.receive(invoice("1"))
    world.front.next("POST /inbox", instead(500))
    world.front.next("GET /inbox", answered, in_another_way)
    life.go_on(1000)
    assert len(world.front.asked(f"GET /messages/{number}/")) == 1
    world.invariants()


def test_what_is_left_over_in_sending_is_taken_up_while_others_are_claimed(world: World, life: Life) -> None:
    """A file in `sending/` that the journal doesn't know is taken up however busy the folder is."""
    world.drop("dropped.xml", invoice("1"))
    world.drop("left-over.xml", invoice("2"))
    (world.outbound / "left-over.xml").rename(world.outbound / "sending" / "left-over.xml")
    life._clock.pass_on(130)
    life.turn()
    life.do_each("step")  # while what was dropped has still to settle
    taken_up = [document.file for document in life.journal.documents.lying_in(life.pipeline.folder.id, "sending")]
    assert "left-over.xml" in taken_up  # on Windows beside the other, which needn't settle
    life.go_on(400)
    world.invariants()
    assert set(world.accepted().values()) == {1}


@pytest.fixture
def slowly(world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A comparison takes many steps, as where very much lies in the folder."""
    monkeypatch.setattr("filedrop.outbound.reconcile.SLICES", 1)
    monkeypatch.setattr("filedrop.outbound.reconcile.LISTED_AT_ONCE", 1)
    (world.outbound / "sending").mkdir()
    fillers = [world.outbound / "sending" / f"filler-{number}.tmp" for number in range(100)]
    for filler in fillers:
        filler.touch()
    yield
    for filler in fillers:
        filler.unlink(missing_ok=True)


@pytest.mark.usefixtures("slowly")
def test_a_folder_is_compared_beside_its_steps(world: World, life: Life) -> None:
    """While a folder is compared with the journal, however long that takes, what is dropped there goes its way."""
    world.drop("invoice.xml", invoice("1"))
    life._clock.pass_on(130)
    life.turn()
    life.do(life.jobs.index("step"))
    life._clock.pass_on(3)
    life.touch()
    while not world.accepted():
        life.do(len(life.jobs) - 1)
    assert life.pipeline.reconciliation.is_under_way
    life.go_on(400)
    assert not life.pipeline.reconciliation.is_under_way


def test_a_start_whose_journal_fails(world: World, clock: Clock) -> None:
    """Where the journal can't be written while a folder is first compared, that comes first again when it can."""
    before = Life(world, clock)
    before.go_on(10)
    before.stop()
    world.drop("left-over.xml", invoice("1"))
    (world.outbound / "left-over.xml").rename(world.outbound / "sending" / "left-over.xml")
    life = Life(world, clock)
    refuse_writes(life.journal)
    life.turn()
    life.do(life.jobs.index("step"))
    refuse_writes(life.journal, refuses=False)
    assert life.pipeline.reconciliation.next == -math.inf
    clock.pass_on(130)
    life.turn()
    life.do(life.jobs.index("step"))
    assert life.pipeline.reconciliation.next > clock.steady()
    assert [document.file for document in life.journal.documents.lying_in(life.pipeline.folder.id, "sending")] == [
        "left-over.xml"
    ]
    life.go_on(400)
    life.drop()
    world.invariants()


def test_a_folder_that_comes_back_is_compared_before_anything_else(world: World, life: Life) -> None:
    """What has happened to a folder while it was away is known before a step takes up what was dropped there."""
    marker = go_away(world, life)
    world.drop("left-over.xml", invoice("1"))
    (world.outbound / "left-over.xml").rename(world.outbound / "sending" / "left-over.xml")
    (world.base / "marker").rename(marker)
    life._clock.pass_on(130)
    life.turn()
    life.do(life.jobs.index("step"))
    assert not life.pipeline.health.trouble
    assert not life.pipeline.reconciliation.is_under_way
    assert [document.file for document in life.journal.documents.lying_in(life.pipeline.folder.id, "sending")] == [
        "left-over.xml"
    ]


@pytest.mark.usefixtures("slowly")
def test_a_folder_goes_away_while_it_is_compared(world: World, life: Life) -> None:
    """Where a folder is no longer ours in the midst of a comparison, nothing more is done there."""
    world.drop("sent.xml", invoice("1"))
    life.go_on(5)
    life._clock.pass_on(130)
    life.turn()
    life.do(life.jobs.index("step"))
    (world.outbound / ".filedrop").rename(world.base / "marker")
    (world.outbound / "sent").rename(world.base / "sent")
    before = sorted(world.outbound.iterdir())
    assert life.pipeline.reconciliation.is_under_way
    life.do(life.jobs.index("step"))
    life._clock.pass_on(130)
    life.turn()
    life.do_all()
    assert life.pipeline.health.trouble
    assert sorted(world.outbound.iterdir()) == before
    (world.base / "sent").rename(world.outbound / "sent")
    (world.base / "marker").rename(world.outbound / ".filedrop")
    for filler in (world.outbound / "sending").glob("filler-*"):
        filler.unlink()
    life.go_on(400)
    world.invariants()


@pytest.mark.skipif(sys.platform == "win32", reason="files have other rights there")
def test_what_is_left_over_in_sending_and_cannot_be_read(world: World, life: Life) -> None:
    """A file in `sending/` that the journal doesn't know and nobody may read fails as `unreadable`, with a note."""
    world.drop("unreadable.xml", invoice("1"))
    world.drop("another.xml", invoice("2"))
    left_over = world.outbound / "sending" / "unreadable.xml"
    (world.outbound / "unreadable.xml").rename(left_over)
    left_over.chmod(0)
    with as_anyone():
        life.go_on(1000)
    assert world.error("unreadable.xml") == "unreadable"
    assert (world.outbound / "failed" / "unreadable.xml.why.txt").exists()
    assert world.places()["another.xml"].startswith("archive/")
    world.invariants()


@pytest.mark.skipif(sys.platform == "win32", reason="files have other rights there")
def test_what_an_earlier_journal_may_have_posted_and_cannot_be_read(world: World, clock: Clock) -> None:
    """A file in `sending/` of a new journal may have been posted; it is looked for as soon as it can be read."""
    (world.outbound / "sending").mkdir()
    for name, number in (("unreadable.xml", "1"), ("readable.xml", "2")):
        world.drop(name, invoice(number))
        (world.outbound / name).rename(world.outbound / "sending" / name)
    (world.outbound / "sending" / "unreadable.xml").chmod(0)
    life = Life(world, clock)
    with as_anyone():
        life.go_on(3000)
        assert [path.name for path in (world.outbound / "archive").rglob("*.xml")] == ["readable.xml"]
        (world.outbound / "sending" / "unreadable.xml").chmod(0o600)
        life.go_on(200)
        assert [document.dropped_as for document in life.journal.documents.in_state(State.DOUBT)] == ["unreadable.xml"]
        life.go_on(2000)
    life.drop()
    world.invariants()


def look_twice(life: Life) -> None:
    """Find what was dropped, see that it has settled and take it as far as it goes."""
    for _ in range(2):
        life.touch()
        life.turn()
        life.do_all()
        life._clock.pass_on(3)


@pytest.mark.parametrize("place", ["sending", "sent"])
def test_a_name_that_comes_again_before_the_journal_knows_of_a_move(world: World, clock: Clock, place: str) -> None:
    """A file of the name that another one had before it stays itself, even if filedrop dies before it knows of that."""
    life = Life(world, clock)
    life.go_on(10)
    world.drop("invoice.xml", invoice("1"))
    if place == "sending":
        life.journal.documents.record_places = lambda _: None  # type: ignore[method-assign] # filedrop dies before this
    look_twice(life)
    if place == "sent":
        life.turn()
        life.do_all()
        clock.pass_on(70)
        life.journal.documents.record_places = lambda _: None  # type: ignore[method-assign] # likewise
        life.turn()
        life.do_all()
    world.drop("second.xml", invoice("2"))
    (world.outbound / "second.xml").rename(world.outbound / "invoice.xml")
    world.front.next("POST /outbox", answered if place == "sent" else instead(429))
    look_twice(life)
    assert [world.places()[name].split("/")[0] for name in world.dropped] == (
        ["archive", "sent"] if place == "sent" else ["sent", "sending"]
    )
    life.drop()
    life = Life(world, clock)
    life.go_on(2000)
    life.drop()
    world.invariants()
    assert world.accepted() == {"invoice.xml": 1, "second.xml": 1}


def test_notes_that_come_after_their_document(world: World, life: Life) -> None:
    """A note and a sidecar that are moved back to `outbound/` when the document has been claimed are cleared away."""
    world.front.next("POST /outbox", instead(413))
    world.drop("invoice.xml", invoice("1"))
    life.go_on(400)
    failed = world.outbound / "failed"
    (failed / "invoice.xml").rename(world.outbound / "invoice.xml")
    look_twice(life)
    for name in ("invoice.xml.json", "invoice.xml.why.txt"):
        (failed / name).rename(world.outbound / name)
    (world.outbound / "theirs.xml.json").write_text("{}")
    life.go_on(1000)
    (world.outbound / "theirs.xml.json").unlink()
    world.invariants()


def test_moved_back_under_another_name_while_it_is_posted(make_world: Callable[..., World], clock: Clock) -> None:
    """A file that is moved to `outbound/` under another name while it is posted is still the document that it was."""
    world = make_world(outbound=RULES | {"duplicates": "allow"}, inbound={"poll": "5m"}, clock=clock.true)

    def moved(exchange: Exchange) -> None:
        (world.outbound / "sending" / "invoice.xml").rename(world.outbound / "other.xml")
        answered(exchange)

    life = Life(world, clock)
    life.go_on(10)
    world.front.next("POST /outbox", moved)
    world.drop("invoice.xml", invoice("1"))
    life.go_on(2000)
    life.drop()
    world.invariants()
    assert world.accepted() == {"invoice.xml": 1}


def test_a_clock_that_is_set_back(make_world: Callable[..., World], clock: Clock) -> None:
    """When the clock is set back by days, whatever waits for its time waits no longer than its longest pause."""
    world = make_world(outbound=RULES, inbound={"poll": "5m"}, clock=clock.true, deliver_after=3600)
    life = Life(world, clock)
    life.go_on(10)
    number = world.receive(invoice("1"))
    world.front.always(f"GET /messages/{number}/", instead(200, "<a>"))
    world.drop("sent.xml", invoice("2"))
    life.go_on(400)
    world.drop("waiting.xml", invoice("3"))
    world.front.always("POST /outbox", instead(429))
    life.go_on(400)
    assert life.journal.messages.in_states("acme@127.0.0.1", "stuck")
    assert world.places() == {"sent.xml": "sent", "waiting.xml": "sending"}
    world.front.heal()
    clock.skew = timedelta(days=-3)
    life.go_on(2 * 3600)
    life.drop()
    world.invariants()
    assert {place.split("/")[0] for place in world.places().values()} == {"archive"}


@pytest.mark.parametrize(("longest", "pause"), [("15m", 30.0), ("4s", 4.0)])
def test_a_look_that_failed(make_world: Callable[..., World], clock: Clock, longest: str, pause: float) -> None:
    """A look that got no readable answer is tried again half a minute later, or after `retry.longest` if shorter."""
    rules = RULES | {"retry": f"{{first: 1s, longest: {longest}}}"}
    world = make_world(outbound=rules, inbound={"poll": "5m"}, clock=clock.true)
    looks: list[float] = []

    def unreadable(exchange: Exchange) -> None:
        looks.append(clock.passed)
        exchange.answer(200, "<html>Welcome")

    life = Life(world, clock)
    life.go_on(10)
    world.front.next("POST /outbox", cut_after)
    world.front.next(exactly("GET", "/messages"), unreadable, unreadable)
    world.drop("invoice.xml", invoice())
    for _ in range(600):
        life.go_on(1)
    life.stop()
    assert looks[1] - looks[0] == pytest.approx(pause, abs=1.5)
    assert world.sidecar("invoice.xml")["state"] in ("sent", "delivered")


def test_a_folder_hangs_while_its_moves_are_brought_to_the_disk(
    make_world: Callable[..., World], clock: Clock, tmp_path: Path
) -> None:
    """Another company's documents go all the way meanwhile."""
    (beside := tmp_path / "beside").mkdir()
    fjord = f"{{participants: ['0192:123456785'], outbound: '{beside}'}}"
    world = make_world(companies={"fjord": fjord}, outbound=RULES, inbound={"poll": "5m"}, clock=clock.true)
    life = Life(world, clock)
    life.go_on(10)
    world.put(beside / "its own.xml", invoice("fjord", sender="0192:123456785"))
    (hung,) = (one for one in life.service.accounts[0].pipelines if one.folder.path == beside)
    while not under_way(hung) or "record" in life.jobs or "send" in life.jobs:
        clock.pass_on(1)
        life.turn()
        if life.jobs:
            life.do(life.jobs.index("record") if "record" in life.jobs else len(life.jobs) - 1)
    life.hang(hung)
    world.drop("one.xml", invoice("1"))
    life.go_on(400)
    assert under_way(hung)
    assert world.places()["one.xml"].startswith("archive/")
    life.answer(hung)
    life.go_on(200)
    assert list((beside / "archive").rglob("*.xml"))
    life.drop()


def test_a_file_is_gone_whose_step_waits_behind_the_comparison(world: World, life: Life) -> None:
    """A document whose file a person took from `sending/` ends as taken, though each sweep would take it a step on."""
    (world.outbound / "HOLD").touch()
    world.drop("taken.xml", invoice("1"))
    life.go_on(400)
    (world.outbound / "sending" / "taken.xml").unlink()
    (world.outbound / "HOLD").unlink()
    life.go_on(1000)
    assert not life.journal.documents.lying_in(life.pipeline.folder.id, "sending")
    assert world.accepted() == {}


def test_a_file_is_put_back_where_it_was_taken_from(world: World, life: Life) -> None:
    """A document whose file was missing from `sending/` when its turn came is sent when it lies there again."""
    hold, file = world.outbound / "HOLD", world.outbound / "sending" / "taken.xml"
    hold.touch()
    world.drop("taken.xml", invoice("1"))
    life.go_on(400)
    file.rename(world.base / "taken.xml")
    hold.unlink()
    life.go_on(130)
    (world.base / "taken.xml").rename(file)
    life.go_on(1000)
    assert world.accepted() == dict.fromkeys(world.dropped, 1)


def test_a_file_is_gone_when_its_document_is_put_away(make_world: Callable[..., World], clock: Clock) -> None:
    """It ends as taken, though a comparison begins with each sweep that would find it missing again."""
    world = make_world(outbound=RULES, inbound={"poll": "5m"}, clock=clock.true)

    def taken(exchange: Exchange) -> None:
        (world.outbound / "sending" / "taken.xml").unlink()
        answered(exchange)

    life = Life(world, clock)
    life.go_on(10)
    world.front.next("POST /outbox", taken)
    world.drop("taken.xml", invoice("1"))
    life.go_on(1000)
    assert not life.journal.documents.lying_in(life.pipeline.folder.id, "sending")
    assert world.accepted() == {"taken.xml": 1}
    life.drop()


def test_another_file_lies_where_one_in_doubt_did(make_world: Callable[..., World], clock: Clock) -> None:
    """What is found at the access point isn't said of a file that a person has put in its document's place since."""
    world = make_world(outbound=RULES, inbound={"poll": "5m"}, clock=clock.true)
    world.front.next("POST /outbox", cut_after)
    world.front.always("GET /outbox", instead(200, "<a>"))
    world.front.always("GET /messages", instead(200, "<a>"))
    life = Life(world, clock)
    life.go_on(10)
    world.drop("invoice.xml", invoice("1"))
    life.go_on(400)
    sending = world.outbound / "sending" / "invoice.xml"
    sending.rename(world.base / "mine.xml")
    world.put(sending, invoice("2"))
    world.front.heal()
    life.go_on(2000)
    life.drop()
    assert world.accepted() == {"invoice.xml": 1, "?": 1}
    (archived,) = (world.outbound / "archive").rglob("*.xml")
    assert archived.read_bytes() == invoice("2")


def test_a_document_in_doubt_is_back_with_its_note(world: World, life: Life) -> None:
    """One whose file was away for some time, so that its note was cleared away, gets its note again."""
    world.front.always("GET /messages", instead(200, "<a>"))
    life.take(world, "invoice.xml", cut_after)
    life.go_on(600)
    sending, away = world.outbound / "sending" / "invoice.xml", world.base / "invoice.xml"
    note = sending.with_name("invoice.xml.why.txt")
    assert "filedrop resolve" in note.read_text()
    sending.rename(away)
    life.go_on(600)
    assert not note.exists()
    away.rename(sending)
    life.go_on(600)
    assert "filedrop resolve" in note.read_text()


def test_nobody_turns_round_while_the_access_point_is_asked(world: World, life: Life, clock: Clock) -> None:
    """While it is asked whether it is back, which may take minutes, the way out waits for the answer."""
    world.front.always("GET", instead(503))
    life.go_on(400)
    clock.pass_on(4000)
    (account,) = life.service.accounts
    asked = len(world.front.requests)
    assert account.follow() >= 1.0
    assert account.follow() >= 1.0
    assert len(world.front.requests) > asked


@pytest.mark.usefixtures("slowly")
def test_a_name_in_sending_is_anothers_while_it_is_compared(world: World, life: Life, clock: Clock) -> None:
    """A name that is used again in the midst of a comparison isn't nobody's: its document is sent once."""
    hold = world.outbound / "HOLD"
    world.drop("invoice.xml", invoice("1"))
    hold.touch()
    life.touch()
    life.go_on(100)
    clock.pass_on(130)
    life.turn()
    life.do(life.jobs.index("step"))
    hold.unlink()
    life.touch()
    while not world.places()["invoice.xml"].startswith("sent"):
        life.do(len(life.jobs) - 1)
    hold.touch()
    world.drop("another.xml", invoice("2"))
    (world.outbound / "another.xml").rename(world.outbound / "invoice.xml")
    life.touch()
    life.do(life.jobs.index("step"))
    clock.pass_on(3)
    life.touch()
    while not (world.outbound / "sending" / "invoice.xml").exists():
        life.do(life.jobs.index("step"))
    assert life.pipeline.reconciliation.is_under_way
    life.do_all()
    assert [document.file for document in life.journal.documents.lying_in(life.pipeline.folder.id, "sending")] == [
        "invoice.xml"
    ]
    hold.unlink()
    life.go_on(1000)
    assert world.accepted() == dict.fromkeys(world.dropped, 1)


@processes_shown
def test_what_is_not_ready_is_not_held_open(world: World, life: Life, clock: Clock) -> None:
    """Where several are taken together, a file that its writer is still at is nobody's while the others are posted."""
    for number in range(3):
        world.drop(f"{number}.xml", invoice(f"{number}"))
    clock.pass_on(130)
    life.turn()
    life.do_all()
    clock.pass_on(1.9)
    with (world.outbound / "0.xml").open("ab") as writer:
        writer.write(b"<!-- more -->")
    held: list[str] = []

    def look(exchange: Exchange) -> None:
        held.extend(str(file.readlink()) for file in Path("/proc/self/fd").iterdir() if os.path.lexists(file))
        answered(exchange)

    world.front.next("POST /outbox", look, look)
    life.go_on(8)
    assert any(name.endswith("/sending/1.xml") for name in held)
    assert not any(name.endswith("/outbound/0.xml") for name in held)


def test_what_the_follower_concluded_comes_late(world: World, life: Life, clock: Clock) -> None:
    """A document that a sender has by then is nobody's left-over: it isn't in doubt for that."""
    world.drop("invoice.xml", invoice())
    while "send" not in life.jobs:
        clock.pass_on(max(life.turn(), 0.01))
        life.do_each("step")
    (document,) = life.journal.documents.in_state(State.SENDING)
    life.pipeline.put(Returned(document.but(state=State.WAITING)))
    life.do_each("step")
    assert [row.state for row in life.journal.documents.by_ids([document.id])] == [State.SENDING]
    life.go_on(60)
    world.invariants()
    assert len(world.front.asked("POST /outbox")) == 1


def test_sent_folder_that_comes_back(make_world: Callable[..., World], clock: Clock) -> None:
    """What counted as taken while `sent/` had another name is followed again as soon as it is back, to its delivery."""
    world = make_world(outbound=RULES, inbound={"poll": "5m"}, clock=clock.true, deliver_after=5000)
    life = Life(world, clock)
    life.take(world, "invoice.xml")
    sent, away = world.outbound / "sent", world.base / "away"
    sent.rename(away)
    life.go_on(1000)
    assert not life.journal.documents.in_state(State.SENT)
    if sent.exists():
        sent.rmdir()
    away.rename(sent)
    life.go_on(300)
    (document,) = life.journal.documents.in_state(State.SENT)
    assert (document.file, document.history[-1].event) == ("invoice.xml", CAME_BACK)
    assert [total.number for total in life.journal.totals.events() if total.event == "sent"] == [1]
    life.go_on(9000)
    assert world.places()["invoice.xml"].startswith("archive/")
    beside = world.outbound / world.places()["invoice.xml"] / "invoice.xml.json"
    assert json.loads(beside.read_bytes())["state"] == "delivered"
    life.drop()


def test_taken_put_back_and_taken_again(make_world: Callable[..., World], clock: Clock) -> None:
    """Whoever takes a file a second time has the access point asked once more: without an answer, it isn't over."""
    world = make_world(outbound=RULES, inbound={"poll": "5m"}, clock=clock.true, deliver_after=10**6)
    life = Life(world, clock)
    life.take(world, "invoice.xml")
    sent, taken = world.outbound / "sent" / "invoice.xml", world.base / "invoice.xml"
    sidecar = sent.with_name("invoice.xml.json").read_bytes()
    (document,) = life.journal.documents.in_state(State.SENT)
    sent.rename(taken)
    while not life.pipeline.desk.shared.missing.was_asked(document.id):
        life.go_on(1)
    taken.rename(sent)
    sent.with_name("invoice.xml.json").write_bytes(sidecar)
    life.go_on(300)
    world.front.always("GET /", instead(500))
    sent.unlink()
    life.go_on(1000)
    assert [row.state for row in life.journal.documents.by_ids([document.id])] == [State.SENT]
    world.front.heal()
    life.go_on(5000)
    assert not life.journal.documents.in_state(State.SENT)
    life.drop()


def test_killed_when_what_was_let_through_is_claimed(world: World, life: Life, clock: Clock) -> None:
    """What a person has let through goes, though filedrop was killed before it had a row."""
    life.take(world, "first.xml")
    again = world.outbound / "sending" / "again.xml"
    world.put(again, world.dropped["first.xml"])
    waiver = Waiver(hashlib.sha256(again.read_bytes()).hexdigest(), again.stat().st_mtime_ns)
    life.journal.waivers.give(life.pipeline.folder.id, "again.xml", waiver)
    life.stop()
    life = Life(world, clock)
    life.go_on(1000)
    life.drop()
    assert len(world.front.asked("POST /outbox")) == 2


def test_whatever_waits_in_many_folders_is_sent_when_there_is_room(
    make_world: Callable[..., World], clock: Clock
) -> None:
    """What the access point couldn't take goes out at once when it's back, also where other folders come first."""
    numbers = range(8)
    companies = {f"company-{number}": f'{{participants: ["0192:99182589{number}"]}}' for number in numbers}
    world = make_world(companies=companies, outbound={**RULES, "workers": 1}, clock=clock.true)
    life = Life(world, clock)
    life.go_on(10)
    world.front.always("", instead(503))
    for number in numbers:
        for nth in range(3):
            content = invoice(f"{number}-{nth}", sender=f"0192:99182589{number}")
            world.put(world.root / f"company-{number}" / "outbound" / f"{nth}.xml", content)
    life.go_on(200)
    world.front.heal()
    (account,) = life.service.accounts
    life.go_on(account.breaker.rest() + 1)
    assert len(world.sandbox.store.sent("acme")) == len(numbers) * 3
    life.drop()


def test_first_post_before_the_neighbours_comparison(make_world: Callable[..., World], clock: Clock) -> None:
    """After a restart, a document is posted with its claim, however long other folders are compared after that."""
    world = make_world(companies={"other": "{participants: []}"}, outbound=RULES, clock=clock.true)
    before = Life(world, clock)
    before.go_on(10)
    before.stop()
    world.drop("invoice.xml", invoice("1"))
    life = Life(world, clock)
    ours, theirs = life.service.accounts[0].pipelines
    assert ours.folder.path == world.outbound
    report_closed(ours, "invoice.xml")
    life.turn()
    for pipeline in (theirs, ours):  # their first steps: the journal knows what was sent from each
        assert not life.service.accounts[0].ready()
        life.serve(pipeline)
    life.serve(ours)
    life.do(life.jobs.index("send"))
    assert world.accepted() == {"invoice.xml": 1}
    assert theirs.reconciliation.next == -math.inf
    life.go_on(10)
    assert theirs.reconciliation.next > clock.steady()
    life.stop()


def not_told(*_: object) -> None:
    """Instead of what the journal does."""
    raise JournalError("it can't be written")


@pytest.mark.parametrize("receiver", [None, "0192:987654325"])
def test_another_lies_where_the_journal_has_a_moved_document(
    world: World, life: Life, monkeypatch: pytest.MonkeyPatch, receiver: str | None
) -> None:
    """Where the journal wasn't told of a move, what a person has put into the old place since isn't moved as that.

    The document has failed, or was accepted.
    """
    world.drop("moved.xml", invoice("1", receiver=receiver))
    with monkeypatch.context() as patch:
        patch.setattr(life.journal.documents, "record_places", not_told)
        life.touch()
        life.go_on(5)
    assert world.places() == {"moved.xml": "sent" if receiver else "failed"}
    put_into_sending(world, "moved.xml", invoice("2"))
    life.go_on(600)
    home = "archive/2020-06"
    assert world.places() == {"moved.xml": home if receiver else "failed", "another.xml": home}
    world.invariants()


def test_its_like_lies_where_the_journal_has_a_moved_document(
    make_world: Callable[..., World], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Likewise one of the same bytes, where the moved document has got a number: both are sent, if both may be."""
    world = make_world(
        outbound=RULES | {"duplicates": "allow"}, deliver_after=1000.0, inbound={"poll": "5m"}, clock=clock.true
    )
    life = Life(world, clock)
    life.go_on(10)
    for number in range(2):
        world.put(world.outbound / "moved.xml", invoice(str(number)))
        with monkeypatch.context() as patch:
            if number == 1:
                patch.setattr(life.journal.documents, "record_places", not_told)
            life.touch()
            life.go_on(5)
    assert {path.name for path in (world.outbound / "sent").glob("*.xml")} == {"moved.xml", "moved-2.xml"}
    world.put(world.outbound / "sending" / "moved.xml", invoice("1"))
    life.go_on(400)
    assert len(world.front.asked("POST /outbox")) == 3
    life.drop()


def test_another_lies_where_an_accepted_document_was_left(world: World, life: Life) -> None:
    """Likewise where the document was accepted while its folder was away, and is still to be moved."""
    world.drop("left.xml", invoice("1"))
    work_until(life, "send")
    marker = go_away(world, life)
    life.do_all()
    assert world.places() == {"left.xml": "sending"}
    (world.outbound / "sending" / "left.xml").rename(world.base / "taken.xml")
    put_into_sending(world, "left.xml", invoice("2"))
    (world.base / "marker").rename(marker)
    life.go_on(600)
    assert world.accepted() == {"left.xml": 1, "another.xml": 1}
    assert world.places() == {"another.xml": "archive/2020-06"}


def test_exchanged_during_its_request(world: World, life: Life) -> None:
    """A person who puts another file in the place of one that is just being posted has both sent."""
    world.drop("first.xml", invoice("1"))
    work_until(life, "send")
    (world.outbound / "sending" / "first.xml").rename(world.base / "first.xml")
    put_into_sending(world, "first.xml", invoice("2"))
    life.go_on(2000)
    life.drop()
    assert world.accepted() == {"first.xml": 1, "another.xml": 1}


def test_exchanged_during_its_validation(make_world: Callable[..., World], clock: Clock) -> None:
    """What the validator says of a document isn't said of one that lies in its place since."""
    more = "validation: {command: [/bin/sh, -c, 'exit 1']}"
    world = make_world(outbound=RULES | {"validate": "refuse"}, more=more, inbound={"poll": "5m"}, clock=clock.true)
    life = Life(world, clock)
    life.go_on(10)
    world.drop("first.xml", invoice("1"))
    work_until(life, "judge")
    (world.outbound / "sending" / "first.xml").rename(world.base / "first.xml")
    put_into_sending(world, "first.xml", invoice("2"))
    life.do_each("judge")
    life.go_on(400)
    life.drop()
    (sidecar,) = (world.outbound / "failed").glob("*.json")
    assert json.loads(sidecar.read_text())["document"]["number"] == "2"


def work_until(life: Life, job: str) -> None:
    """Look at the folder until this job may be done."""
    while job not in life.jobs:
        life.touch()
        life.turn()
        life.do_each("step")
        life._clock.pass_on(1)


def go_away(world: World, life: Life) -> Path:
    """Take the folder away, until the marker is moved back to the path that is returned; a step finds out."""
    marker = world.outbound / ".filedrop"
    marker.rename(world.base / "marker")
    life._clock.pass_on(130)
    life.turn()
    life.do(life.jobs.index("step"))
    assert life.pipeline.health.trouble
    return marker


def put_into_sending(world: World, name: str, content: bytes) -> None:
    """Move a new document straight into `sending/`, as a person may."""
    world.drop("another.xml", content)
    (world.outbound / "another.xml").rename(world.outbound / "sending" / name)


def fill(world: World, pipeline: OutboundPipeline) -> list[str]:
    """Drop as many documents as an account may have on their way. Returns their names."""
    names = [f"{nth:02}.xml" for nth in range(pipeline.desk.shared.window.size)]
    for name in names:
        world.drop(name, invoice(name))
    return names


def test_a_share_hangs_after_its_documents_were_validated(make_world: Callable[..., World], clock: Clock) -> None:
    """What was validated for a folder that hangs keeps no room from the documents of the other companies."""
    fjord = '{participants: ["0192:991825894"]}'
    world = make_world(
        companies={"fjord": fjord},
        outbound=RULES | {"workers": "1", "validate": "refuse", "foreign_sender": "allow"},
        inbound={"poll": "5m"},
        clock=clock.true,
        more="validation: {command: [/bin/true]}\n",
    )
    life = Life(world, clock)
    life.go_on(10)
    hangs, answers = life.service.accounts[0].pipelines
    assert hangs.folder.path == world.outbound
    life.validator_hangs = True
    fill(world, hangs)
    touch(hangs)
    life.go_on(10)
    assert len(under_way(hangs)) == hangs.desk.shared.window.size
    life.hang(hangs)
    life.service.workers.hung_after = -1.0
    life.validator_hangs = False
    life.go_on(10)
    world.put(answers.folder.path / "c.xml", invoice("c"))
    touch(answers)
    life.go_on(60)
    assert len(world.front.asked("POST /outbox")) == 1
    life.answer(hangs)
    life.go_on(60)
    assert len(world.front.asked("POST /outbox")) == hangs.desk.shared.window.size + 1
    assert hangs.desk.shared.window.room == hangs.desk.shared.window.size
    life.stop()


def test_a_share_hangs_just_before_its_documents_are_posted(make_world: Callable[..., World], clock: Clock) -> None:
    """What is about to be posted from a folder that hangs keeps no room from the documents of the other companies."""
    fjord = '{participants: ["0192:991825894"]}'
    world = make_world(
        companies={"fjord": fjord},
        outbound=RULES | {"workers": "1", "foreign_sender": "allow"},
        inbound={"poll": "5m"},
        clock=clock.true,
    )
    life = Life(world, clock)
    life.go_on(10)
    hangs, answers = life.service.accounts[0].pipelines
    posted = list[int]()

    def hang(step: str) -> None:
        if step == "replace" and not posted:  # of its marker
            life.service.workers.hung_after = -1.0
            world.put(answers.folder.path / "c.xml", invoice("c"))
            touch(answers)
            life.go_on(60)
            posted.append(len(world.front.asked("POST /outbox")))

    for name in fill(world, hangs):
        report_closed(hangs, name)
    with tapped(hang):
        life.do_each("step")
    life.go_on(60)
    assert posted == [1]
    assert len(world.front.asked("POST /outbox")) == hangs.desk.shared.window.size + 1
    assert hangs.desk.shared.window.room == hangs.desk.shared.window.size
    life.stop()
