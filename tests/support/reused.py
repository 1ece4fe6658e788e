"""Access points that one world after another uses: to make one takes longer than to empty it.

What is made once is what doesn't depend on a world: the application, its statements, the tables. They are kept in a
folder of the process, since the folder of a world goes with it.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filedrop.sandbox import Sandbox

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from filedrop.sandbox import SandboxAccount


class Shelf:
    """Access points below `folder`, by what they were made with; those that a world is done with are `put_back`."""

    def __init__(self, folder: Path | None) -> None:
        self._below = folder
        self._folder: Path | None = None
        self._idle: dict[str, list[_Reused]] = defaultdict(list)

    def take(
        self, _state: Path, accounts: Sequence[SandboxAccount], *, clock: Callable[[], datetime], **keys: Any
    ) -> Sandbox:
        """An access point that holds nothing. It is called as `Sandbox` is."""
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="filedrop-points-", dir=self._below))
            atexit.register(shutil.rmtree, self._folder, ignore_errors=True)
        kind = repr((accounts, keys))
        if not self._idle[kind]:
            return _Reused(Path(tempfile.mkdtemp(dir=self._folder)), kind, accounts, clock, keys)
        reused = self._idle[kind].pop()
        reused.world_clock = clock
        reused.empty()
        return reused

    def put_back(self, servers: Sequence[Sandbox]) -> None:
        """They may be taken again."""
        for server in servers:
            assert isinstance(server, _Reused)
            self._idle[server.kind].append(server)


class _Reused(Sandbox):
    def __init__(
        self,
        state: Path,
        kind: str,
        accounts: Sequence[SandboxAccount],
        clock: Callable[[], datetime],
        keys: dict[str, Any],
    ) -> None:
        self.kind = kind
        self.world_clock = clock
        super().__init__(state, accounts, clock=self._now, **keys)

    def _now(self) -> datetime:
        return self.world_clock()

    def empty(self) -> None:
        """Forget every message, so that numbers begin with 1 again."""
        with self.store._writing() as connection:
            connection.execute("DELETE FROM messages")
        for document in self.store._documents.iterdir():
            document.unlink()
