"""A table that mapping rules look things up in: a CSV file, read beside the work.

It may lie on a share that hangs, and whoever may write there may put anything in its place. So only threads of its own
touch it, and only a regular file of bounded size is read. Who asks waits a moment for the answer; where none comes, the
table is *silent*, and nobody waits for it again before it has answered.
"""

from __future__ import annotations

import csv
import io
import os
import re
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from filedrop.errors import Unanswered
from filedrop.files import open_regular
from filedrop.files.rights import explain
from filedrop.text import composed

if TYPE_CHECKING:
    from collections.abc import Sequence

PATIENCE = 5.0  # seconds for a table to answer; one of the largest takes 2 to be read
LARGEST = 20_000_000  # bytes: half a million customers
_COLUMNS = 2
_NO_NAME = re.compile(r"[0-9]{4}:\w|urn:")  # how ids begin, and no column's name does


class Table:
    """A CSV file of keys and values, read again when it changes. For any thread.

    Two columns below a header row; UTF-8; separated by comma, semicolon or tab, whichever the header has. What was read
    before a file that can't be read now is still in use; but not while it is `silent`: nobody knows what it says now.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp: tuple[int, ...] | None = None
        self._header: Sequence[str] = ()
        self._entries: dict[str, str] = {}
        self._composed: dict[str, str] = {}  # by the keys that have letters in two forms
        self._has_last_end = False  # has its last line an end, as it was last read?
        self._trouble = ""
        self._looking = threading.Lock()
        self._late: threading.Thread | None = None  # that took too long

    @property
    def silent(self) -> bool:
        """Does nobody know what it says now?"""
        return self._late is not None and self._late.is_alive()

    @property
    def trouble(self) -> str:
        """What is wrong with the file as it is now, in a sentence; "" for nothing."""
        if self.silent:
            return f"{self._path} doesn't answer: documents that need it wait; see whether its server is up"
        return self._trouble

    @property
    def doubt(self) -> str:
        """Why its first row is hardly a header, or nothing is below it, in a sentence; "" where all may be well."""
        key, value = self._header if len(self._header) == _COLUMNS else ("", "")
        if not (key.isdecimal() or _NO_NAME.match(value) or value in self._entries.values()):
            return "" if self._entries else f"{self._path} has no entries below its header; see that it is whole"
        named = "write a row with the columns' names above it, like key,value"
        return f"{self._path}: line 1 ({key}, {value}) looks like an entry, and is taken for the header; {named}"

    def get(self, key: str) -> str:
        """The value for a key, "" if there is none. Raises Unanswered."""
        self.await_answer(self.ask(), PATIENCE)
        if self.silent:
            raise Unanswered(f"the table {self.trouble}")
        wanted = key.strip()
        return self._entries.get(wanted) or self._composed.get(composed(wanted), "")

    def why_not(self, key: str) -> str:
        """What is to be known where it has no value for this key: the rest of a sentence, or ""."""
        if self._header and key.strip() == self._header[0]:
            return " below its first row, which is taken for the header"
        return f", as it was last read: {self._trouble}" if self._trouble else ""

    def ask(self) -> threading.Thread:
        """Have it read if it has changed; what does so is for `await_answer`."""
        if self._late is not None and self._late.is_alive():
            return self._late
        thread = threading.Thread(target=self._look, name=f"table {self._path.name}", daemon=True)
        thread.start()
        return thread

    def await_answer(self, asked: threading.Thread, patience: float) -> None:
        """Wait so many seconds for what `ask` has begun; not where others wait in vain."""
        asked.join(0.0 if self.silent else patience)
        if asked.is_alive():
            self._late = asked

    def _look(self) -> None:
        with self._looking:
            self._read()

    def _read(self) -> None:
        try:
            path = Path(os.path.realpath(self._path, strict=True))  # a link may lead to it, but to a regular file only
            status = path.stat()
            stamp = (status.st_ino, status.st_mtime_ns, status.st_size)
            if stamp == self._stamp:
                return
            with open_regular(path) as file:
                content = file.read(LARGEST + 1)
            parsed, has_last_end = _parsed(content), content.endswith(b"\n")
            if self._has_last_end and not has_last_end:  # its value may be the beginning of one
                raise ValueError("its last line has no end, as it had before; see that it is whole")
            (self._header, self._entries), self._has_last_end = parsed, has_last_end
            self._composed = {composed(key): value for key, value in self._entries.items() if not key.isascii()}
        except OSError as error:
            self._trouble = f"{self._path} can't be read: {explain(error, self._path)}"
            self._stamp = None  # the same file may come back
        except UnicodeDecodeError:
            self._trouble, self._stamp = f"{self._path} is not in UTF-8; save it as CSV UTF-8", stamp
        except (ValueError, csv.Error) as error:
            self._trouble, self._stamp = f"{self._path}: {error}", stamp
        else:
            self._trouble, self._stamp = "", stamp


def _parsed(content: bytes) -> tuple[Sequence[str], dict[str, str]]:
    """The header, and the entries below it."""
    if len(content) > LARGEST:
        raise ValueError(f"it has more than {LARGEST // 10**6} MB; write a smaller one, of a key and a value in a row")
    text = content.decode("utf-8-sig")
    first = text.partition("\n")[0]
    if not first.strip():  # as a file is that somebody has just begun to write
        raise ValueError("line 1 is empty; write a header row, and two columns below it: a key and a value")
    delimiter = max(",;\t", key=first.count)
    entries: dict[str, str] = {}
    rows = csv.reader(io.StringIO(text), delimiter=delimiter, strict=True)
    header = [cell.strip() for cell in next(rows, [])]
    for row in rows:
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != _COLUMNS:
            raise ValueError(f"line {rows.line_num} has {len(row)} columns; write two, a key and a value")
        key, value = (cell.strip() for cell in row)
        if entries.setdefault(key, value) != value:
            raise ValueError(f'line {rows.line_num}: "{key}" is there twice, with different values; keep one')
    return header, entries
