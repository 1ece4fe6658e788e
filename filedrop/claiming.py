"""Claiming: a dropped file that is ready is moved into `sending/`, and becomes a document.

Nothing is decided before the file has been read whole. A file that isn't ready is left where it is; what was seen of it
is remembered, so that a large or broken file isn't read again while it stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from filedrop import identify, sidecar
from filedrop.document import Document, Event, Fault, State, new_id, same_participant
from filedrop.errors import DocumentError
from filedrop.files import InUse, Seal, discard, place
from filedrop.putaway import lies_at, put_back
from filedrop.readiness import Clock, wait_for_writer
from filedrop.sending import unreadable
from filedrop.upload import Changing, Opened

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from filedrop.config import Outbound
    from filedrop.desk import Desk
    from filedrop.folders import OutboundFolder
    from filedrop.identify import Reading
    from filedrop.lane import Lane


AFTER_ANOTHER = 0.5  # seconds until a file is looked at again whose document is in another thread's hand


@dataclass(frozen=True, slots=True)
class Claimed:
    """A document that is in this thread's hand, and its file, opened and read (unless it can't be)."""

    document: Document
    opened: Opened | None

    @property
    def can_be_posted(self) -> bool:
        """Does it wait for that, and was it read?"""
        return self.document.state is State.WAITING and self.opened is not None and self.opened.reading is not None


class Claiming:
    """Claims what is ready in the outbound folders of one account."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def open(self, lane: Lane, names: Iterable[str]) -> dict[str, Opened | OSError]:
        """Open dropped files that may be ready; where several are, they may be read, too."""
        files = {name: self._open(lane, name) for name in names}
        if len(files) > 1:
            opened = [(name, one) for name, one in files.items() if isinstance(one, Opened)]
            ready = [one for name, one in opened if self._is_to_be_read(lane, name, one)]
            self._desk.porter.read_ahead(ready, self._desk.rules.max_size, lane.xpaths)
        return files

    def _is_to_be_read(self, lane: Lane, name: str, opened: Opened) -> bool:
        unchanged = lane.unchanged(name, opened.status, self._clock())
        return not self._wait(lane, name, opened, unchanged) and lane.fault(name, opened.seal) is None

    def _open(self, lane: Lane, name: str) -> Opened | OSError:
        try:
            return self._desk.porter.open(lane.folder.path / name, local=lane.folder.local)
        except OSError as error:
            return error

    def claim(self, lane: Lane, name: str, opened: Opened | OSError) -> Claimed | None:
        """Claim a dropped file if it is ready, and return the document it becomes. Raises OSError, JournalError.

        `opened`: the file, to be closed by the caller, or why it can't be opened.
        """
        try:
            if isinstance(opened, FileNotFoundError):
                return None
            if isinstance(opened, OSError):
                return self._claim_unreadable(lane, name, opened)
            return self._claim(lane, name, opened)
        except InUse as error:
            self._wait_for_others(lane, name, error)
            return None

    def _wait_for_others(self, lane: Lane, name: str, error: InUse) -> None:
        """Its writer has the file open, so it isn't ready. Told once, because a missing right looks the same."""
        lies_there = lane.folder.seal("", name)
        if lies_there is None:
            return
        seen, rescan = lane.seen.get(name), self._desk.rules.rescan.total_seconds()
        if seen is None or seen.fault is None:
            self._desk.log.info("document.in_use", company=lane.folder.company, file=name, why=error.strerror)
        fault = unreadable(lane.folder.path / name, error)
        lane.remember(name, lies_there, self._desk.steady(), look_again=rescan, fault=fault)

    def _claim(self, lane: Lane, name: str, opened: Opened) -> Claimed | None:
        rules, seal, now = self._desk.rules, opened.seal, self._clock()
        unchanged = lane.unchanged(name, opened.status, now)
        wait = self._wait(lane, name, opened, unchanged)
        if wait:
            lane.remember(name, seal, now.steady, look_again=wait, unchanged=unchanged)
            return None
        fault = lane.fault(name, seal)
        if fault is None:
            try:
                reading = opened.read(rules.max_size, lane.xpaths)
            except Changing:
                lane.closed.discard(name)
                lane.remember(name, seal, now.steady, look_again=rules.settle.total_seconds())
                return None
            except DocumentError as error:
                fault = error
            else:
                return self._claim_whole(lane, name, opened, reading)
        patience = rules.incomplete_after.total_seconds() - unchanged
        if fault.code == "not-xml" and patience > 0:
            # It may be written on without an event: then it is judged afresh, else not even read again.
            look_again = min(patience, rules.rescan.total_seconds())
            lane.remember(name, seal, now.steady, look_again=look_again, unchanged=unchanged, fault=fault)
            return None
        return self._claim_failed(lane, name, seal, fault)

    def _wait(self, lane: Lane, name: str, opened: Opened, unchanged: float) -> float:
        ready_file = lane.folder.ready_file(name)
        if ready_file is None:
            return wait_for_writer(
                unchanged, settle=self._desk.rules.settle, closed=name in lane.closed, local=lane.folder.local
            )
        try:
            is_ready = ready_file.lstat().st_mtime_ns >= opened.status.st_mtime_ns
        except OSError:  # it isn't there, or can't be
            is_ready = False
        return 0.0 if is_ready else self._desk.rules.rescan.total_seconds()

    def _claim_whole(self, lane: Lane, name: str, opened: Opened, reading: Reading) -> Claimed | None:
        for document in self._desk.journal.open_like(lane.folder.id, reading.sha256):
            if not lies_at(lane.folder, document):
                return self._claim_returned(lane, name, opened, document)
        file = self._move_in(lane, name, opened.seal)
        if file is None:
            return None
        document = self.document(lane, name, file, opened.seal)
        document = identified(lane, document, reading, self._desk.rules, self._desk.now())
        self._desk.in_hand.take(document.id)
        return Claimed(document, opened)

    def _claim_returned(self, lane: Lane, name: str, opened: Opened, document: Document) -> Claimed | None:
        """An open document's own file is gone, and here are its bytes: it is that document (contract 1).

        A person has moved it back, or the disk has lost the claim's rename in a power cut.
        """
        desk, folder = self._desk, lane.folder
        if not desk.in_hand.take(document.id):  # its thread is just finding out that it isn't there
            lane.remember(name, opened.seal, desk.steady(), look_again=AFTER_ANOTHER)
            return None
        try:
            if document.place == "sending" and folder.seal("sending", document.file) is None:
                place(folder.path / name, folder.path / document.place / document.file)
            else:  # its sidecar may have been cleared away meanwhile, and its name be another's: it is put away anew
                file = folder.claim(name, partial(self._is_spoken_for, lane, name))
                document = desk.journal.record(document.at("sending", file))
        except BaseException:
            desk.in_hand.give_back([document.id])
            raise
        lane.forget(name)
        lane.missed.pop(document.id, None)
        desk.log.info("document.returned", company=folder.company, file=document.file, state=document.state.value)
        return Claimed(document, opened)

    def _claim_failed(self, lane: Lane, name: str, seal: Seal, fault: DocumentError) -> Claimed | None:
        file = self._move_in(lane, name, seal)
        if file is None:
            return None
        document = self.document(lane, name, file, seal)
        self._desk.in_hand.take(document.id)
        return Claimed(document.failed(self._desk.now(), Fault(fault.code, fault.message, fault.hint)), None)

    def _claim_unreadable(self, lane: Lane, name: str, error: OSError) -> Claimed | None:
        path = lane.folder.path / name
        try:
            status = path.lstat()
        except FileNotFoundError:
            return None
        now = self._clock()
        unchanged = lane.unchanged(name, status, now)
        patience = self._desk.rules.incomplete_after.total_seconds() - unchanged
        if patience > 0:  # a writer may hold it (Windows), or its rights come last
            again = min(patience, self._desk.rules.rescan.total_seconds())
            fault = unreadable(path, error)
            lane.remember(name, Seal.of(status), now.steady, look_again=again, unchanged=unchanged, fault=fault)
            return None
        return self._claim_failed(lane, name, Seal.of(status), unreadable(path, error))

    def _move_in(self, lane: Lane, name: str, seal: Seal) -> str | None:
        """Rename into `sending/`; None when it is gone, or when another file lay there by the time of the rename."""
        folder = lane.folder
        try:
            file = folder.claim(name, partial(self._is_spoken_for, lane, name))
        except FileNotFoundError:
            return None
        if folder.seal("sending", file) != seal:
            put_back(folder, file, name)
            return None
        lane.forget(name)
        self._clear_beside(folder, name)
        return file

    def _is_spoken_for(self, lane: Lane, name: str, file: str) -> bool:
        """Is this another document's name in `sending/`? Asked for a dropped file that is about to take it."""
        if lane.taking.setdefault(file, name) != name:  # in one step: of two threads, one is the first
            return True
        return self._desk.journal.speaks_of(lane.folder.id, "sending", file)

    def _clear_beside(self, folder: OutboundFolder, name: str) -> None:
        """The ready file, and the note and sidecar that came back with a resubmitted document, have done their work."""
        ready_file = folder.ready_file(name)
        if ready_file is not None:
            discard(ready_file)
        discard(folder.path / f"{name}.why.txt")
        beside = folder.path / f"{name}.json"
        if sidecar.identity_of(beside) is not None:
            discard(beside)

    def document(self, lane: Lane, name: str, file: str, seal: Seal) -> Document:
        """A new document, not recorded yet: what was dropped as `name` and lies in `sending/` as `file`."""
        desk, now = self._desk, self._desk.now()
        return Document(
            id=new_id(now),
            company=lane.folder.company,
            folder=lane.folder.id,
            account=desk.account,
            file=file,
            dropped_as=name,
            claimed=now,
            size=seal.size,
            history=(Event(now, "claimed"),),
        )

    def _clock(self) -> Clock:
        return Clock(self._desk.steady(), self._desk.now().timestamp())


