"""The validator that goes by rules, in a process that is started when needed, killed when late, ended when idle."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Any

from filedrop.errors import NoVerdict
from filedrop.model.fault import Finding
from filedrop.programs import NO_WINDOW, how_it_ended, kill_tree
from filedrop.validation.validator import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from filedrop.validation.validator import Kind

IDLE = 120.0  # seconds after which it ends
AFTERWARDS = 5.0  # seconds after which it ends itself when it is late and nobody has killed it
LARGEST = 1_000_000  # bytes of an answer


class ByRules:
    """Judges by the rules in a folder, in a process of its own."""

    def __init__(self, folder: Path, *, seconds: float, memory: int) -> None:
        self._folder = folder
        self._seconds = seconds
        self._memory = memory
        self._process: subprocess.Popen[bytes] | None = None
        self._asking = threading.Lock()
        self._used = 0.0
        self._is_late = False
        self._closed = threading.Event()

    def judge(self, kind: Kind, content: Iterable[bytes]) -> Verdict:
        """As `Validator.judge`."""
        answer = self._ask(self._seconds, {**kind._asdict(), "check": False}, content)
        findings = tuple(Finding(**found) for found in answer["findings"])
        return Verdict(findings, tuple(answer["rules"]), int(answer["more"]))

    def check(self) -> str:
        """As `Validator.check`: each file of the rules is compiled, which may take some time for each."""
        self._ask(self._seconds * 10, {"size": 0, "check": True}, ())
        return f"the rules in {self._folder}"

    def end_if_idle(self) -> None:
        """As `Validator.end_if_idle`: the process ends if it has not been asked for a while."""
        if self._process is None or not self._asking.acquire(blocking=False):
            return
        try:
            if time.monotonic() - self._used > IDLE:
                self._end(self._process)
        finally:
            self._asking.release()

    def close(self) -> None:
        """As `Validator.close`: the process ends, whatever it does."""
        self._closed.set()
        if (process := self._process) is not None:
            kill_tree(process)

    def _ask(self, seconds: float, header: dict[str, Any], content: Iterable[bytes]) -> dict[str, Any]:
        """The process's answer. Raises NoVerdict, and whatever `content` raises."""
        with self._asking:
            process = self._running()
            timer = threading.Timer(seconds, self._be_late, (process,))
            timer.daemon = True
            timer.start()
            answer = None
            try:
                answer = _exchange(process, header | {"seconds": seconds + AFTERWARDS}, content)
            finally:
                timer.cancel()
                self._used = time.monotonic()
                if answer is None:
                    self._end(process)
            if answer is None:
                raise NoVerdict(self._why_not(process, seconds))
        if trouble := answer.get("trouble"):
            raise NoVerdict(str(trouble))
        return answer

    def _running(self) -> subprocess.Popen[bytes]:
        if self._closed.is_set():
            raise NoVerdict("filedrop is stopping")
        if self._process is None or self._process.poll() is not None:
            self._is_late = False
            arguments = [sys.executable, "-m", "filedrop.validation.child", str(self._folder), str(self._memory)]
            try:
                self._process = subprocess.Popen(
                    arguments,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                    creationflags=NO_WINDOW,
                )
            except OSError as error:
                raise NoVerdict(f"{sys.executable} can't be started: {error.strerror}") from error
            if self._closed.is_set():  # meanwhile
                kill_tree(self._process)
        return self._process

    def _be_late(self, process: subprocess.Popen[bytes]) -> None:
        self._is_late = True
        kill_tree(process)

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        kill_tree(process)
        with suppress(subprocess.TimeoutExpired):
            process.wait(AFTERWARDS)
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):
                if pipe:
                    pipe.close()
        self._process = None

    def _why_not(self, process: subprocess.Popen[bytes], seconds: float) -> str:
        if self._closed.is_set():
            return "filedrop is stopping"
        if self._is_late:
            return f"the rules took longer than {seconds:g} seconds (validation.timeout)"
        how = how_it_ended(process.returncode or 0)
        return f"the process that applies the rules {how}; it may have needed more than validation.memory"


def _exchange(
    process: subprocess.Popen[bytes], header: dict[str, Any], content: Iterable[bytes]
) -> dict[str, Any] | None:
    """Its answer; None where it has ended. Raises what `content` raises."""
    if process.stdin is None or process.stdout is None:
        raise ValueError("the process has no pipes")
    for piece in chain([json.dumps(header).encode() + b"\n"], content):
        try:
            process.stdin.write(piece)
        except OSError:
            return None
    try:
        process.stdin.flush()
        answer = json.loads(process.stdout.readline(LARGEST))
    except (OSError, ValueError):
        return None
    return answer if isinstance(answer, dict) else None
