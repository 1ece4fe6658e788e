"""Processes of our own that do what a stranger's document might ruin: each has limits of memory, time and output.

child = Child("filedrop.validation.child", memory=1_000_000_000, largest=1_000_000)
child.ask({...}, pieces, seconds=30)           its answer; a question is a few facts and a document

A child is started with the first question and stays for the next one. It is killed when it is late, ends when it is
idle, and ends with filedrop.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from filedrop.errors import FiledropError
from filedrop.programs import LONGEST_OUTPUT, how_it_ended, kill_tree, python_command, start
from filedrop.programs.child import LENGTH, Confinement
from filedrop.texts.printable import one_line, size

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import IO

IDLE = 120.0  # seconds after which it ends
AFTERWARDS = 5.0  # seconds after which it ends itself when it is late and nobody has killed it
_LONGEST_LINE = 300  # letters that are quoted


class NoAnswer(FiledropError):
    """The child gave no answer; the message is a sentence."""


class Late(NoAnswer):
    """The child took too long; the message continues a sentence that begins with what the child does."""


class Ended(NoAnswer):
    """The child ended before it answered, perhaps for lack of memory; the message continues a sentence."""


class Child:
    """A process that runs a module of ours, which calls `answer_questions`. Thread-safe: one question at a time.

    `memory`: the most that it may have, in bytes. `largest`: the most bytes of an answer.
    """

    def __init__(self, module: str, *arguments: str, memory: int, largest: int) -> None:
        self._arguments = python_command(module, str(memory), *arguments)
        self._memory = memory
        self._largest = largest
        self._process: subprocess.Popen[bytes] | None = None
        self._confinement: Confinement | None = None
        self._errors: IO[bytes] | None = None  # what the process prints on stderr
        self._last_words = ""  # of the process before
        self._asking = threading.Lock()
        self._used = 0.0
        self._is_late = self._is_much = False
        self._closed = threading.Event()

    def ask(self, question: dict[str, Any], document: Iterable[bytes] = (), *, seconds: float) -> dict[str, Any]:
        """The child's answer. Raises NoAnswer, and what `document` raises."""
        with self._asking:
            process = self._running()
            timer = threading.Timer(seconds, self._be_late, (process,))
            timer.daemon = True
            timer.start()
            answer = None
            try:
                answer = self._exchange(process, question | {"seconds": seconds + AFTERWARDS}, document)
            finally:
                timer.cancel()
                self._used = time.monotonic()
                if answer is None:  # it may be amid this question
                    self._end(process)
            if answer is None:
                raise self._why_not(process, seconds)
            return answer

    def end_if_idle(self) -> None:
        """End the process if it has not been asked for a while. Called now and then."""
        if self._process is None or not self._asking.acquire(blocking=False):
            return
        try:
            if time.monotonic() - self._used > IDLE:
                self._end(self._process)
        finally:
            self._asking.release()

    def close(self) -> None:
        """End the process, whatever it does. It is never started again."""
        self._closed.set()
        if (process := self._process) is not None:
            kill_tree(process)

    def _running(self) -> subprocess.Popen[bytes]:
        if self._closed.is_set():
            raise NoAnswer("filedrop is stopping")
        if self._process is not None and self._process.poll() is not None:
            self._end(self._process)
        if self._process is None:
            self._is_late = self._is_much = False
            try:
                with suppress(OSError):  # no room for it: its last words aren't worth its work
                    self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - `_end` closes it
                errors = self._errors or subprocess.DEVNULL
                self._process = start(self._arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
                self._confinement = Confinement(self._process, self._memory)
            except OSError as error:
                if self._process is not None:
                    self._end(self._process)
                raise NoAnswer(f"{sys.executable} can't be started: {error.strerror}") from error
            if self._closed.is_set():  # meanwhile
                kill_tree(self._process)
        return self._process

    def _exchange(
        self, process: subprocess.Popen[bytes], question: dict[str, Any], document: Iterable[bytes]
    ) -> dict[str, Any] | None:
        """Its answer; None where it has ended, or answers with too much. Raises what `document` raises."""
        if process.stdin is None or process.stdout is None:
            raise ValueError("the process has no pipes")
        try:
            process.stdin.write(json.dumps(question).encode() + b"\n")
        except OSError:
            return None
        for piece in filter(None, document):
            try:
                process.stdin.write(len(piece).to_bytes(LENGTH))
                process.stdin.write(piece)
            except OSError:
                return None
        try:
            process.stdin.write((0).to_bytes(LENGTH))
            process.stdin.flush()
            line = process.stdout.readline(self._largest)
            self._is_much = len(line) == self._largest
            answer = json.loads(line)
        except (OSError, ValueError):
            return None
        return answer if isinstance(answer, dict) else None

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
        if self._confinement is not None:
            self._confinement.end()
        self._last_words = _last_line(self._errors) if self._errors else ""
        if self._errors is not None:
            self._errors.close()
        self._process = self._confinement = self._errors = None

    def _why_not(self, process: subprocess.Popen[bytes], seconds: float) -> NoAnswer:
        if self._closed.is_set():
            return NoAnswer("filedrop is stopping")
        if self._is_late:
            return Late(f"took longer than {seconds:g} seconds")
        if self._is_much:
            return Ended(f"answers with more than {size(self._largest)}")
        return Ended(f"{how_it_ended(process.returncode or 0)}{self._last_words and f' ({self._last_words})'}")


def _last_line(file: IO[bytes]) -> str:
    """The last line of a file, safe to show; "" where there is none."""
    file.seek(max(0, file.seek(0, os.SEEK_END) - LONGEST_OUTPUT))
    lines = file.read().decode(errors="replace").splitlines()
    return one_line(lines[-1], _LONGEST_LINE) if lines else ""
