"""filedrop is stopped for a month, or the clock is set while it runs: everything goes on where it was, and once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from support.documents import invoice
from support.faults import cut_after, instead, reset_before
from support.stepping import RULES, Clock, Life

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.faults import Request
    from support.world import World

AN_HOUR = 3600.0  # seconds
FOUND, LOST = "in doubt, and arrived.xml", "in doubt, and lost.xml"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def world(make_world: Callable[..., World], clock: Clock) -> World:
    """A world whose documents take some hours to their receiver."""
    return make_world(outbound=RULES, inbound={"poll": "5m"}, clock=clock.true, deliver_after=3 * AN_HOUR)


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
            life.lane.look_now()
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


@pytest.mark.parametrize("end", [Life.stop, Life.drop], ids=["stopped", "killed"])
def test_a_month_without_it(world: World, clock: Clock, end: Callable[[Life], None]) -> None:
    """What was under way a month ago, and what has come since, goes on as if it had been a minute."""
    life = Life(world, clock)
    under_way(world, life)
    end(life)
    world.drop("dropped meanwhile.xml", invoice("meanwhile"))
    world.receive(invoice("received meanwhile"))
    clock.pass_on(30 * 24 * AN_HOUR)
    all_is_well(world, Life(world, clock))


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


def test_a_file_that_is_being_written_when_the_clock_is_set(world: World, clock: Clock) -> None:
    """It grows no older by that: its writer has as long as ever."""
    clock.skew = datetime.now(UTC) - clock.true()  # so that the times of files tell something
    content = invoice("slow")
    life = Life(world, clock)
    life.go_on(10)
    (world.outbound / "slow.xml").write_bytes(content[: len(content) // 2])
    life.lane.look_now()
    life.go_on(30)
    clock.skew += timedelta(days=365)
    for _ in range(15):
        life.go_on(10)
    assert (world.outbound / "slow.xml").exists()
    (world.outbound / "slow.xml").unlink()
    world.drop("slow.xml", content)
    all_is_well(world, life)
