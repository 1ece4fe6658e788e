"""The folders are taken over for another journal, and back again: what one had begun, the other may have ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support import promises
from support.documents import invoice
from support.faults import cut_after, instead, reset_before
from support.plug import tapped
from support.several import take_over
from support.stepping import RULES, Clock, Life

from filedrop.model.document import State
from filedrop.process.lock import locked_state

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.faults import Exchange, Request
    from support.world import World

EITHER_STATE = pytest.mark.parametrize("state", ["named", "placing"])


class Killed(BaseException):
    """filedrop was killed."""


@pytest.fixture
def world(make_world: Callable[..., World], clock: Clock) -> World:
    return make_world(outbound=RULES, inbound={"poll": "5m"}, clock=clock.true)


def killed(world: World, clock: Clock, state: str) -> None:
    """A message is whole, its row says that it is named or about to get its name, and filedrop is killed."""
    life = Life(world, clock)
    life.go_on(10)
    world.receive(invoice("1"))
    clock.pass_on(300)
    is_killed = False

    def kill(what: str) -> None:
        nonlocal is_killed
        if what == "place" and list(world.inbound.glob(".*.part")):
            is_killed |= state == "named" or bool(list(world.inbound.rglob("*.xml.json")))
        if is_killed:  # nothing that it still does has any effect
            raise Killed

    with tapped(kill), pytest.raises(Killed):
        life.go_on(10)
    life.drop()
    assert list(world.inbound.glob(".*.part"))
    with locked_state(world.state) as journal:
        assert [row.msg_no for row in journal.messages.in_states("acme@127.0.0.1", state)] == [1]


def other_takes_over(world: World, clock: Clock, seconds: float) -> None:
    """Another filedrop has the folders for so long."""
    mine, world.state = world.state, world.base / "other state"
    take_over(world)
    other = Life(world, clock)
    other.go_on(seconds)
    other.drop()
    world.state = mine


@EITHER_STATE
@pytest.mark.parametrize("names", [{}, {"name": '"{sender}/{number}"'}], ids=["usual names", "names of one's own"])
def test_what_was_begun(make_world: Callable[..., World], clock: Clock, state: str, names: dict[str, str]) -> None:
    """What one filedrop had begun, draft and sidecar, the other clears away, and delivers the message itself."""
    world = make_world(outbound=RULES, inbound={"poll": "5m"} | names, clock=clock.true)
    killed(world, clock, state)
    other_takes_over(world, clock, 1000)
    world.invariants()


@EITHER_STATE
def test_a_draft_that_the_other_has_cleared_away(world: World, clock: Clock, state: str) -> None:
    """A message that was about to be placed, and whose file the other has cleared away, is fetched again."""
    killed(world, clock, state)
    world.front.always("GET /messages/1/", instead(500))
    other_takes_over(world, clock, 30)
    assert not list(world.inbound.glob(".*.part"))
    world.front.heal()
    take_over(world)
    life = Life(world, clock)
    life.go_on(1000)
    life.stop()
    world.invariants()


@pytest.mark.parametrize("taken", [False, True], ids=["it lies there", "it was taken"])
@EITHER_STATE
def test_a_message_that_the_other_has_delivered(world: World, clock: Clock, state: str, *, taken: bool) -> None:
    """A message that the other has delivered doesn't come again."""
    killed(world, clock, state)
    other_takes_over(world, clock, 1000)
    delivered = world.delivered()
    assert len(delivered) == 1
    if taken:
        for path in world.inbound.glob("*.xml*"):
            path.unlink()
    take_over(world)
    life = Life(world, clock)
    life.go_on(1000)
    life.stop()
    assert world.delivered() == ([] if taken else delivered)
    assert not list(promises.leftovers(world))


