"""Messages to systemd (sd_notify(3)): READY, STATUS, WATCHDOG, STOPPING. Without systemd, nothing is sent.

And where its units lie, and which of them is for a configuration.
"""

from __future__ import annotations

import contextlib
import os
import socket
from pathlib import Path

BOOTED = Path("/run/systemd/system")  # sd_booted(3)
ETC = Path("/etc/filedrop")  # config.yaml there is the only filedrop's, each other one an instance's
UNITS = Path("/etc/systemd/system")
VENDOR = Path("/usr/lib/systemd/system")
FOLDERS = (
    UNITS,
    Path("/run/systemd/system"),
    Path("/usr/local/lib/systemd/system"),
    VENDOR,
    Path("/lib/systemd/system"),
)
_SOCKET = "NOTIFY_SOCKET"


def instance_by(configuration: Path) -> str | None:
    """Which of several filedrops goes by this configuration, None for the only one."""
    if configuration.parent != ETC or configuration.stem == "config" or is_the_only_ones(configuration):
        return None
    return configuration.stem


def is_the_only_ones(configuration: Path) -> bool:
    """Whether a drop-in of filedrop.service, which has no instances, names this configuration."""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        texts = (
            file.read_text("utf-8") for folder in FOLDERS for file in (folder / "filedrop.service.d").glob("*.conf")
        )
        return any(f"FILEDROP_CONFIG={configuration}" in text for text in texts)
    return False


def notify(state: str) -> None:
    """Send a message to the service manager, such as `READY=1` or `STATUS=...`."""
    address = os.environ.get(_SOCKET, "")
    if not address or not hasattr(socket, "AF_UNIX"):
        return
    if address.startswith("@"):  # Linux's abstract sockets
        address = "\0" + address[1:]
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as to:
        to.sendto(state.encode(), address)


def watchdog_interval() -> float | None:
    """How often, in seconds, the service manager wants a sign of life: half of its time-out. None: it wants none."""
    microseconds = os.environ.get("WATCHDOG_USEC", "")
    if not microseconds.isdecimal() or os.environ.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return None
    return int(microseconds) / 2_000_000
