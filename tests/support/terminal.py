"""Commands on a terminal of a given width, and what stands on it then, without its colours (not on Windows)."""

from __future__ import annotations

import os
import re
import struct
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def on_terminal(
    *command: str,
    columns: int = 80,
    environment: Mapping[str, str] = os.environ,
    keys: Sequence[str] = (),
    prompt: bytes = b"",
) -> str:
    """Run a command to its end on a terminal with so many columns; its output, line by line.

    The `keys` are pressed one after the other, each when the `prompt` has come once more.
    """
    import fcntl  # noqa: PLC0415 - Windows has none of these
    import pty  # noqa: PLC0415
    import termios  # noqa: PLC0415

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    environment = {key: value for key, value in environment.items() if key not in ("COLUMNS", "LINES")}
    with subprocess.Popen(
        command,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment | {"TERM": "xterm"},
        start_new_session=bool(keys),  # a shell that is typed into has no other terminal
    ) as process:
        os.close(theirs)
        said, pressed = b"", 0
        with suppress(OSError):  # EIO: nobody has it open any more
            while chunk := os.read(ours, 1 << 16):
                said += chunk
                if pressed < len(keys) and said.count(prompt) > pressed:
                    os.write(ours, keys[pressed].encode())
                    pressed += 1
        os.close(ours)
        process.wait()
    return _ESCAPE.sub("", said.decode()).replace("\r\n", "\n")