def identified(lane: Lane, document: Document, reading: Reading, rules: Outbound, now: datetime) -> Document:
    """The document with what was read of it and its ids; failed, where it can't be sent with what it says."""
    document = document.but(
        sha256=reading.sha256,
        meaning=reading.meaning,
        type=reading.root_name,
        number=reading.number,
        issue_date=reading.issue_date,
    )
    try:
        identity = lane.identify(reading, document.dropped_as)
        document = document.but(
            sender=_said(identity.sender),
            receiver=_said(identity.receiver),
            document_id=_said(identity.document_id),
            process_id=_said(identity.process_id),
            channel=_said(identity.channel) or "",
            sources=dict(identity.sources),
            warnings=tuple(identity.warnings),
        )
        identify.demand(identity, reading)
        return _see_sender(document, lane.participants, rules.foreign_sender)
    except DocumentError as error:
        return document.failed(now, Fault(error.code, error.message, error.hint))


def _said(text: str | None) -> str | None:
    """A text without what a file name that isn't valid Unicode may have brought into it by a mapping rule."""
    return None if text is None else text.encode("utf-8", "replace").decode()


def _see_sender(document: Document, participants: tuple[str, ...], rule: str) -> Document:
    """Is the sender one of the company's? (contract 2, `foreign_sender`)"""
    if rule == "allow" or not participants or document.sources.get("sender", "").startswith("mapping"):
        return document
    if any(same_participant(document.sender, participant) for participant in participants):
        return document
    company, sender = document.company, document.sender
    message = f"the document's sender {sender} is none of {company}'s participants ({', '.join(participants)})"
    if rule == "warn":
        return document.warned(message)
    raise DocumentError(
        "foreign-sender",
        message,
        f"If {company} may send as {sender}, add that to companies.{company}.participants, or set the sender by a "
        "mapping rule, and restart filedrop. Otherwise the file was dropped into the wrong company's folder."
        + "".join(f"\nNote: {warning}" for warning in document.warnings if warning.startswith("sender ")),
    )
