"""Wherever the plug is pulled, nothing is lost and nothing is twice.

Each test runs a filedrop again and again, each time in a new world, and pulls its plug at the first side effect, at the
second, and so on, until a run comes to its end before its plug is pulled. After each, a new filedrop with the same
folders and the same journal settles everything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.documents import invoice
from support.faults import answered, cut_after, instead
from support.plug import live
from support.world import World

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.faults import Fault

FATES: dict[str, Fault] = {
    "accepted": answered,
    "refused": instead(400, "Wrong recipientId value: 0192:810418052", ("Content-Type", "text/plain;charset=UTF-8")),
    "never arrived": instead(404),
    "arrived, answer lost": cut_after,
}
ONE_AT_A_TIME = {"workers": "1", "doubt": "200ms"}
KEEPS_OR_FORGETS = pytest.mark.parametrize("forgets", [False, pytest.param(True, marks=pytest.mark.slow)],
                                           ids=["the disk keeps all", "the disk forgets"])  # fmt: skip


def pull_everywhere(
    tmp_path: Path,
    prepare: Callable[[World], None],
    *,
    forgets: bool,
    known: bool = True,
    outbound: dict[str, str] | None = None,
) -> int:
    """Pull the plug at each side effect in turn; returns how many there are.

    `prepare` drops, receives and breaks. `known`: filedrop has served these folders before.
    """
    problems, step, pulled = [], 0, True
    while pulled:
        step += 1
        base = tmp_path / str(step)
        base.mkdir()
        with World(base, outbound=ONE_AT_A_TIME | (outbound or {})) as world:
            if known:
                world.run_once()
            prepare(world)
            pulled = live(world, finished=len(world.dropped), received=len(world.received), pull_at=step, forgets=forgets) is None
            world.front.heal()
            try:
                world.settle(15)
                world.invariants()
            except AssertionError as error:
                problems.append(f"step {step}: {error}")
    assert not problems, f"\n\n{len(problems)} of {step} steps:\n" + "\n\n".join(problems)
    return step - 1


@KEEPS_OR_FORGETS
@pytest.mark.parametrize("fate", FATES)
def test_a_document_is_sent_once_and_filed_once(tmp_path: Path, fate: str, *, forgets: bool) -> None:
    """Wherever the plug is pulled, and whatever becomes of the request, a document is sent once and filed once."""

    def prepare(world: World) -> None:
        world.drop("invoice.xml", invoice("1"))
        world.front.next("POST /outbox", FATES[fate])

    assert pull_everywhere(tmp_path, prepare, forgets=forgets) > 20


@KEEPS_OR_FORGETS
def test_a_message_is_delivered_once_and_then_read(tmp_path: Path, *, forgets: bool) -> None:
    """Wherever the plug is pulled, a message is delivered once, and marked read when it is safe."""

    def prepare(world: World) -> None:
        world.receive(invoice("1"))

    assert pull_everywhere(tmp_path, prepare, forgets=forgets) > 10
