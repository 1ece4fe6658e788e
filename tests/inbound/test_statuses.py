"""Statuses for an access point: which are read, recorded and marked as read, and what becomes of the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.documents import BUYER, invoice
from support.faults import instead
from support.responses import message_level, response
from support.stepping import RULES, Life

from filedrop.inbound.statuses import LARGEST, STATUSES_A_POLL
from filedrop.status.survey import account_status

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.stepping import Clock
    from support.world import World

OTHER = "0b7e3d52-51c4-4f0e-9a60-5f1d5a3c9e11"


def a_world(make_world: Callable[..., World], clock: Clock, **more: float) -> World:
    """A world with a sent invoice whose access point goes by this clock."""
    world = make_world(outbound=RULES, inbound={"poll": "1m"}, clock=clock.true, **more)
    world.drop("invoice.xml", invoice("1001"))
    return world


def message_id(world: World) -> str:
    """The id of the only message that was sent."""
    (message,) = world.sandbox.store.sent("acme")
    return str(message.uuid)


def codes(world: World) -> list[str]:
    """The codes of the responses to the invoice."""
    return [answer["code"] for answer in world.sidecar("invoice.xml").get("responses", [])]


def unread(world: World) -> list[int]:
    """The numbers of the unread messages at the access point."""
    return [message.msg_no for message in world.sandbox.store.inbox("acme")]


def downloads(world: World, number: int) -> int:
    """How often a message's document was asked for."""
    return len(world.front.asked(f"GET /messages/{number}/"))


def test_status_within_two_polls(make_world: Callable[..., World], clock: Clock) -> None:
    """A status for the access point is at its document within two polls, without a row, a file or a folder."""
    world = a_world(make_world, clock)
    life = Life(world, clock)
    life.go_on(200)
    world.receive_for_access_point(message_level("mls", f"uuid:{message_id(world)}", "Too long."))
    life.go_on(125)
    assert (unread(world), world.delivered()) == ([], [])
    life.go_on(120, until=lambda: codes(world))  # the rescan
    assert codes(world) == ["RE"]
    assert life.journal.engine.read("SELECT 1 FROM messages") == []
    assert life.journal.engine.read("SELECT company, document <> '' FROM responses") == [("acme", 1)]
    life.stop()


def test_status_before_the_message_has_its_id(make_world: Callable[..., World], clock: Clock) -> None:
    """A status that came before its document had the message's id is recorded then, and was downloaded once."""
    world = a_world(make_world, clock, deliver_after=600)
    life = Life(world, clock)
    life.go_on(120)
    number = world.receive_for_access_point(message_level("mls", message_id(world), ""))
    life.go_on(130)
    life.journal.engine.write(lambda connection: connection.execute("UPDATE documents SET uuid = NULL"))
    life.go_on(1200, until=lambda: codes(world))
    assert (codes(world), unread(world), downloads(world, number)) == (["RE"], [], 1)
    life.stop()


@pytest.mark.parametrize(
    ("changes", "reads"),
    [
        ({"sender": BUYER}, 0),
        ({"document_id": "urn:example::Invoice##urn:example:mls:1::2.1"}, 0),
        ({"content": message_level("mlr", "ID", "No.")}, 4),
        ({"content": response("ID")}, 4),
        ({"content": message_level("mls", "ID", "No.")[:-40]}, 4),
        ({"content": message_level("mls", "ID", "No.") + b" " * LARGEST}, 4),
        ({"content": message_level("mls", "1001", "No.")}, 1),
        ({"content": message_level("mls", OTHER, "No.")}, 1),
        ({"content": message_level("mls", OTHER[:18], "No.")}, 1),
    ],
    ids=["stranger", "listed as invoice", "MLR", "response", "broken", "too large", "number", "other id", "half"],
)
def test_what_names_no_document(
    make_world: Callable[..., World], clock: Clock, changes: dict[str, str | bytes], reads: int
) -> None:
    """What is no status, or names no document, stays unread, writes nothing, and is seldom downloaded again."""
    world = a_world(make_world, clock)
    life = Life(world, clock)
    life.go_on(200)
    asked: dict[str, object] = {"content": message_level("mls", "ID", "No."), **changes}
    content = asked.pop("content")
    assert isinstance(content, bytes)
    number = world.receive_for_access_point(content.replace(b"ID<", f"{message_id(world)}<".encode()), **asked)
    life.go_on(600)
    assert (codes(world), unread(world)) == ([], [number])
    assert downloads(world, number) <= reads
    assert life.journal.engine.read("SELECT 1 FROM messages UNION SELECT 1 FROM responses") == []
    report = account_status(life.service.accounts[0].report())
    assert (report["for_nobody"], report["statuses"], report["fetched"]) == (1, 1, "")
    life.stop()


