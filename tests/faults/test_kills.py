"""The daemon is killed again and again while documents go both ways."""

from __future__ import annotations

import json
import random
import sqlite3
import sys
import threading
from typing import TYPE_CHECKING

import pytest
from support.documents import BUYER, SELLER, invoice, order, with_attachments
from support.faults import answered, cut_after, reset_before
from support.matrix import draw_seed, quick
from support.responses import order_response, response

from filedrop.journal import JOURNAL

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    from support.faults import Exchange, Fault
    from support.world import World

KILLS = 10
LATEST = 15  # requests of one life: so that no life comes to the end of the work
OUT, IN = 6, 4  # documents and messages of one life
ANSWERED = 40


def killed_at(world: World, daemon: subprocess.Popen[bytes], request: int, fate: Fault) -> None:
    """Kill the daemon at its n-th request, when this has become of it; returns when it is dead."""
    done = threading.Event()

    def kill(exchange: Exchange) -> None:
        try:
            fate(exchange)
        finally:
            daemon.kill()
            done.set()

    world.front.next("", *[answered] * (request - 1), kill)
    world.until(done.is_set, what=f"request {request}")
    daemon.wait()


@pytest.mark.parametrize("kills", quick([2, KILLS]))
def test_killed_again_and_again(make_world: Callable[..., World], kills: int) -> None:
    """A daemon that is killed at random moments loses nothing, sends and delivers nothing twice, leaves nothing.

    Every other message has two attachments, which lie beside it.
    """
    world = make_world(inbound={"attachments": "beside"})
    chance = random.Random(draw_seed())  # noqa: S311 - it is to be repeated, not secret
    for number in range(OUT * kills):
        world.drop(f"invoice-{number}.xml", invoice(f"out {number}"))
    for number in range(IN * kills):
        embeds = [("a.pdf", "application/pdf", b"%PDF-1.7" * 1000), ("b.txt", "text/plain", b"text")] * (number % 2)
        world.receive(with_attachments(invoice(f"in {number}"), *embeds))
    for _ in range(kills):
        fate = chance.choice([reset_before, cut_after, answered])
        with world.daemon() as daemon:
            killed_at(world, daemon, chance.randint(1, LATEST), fate)
        assert not world.settled(), "it was killed when there was nothing left to do"
    with world.daemon() as daemon:
        world.until(world.settled, what="everything settles")
        world.stop(daemon)
    world.invariants()
    assert world.accepted() == dict.fromkeys(world.dropped, 1)
    assert not list(world.root.glob(".*"))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="its programs are those of a shell")
