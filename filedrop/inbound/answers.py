"""Answers by moving: a received invoice that a person moves into `accepted/`, `rejected/` or `queried/` is answered.

The folders lie in `inbound/`. A file counts as moved when it has lain there for five minutes, unchanged: until then, a
person may move it back. Then it is looked for by its bytes among the documents that the company has received, and the
answer is written into the journal, whole. What follows is outbound/answers. One answer follows another only after
`queried/`. A note beside the file says when its answer will be sent, and what became of it; or why it isn't answered.
"""

from __future__ import annotations

import hashlib
import math
import os
from codecs import getincrementaldecoder
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, cast

from filedrop import files, identify
from filedrop.errors import DocumentError, FolderUnavailable
from filedrop.files import NO_FILE, FileStamp, discard, open_regular
from filedrop.files.rights import explain
from filedrop.inbound.announcing import ENDING, announced, announcement, record
from filedrop.journal import InvoiceAnswer
from filedrop.model.document import new_id
from filedrop.model.invoice_response import ACCEPTED, QUERIED, TYPE_CODES, can_name, invoice_response
from filedrop.model.report import FolderReport
from filedrop.storage import sidecar
from filedrop.storage.answer_folders import CODES, answer_folder, clear_begun
from filedrop.storage.marker import Marker
from filedrop.storage.names import answer_name, goes_with, is_received, names_document
from filedrop.text import one_line
from filedrop.texts import Text

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from datetime import datetime
    from io import FileIO

    import structlog

    from filedrop.files import Directory
    from filedrop.identify import Reading
    from filedrop.inbound.announcing import Announcement
    from filedrop.journal import Journal, MessageRow
    from filedrop.storage.folders import InboundFolder

LIES = 300.0  # seconds after which a moved file is answered
AT_ONCE = 16  # files that are decided on in one step: other folders are served in between
NOTE = ".why.txt"
REASONS = (".reason.txt", ".reason.txt.txt")  # an Explorer that hides endings writes another behind the one it is given
LONGEST_REASON = 1000  # letters
_READ = 16_000  # bytes of a file with a reason


class _Place(NamedTuple):
    """A file's folder and name."""

    folder: str
    name: str


@dataclass(slots=True)
class _Moved:
    """A file in one of the folders: its stamp, since when (steady) it lies there, and whether it was decided on.

    `failure`: why it could not be decided on, as the log says. `sha256`: None until it was looked at, "" where it isn't
    answered. `announcement`: what the note beside it says of its answer.
    """

    stamp: FileStamp
    since: float
    is_decided: bool = False
    failure: str = ""
    sha256: str | None = None
    announcement: Announcement | None = None


