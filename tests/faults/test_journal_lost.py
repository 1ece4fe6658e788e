"""The journal is put back from an older copy, or is gone: what lies in the folders is enough to go on with."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from itertools import combinations
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest
from support.commands import ask
from support.documents import invoice
from support.faults import answered, cut_after, instead, reset_before
from support.matrix import quick
from support.stepping import RULES, Clock, Life
from werkzeug.http import http_date

from filedrop import config
from filedrop.errors import Changed
from filedrop.journal import JOURNAL
from filedrop.model.document import State
from filedrop.process.lock import locked_state
from filedrop.status.folders import folders
from filedrop.storage.marker import MARKER, read_marker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from support.faults import Exchange
    from support.world import World

    from filedrop.daemon.daemon import Daemon
    from filedrop.outbound.pipeline import OutboundPipeline

UNREADABLE = instead(200, "<html>Maintenance</html>")  # of the archive: what is in doubt stays so
EITHER_RULE = pytest.mark.parametrize("duplicates", ["refuse", "allow"])


def ready(_world: World) -> None:
    """Nothing has been dropped."""


def claimed(world: World) -> None:
    """It waits to be posted."""
    (world.outbound / "HOLD").touch()
    world.drop("invoice.xml", invoice())
    with world.service():
        world.until(lambda: world.places() == {"invoice.xml": "sending"})


def arrived(world: World) -> None:
    """It was posted, and the answer got lost."""
    _without_answer(world, lost=False)


def lost(world: World) -> None:
    """It was posted, and did not arrive."""
    _without_answer(world, lost=True)


def _without_answer(world: World, *, lost: bool) -> None:
    world.front.next("POST /outbox", reset_before if lost else cut_after)
    world.front.always("GET /messages", UNREADABLE)
    (world.outbound / "HOLD").unlink()
    with world.service() as service:
        world.until(lambda: service.journal.documents.in_state(State.DOUBT))


def refused(world: World) -> None:
    """It was posted, and the access point refused it."""
    world.front.next("POST /outbox", instead(413, "Too large for today"))
    (world.outbound / "HOLD").unlink()
    world.settle(ends=("failed",))


def accepted(world: World) -> None:
    """It was accepted, and isn't delivered as far as we hear."""
    world.front.heal()
    world.front.always("GET /outbox", instead(500))
    with world.service():
        world.until(lambda: world.settled(("sent",)))


def delivered(world: World) -> None:
    """It was delivered."""
    world.front.heal()
    world.settle()


LIVES = [(ready, claimed, arrived, accepted, delivered), (ready, claimed, lost), (ready, claimed, refused)]
COPIES = sorted(
    {(life[:now], then) for life in LIVES for then, now in combinations(range(1, len(life) + 1), 2)}, key=str
)
QUICK = {"claimed, then arrived", "ready, then lost", "claimed, then accepted", "claimed, then refused"}


def named(life: tuple[Callable[[World], None], ...], then: int) -> str:
    return f"{life[then - 1].__name__}, then {life[-1].__name__}"


@pytest.mark.parametrize(
    ("life", "then"),
    [
        pytest.param(life, then, id=named(life, then), marks=[] if named(life, then) in QUICK else pytest.mark.slow)
        for life, then in sorted(COPIES, key=lambda copy: named(*copy))
    ],
)
@EITHER_RULE
def test_an_older_copy(
    make_world: Callable[..., World], life: tuple[Callable[[World], None], ...], then: int, duplicates: str
) -> None:
    """Whatever became of a document since the copy was made, it is accepted once, and ends where it belongs."""
    world = make_world(outbound={"duplicates": duplicates, "rescan": "100ms"})
    world.run_once()
    for stage in life[:then]:
        stage(world)
    copy = world.copy_of_journal()
    for stage in life[then:]:
        stage(world)
    world.put_back(copy)
    world.front.heal()
    (world.outbound / "HOLD").unlink(missing_ok=True)
    world.settle()
    world.invariants()


