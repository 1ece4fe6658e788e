"""A stop in an unlucky moment leaves nothing half-said."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from typing import TYPE_CHECKING

from support.documents import invoice
from support.faults import Slow

from filedrop.daemon import daemon
from filedrop.journal import JOURNAL
from filedrop.model.document import State

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest
    from support.world import World


def test_a_stop_while_a_document_is_about_to_be_posted(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes too late to be posted waits, and is posted after the next start; it isn't in doubt."""
    monkeypatch.setattr(daemon, "LAST_WORDS", 0.5)  # no request is on the wire
    with world.service() as service, closing(sqlite3.connect(world.state / JOURNAL, isolation_level=None)) as another:
        (pipeline,) = service.accounts[0].pipelines
        world.until(service.is_done)
        another.execute("BEGIN IMMEDIATE")  # as a command does for a moment, or a slow disk
        world.drop("one.xml", invoice("1"))
        world.until(lambda: list((world.outbound / "sending").glob("*.xml")), what="its claim")
        world.until(service.journal.engine._writer_lock.locked, what="its row")
        stop = threading.Thread(target=service.close)
        stop.start()
        world.until(lambda: pipeline in service.workers._busy and not service.recorder.is_alive(), what="the stop")
        another.execute("ROLLBACK")
        stop.join()
        assert [len(service.journal.documents.in_state(state)) for state in (State.SENDING, State.WAITING)] == [0, 1]
    world.settle()
    assert not [one for one in world.log() if one["event"] == "document.doubted"]
    world.invariants()


def test_a_stop_with_very_many_waiting(make_world: Callable[..., World]) -> None:
    """A stop ends what is on its way, and claims nothing more: the rest stays in outbound/ for the next start."""
    world = make_world(outbound={"workers": "1"}, read_timeout="60s")
    slow = Slow()
    world.front.next("POST /outbox", slow)
    with world.service() as service:
        world.until(lambda: service.accounts[0].breaker.ready)  # before that, all are claimed
        for number in range(120):
            world.drop(f"{number}.xml", invoice(f"{number}"))
        world.until(slow.came.is_set)
        service.begin_stop()
        slow.release.set()
    assert len(list(world.outbound.glob("*.xml"))) > 50  # claimed: 32 that are sent, 32 by a step that had begun
    world.settle()
    world.invariants()
