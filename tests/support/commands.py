"""Commands that run in this process, which spares each test a start of Python and its libraries."""

from __future__ import annotations

import logging
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from click.testing import CliRunner

from filedrop.cli import filedrop as group

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.world import World

SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK") if hasattr(signal, name)]


def run_here(*words: str) -> subprocess.CompletedProcess[str]:
    """Run `filedrop WORDS` to its end. Whatever isn't told as a sentence is raised."""
    with _given_back():
        done = CliRunner(env={"FILEDROP_CONFIG": None}).invoke(group, list(words))
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return subprocess.CompletedProcess(words, done.exit_code, done.stdout, done.stderr)


@contextmanager
def _given_back() -> Iterator[None]:
    """What `run` takes over in its process is as before: signals, the log of libraries, and errors nobody caught."""
    root = logging.getLogger()
    signals = {number: signal.getsignal(number) for number in SIGNALS}
    hooks, handlers = (sys.excepthook, sys.unraisablehook, threading.excepthook), root.handlers
    try:
        yield
    finally:
        sys.excepthook, sys.unraisablehook, threading.excepthook = hooks
        if root.handlers is not handlers:
            root.handlers = handlers
            logging.captureWarnings(capture=False)
        for number, handler in signals.items():
            if signal.getsignal(number) is not handler:
                signal.signal(number, handler)


@dataclass(frozen=True)
class Said:
    """What a command ended with and said: on either stream, without the breaks of its lines; and its whole stdout."""

    status: int
    says: str
    output: str


def ask(world: World, *arguments: str) -> Said:
    """Run a command by the world's configuration."""
    done = run_here("--config", str(world.config_file()), *arguments)
    return Said(done.returncode, " ".join(f"{done.stdout} {done.stderr}".split()), done.stdout)