class AnswersByMoving:
    """The answers of one company. Only the worker in the folder calls `step`; `report` is thread-safe.

    `rescan`: the seconds between two listings. `now` is the wall clock, `steady` the monotonic one.
    """

    def __init__(
        self,
        folder: InboundFolder,
        journal: Journal,
        *,
        rescan: float,
        now: Callable[[], datetime],
        steady: Callable[[], float],
        log: structlog.stdlib.BoundLogger,
    ) -> None:
        self.folder = folder
        self._journal = journal
        self._rescan = rescan
        self._now = now
        self._steady = steady
        self._log = log
        self._due = self._lists_at = -math.inf
        self._warning = self._folders = ""
        self._is_cleared = False
        self._moved: dict[_Place, _Moved] = {}

    @property
    def report(self) -> FolderReport:
        """What is wrong with the folders."""
        return FolderReport(self.folder.path, self.folder.company, warning=self._warning)

    def due(self) -> float:
        """When the next step is due."""
        return self._due

    def is_idle(self) -> bool:
        """Whether the first step was taken: what a killed process has left is cleared away."""
        return self._due > -math.inf

    def step(self) -> None:
        """List the folders now and then, and decide on what has lain there for long enough. Raises JournalError."""
        now = self._steady()
        if is_listed := self._lists_at <= now:  # not for each few files: a folder may have many
            self._lists_at = now + self._rescan
        self._due = self._lists_at
        try:
            with self.folder.in_use():
                self.folder.take_up(self._journal)
                there = self._open(self.folder.at())
                if is_listed:
                    self._list(there, now)
                self._decide(there, now)
                if is_listed:
                    self._announce(there, now)
        except (FolderUnavailable, OSError) as error:  # what is moved meanwhile, nobody sees: all times begin again
            self._moved.clear()
            self._warn(f"nothing is answered now: {_why(error, self.folder)}")

    def close(self) -> None:
        """Nothing has begun that is to be ended."""

    def _open(self, here: Directory) -> dict[str, Directory]:
        """The folders that can be used, by name; what is wrong with the others is reported. Raises OSError."""
        if not self._is_cleared:
            clear_begun(here)
        there: dict[str, Directory] = {}
        refusals: list[str] = []
        for name in CODES:
            try:
                there[name] = answer_folder(here, name, Marker(self.folder.id, self._journal.id))
                if not self._is_cleared:
                    files.clear_drafts(there[name])
            except FolderUnavailable as error:
                refusals.append(str(error))
        self._is_cleared = True
        self._warn("; ".join(filter(None, (*refusals, self._folders))))
        return there

    def _warn(self, warning: str) -> None:
        if warning and warning != self._warning:
            self._log.warning("answers.refused", company=self.folder.company, why=warning)
        self._warning = warning

    def _list(self, there: dict[str, Directory], now: float) -> None:
        """Note what lies in the folders, and clear away notes on what doesn't. Raises OSError."""
        moved: dict[_Place, _Moved] = {}
        folders = list[str]()
        for folder, directory in there.items():
            entries = list(directory.scan())
            names = {entry.name for entry in entries if entry.is_file(follow_symlinks=False)}
            folders += [f"{folder}/{entry.name}" for entry in entries if entry.is_dir(follow_symlinks=False)]
            received = {os.path.splitext(name)[0] for name in names if is_received(name)}  # noqa: PTH122 - a name
            for name in names:
                stamp = files.stamp(directory / name) if _may_be_moved(name, received) else None
                if stamp is not None:
                    known = self._moved.get(_Place(folder, name))
                    is_known = known is not None and known.stamp == stamp
                    moved[_Place(folder, name)] = known if known and is_known else _Moved(stamp, now)
            for note in names:
                for ending in (NOTE, ENDING):
                    if note.endswith(ending) and _Place(folder, note.removesuffix(ending)) not in moved:
                        discard(directory / note)
        self._moved = moved
        named = one_line(", ".join(sorted(folders)), LONGEST_REASON)
        self._folders = f"nothing in these folders is answered: move files, not folders ({named})" if named else ""

    def _decide(self, there: dict[str, Directory], now: float) -> None:
        """Decide on some of what has lain there for long enough. Raises JournalError."""
        waiting = [(place, moved) for place, moved in self._moved.items() if not moved.is_decided]
        due = [(place, moved) for place, moved in waiting if moved.since + LIES <= now]
        for place, moved in due[:AT_ONCE]:
            directory = there.get(place.folder)
            if directory is None:  # it isn't ours any more
                del self._moved[place]
                continue
            try:
                self._note(directory, place.name, self._answer(directory, place, moved.stamp))
                moved.is_decided = True
            except FileNotFoundError:  # moved back, and perhaps in again before the next listing
                del self._moved[place]
            except OSError as error:
                moved.since = now + self._rescan - LIES
                why = f"{place.folder}/{place.name}: {explain(error, self.folder.path)}"
                if why != moved.failure:
                    self._log.warning("answers.failed", company=self.folder.company, why=why)
                moved.failure = why
        left = [moved.since + LIES for moved in self._moved.values() if not moved.is_decided]
        self._due = min(self._due, *left) if left else self._due

    def _announce(self, there: dict[str, Directory], now: float) -> None:
        """Say beside each moved file what becomes of its answer. Raises JournalError."""
        unread = [place for place, moved in self._moved.items() if moved.sha256 is None]
        left = frozenset(unread[AT_ONCE:])  # to the next listing
        for place, moved in self._moved.items():
            is_over = moved.announcement is not None and moved.announcement.is_final
            directory = there.get(place.folder)
            if directory is None or is_over or place in left or moved.sha256 == "":
                continue
            with suppress(OSError):  # moved back; or the next listing tries again
                if moved.sha256 is None:
                    moved.sha256 = self._sha256_if_answered(directory, place, moved.stamp)
                if moved.sha256:
                    self._renew(directory, place, moved, now)

    def _renew(self, directory: Directory, place: _Place, moved: _Moved, now: float) -> None:
        sha256, note = moved.sha256 or "", directory / f"{place.name}{ENDING}"
        given = self._journal.answers.given(self.folder.company, sha256)
        if given and given[-1].code == CODES[place.folder]:
            news = announcement(given[-1], self.folder.language)
        elif moved.announcement is None and not moved.is_decided:
            due = self._now() + timedelta(seconds=moved.since + LIES - now)
            news = announced(due, self.folder.language)
        else:
            return
        if _content(note, len(news.content) + 1) != news.content:
            files.replace_whole(note, news.content)
        if given and news != moved.announcement:
            record(self._sidecars(directory, place.name, sha256), sha256, given)
        moved.announcement = news

    def _sidecars(self, directory: Directory, name: str, sha256: str) -> Iterator[files.Entry]:
        """Where the sidecar of a moved document may be: next to it, or where it was received. Raises OSError."""
        inbound, row = self.folder.at(), self._journal.answers.received_as(self.folder.company, sha256)
        yield directory / f"{name}.json"
        yield inbound / f"{name}.json"
        if row is not None and row.file:
            with suppress(FileNotFoundError, NotADirectoryError):  # its folder was taken
                yield inbound.entry(f"{row.file}.json")

    def _sha256_if_answered(self, directory: Directory, place: _Place, stamp: FileStamp) -> str:
        """The digest of a file that is answered, or was; "" where it isn't. Raises JournalError, OSError."""
        journal, company, code = self._journal, self.folder.company, CODES[place.folder]
        with open_regular(directory / place.name) as file:
            if FileStamp.of(os.fstat(file.fileno())) != stamp:
                raise FileNotFoundError(place.name)
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        given = journal.answers.codes(company, sha256)
        is_answered = given[-1:] == [code] or _why_not(journal.answers.received_as(company, sha256), given) is None
        return sha256 if is_answered else ""

    def _note(self, directory: Directory, name: str, why: Text | None) -> None:
        """Say beside a file why it isn't answered; None: it is. Raises OSError."""
        note = directory / f"{name}{NOTE}"
        if why is None:
            note.unlink(missing_ok=True)
            return
        discard(directory / f"{name}{ENDING}")
        content = sidecar.not_answered(name, why, language=self.folder.language)
        if _content(note, len(content) + 1) != content:
            files.replace_whole(note, content)
            self._log.warning("answer.not_sent", company=self.folder.company, file=name, why=why.message)

    def _answer(self, directory: Directory, place: _Place, stamp: FileStamp) -> Text | None:
        """Record the answer to a file. Returns why there is none; None where there is. Raises JournalError, OSError."""
        journal, company, code = self._journal, self.folder.company, CODES[place.folder]
        with open_regular(directory / place.name) as file:
            if FileStamp.of(os.fstat(file.fileno())) != stamp:  # the next listing sees it
                raise FileNotFoundError(place.name)
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
            row, given = journal.answers.received_as(company, sha256), journal.answers.codes(company, sha256)
            if given and given[-1] == code:  # it was answered by this folder
                return None
            why = _why_not(row, given)
            if why or row is None:
                return why
            file.seek(0)
            reading = _read(file)
        if reading is None or reading.number is None or reading.sha256 != sha256:
            return Text.of("unanswered/incomplete")
        reason = "" if code == ACCEPTED else _reason(directory, place.name)
        answer = self._made(row, reading, place, len(given), reason)
        journal.answers.record(answer)
        self._log.info(
            "answer.recorded", company=company, file=place.name, msg_no=row.msg_no, code=code, document=answer.document
        )
        return None

    def _made(self, row: MessageRow, reading: Reading, place: _Place, nth: int, reason: str) -> InvoiceAnswer:
        """The answer to the document of a message."""
        now, code, of_document = self._now(), CODES[place.folder], reading.number or ""
        number = f"{code}-{reading.sha256[:20]}"
        content = invoice_response(
            code,
            number=number,
            now=now,
            sender=(row.receiver, reading.receiver_name),
            receiver=(row.sender, reading.sender_name),
            answered=(of_document, reading.issue_date, reading.type_code or TYPE_CODES[reading.root_name]),
            reason=reason,
        )
        return InvoiceAnswer(
            company=self.folder.company,
            sha256=reading.sha256,
            nth=nth,
            code=code,
            number=number,
            sender=row.receiver,
            receiver=row.sender,
            at=now,
            document=new_id(now),
            file=answer_name(place.folder, of_document),
            content=content,
        )


