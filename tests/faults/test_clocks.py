"""filedrop is stopped for a month, or the clock is set while it runs: everything goes on where it was, and once."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from support.commands import ask
from support.documents import SELLER, invoice
from support.faults import cut_after, instead, reset_before
from support.matrix import quick
from support.stepping import RULES, Clock, Life
from werkzeug.http import http_date

from filedrop.model.document import State

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.faults import Exchange, Request
    from support.world import World

AN_HOUR = 3600.0  # seconds
FOUND, LOST = "in doubt, and arrived.xml", "in doubt, and lost.xml"


@pytest.fixture
def world(make_world: Callable[..., World], clock: Clock) -> World:
    """A world whose documents take some hours to their receiver."""
    return make_world(
        outbound=RULES | {"track": "5m"}, inbound={"poll": "5m"}, clock=clock.true, deliver_after=3 * AN_HOUR
    )


def under_way(world: World, life: Life) -> None:
    """Bring documents to everywhere on their way: sent, in doubt, waiting; and messages that can't be fetched."""

    def looks(request: Request) -> bool:
        return request.line == "GET /messages" and "OUT" in request.target

    life.go_on(10)
    world.front.always(looks, instead(200, "<html>Maintenance</html>"))
    lives = [("sent.xml",), (FOUND, cut_after), (LOST, reset_before), ("waiting.xml", *[instead(429)] * 9)]
    for name, *faults in lives:
        world.front.next("POST /outbox", *faults)
        world.drop(name, invoice(name))
        for _ in range(3):  # it is seen, has settled, and is taken as far as it goes
            life.touch()
            life.go_on(3)
    world.front.always("POST /outbox", instead(429))
    number = world.receive(invoice("stuck"))
    world.front.always(f"GET /messages/{number}/", instead(200, "<a>"))
    life.go_on(400)
    assert {name: world.places()[name] for name in ("sent.xml", FOUND, LOST, "waiting.xml")} == {
        "sent.xml": "sent", FOUND: "sending", LOST: "sending", "waiting.xml": "sending",
    }  # fmt: skip


def all_is_well(world: World, life: Life) -> None:
    """Everything settles: all documents are delivered, having been accepted once, and all messages are here."""
    world.front.heal()
    for _ in range(9):
        if not world.settled(("archive",)):
            life.go_on(AN_HOUR)
    life.drop()
    world.invariants()
    assert {place.split("/")[0] for place in world.places().values()} == {"archive"}
    assert world.accepted() == dict.fromkeys(world.dropped, 1)


@pytest.mark.parametrize("end", quick([Life.stop, Life.drop]), ids=["stopped", "killed"])
def test_a_month_without_it(world: World, clock: Clock, end: Callable[[Life], None]) -> None:
    """What was under way a month ago, and what has come since, goes on as if it had been a minute."""
    life = Life(world, clock)
    under_way(world, life)
    end(life)
    world.drop("dropped meanwhile.xml", invoice("meanwhile"))
    world.receive(invoice("received meanwhile"))
    clock.pass_on(30 * 24 * AN_HOUR)
    all_is_well(world, Life(world, clock))


@pytest.mark.slow
@pytest.mark.parametrize("days", [[-1], [-1, 0], [365, 0], [365]], ids=str)
def test_the_clock_is_set(world: World, clock: Clock, days: list[int]) -> None:
    """Whatever filedrop's clock says meanwhile, nothing fails for that, and nothing waits for it."""
    life = Life(world, clock)
    under_way(world, life)
    for each in days:
        clock.skew = timedelta(days=each)
        world.drop(f"dropped on day {each}.xml", invoice(f"day {each}"))
        world.receive(invoice(f"received on day {each}"))
        life.go_on(AN_HOUR)
    assert not list((world.outbound / "failed").iterdir())
    all_is_well(world, life)


@pytest.mark.parametrize("end", [None, Life.stop, Life.drop], ids=["it runs on", "stopped", "killed"])
@pytest.mark.parametrize("tells", quick([True, False]), ids=["the access point has a clock", "it tells no time"])
def test_the_clock_is_set_on_during_a_transfer(
    make_world: Callable[..., World], clock: Clock, end: Callable[[Life], None] | None, *, tells: bool
) -> None:
    """What was just accepted isn't overdue by that; it is when that time has really passed, by clocks that agree."""
    world = make_world(outbound=RULES | {"overdue": "1h"}, inbound={"poll": "5m"}, clock=clock.true)
    if not tells:
        world.front.date = lambda: "now"
    life = accepted_and_gone(world, Life(world, clock))
    clock.skew = timedelta(hours=2)
    if end is not None:
        end(life)
        life = Life(world, clock)
    life.go_on(1800)
    assert world.places() == {"invoice.xml": "sent"}
    life.go_on(3 * AN_HOUR)
    life.drop()
    assert world.error("invoice.xml") == "not-delivered"


