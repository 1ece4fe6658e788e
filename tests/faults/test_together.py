"""Several documents are handed over together: what befalls one of them leaves the others as they are."""

from __future__ import annotations

import errno
import json
import os
import sqlite3
from typing import TYPE_CHECKING

import pytest
from support.documents import invoice
from support.faults import answered, instead
from support.matrix import quick
from support.plug import tapped
from support.stepping import RULES, Clock, Life

from filedrop.journal import JOURNAL
from filedrop.outbound.pipeline import BATCH
from filedrop.outbound.upload import IN_MEMORY

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.faults import Answer, Exchange
    from support.world import World


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    """A batch of documents that are handed over together, to the only sender."""
    world = make_world(outbound={"workers": "1", "doubt": "100ms"})
    for number in range(BATCH):
        world.drop(f"{number:02}.xml", invoice(f"{number:02}"))
    return world


def events(world: World, name: str) -> list[str]:
    return [event["event"] for event in world.sidecar(name)["history"]]


def test_they_are_written_together(world: World) -> None:
    """Each goes all the way once, as itself, and then nothing of it is kept in mind."""
    waiting: list[int] = []

    def look(exchange: Exchange) -> None:
        with sqlite3.connect(world.state / JOURNAL) as journal:
            waiting.append(journal.execute("SELECT COUNT(*) FROM documents WHERE state = 'sending'").fetchone()[0])
        answered(exchange)

    world.front.next("POST /outbox", look)
    with world.service() as service:
        (account,) = service.accounts
        world.until(world.settled, what="everything settles")
        world.until(lambda: account.context.window.room == account.context.window.size, what="nothing is kept in mind")
    world.invariants()
    assert world.accepted() == dict.fromkeys(world.dropped, 1)
    assert waiting == [BATCH]


def test_an_answer_is_anothers(world: World) -> None:
    """A number that was just given to another document is no clear answer, though it isn't in the journal yet."""
    given: list[Answer] = []

    def give(exchange: Exchange) -> None:
        given.append(exchange.arrive())
        exchange.answer(given[0].status, given[0].body, given[0].headers)

    def give_again(exchange: Exchange) -> None:
        exchange.answer(given[0].status, given[0].body, given[0].headers)

    world.front.next("POST /outbox", give, give_again)
    world.settle()
    world.invariants()
    assert world.accepted() == dict.fromkeys(world.dropped, 1)
    assert "in doubt" in events(world, "01.xml")
    assert not any("in doubt" in events(world, name) for name in world.dropped if name != "01.xml")


@pytest.mark.parametrize("again", ["one.xml", "same.xml"])
def test_the_first_of_two_alike_is_refused(make_world: Callable[..., World], clock: Clock, again: str) -> None:
    """The other has failed as its duplicate by then; each can be dropped again, and is sent then."""
    world = make_world(outbound=RULES, inbound={"poll": "5m"}, clock=clock.true)
    failed = world.outbound / "failed"
    life = Life(world, clock)
    life.go_on(10)
    world.drop("one.xml", invoice("1"))
    world.put(world.outbound / "same.xml", invoice("1"))
    world.front.next("POST /outbox", instead(413, "Too large for today"))
    life.touch()
    life.go_on(30)
    said = {name: json.loads((failed / f"{name}.json").read_bytes())["error"] for name in ("one.xml", "same.xml")}
    assert {name: error["code"] for name, error in said.items()} == {"one.xml": "rejected", "same.xml": "duplicate"}
    assert said["same.xml"]["message"].endswith("and filedrop had begun to send it.")
    assert "See what became of one.xml. If it was sent, delete this file" in said["same.xml"]["hint"]
    assert len(world.front.asked("POST /outbox")) == 1
    (failed / again).rename(world.outbound / again)
    life.touch()
    life.go_on(300)
    life.drop()
    assert world.accepted() == {"one.xml": 1}
    assert [path.name for path in (world.outbound / "archive").glob("*/*.xml")] == [again]


def test_one_changes_and_is_gone(world: World) -> None:
    """One that can't be put back, because a person has moved it away, is given back all the same."""
    elsewhere = world.base / "elsewhere.xml"

    def change(exchange: Exchange) -> None:
        file = world.outbound / "sending" / "01.xml"
        with file.open("ab") as writer:
            writer.write(b"<!-- more -->")
        file.rename(elsewhere)
        answered(exchange)

    world.front.next("POST /outbox", change)
    with world.service() as service:
        (account,) = service.accounts
        world.until(
            lambda: len(world.accepted()) == BATCH - 1 and account.context.window.room == account.context.window.size,
            what="all is done",
        )
    del world.dropped["01.xml"]
    assert world.accepted() == dict.fromkeys(world.dropped, 1)
    assert not any("in doubt" in events(world, name) for name in world.dropped)


def say(world: World, statement: str) -> None:
    """Say something to the journal."""
    with sqlite3.connect(world.state / JOURNAL) as journal:
        journal.execute(statement)


