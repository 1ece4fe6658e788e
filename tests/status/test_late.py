"""Documents that wait for too long count in the verdict, whatever they wait for alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.documents import invoice
from support.faults import instead
from support.stepping import RULES, Life

from filedrop.status.matters import verdict
from filedrop.status.survey import Survey, part_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.stepping import Clock
    from support.world import World

    from filedrop.status.model import Matter, Status


def status_of(world: World, life: Life) -> Status:
    """What a running daemon reports now."""
    now = life.service.accounts[0].context.now()
    survey = Survey(world.configuration(), life.service.journal)
    return survey.look(part_of(life.service.report()), running=True, now=now)


def late(status: Status) -> list[Matter]:
    return [matter for matter in status["matters"] if matter["kind"] == "late"]


def test_a_document_that_waits_alone(make_world: Callable[..., World], clock: Clock) -> None:
    """After `overdue` it needs attention, with its reason, while all else is sent; once it is sent, it doesn't."""
    world = make_world(outbound=RULES | {"overdue": "1h"}, inbound={"poll": "1m"}, clock=clock.true)
    life = Life(world, clock)
    try:
        life.go_on(10)
        world.front.always("POST /outbox", instead(404))
        world.drop("bad.xml", invoice("1"))
        life.touch()
        life.go_on(3000)
        assert not late(status_of(world, life))
        life.go_on(1800)
        status = status_of(world, life)
        (matter,) = late(status)
        (item,) = matter["items"]
        assert (matter["company"], item["name"]) == ("acme", "bad.xml")
        assert "404" in item["why"]
        assert verdict(status).startswith("1 document needs")
        (world.outbound / "HOLD").touch()
        life.go_on(60)
        assert not late(status_of(world, life))  # somebody holds all of them
        (world.outbound / "HOLD").unlink()
        world.front.heal()
        life.go_on(1800)
        assert world.places()["bad.xml"].split("/")[0] in ("sent", "archive")
        assert not late(status_of(world, life))
    finally:
        life.drop()
