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
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, BinaryIO, cast

from filedrop import files, identify
from filedrop.errors import DocumentError, FolderUnavailable
from filedrop.files import FileStamp, discard, open_regular
from filedrop.files.rights import explain
from filedrop.inbound.moved import (
    ENDING,
    NOTE,
    Place,
    announced,
    announcement,
    content_of,
    kept_back,
    listed,
    reason_beside,
    record,
)
from filedrop.journal import InvoiceAnswer
from filedrop.model.document import new_id
from filedrop.model.invoice_response import ACCEPTED, PRELIMINARY, TYPE_CODES, can_name, invoice_response
from filedrop.model.report import FolderReport
from filedrop.storage import sidecar
from filedrop.storage.answer_folders import CODES, answer_folder, clear_begun
from filedrop.storage.marker import Marker
from filedrop.storage.names import answer_name
from filedrop.texts import Text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime
    from io import FileIO

    import structlog

    from filedrop.files import Directory
    from filedrop.identify import Reading
    from filedrop.inbound.moved import Announcement
    from filedrop.journal import Journal, MessageRow
    from filedrop.storage.company_folders import InboundFolder

LIES = 300.0  # seconds after which a moved file is answered
FILES_A_STEP = 16  # files that are decided on in one step: other folders are served in between


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
        self._due = self._lists_at = self._listed = -math.inf
        self._warnings: tuple[str, ...] = ()
        self._refusals: list[str] = []
        self._is_cleared = False
        self._moved: dict[Place, _Moved] = {}
        self._strange: dict[str, str] = {}

    @property
    def report(self) -> FolderReport:
        """What is wrong with the folders."""
        return FolderReport(self.folder.path, self.folder.company, warnings=self._warnings, last_scan=self._listed)

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
                    self._examine(there)
                self._decide(there, now)
                self._listed = self._lists_at
                if is_listed:
                    self._announce(there, now)
                    self._warn(*self._refusals, *_refused(self._kept()))
        except (FolderUnavailable, OSError) as error:  # what is moved meanwhile, nobody sees: all times begin again
            self._moved.clear()
            self._warn(f"nothing is answered now: {_why(error, self.folder)}")

    def close(self) -> None:
        """Nothing has begun that is to be ended."""

    def _open(self, here: Directory) -> dict[str, Directory]:
        """The folders that can be used, by name; what is wrong with the others is noted. Raises OSError."""
        if not self._is_cleared:
            clear_begun(here)
        there: dict[str, Directory] = {}
        self._refusals = list[str]()
        for name in CODES:
            try:
                there[name] = answer_folder(here, name, Marker(self.folder.id, self._journal.id))
            except FolderUnavailable as error:
                self._refusals.append(str(error))
        return there

    def _warn(self, *warnings: str) -> None:
        if warnings and warnings != self._warnings:
            self._log.warning("answers.refused", company=self.folder.company, why="; ".join(warnings))
        self._warnings = warnings

    def _list(self, there: dict[str, Directory], now: float) -> None:
        """Note what lies in the folders. Raises OSError."""
        stamps, self._strange = listed(there, clears=not self._is_cleared)
        self._is_cleared = True
        known = self._moved
        self._moved = {
            place: known[place] if place in known and known[place].stamp == stamp else _Moved(stamp, now)
            for place, stamp in stamps.items()
        }

    def _decide(self, there: dict[str, Directory], now: float) -> None:
        """Decide on some of what has lain there for long enough. Raises JournalError."""
        kept = self._kept()
        waiting = [
            (place, moved)
            for place, moved in self._moved.items()
            if not moved.is_decided and (place.whole not in kept or moved.sha256 == "")
        ]
        due = [(place, moved) for place, moved in waiting if moved.since + LIES <= now]
        for place, moved in due[:FILES_A_STEP]:
            try:
                directory = place.directory(there)
                if directory is None:  # it isn't ours any more
                    del self._moved[place]
                    continue
                self._note(directory, place.name, self._answer(directory, place, moved.stamp))
                moved.is_decided = True
                moved.sha256 = moved.sha256 or None  # it may be answered since it was looked at
            except FileNotFoundError:  # moved back, and perhaps in again before the next listing
                del self._moved[place]
            except OSError as error:
                moved.since = now + self._rescan - LIES
                self._note_failure(place, moved, error)
        left = [moved.since + LIES for _, moved in waiting if not moved.is_decided]
        self._due = min(self._due, *left) if left else self._due

    def _kept(self) -> dict[str, str]:
        """The folders that were moved as a whole and aren't answered now, each with something in it that keeps it.

        That is "" where files in it are still to be read.
        """
        kept = dict(self._strange)
        for place, moved in self._moved.items():
            if place.whole and not moved.sha256:
                is_known = moved.sha256 is not None or moved.failure
                kept[place.whole] = kept.get(place.whole) or (str(place) if is_known else "")
        return kept

    def _note_failure(self, place: Place, moved: _Moved, error: OSError) -> None:
        why = f"{place}: {explain(error, self.folder.path)}"
        if why != moved.failure:
            self._log.warning("answers.failed", company=self.folder.company, why=why)
        moved.failure = why

    def _examine(self, there: dict[str, Directory]) -> None:
        """Look at some of the files that were moved: whether they are answered. Raises JournalError."""
        unread = [(place, moved) for place, moved in self._moved.items() if moved.sha256 is None]
        unread.sort(key=lambda each: bool(each[1].failure))  # what can't be read keeps nothing else waiting
        for place, moved in unread[:FILES_A_STEP]:
            try:
                if directory := place.directory(there):
                    moved.sha256 = self._sha256_if_answered(directory, place, moved.stamp)
            except FileNotFoundError:  # moved back
                continue
            except OSError as error:
                self._note_failure(place, moved, error)

    def _announce(self, there: dict[str, Directory], now: float) -> None:
        """Say beside each moved file what becomes of its answer. Raises JournalError."""
        kept = self._kept()
        for place, moved in self._moved.items():
            keeper = kept.get(place.whole)
            if moved.sha256 and keeper != "" and not (moved.announcement and moved.announcement.is_final):
                with suppress(OSError):  # moved back; or the next listing tries again
                    if directory := place.directory(there):
                        self._renew(directory, place, moved, now, keeper)

    def _renew(self, directory: Directory, place: Place, moved: _Moved, now: float, keeper: str | None) -> None:
        """Write the note beside a file, and the answer into its sidecar. `keeper`: what keeps the whole folder."""
        sha256, note = moved.sha256 or "", directory / f"{place.name}{ENDING}"
        given = self._journal.answers.given(self.folder.company, sha256)
        if given and given[-1].code == place.code:
            news = announcement(given, self.folder.language)
        elif moved.is_decided:
            return
        elif keeper:
            news = kept_back(keeper, self.folder.language)
        elif moved.announcement is None or moved.announcement.is_kept:
            due = self._now() + timedelta(seconds=moved.since + LIES - now)
            news = announced(due, self.folder.language)
        else:
            return
        if content_of(note, len(news.content) + 1) != news.content:
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

    def _sha256_if_answered(self, directory: Directory, place: Place, stamp: FileStamp) -> str:
        """The digest of a file that is answered, or was; "" where it isn't. Raises JournalError, OSError."""
        journal, company, code = self._journal, self.folder.company, place.code
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
        if content_of(note, len(content) + 1) != content:
            files.replace_whole(note, content)
            self._log.warning("answer.not_sent", company=self.folder.company, file=name, why=why.message)

    def _answer(self, directory: Directory, place: Place, stamp: FileStamp) -> Text | None:
        """Record the answer to a file. Returns why there is none; None where there is. Raises JournalError, OSError."""
        journal, company, code = self._journal, self.folder.company, place.code
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
        reason = "" if code == ACCEPTED else reason_beside(directory, place.name)
        answer = _made(row, reading, place, nth=len(given), reason=reason, now=self._now())
        journal.answers.record(answer)
        self._log.info(
            "answer.recorded", company=company, file=place.name, msg_no=row.msg_no, code=code, document=answer.document
        )
        return None