def dropped(life: Life) -> None:
    """What was dropped is seen at once, and taken as far as it goes."""
    life.touch()
    for _ in range(10):
        life.go_on(2)


@pytest.mark.parametrize("earlier", quick([True, False]), ids=["between two posts", "before the first"])
@pytest.mark.parametrize("fate", [answered, cut_after, reset_before], ids=["accepted", "answer lost", "never arrived"])
@EITHER_RULE
def test_an_older_copy_within_one_rescan(
    make_world: Callable[..., World], fate: Callable[[Exchange], None], duplicates: str, *, earlier: bool
) -> None:
    """A copy that was made two seconds before a post is known to be older, though nothing was looked through since."""
    clock = Clock()
    rules = RULES | {"duplicates": duplicates, "rescan": "12h"}
    world = make_world(outbound=rules, inbound={"poll": "5m"}, clock=clock.true)
    life = Life(world, clock)
    life.go_on(30)
    if earlier:
        world.drop("earlier.xml", invoice("1"))
        dropped(life)
    copy = world.copy_of_journal()
    clock.pass_on(2)
    world.front.next("POST /outbox", fate)
    world.front.always("GET /messages", UNREADABLE)
    world.drop("invoice.xml", invoice("2"))
    dropped(life)
    assert len(world.front.asked("POST /outbox")) == 1 + earlier
    life.drop()
    world.put_back(copy)
    world.front.heal()
    life = Life(world, clock)
    life.go_on(2500)
    life.stop()
    assert world.settled()
    world.invariants()


def test_delivered_since_the_copy_was_made(make_world: Callable[..., World]) -> None:
    """That a document was delivered since, its sidecar tells, though the access point can't be asked."""
    world = make_world(outbound={"rescan": "100ms"})
    world.drop("invoice.xml", invoice())
    accepted(world)
    copy = world.copy_of_journal()
    delivered(world)
    world.put_back(copy)
    world.front.always("GET /outbox", instead(500))
    with world.service() as service:
        world.until(
            lambda: service.journal.documents.by_id(world.sidecar("invoice.xml")["id"]).state is State.DELIVERED
        )
    world.invariants()


def test_a_marker_that_says_what_is_under_way(make_world: Callable[..., World]) -> None:
    """The marker is written before the first of several posts, and not for each."""
    clock = Clock()
    world = make_world(outbound=RULES | {"rescan": "12h"}, inbound={"poll": "5m"}, clock=clock.true)
    life = Life(world, clock)
    life.go_on(30)
    said: list[bytes] = []

    def read(exchange: Exchange) -> None:
        said.append((world.outbound / MARKER).read_bytes())
        answered(exchange)

    world.front.always("POST /outbox", read)
    before = (world.outbound / MARKER).read_bytes()
    for number in range(8):
        world.drop(f"{number}.xml", invoice(str(number)))
    dropped(life)
    life.stop()
    assert len(said) == 8
    assert before not in said
    assert len(set(said)) < 4
    world.invariants()


def test_it_is_said(world: World) -> None:
    """That the journal is an older copy is said by status and check before the start, by log and status after it."""
    world.run_once()
    copy = world.copy_of_journal()
    world.drop("invoice.xml", invoice())
    world.settle()
    world.put_back(copy)
    said = f"{world.outbound}: the journal is older than this folder"
    checked = ask(world, "check")
    assert checked.status == 0
    assert said in checked.says
    assert said in ask(world, "status").says
    assert said in ask(world, "run", "--once").says
    assert said in ask(world, "status").says
    assert said not in ask(world, "check").says
    world.invariants()


