"""Log lines with fields of their own in systemd's journal (native protocol: systemd.io/JOURNAL_NATIVE_PROTOCOL).

`journalctl FILEDROP_COMPANY=acme` and `-p warning` find them. Where the journal doesn't read us, nothing is sent.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

    from filedrop.model.log import Facts, Level

SOCKET = Path("/run/systemd/journal/socket")
PRIORITIES = {"debug": 7, "info": 6, "warning": 4, "error": 3}  # syslog(3)


def sender(stream: TextIO, *, journal: Path = SOCKET) -> Callable[[str, Level, Facts], bool] | None:
    """Sends a line with its facts to the journal, if the journal is who reads `stream`.

    Returns whether the journal took it: it takes no line that is too long for a datagram.
    """
    if not hasattr(socket, "AF_UNIX") or not _is_read_by_journal(stream):
        return None
    to = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    to.settimeout(0)  # nothing waits for the journal

    def send(line: str, level: Level, event: Facts) -> bool:
        fields = {f"FILEDROP_{name.upper()}": fact for name, fact in event.items() if name != "timestamp"}
        fields |= {"MESSAGE": line, "PRIORITY": PRIORITIES[level], "SYSLOG_IDENTIFIER": "filedrop"}
        try:
            to.sendto(b"".join(_field(name, str(fact)) for name, fact in fields.items()), str(journal))
        except OSError:
            return False
        return True

    return send


def _is_read_by_journal(stream: TextIO) -> bool:
    """Whether JOURNAL_STREAM names this stream (systemd.exec(5)): it may have been redirected since the start."""
    try:
        status = os.fstat(stream.fileno())
    except (OSError, ValueError):
        return False
    return os.environ.get("JOURNAL_STREAM") == f"{status.st_dev}:{status.st_ino}"


def _field(name: str, told: str) -> bytes:
    text = told.encode("utf-8", "backslashreplace")
    return name.encode() + b"\n" + len(text).to_bytes(8, "little") + text + b"\n"
