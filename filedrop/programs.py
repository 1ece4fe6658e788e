"""Other people's programs: started without a shell, with a time limit, and ended with all that they have started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import IO

LONGEST_OUTPUT = 64 * 1024  # bytes that are kept of what a program prints
LAST_WORDS = 1.0  # seconds to read what is left in the pipe: a program's own child may hold it open
if sys.platform == "win32":
    NO_WINDOW = subprocess.CREATE_NO_WINDOW
else:
    NO_WINDOW = 0


class Ended(NamedTuple):
    """How a program ended: its exit status (negative: killed by that signal), and the beginning of what it printed."""

    status: int
    output: str


def how_it_ended(status: int) -> str:
    """How a program with this exit status ended, as the end of a sentence."""
    return f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"


class Program:
    """A program that runs, with this on its stdin. Raises OSError where it can't be started. `kill` is thread-safe.

    What it prints on stdout and stderr is kept together.
    """

    def __init__(self, arguments: Sequence[str], *, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> None:
        self._process = subprocess.Popen(
            list(arguments),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=None if env is None else {**os.environ, **env},
            start_new_session=True,  # a group of its own, which is killed as one
            creationflags=NO_WINDOW,
        )
        self._output = bytearray()
        self._threads = [
            threading.Thread(target=self._read, args=(self._process.stdout,), name="program", daemon=True),
            threading.Thread(target=_write, args=(self._process.stdin, stdin), name="program", daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def wait(self, seconds: float) -> Ended:
        """Wait for its end. Raises TimeoutError where it takes longer, after killing it."""
        try:
            status = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(LAST_WORDS)
            raise TimeoutError from None
        self._threads[0].join(LAST_WORDS)
        return Ended(status, self._output.decode("utf-8", "replace"))

    def kill(self) -> None:
        """End it and its children at once."""
        kill_tree(self._process)

    def _read(self, pipe: IO[bytes]) -> None:
        with pipe, suppress(OSError):
            while piece := pipe.read1(LONGEST_OUTPUT):  # type: ignore[attr-defined] # a BufferedReader has it
                self._output += piece[: LONGEST_OUTPUT - len(self._output)]


def _write(pipe: IO[bytes], content: bytes) -> None:
    with suppress(OSError), pipe:  # it needn't read it
        pipe.write(content)


if sys.platform == "win32":

    def kill_tree(process: subprocess.Popen[bytes]) -> None:
        """End a process and its children at once."""
        if process.poll() is None:
            subprocess.run(
                ["taskkill", "/F", "/T", "/PID", str(process.pid)],  # noqa: S607 - the system's own
                capture_output=True,
                creationflags=NO_WINDOW,
                check=False,
            )
            process.kill()

else:

    def kill_tree(process: subprocess.Popen[bytes]) -> None:
        """End a process that leads a group, and its children, at once."""
        if process.poll() is None:  # else its number may be another's by now
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
