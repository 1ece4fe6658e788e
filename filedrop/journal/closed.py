"""Whether the journal's file is as its last daemon closed it, so that a start need not check it.

At its end, a daemon notes the file's identity, size and time in a file beside it. A daemon that starts takes this note
away first, durably: after a kill or a power cut there is none. A file that anything else has changed since, such as a
copy that was put in its place, doesn't match the note.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from filedrop.files import Directory

if TYPE_CHECKING:
    from pathlib import Path

NOTE = "closed"  # the end of its name


def note_closed(path: Path) -> None:
    """Note that the journal at `path` was closed. Where that fails, the next start checks it."""
    with suppress(OSError):
        note = _note_of(path)
        note.touch(0o600)  # as the journal: nobody else writes it, whatever the umask is
        note.write_text(_state_of(path), "ascii")


def take_closed(path: Path) -> bool:
    """Whether the journal at `path` is new, or as it was when it was closed. Its note is taken away."""
    note = _note_of(path)
    try:
        is_new = not path.exists() or not path.stat().st_size
        is_same = note.exists() and note.read_text("ascii") == _state_of(path)
        if note.exists():
            note.unlink()
            Directory.open(path.parent).sync()
    except (OSError, UnicodeDecodeError):
        return False
    return is_new or is_same


def _note_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-{NOTE}")


def _state_of(path: Path) -> str:
    """The file's identity, size and time, and the size of what was committed but isn't in it yet (-wal)."""
    status, wal = path.stat(), path.with_name(f"{path.name}-wal")
    return (
        f"{status.st_dev} {status.st_ino} {status.st_size} {status.st_mtime_ns} {wal.exists() and wal.stat().st_size}"
    )
