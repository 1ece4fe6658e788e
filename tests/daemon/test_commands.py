"""The administrator's programs, where the journal or the system refuses something."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
import structlog
from support.disks import foreign
from support.unwritable import refuse_writes

from filedrop.config import Commands
from filedrop.daemon.commands import CommandRunner
from filedrop.errors import JournalError
from filedrop.files.patience import within
from filedrop.journal import Journal, errands
from filedrop.process.guard import Guard
from filedrop.process.pool import Pool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

ERRAND = (
    "INSERT INTO errands (event, company, document, msg_no, folder, file)"
    " VALUES ('received', ?, '', 1, x'2f746d70', x'61')"
)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with closing(Journal.at(tmp_path / "journal.sqlite")) as opened:
        yield opened


@pytest.fixture
def runner(journal: Journal, tmp_path: Path) -> CommandRunner:
    program = [sys.executable, "-S", "-c", f"open({str(tmp_path / 'told')!r}, 'a').write('once\\n')"]
    log = structlog.wrap_logger(structlog.testing.CapturingLogger())
    commands = Commands.model_validate({"after_received": program})
    made = CommandRunner(commands, journal, pool=Pool, guard=Guard(log))
    made.start()
    return made


def all_companies(_: str) -> bool:
    """Of one host, which serves each."""
    return True


def told(tmp_path: Path) -> int:
    file = tmp_path / "told"
    return len(file.read_text().splitlines()) if file.exists() else 0


def look(runner: CommandRunner, times: int = 1) -> None:
    """Look round so often as the daemon does each second, each time until all that was begun has ended."""
    for _ in range(times):
        runner.tick(all_companies)
        while runner._busy and runner._pool._threads:
            time.sleep(0.01)


def test_the_journal_cannot_be_written(journal: Journal, runner: CommandRunner, tmp_path: Path) -> None:
    """A command whose end can't be recorded isn't run again and again while the disk is full, nor afterwards."""
    journal.engine.write(lambda connection: connection.execute(ERRAND, ("acme",)))
    refuse_writes(journal)
    look(runner, 5)
    assert told(tmp_path) == 1
    refuse_writes(journal, refuses=False)
    runner._not_before.update(acme=0.0)  # its minute is over
    look(runner)
    assert runner.is_done(all_companies)
    assert told(tmp_path) == 1
    runner.close(5)


def test_the_journal_cannot_be_written_at_the_start(tmp_path: Path) -> None:
    """What happens when it can be written again has its commands, though these were new at that start."""
    with closing(Journal.at(tmp_path / "journal.sqlite")) as journal:
        refuse_writes(journal)
        log = structlog.wrap_logger(structlog.testing.CapturingLogger())
        commands = Commands.model_validate({"after_received": [sys.executable, "-c", ""]})
        made = CommandRunner(commands, journal, pool=Pool, guard=Guard(log))
        made.start()
        look(made)
        assert not journal.engine.read(errands._WANTED)
        refuse_writes(journal, refuses=False)
        look(made)
        assert journal.engine.read(errands._WANTED) == [("received",)]
        made.close(5)


def test_the_system_has_no_thread(
    journal: Journal,
    runner: CommandRunner,
    tmp_path: Path,
    without_threads: Callable[[str], AbstractContextManager[None]],
) -> None:
    """A command that was due while no thread could be started is run as soon as one can."""
    journal.engine.write(lambda connection: connection.execute(ERRAND, ("acme",)))
    with without_threads("commands"):
        look(runner)
    assert not told(tmp_path)
    look(runner)
    assert told(tmp_path) == 1
    runner.close(5)


def test_the_system_has_no_thread_to_hear_a_program(
    journal: Journal,
    runner: CommandRunner,
    tmp_path: Path,
    without_threads: Callable[[str], AbstractContextManager[None]],
) -> None:
    """A program to which nobody could listen isn't started: it ran again each second, unseen."""
    journal.engine.write(lambda connection: connection.execute(ERRAND, ("acme",)))
    with without_threads("program"):
        look(runner, 3)
    assert "no thread" in runner._guard.troubles["commands.after_received of acme"]
    runner._not_before.update(acme=0.0)  # its minute is over
    look(runner)
    assert runner.is_done(all_companies)
    assert told(tmp_path) == 1
    runner.close(5)