def test_mark_that_fails(make_world: Callable[..., World], clock: Clock) -> None:
    """If only the mark fails, only the mark is tried again, `status` says why, and a restart records nothing twice."""
    world = a_world(make_world, clock)
    life = Life(world, clock)
    life.go_on(200)
    world.front.always("POST /inbox/", instead(500))
    number = world.receive_for_access_point(message_level("mls", message_id(world), ""))
    life.go_on(400)
    assert (codes(world), unread(world), downloads(world, number)) == (["RE"], [number], 1)
    assert len(world.front.asked(f"POST /inbox/{number}/read")) > 1
    report = account_status(life.service.accounts[0].report())
    assert report["lists"][0].startswith("1 unread messages were already delivered here: ")
    assert (report["for_nobody"], report["statuses"]) == (0, 0)
    life.drop()
    world.front.heal()
    life = Life(world, clock)
    life.go_on(200)
    assert (codes(world), unread(world), downloads(world, number)) == (["RE"], [], 2)
    life.stop()


def test_a_kill_before_the_mark(make_world: Callable[..., World], clock: Clock) -> None:
    """After a kill between the record and the mark, the status is read again and recorded once."""
    world = a_world(make_world, clock)
    life = Life(world, clock)
    life.go_on(200)

    class Killed(BaseException):
        pass

    def kill(_: int) -> None:
        raise Killed

    number = world.receive_for_access_point(message_level("mls", message_id(world), ""))
    life.service.accounts[0].access_point.mark_read = kill
    with pytest.raises(Killed):
        life.go_on(130)
    life.drop()
    life = Life(world, clock)
    life.go_on(200)
    assert (codes(world), unread(world), downloads(world, number)) == (["RE"], [], 2)
    assert life.journal.engine.read("SELECT count(*) FROM responses") == [(1,)]
    life.stop()


def test_many_statuses(make_world: Callable[..., World], clock: Clock) -> None:
    """A poll reads no more than 25, those first that were never read; an invoice for the company isn't held up."""
    world = a_world(make_world, clock)
    life = Life(world, clock)
    life.go_on(200)
    numbers = [
        world.receive_for_access_point(message_level("mls", OTHER, f"Reason {number}"))
        for number in range(STATUSES_A_POLL + 5)
    ]
    world.receive(invoice("2002"))
    life.go_on(60)
    assert sum(downloads(world, number) for number in numbers) == STATUSES_A_POLL
    assert len(world.delivered()) == 1
    life.go_on(130)
    assert [downloads(world, number) for number in numbers] == [1] * len(numbers)
    life.stop()


def test_run_once_waits_for_statuses(make_world: Callable[..., World]) -> None:
    """`run --once` reads and marks what is there before it ends."""
    world = make_world()
    world.drop("invoice.xml", invoice("1001"))
    world.settle()  # delivered, so that the journal has the message's id
    world.receive_for_access_point(message_level("mls", message_id(world), ""))
    world.run_once()
    assert unread(world) == []
