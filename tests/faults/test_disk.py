"""The disk is full, out of names, or read-only, under the journal, the share or both; then it isn't any more.

Nothing is posted while the journal can't be written; what else could be done meanwhile is done; afterwards everything
settles, nothing is lost or twice, and nothing is left over.
"""

from __future__ import annotations

import errno
import os
import re
import threading
from typing import TYPE_CHECKING, Any

import pytest
from support.commands import ask
from support.disks import Disk, mounted
from support.documents import invoice
from support.faults import answered
from support.plug import tapped
from support.prepared import BY_RULE, PREPARE, posted, stated
from support.stepping import RULES, Clock, Life
from support.systems import hang_up
from support.world import World

from filedrop.status import status_file
from filedrop.status.status_file import StatusFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from support.faults import Exchange

    from filedrop.daemon.daemon import Daemon

Disks = dict[str, Disk]
LATE = 7  # from this request on something fails that is tried again after half a minute: filedrop is started anew
QUICK = {(1, "state"), (1, "share"), (3, "state+share"), (4, "state"), (6, "share"), (8, "state")}
MOMENTS = [
    pytest.param(
        moment, full.split("+"), id=f"{moment}-{full}", marks=[] if (moment, full) in QUICK else pytest.mark.slow
    )
    for moment in range(1, 10)
    for full in ("state", "share", "state+share")
]
EITHER_SHORTAGE = pytest.mark.parametrize("use_up", [Disk.fill, Disk.use_up_names], ids=["no room", "no names"])


@pytest.fixture
def disks(tmp_path: Path) -> Iterator[Disks]:
    """The journal and the share, on a disk each."""
    with mounted(tmp_path / "state") as state, mounted(tmp_path / "root") as share:
        yield {"state": state, "share": share}


@pytest.fixture
def small_world(tmp_path: Path, disks: Disks) -> Iterator[World]:
    """A world on these disks, which filedrop has served before."""
    assert disks
    with World(tmp_path, outbound={"rescan": "100ms", "track": "20ms"}, inbound={"min_free": "0KB"}) as world:
        world.run_once()
        yield world


def sweeps(world: World, service: Daemon, number: int = 3) -> None:
    """Wait until the folder has been looked through so often more, or that was tried."""
    pipeline = service.accounts[0].pipelines[0]

    def tried() -> float:
        return max(pipeline.reconciliation.next, pipeline._not_before)

    for _ in range(number):
        before = tried()
        world.until(lambda before=before: tried() > before)  # type: ignore[misc] # this turn's


@pytest.mark.parametrize(("moment", "full"), MOMENTS)
@EITHER_SHORTAGE
def test_at_any_moment(
    small_world: World, disks: Disks, moment: int, full: list[str], use_up: Callable[[Disk], None]
) -> None:
    """Whatever disk is full from the n-th request on, and then has room again."""
    world, used_up = small_world, threading.Event()
    world.drop("one.xml", invoice("1"))
    world.receive(invoice("2"))

    def use_them_up(exchange: Exchange) -> None:
        for name in full:
            use_up(disks[name])
        used_up.set()
        answered(exchange)

    world.front.next("", *[answered] * (moment - 1), use_them_up)
    with world.service() as service:
        world.until(used_up.is_set)
        sweeps(world, service)
        # It may just have been about to be posted: then the journal had it written down before.
        written_down = service.journal.engine.value("SELECT count(*) FROM documents WHERE state <> 'waiting'")
        assert len(world.front.asked("POST /outbox")) <= written_down
        if moment < LATE:
            make_room(disks)
            world.until(world.settled)
    make_room(disks)
    world.settle()
    world.invariants()


