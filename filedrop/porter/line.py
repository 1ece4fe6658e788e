"""The porter's process as we see it, the lines to it, and what is said on them."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import socket
import struct
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection

    from filedrop.login import Login


_MOST_FILES = 253  # that Linux hands over at once (SCM_MAX_FD)
_AT_ONCE = getattr(socket, "MSG_DONTWAIT", 0)
_LENGTH = struct.Struct("!I")  # how many bytes are said


class Gone(Exception):
    """The porter has ended, or this line to it has; `asked`: it may have heard the question."""

    def __init__(self, *, asked: bool) -> None:
        super().__init__()
        self.asked = asked


class Process:
    """The porter's process, as we see it. Raises OSError when it can't be started."""

    def __init__(self, login: Login) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self._ready = False
        self._lock = threading.Lock()
        with theirs:
            # A stop is said to each process of a service, and Ctrl-C to each of a terminal: the porter ends with us.
            before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
            try:
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-m", __package__, str(theirs.fileno())],
                    env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    pass_fds=[theirs.fileno()],
                )
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
        say(self._control, login)

    def ready(self) -> bool:
        """Has it said that it is there?"""
        if not self._ready:
            with self._lock, contextlib.suppress(OSError):  # it has said nothing yet, or it never will
                self._ready = self._ready or bool(self._control.recv(1, _AT_ONCE))
        return self._ready

    def line(self) -> Line:
        """A new line to it."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with theirs, contextlib.suppress(OSError):  # nobody there: who asks on it will know
            say(self._control, None, [theirs.fileno()])
        return Line(self, ours)

    def end(self) -> None:
        """See that it ends."""
        self._control.close()
        self._process.kill()
        self._process.wait()

    def status(self) -> int | None:
        """What it ended with, if it has."""
        return self._process.poll()


class Line:
    """One thread's line to the porter: a question, an answer. `closed`: the keys of what isn't wanted any more."""

    def __init__(self, process: Process, ours: socket.socket) -> None:
        self.process = process
        self.closed: list[int] = []
        self._socket = ours

    def ask(self, errand: str, about: dict[str, Any], files: list[int]) -> Any:
        """Ask, and wait for what is said. Raises Gone."""
        asked = False
        try:
            say(self._socket, (self.closed, errand, about), files)
            asked = True
            self.closed = []
            return hear(self._socket)[0]
        except BaseException as error:
            self._socket.close()  # else what is said yet would be taken for the answer to the next question
            if isinstance(error, OSError | EOFError):
                raise Gone(asked=asked) from None
            raise


def say(to: socket.socket, what: object, files: Collection[int] = ()) -> None:
    """Say something, and hand over open files with it. Raises OSError."""
    said = pickle.dumps(what)
    said = _LENGTH.pack(len(said)) + said
    sent = socket.send_fds(to, [said], files)
    if sent < len(said):
        to.sendall(said[sent:])


def hear(at: socket.socket) -> tuple[Any, list[int]]:
    """What is said, and the files that come with it. Raises EOFError at the end."""
    begun, files, _, _ = socket.recv_fds(at, _LENGTH.size, _MOST_FILES)
    (length,) = _LENGTH.unpack(_whole(at, begun, _LENGTH.size))
    return pickle.loads(_whole(at, b"", length)), files  # noqa: S301 - said by ourselves


def _whole(at: socket.socket, begun: bytes, size: int) -> bytes:
    # MSG_WAITALL alone returns less when the process is stopped and goes on.
    while len(begun) < size:
        heard = at.recv(size - len(begun), socket.MSG_WAITALL)
        if not heard:
            raise EOFError
        begun += heard
    return begun