@pytest.mark.parametrize("skew", quick([timedelta(0), timedelta(days=-365)]), ids=["as it was", "a year back"])
def test_overdue_while_it_was_not_running(make_world: Callable[..., World], clock: Clock, skew: timedelta) -> None:
    """What time has passed meanwhile is known where two clocks agree on it; else it is waited for once more."""
    world = make_world(outbound=RULES | {"overdue": "1h"}, inbound={"poll": "5m"}, clock=clock.true)
    accepted_and_gone(world, Life(world, clock)).stop()
    clock.pass_on(2 * AN_HOUR)
    clock.skew = skew
    life = Life(world, clock)
    life.go_on(300)
    assert world.places() == {"invoice.xml": "sent" if skew else "failed"}
    life.go_on(3 * AN_HOUR)
    life.drop()
    assert world.error("invoice.xml") == "not-delivered"


def accepted_and_gone(world: World, life: Life) -> Life:
    """Have a document accepted, whose message leaves the outbox without being delivered."""
    world.sandbox.store.connect({SELLER: "acme"})  # its receiver is nobody's
    life.go_on(10)
    world.drop("invoice.xml", invoice())
    for _ in range(3):  # it is seen, has settled, and is taken as far as it goes
        life.touch()
        life.go_on(3)
    assert world.places() == {"invoice.xml": "sent"}
    return life


