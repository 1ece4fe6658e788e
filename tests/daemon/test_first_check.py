"""A start checks the journal for damage only after an end that wasn't proper, and posts nothing before that is done."""

from __future__ import annotations

import threading
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.documents import invoice
from support.drops import drop

from filedrop.daemon.daemon import Daemon
from filedrop.journal import Journal
from filedrop.process.clock import REAL
from filedrop.process.lock import locked_state
from filedrop.process.pool import Pool

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.world import World


def kill(world: World) -> None:
    """Leave the journal as a daemon leaves it that is killed after a commit."""
    with locked_state(world.state) as journal:
        journal.documents.record_all([drop(number, folder="elsewhere") for number in range(300)])
        left = world.copy_of_journal()
    world.put_back(left)


def restore(world: World) -> None:
    """Put an older file in the journal's place."""
    path = world.state / "journal.sqlite"
    path.write_bytes(path.read_bytes())


def write(world: World) -> None:
    """Have a command write to the journal, which is nobody's daemon."""
    with closing(Journal.at(world.state / "journal.sqlite")) as journal:
        journal.documents.record(drop(1, folder="elsewhere"))


@pytest.mark.parametrize(
    ("happened", "is_held"),
    [(lambda _world: None, False), (kill, True), (restore, True), (write, True)],
    ids=["closed", "killed", "restored", "written"],
)
def test_which_journals_are_checked(world: World, happened: Callable[[World], None], is_held: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """One that its last daemon has closed needs no check; any other one is held until it is checked."""
    world.run_once()
    happened(world)
    with locked_state(world.state, is_checked=False) as journal:
        assert journal.engine.is_held is is_held
    with locked_state(world.state, is_checked=False) as journal:  # one that ends before the check leaves it to the next
        assert journal.engine.is_held is is_held
        journal.check_integrity()
        assert not journal.trouble
    with locked_state(world.state, is_checked=False) as journal:
        assert not journal.engine.is_held


def test_damage_is_never_taken_for_a_proper_end(world: World) -> None:
    """A journal in which damage was found is checked by each daemon from then on."""
    world.run_once()
    path = world.state / "journal.sqlite"
    for _ in range(2):
        with locked_state(world.state, is_checked=False) as journal:
            overwrite(path)
            with pytest.raises(Exception, match="is damaged"):
                journal.check_integrity()
    with locked_state(world.state, is_checked=False) as journal:
        assert journal.engine.is_held


def overwrite(path: Path) -> None:
    """Overwrite pages amid the file, as a bad disk does."""
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2 // 4096 * 4096)
        file.write(b"\xff" * 4096 * 4)


def test_posts_wait_for_the_check(world: World) -> None:
    """After a kill, the daemon works at once, but posts only what it finds in a journal that was found whole."""
    world.run_once()
    kill(world)
    world.drop("waiting.xml", invoice("1"))
    may_check = threading.Event()

    class Patient(Pool):
        """A pool whose checks wait for the test."""

        def _begin(self, company: str) -> Callable[[], None]:
            task = super()._begin(company)
            if self._name == "copy":
                may_check.wait()
            return task

    with locked_state(world.state, is_checked=False) as journal:
        clockwork = replace(REAL, pool=Patient)
        daemon = Daemon(
            world.configuration(), journal, stopped=threading.Event(), log=world._log, watch=False, clockwork=clockwork
        )
        daemon.start()
        try:
            world.until(lambda: world.places()["waiting.xml"] == "sending")
            assert "is being checked" in daemon.report().journal
            assert not world.accepted()
            may_check.set()
            world.until(lambda: (daemon.tick(), world.accepted() == {"waiting.xml": 1})[1])
            assert not daemon.report().journal
        finally:
            may_check.set()
            daemon.close()
    world.invariants()


def test_damage_after_a_kill(world: World) -> None:
    """A daemon that finds damage in the journal of a killed one reports it, and posts nothing."""
    world.run_once()
    with world.daemon() as process:
        world.until(lambda: b"service.started" in (world.base / "daemon.log").read_bytes())
        process.kill()
        process.wait()
    overwrite(world.state / "journal.sqlite")
    world.drop("waiting.xml", invoice("1"))
    with world.daemon() as process:
        world.until(lambda: b"is damaged" in (world.base / "daemon.log").read_bytes())
        world.until((world.state / "daemon.json").exists)
        world.until(lambda: b"is damaged" in (world.state / "daemon.json").read_bytes())
        world.stop(process)
    assert not world.accepted()
