"""What an access point holds of acme's, for whoever looks at each step: read again only when something was written.

Whether something was, SQLite says (`PRAGMA data_version`: has another connection committed?).
"""

from __future__ import annotations

import sqlite3
from functools import cache
from typing import TYPE_CHECKING

from filedrop.sandbox.message import Direction, Search

if TYPE_CHECKING:
    from filedrop.sandbox import Message, Store


class Book:
    """The messages of a store. `sent`, `inbox`: by number, those that go out, and those that came and are unread."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._database = sqlite3.connect(str(store._engine.url.database), isolation_level=None)
        self._version = -1
        self._all: dict[int, Message] = {}
        self._sent: dict[int, Message] = {}
        self._inbox: dict[int, Message] = {}
        self.content = cache(store.content)  # a message's document never changes

    @property
    def sent(self) -> dict[int, Message]:
        self._look()
        return self._sent

    @property
    def inbox(self) -> dict[int, Message]:
        self._look()
        return self._inbox

    def message(self, msg_no: int) -> Message | None:
        """The message of that number."""
        self._look()
        return self._all.get(msg_no)

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()

    def _look(self) -> None:
        self._store.deliver()  # the network moves when somebody looks
        (version,) = self._database.execute("PRAGMA data_version").fetchone()
        if version == self._version:
            return
        self._version = version
        self._all = {message.msg_no: message for message in self._store._found("acme", Search())}
        of = {way: {no: one for no, one in self._all.items() if one.direction is way} for way in Direction}
        self._sent = of[Direction.OUT]
        self._inbox = {no: one for no, one in of[Direction.IN].items() if one.listed}
