"""When an account may post."""

from __future__ import annotations

import tempfile
import threading
from typing import TYPE_CHECKING

from support.documents import invoice
from support.faults import answered, exactly, failed_after, instead
from support.plug import tapped
from support.stepping import RULES, Life
from support.unwritable import refuse_writes

from filedrop.errors import Unavailable
from filedrop.model.document import State
from filedrop.outbound.resolver import IN_MEMORY

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest
    from support.faults import Exchange
    from support.stepping import Clock
    from support.world import World


def take_until_posted(life: Life, clock: Clock) -> None:
    """Have what was dropped seen, and taken until its sender would post it."""
    life.touch()
    for _ in range(3):  # it is seen, has settled, and is about to be posted
        life.turn()
        life.do_all(but="send")
        clock.pass_on(3)


def test_a_first_comparison_that_fails(make_world: Callable[..., World], clock: Clock) -> None:
    """Where the journal fails amid a folder's first comparison, nothing is posted before there has been a whole one.

    A new journal learns from its folders what was sent: until then, another folder's document may be a duplicate.
    """
    world = make_world(outbound=RULES, inbound={"poll": "5m"}, clock=clock.true)
    life = Life(world, clock)
    life.take(world, "invoice.xml")
    life.stop()
    for file in world.state.glob("journal.sqlite*"):
        file.unlink()
    (world.outbound / ".filedrop").unlink()
    life = Life(world, clock)
    account, journal = life.service.accounts[0], life.journal
    refuse_writes(life.journal)
    life.do_each("step")
    refuse_writes(life.journal, refuses=False)
    journal.check_writable()
    account.poll()
    assert (account.breaker.ready, journal.trouble, account.ready()) == (True, "", False)
    life.go_on(125)
    assert account.ready()
    assert [document.dropped_as for document in journal.documents.called("invoice.xml", "invoice.xml")] == [
        "invoice.xml"
    ]
    life.stop()


def test_what_a_kill_has_left_is_in_doubt_first(make_world: Callable[..., World], clock: Clock) -> None:
    """Nothing is posted or looked for before a folder's first step has ended, which puts in doubt what a kill has left.

    Else who looks for what is in doubt may find nothing, and rest, just before there is something.
    """
    world = make_world(outbound=RULES, inbound={"poll": "5m"}, clock=clock.true)
    life = Life(world, clock)
    life.go_on(10)
    world.drop("invoice.xml", invoice("1"))
    take_until_posted(life, clock)
    assert life.jobs == ["send"]
    life.drop()
    life = Life(world, clock)
    account = life.service.accounts[0]
    account.poll()
    with tapped(lambda _: was_ready.append(account.ready())):
        was_ready = list[bool]()
        life.do(life.jobs.index("step"))
    assert was_ready
    assert not any(was_ready)
    assert account.ready()
    life.stop()


def test_a_folder_that_is_away(make_world: Callable[..., World], clock: Clock) -> None:
    """A folder that isn't there keeps no other from being posted from."""
    world = make_world(outbound=RULES, inbound={"poll": "5m"}, clock=clock.true)
    life = Life(world, clock)
    life.go_on(10)
    world.drop("invoice.xml", invoice("1"))
    life.stop()
    world.outbound.rename(world.outbound.with_name("away"))
    life = Life(world, clock)
    life.go_on(10)
    assert life.pipeline.health.trouble
    assert life.service.accounts[0].ready()
    life.stop()
    world.outbound.with_name("away").rename(world.outbound)


def test_readiness_of_an_account_that_others_ask_for(make_world: Callable[..., World], clock: Clock) -> None:
    """The question whether an account is ready changes nothing: a folder that had nothing to post takes no step for it.

    A folder whose document could not be posted takes one as soon as the account is ready again.
    """
    world = make_world(outbound=RULES | {"settle": "0s", "rescan": "1h"}, inbound={"poll": "1h"}, clock=clock.true)
    life = Life(world, clock)
    life.go_on(10)
    account = life.service.accounts[0]
    for is_hindered in (False, True):
        account.breaker.record_failure(Unavailable("away"))
        if is_hindered:
            world.drop("invoice.xml", invoice("1"))
            life.touch()
            life.do_all()
        assert not account.ready()
        clock.pass_on(10)
        assert account.breaker.allows()
        account.tick()
        assert ("step" in life.jobs) is is_hindered
    life.do_all()
    assert world.accepted()["invoice.xml"] == 1
    life.stop()