def test_a_document_that_the_other_has_posted(world: World, clock: Clock) -> None:
    """What waited here when the other took the folders is looked for before it is posted."""

    def cut_for_long(exchange: Exchange) -> None:
        world.front.always("GET /messages", instead(500))
        cut_after(exchange)

    (world.outbound / "HOLD").touch()
    world.drop("invoice.xml", invoice())
    life = Life(world, clock)
    life.go_on(60)
    assert life.journal.documents.in_state(State.WAITING)
    life.drop()
    (world.outbound / "HOLD").unlink()
    world.front.next("POST /outbox", cut_for_long)
    other_takes_over(world, clock, 2000)
    assert len(world.front.asked("POST /outbox")) == 1
    world.front.heal()
    take_over(world)
    life = Life(world, clock)
    life.go_on(1000)
    life.stop()
    assert world.settled()
    assert len(world.front.asked("POST /outbox")) == 1
    world.invariants()


@pytest.mark.parametrize("access_point", ["is there", "is away from here"])
def test_in_doubt_here_and_there(make_world: Callable[..., World], clock: Clock, access_point: str) -> None:
    """What another has posted meanwhile is looked for anew: looks from before that count no more, in no order."""
    outbound = RULES | {"retry": "{first: 5s, longest: 1m}"}
    world = make_world(outbound=outbound, inbound={"poll": "5m"}, clock=clock.true)
    life = Life(world, clock)
    life.go_on(10)
    life.take(world, "invoice.xml", reset_before)
    is_cut_off = access_point != "is there"
    late: list[Request] = []

    def on_its_way(exchange: Exchange) -> None:
        late.append(exchange.request)
        exchange.cut(reset=True)

    world.front.next("POST /outbox", on_its_way)
    world.front.always(lambda _request: is_cut_off, instead(503))
    life.go_on(400)
    mine, world.state = world.state, world.base / "other state"
    take_over(world)
    other = Life(world, clock)
    while not late:
        is_cut_off = False
        other.go_on(10)
        is_cut_off = access_point != "is there"
        life.go_on(10)
    other.drop()
    world.state = mine
    take_over(world)
    clock.later(600, lambda: world.front.ask(late[0]))
    life.go_on(130)
    is_cut_off = False
    life.go_on(3000)
    life.drop()
    assert world.accepted() == {"invoice.xml": 1}


def test_what_was_in_doubt_while_the_other_has_posted_it(world: World, clock: Clock) -> None:
    """Whose folders are another's decides no doubt there: it can't see which messages the other's documents have."""
    world.front.always("GET /messages", instead(500))
    life = Life(world, clock)
    life.go_on(10)
    life.take(world, "invoice.xml", reset_before)
    assert life.journal.documents.in_state(State.DOUBT)
    life.drop()
    world.front.heal()
    other_takes_over(world, clock, 4000)
    assert world.accepted() == {"invoice.xml": 1}
    life = Life(world, clock)
    life.go_on(2000)
    assert life.journal.documents.in_state(State.DOUBT)
    take_over(world)
    life.go_on(2000)
    life.stop()
    world.invariants()
    with locked_state(world.state) as journal:
        assert len(journal.numbers.owners("acme@127.0.0.1", [1], "acme")) == 1


def test_the_other_has_posted_it_while_the_share_hung(world: World, clock: Clock) -> None:
    """Likewise where the folder of what is in doubt hangs: nothing tells then that it is another's."""
    life = Life(world, clock)
    life.go_on(10)
    world.front.always("GET /messages", instead(500))
    life.take(world, "invoice.xml", reset_before)
    life.hang(life.pipeline)
    life.service.workers.hung_after = -1.0
    world.front.heal()
    other_takes_over(world, clock, 4000)
    life.go_on(2000)
    assert life.journal.documents.in_state(State.DOUBT)
    take_over(world)
    life.answer(life.pipeline)
    life.do_each("step")
    life.go_on(2000)
    assert len(life.journal.numbers.owners("acme@127.0.0.1", [1], "acme")) == 1
    life.stop()
    world.invariants()
