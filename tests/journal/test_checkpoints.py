"""Checkpoints: only the daemon's, while nobody writes. SQLite before 3.51.3 damages the file otherwise."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.drops import drop

from filedrop.journal import Journal
from filedrop.journal.sqlite import connect

if TYPE_CHECKING:
    from collections.abc import Iterator

TESTS = Path(__file__).parents[1]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.sqlite"


@pytest.fixture
def journal(path: Path) -> Iterator[Journal]:
    """The daemon's."""
    with closing(Journal.at(path, is_daemons=True)) as opened:
        yield opened


def rows_in_file(path: Path) -> int:
    """The number of documents that the file has without its -wal."""
    copy = path.with_name("copy.sqlite")
    shutil.copyfile(path, copy)
    with closing(sqlite3.connect(copy)) as alone:
        if not alone.execute("SELECT 1 FROM sqlite_master WHERE name = 'documents'").fetchone():
            return 0
        return int(alone.execute("SELECT count(*) FROM documents").fetchone()[0])


def size_of_wal(path: Path) -> int:
    return path.with_name(f"{path.name}-wal").stat().st_size


def test_no_connection_checkpoints_by_itself(path: Path, journal: Journal) -> None:
    """However much a command's connection, or a bare one, writes, the file is left to the daemon."""
    before = rows_in_file(path)
    with closing(Journal.at(path)) as command:
        for number in range(400):
            command.documents.record(drop(number))
    with closing(connect(path)) as bare:
        assert bare.execute("PRAGMA wal_autocheckpoint").fetchone() == (0,)
        bare.execute("CREATE TABLE large AS SELECT randomblob(10000000) AS one")
    assert rows_in_file(path) == before
    assert journal.engine.checkpoint()
    assert rows_in_file(path) == 400


def test_after_so_many_pages(path: Path, journal: Journal) -> None:
    """While it writes without a pause, the daemon checkpoints now and then: the -wal stays small."""
    largest = 0
    for number in range(1500):
        journal.documents.record(drop(number))
        largest = max(largest, size_of_wal(path))
    assert largest < 6_000_000
    assert rows_in_file(path) > 1300


def test_when_idle(path: Path, journal: Journal) -> None:
    """What was written last is in the file once nothing more is written for a second."""
    journal.documents.record(drop(1))
    journal.engine.keep_up()
    assert rows_in_file(path) == 0
    journal.engine.keep_up()
    assert rows_in_file(path) == 1


def test_after_a_kill(path: Path) -> None:
    """What a killed daemon has left in the -wal is in the file after the next start."""
    script = (
        f"import sys; sys.path.insert(0, {str(TESTS)!r})\n"
        "import os; from pathlib import Path; from filedrop.journal import Journal; from support.drops import drop\n"
        f"Journal.at(Path({str(path)!r}), is_daemons=True).documents.record(drop(1)); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
    assert size_of_wal(path)
    with closing(Journal.at(path, is_daemons=True)):
        assert rows_in_file(path) == 1


def test_nobody_writes_meanwhile(path: Path, journal: Journal) -> None:
    """While the daemon checkpoints, no other connection can begin to write."""
    refused = []

    def try_to_write(statement: str) -> None:
        if "wal_checkpoint" in statement:
            with closing(connect(path, patience=0)) as other, pytest.raises(sqlite3.OperationalError, match="locked"):
                other.execute("BEGIN IMMEDIATE")
            refused.append(statement)

    journal.documents.record(drop(1))
    journal.engine._writer.set_trace_callback(try_to_write)
    assert journal.engine.checkpoint()
    journal.engine._writer.set_trace_callback(None)
    assert len(refused) == 1
    journal.documents.record(drop(2))


def test_it_waits_for_nobody(path: Path, journal: Journal) -> None:
    """While another process writes, there is no checkpoint, and nothing waits for one."""
    journal.documents.record(drop(1))
    with closing(connect(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        done: list[bool] = []
        looking = threading.Thread(target=lambda: done.append(journal.engine.checkpoint()))
        looking.start()
        looking.join(60)
        assert done == [False]
        other.execute("ROLLBACK")
    journal.engine.keep_up()
    journal.engine.keep_up()
    assert rows_in_file(path) == 1


def test_what_readers_need_stays(path: Path, journal: Journal) -> None:
    """A reader that is amid its rows keeps what it sees; what comes later is in the file when it has ended."""
    journal.documents.record_all([drop(number) for number in range(10)])
    with closing(connect(path)) as reader:
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM documents").fetchone() == (10,)
        journal.documents.record(drop(10))
        assert not journal.engine.checkpoint()
        assert reader.execute("SELECT count(*) FROM documents").fetchone() == (10,)
    assert journal.engine.checkpoint()
    assert rows_in_file(path) == 11


def test_the_last_one_that_closes(path: Path) -> None:
    """Without a daemon, whoever closes last brings all into the file."""
    with closing(Journal.at(path)) as command:
        command.documents.record(drop(1))
    assert not path.with_name(f"{path.name}-wal").exists()
    assert rows_in_file(path) == 1


def test_three_processes(path: Path, journal: Journal) -> None:
    """Two processes write, open and close the journal while the daemon writes and checkpoints: nothing is damaged."""
    script = (
        f"import sys; sys.path.insert(0, {str(TESTS)!r})\n"
        "from contextlib import closing; from pathlib import Path\n"
        "from filedrop.journal import Journal; from support.drops import drop\n"
        "first = int(sys.argv[1])\n"
        "for part in range(first, first + 400, 40):\n"
        f"    with closing(Journal.at(Path({str(path)!r}))) as journal:\n"
        "        for number in range(part, part + 40): journal.documents.record(drop(number))\n"
    )
    others = [subprocess.Popen([sys.executable, "-c", script, str(first)]) for first in (10**6, 2 * 10**6)]

    def are_running() -> bool:
        return any(other.poll() is None for other in others)

    number = 0
    with closing(connect(path)) as reader:
        while are_running() or number < 400:
            journal.documents.record(drop(number))
            number += 1
            if number % 3 == 0:
                journal.engine.checkpoint()
            own = reader.execute("PRAGMA data_version").fetchone()
            while are_running() and reader.execute("PRAGMA data_version").fetchone() == own:
                time.sleep(0.001)  # SQLite's lock has no queue: three that write without a pause may keep one out
    assert [other.wait() for other in others] == [0, 0]
    journal.check_integrity()
    with closing(connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("SELECT count(*) FROM documents").fetchone() == (number + 800,)
