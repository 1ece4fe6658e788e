"""Each line of the log is JSON, whoever has something to say: filedrop, a library, Python itself, a second process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.documents import invoice
from support.world import PROJECT

if TYPE_CHECKING:
    from support.world import World

QUEUE = Path("/proc/sys/fs/inotify/max_queued_events")
EVENTS_EACH = 3  # a file that is made, closed and removed
MOST = 1_000_000

SPEAKERS = """
import logging, threading, warnings
from filedrop.process import logs
from filedrop.config import Log

class Ends:
    def __del__(self):
        raise RuntimeError("at its end")

log = logs.open_log(Log(format="json"))
logs.log_libraries(log)
logging.getLogger("some.library").warning("two\\nlines of %s", "it")
logging.getLogger("some.library").info("nobody wants to know")
try:
    raise RuntimeError("in a library")
except RuntimeError:
    logging.getLogger("another").exception("it failed")
warnings.warn("will be gone\\nsoon")
thread = threading.Thread(target=lambda: 1 / 0, name="a thread")
thread.start()
thread.join()
Ends()
raise RuntimeError("the last words")
"""


A_RELOAD = """
import logging, sys, threading
from pathlib import Path
from filedrop.process import logs
from filedrop.config import Log

def fail():
    thread = threading.Thread(target=lambda: 1 / 0, name="a thread")
    thread.start()
    thread.join()
    logging.getLogger("some.library").warning("it")

before = logs.open_log(Log(file=Path("before").absolute()))
logs.log_libraries(before)
after = logs.open_log(Log(file=Path("after").absolute()))
fail()
logs.log_libraries(after)
fail()
"""


def lines(text: str) -> list[dict[str, Any]]:
    """The lines of a log, each of which is one JSON object."""
    return [json.loads(line) for line in text.splitlines()]


def test_whoever_speaks() -> None:
    """Libraries, warnings, threads and processes that end badly are events like any other, in one line each."""
    command = [sys.executable, "-c", SPEAKERS]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    said = [(event["event"], event["level"], event.get("library") or event.get("what")) for event in lines(done.stderr)]
    assert said[:4] == [
        ("library.warned", "warning", "some.library"),
        ("library.warned", "error", "another"),
        ("library.warned", "warning", "py.warnings"),
        ("work.failed", "error", "a thread"),
    ]
    assert said[4][2].startswith("Exception ignored") or "Ends" in said[4][2]
    assert said[5:] == [("work.failed", "error", "filedrop")]
    for text in (
        "two\\\\nlines of it",
        "in a library",
        "will be gone",
        "ZeroDivisionError",
        "at its end",
        "last words",
    ):
        assert text in done.stderr
    assert "nobody wants" not in done.stderr
    assert (done.returncode, done.stdout) == (1, "")


def test_whoever_speaks_after_a_reload(tmp_path: Path) -> None:
    """By another log from then on, and by the one before until then."""
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    subprocess.run([sys.executable, "-c", A_RELOAD], cwd=tmp_path, env=environment, check=True)
    for file in ("before", "after"):
        assert [event["event"] for event in lines((tmp_path / file).read_text())] == ["work.failed", "library.warned"]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux")
def test_too_many_file_events(world: World) -> None:
    """Where the system has lost file events, the log says so in a line of its own form, and every file is found."""
    queue = int(QUEUE.read_text())
    if queue > MOST:
        pytest.skip(f"the system keeps {queue} file events: to make so many takes too long")
    log = world.base / "daemon.log"
    with world.daemon() as daemon:
        world.until(lambda: "folder.watched" in log.read_text())
        world.drop("one.xml", invoice("1"))
        world.until(lambda: world.accepted() == {"one.xml": 1})
        daemon.send_signal(signal.SIGSTOP)
        for number in range(queue // EVENTS_EACH + 1000):
            passing = world.outbound / f"{number}.tmp"
            passing.touch()
            passing.unlink()
        world.drop("two.xml", invoice("2"))
        daemon.send_signal(signal.SIGCONT)
        world.until(lambda: world.accepted() == {"one.xml": 1, "two.xml": 1})
        world.until(lambda: "overflow" in log.read_text())
        world.stop(daemon)
    assert any(event["event"] == "library.warned" and "overflow" in event["says"] for event in lines(log.read_text()))


def test_a_start_that_fails(world: World) -> None:
    """What is doubtful in the configuration, and why the daemon can't start, are lines of its log, too."""
    text = world.config_text().replace(f"password_file: '{world.password_file}'", "password: secret")
    assert text != world.config_text()
    world.config_text = lambda: text  # type: ignore[method-assign] # of this world
    with world.daemon():
        world.until(lambda: "folder.watched" in (world.base / "daemon.log").read_text())
        done = world.process("run")
    assert [event["event"] for event in lines(done.stderr)] == ["configuration.doubtful", "service.failed"]
    assert "another filedrop is running with the state" in lines(done.stderr)[1]["why"]
    assert (done.returncode, done.stdout) == (2, "")


def test_a_log_on_a_disk_that_comes_later(world: World) -> None:
    """Where the log's folder isn't there yet, the start fails by a status with which the service is started again."""
    text = f"{world.config_text()}log: {{file: '{world.base / 'disk' / 'log'}'}}\n"
    world.config_text = lambda: text  # type: ignore[method-assign] # of this world
    done = world.process("run")
    assert done.returncode == 1
    assert "log: No such file or directory; create its folder" in done.stderr
