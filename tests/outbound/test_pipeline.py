"""When a step in an outbound folder is due."""

from __future__ import annotations

import json
import os
import sys
import tracemalloc
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from support.documents import invoice
from support.matrix import quick
from support.plug import tapped
from support.rights import opens_unreadable
from support.stepping import RULES, Hands, Life, report_closed, report_written
from support.systems import by_os_open, writers_unknown
from support.unwritable import refuse_writes

from filedrop.errors import Unavailable
from filedrop.files import Directory
from filedrop.model.document import Need
from filedrop.outbound.mailbox import Returned
from filedrop.outbound.scanner import FEW, LISTED
from filedrop.storage.branching import ACCEPT
from filedrop.storage.marker import read_marker

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.stepping import Clock
    from support.world import World

    from filedrop.process.pool import Task

BURST = 100_000  # files
VALIDATION = f"validation: {{command: [{json.dumps(sys.executable)}]}}\n"


def step_while_due(life: Life) -> None:
    """Have the worker in the folder do what is due; no sender does anything."""
    for _ in range(50):
        if "step" in life.jobs:
            life.do(life.jobs.index("step"))
    assert "step" not in life.jobs


@pytest.mark.parametrize("files", quick([50, FEW + 50]))
def test_while_all_senders_are_busy(make_world: Callable[..., World], clock: Clock, files: int) -> None:
    """With 32 documents on their way, the worker rests, whatever settles or happens in its folder."""
    world = make_world(outbound=RULES, inbound={"poll": "5m"}, clock=clock.true)
    life = Life(world, clock)
    life.go_on(10)
    for nth in range(files):
        world.drop(f"{nth:03}.xml", invoice(str(nth)))
    life.touch()
    for _ in range(10):  # one after the other, they have settled
        wait = life.turn()
        step_while_due(life)
        clock.pass_on(wait)
    assert life.jobs.count("send") == 32  # docs/promises.md: so many are in doubt after a kill
    life.touch()
    step_while_due(life)
    clock.pass_on(200)  # the folder is compared anew
    step_while_due(life)
    life.go_on(30)
    life.stop()
    assert len(world.accepted()) == files


