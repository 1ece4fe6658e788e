"""Somebody who may write into one company's folders, and would like to do more with filedrop's rights than that.

What isn't the company's lies `elsewhere`: whatever is planted, that must stay as it is. `withdraw` takes back what was
planted, and leaves the folders as filedrop and the company's people had them.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from support.world import World

PLACES = ("sending", "sent", "archive", "failed")
FORGED = (
    {"delivered": 5, "msg_no": 10**30, "received": []},
    {"msg_no": 1, "history": "long", "claimed": "9999-12-31T23:59:59+00:00"},
    {"dropped_as": "../../elsewhere/secret.xml", "meaning": {}, "sha256": None},
)
"""What a sidecar may be made to say; it is said beside what the true one says."""


@dataclass
class Neighbour:
    """The neighbour of a world's only company. `secret` is a document that nobody is to touch or send."""

    world: World
    secret: bytes
    _undo: list[Callable[[], object]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.elsewhere = self.world.base / "elsewhere"
        self.elsewhere.mkdir(mode=0o700)
        (self.elsewhere / "secret.xml").write_bytes(self.secret)
        (self.elsewhere / "secret.xml").chmod(0o600)
        self._as_it_was = self._looks()

    def broken(self) -> Iterator[str]:
        """What was done elsewhere."""
        if (looks := self._looks()) != self._as_it_was:
            yield f"what lies elsewhere was {self._as_it_was}, and is {looks}"

    def _looks(self) -> dict[str, tuple[int, int, bytes]]:
        found = {}
        for path in (self.elsewhere, *sorted(self.elsewhere.rglob("*"))):
            status = path.lstat()
            content = path.read_bytes() if path.is_file() else b""
            found[path.name] = status.st_mode, status.st_gid, content
        return found

    def link_place(self, place: str) -> None:
        """Put a link to elsewhere in the place of one of filedrop's folders."""
        true, aside = self.world.outbound / place, self.world.outbound / f".{place} aside"
        if aside.exists() or true.is_symlink() or not true.is_dir():
            return
        true.rename(aside)
        true.symlink_to(self.elsewhere, target_is_directory=True)
        self._undo.append(lambda: (true.unlink(), aside.rename(true)))

    def plant(self, kind: str, place: str, name: str) -> None:
        """Lay something that is no file where filedrop may want to write."""
        path = self.world.outbound / place / name
        if os.path.lexists(path) or not path.parent.is_dir() or path.parent.is_symlink():
            return
        match kind:
            case "folder":
                path.mkdir()
            case "pipe":
                os.mkfifo(path)
            case "link":
                path.symlink_to(self.elsewhere / "secret.xml")
            case _:
                path.symlink_to("/dev/zero")
        self._undo.append(lambda: self._take_away(path))

    def mark(self, kind: str) -> None:
        """Put something else in the marker's place."""
        marker = self.world.outbound / ".filedrop"
        if marker.is_symlink() or not marker.is_file():
            return
        true = marker.read_bytes()
        try:
            content = json.loads(true)
        except RecursionError:  # it is forged already
            return
        marker.unlink()
        match kind:
            case "zero":
                marker.symlink_to("/dev/zero")
            case "pipe":
                os.mkfifo(marker)
            case "list":
                marker.write_text("[" * 5000)
            case _:
                marker.write_text(json.dumps(content | {"changes": 2**53 - 1}))

        def back() -> None:
            marker.unlink(missing_ok=True)
            marker.write_bytes(true)

        self._undo.append(back)

    def forge(self, which: int, lie: int) -> Path | None:
        """Have a sidecar say something else; the document that it lies beside."""
        sidecars = [
            path
            for place in PLACES[1:]
            for path in sorted((self.world.outbound / place).rglob("*.json"))
            if path.is_file() and not path.is_symlink()
        ]
        if not sidecars:
            return None
        sidecar = sidecars[which % len(sidecars)]
        content = json.loads(sidecar.read_bytes())
        sidecar.write_text(json.dumps(content | FORGED[lie % len(FORGED)]))
        return sidecar.with_name(sidecar.name.removesuffix(".json"))

    def withdraw(self) -> None:
        """Take back what was planted, but for what sidecars were made to say."""
        while self._undo:
            self._undo.pop()()

    def _take_away(self, path: Path) -> None:
        # By where it was laid: filedrop may have moved the folder above it, never what lies there.
        if path.is_symlink() or path.is_fifo():
            path.unlink()
        elif path.is_dir():
            path.rmdir()
