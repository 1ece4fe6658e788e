"""Where log lines go."""

from __future__ import annotations

import errno
import json
import os
import socket
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
import structlog

from filedrop.config import Log
from filedrop.process import logs
from filedrop.process.logs import with_fields

if TYPE_CHECKING:
    from pathlib import Path


def numbers(*files: Path) -> list[int]:
    """Of the events in these files, in their order."""
    return [json.loads(line)["number"] for file in files for line in file.read_text("utf-8").splitlines()]


def test_a_large_file_is_put_aside(tmp_path: Path) -> None:
    """No more than `keep` older files are there, none is much larger than `max_size`, and no line is in two."""
    file = tmp_path / "filedrop.log"
    log = logs.open_log(Log(file=file, max_size=2000, keep=2))
    for number in range(200):
        log.info("event", number=number)
    older = [tmp_path / "filedrop.log.2", tmp_path / "filedrop.log.1"]
    assert sorted(tmp_path.iterdir()) == sorted([*older, file])
    assert all(one.stat().st_size <= 2000 for one in (*older, file))
    kept = numbers(*older, file)
    assert kept == list(range(kept[0], 200))


def test_a_file_that_can_not_be_put_aside(tmp_path: Path) -> None:
    """Where it can't be renamed, no line is lost: it grows, and is put aside when that is possible again."""
    file, hindrance = tmp_path / "filedrop.log", tmp_path / "filedrop.log.1"
    hindrance.mkdir()
    log = logs.open_log(Log(file=file, max_size=2000, keep=1))
    for number in range(100):
        log.info("event", number=number)
    assert numbers(file) == list(range(100))
    hindrance.rmdir()
    log.info("event", number=100)
    assert numbers(hindrance, file) == list(range(101))


def test_older_files_while_somebody_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the file can't be renamed, because a program has it open (Windows), the older ones stay as they are."""
    file, rename = tmp_path / "filedrop.log", os.rename
    older = [tmp_path / f"filedrop.log.{number}" for number in (3, 2, 1)]
    log = logs.open_log(Log(file=file, max_size=2000, keep=3))
    for number in range(200):
        log.info("event", number=number)
    before = numbers(*older)

    def as_on_windows(source: str, target: str) -> None:
        if source == str(file):
            raise PermissionError(errno.EACCES, "it is being used by another process", source)
        rename(source, target)

    with file.open(), monkeypatch.context() as patch:
        if sys.platform != "win32":
            patch.setattr(os, "rename", as_on_windows)
        for number in range(200, 300):
            log.info("event", number=number)
        assert numbers(*older) == before
    log.info("event", number=300)
    kept = numbers(*older, file)
    assert kept == list(range(kept[0], 301))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows moves no folder of an open file")
def test_a_folder_that_is_away_when_the_file_is_full(tmp_path: Path) -> None:
    """Where the file can neither be put aside nor opened for a while, lines are written again when it can."""
    folder = tmp_path / "log"
    folder.mkdir()
    file = folder / "filedrop.log"
    log = logs.open_log(Log(file=file, max_size=2000, keep=1))
    for number in range(10):
        log.info("event", number=number)
    folder.rename(tmp_path / "away")
    for number in range(10, 100):
        log.info("event", number=number)
    (tmp_path / "away").rename(folder)
    for number in range(100, 110):
        log.info("event", number=number)
    assert numbers(file)[-10:] == list(range(100, 110))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows moves no open file")
@pytest.mark.parametrize("is_removed", [False, True], ids=["moved", "removed"])
def test_a_file_that_logrotate_moves(tmp_path: Path, *, is_removed: bool) -> None:
    """What follows is written into a new file with the name, and not into the old one, which is soon removed."""
    file, aside = tmp_path / "filedrop.log", tmp_path / "filedrop.log-20261125"
    log = logs.open_log(Log(file=file))
    log.info("event", number=0)
    file.rename(aside)
    if is_removed:
        aside.unlink()
    for number in (1, 2):
        log.info("event", number=number)
    assert numbers(file) == [1, 2]
    assert is_removed or numbers(aside) == [0]


def fields(datagram: bytes) -> dict[str, str]:
    """The fields of a message in the journal's form with lengths."""
    found = {}
    while datagram:
        name, _, rest = datagram.partition(b"\n")
        end = 8 + int.from_bytes(rest[:8], "little")
        found[name.decode()] = rest[8:end].decode()
        datagram = rest[end + 1 :]
    return found


@pytest.mark.skipif(sys.platform == "win32", reason="it is systemd's")
@pytest.mark.parametrize("is_read", [True, False], ids=["the journal reads us", "another reads us"])
def test_fields_for_the_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_read: bool) -> None:
    """Where systemd's journal reads the stream, it gets each fact; a line that is too long, and others, the stream."""
    render, path = structlog.processors.JSONRenderer(), tmp_path / "journal"
    with (
        (tmp_path / "stream").open("w") as stream,
        closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as journal,
    ):
        journal.bind(str(path))
        status = os.fstat(stream.fileno())
        monkeypatch.setenv("JOURNAL_STREAM", f"{status.st_dev}:{status.st_ino + (not is_read)}")
        send = with_fields(render, stream, journal=path)
        event = {"event": "document.failed", "level": "warning", "file": "a\nPRIORITY=0", "msg_no": 7}
        if not is_read:
            assert json.loads(str(send(None, "warning", dict(event)))) == event
            return
        with pytest.raises(structlog.DropEvent):
            send(None, "warning", dict(event))
        sent = fields(journal.recv(100_000))
        assert json.loads(sent.pop("MESSAGE")) == event
        assert sent == {
            "PRIORITY": "4",
            "SYSLOG_IDENTIFIER": "filedrop",
            "FILEDROP_EVENT": "document.failed",
            "FILEDROP_LEVEL": "warning",
            "FILEDROP_FILE": "a\nPRIORITY=0",
            "FILEDROP_MSG_NO": "7",
        }
        long = {"event": "work.failed", "exception": "x" * 10**7}
        assert json.loads(str(send(None, "error", dict(long)))) == long
