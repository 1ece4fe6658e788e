"""Wherever the plug is pulled, nothing is lost and nothing is twice.

Each test runs a filedrop again and again, each time in a new world, and pulls its plug at the first side effect, at the
second, and so on, until a run comes to its end before its plug is pulled. After each, a new filedrop with the same
folders and the same journal settles everything. The quick tests pull it at some of the side effects, the slow ones at
one in six of them, other ones each time, or, in the full matrix, at each.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest
from support.documents import invoice, with_attachments
from support.faults import answered, cut_after, instead
from support.matrix import draw_seed, is_full, quick
from support.plug import Disk, Tap, live
from support.prepared import BY_RULE, PDF, PREPARE, WITH_PDFS, posted, stated
from support.responses import response
from support.stepping import RULES, Life
from support.world import World

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.faults import Fault
    from support.stepping import Clock

FATES: dict[str, Fault] = {
    "accepted": answered,
    "refused": instead(400, "Wrong recipientId value: 0192:810418052", ("Content-Type", "text/plain;charset=UTF-8")),
    "never arrived": instead(404),
    "arrived, answer lost": cut_after,
}
EVERY = 1 if is_full() else 6  # step at which the slow ones pull the plug
ALLOW = {"duplicates": "allow"}  # nothing but the journal's order keeps a document from going twice
BESIDE = {"attachments": "beside"}
NAMED = {"name": '"{sender}/{number}"'}  # two documents with one number get one name, in a folder that isn't there yet
EMBEDDED = (
    ("a.pdf", "application/pdf", b"%PDF-1.7" * 1000),
    ("b.csv", "text/csv", b"a;b\r\n"),
    ("c", "d", "no base64"),
)
QUICK = {"workers": "1", "doubt": "200ms", "track": "20ms"}
NOBODY = "0192:999999999"
DISKS = [(forgets, older) for forgets in (False, True) for older in (False, True)]
UNNUMBERED = stated("1").replace(b"<cbc:ID>1</cbc:ID>", b"", 1)
ALL = [(names, forgets) for names in ("usual", "one") for forgets in (False, True)]


def pull_everywhere(
    tmp_path: Path,
    prepare: Callable[[World], None],
    *,
    first: int = 0,
    every: int = EVERY,
    forgets: bool = False,
    outbound: dict[str, str] | None = None,
    inbound: dict[str, str] | None = None,
    older: bool = False,
    prepares: dict[str, str] | None = None,
) -> dict[int, World]:
    """Pull the plug at each side effect in turn; what the worlds are like after all has settled, by step.

    `first` and `every` choose some of the steps; 0: the first by lot. `prepare` drops, receives and breaks, in folders
    that filedrop has served before. `older`: afterwards the journal is put back as it was before. `prepares`: the
    settings by which documents get the ids that a rule sets, and PDFs.
    """
    worlds: dict[int, World] = {}
    first = first or 1 + draw_seed() % every
    problems, step, pulled = [], first - every, True
    while pulled:
        step += every
        base = tmp_path / str(step)
        base.mkdir()
        keys = QUICK | (outbound or {}) | (prepares or {})
        more: dict[str, Any] = {"more": BY_RULE, "posted": posted} if prepares else {}
        with World(base, outbound=keys, inbound=inbound, **more) as world:
            world.run_once()
            prepare(world)
            copy = world.copy_of_journal()
            finished, received = len(world.dropped), len(world.received)
            steps = live(world, finished=finished, received=received, pull_at=step, forgets=forgets)
            pulled = steps is None
            if older:
                world.put_back(copy)
            world.front.heal()
            try:
                world.settle()
                world.invariants()
            except AssertionError as error:
                problems.append(f"step {step}: {error}")
            worlds[step] = world
    assert not problems, f"\n\n{len(problems)} of {len(worlds)} steps:\n" + "\n\n".join(problems)
    return worlds


@pytest.mark.parametrize("fate", quick(FATES, 2))
def test_here_and_there(tmp_path: Path, fate: str) -> None:
    """Wherever the process ends, and whatever becomes of the request, a document is sent once and filed once."""
    first, every = list(FATES).index(fate) + 1, len(FATES)  # together, the fates meet each step
    assert len(pull_everywhere(tmp_path, _a_document(fate), first=first, every=every)) > 5


@pytest.mark.slow
@pytest.mark.parametrize("fate", FATES)
def test_everywhere(tmp_path: Path, fate: str) -> None:
    """The same, at each step with each fate."""
    assert len(pull_everywhere(tmp_path, _a_document(fate))) > 20 // EVERY


@pytest.mark.slow
@pytest.mark.parametrize("fate", FATES)
def test_the_disk_may_forget(tmp_path: Path, fate: str) -> None:
    """The same when the power of a disk is cut that loses all names and contents which nobody has brought to it."""
    assert len(pull_everywhere(tmp_path, _a_document(fate), forgets=True)) > 20 // EVERY


@pytest.mark.slow
@pytest.mark.parametrize("fate", FATES)
@pytest.mark.parametrize("forgets", [False, True], ids=["the disk keeps all", "the disk may forget"])
def test_everywhere_and_the_journal_is_put_back(tmp_path: Path, fate: str, *, forgets: bool) -> None:
    """The same where the journal is afterwards an older copy of itself; a disk that forgets had the claim before."""
    prepare = _a_claimed_document(fate) if forgets else _a_document(fate)
    assert len(pull_everywhere(tmp_path, prepare, forgets=forgets, outbound=ALLOW, older=True)) > 20 // EVERY


@pytest.mark.slow
@pytest.mark.parametrize(("fate", "forgets", "older"), [(fate, *disk) for fate in FATES for disk in DISKS])
@pytest.mark.parametrize("pdf", [None, PDF], ids=["ids", "ids and PDF"])
def test_prepared_document(tmp_path: Path, fate: str, pdf: bytes | None, *, forgets: bool, older: bool) -> None:
    """The same for a document without a number that is prepared: what was posted is known, and is next to it."""
    begin = _a_claimed_document if forgets and older else _a_document
    prepares = PREPARE if pdf is None else WITH_PDFS
    cuts = pull_everywhere(
        tmp_path, begin(fate, UNNUMBERED, pdf), outbound=ALLOW, forgets=forgets, older=older, prepares=prepares
    )
    assert len(cuts) > 20 // EVERY


@pytest.mark.slow
def test_the_disk_may_forget_and_duplicates_are_allowed(tmp_path: Path) -> None:
    """The same where duplicates are allowed."""
    assert len(pull_everywhere(tmp_path, _a_document("accepted"), forgets=True, outbound=ALLOW)) > 20 // EVERY


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

    assert len(pull_everywhere(tmp_path, prepare, outbound={"workers": "2"})) > 30 // EVERY


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("forgets", [False, True], ids=["the disk keeps all", "the disk may forget"])
def test_several_together(tmp_path: Path, *, forgets: bool) -> None:
    """Wherever the process ends with documents that share their commits, each is sent once and filed once."""
    cuts = pull_everywhere(tmp_path, _a_document_for_each_fate, forgets=forgets)
    assert len(cuts) > 40 // EVERY


def test_what_several_share(tmp_path: Path) -> None:
    """What is written of documents that are taken together, is: before their requests, and after them."""
    with World(tmp_path, outbound=QUICK) as world:
        world.run_once()
        for number in range(16):
            world.drop(f"invoice-{number}.xml", invoice(f"{number}"))
        steps = live(world, finished=16, received=0)
        assert steps is not None
        before = [step for step in steps[: steps.index("send")] if step in ("place", "commit")]
        claimed = max(number for number, step in enumerate(before) if step == "place")
        assert 1 <= len(before[claimed + 1 :]) < 16  # the marker, the rows, those of other threads: not one for each
        assert steps.count("send") == 16


def test_a_message_here_and_there(tmp_path: Path) -> None:
    """Wherever the process ends, a message is delivered once, and marked read when it is safe."""
    assert len(pull_everywhere(tmp_path, _a_message, every=3)) > 3


@pytest.mark.slow
def test_a_message_everywhere(tmp_path: Path) -> None:
    """The same, at each step."""
    assert len(pull_everywhere(tmp_path, _a_message)) > 10 // EVERY


@pytest.mark.slow
def test_a_forgetful_disk_keeps_what_is_marked_read(tmp_path: Path) -> None:
    """The same when the power of a disk is cut that loses whatever nobody has brought to it."""
    assert len(pull_everywhere(tmp_path, _a_message, forgets=True)) > 10 // EVERY


@pytest.mark.slow
@pytest.mark.parametrize("forgets", [False, True], ids=["the disk keeps all", "the disk may forget"])
def test_a_message_with_attachments(tmp_path: Path, *, forgets: bool) -> None:
    """Wherever the process ends, a message and what is embedded in it are delivered once, and no piece is left."""
    assert len(pull_everywhere(tmp_path, _a_message_with_attachments, forgets=forgets, inbound=BESIDE)) > 16 // EVERY


@pytest.mark.slow
@pytest.mark.parametrize(("names", "forgets"), [("usual", False), ("one", True)] if not is_full() else ALL)
def test_messages_with_attachments_together(tmp_path: Path, names: str, *, forgets: bool) -> None:
    """The same with messages that share their commit, also where all are to get one name, in a folder of its own."""
    inbound = BESIDE | (NAMED if names == "one" else {})

    def prepare(world: World) -> None:
        for number in range(3):
            world.receive(with_attachments(invoice("1", note=f"{number}"), *EMBEDDED[:number]))

    cuts = pull_everywhere(tmp_path, prepare, forgets=forgets, inbound=inbound)
    assert len(cuts) > 30 // EVERY


@pytest.mark.slow
@pytest.mark.parametrize("forgets", [False, True], ids=["the disk keeps all", "the disk may forget"])
def test_messages_together(tmp_path: Path, *, forgets: bool) -> None:
    """Wherever the process ends with messages that share their commit, each is delivered once, and then marked read."""
    assert len(pull_everywhere(tmp_path, _messages, forgets=forgets)) > 20 // EVERY


def test_a_message_is_on_the_disk_before_it_is_read(tmp_path: Path) -> None:
    """A message that a process renamed in before it was killed is brought to the disk before it is marked read."""
    whole = _steps_of_a_message(tmp_path / "whole", pull_at=0)
    brought = whole.index("mark_read")  # counted from 1, what comes just before: the folder is brought to the disk
    assert whole[brought - 2 : brought] == ["place", "fsync"]
    after = _steps_of_a_message(tmp_path / "cut", pull_at=brought)
    assert after[: after.index("mark_read")].count("fsync") == 1


def test_a_response_is_on_the_disk_before_the_journal_says_so(make_world: Callable[..., World], clock: Clock) -> None:
    """When the power is cut once a response has been tied, its document's sidecar says it afterwards, and once."""
    world = make_world(outbound=RULES, inbound={"poll": "5m"}, clock=clock.true)
    life = Life(world, clock)
    life.take(world, "invoice.xml")
    number = world.receive(response("invoice.xml"))
    disk = Disk(world.base / "lost")
    tap = Tap(lambda _: None, disk, thread=threading.get_ident())
    tap.put_in()
    try:
        life.go_on(600)
    finally:
        tap.take_out()
    disk.forget()
    life.drop()
    life = Life(world, clock)
    life.go_on(600)
    life.drop()
    assert [one["msg_no"] for one in world.sidecar("invoice.xml")["responses"]] == [number]


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


def _a_document(fate: str, content: bytes = invoice("1"), pdf: bytes | None = None) -> Callable[[World], None]:
    def prepare(world: World) -> None:
        world.drop("invoice.xml", content, pdf=pdf)
        world.front.next("POST /outbox", FATES[fate])

    return prepare


def _a_claimed_document(fate: str, content: bytes = invoice("1"), pdf: bytes | None = None) -> Callable[[World], None]:
    def prepare(world: World) -> None:
        (world.outbound / "HOLD").touch()
        _a_document(fate, content, pdf)(world)
        with world.service():
            world.until(lambda: world.places() == {"invoice.xml": "sending"})
        (world.outbound / "HOLD").unlink()

    return prepare


def _a_document_for_each_fate(world: World) -> None:
    for number in range(len(FATES)):
        world.drop(f"invoice-{number}.xml", invoice(f"{number}"))
    world.front.next("POST /outbox", *FATES.values())


def _a_message_with_attachments(world: World) -> None:
    world.receive(with_attachments(invoice("1"), *EMBEDDED))


def _a_message(world: World) -> None:
    world.receive(invoice("1"))
