"""Shares that are mounted late, go away, come back or hang; a journal on a network file system; no watches left."""

from __future__ import annotations

import shutil
import subprocess
import sys
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

import pytest
from support.commands import ask
from support.disks import foreign, share
from support.documents import SELLER, invoice
from support.faults import answered
from support.matrix import quick
from support.stepping import RULES, Clock, Life
from support.world import PROJECT, World, events, unavailable

from filedrop import config
from filedrop.files.patience import within
from filedrop.inbound.pages import OwedPages
from filedrop.process.folder_worker import FolderWorkers
from filedrop.status.folders import folders
from filedrop.status.status_file import StatusFile
from filedrop.storage.company_folders import OutboundFolder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime
    from pathlib import Path

    from support.disks import Share
    from support.faults import Exchange

    from filedrop.daemon.daemon import Daemon


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Share]:
    """The world's root as a share, which isn't mounted yet."""
    with share(tmp_path / "root", tmp_path / "server") as root:
        yield root


@pytest.fixture
def shared_world(tmp_path: Path, root: Share) -> Iterator[World]:
    """A world with its root on that share, mounted, which filedrop has served before."""
    root.mount()
    with World(tmp_path, outbound={"rescan": "100ms"}) as world:
        world.run_once()
        yield world


def everything_in(path: Path) -> list[str]:
    return sorted(one.relative_to(path).as_posix() for one in path.rglob("*"))


def report(service: Daemon) -> None:
    """Have the daemon in this process write its status.json, as it does every few seconds."""
    StatusFile(service.config, service.journal, service._log).close(service.report())


def troubles(service: Daemon) -> tuple[str, int]:
    """Why the outbound folder is unavailable, and how many inbound folders are."""
    account = service.report().accounts[0]
    return account.outbound[0].trouble, len(unavailable(service))


def test_unmounted_and_back(shared_world: World, root: Share) -> None:
    """While the share is away nothing is made in the empty mount point, and it is said; then everything goes on."""
    world = shared_world
    world.drop("one.xml", invoice("1"))
    with world.service() as service:
        world.until(world.settled)
        root.unmount()
        world.receive(invoice("2"))
        world.until(lambda: all(troubles(service)))
        report(service)
        said = ask(world, "status").says
        assert f"{world.root}: unavailable, with all 2 folders in it: check that it is mounted" in said
        assert said.count("unavailable") == 1
        assert f"{world.outbound}: it is missing: check that it is mounted" in ask(world, "check").says
        assert not everything_in(world.root)
        root.mount()
        world.drop("three.xml", invoice("3"))
        world.until(world.settled)
    world.invariants()


def test_unmounted_and_back_when_nothing_waits_any_more(shared_world: World, root: Share) -> None:
    """A folder that is back isn't told of any more, though the message that found it away was read elsewhere."""
    world = shared_world
    with world.service() as service:
        root.unmount()
        world.receive(invoice("1"))
        world.until(lambda: unavailable(service))
        (message,) = world.sandbox.store.inbox("acme")
        world.sandbox.store.mark_read(message)
        polled = service.accounts[0].poller.summary.last_poll
        world.until(lambda: service.accounts[0].poller.summary.last_poll != polled, what="a poll that finds nothing")
        assert unavailable(service)
        root.mount()
        world.until(lambda: not unavailable(service), what="everything is working again")


def test_unmounted_while_a_message_is_fetched(shared_world: World, root: Share) -> None:
    """A message whose share goes away while it is fetched leaves nothing in the empty mount point, and comes once."""
    world = shared_world
    number = world.receive(invoice("1"))

    def unmount(exchange: Exchange) -> None:
        root.unmount()
        answered(exchange)

    world.front.next(f"GET /messages/{number}/", unmount)
    with world.service() as service:
        world.until(lambda: unavailable(service))
        assert not everything_in(world.root)
        root.mount()
        world.until(world.settled)
    world.invariants()


class Fate(Clock):
    """A clock at whose next look something happens."""

    happens: Callable[[], object] | None = None

    def now(self) -> datetime:
        happens, self.happens = self.happens, None
        if happens:
            happens()
        return super().now()


