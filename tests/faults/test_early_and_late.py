"""A response that is early, and a validator that is late: the orders of events that a story by lot rarely comes to."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from support.documents import BUYER, SELLER, invoice, order
from support.faults import answered, cut_after
from support.matrix import quick
from support.responses import response
from support.stepping import RULES, Clock, Life

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.world import World


def on_the_way(life: Life, clock: Clock, seconds: float, *, but: str) -> None:
    """Let time pass, and everything be done meanwhile but jobs of one name."""
    for _ in range(int(seconds / 10)):
        life.turn()
        life.do_all(but=but)
        clock.pass_on(10)


def said(world: World) -> list[Any]:
    return [(one["code"], one["msg_no"]) for one in world.sidecar("invoice.xml").get("responses", [])]


@pytest.mark.parametrize(
    "fate", quick(["recorded", "killed before", "its answer is lost", "killed, and away for a day"], 2)
)
def test_a_response_before_what_it_answers_is_recorded(
    make_world: Callable[..., World], clock: Clock, fate: str
) -> None:
    """The receiver answers before our journal knows that it was accepted: it is tied once, whatever happens then."""
    world = make_world(outbound=RULES, inbound={"poll": "1m"}, clock=clock.true)
    life = Life(world, clock)
    try:
        life.go_on(10)
        world.front.next("POST /outbox", cut_after if "lost" in fate else answered)
        world.drop("invoice.xml", invoice("1001"))
        life.touch()
        on_the_way(life, clock, 60, but="record")
        assert len(world.front.asked("POST /outbox")) == 1
        number = world.receive(response("1001"))
        on_the_way(life, clock, 200, but="record")
        assert world.delivered(), "the response lies there"
        assert not list(world.outbound.rglob("invoice.xml.json")), "what it answers isn't known to be accepted"
        if "killed" in fate:
            life.drop()
            clock.pass_on(86400 if "day" in fate else 0)
            life = Life(world, clock)
        life.go_on(3 * 3600)
        assert said(world) == [("RE", number)]
        assert len(world.front.asked("POST /outbox")) == 1
        world.invariants()
    finally:
        life.drop()


@pytest.mark.parametrize("then", quick(["it ends", "killed", "stopped", "it refuses them"]))
def test_a_validator_that_hangs(make_world: Callable[..., World], clock: Clock, tmp_path: Path, then: str) -> None:
    """While it hangs nothing is posted or in doubt, and messages come; afterwards each document has its verdict."""
    script = tmp_path / "validator"
    script.write_text("exit 0\n")
    more = f"validation: {{command: [/bin/sh, {script}], timeout: 10m}}"
    rules = RULES | {"validate": "refuse"}
    world = make_world(outbound=rules, inbound={"poll": "5m"}, clock=clock.true, more=more)
    life = Life(world, clock)
    try:
        life.go_on(10)
        life.validator_hangs = True
        for nth in range(3):
            world.drop(f"{nth}.xml", invoice(str(nth)))
        world.receive(order("1", sender=BUYER, receiver=SELLER))
        life.touch()
        life.go_on(3600)
        assert world.delivered()
        assert not world.front.asked("POST /outbox")
        assert sorted(path.name for path in (world.outbound / "sending").glob("*.xml")) == ["0.xml", "1.xml", "2.xml"]
        assert "turn to be checked" in (world.outbound / "sending" / "0.xml.why.txt").read_text()
        if then in ("killed", "stopped"):
            life.drop() if then == "killed" else life.stop()
            life = Life(world, clock)
        elif then == "it refuses them":
            script.write_text("exit 1\n")
        life.validator_hangs = False
        life.go_on(3600)
        refused = then == "it refuses them"
        assert sum(world.accepted().values()) == (0 if refused else 3)
        assert len(world.front.asked("POST /outbox")) == (0 if refused else 3)
        assert len(list((world.outbound / "failed").glob("*.xml"))) == (3 if refused else 0)
        events = [one["event"] for path in world.outbound.rglob("*.xml.json") for one in history(path)]
        assert "doubted" not in events
        world.invariants()
    finally:
        life.drop()


def history(path: Path) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = json.loads(path.read_bytes())["history"]
    return told