def test_error_before_the_hand_over(
    make_world: Callable[..., World], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a batch that is recorded, an error leaves none in doubt that no sender has: they are posted again at once."""
    submit, failures = Hands.submit, [MemoryError()]

    def submit_later(hands: Hands, task: Task) -> None:
        if hands._name.startswith("send") and failures:
            raise failures.pop()
        submit(hands, task)

    monkeypatch.setattr(Hands, "submit", submit_later)
    world = make_world(outbound=RULES, inbound={"poll": "5m"}, clock=clock.true)
    life = Life(world, clock)
    life.go_on(10)
    for nth in range(5):
        world.drop(f"{nth}.xml", invoice(str(nth)))
    life.go_on(700)
    assert not failures
    assert sorted(world.accepted().values()) == [1] * 4
    life.stop()
    assert not [line for line in world.log() if line["event"] == "document.doubted"]


def test_more_files_than_a_listing_has(make_world: Callable[..., World], clock: Clock) -> None:
    """However many files there are, all are looked at one listing after the other, and none waits for a rescan."""
    world = make_world(outbound=RULES | {"settle": "0s"}, inbound={"poll": "5m"}, clock=clock.true)
    life = Life(world, clock)
    life.go_on(10)
    for nth in range(LISTED + 1):
        (world.outbound / f"{nth}.xml").write_bytes(b"<Invoice>")
    life.touch()
    life.do_each("step")
    assert len(life.pipeline.scanner.seen) == LISTED + 1
    life.drop()


def test_a_delivery_that_the_journal_tells_first(make_world: Callable[..., World], clock: Clock) -> None:
    """Where a scan finds a delivered document before the follower's letter comes, the log tells of one move."""
    world = make_world(outbound=RULES, inbound={"poll": "5m"}, clock=clock.true)
    life = Life(world, clock)
    life.take(world, "a.xml")
    (document,) = life.journal.documents.called("a.xml", "a.xml")
    now = life.pipeline.desk.shared.now()
    delivered = life.journal.documents.record(document.delivered_at(now, now.isoformat(), None))
    life.touch()
    step_while_due(life)
    assert world.places()["a.xml"].startswith("archive/")
    life.pipeline.put(Returned(delivered))
    life.go_on(60)
    life.stop()
    moves = [line["state"] for line in world.log() if line["event"] == "document.put_away"]
    assert moves == ["sent", "delivered"]
    assert world.places()["a.xml"].startswith("archive/")


def test_folder_of_another_database_amid_a_request(
    make_world: Callable[..., World], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A document stays in `sending/`, where the other filedrop looks for it; accepted, this one files it."""
    world = make_world(outbound=RULES, inbound={"poll": "5m"}, clock=clock.true)
    life = Life(world, clock)
    monkeypatch.setattr(life.journal.engine, "is_shared", True)
    monkeypatch.setattr("filedrop.storage.branching.OTHERS_STOP", 0.0)
    life.go_on(10)
    world.drop("a.xml", invoice("1"))
    life.touch()
    while "send" not in life.jobs:
        wait = life.turn()
        step_while_due(life)
        clock.pass_on(wait)
    marker = read_marker(world.outbound)
    assert marker
    replace(marker, branch="0123456789abcdef").replace(Directory.open(world.outbound))
    world.drop("b.xml", invoice("2"))
    clock.pass_on(2)  # what was looked at in the last second counts
    life.go_on(60)
    assert len(world.accepted()) == 1
    assert world.places() == {"a.xml": "sending", "b.xml": "."}
    assert ACCEPT in life.pipeline.health.trouble
    life.journal.folders.accept(["0123456789abcdef"])
    life.go_on(3600, until=lambda: len(world.accepted()) == 2 and not life.pipeline.health.trouble)
    life.go_on(600)
    life.stop()
    world.invariants()


def test_a_batch_that_takes_long_to_claim(make_world: Callable[..., World], clock: Clock) -> None:
    """A folder whose large files take long to be read answers with each, and isn't taken for one that hangs."""
    world = make_world(outbound=RULES, inbound={"poll": "5m"}, clock=clock.true)
    life = Life(world, clock)
    life.go_on(10)
    workers, pipeline, hangs = life.service.workers, life.pipeline, list[bool]()
    answers = pipeline._answers

    def after_twenty_seconds() -> None:
        workers._busy[pipeline] -= 20.0
        answers()
        hangs.append(workers.is_hung(pipeline))

    pipeline._answers = after_twenty_seconds  # type: ignore[assignment] # as reading a file would
    for nth in range(3):
        world.drop(f"{nth}.xml", invoice(str(nth)))
    life.touch()
    life.go_on(60)
    life.stop()
    assert len(hangs) >= 3
    assert not any(hangs)


@by_os_open
def test_what_waits_and_cannot_be_read(
    make_world: Callable[..., World], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A waiting file that opens and can't be read, as on a bad sector, is named, and tried again after a pause."""
    world = make_world(outbound=RULES, inbound={"poll": "5m"}, clock=clock.true)
    life = Life(world, clock)
    life.go_on(10)
    (world.outbound / "HOLD").touch()
    life.take(world, "a.xml")
    with monkeypatch.context() as patched:
        patched.setattr(os, "open", opens_unreadable("a.xml"))
        (world.outbound / "HOLD").unlink()
        life.go_on(600)
    told = [line["file"] for line in world.log() if line["event"] == "document.unreadable"]
    assert told == ["a.xml"]
    assert not [line for line in world.log() if line["event"] == "folder.refuses"]  # nothing was moved or written
    assert "can't be read: Bad file" in (world.outbound / "sending" / "a.xml.why.txt").read_text()
    (document,) = life.journal.documents.newest(clock.true(), 1)["acme", "waiting"].documents  # which `status` names
    assert "can't be read: Bad file" in document.history[-1].facts["why"]
    life.go_on(900)
    assert world.accepted()["a.xml"] == 1
    life.stop()


@by_os_open
def test_a_start_tries_what_waits_for_its_own_reason(
    make_world: Callable[..., World], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a start, what waits for something of its own is tried at once, and this process's log names it."""
    world = make_world(outbound=RULES, inbound={"poll": "5m"}, clock=clock.true)
    life = Life(world, clock)
    life.go_on(10)
    (world.outbound / "HOLD").touch()
    life.take(world, "a.xml")
    with monkeypatch.context() as patched:
        patched.setattr(os, "open", opens_unreadable("a.xml"))
        (world.outbound / "HOLD").unlink()
        life.go_on(60)
    (document,) = life.journal.documents.lying_in(life.pipeline.folder.id, "sending")
    assert document.needs is Need.FILE
    life.stop()
    life = Life(world, clock)
    life.go_on(60)  # it would be due after a quarter of an hour
    assert world.accepted()["a.xml"] == 1
    assert [line["file"] for line in world.log() if line["event"] == "document.unreadable"] == ["a.xml"] * 2
    document = life.journal.documents.by_id(document.id)
    assert (document.needs, document.needs_why, document.needs_since) == (None, "", None)
    life.stop()


@pytest.mark.parametrize("rule", ["refuse", "warn"])
def test_a_validator_fails_unforeseen(make_world: Callable[..., World], clock: Clock, rule: str) -> None:
    """A document that can't be validated for no foreseen reason, as no thread, is tried again after a pause."""
    world = make_world(
        outbound=RULES | {"validate": rule},
        inbound={"poll": "5m"},
        clock=clock.true,
        more=VALIDATION,
    )
    life = Life(world, clock)
    life.go_on(10)
    tried = 0

    def judge(*_: object) -> None:
        nonlocal tried
        tried += 1
        if tried > 20:
            pytest.fail("it is tried again and again, without a pause")
        raise RuntimeError("can't start new thread")

    life.service.validating._validator.judge = judge
    life.take(world, "a.xml")
    life.go_on(600)
    assert tried > 1
    assert world.places()["a.xml"] == "sending"
    reported = life.service.report().troubles.get("validation", "")
    assert reported.endswith("wait: acme: a.xml: it was interrupted; the log shows why")
    life.stop()


def test_a_stop_while_a_document_waits_for_its_validation(make_world: Callable[..., World], clock: Clock) -> None:
    """What wasn't validated because filedrop was stopped is no trouble: the next one validates it."""
    world = make_world(
        outbound=RULES | {"validate": "refuse"}, inbound={"poll": "5m"}, clock=clock.true, more=VALIDATION
    )
    life = Life(world, clock)
    life.go_on(10)
    life.validator_hangs = True
    life.take(world, "a.xml")
    life.stop()
    assert not life.service.report().troubles


def test_the_access_point_is_back_amid_a_claim(make_world: Callable[..., World], clock: Clock) -> None:
    """What is just being claimed when the access point is back is posted then: it waited for a rescan."""
    world = make_world(outbound=RULES | {"settle": "0s", "rescan": "1h"}, inbound={"poll": "5m"}, clock=clock.true)
    life = Life(world, clock)
    life.go_on(10)
    account = life.service.accounts[0]
    account.breaker.record_failure(Unavailable("away"))
    account.tick()
    clock.pass_on(10)
    world.drop("a.xml", invoice("a"))
    life.touch()

    def amid(step: str) -> None:
        if step == "commit":  # of its row
            account.breaker.allows()
            account.tick()

    with tapped(amid):
        life.do(life.jobs.index("step"))
    life.go_on(60)
    assert world.accepted()["a.xml"] == 1
    life.stop()


def test_a_file_comes_amid_a_step(
    make_world: Callable[..., World], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that is moved in at any moment of a step is taken next: it might wait for a rescan."""
    steady, looks, comes_at, name = clock.steady, 0, 0, ""

    def looked_at() -> float:
        nonlocal looks
        looks += 1
        if looks == comes_at:
            world.drop(name, invoice(name))
            life.report_closed(name)
        return steady()

    monkeypatch.setattr(clock, "steady", looked_at)
    world = make_world(outbound=RULES | {"rescan": "1h"}, inbound={"poll": "5m"}, clock=clock.true)
    life = Life(world, clock)
    life.go_on(10)
    for nth in range(1, 100):
        looks, comes_at, name = 0, nth, f"{nth}.xml"
        life.touch()
        life.pipeline.step()
        if name not in world.dropped:
            break
        life.do_all()
        assert world.places()[name] != ".", f"{name} waits for a rescan"
    life.stop()
    assert world.dropped


@writers_unknown
@pytest.mark.parametrize("others", quick([0, 2]))
def test_a_file_written_amid_a_step(
    make_world: Callable[..., World], clock: Clock, monkeypatch: pytest.MonkeyPatch, others: int
) -> None:
    """A file whose writer goes on at any moment of a step before its claim isn't claimed: it has to settle again.

    Also while others are read that are claimed in the same step.
    """
    clocks = {"steady": clock.steady, "now": clock.now}
    looks, comes_at, was_claimed = 0, 0, False

    def looked_at(which: str) -> Any:
        nonlocal looks, was_claimed
        looks += 1
        if looks == comes_at:
            was_claimed = world.places()[name] != "."
            report_written(life.pipeline, name)
        return clocks[which]()

    for which in clocks:
        monkeypatch.setattr(clock, which, partial(looked_at, which))
    world = make_world(outbound=RULES | {"rescan": "1h"}, inbound={"poll": "5m"}, clock=clock.true)
    life = Life(world, clock)
    life.go_on(10)
    moments = 0
    for nth in range(1, 100):
        name = f"{nth}.xml"
        world.drop(name, invoice(name))
        life.report_closed(name)
        for other in range(others):
            world.drop(f"{nth}-{other}.xml", invoice(f"{nth}-{other}"))
            life.report_closed(f"{nth}-{other}.xml")
        looks, comes_at, was_claimed = 0, nth, False
        life.pipeline.step()
        if was_claimed or looks < nth:
            break
        moments += 1
        assert world.places()[name] == ".", f"claimed although it was written at moment {nth} of the step"
        life.go_on(10)
    life.go_on(60)
    life.stop()
    assert moments > 5
    assert world.accepted() == dict.fromkeys(world.dropped, 1)


@pytest.mark.slow
def test_a_burst_amid_the_first_comparison(make_world: Callable[..., World], clock: Clock) -> None:
    """However many files are dropped while nobody can read of them, their events take little memory, and all go on."""
    world = make_world(outbound=RULES | {"rescan": "1h"}, inbound={"poll": "5m"}, clock=clock.true)
    life = Life(world, clock)
    grown = 0

    def drop_many(_step: str) -> None:
        nonlocal grown
        if grown or not life.pipeline.reconciliation.is_under_way:
            return
        tracemalloc.start()
        for number in range(BURST):
            for report in (report_written, report_closed):
                report(life.pipeline, f"{number:06}-of-very-many-with-a-long-name.xml")
        grown, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        world.drop("last.xml", invoice("last"))
        life.report_closed("last.xml")

    with tapped(drop_many):
        life.go_on(60)
    life.stop()
    assert 0 < grown < 50 * BURST  # bytes: each name takes more
    assert world.accepted()["last.xml"] == 1


def test_a_step_meets_a_journal_that_fails(make_world: Callable[..., World], clock: Clock) -> None:
    """A folder goes on as soon as the journal can be written again: it waited for a rescan, whoever wrote meanwhile."""
    world = make_world(outbound=RULES | {"settle": "0s", "rescan": "1h"}, inbound={"poll": "1m"}, clock=clock.true)
    life = Life(world, clock)
    life.go_on(10)
    world.drop("a.xml", invoice("a"))
    life.touch()
    refuse_writes(life.journal)
    life.do_each("step")
    life.turn()
    assert life.journal.trouble
    refuse_writes(life.journal, refuses=False)
    life.go_on(100)  # the inbox is polled, which tries the journal
    assert not life.journal.trouble
    assert world.accepted()["a.xml"] == 1
    life.stop()
