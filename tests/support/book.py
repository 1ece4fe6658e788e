"""What an access point holds of acme's, for whoever looks at each step: read again only when something was written.

Whether something was, SQLite says (`PRAGMA data_version`: has another connection committed?).
"""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING

from filedrop.sandbox.message import Direction, Search

if TYPE_CHECKING:
    from filedrop.sandbox import Message, Store

BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


class Book:
    """The messages of a store. By number: `all`, `sent`, which go out, and `inbox`, which came and are unread."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._database = sqlite3.connect(store._file, isolation_level=None)
        self._version = -1
        self.all: dict[int, Message] = {}
        self.sent: dict[int, Message] = {}
        self.inbox: dict[int, Message] = {}
        self.content = cache(store.content)  # a message's document never changes

    def look(self) -> None:
        """Read again what was written since the last look."""
        now = (self._store._clock() - BEGINNING) // timedelta(milliseconds=1)
        if self._database.execute("SELECT EXISTS (SELECT 1 FROM messages WHERE due <= ?)", (now,)).fetchone()[0]:
            self._store.deliver()  # the network moves when somebody looks
        (version,) = self._database.execute("PRAGMA data_version").fetchone()
        if version == self._version:
            return
        self._version = version
        self.all = {message.msg_no: message for message in self._store._found("acme", Search())}
        of = {way: {no: one for no, one in self.all.items() if one.direction is way} for way in Direction}
        self.sent = of[Direction.OUT]
        self.inbox = {no: one for no, one in of[Direction.IN].items() if one.listed}

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()