def test_killed_with_everything_on(make_world: Callable[..., World], tmp_path: Path) -> None:
    """With attachments, pages, validation and commands: all is there once, and each command has run, at least once.

    A page that filedrop was killed over twice is given up, which its sidecar says; each other one is there (`settled`).
    """
    told, validator, program = tmp_path / "told", tmp_path / "validator", tmp_path / "program"
    told.touch()
    validator.write_text("sleep 0.01; ! grep -q 'To be refused' \"$1\"")
    program.write_text(f'echo "$FILEDROP_EVENT $FILEDROP_FILE" >> {told}')
    run = f"[/bin/sh, {program}]"
    world = make_world(
        inbound={"attachments": "beside", "readable": "html"},
        outbound={"validate": "refuse"},
        more=f"validation: {{command: [/bin/sh, {validator}]}}\n"
        f"commands: {{after_received: {run}, after_failed: {run}, after_delivered: {run}}}",
    )
    chance = random.Random(draw_seed())  # noqa: S311 - it is to be repeated, not secret
    for number in range(OUT * KILLS // 2):
        note = "To be refused" if number % 5 == 0 else "To be sent"
        world.drop(f"invoice-{number}.xml", invoice(f"out {number}", note=note))
    for number in range(IN * KILLS // 2):
        embeds = [("a.pdf", "application/pdf", b"%PDF-1.7" * 1000), ("b.txt", "text/plain", b"text")] * (number % 2)
        world.receive(with_attachments(invoice(f"in {number}"), *embeds))
    for _ in range(KILLS // 2):
        with world.daemon() as daemon:
            killed_at(world, daemon, chance.randint(1, LATEST), chance.choice([reset_before, cut_after, answered]))

    def left() -> set[str]:
        ends = [*world.outbound.glob("failed/*.xml"), *world.outbound.glob("archive/*/*.xml"), *world.delivered()]
        return {str(path) for path in ends} - {line.split()[1] for line in told.read_text().splitlines()}

    with world.daemon() as daemon:
        world.until(world.settled, 120, what="everything settles")
        world.until(lambda: not left(), what="each command has run")
        world.stop(daemon)
    world.invariants()
    assert {line.rpartition(".")[2] for line in told.read_text().splitlines()} == {"xml"}, "only documents are told of"
    assert world.accepted() == {name: 1 for name, content in world.dropped.items() if b"To be refused" not in content}
    assert len(list(world.outbound.glob("failed/*.xml"))) == OUT * KILLS // 10
    assert not list(world.root.glob(".*"))


@pytest.mark.slow
def test_killed_amid_responses(make_world: Callable[..., World]) -> None:
    """A daemon that is killed at ten random moments ties each response once to what it answers, early ones too."""
    world = make_world()
    chance = random.Random(draw_seed())  # noqa: S311 - it is to be repeated, not secret
    numbers = [f"{number}" for number in range(1001, 1001 + ANSWERED)]
    answers: dict[str, list[tuple[str, int]]] = {number: [] for number in numbers}

    def answer(number: str, code: str) -> None:
        content = order_response(number, code) if int(number) % 4 == 3 else response(number, code)
        answers[number].append((code, world.receive(content)))

    for number in numbers[::2]:
        answer(number, "AB")  # it is there before what it answers
    for number in numbers:
        world.drop(f"{number}.xml", order(number, SELLER, BUYER) if int(number) % 4 == 3 else invoice(number))
    for _ in range(KILLS):
        with world.daemon() as daemon:
            killed_at(world, daemon, chance.randint(1, LATEST), chance.choice([reset_before, cut_after, answered]))
        assert not world.settled(), "it was killed when there was nothing left to do"
    for number in numbers:
        answer(number, "RE")
    for _ in range(KILLS // 2):
        with world.daemon() as daemon:
            killed_at(world, daemon, chance.randint(2, LATEST), answered)
    expected = {number: sorted(of_one) for number, of_one in answers.items()}

    def told() -> dict[str, list[tuple[str, int]]]:
        beside = {number: world.sidecar(f"{number}.xml").get("responses", []) for number in numbers}
        return {number: sorted((one["code"], one["msg_no"]) for one in of_one) for number, of_one in beside.items()}

    with world.daemon() as daemon:
        world.until(world.settled, what="everything settles")
        world.until(lambda: all(map(len, told().values())) and told() == expected, what=f"{expected}")
        world.stop(daemon)
    world.invariants()
    for number in numbers[:4]:
        shown = json.loads(world.filedrop("history", f"{number}.xml", "--json").stdout)
        of_history = [one for one in shown["history"] if one["event"] == "response"]
        assert sorted((one["code"], one["message"]) for one in of_history) == expected[number]
    (rejected,) = [one for one in json.loads(world.filedrop("status", "--json").stdout)["matters"]
                   if one["kind"] == "rejected"]  # fmt: skip
    assert rejected["number"] == ANSWERED


@pytest.mark.parametrize("workers", quick([4, 1]))
def test_killed_with_very_many_waiting(make_world: Callable[..., World], workers: int) -> None:
    """However many wait, only what was on its way is in doubt: 32 at most."""
    world = make_world(outbound={"workers": str(workers)})
    for number in range(100):
        world.drop(f"{number}.xml", invoice(f"{number}"))
    with world.daemon() as daemon:
        killed_at(world, daemon, 30, answered)
    with sqlite3.connect(world.state / JOURNAL) as journal:
        ((sending,),) = journal.execute("SELECT count(*) FROM documents WHERE state = 'sending'")
    assert sending <= 32
    world.settle()
    world.invariants()
    assert world.accepted() == dict.fromkeys(world.dropped, 1)
