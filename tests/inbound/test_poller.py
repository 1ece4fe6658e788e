"""Which messages a poll hands out, and which folders it has looked at again."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, NoReturn

import pytest
from support.documents import invoice
from support.faults import instead
from support.matrix import quick
from support.stepping import RULES, Life
from support.world import unavailable

from filedrop import files
from filedrop.inbound import inbox
from filedrop.status.survey import account_status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.faults import Exchange
    from support.stepping import Clock
    from support.world import World

    from filedrop.model.message import Message

DAY = 86_400.0


def test_the_folder_of_nobody_is_back(make_world: Callable[..., World], clock: Clock) -> None:
    """A folder that was away is looked at again though no message is for it: the trouble doesn't stay for ever."""
    world = make_world(outbound=RULES, inbound={"poll": "1m"}, clock=clock.true)
    unassigned = world.root / "unassigned"
    world._unassigned = str(unassigned)
    life = Life(world, clock)
    life.go_on(10)
    life.stop()
    unassigned.rename(world.base / "away")
    life = Life(world, clock)
    life.go_on(10)
    assert unavailable(life.service) == [unassigned]
    (world.base / "away").rename(unassigned)
    life.go_on(125)
    assert unavailable(life.service) == []
    life.stop()


def test_a_folder_is_back_while_its_message_waits(make_world: Callable[..., World], clock: Clock) -> None:
    """It is looked at again, too, where its only message is stuck, and isn't to be tried for long."""
    world = make_world(outbound=RULES, inbound={"poll": "1m"}, clock=clock.true)
    life = Life(world, clock)
    world.front.always("GET /messages/1/", instead(404))
    world.receive(invoice("1"))
    life.go_on(4200)
    poller = life.service.accounts[0].poller
    assert poller.summary.stuck == {"acme": 1}
    life.stop()
    world.inbound.rename(world.base / "away")
    life = Life(world, clock)
    life.go_on(10)
    assert unavailable(life.service) == [world.inbound]
    (world.base / "away").rename(world.inbound)
    life.go_on(125)
    assert unavailable(life.service) == []
    life.stop()


def test_a_folder_that_was_away_while_the_inbox_was_blocked(make_world: Callable[..., World], clock: Clock) -> None:
    """What lies behind the 25 that an inbox shows is taken when its folder is back, however long ago it came."""
    world = make_world(outbound=RULES, inbound={"poll": "1m"}, clock=clock.true, quirks=True)
    life = Life(world, clock)
    life.go_on(10)
    life.stop()
    world.receive_for_nobody(25)
    world.receive(invoice("1"))
    clock.pass_on(4 * DAY)
    world.inbound.rename(world.base / "away")
    life = Life(world, clock)
    life.go_on(130)
    (world.base / "away").rename(world.inbound)
    life.go_on(130)
    assert len(world.delivered()) == 1
    life.stop()


def test_what_was_read_elsewhere_is_for_nobody(make_world: Callable[..., World], clock: Clock) -> None:
    """A message whose company was taken out of the configuration counts as unread only while it is."""
    world = make_world(outbound=RULES, inbound={"poll": "1m"}, clock=clock.true)
    world.front.always("POST /inbox/", instead(500))
    number = world.receive(invoice("1"))
    life = Life(world, clock)
    life.go_on(10)
    life.stop()
    world.front.heal()
    world._companies["acme"] = "{participants: []}"
    life = Life(world, clock)
    life.go_on(130)
    summary = life.service.accounts[0].poller.summary
    assert (summary.unread, summary.for_nobody) == (1, 1)
    life.service.accounts[0].access_point.mark_read(number)
    life.go_on(130)
    summary = life.service.accounts[0].poller.summary
    assert (summary.unread, summary.for_nobody, summary.nobodys) == (0, 0, ())
    life.stop()


@pytest.mark.parametrize("polls", [1, 4])
def test_a_folder_hangs_for_some_polls(make_world: Callable[..., World], clock: Clock, polls: int) -> None:
    """A message that was handed out before its share hung is handed out once, and delivered once when it answers."""
    world = make_world(outbound=RULES, inbound={"poll": "1m"}, clock=clock.true)
    life = Life(world, clock)
    life.go_on(10)
    (delivery,) = life.service.accounts[0].deliveries
    life.hang(delivery)
    life.service.workers.hung_after = -1.0
    world.receive(invoice("1"))
    life.go_on(60.0 * (polls + 1))
    life.answer(delivery)
    life.do_each("deliver")
    life.do_each("fetched")
    life.go_on(300)
    assert len(world.delivered()) == 1
    assert not [line for line in world.log() if line["event"] == "work.failed"]
    life.stop()


