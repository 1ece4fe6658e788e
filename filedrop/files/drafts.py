"""New files, which get their names only when they are whole and on the disk."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, BinaryIO, Self, TypeVar

from filedrop.files import system
from filedrop.files.directory import DRAFT, SILLY
from filedrop.files.identity import identity_of
from filedrop.files.moving import give_name, place
from filedrop.files.patience import asking
from filedrop.files.system import discard

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Sequence
    from types import TracebackType

    from filedrop.files.directory import Directory, Entry
    from filedrop.files.identity import Identity
    from filedrop.files.patience import Ask

T = TypeVar("T")
_AT_ONCE = asking(local=True)
_BEGUN: set[str] = set()  # the names of drafts that this process is about to place: `clear_drafts` spares them


@dataclass(frozen=True, slots=True)
class Draft:
    """A new file without its name yet; `identity` is None where only its content tells."""

    entry: Entry
    identity: Identity | None


class Drafts:
    """New files in one folder. Several are brought to the disk together, which takes hardly longer than one alone.

    A `with` block: what was given no name in it is removed. Not thread-safe. All calls go through `ask`; of one that
    had no answer, a draft may stay, which `clear_drafts` removes.
    """

    def __init__(self, directory: Directory, ask: Ask = _AT_ONCE) -> None:
        self._directory = directory
        self._ask = ask
        self._written: dict[Draft, int] = {}  # descriptors of what is to be brought to the disk
        self._refused: dict[Draft, OSError] = {}  # what the disk didn't take
        self._unnamed: set[Draft] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, _error: object, _traceback: TracebackType | None) -> None:
        for descriptor in self._written.values():
            self._ask(partial(os.close, descriptor))
        for draft in self._unnamed:
            _BEGUN.discard(draft.entry.name)
            if kind is None or issubclass(kind, Exception):
                self._ask(partial(_discard, draft))

    def write(self, content: bytes) -> Draft:
        """Write a file. Raises OSError (disk full, no rights); then nothing is left of it."""
        return self.write_pieces((content,))

    def write_pieces(self, pieces: Iterable[bytes]) -> Draft:
        """Write it in pieces. Raises OSError (disk full, no rights), and what `pieces` raises. Nothing is left then."""
        entry = self._directory.draft()
        _BEGUN.add(entry.name)
        # Not by a file object, which makes six more system calls.
        try:
            descriptor, identity = self._ask(partial(_create, entry))
        except BaseException:
            _BEGUN.discard(entry.name)
            raise
        draft = Draft(entry, identity)
        self._unnamed.add(draft)
        self._written[draft] = descriptor
        try:
            for piece in pieces:
                left = memoryview(piece)
                while left:
                    left = left[self._ask(partial(os.write, descriptor, left)) :]
        except OSError:
            self._forget(draft)
            self._ask(partial(os.close, self._written.pop(draft)))
            self._ask(partial(_discard, draft))
            raise
        return draft

    def flush(self) -> None:
        """Bring to the disk what was written. A draft that it doesn't take gets no name."""
        self._refused |= self._ask(partial(_flush, self._written))  # closed before the move: Windows moves no open file

    def place(self, draft: Draft, target: Entry) -> None:
        """Give a flushed draft its name. Raises FileExistsError where that is taken, OSError."""
        self._give_name(system.place, draft, target)

    def replace(self, draft: Draft, target: Entry) -> None:
        """Give a flushed draft its name, atomically in place of an older file. Raises OSError (InUse: it is open)."""
        self._give_name(system.replace, draft, target)

    def _give_name(self, move: Callable[[Entry, Entry], None], draft: Draft, target: Entry) -> None:
        if draft in self._refused:
            raise self._refused[draft]
        self._ask(partial(give_name, move, draft.entry, target, draft.identity))
        self._forget(draft)

    def _forget(self, draft: Draft) -> None:
        self._unnamed.discard(draft)
        _BEGUN.discard(draft.entry.name)


def flush(entries: Sequence[Entry]) -> dict[str, OSError]:
    """Bring files to the disk together, which takes hardly longer than one alone. Returns the errors by name.

    They were written and closed. So they must be on a disk of this computer: another one may not report their errors.
    """
    refused: dict[str, OSError] = {}
    opened: dict[str, int] = {}
    for entry in entries:
        try:
            opened[entry.name] = entry.open_to_write()
        except OSError as error:
            refused[entry.name] = error
    return refused | _flush(opened)