def _why_not(row: MessageRow | None, given: Sequence[str]) -> Text | None:
    """Why the document of a message can't be answered after these answers; None where it may be."""
    if row is None:
        return Text.of("unanswered/unknown")
    if row.type not in TYPE_CODES:
        return Text.of("unanswered/kind")
    if given and given != [QUERIED]:
        return Text.of("unanswered/before")
    return None if can_name(row.sender) and can_name(row.receiver) else Text.of("unanswered/incomplete")


def _read(file: FileIO) -> Reading | None:
    """What a received document says; None where somebody has written into it since."""
    try:
        return identify.read(cast("BinaryIO", file), doctype="keep")
    except DocumentError:
        return None


def _may_be_moved(name: str, received: Collection[str]) -> bool:
    """Whether this may be the name of something that a person wants to have answered.

    Pages, attachments, sidecars and reasons that were moved with a document are not. `received`: the names of documents
    there, without `.xml`.
    """
    if is_received(name):
        return True
    return names_document(name) and not name.lower().endswith((*REASONS, ENDING)) and not goes_with(name, received)


def _reason(directory: Directory, name: str) -> str:
    """The reason that a person has written for a document, in one line; "" where there is none. Raises OSError."""
    stem = os.path.splitext(name)[0]  # noqa: PTH122 - a name
    there = {beside.lower(): beside for beside in directory.names() if beside.lower().endswith(REASONS)}
    for wanted in (f"{beside}{ending}".lower() for beside in (name, stem) for ending in REASONS):
        beside = there.get(wanted)
        if beside and (text := one_line(_decoded(_content(directory / beside, _READ) or b""), LONGEST_REASON)):
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


def _content(entry: files.Entry, most: int) -> bytes | None:
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


def _why(error: FolderUnavailable | OSError, folder: InboundFolder) -> str:
    return explain(error, folder.path) if isinstance(error, OSError) else str(error)
