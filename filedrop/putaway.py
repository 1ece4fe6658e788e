"""The last move: a document's sidecar, its note, and then its file, to where its state belongs.

The sidecar comes first: it reserves the name, and it says whose the name is. A move that was cut off in between is
found again by it, so that putting away can be repeated until it is done. Bringing the names to the disk is left to
`Moved`, many at once; until then the journal says where the file lay before, and the next start looks there first.
"""

from __future__ import annotations

import hashlib
import math
import os
import threading
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from filedrop import sidecar
from filedrop.document import State
from filedrop.errors import FiledropError, JournalError
from filedrop.files import InUse, create_whole, discard, make_folder, open_regular, place, replace_whole, sync_folder
from filedrop.names import shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from filedrop.desk import Desk
    from filedrop.document import Document
    from filedrop.folders import OutboundFolder

    Move = tuple[Document, Document]  # at its places before and after

COMPARED = 1_000_000  # bytes: of a larger file, the size says enough
AT_ONCE = 64  # documents whose moves are brought to the disk together


class FileGone(FiledropError):
    """The document's file lies neither where it was nor where it belongs."""


def put_away(
    folder: OutboundFolder,
    document: Document,
    *,
    is_spoken_for: Callable[[str, str], bool] = lambda _place, _file: False,
    resumed: bool = False,
) -> Document:
    """Move a document's file where its state belongs, sidecar and note first, and return it at its new place.

    `is_spoken_for`: may a place and file name be another document's, though nothing lies there?
    `resumed`: an earlier process may have begun this move. Raises FileGone, OSError (InUse: nothing was moved).
    """
    source, home = folder.path / document.place / document.file, folder.path / document.home
    # What was in our hands a moment ago needs no second look; what has lain in sent/, or in doubt, since then does.
    has_lain = resumed or document.unclear or document.place == "sent"
    lies_there = _is_its_file(source, document) if has_lain else source.exists()
    if resumed or not lies_there:
        found = _already(home, document)
        if not lies_there:
            if found is None or not (home / found).exists():
                raise FileGone(document.dropped_as)
            _clear_notes(source)
            return document.at(document.home, found)
        if found is not None:  # the name is reserved anew below, by a sidecar that is up to date
            _clear_notes(home / found)
    if "/" in document.home and not home.is_dir():  # a new month; `archive/` itself is only missing where the share is
        make_folder(home)
    for name in folder.free_names(home, shortened(document.dropped_as)):
        if _place(folder, document, source, home / name, is_spoken_for):
            _clear_notes(source)
            return document.at(document.home, name)
    raise AssertionError  # free_names never ends


def put_back(folder: OutboundFolder, file: str, dropped_as: str) -> None:
    """Move a claimed file back to `outbound/`. Raises OSError."""
    for name in folder.free_names(folder.path, dropped_as):
        with suppress(FileExistsError):
            place(folder.path / "sending" / file, folder.path / name)
            return


def lies_at(folder: OutboundFolder, document: Document) -> bool:
    """Does the document's file lie where it was last known to, or where a move that was cut off has brought it?"""
    if _is_its_file(folder.path / document.place / document.file, document):
        return True
    home = folder.path / document.home
    found = _already(home, document) if document.home != document.place else None
    return found is not None and (home / found).exists()


def _is_its_file(path: Path, document: Document) -> bool:
    """Does the document's own file lie there, and not another that a person has put in its place?"""
    try:
        with open_regular(path) as file:
            if os.fstat(file.fileno()).st_size != document.size:
                return False
            if not document.sha256 or document.size > COMPARED:
                return True
            return hashlib.file_digest(file, "sha256").hexdigest() == document.sha256
    except FileNotFoundError:
        return False
    except OSError:  # what can't be read was never posted
        return True


