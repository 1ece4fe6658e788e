"""Connections to the journal's file, none of which checkpoints by itself.

SQLite from 3.7.0 to 3.51.2 can damage a file in WAL mode where one connection writes while another checkpoints (the
"WAL-reset bug", sqlite.org/wal.html). Debian 12 has 3.40.1. So a checkpoint happens in two places: in `Store`, which
keeps all writers out meanwhile, and where SQLite closes the last connection, which has the file for itself.

SQLite applies the -wal of another file to a copy that was put in its place, and damages it
(tests/findings/sqlite-wal.sh).
"""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

SHRINK = "PRAGMA incremental_vacuum(500)"  # pages
QUICK_CHECK = "PRAGMA quick_check(1)"
CHECKPOINT = "PRAGMA wal_checkpoint(PASSIVE)"
UNUSED = "PRAGMA freelist_count"
TABLES = "SELECT name FROM sqlite_master WHERE type = 'table'"
_LARGEST_WAL = 8 * 2**20  # bytes of the -wal that are kept for the next writes, when it begins anew
_READ_VERSION = 19  # its offset in the file's header (sqlite.org/fileformat2.html)
_WITHOUT_WAL = b"\x01"


class FileConnection(sqlite3.Connection):
    """A connection to a journal's file, as the engine's parts use one."""

    def execute_each(self, statement: str, rows: Sequence[Mapping[str, Any]], /) -> list[int]:
        """Run a statement for each of these values; how many rows each time has written."""
        return [self.execute(statement, row).rowcount for row in rows]


def connect(path: Path, *, patience: float = 5.0) -> FileConnection:
    """A connection that waits so many seconds for another's lock, and commits each statement by itself.

    It may be used by any thread, by one at a time. Raises sqlite3.Error.
    """
    connection = sqlite3.connect(
        path, timeout=patience, check_same_thread=False, isolation_level=None, factory=FileConnection
    )
    connection.execute("PRAGMA wal_autocheckpoint=0")
    connection.execute(f"PRAGMA journal_size_limit={_LARGEST_WAL}")
    return connection


def clear_strange_wal(path: Path) -> None:
    """Remove the -wal and -shm beside a copy of the journal, which has none: they belong to the file before it.

    A journal in use is always in WAL mode, and a copy (`Copies.copy_to`) never. Raises OSError where one can't be
    removed; a file that can't be read is left to SQLite.
    """
    header = b""
    with suppress(OSError), path.open("rb") as file:
        header = file.read(_READ_VERSION + 1)
    if header[_READ_VERSION:] == _WITHOUT_WAL:
        for end in ("-wal", "-shm"):
            path.with_name(f"{path.name}{end}").unlink(missing_ok=True)
