"""What lies in the folders of answers: documents, in which folder each was moved there, and the reasons beside them.

A folder that is moved as a whole is answered file by file, if all in it can be answered: a person who moves a folder
may not know of each file in it.
"""

from __future__ import annotations

import os
from codecs import getincrementaldecoder
from typing import TYPE_CHECKING, NamedTuple

from filedrop import files
from filedrop.files import NO_FILE, open_regular
from filedrop.inbound.announcing import ENDING
from filedrop.storage.answer_folders import CODES
from filedrop.storage.names import goes_with, is_of_the_system, is_received, is_temporary, names_document
from filedrop.text import one_line

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from filedrop.files import Directory, FileStamp

NOTE = ".why.txt"
REASONS = (".reason.txt", ".reason.txt.txt")  # an Explorer that hides endings writes another behind the one it is given
LONGEST_REASON = 1000  # letters
_READ = 16_000  # bytes of a file with a reason
DEEPEST = 4  # folders in a folder of answers


class Place(NamedTuple):
    """A file's folder and name. The folder is `accepted`, or `accepted/november` where that was moved as a whole."""

    folder: str
    name: str

    def __str__(self) -> str:
        return f"{self.folder}/{self.name}"

    @property
    def code(self) -> str:
        """The code of the answer."""
        return CODES[self.folder.partition("/")[0]]

    @property
    def whole(self) -> str:
        """The folder that was moved as a whole; "" for a file that was moved by itself."""
        return "/".join(self.folder.split("/")[:2]) if "/" in self.folder else ""

    def directory(self, there: Mapping[str, Directory]) -> Directory | None:
        """The file's folder; None where the folder of answers isn't ours any more. Raises OSError."""
        top, _, below = self.folder.partition("/")
        return there[top].below(below) if top in there else None


class Listing(NamedTuple):
    """The files that may be answered; and by each folder that was moved as a whole, something in it that is no file."""

    stamps: dict[Place, FileStamp]
    strange: dict[str, str]


def listed(there: Mapping[str, Directory], *, clears: bool) -> Listing:
    """List the folders, and clear away notes on what isn't there. Raises OSError.

    `clears`: whether drafts that a killed process left are removed.
    """
    listing = Listing({}, {})
    for name, directory in there.items():
        for folder, within, names in _folders(name, directory, listing.strange):
            if clears:
                files.clear_drafts(within)
            _list(folder, within, names, listing.stamps)
    return listing


def _folders(
    path: str, directory: Directory, strange: dict[str, str]
) -> Iterator[tuple[str, Directory, Collection[str]]]:
    """A folder and those in it, without links, each with its path and the names of its files. Raises OSError."""
    entries = list(directory.scan())
    yield path, directory, {entry.name for entry in entries if entry.is_file(follow_symlinks=False)}
    for entry in entries:
        if entry.is_file(follow_symlinks=False) or is_of_the_system(entry.name) or is_temporary(entry.name):
            continue
        within = f"{path}/{entry.name}"
        whole = Place(within, "").whole
        is_folder = entry.is_dir(follow_symlinks=False)
        if is_folder and within.count("/") <= DEEPEST:
            try:
                yield from _folders(within, directory.folder(entry.name), strange)
            except PermissionError:
                strange[whole] = within
            except (FileNotFoundError, NotADirectoryError):  # moved back
                continue
        elif is_folder or "/" in path:
            strange[whole] = within


def _list(folder: str, directory: Directory, names: Collection[str], stamps: dict[Place, FileStamp]) -> None:
    received = {os.path.splitext(name)[0] for name in names if is_received(name)}  # noqa: PTH122 - a name
    for name in names:
        if _may_be_moved(name, received) and (stamp := files.stamp(directory / name)):
            stamps[Place(folder, name)] = stamp
    for note in names:
        for ending in (NOTE, ENDING):
            if note.endswith(ending) and Place(folder, note.removesuffix(ending)) not in stamps:
                files.discard(directory / note)


def _may_be_moved(name: str, received: Collection[str]) -> bool:
    """Whether this may be the name of something that a person wants to have answered.

    Pages, attachments, sidecars and reasons that were moved with a document are not. `received`: the names of documents
    there, without `.xml`.
    """
    if is_received(name):
        return True
    return names_document(name) and not name.lower().endswith((*REASONS, ENDING)) and not goes_with(name, received)


def reason_beside(directory: Directory, name: str) -> str:
    """The reason that a person has written for a document, in one line; "" where there is none. Raises OSError."""
    stem = os.path.splitext(name)[0]  # noqa: PTH122 - a name
    there = {beside.lower(): beside for beside in directory.names() if beside.lower().endswith(REASONS)}
    for wanted in (f"{beside}{ending}".lower() for beside in (name, stem) for ending in REASONS):
        beside = there.get(wanted)
        if beside and (text := one_line(_decoded(content_of(directory / beside, _READ) or b""), LONGEST_REASON)):
            return text
    return ""


def _decoded(content: bytes) -> str:
    """The text of a file that a person has written, in whichever encoding their editor has chosen."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16", "replace")
    try:
        # What was cut after `_READ` bytes may end within a letter.
        return getincrementaldecoder("utf-8-sig")().decode(content, final=len(content) < _READ)
    except UnicodeDecodeError:
        return content.decode("cp1252", "replace")


def content_of(entry: files.Entry, most: int) -> bytes | None:
    """The beginning of a file; None where no file is there. Raises OSError."""
    try:
        with open_regular(entry) as file:
            return file.read(most)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno in NO_FILE:
            return None
        raise