def test_the_journal_fails_amidst_them(world: World) -> None:
    """Those whose turn had not come were not posted, and the journal says so as soon as it can."""

    def damage(exchange: Exchange) -> None:
        say(world, "ALTER TABLE surplus RENAME TO away")
        answered(exchange)

    def mend(exchange: Exchange) -> None:
        say(world, "ALTER TABLE away RENAME TO surplus")
        answered(exchange)

    world.front.next("POST /outbox", damage, mend)
    world.settle()
    world.invariants()
    assert world.accepted() == dict.fromkeys(world.dropped, 1)
    assert not any("in doubt" in events(world, name) for name in world.dropped)


def test_the_journal_fails_after_them(world: World) -> None:
    """What has been posted, and could not be written down, is kept in mind until it can: nothing need be looked for."""

    def damage(exchange: Exchange) -> None:
        say(world, "ALTER TABLE surplus RENAME TO away")
        answered(exchange)

    world.front.next("POST /outbox", damage)
    with world.service():
        world.until(lambda: any(line["event"] == "work.failed" for line in world.log()), what="the journal fails")
        say(world, "ALTER TABLE away RENAME TO surplus")
        world.until(world.settled, what="everything settles")
    world.invariants()
    assert world.accepted() == dict.fromkeys(world.dropped, 1)
    assert not any("in doubt" in events(world, name) for name in world.dropped)


def test_hold_amidst_them(world: World) -> None:
    """HOLD keeps back those whose turn had not come, and says nothing of doubt."""

    def hold(exchange: Exchange) -> None:
        (world.outbound / "HOLD").touch()
        answered(exchange)

    world.front.next("POST /outbox", hold)
    world.run_once()
    assert world.accepted() == {"00.xml": 1}
    (world.outbound / "HOLD").unlink()
    world.settle()
    world.invariants()
    assert world.accepted() == dict.fromkeys(world.dropped, 1)
    assert not any("in doubt" in events(world, name) for name in world.dropped)


def test_hold_and_a_large_one_among_them(world: World) -> None:
    """One that isn't kept in memory, because it is large, puts none of those behind it in doubt."""
    world.drop("01-large.xml", invoice("large", size=2 * IN_MEMORY))
    answers: list[Exchange] = []

    def hold(exchange: Exchange) -> None:
        answers.append(exchange)
        if len(answers) == 2:
            (world.outbound / "HOLD").touch()
        answered(exchange)

    world.front.always("POST /outbox", hold)
    world.run_once()
    assert len(world.accepted()) == 2
    (world.outbound / "HOLD").unlink()
    world.settle()
    world.invariants()
    assert world.accepted() == dict.fromkeys(world.dropped, 1)
    assert not any("in doubt" in events(world, name) for name in world.dropped)


@pytest.fixture
def failing(make_world: Callable[..., World], clock: Clock) -> World:
    """A world for a batch of documents that fail together; see `about_to_fail`."""
    return make_world(outbound=RULES, inbound={"poll": "5m"}, clock=clock.true)


def about_to_fail(world: World, clock: Clock) -> Life:
    """A filedrop whose next step claims all of them, and puts them away."""
    life = Life(world, clock)
    life.go_on(10)
    for number in range(BATCH):
        world.drop(f"{number:02}.xml", invoice(f"{number:02}", receiver=None))
    life.touch()
    life.do_all()
    clock.pass_on(5)
    return life


def have_failed(world: World, life: Life) -> None:
    """In the end, each lies in failed/ under its own name."""
    life.go_on(300)
    life.drop()
    assert {path.name for path in world.files()} == set(world.dropped)
    assert set(world.places().values()) == {"failed"}
    world.invariants()


@pytest.mark.parametrize("nth", quick([1, 2, 7, 2 * BATCH], 2))
def test_the_disk_refuses_one(failing: World, clock: Clock, nth: int) -> None:
    """A sidecar or note that isn't brought to the disk keeps back its own document alone."""
    life = about_to_fail(failing, clock)

    def refuse(what: str) -> None:
        if what == "fsync" and tap.steps.count("create") == 2 * BATCH and tap.steps.count("fsync") == nth:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    with tapped(refuse) as tap:
        life.do(life.jobs.index("step"))
    assert sorted(failing.places().values()) == ["failed"] * (BATCH - 1) + ["sending"]
    have_failed(failing, life)


def test_the_journal_fails_while_they_are_put_away(failing: World, clock: Clock) -> None:
    """The name that a sidecar has reserved just then is still its document's."""
    life = about_to_fail(failing, clock)

    def damage(what: str) -> None:
        if what == "place" and "create" in tap.steps and tap.steps[-2] == "fsync":  # a sidecar is about to get its name
            say(failing, "ALTER TABLE documents RENAME TO away")

    with tapped(damage) as tap:
        life.do(life.jobs.index("step"))
    assert set(failing.places().values()) == {"sending"}
    say(failing, "ALTER TABLE away RENAME TO documents")
    have_failed(failing, life)
