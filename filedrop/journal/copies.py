"""Copies of the journal: as of one moment, checked, and in one file each."""

from __future__ import annotations

import os
import re
import secrets
import sqlite3
from contextlib import closing, suppress
from typing import TYPE_CHECKING

from filedrop.errors import FiledropError
from filedrop.files import Directory, place
from filedrop.files.disk import free_space
from filedrop.journal import statements
from filedrop.journal.connection import QUICK_CHECK, connect
from filedrop.journal.sqlite import copies_folder
from filedrop.texts.printable import one_line, size

if TYPE_CHECKING:
    from datetime import date
    from pathlib import Path

    from filedrop.journal.sqlite import Sqlite

LONGEST_SAID = 500  # characters of an error
KEPT = 7  # daily copies
_DAILY = re.compile(r"journal-\d{4}-\d\d-\d\d\.sqlite")


class Copies:
    """Makes copies of a journal's file."""

    def __init__(self, file: Sqlite) -> None:
        self._file = file

    @property
    def folder(self) -> Path:
        """The folder of the daily copies."""
        return copies_folder(self._file.path)

    def copy_to(self, target: Path) -> None:
        """Copy the journal as it is at one moment to a new file, which is whole and checked once it exists.

        The copy counts as older than all folders, also those of a share that was copied at the same moment: what waits
        in either may have been sent since. Raises OSError, and JournalError where the journal is damaged.
        """
        draft = target.with_name(f".{secrets.token_hex(13)}.tmp")  # nobody can guess it, and put a link there
        try:
            os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            self._copy(draft)
            folder = Directory.open(target.absolute().parent)
            place(folder / draft.name, folder / target.name)
            folder.sync()
        finally:
            draft.unlink(missing_ok=True)

    def _copy(self, draft: Path) -> None:
        with self._file.unread() as source, closing(connect(draft)) as copy:
            try:
                source.backup(copy)
                copy.execute(statements.SUSPECT_ALL)
                copy.execute("PRAGMA journal_mode=DELETE")  # a copy is one file
                ((found,),) = copy.execute(QUICK_CHECK)
            except sqlite3.Error as error:
                found = error
        if found != "ok":
            self._file.check_integrity()  # the journal's own damage was copied, or the copy alone is bad
            raise OSError(None, one_line(found, LONGEST_SAID))

    def copy_daily(self, day: date, *, spare: int) -> bool:
        """Have a copy of this day in `copies_folder`, and the newest of the days before. Returns whether it is new.

        There is none where less than `spare` bytes would be left on the disk. Raises FiledropError, JournalError,
        OSError; then the older copies stay.
        """
        folder = self.folder
        target = folder / f"journal-{day.isoformat()}.sqlite"
        folder.mkdir(mode=0o700, exist_ok=True)
        for draft in folder.glob(".*.tmp*"):  # a killed process has left it, or what SQLite had beside it
            draft.unlink()
        if target.exists():
            return False
        needed = sum(
            path.stat().st_size
            for path in (self._file.path, *self._file.path.parent.glob(f"{self._file.path.name}-wal"))
        )
        free = free_space(folder)
        if free is not None and free < needed + spare:
            raise FiledropError(
                f"there is no room for a copy of the journal ({size(needed)}) on the disk of {folder}, which has "
                f"{size(free)} left: make room there"
            )
        self.copy_to(target)
        daily = sorted(path for path in folder.iterdir() if _DAILY.fullmatch(path.name))
        for path in daily[:-KEPT]:
            with suppress(OSError):  # the next day tries again
                path.unlink()
        return True

    def newest_copy(self) -> Path | None:
        """The newest daily copy; None where there is none."""
        with suppress(OSError):
            return max((path for path in self.folder.iterdir() if _DAILY.fullmatch(path.name)), default=None)
        return None