def test_what_another_process_has_delivered(runner: CommandRunner, tmp_path: Path) -> None:
    """A message that `download --deliver` has brought again is told within a minute, not when the next one comes."""
    look(runner)
    with closing(Journal.at(tmp_path / "journal.sqlite")) as of_another:
        of_another.engine.write(lambda connection: connection.execute(ERRAND, ("acme",)))
    runner._anyway = 0.0  # the minute is over
    look(runner)
    assert told(tmp_path) == 1
    runner.close(5)


def test_an_end_that_was_recorded_after_all(journal: Journal, runner: CommandRunner, tmp_path: Path) -> None:
    """Where the disk fails at the very end of the commit, the next errand may get the number: it is run, too."""
    journal.engine.write(lambda connection: connection.execute(ERRAND, ("acme",)))
    end = journal.errands.end

    def fails_late(errand: object) -> None:
        end(errand)  # type: ignore[arg-type]
        raise JournalError("disk I/O error")

    journal.errands.end = fails_late  # type: ignore[method-assign, assignment]
    look(runner)
    journal.errands.end = end  # type: ignore[method-assign]
    assert told(tmp_path) == 1
    assert not journal.errands.first()
    journal.engine.write(lambda connection: connection.execute(ERRAND.replace("'', 1", "'', 2"), ("acme",)))
    runner._not_before.update(acme=0.0)
    look(runner)
    assert runner.is_done(all_companies)
    assert told(tmp_path) == 2
    runner.close(5)


def test_a_program_on_a_share_that_hangs(journal: Journal, tmp_path: Path) -> None:
    """While a program can't be started because its share hangs, the daemon looks round, stops and reloads."""
    log = structlog.wrap_logger(structlog.testing.CapturingLogger())
    away = tmp_path / "away"
    commands = Commands.model_validate({"after_received": [str(away / "program")]})
    runner = CommandRunner(commands, journal, pool=Pool, guard=Guard(log))
    runner.start()
    journal.engine.write(lambda connection: connection.execute(ERRAND, ("acme",)))
    with foreign(away, "fuse", answers=False):
        runner.tick(all_companies)
        while not any(thread.name == "program" for thread in threading.enumerate()):  # it is about to be started
            time.sleep(0.01)
        journal.engine.write(lambda connection: connection.execute(ERRAND, ("fjord",)))
        within(5, lambda: runner.tick(all_companies))
        within(5, lambda: runner.close(0.1))
    runner.close(5)
    assert len(journal.errands.first()) == 2


def test_a_fifth_company_beside_four_busy_ones(journal: Journal, tmp_path: Path) -> None:
    """A company's command waits for one command of the others, not until four busy companies have none left."""
    ran = tmp_path / "ran"
    ran.touch()
    program = (  # the second command of a busy company waits until the fifth company's has begun
        "import os, time\n"
        f"ran, company = {str(ran)!r}, os.environ['FILEDROP_COMPANY']\n"
        "while company in (before := open(ran).read()) and 'fifth' not in before: time.sleep(0.01)\n"
        "open(ran, 'a').write(company + '\\n')\n"
    )
    log = structlog.wrap_logger(structlog.testing.CapturingLogger())
    commands = Commands.model_validate({"after_received": [sys.executable, "-S", "-c", program]})
    runner = CommandRunner(commands, journal, pool=Pool, guard=Guard(log))
    runner.start()
    busy = [(f"busy-{number}",) for number in range(4)]
    journal.engine.write(lambda connection: connection.executemany(ERRAND, [*(busy * 10), ("fifth",)]))
    runner.tick(all_companies)
    while runner._busy and not runner._guard.troubles:
        time.sleep(0.01)
    assert not runner._guard.troubles, (
        "a busy company's command waits until its time is up: the fifth company's never begins"
    )
    assert runner.is_done(all_companies)
    assert len(ran.read_text().split()) == 41
    runner.close(5)
