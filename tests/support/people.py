"""The people and programs around filedrop: they drop, write on, move, take away and delete files, and hold a folder.

Every dropped file is a `Paper`, known by its inode: filedrop only ever renames documents. `allowed` counts how often it
may be sent: once for its drop, and once more each time a person brings back to filedrop what it had done with. A file
that is moved back while filedrop is at it, straight from `sending/` or `sent/`, is still the document that it was.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from support import promises

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import BinaryIO

    from support.world import World

AT_IT = ("sending", "sent")


@dataclass(eq=False)
class Paper:
    """One file.

    `half`: it was once half written; `closed`: once, nobody might read it. `laid`: where a person has laid it,
    `meddled`: where its sidecar or note was meddled with.
    """

    number: int
    content: bytes
    allowed: int = 1
    half: bool = False
    closed: bool = False
    laid: Path | None = None
    meddled: Path | None = None


@dataclass
class Writer:
    """A program that still has to write the rest of a file."""

    paper: Paper
    file: BinaryIO
    rest: bytes


@dataclass
class People:
    """Everybody who has something to do in a world's outbound folder."""

    world: World
    papers: dict[int, Paper] = field(default_factory=dict)
    gone: list[Paper] = field(default_factory=list)
    writers: list[Writer] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.desk = self.world.base / "desk"
        self.desk.mkdir()

    def drop(self, name: str, number: int, content: bytes) -> None:
        """Drop a whole file, over an older one that still lies there."""
        draft = self.world.base / "draft"
        draft.write_bytes(content)
        self._changed_now(draft)
        target = self.world.outbound / name
        if target.exists():
            self._forget(target)
        draft.replace(target)
        self.papers[target.stat().st_ino] = Paper(number, content)

    def begin(self, name: str, number: int, content: bytes, at: int) -> None:
        """Begin to write a file in its place."""
        target = self.world.outbound / name
        if target.exists():
            return
        file = target.open("wb", buffering=0)
        file.write(content[:at])
        self._changed_now(file.fileno())
        paper = Paper(number, content[:at], half=True)
        self.papers[os.fstat(file.fileno()).st_ino] = paper
        self.writers.append(Writer(paper, file, content[at:]))

    def write_on(self) -> None:
        """Write the rest of the file that was begun first, wherever it lies by now."""
        if not self.writers:
            return
        writer = self.writers.pop(0)
        writer.file.write(writer.rest)
        self._changed_now(writer.file.fileno())
        writer.file.close()
        writer.paper.content += writer.rest

    def lying(self) -> dict[Path, Paper | None]:
        """All documents below `outbound/` and on the desk; None is nobody's."""
        found: dict[Path, Paper | None] = {}
        for top in (self.world.outbound, self.desk):
            for path, number in sorted(_files(top)):
                if promises.is_document(path):
                    found[path] = self.papers.get(number)
        return found

    def move(self, which: int, where: str, name: str, *, beside: bool) -> str:
        """Move one of the documents that lie there, and return its name; "" if it can't be.

        `beside`: its note and sidecar are moved first.
        """
        lying = list(self.lying())
        if not lying:
            return ""
        source = lying[which % len(lying)]
        target = (self.desk if where == "desk" else self.world.outbound / where) / (name or source.name)
        if not target.parent.is_dir() or target.parent.is_symlink() or os.path.lexists(target):
            return ""
        paper = self.papers[source.stat().st_ino]
        came_from = source.parent.relative_to(self.world.base).parts[-1]
        for suffix in (".json", ".why.txt") if beside else ():
            note = source.with_name(source.name + suffix)
            if promises.is_regular(note):  # what a neighbour has planted there is taken back where it was laid
                with suppress(OSError):
                    note.rename(target.with_name(target.name + suffix))
        source.rename(target)
        if where in ("", "sending") and (came_from not in AT_IT or paper.laid == source):
            paper.allowed += 1
        paper.laid = target
        return target.name

    def remove(self, which: int) -> None:
        """Delete one of the documents that lie there."""
        lying = list(self.lying())
        if lying:
            path = lying[which % len(lying)]
            self._forget(path)
            path.unlink()

    def rights(self, which: int, *, readable: bool) -> None:
        """Let nobody read one of the documents that lie there, or everybody."""
        lying = list(self.lying().items())
        if lying:
            path, paper = lying[which % len(lying)]
            path.chmod(0o644 if readable else 0)
            if paper is not None:
                paper.closed |= not readable

    def all_rights(self) -> None:
        """Let everybody read everything."""
        for path in self.lying():
            path.chmod(0o644)

    def take(self, which: int) -> None:
        """Take a received document, and its sidecar."""
        received = self.world.delivered()
        if received:
            path = received[which % len(received)]
            path.unlink()
            path.with_name(f"{path.name}.json").unlink()

    def meddle(self, which: int, where: str | None) -> None:
        """Delete a sidecar or note below `outbound/`, or move it without its document."""
        notes = [
            path
            for path in sorted(self.world.outbound.rglob("[!.]*"))
            if path.name.endswith((".json", ".why.txt"))
            and promises.is_regular(path)
            and not any(part.endswith(" aside") for part in path.parts)  # behind a neighbour's link
        ]
        if not notes:
            return
        note = notes[which % len(notes)]
        document = note.with_name(note.name.removesuffix(".json").removesuffix(".why.txt"))
        with suppress(FileNotFoundError, KeyError):
            self.papers[document.stat().st_ino].meddled = document
        if where is None:
            note.unlink()
        elif not (
            os.path.lexists(self.world.outbound / where / note.name) or (self.world.outbound / where).is_symlink()
        ):
            note.rename(self.world.outbound / where / note.name)

    def hold(self, *, on: bool) -> None:
        """Put HOLD there, or take it away."""
        if on:
            (self.world.outbound / "HOLD").touch()
        else:
            (self.world.outbound / "HOLD").unlink(missing_ok=True)

    def _changed_now(self, file: Path | int) -> None:
        """Have a file say that it was last changed now, by the world's clock."""
        now = self.world.clock().timestamp()
        os.utime(file, (now, now))

    def _forget(self, path: Path) -> None:
        self.gone.append(self.papers.pop(path.stat().st_ino))


def _files(folder: Path) -> Iterator[tuple[Path, int]]:
    """The regular files below a folder, with their inodes."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _files(folder / entry.name)
            elif entry.is_file(follow_symlinks=False):
                yield folder / entry.name, entry.stat(follow_symlinks=False).st_ino