def test_status_while_filedrop_learns(make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch) -> None:
    """After a take-over, status shows how many sidecars filedrop has read, and demands no take-over; check agrees."""
    monkeypatch.setattr("filedrop.outbound.recovery.ROWS_AT_ONCE", 2)
    world = make_world(clock=(clock := Clock()).true)
    for number in range(5):
        world.drop(f"invoice-{number}.xml", invoice(str(number)))
    world.run_once()
    shutil.rmtree(world.state)
    life, said = Life(world, clock), list[str]()
    try:
        life.go_on(10)
        pipeline = next(iter(life.service.accounts[0].pipelines))
        assert "check --take-over" in pipeline.report.trouble
        assert ask(world, "check", "--take-over").status == 0
        assert f"{world.outbound}: filedrop learns from the sidecars here what was sent" in ask(world, "check").says
        monkeypatch.setattr(pipeline, "_answers", lambda: said.append(pipeline.report.trouble))
        life.go_on(600)
        learns = "filedrop learns from the sidecars here what was sent: {} read; nothing is sent before that"
        assert {learns.format(2), learns.format(4)} <= set(said)
        assert not any("take-over" in why for why in said[1:])  # the first is before anything was learned
        assert not pipeline.report.trouble
        assert "filedrop learns" not in ask(world, "check").says
    finally:
        life.stop()
    world.invariants()


def test_nothing_is_said_of_an_older_marker(world: World) -> None:
    """A marker that was written before the journal's latest records, as after a power cut, is no cause for doubt."""
    world.run_once()
    marker = (world.outbound / MARKER).read_bytes()
    world.drop("invoice.xml", invoice())
    world.settle()
    assert (world.outbound / MARKER).read_bytes() != marker
    (world.outbound / MARKER).write_bytes(marker)
    world.run_once()
    assert not [line for line in world.log() if line["event"] == "journal.outdated"]


def test_the_marker_is_left_alone_while_nothing_happens(make_world: Callable[..., World]) -> None:
    """Looking through a folder in which nothing changes writes nothing there."""
    world = make_world(outbound={"rescan": "50ms"})
    world.drop("invoice.xml", invoice())
    world.settle()
    with world.service() as service:
        sweeps(world, service, 2)
        before = (world.outbound / MARKER).stat()
        sweeps(world, service, 5)
    assert (world.outbound / MARKER).stat() == before


def sweeps(world: World, service: Daemon, number: int) -> None:
    """Wait until each outbound folder has been looked through so often."""
    for pipeline in service.accounts[0].pipelines:
        sweeps_of(world, pipeline, number)


def sweeps_of(world: World, pipeline: OutboundPipeline, number: int) -> None:
    for _ in range(number):
        world.compared(pipeline)


def test_a_marker_that_cannot_be_written(world: World) -> None:
    """Documents go even where something is in the way of the marker's next version."""
    world.run_once()
    in_the_way = world.outbound / "sending" / f"{MARKER}.tmp"
    in_the_way.mkdir()
    world.drop("invoice.xml", invoice())
    with world.service():
        world.until(lambda: world.places().get("invoice.xml", "").startswith("archive/"))
    in_the_way.rmdir()
    world.settle()
    world.invariants()


def test_a_name_that_was_used_again(make_world: Callable[..., World]) -> None:
    """A document that the older journal knows by the name of a later one's file doesn't take that file for its own."""
    world = make_world(outbound={"rescan": "100ms"})
    world.put(world.outbound / "invoice.xml", invoice("1"))
    (world.outbound / "HOLD").touch()
    with world.service():
        world.until((world.outbound / "sending" / "invoice.xml").exists)
    copy = world.copy_of_journal()
    (world.outbound / "HOLD").unlink()
    with world.service():
        world.until(lambda: [*(world.outbound / "archive").rglob("*.xml")])
    shutil.rmtree(next((world.outbound / "archive").iterdir()))
    (world.outbound / "HOLD").touch()
    world.drop("invoice.xml", invoice("2"))
    with world.service():
        world.until((world.outbound / "sending" / "invoice.xml").exists)
    world.put_back(copy)
    (world.outbound / "HOLD").unlink()
    world.settle()
    assert world.accepted() == {"?": 1, "invoice.xml": 1}
    assert world.sidecar("invoice.xml")["document"]["number"] == "2"