def test_full_while_a_request_takes_long(make_world: Callable[..., World], clock: Clock) -> None:
    """What the disk refuses is logged once, however often the folder is looked at until the answer comes."""
    world = make_world(outbound=RULES, inbound={"poll": "5m"}, clock=clock.true)
    life = Life(world, clock)
    life.go_on(10)
    world.drop("one.xml", invoice("1"))
    clock.pass_on(60)

    def full(what: str) -> None:
        if what == "create":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with tapped(full):
        for _ in range(4):
            life.touch()
            life.turn()
            life.do_all(but="send")
            clock.pass_on(60)
        assert "send" in " ".join(life.jobs)
        assert len(told(world, "folder.refuses")) == 1
        life.do_all()
        assert world.accepted()
        assert len(told(world, "folder.refuses")) == 1
    life.go_on(100)
    life.drop()
    world.invariants()


def make_room(disks: Disks) -> None:
    for disk in disks.values():
        disk.make_room()


def test_a_share_that_is_full_before_the_start(small_world: World, disks: Disks) -> None:
    """What was dropped on a share that is full is posted all the same, and put away when there is room."""
    world = small_world
    world.drop("one.xml", invoice("1"))
    world.receive(invoice("2"))
    disks["share"].fill()
    with world.service():
        world.until(world.accepted)
        world.until(lambda: told(world, "folder.refuses") and told(world, "folder.unavailable"))
        assert f"acme: {world.outbound}: its disk is full" in ask(world, "status").says
        assert f"{world.inbound}: nothing can be written there: its disk is full" in ask(world, "check").says
        assert world.sandbox.store.inbox("acme")
        make_room(disks)
        world.until(world.settled)
    assert len(told(world, "folder.unavailable")) == 1
    assert len(told(world, "folder.refuses")) == 1, told(world, "folder.refuses")
    world.invariants()


def test_copy_on_a_full_share(tmp_path: Path, disks: Disks) -> None:
    """While a share has no room for what is to be posted in a document's place, nothing is posted; then all is."""
    keys: dict[str, Any] = {"outbound": {"rescan": "100ms", "track": "20ms"} | PREPARE, "inbound": {"min_free": "0KB"}}
    with World(tmp_path, more=BY_RULE, posted=posted, **keys) as world:
        world.run_once()
        world.drop("one.xml", stated("1"))
        disks["share"].fill()
        with world.service():
            world.until(lambda: told(world, "document.not_prepared"))
            (why,) = told(world, "document.not_prepared")
            assert "one.xml.posted can't be written: No space left on device" in why
            assert f"{world.outbound}: its disk is full: make room there" in ask(world, "status").says
            assert not world.front.asked("POST")
            make_room(disks)
            world.until(world.settled)
        world.invariants()


@pytest.mark.slow
@hang_up
def test_a_reload_on_a_full_share(small_world: World, disks: Disks) -> None:
    """A reload on a full root is reported like any other; on a full state folder, that it can't be reported is."""
    world = small_world
    with world.daemon() as daemon:
        world.until(lambda: (told := status_file.read(world.root)) and told["running"])
        disks["share"].fill()
        world.more = "log: {level: debug}"
        assert world.filedrop("reload").returncode == 0
        disks["state"].fill()
        world.more = ""
        done = world.filedrop("reload")
        assert done.returncode == 1
        assert f"can't report the result in {world.state}: its disk is full: make room there" in done.stderr
        make_room(disks)
        world.stop(daemon)


def test_what_a_full_share_holds(small_world: World, disks: Disks) -> None:
    """What waits on a full share waits for that, and what failed and can't be put away is not on its way."""
    world = small_world
    world.drop("nobody.xml", invoice("1", receiver=None))
    world.drop("half.xml", invoice("2")[:500])
    disks["share"].use_up_names()
    with world.service():
        world.until(lambda: told(world, "folder.refuses"))
        world.until(lambda: "1 sending" in ask(world, "status").says)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("filedrop.cli.status.is_running", lambda _: True)
            says = ask(world, "status").says
        assert f"acme: 1 sending: waiting to be moved ({world.outbound}: its disk has no names left" in says
        assert f"acme: 1 waiting: {world.outbound}: its disk has no names left" in says
        make_room(disks)
        world.until(lambda: world.places().get("nobody.xml") == "failed")


