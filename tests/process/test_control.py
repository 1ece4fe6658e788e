"""What a process is asked by signals."""

from __future__ import annotations

import subprocess
import sys

AMID_A_WAIT = """
import signal, threading
from filedrop.process.control import stop_on_signals
stopped = threading.Event()
stop_on_signals(stopped)
with stopped._cond:  # as `wait` holds it for a moment, before and after it waits
    signal.raise_signal(signal.SIGINT)
print(stopped.wait(60))
"""


def test_a_signal_at_any_moment() -> None:
    """A stop is heard at whatever moment of the main thread's waiting its signal comes."""
    done = subprocess.run([sys.executable, "-c", AMID_A_WAIT], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("True", "")