class Two:
    """A company with two outbound folders: the world's own, and one for orders."""

    def __init__(self, make_world: Callable[..., World], **changes: str) -> None:
        self.world = make_world(
            companies={"acme": '{participants: ["0192:987654325"], outbound: [ROOT/acme/outbound, ROOT/orders]}'},
            outbound={"rescan": "100ms"} | changes,
            deliver_after=3600,
        )
        self.orders = self.world.root / "orders"
        text = self.world.config_text().replace("ROOT", str(self.world.root))
        self.world.config_text = lambda: text  # type: ignore[method-assign] # this world has two folders

    def lies_in(self, place: str) -> bool:
        """Does a document lie in this place of the orders' folder?"""
        return bool(list((self.orders / place).glob("*.xml")))


def test_a_folder_that_was_away_when_the_copy_was_put_back(make_world: Callable[..., World]) -> None:
    """However long a folder was away, the journal is known to be older than it, and nothing there is sent twice."""
    two = Two(make_world, duplicates="allow", doubt="200ms")
    world, orders, away = two.world, two.orders, two.world.base / "away"
    world.run_once()
    world.put(orders / "sent.xml", invoice("1"))
    with world.service():
        world.until(lambda: two.lies_in("sent"))
    (orders / "HOLD").touch()
    world.put(orders / "waiting.xml", invoice("2"))
    with world.service():
        world.until(lambda: two.lies_in("sending"))
    copy = world.copy_of_journal()
    world.front.next("POST /outbox", cut_after)
    world.front.always("GET /messages", UNREADABLE)
    (orders / "HOLD").unlink()
    with world.service() as service:
        world.until(lambda: service.journal.documents.in_state(State.DOUBT))
    world.put_back(copy)
    orders.rename(away)
    world.front.heal()
    with world.service() as service:
        (document,) = service.journal.documents.in_state(State.SENT)
        unknown = read_marker(away).changes - service.journal.folders.changes(document.folder).counted  # type: ignore[union-attr] # it is there
        for _ in range(unknown + 1):  # the journal writes more of it than the marker has seen
            with suppress(Changed):  # it was just asked after
                service.journal.documents.record(service.journal.documents.by_id(document.id).later(document.claimed))  # type: ignore[union-attr] # likewise
        away.rename(orders)
        world.until(lambda: len(list((orders / "sent").glob("*.xml"))) == 2)
    assert world.accepted() == {"?": 2}


def deleted(world: World) -> None:
    """The journal is gone, and a person says that its folders are the new one's."""
    shutil.rmtree(world.state)
    with locked_state(world.state) as journal:
        for folder in folders(config.parse(world.config_text())):
            folder.take_over(journal)


@pytest.mark.parametrize("stage", quick([arrived, lost]))
@EITHER_RULE
def test_deleted_while_in_doubt(
    make_world: Callable[..., World], stage: Callable[[World], None], duplicates: str
) -> None:
    """What lies in `sending/` when the journal is lost is looked for before it is sent, however old it is."""
    world = make_world(outbound={"duplicates": duplicates})
    claimed(world)
    stage(world)
    a_month_ago = datetime.now(UTC) - timedelta(days=30)
    os.utime(world.outbound / "sending" / "invoice.xml", (a_month_ago.timestamp(), a_month_ago.timestamp()))
    deleted(world)
    world.front.heal()
    world.settle()
    world.invariants()
    asked = [parse_qs(urlsplit(request.target).query) for request in world.front.asked("GET /messages")]
    assert min(query["sent"][0].strip("'>=") for query in asked if "sent" in query) < a_month_ago.date().isoformat()


def test_deleted_while_on_its_way(make_world: Callable[..., World]) -> None:
    """What lies in `sent/` when the journal is lost is followed to its delivery, and not sent again."""
    world = make_world()
    world.run_once()
    world.drop("invoice.xml", invoice())
    accepted(world)
    deleted(world)
    world.put(world.outbound / "copy.xml", invoice())
    world.front.heal()
    with world.service():
        world.until(lambda: world.places()["invoice.xml"].startswith("archive/"))
        world.until((world.outbound / "failed" / "copy.xml").exists)
    assert world.accepted() == {"invoice.xml": 1}