def test_a_share_that_is_almost_full(small_world: World, disks: Disks) -> None:
    """Where there is some room, but too little, it is said how much, not that there is none."""
    with (small_world.root / "last").open("wb") as last:
        last.write(bytes(40_000))
        last.flush()
        disks["share"].fill()
    (small_world.root / "last").unlink()
    left = "its disk has only 40.9 KB left: make room there"  # in pages of 4096 bytes
    assert f"acme: {small_world.outbound}: {left}" in ask(small_world, "status").says
    assert f"{small_world.inbound}: nothing can be written there: {left}" in ask(small_world, "check").says


def test_a_file_system_that_does_not_tell(tmp_path: Path) -> None:
    """Where a file system doesn't say how much room it has, it isn't full: messages are taken, and check says so."""
    with mounted(tmp_path / "root", size="0", inodes=0), World(tmp_path, inbound={"min_free": "200MB"}) as world:
        world.receive(invoice())
        world.run_once()
        assert len(world.delivered()) == 1
        assert "full" not in ask(world, "status").says
        assert f"{world.inbound}: its file system doesn't show how much is free" in ask(world, "check").says
        world.invariants()


def test_a_share_that_becomes_read_only(small_world: World, disks: Disks) -> None:
    """Nothing is claimed, posted or fetched where nothing can be written; it is said, once; afterwards all of it is."""
    world = small_world
    with world.service() as service:
        sweeps(world, service, 1)
    world.drop("one.xml", invoice("1"))  # beside a service, it might be posted before the share has become read-only
    disks["share"].turn(read_only=True)
    world.receive(invoice("2"))
    with world.service() as service:
        world.until(lambda: told(world, "folder.refuses") and told(world, "folder.unavailable"))
        sweeps(world, service)
        assert not world.front.asked("POST /outbox")
        assert world.sandbox.store.inbox("acme")
        assert f"acme: {world.outbound}: its disk is read-only" in ask(world, "status").says
        assert f"{world.outbound}: nothing can be written there: its disk is read-only" in ask(world, "check").says
        disks["share"].turn(read_only=False)
        world.until(world.settled)
    assert len(told(world, "folder.unavailable")) == 1
    assert len(told(world, "folder.refuses")) == 1, told(world, "folder.refuses")
    world.invariants()


@pytest.mark.parametrize("use_up", [Disk.fill, Disk.use_up_names, Disk.turn], ids=["no room", "no names", "read-only"])
def test_a_journal_that_cannot_be_opened(small_world: World, disks: Disks, use_up: Callable[[Disk], None]) -> None:
    """It is said, and filedrop doesn't start; status and check say it, too; when the disk has room, it goes on."""
    world = small_world
    world.drop("one.xml", invoice("1"))
    use_up(disks["state"])
    for command in (("run", "--once"), ("status",), ("check",)):
        told = ask(world, *command)
        assert re.search(f"{world.state}.* can't be (used|written)", told.says)
        assert told.status == (0 if command == ("status",) and use_up is not Disk.turn else 1)
    assert not world.front.asked("POST /outbox")
    if use_up is Disk.turn:
        disks["state"].turn(read_only=False)
    make_room(disks)
    world.settle()
    world.invariants()


def test_status_says_that_nothing_can_be_recorded(small_world: World, disks: Disks) -> None:
    """While the journal's disk is full, status says that nothing is posted, and why; and run --once ends with 1."""
    world = small_world
    world.drop("first.xml", invoice("first"))
    with world.service() as service:
        sweeps(world, service, 1)
        world.until(world.settled)
        disks["state"].fill()

        def is_noticed() -> str:
            """Each document needs room; the journal's log may still have some of its own after a checkpoint."""
            if world.settled():
                world.drop(f"{len(world.dropped)}.xml", invoice(str(len(world.dropped))))
            return service.journal.trouble

        world.until(is_noticed)
        StatusFile(service.config, service.journal, service._log).close(service.report())
        why = f"the journal can't be written in {world.state}: its disk is full: make room there; nothing is posted"
        assert why in ask(world, "status").says
        make_room(disks)
        world.until(world.settled)
    world.invariants()


def told(world: World, event: str) -> list[str]:
    return [line["why"] for line in world.log() if line["event"] == event]
