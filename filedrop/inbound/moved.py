"""What lies in the folders of answers: documents, in which folder each was moved there, and the reasons beside them.

A folder that is moved as a whole is answered file by file, if all in it can be answered: a person who moves a folder
may not know of each file in it.

Beside a moved document, a note says what becomes of its answer until that has ended. The document's sidecar says it for
good.
"""

from __future__ import annotations

import os
from codecs import getincrementaldecoder
from typing import TYPE_CHECKING, NamedTuple

from filedrop import files
from filedrop.files import NO_FILE, open_regular
from filedrop.model.document import REPLACED, State
from filedrop.storage import sidecar
from filedrop.storage.answer_folders import CODES
from filedrop.storage.names import goes_with, is_of_the_system, is_received, is_temporary, names_document
from filedrop.texts.languages import date, marked, translated
from filedrop.texts.printable import one_line, valid

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from filedrop.files import Directory, Entry, FileStamp
    from filedrop.journal import GivenAnswer

NOTE = ".why.txt"
REASONS = (".reason.txt", ".reason.txt.txt")  # an Explorer that hides endings writes another behind the one it is given
LONGEST_REASON = 1000  # letters
_READ = 16_000  # bytes of a file with a reason
DEEPEST = 4  # folders in a folder of answers

ENDING = ".answer.txt"
_STEPS = {"sending": "sent", "delivered": "delivered", REPLACED: "replaced", "taken": "taken"}
_DUE = marked("Your answer will be sent on {time}, unless you move the file back before.")
_KEPT = marked("Your answer is not sent yet, because {file} in the same folder can't be answered. Move it elsewhere.")
_WAITS = marked("Your answer waits until it is clear what becomes of your earlier answer to this document.")
_GOES = marked("Your answer is being sent.")
_SENT = marked("Your answer was sent on {time}.")
_FAILED = marked("Your answer could not be sent. The note of {file} in outbound/failed/ says why.")
_REPLACED = marked("Your answer was not sent, because a later answer replaced it.")
_TAKEN = marked("Your answer was not sent, because its file {file} was taken from outbound/.")


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


class Announcement(NamedTuple):
    """What a note says, in UTF-8, whether it says that for good, and whether a neighbour keeps the answer back."""

    content: bytes
    is_final: bool = False
    is_kept: bool = False


def announced(due: datetime, language: str) -> Announcement:
    """The note on an answer that is sent then."""
    return _in_words(_DUE, language, time=date(due, language))


def kept_back(file: str, language: str) -> Announcement:
    """The note on a file in a folder that was moved as a whole, which isn't answered because of another file in it."""
    return _in_words(_KEPT, language, file=file)._replace(is_kept=True)


def announcement(given: Sequence[GivenAnswer], language: str) -> Announcement:
    """The note on the last of the answers to a document, which was decided on."""
    *earlier, answer = given
    document = answer.document
    if document is None and answer.is_placed:
        return _in_words(_REPLACED, language, is_final=True)
    if document is None:
        return _in_words(_WAITS if earlier else _GOES, language)
    match document.state:
        case State.SENT | State.DELIVERED:
            when = date(document.accepted or answer.at, language)
            return _in_words(_SENT, language, is_final=document.state is State.DELIVERED, time=when)
        case State.FAILED:
            return _in_words(_FAILED, language, is_final=True, file=document.file)
        case State.TAKEN:
            return _in_words(_REPLACED if document.is_replaced else _TAKEN, language, is_final=True, file=document.file)
        case _:
            return _in_words(_GOES, language)


def _in_words(text: str, language: str, *, is_final: bool = False, **values: str) -> Announcement:
    return Announcement(f"{valid(translated(text, language).format(**values))}\n".encode(), is_final)


def record(sidecars: Iterable[Entry], sha256: str, given: Sequence[GivenAnswer]) -> None:
    """Add what became of the answers to the history in the document's sidecar, the first of these. Raises OSError.

    Events are only added: the document of an answer may be removed with its month.
    """
    for entry in sidecars:
        content = sidecar.read(entry)
        if content and content.get("direction") == "IN" and content.get("sha256") == sha256:
            written = content.get("history")
            history = written if isinstance(written, list) else []
            added = [event for answer in given for event in _events(answer) if event not in history]
            if added:
                files.replace_whole(entry, sidecar.encoded(content | {"history": [*history, *added]}))
            return


def _events(answer: GivenAnswer) -> Iterator[dict[str, object]]:
    """What the received document's history says of an answer, with steps of the answer's own document."""
    yield _event(answer.at, "recorded", answer)
    document = answer.document
    for event in document.history if document else ():
        if "msg_no" in event.facts:  # or it was found at the access point
            yield _event(event.at, "accepted", answer, msg_no=event.facts["msg_no"])
        elif event.event == "failed" and document and document.error:
            yield _event(event.at, "failed", answer, why=document.error.message)
        elif event.event in _STEPS:
            yield _event(event.at, _STEPS[event.event], answer)


def _event(time: datetime, step: str, answer: GivenAnswer, **facts: object) -> dict[str, object]:
    return {"at": time.isoformat(timespec="milliseconds"), "event": f"answer {step}", "code": answer.code, **facts}