def _refused(kept: Mapping[str, str]) -> list[str]:
    """What is wrong with the folders that were moved as a whole."""
    return [
        f"nothing in {folder} is answered, because {keeper} can't be: move it elsewhere"
        for folder, keeper in sorted(kept.items())
        if keeper
    ]


def _made(row: MessageRow, reading: Reading, place: Place, *, nth: int, reason: str, now: datetime) -> InvoiceAnswer:
    """The answer to the document of a message."""
    code, of_document = place.code, reading.number or ""
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
        company=row.company,
        sha256=reading.sha256,
        nth=nth,
        code=code,
        number=number,
        sender=row.receiver,
        receiver=row.sender,
        at=now,
        document=new_id(now),
        file=answer_name(place.folder.partition("/")[0], of_document),
        content=content,
    )


def _why_not(row: MessageRow | None, given: Sequence[str]) -> Text | None:
    """Why the document of a message can't be answered after these answers; None where it may be."""
    if row is None:
        return Text.of("unanswered/unknown")
    if row.type not in TYPE_CODES:
        return Text.of("unanswered/kind")
    if not set(given) <= {*PRELIMINARY}:
        return Text.of("unanswered/before")
    return None if can_name(row.sender) and can_name(row.receiver) else Text.of("unanswered/incomplete")


def _read(file: FileIO) -> Reading | None:
    """What a received document says; None where somebody has written into it since."""
    try:
        return identify.read(cast("BinaryIO", file), doctype="keep")
    except DocumentError:
        return None


def _why(error: FolderUnavailable | OSError, folder: InboundFolder) -> str:
    return explain(error, folder.path) if isinstance(error, OSError) else str(error)
