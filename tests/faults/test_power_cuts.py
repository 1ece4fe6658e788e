"""Wherever the plug is pulled, nothing is lost and nothing is twice.

Each test runs a filedrop again and again, each time in a new world, and pulls its plug at the first side effect, at the
second, and so on, until a run comes to its end before its plug is pulled. After each, a new filedrop with the same
folders and the same journal settles everything. The quick tests pull it at some of the side effects, the slow ones at
each.
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
QUICK = {"workers": "1", "doubt": "200ms", "track": "20ms"}
NOBODY = "0192:999999999"


def pull_everywhere(
    tmp_path: Path,
    prepare: Callable[[World], None],
    *,
    first: int = 1,
    every: int = 1,
    forgets: bool = False,
    outbound: dict[str, str] | None = None,
    many: bool = False,
) -> dict[int, World]:
    """Pull the plug at each side effect in turn; what the worlds are like after all has settled, by step.

    `first` and `every` choose some of the steps. `prepare` drops, receives and breaks, in folders that filedrop has
    served before.
    """
    worlds: dict[int, World] = {}
    problems, step, pulled = [], first - every, True
    while pulled:
        step += every
        base = tmp_path / str(step)
        base.mkdir()
        with World(base, outbound=QUICK | (outbound or {})) as world:
            world.run_once()
            prepare(world)
            finished, received = len(world.dropped), len(world.received)
            steps = live(world, finished=finished, received=received, pull_at=step, forgets=forgets, many=many)
            pulled = steps is None
            world.front.heal()
            try:
                world.settle(15)
                world.invariants()
            except AssertionError as error:
                problems.append(f"step {step}: {error}")
            worlds[step] = world
    assert not problems, f"\n\n{len(problems)} of {len(worlds)} steps:\n" + "\n\n".join(problems)
    return worlds


@pytest.mark.parametrize("fate", FATES)
def test_here_and_there(tmp_path: Path, fate: str) -> None:
    """Wherever the process ends, and whatever becomes of the request, a document is sent once and filed once."""
    first, every = list(FATES).index(fate) + 1, len(FATES)  # together, the fates meet each step
    assert len(pull_everywhere(tmp_path, _a_document(fate), first=first, every=every)) > 5


@pytest.mark.slow
@pytest.mark.parametrize("fate", FATES)
def test_everywhere(tmp_path: Path, fate: str) -> None:
    """The same, at each step with each fate."""
    assert len(pull_everywhere(tmp_path, _a_document(fate))) > 20


@pytest.mark.slow
@pytest.mark.parametrize("fate", FATES)
def test_the_disk_may_forget(tmp_path: Path, fate: str) -> None:
    """The same when the power of a disk is cut that loses all names and contents which nobody has brought to it."""
    assert len(pull_everywhere(tmp_path, _a_document(fate), forgets=True)) > 20


@pytest.mark.slow
def test_the_disk_may_forget_and_duplicates_are_allowed(tmp_path: Path) -> None:
    """The same where duplicates are allowed, and nothing but the journal's order keeps a document from going twice."""
    allow = {"duplicates": "allow"}
    assert len(pull_everywhere(tmp_path, _a_document("accepted"), forgets=True, outbound=allow)) > 20


@pytest.mark.slow
@pytest.mark.parametrize(
    ("content", "code"),
    [(invoice("1", receiver=None), "no-receiver"), (invoice("1", sender=NOBODY), "foreign-sender")],
    ids=["no-receiver", "foreign-sender"],
)
def test_what_must_not_be_sent_is_not(tmp_path: Path, content: bytes, code: str) -> None:
    """Wherever the process ends, a document that can't be sent as it is isn't sent, and the note says why."""

    def prepare(world: World) -> None:
        world.drop("invoice.xml", content)

    worlds = pull_everywhere(tmp_path, prepare)
    assert {world.error("invoice.xml") for world in worlds.values()} == {code}
    assert not any(world.front.asked("POST /outbox") for world in worlds.values())


@pytest.mark.slow
def test_two_documents_and_a_message(tmp_path: Path) -> None:
    """Wherever the process ends with documents going both ways, all of them arrive once."""

    def prepare(world: World) -> None:
        world.drop("invoice.xml", invoice("1"))
        world.drop("another.xml", invoice("2"))
        world.receive(invoice("3"))

    assert len(pull_everywhere(tmp_path, prepare, outbound={"workers": "2"})) > 30


def test_several_together_here_and_there(tmp_path: Path) -> None:
    """Wherever the process ends with documents that share their commits, each is sent once and filed once."""
    assert len(pull_everywhere(tmp_path, _a_document_for_each_fate, every=7, many=True)) > 5