def test_a_share_hangs_while_much_is_to_be_fetched(
    make_world: Callable[..., World], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that doesn't answer is asked once, not for each of its messages: each holds a fetcher up for long."""
    world = make_world(outbound=RULES, inbound={"poll": "1m"}, clock=clock.true)
    life = Life(world, clock)
    life.go_on(10)
    for number in range(10):
        world.receive(invoice(str(number)))
    asked = 0

    def asks(*_: object) -> NoReturn:
        nonlocal asked
        asked += 1
        raise TimeoutError(errno.ETIMEDOUT, "it has not answered for 30 seconds; see whether its server is up")

    with monkeypatch.context() as patched:
        patched.setattr(files, "create_temporary", asks)
        clock.pass_on(60)
        life.turn()
        life.do_each("deliver")
        assert life.jobs == ["fetched"] * 10
        life.do_each("fetched")
    assert asked == 1
    life.go_on(130)
    assert len(world.delivered()) == 10
    life.stop()


def test_a_slow_download(make_world: Callable[..., World], clock: Clock) -> None:
    """A download that takes very long holds up no other message, and is begun once."""
    world = make_world(outbound=RULES, inbound={"poll": "1m"}, clock=clock.true)
    life = Life(world, clock)
    life.go_on(10)
    slow = world.receive(invoice("slow"))
    clock.pass_on(60)
    life.turn()
    life.do_each("deliver")
    assert life.jobs == ["fetched"]
    quick = world.receive(invoice("quick"))
    clock.pass_on(600)
    life.turn()
    life.do_each("deliver")
    life.do_all(but="fetched")
    assert life.jobs == ["fetched", "fetched"]
    life.do(1)
    life.do_all(but="fetched")
    assert [path.read_bytes() for path in world.delivered()] == [invoice("quick")]
    life.go_on(300)
    assert len(world.delivered()) == 2
    assert [len(world.front.asked(f"GET /messages/{number}/")) for number in (slow, quick)] == [1, 1]
    assert not world.sandbox.store.inbox("acme")
    life.stop()


def test_a_folder_answers_again_amid_a_poll(make_world: Callable[..., World], clock: Clock) -> None:
    """A poll doesn't hand out what was under way as it began: the row that it read is older than what became of it."""
    world = make_world(outbound=RULES, inbound={"poll": "1m"}, clock=clock.true, quirks=True)
    life = Life(world, clock)
    life.go_on(10)
    world.receive_for_nobody(24)
    world.receive(invoice("1"))
    account = life.service.accounts[0]
    (delivery,) = account.deliveries
    life.hang(delivery)
    life.service.workers.hung_after = -1.0
    life.go_on(61)  # handed out; its share hangs
    messages, hangs = account.access_point.messages, True

    def listed(**asked: object) -> Iterator[Message]:
        nonlocal hangs
        if hangs and asked.get("direction") == "IN":
            hangs = False
            life.answer(delivery)
            life.do_all()
            assert len(world.delivered()) == 1
        yield from messages(**asked)

    account.access_point.messages = listed
    life.go_on(180)
    assert not hangs
    assert len(world.delivered()) == 1
    life.stop()


@pytest.mark.parametrize("answer", quick([403, 500, 204]))
def test_messages_that_stay_unread_hide_no_others(make_world: Callable[..., World], clock: Clock, answer: int) -> None:
    """What an inbox lists though it was delivered, since no mark has an effect, hides nothing behind it."""
    world = make_world(outbound=RULES, inbound={"poll": "1m"}, clock=clock.true, quirks=True)
    life = Life(world, clock)
    life.go_on(10)
    world.front.always("POST /inbox/", instead(answer))
    for number in range(26):
        world.receive(invoice(str(number)))
    life.go_on(600)
    assert len(world.delivered()) == 26
    (said,) = account_status(life.service.accounts[0].report())["lists"]
    assert said.startswith("26 unread messages were already delivered here: ")
    assert {403: "login and address are right", 500: "answered 500", 204: "still lists them"}[answer] in said
    world.front.heal()
    life.go_on(300, until=lambda: not account_status(life.service.accounts[0].report())["lists"])
    assert not account_status(life.service.accounts[0].report())["lists"]
    world.invariants()
    life.stop()


@pytest.mark.parametrize("answer", quick([401, 403, 404, 500], 2))
def test_a_page_that_is_not_given_out(make_world: Callable[..., World], clock: Clock, answer: int) -> None:
    """Where the inbox's second page is refused, what the first one lists is taken, and so the others move up to it."""
    world = make_world(outbound=RULES, inbound={"poll": "1m"}, clock=clock.true)
    life = Life(world, clock)
    life.go_on(10)
    world.front.always(lambda request: request.path == "/inbox" and "index=2" in request.target, instead(answer))
    for number in range(30):
        world.receive(invoice(str(number)))
    life.go_on(3600, until=lambda: len(world.delivered()) == 30)
    life.go_on(300)
    assert len(world.delivered()) == 30
    world.invariants()
    life.stop()


def test_more_for_nobody_than_are_taken_at_once(
    make_world: Callable[..., World], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Why the archive behind an inbox of 25 is not read to its end, `status` says, as long as it is to be read."""
    monkeypatch.setattr(inbox, "MOST_LISTED", 30)
    world = make_world(outbound=RULES, inbound={"poll": "1m"}, clock=clock.true, quirks=True)
    life = Life(world, clock)
    life.go_on(10)
    world.receive_for_nobody(40)
    life.go_on(130)
    (said,) = account_status(life.service.accounts[0].report())["lists"]
    assert said.startswith("the list /messages is incomplete: the archive has more than the 30 unread messages")
    for message in world.sandbox.store.inbox("acme"):
        world.sandbox.store.mark_read(message)
    life.go_on(130)
    assert account_status(life.service.accounts[0].report())["lists"] == []
    life.stop()


def test_a_message_that_is_read_while_its_fetch_fails(make_world: Callable[..., World], clock: Clock) -> None:
    """What a command has delivered meanwhile doesn't count as stuck."""
    world = make_world(outbound=RULES, inbound={"poll": "1m"}, clock=clock.true)
    life = Life(world, clock)
    life.go_on(10)
    world.receive(invoice("1"))
    account = life.service.accounts[0]

    def read(exchange: Exchange) -> None:
        (delivery,) = account.poller.deliveries
        (unread,) = account.poller._inbox.unread(lambda _: False)
        life.journal.messages.record(account.poller._context.row_of(delivery.folder, unread.message, "read"))
        exchange.answer(404)

    world.front.next("GET /messages/1/", read)
    life.go_on(130)
    assert [row.state for row in life.journal.messages.in_states(account.access_point.identity, "read", "stuck")] == [
        "read"
    ]
    assert account.poller.summary.stuck == {}
    assert not [line for line in world.log() if line["level"] in ("warning", "error")]
    life.stop()


def test_a_number_that_is_anothers_by_now(make_world: Callable[..., World], clock: Clock) -> None:
    """What was to be marked as read when its number became another message's counts as unread no longer."""
    world = make_world(outbound=RULES, inbound={"poll": "1m"}, clock=clock.true)
    life = Life(world, clock)
    life.go_on(10)
    world.front.always("POST /inbox", instead(500))
    world.receive(invoice("old"))
    life.go_on(70)
    world.set_up_anew()
    world.front.heal()
    world.receive(invoice("new"))
    life.go_on(300)
    assert sorted(path.read_bytes() for path in world.delivered()) == [invoice("new"), invoice("old")]
    account = life.service.accounts[0]
    assert account.poller.summary.unread == 0
    assert life.journal.messages.in_states(account.access_point.identity, "named", "placing", "stuck") == []
    life.stop()


@pytest.mark.parametrize("answer", quick([401, 403, 404, 500], 2))
def test_an_archive_that_is_not_given_out(make_world: Callable[..., World], clock: Clock, answer: int) -> None:
    """Where an inbox of 25 has one for nobody, and the archive behind it is refused, the others are taken."""
    world = make_world(outbound=RULES, inbound={"poll": "1m"}, clock=clock.true, quirks=True)
    life = Life(world, clock)
    life.go_on(10)
    world.front.always(lambda request: request.path == "/messages", instead(answer))
    world.receive_for_nobody(1)
    for number in range(30):
        world.receive(invoice(str(number)))
    life.go_on(3600, until=lambda: len(world.delivered()) == 30)
    life.go_on(300)
    assert len(world.delivered()) == 30
    world.invariants()
    life.stop()
