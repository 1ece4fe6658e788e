"""A real connection pooler before a server of tests: Debian's PgBouncer, on a socket in the server's folder."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.postgres import Server

PORT = 6432  # the name of its socket
PROGRAM = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
# `auth_type = any` takes the server's user from here.
_SETTINGS = """
[databases]
* = host={folder} user=filedrop
[pgbouncer]
listen_addr =
unix_socket_dir = {folder}
listen_port = {port}
auth_type = any
pool_mode = {mode}
logfile = {folder}/pgbouncer.log
"""


@contextmanager
def pooler(server: Server, mode: str) -> Iterator[str]:
    """PgBouncer in this mode, until the end of the context: the host and the port in a database's address."""
    assert PROGRAM
    settings, path = server.folder / "pgbouncer.ini", server.folder / f".s.PGSQL.{PORT}"
    settings.write_text(_SETTINGS.format(folder=server.folder, port=PORT, mode=mode))
    process = subprocess.Popen([PROGRAM, "-q", settings], **server.as_user)
    try:
        while not _listens(path):
            assert process.poll() is None, (server.folder / "pgbouncer.log").read_text()
            time.sleep(0.01)
        yield f"?host={server.folder}&port={PORT}"
    finally:
        process.kill()
        process.wait()
        path.unlink(missing_ok=True)


def _listens(path: Path) -> bool:
    """Whether a server accepts connections here: its socket is there a moment before that."""
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(str(path)) == 0
