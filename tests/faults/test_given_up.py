"""An account that is given up and taken again while filedrop runs: nothing of it is left, and nothing is lost or twice.

Whatever is on the wire then goes on to its answer, so that no document is in doubt.
"""

from __future__ import annotations

import math
import random
import sys
import threading
from typing import TYPE_CHECKING

import pytest
from support import matrix
from support.documents import BUYER, SELLER, invoice
from support.faults import Slow
from support.holdings import our_holdings
from support.unwritable import refuse_writes

from filedrop.daemon import copies
from filedrop.errors import JournalError
from filedrop.model.document import State

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.world import World

    from filedrop.daemon.daemon import Daemon

BATCH = 5  # documents dropped for each time that the account is taken

OFTEN = 100 if matrix.is_full() else 30  # a hundred take two minutes


def give_up(world: World, service: Daemon) -> None:
    """Give the only account up."""
    (account,) = service.accounts
    world.until(lambda: service.give_up(account), what="the account is given up")
    assert service.accounts == []
    assert account.context.window.room == account.context.window.size


def take(world: World, service: Daemon) -> None:
    """Take the account again."""
    service.serve(service.build(world.configuration(), "main"))


def unfinished(service: Daemon, world: World) -> int:
    """How many documents were on the wire, or are in doubt, as far as the journal knows."""
    counts = service.journal.documents.counts(service.journal.folders.at(world.outbound) or "")
    return counts.get(State.SENDING, 0) + counts.get(State.DOUBT, 0)


class Trouble:
    """What is drawn to go wrong while the account is given up, and ends a little later."""

    def __init__(self, world: World, service: Daemon, kind: str) -> None:
        self._world, self._service, self._kind = world, service, kind
        self._away = world.outbound.with_name("away")
        self._change(is_wrong=True)
        self._timer = threading.Timer(0.3, self._change, kwargs={"is_wrong": False})
        self._timer.start()

    def _change(self, *, is_wrong: bool) -> None:
        if self._kind == "journal":
            refuse_writes(self._service.journal, refuses=is_wrong)
        elif self._kind == "share":
            source, target = (self._world.outbound, self._away) if is_wrong else (self._away, self._world.outbound)
            source.rename(target)

    def wait(self) -> None:
        self._timer.join()


@pytest.mark.skipif(sys.platform == "win32", reason="a folder that is in use can't be renamed there")
@pytest.mark.parametrize("times", matrix.quick([4, pytest.param(OFTEN, marks=pytest.mark.timeout(900))]))
def test_account_taken_and_given_up_amid_work(world: World, times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each document is accepted once, none is ever in doubt, and the process has no more of anything than before.

    The account is given up at drawn moments, with drawn faults of the journal and of the share.
    """
    monkeypatch.setattr(copies, "AFTER_START", math.inf)  # a copy of the journal has a thread and descriptors
    draw = random.Random(times)  # noqa: S311 - no secret
    with world.service(watch=True) as service:
        world.drop("first.xml", invoice("first"))
        world.until(world.settled, what="journal and access point have opened all that they keep open")
        give_up(world, service)
        before = our_holdings()
        for nth in range(times):
            take(world, service)
            for number in range(BATCH):
                world.drop(f"{nth}-{number}.xml", invoice(f"{nth}-{number}"))
            world.receive(invoice(f"R{nth}", BUYER, SELLER))
            posted = len(world.front.asked("POST /outbox")) + draw.randrange(BATCH)
            world.until(lambda posted=posted: len(world.front.asked("POST /outbox")) >= posted)
            trouble = Trouble(world, service, draw.choice(["", "", "journal", "share"]))
            give_up(world, service)
            assert unfinished(service, world) == 0
            world.until(lambda: our_holdings() == before, what=f"it has what it had: {before}")
            trouble.wait()
        take(world, service)
        world.until(world.settled)
    assert set(world.accepted().values()) == {1}
    assert len(world.accepted()) == times * BATCH + 1
    for name in world.dropped:
        assert "doubted" not in {event["event"] for event in world.sidecar(name)["history"]}
    world.invariants()


def test_account_taken_while_the_journal_fails(world: World) -> None:
    """Of an account that can't be taken nothing has begun, so it is taken as a whole the next time."""
    with world.service(watch=True) as service:
        give_up(world, service)
        write = service.journal.engine.write
        write(lambda connection: connection.execute("ALTER TABLE documents RENAME TO missing"))
        with pytest.raises(JournalError):
            take(world, service)
        assert service.accounts == []
        write(lambda connection: connection.execute("ALTER TABLE missing RENAME TO documents"))
        take(world, service)
        world.drop("after.xml", invoice("after"))
        world.until(world.settled, what="the document is delivered")


def test_given_up_while_a_document_is_on_the_wire(make_world: Callable[..., World]) -> None:
    """The request goes on to its answer, which is recorded; what had not begun waits for the next time."""
    world = make_world(outbound={"workers": "1"})
    slow = Slow()
    world.front.next("POST /outbox", slow)
    for number in range(3):
        world.drop(f"{number}.xml", invoice(f"{number}"))
    with world.service() as service:
        world.until(slow.came.is_set)
        (account,) = service.accounts
        assert not service.give_up(account)
        world.until(lambda: service.journal.documents.counts(account.pipelines[0].folder.id).get(State.SENDING, 0) == 1)
        assert not service.give_up(account)
        slow.release.set()
        give_up(world, service)
        assert sum(world.accepted().values()) == 1
        assert unfinished(service, world) == 0
        take(world, service)
        world.until(world.settled)
    assert set(world.accepted().values()) == {1}
    world.invariants()


def test_given_up_while_a_folder_hangs(make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch) -> None:
    """The account isn't given up before the folder answers; then it is."""
    world = make_world(companies={"fjord": "{participants: []}"})
    hangs, answers = threading.Event(), threading.Event()
    with world.service() as service:
        (account,) = service.accounts
        world.until(account.ready)
        (fjord,) = (pipeline for pipeline in account.pipelines if pipeline.folder.company == "fjord")
        held_by = fjord.folder.take_up

        def hang(*arguments: object) -> None:
            hangs.set()
            answers.wait(60)
            held_by(*arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(fjord.folder, "take_up", hang)
        world.until(hangs.is_set)
        world.drop("invoice.xml", invoice("1"))
        world.until(world.settled, what="the other company's documents are sent")
        assert not service.give_up(account)
        assert not service.give_up(account)
        assert service.workers.is_in(fjord)
        answers.set()
        give_up(world, service)
        assert not service.workers.serves(fjord)
    world.invariants()