def test_a_document_meets_a_probe(make_world: Callable[..., World], clock: Clock) -> None:
    """What isn't posted while the access point is asked whether only one message fails is posted right after that."""
    world = make_world(outbound=RULES, inbound={"poll": "1m"}, clock=clock.true)
    life = Life(world, clock)
    life.go_on(10)
    world.front.always("GET /messages/1/", instead(500))
    world.receive(invoice("1"))
    world.drop("invoice.xml", invoice("2"))
    take_until_posted(life, clock)
    clock.pass_on(60)
    life.turn()  # the inbox is polled
    life.do_each("deliver")
    assert life.jobs == ["send", "fetched"]

    def amid(exchange: Exchange) -> None:
        for job in ("send", "record", "step"):
            life.do_each(job)
        answered(exchange)

    world.front.next(exactly("GET", "/statistics"), amid)
    life.do_each("fetched")
    assert (life.jobs, world.places()) == (["step"], {"invoice.xml": "sending"})
    life.go_on(5)
    assert world.front.asked("POST /outbox")
    life.stop()


def test_a_doubt_ends_while_it_is_asked_whether_all_is_done(
    make_world: Callable[..., World], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is found to be sent again just when `run --once` asks whether all is done is sent: it was left waiting."""
    world = make_world(outbound=RULES, inbound={"poll": "1h"}, clock=clock.true)
    steady, looks, follows_at = clock.steady, 0, 0

    def looked_at() -> float:
        nonlocal looks
        looks += 1
        if looks == follows_at:
            account.follow()
        return steady()

    monkeypatch.setattr(clock, "steady", looked_at)
    life = Life(world, clock)
    account = life.service.accounts[0]
    life.go_on(10)
    life.take(world, "invoice.xml", instead(500))
    clock.pass_on(900)  # the look that is due will not find it
    life.do_all()
    looks = 0
    assert not account.is_done()
    looks, follows_at = 0, looks
    assert not account.is_done()
    assert life.journal.documents.called("invoice.xml", "invoice.xml")[0].state is State.WAITING
    life.go_on(60)
    assert world.accepted()["invoice.xml"] == 1
    assert account.is_done()
    life.stop()


def test_a_step_begins_while_it_is_asked_whether_all_is_done(
    make_world: Callable[..., World], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is just being claimed when `run --once` asks whether all is done is sent first: it was left waiting."""
    world = make_world(outbound=RULES | {"settle": "0s"}, inbound={"poll": "1h"}, clock=clock.true)
    steady, is_asked, is_claimed, is_told = clock.steady, threading.Event(), threading.Event(), threading.Event()

    def before(what: str) -> None:
        if what == "commit":  # of its row
            is_claimed.set()
            is_told.wait(60)

    def step() -> None:
        with tapped(before):
            life.do(life.jobs.index("step"))

    def looked_at() -> float:
        if is_asked.is_set():
            is_asked.clear()
            worker.start()
            is_claimed.wait(60)
        return steady()

    worker = threading.Thread(target=step)
    monkeypatch.setattr(clock, "steady", looked_at)
    life = Life(world, clock)
    account = life.service.accounts[0]
    life.go_on(10)
    assert account.is_done()
    world.drop("invoice.xml", invoice("1"))
    life.touch()
    is_asked.set()
    is_done = account.is_done()
    is_told.set()
    worker.join()
    assert is_claimed.is_set()
    assert not is_done
    life.stop()


def test_no_room_for_what_is_compared(
    make_world: Callable[..., World], clock: Clock, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Where what may be a document in doubt can't be kept to be compared, `run --once` gives up, too, and says so."""
    world = make_world(outbound=RULES, inbound={"poll": "1h"}, clock=clock.true)
    life = Life(world, clock)
    account = life.service.accounts[0]
    life.go_on(10)

    def lost(exchange: Exchange) -> None:
        failed_after(exchange)
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))

    world.front.next("POST /outbox", lost)
    world.drop("large.xml", invoice("large", size=2 * IN_MEMORY))
    life.touch()
    life.go_on(600)
    assert not account.is_done()
    life.go_on(400)
    assert account.is_done()
    assert [line["what"] for line in world.log() if line["event"] == "work.failed"]
    monkeypatch.undo()
    life.go_on(60)
    assert world.accepted()["large.xml"] == 1
    assert world.places()["large.xml"] != "sending"
    life.stop()
