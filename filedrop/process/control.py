"""What the process is asked from outside: to stop, or to take up a changed configuration."""

from __future__ import annotations

import _thread
import os
import signal
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType


class Control:
    """The requests to a daemon. Thread-safe; `ask_reload` is safe in signal handlers, too."""

    def __init__(self) -> None:
        self.stopped = threading.Event()
        self._is_reload_asked = False  # no event: its lock may be held by what a signal interrupts

    def ask_reload(self) -> None:
        """Ask for a reload; the daemon looks for that each second."""
        self._is_reload_asked = True

    def pop_reload(self) -> bool:
        """Whether a reload was asked for since the last call."""
        was_asked, self._is_reload_asked = self._is_reload_asked, False
        return was_asked


def stop_on_signals(stopped: threading.Event) -> None:
    """Let SIGTERM, SIGINT and Windows' SIGBREAK set the event; a second signal exits at once, which is safe."""

    def stop(number: int, _frame: FrameType | None) -> None:
        if stopped.is_set():
            os._exit(128 + number)
        # By another thread: the event's lock may be held by what the signal interrupts.
        _thread.start_new_thread(stopped.set, ())

    for name in ("SIGTERM", "SIGINT", "SIGBREAK"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), stop)


def reload_on_signal(control: Control) -> None:
    """Let SIGHUP ask for a reload, where the system has that."""
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, lambda _number, _frame: control.ask_reload())
