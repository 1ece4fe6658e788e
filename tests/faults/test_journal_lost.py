"""The journal is put back from an older copy, or is gone: what lies in the folders is enough to go on with."""

from __future__ import annotations

import os
import shutil
from datetime import UTC, datetime, timedelta
from itertools import combinations
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest
from support.asking import ask
from support.documents import invoice
from support.faults import cut_after, instead, reset_before
from support.stepping import Clock, Life

from filedrop import config
from filedrop.document import State
from filedrop.glimpse import folders
from filedrop.marker import MARKER, read_marker
from filedrop.service import sole_use

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.world import World

    from filedrop.lane import Lane
    from filedrop.service import Service

UNREADABLE = instead(200, "<html>Maintenance</html>")  # of the archive: what is in doubt stays so
EITHER_RULE = pytest.mark.parametrize("duplicates", ["refuse", "allow"])


def copied(world: World) -> dict[str, bytes]:
    """The journal as it is now."""
    return {path.name: path.read_bytes() for path in world.state.glob("journal.sqlite*")}


def put_back(world: World, copy: dict[str, bytes]) -> None:
    """The journal as it was then."""
    for path in world.state.glob("journal.sqlite*"):
        path.unlink()
    for name, content in copy.items():
        (world.state / name).write_bytes(content)


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
        world.until(lambda: service.journal.in_state(State.DOUBT))


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
    copy = copied(world)
    for stage in life[then:]:
        stage(world)
    put_back(world, copy)
    world.front.heal()
    (world.outbound / "HOLD").unlink(missing_ok=True)
    world.settle()
    world.invariants()


def test_it_is_said(world: World) -> None:
    """That the journal is an older copy is said by status and check before the start, by log and status after it."""
    world.run_once()
    copy = copied(world)
    world.drop("invoice.xml", invoice())
    world.settle()
    put_back(world, copy)
    said = f"{world.outbound}: the journal is older than this folder"
    checked = ask(world, "check")
    assert checked.status == 0
    assert said in checked.says
    assert said in ask(world, "status").says
    assert said in ask(world, "run", "--once").says
    assert said in ask(world, "status").says
    assert said not in ask(world, "check").says
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


def sweeps(world: World, service: Service, number: int) -> None:
    """Wait until each outbound folder has been looked through so often."""
    for lane in service.accounts[0].lanes:
        sweeps_of(world, lane, number)


def sweeps_of(world: World, lane: Lane, number: int) -> None:
    for _ in range(number):
        world.compared(lane)


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
    copy = copied(world)
    (world.outbound / "HOLD").unlink()
    with world.service():
        world.until(lambda: [*(world.outbound / "archive").rglob("*.xml")])
    shutil.rmtree(next((world.outbound / "archive").iterdir()))
    (world.outbound / "HOLD").touch()
    world.drop("invoice.xml", invoice("2"))
    with world.service():
        world.until((world.outbound / "sending" / "invoice.xml").exists)
    put_back(world, copy)
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
    copy = copied(world)
    world.front.next("POST /outbox", cut_after)
    world.front.always("GET /messages", UNREADABLE)
    (orders / "HOLD").unlink()
    with world.service() as service:
        world.until(lambda: service.journal.in_state(State.DOUBT))
    put_back(world, copy)
    orders.rename(away)
    world.front.heal()
    with world.service() as service:
        (document,) = service.journal.in_state(State.SENT)
        unknown = read_marker(away).changes - service.journal.changes(document.folder).counted  # type: ignore[union-attr] # it is there
        for _ in range(unknown + 1):  # the journal writes more of it than the marker has seen
            service.journal.record(service.journal.document(document.id).later(document.claimed))  # type: ignore[union-attr] # likewise
        away.rename(orders)
        world.until(lambda: len(list((orders / "sent").glob("*.xml"))) == 2)
    assert world.accepted() == {"?": 2}


def deleted(world: World) -> None:
    """The journal is gone, and a person says that its folders are the new one's."""
    shutil.rmtree(world.state)
    with sole_use(world.state) as journal:
        for folder in folders(config.parse(world.config_text())):
            folder.take_over(journal)


@pytest.mark.parametrize("stage", [arrived, lost])
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
    life.turn()
    life.do(life.jobs.index("sweep"))  # of the first folder; the orders' is left waiting, before all others
    while life.jobs[0] != "sweep":
        life.do(0)
    for _ in range(10):
        clock.pass_on(10)
        life.turn()
        life.do_others()
    assert (world.outbound / "sending" / "copy.xml").exists()
    assert life.service.accounts[0].standing.ready
    assert len(world.front.asked("POST /outbox")) == 1
    life.go_on(60)
    assert (world.outbound / "failed" / "copy.xml").exists()
    assert all(life.journal.is_settled(lane.folder.id) for lane in life.service.accounts[0].lanes)
    life.stop()
    assert len(world.front.asked("POST /outbox")) == 1


@pytest.mark.parametrize("damage", ["its beginning", "its middle", "its end", "all of it"])
def test_the_latest_records_are_lost(make_world: Callable[..., World], damage: str) -> None:
    """Where the newest part of the journal (-wal) is damaged, which SQLite takes for its end, it is an older copy."""
    world = make_world(outbound={"duplicates": "allow", "rescan": "100ms"})
    world.run_once()
    world.front.next("POST /outbox", cut_after)
    world.front.always("GET /messages", UNREADABLE)
    world.drop("invoice.xml", invoice())
    with world.service() as service:
        folder = service.accounts[0].lanes[0].folder
        world.until(lambda: service.journal.in_state(State.DOUBT))
        world.until(lambda: folder.changes == service.journal.changes(folder.id).counted)
        killed = copied(world)
    put_back(world, killed)
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