def test_a_file_that_is_being_written_when_the_clock_is_set(world: World, clock: Clock) -> None:
    """It grows no older by that: its writer has as long as ever."""
    clock.skew = datetime.now(UTC) - clock.true()  # so that the times of files tell something
    content = invoice("slow")
    life = Life(world, clock)
    life.go_on(10)
    (world.outbound / "slow.xml").write_bytes(content[: len(content) // 2])
    life.touch()
    life.go_on(30)
    clock.skew += timedelta(days=365)
    for _ in range(15):
        life.go_on(10)
    assert (world.outbound / "slow.xml").exists()
    (world.outbound / "slow.xml").unlink()
    world.drop("slow.xml", content)
    all_is_well(world, life)


@pytest.mark.parametrize("days", quick([[0, -3], [30, 0]]), ids=["set back", "put right"])
def test_a_note_when_the_clock_is_set_back(world: World, clock: Clock, days: list[int]) -> None:
    """What was claimed in the future, by the clock that there is now, has a note that says what is so now."""
    first, then = (timedelta(days=each) for each in days)
    clock.skew = first
    life = Life(world, clock)
    (world.outbound / "HOLD").touch()
    life.take(world, "invoice.xml")
    life.go_on(400)
    note = world.outbound / "sending" / "invoice.xml.why.txt"
    assert "there is a file HOLD in" in note.read_text()
    clock.skew = then
    world.front.next("POST /outbox", reset_before)
    world.front.always("GET /messages", instead(500))
    (world.outbound / "HOLD").unlink()
    life.go_on(600)
    assert "whether the access point received the document" in note.read_text()
    all_is_well(world, life)


def date_is_off(world: World, clock: Clock, seconds: float) -> None:
    """From now on, `received` is so many seconds later than `Date` says."""
    world.front.date = lambda: http_date(clock.true() - timedelta(seconds=seconds))


def in_doubt(world: World) -> list[str]:
    """What `status` says of the documents in doubt."""
    documents = json.loads(ask(world, "status", "--json").output)["companies"]["acme"]["documents"]
    return [document["why"] for document in documents if document["state"] == "doubt"]


@pytest.mark.parametrize("seconds", quick([-8, 8, -AN_HOUR, AN_HOUR], 2))
def test_two_clocks(world: World, clock: Clock, seconds: float) -> None:
    """What the access point's clocks differ by is learned from what was accepted: what has arrived is found by it."""
    date_is_off(world, clock, seconds)
    life = Life(world, clock)
    life.take(world, "known.xml")
    life.stop()
    life = Life(world, clock)  # learned anew after a start
    life.take(world, "arrived.xml", cut_after)
    life.take(world, "lost.xml", reset_before)
    all_is_well(world, life)
    assert not [line for line in world.log() if line["event"] == "document.undecided"]


@pytest.mark.parametrize("seconds", quick([-8, -AN_HOUR]))
@pytest.mark.parametrize("ends", quick(["learned", "resolved"]))
def test_two_clocks_of_which_nothing_is_known(world: World, clock: Clock, seconds: float, ends: str) -> None:
    """Where only a clock speaks against what has arrived, nothing is sent again: a person is asked, and told how."""
    date_is_off(world, clock, seconds)
    life = Life(world, clock)
    life.take(world, "arrived.xml", cut_after)
    life.go_on(2 * AN_HOUR)
    assert world.places() == {"arrived.xml": "sending"}
    assert len(world.front.asked("POST /outbox")) == 1
    (why,) = in_doubt(world)
    assert "message 1 has the same content" in why
    note = (world.outbound / "sending" / "arrived.xml.why.txt").read_text()
    (told,) = [line["why"] for line in world.log() if line["event"] == "document.undecided"]
    assert told == why
    (document,) = life.journal.documents.in_state(State.DOUBT)
    commands = [f"filedrop resolve {document.id} --sent 1", f"filedrop resolve {document.id} --send-again"]
    for command in commands:
        assert command in note
        assert command in why
    if ends == "learned":
        life.take(world, "known.xml")
    else:
        done = world.filedrop(*commands[0].split()[1:])
        assert done.returncode == 0, done.stderr
    all_is_well(world, life)


@pytest.mark.parametrize("comparable", quick([True, False]), ids=["comparable", "incomparable"])
def test_two_clocks_of_a_message_that_took_long(world: World, clock: Clock, comparable: bool) -> None:  # noqa: FBT001 - a parameter
    """A message that came of a later request than its document's first doesn't make the clocks differ by that much."""
    life = Life(world, clock)
    life.go_on(10)
    world.front.always("POST /outbox", instead(429))
    life.take(world, "late.xml")
    life.go_on(2 * AN_HOUR)
    world.front.heal()
    life.go_on(AN_HOUR)
    assert world.accepted() == {"late.xml": 1}
    if not comparable:
        world.front.always("GET /messages/2/", instead(200, "<a>"))
    life.take(world, FOUND, cut_after)
    life.go_on(AN_HOUR)
    assert world.accepted()[FOUND] == 1
    assert len(in_doubt(world)) == (0 if comparable else 1)
    all_is_well(world, life)


@pytest.mark.parametrize("comparable", quick([True, False]), ids=["comparable", "incomparable"])
def test_two_clocks_of_a_late_message(make_world: Callable[..., World], clock: Clock, comparable: bool) -> None:  # noqa: FBT001 - a parameter
    """A message that came long after its only request, to which there was no clear answer, says nothing of the clocks.

    Else what has arrived soon after its own request would be older than that: it would be sent again, or be a person's.
    """
    world = make_world(
        outbound=RULES | {"doubt": "3h"}, inbound={"poll": "5m"}, clock=clock.true, deliver_after=3 * AN_HOUR
    )

    def late(exchange: Exchange) -> None:
        clock.later(2 * AN_HOUR, lambda: world.front.ask(exchange.request))
        exchange.cut()

    life = Life(world, clock)
    life.go_on(10)
    life.take(world, "late.xml", late)
    life.go_on(4 * AN_HOUR)
    assert world.accepted() == {"late.xml": 1}
    if not comparable:
        world.front.always("GET /messages/2/", instead(200, "<a>"))
    life.take(world, FOUND, cut_after)
    life.go_on(4 * AN_HOUR)
    assert world.accepted()[FOUND] == 1
    assert len(in_doubt(world)) == (0 if comparable else 1)
    all_is_well(world, life)


def test_a_clock_that_jumps(world: World, clock: Clock) -> None:
    """Where one of its clocks was set meanwhile, what was learned is wrong, and still nothing is sent twice."""
    life = Life(world, clock)
    life.take(world, "known.xml")
    date_is_off(world, clock, -AN_HOUR)
    life.go_on(400)  # it hears of that
    life.take(world, "arrived.xml", cut_after)
    life.go_on(2 * AN_HOUR)
    assert len(world.front.asked("POST /outbox")) == 2
    assert len(in_doubt(world)) == 1
    life.take(world, "known now.xml")
    all_is_well(world, life)


@pytest.mark.parametrize("known", quick([False, True]), ids=["the first", "not the first"])
@pytest.mark.parametrize("days", quick([-5, 5]))
def test_no_clock_but_ours(world: World, clock: Clock, days: int, known: bool) -> None:  # noqa: FBT001 - a parameter
    """An access point that doesn't say what time it is has no other documents in doubt than any other."""
    world.front.date = str
    clock.skew = timedelta(days=days)
    life = Life(world, clock)
    if known:
        life.take(world, "known.xml")
    life.take(world, "arrived.xml", cut_after)
    assert [("sent=" in look.target) for look in world.front.asked("GET /messages")][:1] == [known]  # else all is read
    life.take(world, "lost.xml", reset_before)
    all_is_well(world, life)


@pytest.mark.parametrize("comparable", quick([True, False]), ids=["comparable", "incomparable"])
def test_what_is_posted_when_the_computer_has_slept(
    make_world: Callable[..., World],
    clock: Clock,
    comparable: bool,  # noqa: FBT001 - a parameter
) -> None:
    """It isn't sent again where it has arrived, though nothing was heard from the access point since."""
    world = make_world(outbound=RULES, inbound={"poll": "5m"}, clock=clock.true)
    life = Life(world, clock)
    life.go_on(10)
    life.take(world, "known.xml")
    life.go_on(AN_HOUR)
    if not comparable:
        world.front.always(lambda request: request.line.startswith("GET /messages/"), instead(200, "<a>"))
    clock.slept = timedelta(days=3)
    life.take(world, FOUND, cut_after)
    life.go_on(AN_HOUR)
    assert world.accepted()[FOUND] == 1
    assert len(in_doubt(world)) == (0 if comparable else 1)
    all_is_well(world, life)
