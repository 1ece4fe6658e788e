"""Log lines with fields of their own in systemd's journal (native protocol: systemd.io/JOURNAL_NATIVE_PROTOCOL).

`journalctl FILEDROP_COMPANY=acme` and `-p warning` find them. Where the journal doesn't read us, nothing is sent.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filedrop.process.without_rich import structlog

if TYPE_CHECKING:
    from collections.abc import MutableMapping
    from typing import TextIO

SOCKET = Path("/run/systemd/journal/socket")
PRIORITIES = {"debug": 7, "info": 6, "warning": 4, "error": 3}  # syslog(3)


def with_fields(
    render: structlog.typing.Processor, stream: TextIO, *, journal: Path = SOCKET
) -> structlog.typing.Processor:
    """A renderer that sends the rendered line and its facts to the journal, if that is who reads `stream`.

    A line that the journal doesn't take, because it is too long for a datagram, is written to the stream.
    """
    if not hasattr(socket, "AF_UNIX") or not _is_read_by_journal(stream):
        return render
    to = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    to.settimeout(0)  # nothing waits for the journal

    def send(logger: Any, method: str, event: MutableMapping[str, Any]) -> Any:
        fields = {f"FILEDROP_{name.upper()}": value for name, value in event.items() if name != "timestamp"}
        line = render(logger, method, event)
        priority = PRIORITIES.get(method, PRIORITIES["error"])
        fields |= {"MESSAGE": line, "PRIORITY": priority, "SYSLOG_IDENTIFIER": "filedrop"}
        try:
            to.sendto(b"".join(_field(name, str(value)) for name, value in fields.items()), str(journal))
        except OSError:
            return line
        raise structlog.DropEvent

    return send


def _is_read_by_journal(stream: TextIO) -> bool:
    """Whether JOURNAL_STREAM names this stream (systemd.exec(5)): it may have been redirected since the start."""
    try:
        status = os.fstat(stream.fileno())
    except (OSError, ValueError):
        return False
    return os.environ.get("JOURNAL_STREAM") == f"{status.st_dev}:{status.st_ino}"


def _field(name: str, value: str) -> bytes:
    text = value.encode("utf-8", "backslashreplace")
    return name.encode() + b"\n" + len(text).to_bytes(8, "little") + text + b"\n"