@pytest.mark.parametrize("back", ["later", "meanwhile"])
def test_unmounted_just_before_a_message_is_fetched(tmp_path: Path, back: str) -> None:
    """What was written into an empty mount point isn't marked read: it comes when the share is back."""
    inbound, clock = tmp_path / "root" / "acme" / "inbound", Fate()
    with (
        share(inbound, tmp_path / "server") as mount,
        World(tmp_path, outbound=RULES, inbound={"poll": "5m"}, clock=clock.true) as world,
    ):
        mount.mount()
        life = Life(world, clock)
        life.go_on(10)
        number = world.receive(invoice("1"))

        def come_back(exchange: Exchange) -> None:
            mount.mount()
            answered(exchange)

        def when_it_is_asked_for() -> None:
            clock.happens = mount.unmount  # when the folder has been looked at, and before anything is written there

        world.front.next(f"GET /messages/{number}/", come_back if back == "meanwhile" else answered)
        clock.pass_on(300)
        life.turn()
        life.do_each("deliver")
        clock.happens = when_it_is_asked_for
        life.do(life.jobs.index("fetched"))
        assert clock.happens is None
        life.do_all()
        assert everything_in(inbound) == ([] if back == "later" else [".filedrop"])
        assert world.sandbox.store.inbox("acme")
        if back == "later":
            mount.mount()
        life.go_on(1000)
        life.drop()
        world.invariants()


def delete(folder: Path) -> None:
    """Delete a folder that filedrop is serving, as a person does: once more if something was just written there."""
    while folder.exists():
        with suppress(OSError):
            shutil.rmtree(folder)


def test_a_place_that_was_deleted(make_world: Callable[..., World]) -> None:
    """What lay in it was taken by whoever deleted it; the others go on, and it is made again."""
    world = make_world(outbound={"rescan": "100ms"})
    world.drop("one.xml", invoice("1"))
    with world.service():
        world.until(world.settled)
        for place in ("sending", "sent", "archive", "failed"):
            delete(world.outbound / place)
        del world.dropped["one.xml"]
        world.drop("two.xml", invoice("2"))
        world.until(world.settled)
    assert world.accepted() == {"?": 1, "two.xml": 1}


def test_started_before_the_mount(tmp_path: Path, root: Share) -> None:
    """What a first start before the mount has made is never taken for the share, before it is taken over or after."""
    with World(tmp_path, outbound={"rescan": "100ms"}, deliver_after=3600) as world:
        shutil.rmtree(world.root / "acme")
        world.run_once()
        made = everything_in(world.root)
        assert "acme/outbound/.filedrop" in made
        root.mount()
        world.outbound.mkdir(parents=True)
        world.inbound.mkdir()
        world.drop("one.xml", invoice("1"))
        world.run_once()
        assert (
            f"{world.root}: unavailable, with all 2 folders in it: check that it is mounted"
            in ask(world, "status").says
        )
        assert world.places() == {"one.xml": "."}
        assert ask(world, "check", "--take-over").status == 0
        world.settle(ends=("sent",))
        root.unmount()
        world.run_once()
        assert f"{world.outbound}: unavailable: its .filedrop is from before" in ask(world, "status").says
        assert everything_in(world.root) == made
        root.mount()
        world.settle(ends=("sent",))
        world.invariants()


def test_a_folder_that_was_deleted(make_world: Callable[..., World]) -> None:
    """A folder that was removed and made again is away until a person says that this is it."""
    world = make_world(outbound={"rescan": "100ms"})
    world.run_once()
    with world.service(watch=True) as service:
        delete(world.outbound)
        world.until(lambda: troubles(service)[0])
        world.outbound.mkdir()
        world.drop("one.xml", invoice("1"))
        for folder in folders(config.parse(world.config_text())):
            if folder.path == world.outbound:
                folder.take_over(service.journal)
        world.until(world.settled)
    world.invariants()


def test_a_journal_on_a_network_file_system(world: World) -> None:
    """With a journal on a share of another machine filedrop doesn't start, and says why, as does check."""
    with foreign(world.state, "fuse.sshfs", answers=True):
        for command, status in ((("run", "--once"), 2), (("check",), 1)):
            told = ask(world, *command)
            assert told.status == status
            assert f"{world.state} is on a network file system (fuse.sshfs)" in told.says
    assert not world.front.asked("POST")


@pytest.fixture
def beside(tmp_path: Path) -> Path:
    """The outbound folder of a second company, beside the root: what looks through the world isn't held up by it."""
    folder = tmp_path / "beside"
    folder.mkdir()
    return folder


