"""Other people's programs: started without a shell, with a time limit, and ended with all that they have started."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LONGEST_OUTPUT = 64 * 1024  # bytes that are kept of what a program prints
LAST_WORDS = 1.0  # seconds to end after a kill, and to read what is left in the pipe
_END = b"\0"  # behind what a program has printed
if sys.platform == "win32":
    NO_WINDOW = subprocess.CREATE_NO_WINDOW
else:
    NO_WINDOW = 0


class Exit(NamedTuple):
    """How a program ended: its exit status (negative: killed by that signal), and the beginning of what it printed."""

    status: int
    output: str


def how_it_ended(status: int) -> str:
    """How a program with this exit status ended, as the end of a sentence."""
    return f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"


class Program:
    """A program that runs, with this on its stdin. Raises OSError where it can't be started. `kill` is thread-safe.

    What it prints on stdout and stderr is kept together. `wait` must be called.
    """

    def __init__(self, arguments: Sequence[str], *, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> None:
        ours, self._theirs = os.pipe()
        self._output = bytearray()
        self._has_ended = False
        self._reader = threading.Thread(target=self._read, args=(ours,), name="program", daemon=True)
        try:
            self._reader.start()  # first: without it, a program would run that nobody waits for
        except RuntimeError as error:
            os.close(ours)
            os.close(self._theirs)
            raise OSError(errno.EAGAIN, "the system has no thread for it now") from error
        try:
            with tempfile.TemporaryFile() as given:  # no pipe, which it might never read
                given.write(stdin)
                given.seek(0)
                self._process = subprocess.Popen(
                    list(arguments),
                    stdin=given,
                    stdout=self._theirs,
                    stderr=subprocess.STDOUT,
                    env=None if env is None else {**os.environ, **env},
                    start_new_session=True,  # a group of its own, which is killed as one
                    creationflags=NO_WINDOW,
                )
        except BaseException:
            os.close(self._theirs)  # and so the reader ends
            raise

    def wait(self, seconds: float) -> Exit:
        """Wait for its end. Raises TimeoutError where it takes longer, after killing it."""
        try:
            status = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(LAST_WORDS)
            raise TimeoutError from None
        finally:
            self._end_reading()
        return Exit(status, self._output.decode("utf-8", "replace"))

    def kill(self) -> None:
        """End it and its children at once."""
        kill_tree(self._process)

    def _end_reading(self) -> None:
        """Have the reader end, even where a child that the program left running holds its output open."""
        self._has_ended = True
        with suppress(OSError):
            os.write(self._theirs, _END)
        os.close(self._theirs)
        self._reader.join(LAST_WORDS)

    def _read(self, ours: int) -> None:
        with open(ours, "rb", buffering=0) as pipe:
            while piece := pipe.read(LONGEST_OUTPUT):
                told, end, _ = piece.partition(_END) if self._has_ended else (piece, b"", b"")
                self._output += told[: LONGEST_OUTPUT - len(self._output)]
                if end:
                    return


def of_windows(name: str) -> str:
    """The path of Windows' own program: by its name alone, one in the current folder would come first."""
    return rf"{os.environ['SYSTEMROOT']}\System32\{name}.exe"


if sys.platform == "win32":

    def kill_tree(process: subprocess.Popen[bytes]) -> None:
        """End a process and its children at once."""
        if process.poll() is None:
            subprocess.run(
                [of_windows("taskkill"), "/F", "/T", "/PID", str(process.pid)],
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