@pytest.mark.slow
@pytest.mark.parametrize("forgets", [False, True], ids=["the disk keeps all", "the disk may forget"])
def test_several_together(tmp_path: Path, *, forgets: bool) -> None:
    """The same, at each step."""
    assert len(pull_everywhere(tmp_path, _a_document_for_each_fate, forgets=forgets, many=True)) > 40


def test_what_several_share(tmp_path: Path) -> None:
    """What is written of documents that are taken together, is: before their requests, and after them."""
    with World(tmp_path, outbound=QUICK) as world:
        world.run_once()
        for number in range(4):
            world.drop(f"invoice-{number}.xml", invoice(f"{number}"))
        steps = live(world, finished=4, received=0, many=True)
        assert steps is not None
        first = steps.index("send")
        assert steps[first - 1 : first + 5] == ["commit", *["send"] * 4, "commit"]


def test_a_message_here_and_there(tmp_path: Path) -> None:
    """Wherever the process ends, a message is delivered once, and marked read when it is safe."""
    assert len(pull_everywhere(tmp_path, _a_message, every=3)) > 3


@pytest.mark.slow
def test_a_message_everywhere(tmp_path: Path) -> None:
    """The same, at each step."""
    assert len(pull_everywhere(tmp_path, _a_message)) > 10


@pytest.mark.slow
def test_a_forgetful_disk_keeps_what_is_marked_read(tmp_path: Path) -> None:
    """The same when the power of a disk is cut that loses whatever nobody has brought to it."""
    assert len(pull_everywhere(tmp_path, _a_message, forgets=True)) > 10


def test_messages_together_here_and_there(tmp_path: Path) -> None:
    """Wherever the process ends with messages that share their commit, each is delivered once, and then marked read."""
    assert len(pull_everywhere(tmp_path, _messages, every=7, many=True)) > 3


@pytest.mark.slow
@pytest.mark.parametrize("forgets", [False, True], ids=["the disk keeps all", "the disk may forget"])
def test_messages_together(tmp_path: Path, *, forgets: bool) -> None:
    """The same, at each step."""
    assert len(pull_everywhere(tmp_path, _messages, forgets=forgets, many=True)) > 20


def test_what_messages_share(tmp_path: Path) -> None:
    """Messages that are taken together are named in one commit, and brought to the disk together, before and after."""
    with World(tmp_path, outbound=QUICK) as world:
        world.run_once()
        _messages(world)
        steps = live(world, finished=0, received=4, many=True)
        assert steps is not None
        first, read = steps.index("download"), steps.index("mark_read")
        whole = ["download", "fsync"] * 4
        assert steps[first : first + 10] == [*whole, "fsync", "commit"]
        assert steps[read - 2 : read + 4] == ["place", "fsync", *["mark_read"] * 4]


def test_a_message_is_on_the_disk_before_it_is_read(tmp_path: Path) -> None:
    """A message that a process renamed in before it was killed is brought to the disk before it is marked read."""
    whole = _steps_of_a_message(tmp_path / "whole", pull_at=0)
    brought = whole.index("mark_read")  # counted from 1, what comes just before: the folder is brought to the disk
    assert whole[brought - 2 : brought] == ["place", "fsync"]
    after = _steps_of_a_message(tmp_path / "cut", pull_at=brought)
    assert after[: after.index("mark_read")].count("fsync") == 1


def _steps_of_a_message(base: Path, *, pull_at: int) -> list[str]:
    """The side effects of receiving a message, from the last start on; before, the plug may have been pulled."""
    base.mkdir()
    with World(base, outbound=QUICK) as world:
        world.run_once()
        _a_message(world)
        if pull_at:
            assert live(world, finished=0, received=1, pull_at=pull_at) is None
        steps = live(world, finished=0, received=1)
        assert steps is not None
        world.invariants()
        return steps


def _messages(world: World) -> None:
    for number in range(4):
        world.receive(invoice(f"in-{number}"))


def _a_document(fate: str) -> Callable[[World], None]:
    def prepare(world: World) -> None:
        world.drop("invoice.xml", invoice("1"))
        world.front.next("POST /outbox", FATES[fate])

    return prepare


def _a_document_for_each_fate(world: World) -> None:
    for number in range(len(FATES)):
        world.drop(f"invoice-{number}.xml", invoice(f"{number}"))
    world.front.next("POST /outbox", *FATES.values())


def _a_message(world: World) -> None:
    world.receive(invoice("1"))
