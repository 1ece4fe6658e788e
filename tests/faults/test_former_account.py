"""An account gets another host while documents are under way: that is said, with what it means, and nothing is lost."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support.commands import ask
from support.documents import invoice
from support.faults import exactly, instead, reset_before

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.world import World

AWAY = instead(500)


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    """A world with one document that is accepted and one in doubt, whose access point is called `localhost` now."""
    world = make_world(deliver_after=3600)
    world.front.always(exactly("GET", "/messages"), AWAY)
    with world.service():
        world.drop("sent.xml", invoice("1"))
        world.until(lambda: world.places().get("sent.xml") == "sent")
        world.front.next("POST /outbox", reset_before)
        world.drop("doubtful.xml", invoice("2"))
        world.until(lambda: left(world)["companies"]["acme"]["doubt"] == 1)
    world.front.url = f"http://localhost:{world.front.port}"
    return world


def left(world: World) -> dict[str, dict[str, dict[str, list[str]]]]:
    """What `status --json` says."""
    status: dict[str, dict[str, dict[str, list[str]]]] = json.loads(ask(world, "status", "--json").output)
    return status


def test_it_is_said(world: World) -> None:
    """By `check` before the start, by the log at it, and by `status`; and no more when the former host is back."""
    for part in ("acme@localhost now", "acme@127.0.0.1", "1 accepted there", "1 in doubt"):
        assert part in ask(world, "check").says
    with world.service() as service:
        (said,) = left(world)["accounts"]["main"]["left_behind"]
        assert said in [line["why"] for line in world.log() if line["event"] == "account.changed"]
        shown = ask(world, "status").says
        assert said in shown
        assert "Everything is working" not in shown
        assert "filedrop keeps checking, but not at the former access point" in shown
        world.until(lambda: service.accounts[0].poller.summary.last_poll)
    assert world.accepted() == {"sent.xml": 1}
    world.front.heal()
    world.front.url = f"http://127.0.0.1:{world.front.port}"
    assert left(world)["accounts"]["main"]["left_behind"] == []
    world.settle(ends=("sent",))
    world.invariants()


def test_a_person_ends_it(world: World) -> None:
    """What is taken from `sent/` is followed no more, and what is in doubt a person resolves: then nothing is left."""
    (world.outbound / "sent" / "sent.xml").rename(world.base / "sent.xml")
    del world.dropped["sent.xml"]
    assert world.filedrop("resolve", "doubtful.xml", "--send-again").returncode == 0
    with world.service():
        world.until(lambda: left(world)["accounts"]["main"]["left_behind"] == [])
        world.until(lambda: not list((world.outbound / "sent").glob("sent.xml*")))
        world.until(lambda: world.places().get("doubtful.xml") == "sent")


def test_a_folder_that_is_named_no_more(make_world: Callable[..., World]) -> None:
    """`check` and `status` say that documents are left in it, until it is named again or its marker is gone."""
    world = make_world(deliver_after=3600)
    world.drop("sent.xml", invoice("1"))
    world.settle(ends=("sent",))
    company = world._companies.pop("acme")
    world._companies["renamed"] = company
    said = f"1 unfinished document is in {world.outbound} (sent.xml), which the configuration no longer names"
    with world.service():
        assert said in ask(world, "check").says
        assert said in ask(world, "status").says
    marker = (world.outbound / ".filedrop").read_bytes()
    (world.outbound / ".filedrop").unlink()
    assert said not in ask(world, "status").says
    (world.outbound / ".filedrop").write_bytes(marker)
    document = world.outbound / "sent" / "sent.xml"
    document.rename(world.base / "sent.xml")  # a person moves it to where it is sent from now on
    assert said not in ask(world, "status").says
    (world.base / "sent.xml").rename(document)
    assert said in ask(world, "status").says
    world._companies["renamed"] = f"{{participants: [], outbound: {world.outbound}}}"
    assert said not in ask(world, "status").says
