"""A call of a running daemon that is held, and carried out late: when the whole daemon stands still.

strace holds one thread right before a call, as long as anybody likes. Then all threads are stopped, so nothing but that
call can happen; and when strace is killed, the kernel makes it.

A *point* is a call that a dry run has made: the n-th of its name in a thread, since strace watches it. It is looked for
in all threads of the same kind, and the first that comes there is held.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from support.strace import TRACED, Call, calls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

PATIENCE = 60.0  # seconds: bounds only what has gone wrong
_FOR_EVER = "inject={}:delay_enter=86400s:when={}"
_KIND = re.compile(r"-\d+$")
_AFTER_SENDING = re.compile(r'rename\w+\(\d+<[^>]*/sending>, "[^".]+\.xml(\.posted)?"')
_SOCKET = re.compile(r"<socket:\[(\d+)\]>")
_CHANGES_ROWS = re.compile(r'"Q.{0,40}BEGIN|UPDATE hosts', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Point:
    """The `number`-th call of this name in a thread of this kind."""

    kind: str
    name: str
    number: int

    def __str__(self) -> str:
        return f"{self.kind} {self.name} {self.number}"


def threads(process: int) -> dict[str, str]:
    """The kind of each lasting thread of a daemon that RUN (support.hosts) has named, by its id."""
    before = _threads(process)
    time.sleep(0.2)
    return {thread: kind for thread, kind in _threads(process).items() if thread in before}


def _threads(process: int) -> dict[str, str]:
    found = {}
    for path in Path(f"/proc/{process}/task").iterdir():
        with suppress(FileNotFoundError):  # it has ended
            found[path.name] = _KIND.sub("", (path / "comm").read_text().strip())
    return found


class Watched:
    """The calls of these threads, until the `with` ends."""

    def __init__(self, trace: Path, ids: Iterable[str], *options: str) -> None:
        self.trace = trace
        ids = list(ids)
        attached = [option for thread in ids for option in ("-p", thread)]
        command = ["strace", "-y", "-s", "200", "-o", str(trace), *(options or ("-e", f"trace={TRACED}")), *attached]
        self._strace = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert self._strace.stderr
        for _ in ids:
            line = self._strace.stderr.readline()
            assert " attached" in line or "No such process" in line, line  # that one has just ended

    def __enter__(self) -> Path:
        return self.trace

    def __exit__(self, *_: object) -> None:
        self._strace.terminate()
        self.end()

    def end(self) -> None:
        """Wait for strace's end."""
        self._strace.wait()
        assert self._strace.stderr
        self._strace.stderr.close()

    def carry_out(self) -> None:
        """Kill strace: what it holds is done now, and the threads go on."""
        self._strace.kill()
        self.end()


class Held:
    """A daemon that stands still at a point."""

    def __init__(self, process: int, thread: str, watched: Watched) -> None:
        self._process = process
        self._thread = thread
        self._watched = watched
        lines = watched.trace.read_text(errors="replace").splitlines()
        self.call = lines[-1] if lines else ""

    @property
    def is_an_upload(self) -> bool:
        """Whether a document is on the wire by it."""
        return '"POST /outbox' in self.call or ("send" in self.call and "<cbc:ID>" in self.call)

    @property
    def is_a_move_after_sending(self) -> bool:
        """Whether a document, or what was posted in its place, leaves sending/ by it."""
        return _AFTER_SENDING.search(self.call) is not None

    def carry_out(self) -> None:
        """Make the call, by a process that stands still."""
        self._watched.carry_out()
        task = Path(f"/proc/{self._process}/task/{self._thread}/stat")
        _until(lambda: _state(task) == "T", "the held call is made")

    def go_on(self) -> None:
        """Let the process go on."""
        os.kill(self._process, signal.SIGCONT)


def hold(process: int, point: Point, trace: Path, act: Callable[[], None], is_over: Callable[[], bool]) -> Held | None:
    """Stop a daemon at a point after `act`, with that call held. None if all `is_over` before it comes there."""
    kinds = threads(process)
    trace.unlink(missing_ok=True)
    ids = [thread for thread, kind in kinds.items() if kind == point.kind]
    watched = Watched(trace, ids, "-e", f"trace={point.name}", "-e", _FOR_EVER.format(point.name, point.number))
    act()
    end = time.monotonic() + PATIENCE
    while not (held := [thread for thread in ids if _stays(process, thread)]):
        if is_over() or time.monotonic() > end:
            watched.carry_out()
            return None
        time.sleep(0.02)
    os.kill(process, signal.SIGSTOP)
    return Held(process, held[0], watched)


def points(trace: Path, kinds: dict[str, str]) -> Iterator[tuple[Point, Call]]:
    """The points of a dry run that change a file, a row or a message, in their order."""
    traced = calls(trace)
    writers = {socket for call in traced if _CHANGES_ROWS.search(call.said) for socket in _SOCKET.findall(call.said)}
    counts, seen = Counter[tuple[str, str]](), set()
    posting: set[str] = set()  # sockets
    for call in traced:
        counts[call.thread, call.name] += 1
        if not call.changes or call.name == "connect" or any(path.endswith(".log") for path in call.paths):
            continue
        if sockets := set(_SOCKET.findall(call.said.partition(",")[0])):
            if '"GET ' in call.said:
                posting -= sockets
            if '"POST ' in call.said:
                posting |= sockets
            if not sockets & (writers | posting):
                continue
        point = Point(kinds[call.thread], call.name, counts[call.thread, call.name])
        if point not in seen:
            seen.add(point)
            yield point, call


def _stays(process: int, thread: str) -> bool:
    """Whether strace has held a thread for half a second: it never stops one for as long otherwise."""
    task = Path(f"/proc/{process}/task/{thread}")
    try:
        before = _switches(task)
        if _state(task / "stat") != "t":
            return False
        time.sleep(0.5)
        return _state(task / "stat") == "t" and _switches(task) == before
    except FileNotFoundError:
        return False


def _state(stat: Path) -> str:
    return stat.read_text().rpartition(")")[2].split()[0]


def _switches(task: Path) -> list[str]:
    return re.findall(r"ctxt_switches:\s+(\d+)", (task / "status").read_text())


def _until(condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.02)