def _flush(opened: dict[T, int]) -> dict[T, OSError]:
    """Bring files to the disk together, and close their descriptors, which are taken out. Returns the errors."""
    refused: dict[T, OSError] = {}
    if len(opened) > 1:
        for descriptor in opened.values():
            system.begin_flush(descriptor)
    while opened:
        file, descriptor = opened.popitem()
        try:
            os.fsync(descriptor)
        except OSError as error:
            refused[file] = error
        finally:
            os.close(descriptor)
    return refused


def create_whole(target: Entry, content: bytes, *, draft_in: Directory | None = None) -> None:
    """Write a new file. It gets its name when it is whole and on the disk.

    `draft_in` is the folder of its draft, on the same file system; by default the target's own. Raises OSError (disk
    full, no rights), FileExistsError where the name is taken; then nothing is left behind.
    """
    with Drafts(draft_in or target.directory) as drafts:
        draft = drafts.write(content)
        drafts.flush()
        drafts.place(draft, target)


def replace_whole(target: Entry, content: bytes, *, draft_in: Directory | None = None) -> None:
    """Write a file that atomically replaces an older one. Raises OSError (InUse: it is open); then that one stays."""
    with Drafts(draft_in or target.directory) as drafts:
        draft = drafts.write(content)
        drafts.flush()
        drafts.replace(draft, target)


def create_temporary(entry: Entry) -> BinaryIO:
    """Open a new file for writing, with its folder's group and mode. Raises OSError, FileExistsError."""
    return os.fdopen(_create(entry)[0], "w+b")


def make_folder(
    entry: Entry, fill: Callable[[Directory], None] = lambda _: None, *, draft_in: Directory | None = None
) -> None:
    """Make a folder with the group and mode of its parent, unless it exists. Raises OSError.

    It gets its name after its group and mode, and after what `fill` writes into it: a folder that a killed process left
    without them would never get them. `draft_in` is the folder in which it is made, and whose group and mode it gets;
    by default its parent.
    """
    if not entry.is_folder():
        draft = (draft_in or entry.directory).draft()
        _BEGUN.add(draft.name)
        try:
            draft.mkdir()
            try:
                system.inherit_folder(draft)
                fill(draft.directory.folder(draft.name))
                place(draft, entry)
            except OSError as error:
                with contextlib.suppress(OSError):
                    draft.rmdir()
                if not (isinstance(error, FileExistsError) and entry.is_folder()):  # made by another thread meanwhile
                    raise
        finally:
            _BEGUN.discard(draft.name)
    entry.directory.sync()


def abandoned(directory: Directory, *, named: Container[str] = (), others: Container[str | None] = ()) -> list[str]:
    """The drafts that a killed process left here: not those that are `named`, or whose owner is one of the `others`.

    Raises OSError.
    """
    drafts = (found for name in directory.names() if (found := DRAFT.fullmatch(name)))
    return [
        draft[0]
        for draft in drafts
        if draft["owner"] not in others and draft[0] not in named and draft[0] not in _BEGUN
    ]


def clear_drafts(directory: Directory, names: Iterable[str] | None = None) -> None:
    """Remove these drafts, or all that are abandoned; what can't be removed stays. Raises OSError."""
    for name in abandoned(directory) if names is None else names:
        entry = directory / name
        with contextlib.suppress(OSError):
            if entry.is_folder():
                entry.rmdir()
            else:
                entry.unlink()


def clear_silly(directory: Directory, names: Iterable[str]) -> None:
    """Remove those of these files that only clients of NFS and FUSE have made: an open file's name after its removal.

    They do that when the file is closed, unless the server is away then.
    """
    for name in filter(SILLY.fullmatch, names):
        with contextlib.suppress(OSError):
            (directory / name).unlink()


def _discard(draft: Draft) -> None:
    with contextlib.suppress(OSError):  # what stays is removed by `clear_drafts`
        discard(draft.entry)


def _create(entry: Entry) -> tuple[int, Identity | None]:
    descriptor = entry.create()
    try:
        status = os.fstat(descriptor)
        system.inherit(descriptor, status, entry.directory)
    except BaseException as error:
        os.close(descriptor)
        if isinstance(error, OSError):
            discard(entry)
        raise
    abilities = entry.directory.abilities
    return descriptor, identity_of(status, abilities) if abilities.inodes else None
