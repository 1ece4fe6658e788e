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
import time
from pathlib import Path
from typing import TYPE_CHECKING

from filedrop.errors import Unanswered
from filedrop.files import changed_at, open_regular
from filedrop.files.disk import is_local
from filedrop.files.rights import explain
from filedrop.texts.printable import composed, listed, looks_like

if TYPE_CHECKING:
    from collections.abc import Sequence

PATIENCE = 5.0  # seconds for a table to answer; one of the largest takes 2 to be read
LARGEST = 20_000_000  # bytes: half a million customers
_SHOWN = 10  # columns of a header in a complaint
_NO_NAME = re.compile(r"[0-9]{4}:\w|urn:")  # how ids begin, and no column's name does


class Table:
    """A CSV file of keys and values, read again when it changes. For any thread.

    `columns`: the headers of the columns with keys and values; None for a file that has only these two. UTF-8;
    separated by comma, semicolon or tab, whichever the header has.

    The file is first used when it has not changed for `settle` seconds, so that nobody is sent a document by one that
    is half written. What was read before a file that can't be read now is still in use; but not while it is `silent`:
    nobody knows what it says now. `fault`: what was wrong with the file when it was last looked at, in a sentence.
    """

    def __init__(self, path: Path, columns: tuple[str, str] | None = None, *, settle: float = 0.0) -> None:
        self.path = path
        self.columns = columns
        self.settle = settle
        self._stamp: tuple[int, ...] | None = None
        self._seen: tuple[tuple[int, ...] | None, float] = None, 0.0  # a stamp, and since when the file has had it
        self._was_read = False
        self._header: Sequence[str] = ()
        self._entries: dict[str, str] = {}
        self._composed: dict[str, str] = {}  # by the keys that have letters in two forms
        self.fault = ""
        self._looking = threading.Lock()
        self._late: threading.Thread | None = None  # that took too long

    @property
    def silent(self) -> bool:
        """Whether its present content is unknown."""
        return self._late is not None and self._late.is_alive()

    @property
    def is_settling(self) -> bool:
        """Whether the file may be whole, but is not used yet, since it was written just now."""
        return not (self.silent or self._was_read or self.fault)

    @property
    def trouble(self) -> str:
        """What is wrong with the file as it is now, in a sentence; "" for nothing."""
        if self.silent:
            return f"{self.path} doesn't answer: documents that need it wait; check whether its server is running"
        if self.fault and not self._was_read:
            return f"{self.fault}. Until then, documents that need it wait"
        return self.fault

    @property
    def doubt(self) -> str:
        """Why its first row is hardly a header, or nothing is below it, in a sentence; "" where all may be well."""
        if self.fault or not self._was_read:
            return ""
        key, value = self._header if self.columns is None and len(self._header) == 2 else ("", "")  # noqa: PLR2004
        if not (key.isdecimal() or _NO_NAME.match(value) or (value and value in self._entries.values())):
            return "" if self._entries else f"{self.path} has no entries below its header; check that it is complete"
        named = "write a row with the columns' names above it, like key,value"
        return f"{self.path}: line 1 ({key}, {value}) looks like an entry, and is taken for the header; {named}"

    def get(self, key: str) -> str:
        """The value for a key, "" if there is none. Raises Unanswered."""
        self.await_answer(self.ask(), PATIENCE)
        if self.silent or (self.fault and not self._was_read):
            raise Unanswered(f"the table {self.trouble}")
        found = self._find(key)
        if not self._was_read or (found is None and not self._has_settled()):
            raise Unanswered(f"the table {self.path} was written just now, and may not be whole yet")
        return found or ""

    def why_not(self, key: str) -> str:
        """Why it has no value for this key: the rest of a sentence that begins with its name."""
        if self._find(key) is not None:
            return f'has "{key}", but its {self.columns[1] if self.columns else "value"} is empty'
        if self._header and self.columns is None and key.strip() == self._header[0]:
            return f'has no "{key}" below its first row, which is taken for the header'
        return f'has no "{key}"' + (f", as it was last read: {self.fault}" if self.fault else "")

    def ask(self) -> threading.Thread:
        """Have it read if it has changed; what does so is for `await_answer`."""
        if self._late is not None and self._late.is_alive():
            return self._late
        thread = threading.Thread(target=self._look, name=f"table {self.path.name}", daemon=True)
        thread.start()
        return thread

    def await_answer(self, asked: threading.Thread, patience: float) -> None:
        """Wait so many seconds for what `ask` has begun; not where others wait in vain."""
        asked.join(0.0 if self.silent else patience)
        if asked.is_alive():
            self._late = asked

    def _find(self, key: str) -> str | None:
        wanted = key.strip()
        return self._entries.get(wanted, self._composed.get(composed(wanted)))

    def _has_settled(self) -> bool:
        return time.monotonic() - self._seen[1] >= self.settle

    def _look(self) -> None:
        with self._looking:
            self._read()

    def _read(self) -> None:
        stamp = None
        try:
            path = Path(os.path.realpath(self.path, strict=True))  # a link may lead to it, but to a regular file only
            stamp = self._look_at(path)
            if stamp == self._stamp:
                return
            if not self._was_read and not self._has_settled():
                self.fault = ""
                return
            with open_regular(path) as file:
                content = file.read(LARGEST + 1)
            header, entries = _parsed(content, self.columns)
            if self._look_at(path) != stamp:  # it was written meanwhile: the next look reads it
                return
            if self._entries and not entries:  # as after an export that has failed; a restart would believe it
                raise ValueError(
                    "no entries are left below its header; write them again, or restart filedrop if none is right"
                )
            self._header, self._entries = header, entries
            self._composed = {composed(key): value for key, value in entries.items() if not key.isascii()}
            self.fault, self._stamp, self._was_read = "", stamp, True
        except OSError as error:
            self.fault = f"{self.path} can't be read: {explain(error, self.path)}"
            self._stamp = None  # the same file may come back
        except UnicodeDecodeError:
            self.fault, self._stamp = f"{self.path} is not in UTF-8; save it as CSV UTF-8", stamp
        except (ValueError, csv.Error) as error:
            self.fault, self._stamp = f"{self.path}: {error}", stamp

    def _look_at(self, path: Path) -> tuple[int, ...]:
        """The file's stamp. Notes since when the file has had it."""
        status = path.stat()
        stamp = (status.st_ino, status.st_mtime_ns, status.st_size)
        if stamp != self._seen[0]:
            # A server's clock may differ from ours: there, the time counts from this look on.
            unchanged = max(0.0, time.time() - changed_at(status)) if is_local(path) else 0.0
            self._seen = stamp, time.monotonic() - unchanged
        return stamp