@pytest.fixture
def two_companies(make_world: Callable[..., World], beside: Path) -> World:
    """A world with that second company, fjord, which filedrop has served before."""
    fjord = f"{{participants: ['0192:123456785'], outbound: '{beside}'}}"
    world = make_world(companies={"fjord": fjord}, outbound={"rescan": "100ms"})
    world.run_once()
    return world


def test_a_folder_hangs(two_companies: World, beside: Path) -> None:
    """While one company's share doesn't answer, another's documents go all the way; then its own do."""
    world = two_companies
    with world.service() as service:
        (pipeline,) = (one for one in service.accounts[0].pipelines if one.folder.path == beside)
        world.until(lambda: pipeline.was_scanned)
        with foreign(beside, "fuse", answers=False):
            world.until(lambda: pipeline in service.workers._busy)
            for number in range(3):
                world.drop(f"{number}.xml", invoice(str(number)))
            world.until(world.settled)
            assert pipeline in service.workers._busy
        world.put(beside / "its own.xml", invoice("fjord", sender="0192:123456785"))
        world.until(lambda: list((beside / "archive").rglob("*.xml")))
    assert len(world.sandbox.store.sent("acme")) == 4


def test_a_folder_hangs_when_it_is_asked(beside: Path) -> None:
    """A sender that asks a folder that hangs whether it is held goes on after a while."""
    folder = OutboundFolder(beside, company="fjord", below=beside.parent, patterns=["*"])
    with foreign(beside, "fuse", answers=False), pytest.raises(TimeoutError, match="has not answered"):
        within(0.5, folder.held_by)


@pytest.mark.slow
def test_a_folder_hangs_at_the_start(two_companies: World, beside: Path) -> None:
    """What is dropped for another company is posted as soon as the one that hangs counts as unavailable, in 30 s."""
    world = two_companies
    with ExitStack() as hanging:
        hanging.enter_context(foreign(beside, "fuse", answers=False))
        with world.service():
            world.drop("one.xml", invoice("1"))
            world.until(world.settled)
            hanging.close()  # so that the folder's thread ends while there is a log
    world.invariants()


WITHOUT = 'echo 0 > "/proc/sys/user/$1"; shift; exec "$@"'  # in a user namespace of its own, whose limits these are


@pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux")
@pytest.mark.parametrize("limit", quick(["max_inotify_instances", "max_inotify_watches"]))
def test_no_watches_left(world: World, limit: str) -> None:
    """Where the kernel has no more inotify watches to give, files are found by scanning, and it is said, once."""
    file = world.base / "config.yaml"
    file.write_text(world.config_text())
    command = [sys.executable, "-m", "filedrop", "--config", str(file), "run"]
    log = (world.base / "daemon.log").open("ab")
    daemon = subprocess.Popen(
        ["unshare", "--map-root-user", "sh", "-c", WITHOUT, "sh", limit, *command], stdout=log, stderr=log, cwd=PROJECT
    )
    try:
        world.drop("one.xml", invoice("1"))
        if not started(world, daemon):
            pytest.skip(f"no user namespaces here: {(world.base / 'daemon.log').read_text()}")
        world.until(world.settled)
        world.until(lambda: "found by scanning" in ask(world, "status").says)
    finally:
        daemon.terminate()
        daemon.wait()
        log.close()
    said = events(world, "folder.scanned")
    assert len(said) == 1
    assert "fs.inotify" in said[0]["why"]
    world.invariants()


def started(world: World, daemon: subprocess.Popen[bytes]) -> bool:
    world.until(lambda: daemon.poll() is not None or events(world, "service.started"))
    return daemon.poll() is None


@pytest.mark.slow
def test_a_folder_hangs_whose_page_is_owed(
    make_world: Callable[..., World], beside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`run --once` ends though a page is owed to a folder that doesn't answer; the next run makes it."""
    world = make_world(
        companies={"acme": f"{{participants: ['{SELLER}'], inbound: '{beside}'}}"}, inbound={"readable": "html"}
    )
    world.receive(invoice("1"))
    with monkeypatch.context() as patch:
        patch.setattr(OwedPages, "turn", lambda _: 60.0)
        with world.service():
            world.until(lambda: not world.sandbox.store.inbox("acme"))
    monkeypatch.setattr(FolderWorkers, "hung_after", 0.5)
    with foreign(beside, "fuse", answers=False):
        within(60.0, world.run_once)
    assert not list(beside.glob("*.html"))
    world.run_once()
    assert len(list(beside.glob("*.html"))) == 1
