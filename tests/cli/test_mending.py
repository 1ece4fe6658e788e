"""`filedrop retry` and `filedrop resolve`: a person decides."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support.documents import invoice
from support.faults import cut_after, reset_before

from filedrop.document import State
from filedrop.service import sole_use

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from cli.conftest import Filedrop
    from support.world import World


@pytest.fixture
def doubtful(make_world: Callable[..., World]) -> World:
    """A world in which whatever is in doubt stays so: no look at the archive succeeds."""
    world = make_world(outbound={"doubt": "1h"})
    world.front.always("GET /messages", reset_before)
    return world


def bring_into_doubt(world: World, *names: str) -> None:
    """Leave these documents in doubt: their posts reached the access point, and the answers were lost."""
    world.front.next("POST /outbox", *[cut_after] * len(names))
    for name in names:
        world.drop(name, invoice(name))
    with world.service() as service:
        world.until(lambda: len(service.journal.in_state(State.DOUBT)) == len(names))


def test_what_could_be_retried(filedrop: Filedrop, world: World) -> None:
    """Without names and --all, retry lists what failed and why, and moves nothing."""
    world.drop("nobody.xml", invoice("1", receiver=None))
    world.run_once()
    done = filedrop("retry")
    assert "nobody.xml" in done.stdout
    assert "--all" in done.stdout
    (told,) = map(json.loads, filedrop("retry", "acme", "--json").stdout.splitlines())
    assert (told["company"], told["file"]) == ("acme", "nobody.xml")
    assert world.places() == {"nobody.xml": "failed"}


def test_retry(filedrop: Filedrop, world: World) -> None:
    """A retried document is back in outbound/, its note and sidecar are gone, and what isn't there is status 1."""
    for name in ("one.xml", "two.xml"):
        world.drop(name, invoice(name, receiver=None))
    world.run_once()
    done = filedrop("retry", "acme", "one.xml", "three.xml")
    assert done.returncode == 1
    assert "three.xml: no failed document has this name" in done.stderr
    assert world.places() == {"one.xml": ".", "two.xml": "failed"}
    assert not list((world.outbound / "failed").glob("one.xml*"))
    assert filedrop("retry", "--all").returncode == 0
    assert world.places() == {"one.xml": ".", "two.xml": "."}


def test_retry_overwrites_nothing(filedrop: Filedrop, world: World) -> None:
    """A retried document whose name was dropped anew gets a name of its own."""
    world.drop("one.xml", invoice("1", receiver=None))
    world.run_once()
    world.put(world.outbound / "one.xml", invoice("2"))
    assert "back in outbound/ as one-2.xml" in filedrop("retry", "--all").stdout
    assert (world.outbound / "one.xml").read_bytes() == invoice("2")


def test_retry_a_duplicate(filedrop: Filedrop, world: World) -> None:
    """A duplicate that is retried fails again; with --anyway it is sent, once."""
    world.drop("one.xml", invoice("1"))
    world.run_once()
    world.put(world.outbound / "again.xml", invoice("1"))
    world.run_once()
    filedrop("retry", "acme", "again.xml")
    world.run_once()
    assert (world.outbound / "failed" / "again.xml").exists()
    filedrop("retry", "acme", "again.xml", "--anyway")
    world.run_once()
    assert len(world.sandbox.store.sent("acme")) == 2


def test_resolve_as_sent(filedrop: Filedrop, doubtful: World) -> None:
    """A doubt that is ended with the message number is followed to its delivery, and not sent again."""
    bring_into_doubt(doubtful, "one.xml")
    status = json.loads(filedrop("status", "--json", config=config_of(doubtful)).stdout)
    assert status["companies"]["acme"]["doubt"] == 1
    (message,) = doubtful.sandbox.store.sent("acme")
    done = filedrop("resolve", "one.xml", "--sent", message.msg_no, config=config_of(doubtful))
    assert done.returncode == 0, done.stderr
    doubtful.front.heal()
    doubtful.settle()
    doubtful.invariants()


def test_resolve_with_a_wrong_number(filedrop: Filedrop, doubtful: World) -> None:
    """A number that the access point doesn't know, or that belongs to another document, ends no doubt."""
    bring_into_doubt(doubtful, "one.xml")
    assert filedrop("resolve", "one.xml", "--sent", 4711, config=config_of(doubtful)).returncode == 1
    with sole_use(doubtful.state) as journal:
        assert len(journal.in_state(State.DOUBT)) == 1


def test_resolve_to_send_again(filedrop: Filedrop, doubtful: World) -> None:
    """A doubt that is ended with --send-again is sent again, as the person has decided."""
    bring_into_doubt(doubtful, "one.xml")
    done = filedrop("resolve", "one.xml", "--send-again", config=config_of(doubtful))
    assert done.returncode == 0, done.stderr
    doubtful.run_once()
    assert len(doubtful.sandbox.store.sent("acme")) == 2


def test_resolve_nothing(filedrop: Filedrop, world: World) -> None:
    """What isn't in doubt can't be resolved, and the command line must say how."""
    world.run_once()
    done = filedrop("resolve", "one.xml", "--send-again")
    assert done.returncode == 1
    assert "no document in doubt is called one.xml" in done.stderr
    assert filedrop("resolve", "one.xml").returncode == 2


def config_of(world: World) -> Path:
    """The configuration of a world that isn't the fixture."""
    file = world.base / "config.yaml"
    file.write_text(world.config_text())
    return file