def _parsed(content: bytes, columns: tuple[str, str] | None) -> tuple[Sequence[str], dict[str, str]]:
    """The header, and the entries below it."""
    if len(content) > LARGEST:
        raise ValueError(f"it has more than {LARGEST // 10**6} MB; write a smaller one, with fewer rows")
    text = content.decode("utf-8-sig")
    first = text.partition("\n")[0]
    if not first.strip():  # as a file is that somebody has just begun to write
        raise ValueError("line 1 is empty; write a header row, and the rows with keys and values below it")
    if not text.endswith("\n"):  # its value may be the beginning of one
        raise ValueError("its last line has no end; see that it is whole, and end the line")
    delimiter = max(",;\t", key=first.count)
    entries: dict[str, str] = {}
    rows = csv.reader(io.StringIO(text), delimiter=delimiter, strict=True)
    header = [cell.strip() for cell in next(rows, [])]
    key_at, value_at = (_index_of(column, header) for column in columns) if columns else (0, 1)
    wanted = len(header) if columns else 2
    for row in rows:
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != wanted:
            what = f"as many as line 1, {wanted}" if columns else "two, a key and a value"
            raise ValueError(f"line {rows.line_num} has {len(row)} columns; write {what}")
        key, value = row[key_at].strip(), row[value_at].strip()
        known = entries.get(key, "")
        if known and value and known != value:
            raise ValueError(f'line {rows.line_num}: "{key}" is there twice, with different values; keep one')
        if key:
            entries[key] = known or value
    return header, entries


def _index_of(column: str, header: Sequence[str]) -> int:
    """Where a column is. Raises ValueError where the header has none with this name, or several."""
    places = [place for place, name in enumerate(header) if looks_like(name, column)]
    if not places:
        more = f" and {len(header) - _SHOWN} more" if len(header) > _SHOWN else ""
        raise ValueError(
            f'line 1 has no column "{column}"; it has {listed(header[:_SHOWN])}{more}. Name the column as line 1 does'
        )
    if len(places) > 1:
        raise ValueError(f'line 1 has the column "{column}" {len(places)} times; give each column a name of its own')
    return places[0]