def _place(
    folder: OutboundFolder,
    document: Document,
    source: Path,
    target: Path,
    is_spoken_for: Callable[[str, str], bool],
) -> bool:
    """Sidecar, note, file. False where the name turns out to be taken."""
    content = sidecar.outbound(document, target.name)
    try:
        create_whole(target.with_name(f"{target.name}.json"), content, draft=folder.draft(document.id, ".json"))
    except FileExistsError:
        return False
    if is_spoken_for(document.home, target.name):  # asked when nobody can take the name any more
        _clear_notes(target)
        return False
    if document.state is State.FAILED and document.error:
        note = sidecar.why(document, document.error, target.name)
        replace_whole(target.with_name(f"{target.name}.why.txt"), note, draft=folder.draft(document.id, ".why"))
    try:
        place(source, target)
    except FileExistsError:  # a person put a file there meanwhile: theirs keeps the name
        _clear_notes(target)
        return False
    except InUse:
        _clear_notes(target)
        raise
    except FileNotFoundError:
        _clear_notes(target)
        raise FileGone(document.dropped_as) from None
    return True


def _already(home: Path, document: Document) -> str | None:
    """The name that an earlier attempt reserved for this document."""
    wanted = shortened(document.dropped_as)
    if sidecar.identity_of(home / f"{wanted}.json") == document.id:
        return wanted
    stem = wanted.rpartition(".")[0] or wanted
    with suppress(FileNotFoundError), os.scandir(home) as entries:  # one by one: they may be a hundred thousand
        for entry in entries:
            if entry.name.startswith(stem) and entry.name.endswith(".json"):
                found = home / entry.name
                if sidecar.identity_of(found) == document.id:
                    return found.name.removesuffix(".json")
    return None


def _clear_notes(document: Path) -> None:
    for suffix in (".json", ".why.txt"):
        discard(document.with_name(document.name + suffix))


def bring_to_disk(folder: OutboundFolder, places: Iterable[str]) -> None:
    """Bring what was moved between these places to the disk. Raises OSError.

    Where a document went comes before where it came from, from where its sidecar is gone for good only then.
    """
    for name in sorted(places, key=lambda name: {"sent": 1, "sending": 2}.get(name, 0)):
        sync_folder(folder.path / name)


class Moved:
    """Documents whose files have been moved, until the disk and the journal know it."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._waiting: dict[OutboundFolder, tuple[float, list[Move]]] = {}
        self._given: dict[int, tuple[OutboundFolder, list[Move]]] = {}
        self._lock = threading.Lock()

    def add(self, folder: OutboundFolder, before: Document, after: Document) -> None:
        """This document's file has been moved. It stays in hand until that is settled."""
        with self._lock:
            _, moves = self._waiting.setdefault(folder, (self._desk.steady(), []))
            moves.append((before, after))
            if len(moves) < AT_ONCE:
                return
            del self._waiting[folder]
        self._bring(folder, moves)

    def take(self, until: float = math.inf) -> list[tuple[OutboundFolder, Callable[[], None]]]:
        """What is to be settled now, by folder: all that of folders where something has waited since `until` (steady).

        Each is a job of its own: a folder that hangs must not hold up the others' documents.
        """
        jobs: list[tuple[OutboundFolder, Callable[[], None]]] = []
        with self._lock:
            for folder, (since, moves) in list(self._waiting.items()):
                if since <= until:
                    del self._waiting[folder]
                    self._given[id(moves)] = folder, moves
                    jobs.append((folder, partial(self.settle, id(moves))))
        return jobs

    def settle_all(self) -> None:
        """Settle what is left, jobs that nobody has begun too, but for folders that hang."""
        self.take()
        for key, (folder, _) in list(self._given.items()):
            if not folder.stuck():
                self.settle(key)

    def settle(self, key: int) -> None:
        """Settle what was given out under this key, unless that has been done."""
        with self._lock:
            given = self._given.pop(key, None)
        if given is not None:
            self._bring(*given)

    def _bring(self, folder: OutboundFolder, moves: list[Move]) -> None:
        """Bring a folder's moves to the disk, then to the journal. What fails stays for the next sweep to do again."""
        try:
            with folder.busy():
                bring_to_disk(folder, {document.place for move in moves for document in move})
            self._desk.journal.record_places(after for _, after in moves)
        except (OSError, JournalError) as error:
            self._desk.log.warning("moves.not_settled", folder=str(folder.path), why=str(error))
        finally:
            self._desk.in_hand.give_back(after.id for _, after in moves)