def test_a_message_that_another_document_may_be(make_world: Callable[..., World]) -> None:
    """It is no message too many of a document whose request the lost journal knew: a person is asked about the other.

    The access point's `Date` is 8 seconds ahead of what its messages say, and nothing is known of that yet.
    """
    clock = Clock()
    world = make_world(outbound=RULES | {"duplicates": "allow"}, inbound={"poll": "5m"}, clock=clock.true)
    world.front.date = lambda: http_date(clock.true() + timedelta(seconds=8))
    world.front.always("GET /messages", UNREADABLE)
    world.front.next("POST /outbox", cut_after, cut_after)
    for name in ("one.xml", "two.xml"):
        life = Life(world, clock)
        life.go_on(10)
        world.put(world.outbound / name, invoice())
        dropped(life)
        life.drop()
        if name == "one.xml":
            deleted(world)
    life = Life(world, clock)
    world.front.heal()
    life.go_on(2500)
    life.stop()
    assert len(world.front.asked("POST /outbox")) == 2
    assert (world.outbound / "archive" / "2020-06" / "one.xml").exists()
    _, second = sorted(message.msg_no for message in world.sandbox.store.sent("acme"))
    note = (world.outbound / "sending" / "two.xml.why.txt").read_text()
    assert f"--sent {second}" in " ".join(note.split())


@pytest.mark.slow
def test_duplicates_are_known_before_the_first_post(make_world: Callable[..., World]) -> None:
    """With a new journal nothing is posted before each folder's sidecars have been read; and they are read once."""
    two = Two(make_world)
    world, orders = two.world, two.orders
    world.run_once()
    world.put(orders / "sent.xml", invoice("1"))
    with world.service():
        world.until(lambda: two.lies_in("sent"))
    deleted(world)
    world.put(world.outbound / "copy.xml", invoice("1"))
    clock = Clock()
    life = Life(world, clock)
    (slow,) = (one for one in life.service.accounts[0].pipelines if one.folder.path == orders)
    life.hang(slow)  # its comparison takes its time
    life.go_on(25)
    assert (world.outbound / "sending" / "copy.xml").exists()
    assert life.service.accounts[0].breaker.ready
    assert len(world.front.asked("POST /outbox")) == 1
    life.answer(slow)
    life.go_on(60)
    assert (world.outbound / "failed" / "copy.xml").exists()
    assert all(life.journal.folders.is_settled(pipeline.folder.id) for pipeline in life.service.accounts[0].pipelines)
    life.stop()
    assert len(world.front.asked("POST /outbox")) == 1


@pytest.mark.slow
def test_an_older_copy_while_another_folder_hangs(make_world: Callable[..., World]) -> None:
    """A journal put back by hand posts nothing before all folders of the account were seen: it calls each settled."""
    two = Two(make_world)
    world, orders = two.world, two.orders
    world.run_once()
    copy = world.copy_of_journal()
    world.put(orders / "sent.xml", invoice("1"))
    with world.service():
        world.until(lambda: two.lies_in("sent"))
    world.put_back(copy)
    world.put(world.outbound / "copy.xml", invoice("1"))
    life = Life(world, Clock())
    pipelines = life.service.accounts[0].pipelines
    (slow,) = (pipeline for pipeline in pipelines if pipeline.folder.path == orders)
    life.hang(slow)  # its marker, which is ahead of the copy, isn't read yet
    life.go_on(25)
    assert all(life.journal.folders.is_settled(pipeline.folder.id) for pipeline in pipelines if pipeline is not slow)
    assert (world.outbound / "sending" / "copy.xml").exists()
    life.answer(slow)
    life.go_on(60)
    assert (world.outbound / "failed" / "copy.xml").exists()
    life.stop()
    assert len(world.front.asked("POST /outbox")) == 1


