"""What systemd wants to hear (sd_notify(3)): READY, STATUS, WATCHDOG, STOPPING. Silent where nobody listens."""

from __future__ import annotations

import contextlib
import os
import socket

_SOCKET = "NOTIFY_SOCKET"


def notify(state: str) -> None:
    """Tell the service manager, e.g. `READY=1` or `STATUS=...`."""
    address = os.environ.get(_SOCKET, "")
    if not address or not hasattr(socket, "AF_UNIX"):
        return
    if address.startswith("@"):  # Linux's abstract sockets
        address = "\0" + address[1:]
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as to:
        to.sendto(state.encode(), address)


def watchdog_interval() -> float | None:
    """How often, in seconds, the manager wants a sign of life: half of what it would wait. None: not at all."""
    microseconds = os.environ.get("WATCHDOG_USEC", "")
    if not microseconds.isdecimal() or os.environ.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return None
    return int(microseconds) / 2_000_000