@contextmanager
def beginning_of(world: World) -> Iterator[None]:
    """Has a program read the journal as it is now: what is recorded meanwhile stays in the -wal, however long it is."""
    with closing(sqlite3.connect(world.state / JOURNAL, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM documents").fetchone()
        yield


@pytest.mark.parametrize("damage", quick(["its beginning", "its middle", "its end", "all of it"], 2))
def test_the_latest_records_are_lost(make_world: Callable[..., World], damage: str) -> None:
    """Where the newest part of the journal (-wal) is damaged, which SQLite takes for its end, it is an older copy."""
    world = make_world(outbound={"duplicates": "allow", "rescan": "100ms"})
    world.run_once()
    world.front.next("POST /outbox", cut_after)
    world.front.always("GET /messages", UNREADABLE)
    world.drop("invoice.xml", invoice())
    with beginning_of(world), world.service() as service:
        folder = service.accounts[0].pipelines[0].folder
        world.until(lambda: service.journal.documents.in_state(State.DOUBT))
        world.until(lambda: folder.changes == service.journal.folders.changes(folder.id).counted)
        service.journal.engine.checkpoint()  # as whenever nothing is recorded for a while
        killed = world.copy_of_journal()
    world.put_back(killed)
    newest = world.state / "journal.sqlite-wal"
    content = newest.read_bytes()
    assert content
    match damage:
        case "its beginning":
            newest.write_bytes(bytes(32) + content[32:])
        case "its middle":
            middle = 32 + (4096 + 24) * (len(content) // (4096 + 24) // 2)
            newest.write_bytes(content[:middle] + bytes(4096 + 24) + content[middle + 4096 + 24 :])
        case "its end":
            newest.write_bytes(content[: -len(content) // 3])
        case _:
            newest.unlink()
    world.front.heal()
    world.settle()
    assert [line for line in world.log() if line["event"] == "journal.outdated"]
    world.invariants()


def test_two_rows_for_one_message(make_world: Callable[..., World]) -> None:
    """Where two lost journals left a second row, without a file, another copy isn't taken for that row's document."""
    world = make_world()
    world.drop("invoice.xml", invoice("1"))
    world.settle()
    with locked_state(world.state) as journal:
        (document,) = journal.documents.called("invoice.xml", "invoice.xml")
        journal.documents.record(document.but(id=f"{document.id[:-4]}0000", revision=0, state=State.SENT, place="sent"))
    world.put(world.outbound / "copy.xml", invoice("1"))
    world.run_once()
    assert (world.outbound / "failed" / "copy.xml").exists()
    assert not (world.outbound / "sent" / "copy.xml").exists()
    assert world.accepted() == {"invoice.xml": 1}


def put_back_as_copied(world: World, copied: Path, share: Path) -> None:
    """What waited while journal and share were copied is sent, then both are put back: it isn't sent again."""
    (world.outbound / "HOLD").unlink()
    world.settle()
    assert world.accepted() == {"invoice.xml": 1}
    shutil.rmtree(world.root)
    share.rename(world.root)
    world.put_back({"journal.sqlite": copied.read_bytes()})
    (world.outbound / "HOLD").unlink()
    world.settle()
    assert world.accepted() == {"invoice.xml": 1}
    world.invariants()


def test_share_and_journal_of_one_moment_are_put_back(world: World) -> None:
    """A copy by `filedrop backup` knows that it is one: what was sent since both were copied isn't sent again."""
    claimed(world)
    copied, share = world.base / "copy.sqlite", world.base / "copied share"
    with world.service() as service:
        service.journal.copies.copy_to(copied)
    shutil.copytree(world.root, share)
    put_back_as_copied(world, copied, share)


def test_share_and_journal_of_a_new_folder_are_put_back(world: World) -> None:
    """Likewise where the folder's marker has no count yet: its first documents wait since the last comparison."""
    copied, share = world.base / "copy.sqlite", world.base / "copied share"
    world.run_once()
    (world.outbound / "HOLD").touch()
    world.drop("invoice.xml", invoice())
    with world.service() as service:
        world.until(lambda: world.places() == {"invoice.xml": "sending"})
        service.journal.copies.copy_to(copied)
        shutil.copytree(world.root, share)
    put_back_as_copied(world, copied, share)
