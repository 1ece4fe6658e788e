"""One step of the way out: the request, and what each answer means (contract 6, the table of answers).

The order is the safety: the row that says "sending" is on the disk before the request leaves, what was heard is on the
disk before the file moves. A crash at any point leaves a document that is looked for, never one that is sent twice.
"""

from __future__ import annotations

import hashlib
import io
import os
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, BinaryIO

from filedrop import files, identify
from filedrop.accesspoint import BrokenOff
from filedrop.document import Fault, State
from filedrop.doubt import is_owned
from filedrop.errors import DocumentError, NoClearAnswer, Rejected, Unauthorized, Unavailable, Unexplained, WrongAddress
from filedrop.files import Seal
from filedrop.journal import Duplicate
from filedrop.moments import backoff

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from filedrop.accesspoint import Message
    from filedrop.desk import Desk
    from filedrop.document import Document, Ids
    from filedrop.folders import OutboundFolder
    from filedrop.identify import Reading

LATEST = 2.0**32  # seconds: a file's time may be anything
IN_MEMORY = 256 * 1024  # bytes: a file of at most this size is read from the disk once; larger ones once more when sent


class Changing(Exception):
    """The file changed while it was read."""


@dataclass(slots=True)
class Opened:
    """A file that was opened and read whole: what was in it, and how it looked."""

    file: BinaryIO
    status: os.stat_result
    content: bytes | None = None
    reading: Reading | None = None

    @classmethod
    def open(cls, path: Path) -> Opened:
        """Open it. Raises OSError."""
        file = files.open_regular(path)
        return cls(file, _status(file))

    @property
    def seal(self) -> Seal:
        """How it looked when it was opened."""
        return Seal.of(self.status)

    @property
    def modified(self) -> datetime:
        """When it was last written, as its writer's system has it."""
        return datetime.fromtimestamp(min(max(0.0, self.status.st_mtime), LATEST)).astimezone()

    def read(self, max_size: int, xpaths: Collection[str] = ()) -> Reading:
        """Read it whole, once; `xpaths` are those of the mapping. Raises DocumentError, Changing, OSError."""
        if self.status.st_size <= IN_MEMORY:
            self.content = self.file.read(IN_MEMORY + 1)
            stream: BinaryIO = io.BytesIO(self.content)
        else:
            stream = self.file
        try:
            self.reading = identify.read(stream, max_size=max_size, xpaths=xpaths)
        finally:
            if not self.unchanged():
                raise Changing
        return self.reading

    def unchanged(self) -> bool:
        """Does it still look as when it was opened?"""
        return Seal.of(_status(self.file)) == self.seal

    def close(self) -> None:
        """Give the file back."""
        self.file.close()


class Upload:
    """A document as it goes on the wire: the `Source` of the request's body."""

    def __init__(self, folder: OutboundFolder, opened: Opened, reading: Reading) -> None:
        self._folder = folder
        self._opened = opened
        self._reading = reading
        self._digest = ""
        self.size = reading.wire_size

    def chunks(self) -> Iterator[bytes]:
        """The document in UTF-8; may be asked for again."""
        if self._opened.content is not None:
            self._digest = self._reading.sha256
            yield from identify.wire(io.BytesIO(self._opened.content), self._reading)
            return
        with self._folder.busy():
            self._opened.file.seek(0)
        digest = hashlib.sha256()
        yield from identify.wire(_Digested(self._opened.file, digest, self._folder), self._reading)  # type: ignore[arg-type] # it is only read
        self._digest = digest.hexdigest()

    def unchanged(self) -> bool:
        """Asked before the last bytes leave: is what was sent what was read, and does the file still look the same?"""
        with self._folder.busy():
            return self._digest == self._reading.sha256 and self._opened.unchanged()


class _Digested:
    """A file that remembers the digest of what was read from it."""

    def __init__(self, file: BinaryIO, digest: hashlib._Hash, folder: OutboundFolder) -> None:
        self._file = file
        self._digest = digest
        self._folder = folder

    def read(self, size: int = -1) -> bytes:
        with self._folder.busy():
            chunk = self._file.read(size)
        self._digest.update(chunk)
        return chunk


def send(desk: Desk, document: Document, upload: Upload) -> Document | None:
    """Post a document and return it as the answer leaves it, recorded.

    None when the file changed under the request, which was broken off: it never arrived and readiness begins again.
    Raises JournalError: then nothing was posted, or what was heard is looked for by the next sweep.
    """
    document = _see_receiver(desk, document)
    if document.state is State.FAILED:
        return desk.journal.record(document)
    ids = document.ids
    access_point, journal = desk.access_point, desk.journal
    try:
        # Before the request, so that a crash during it leaves a document that we look for, not one that we send twice.
        document = journal.record_sending(
            document.sending(desk.now(), identity=access_point.identity, clock=access_point.clock()),
            desk.rules.duplicates,
        )
    except Duplicate as duplicate:
        return journal.record(document.failed(desk.now(), _duplicate(duplicate.document)))
    after = _post(desk, document, upload, ids)
    return None if after is None else journal.record(after)


def _see_receiver(desk: Desk, document: Document) -> Document:
    """Would the receiver get it? (contract 2, `directory`)"""
    objection = None if desk.rules.directory == "off" else desk.directory.objection(document.ids)
    if objection is None:
        return document
    if desk.rules.directory == "refuse":
        return document.failed(desk.now(), objection)
    desk.log.warning("receiver.doubtful", company=document.company, file=document.file, why=objection.message)
    return document.warned(objection.message)


def _post(desk: Desk, document: Document, upload: Upload, ids: Ids) -> Document | None:
    try:
        message = _accepted(desk, ids, upload)
    except BrokenOff:
        return None
    except DocumentError as error:  # an id that can't be one; nothing was posted
        return document.failed(desk.now(), Fault(error.code, error.message, error.hint))
    except Rejected as error:
        desk.standing.answered()
        return document.failed(desk.now(), rejected(error.text, error.status))
    except (Unauthorized, WrongAddress, Unavailable) as error:
        desk.standing.heard(error, document.id)
        desk.log.info("document.held_back", file=document.file, company=document.company, why=str(error))
        retry = desk.rules.retry
        due = desk.now() + backoff(document.attempts + 1, retry.first, retry.longest)
        return document.never_arrived(desk.now(), str(error), due=due)
    except NoClearAnswer as error:
        desk.standing.heard(error, document.id)
        return document.doubted(desk.now(), str(error), unexplained=isinstance(error, Unexplained))
    desk.standing.answered()
    now = desk.now()
    sent = document.sent(now, message.msg_no, received=message.received, uuid=message.uuid)
    return sent.later(now + desk.rules.track)


def _accepted(desk: Desk, ids: Ids, upload: Upload) -> Message:
    """The message that the document became. Raises as `AccessPoint.send` does; NoClearAnswer for another's answer."""
    message = desk.access_point.send(ids, upload)
    number = message.msg_no
    if is_owned(message, desk.journal.owned(desk.access_point.identity, [number]).get(number, ())):
        raise NoClearAnswer(f"the answer was another document's: message {number} is known; tell the operator")
    return message


def rejected(text: str, status: int) -> Fault:
    """The access point refused the document in these words."""
    said = (
        f'the access point refused it (HTTP {status}): "{text}"'
        if text
        else f"the access point refused it (HTTP {status}) and gave no reason"
    )
    return Fault("rejected", said, "mend the document, or its ids in the mapping, and drop it again")


def unreadable(path: Path, error: OSError) -> DocumentError:
    """The file can't be read: as a document's fault."""
    return DocumentError(
        "unreadable",
        f"{path.name} can't be read: {error.strerror or error}",
        f"give the service the right to read {path.parent} and what is in it",
    )


def _duplicate(first: Document) -> Fault:
    number = f" (message number {first.msg_no})" if first.msg_no is not None else ""
    what = f"{first.type or 'document'} {first.number or ''}".strip()
    return Fault(
        "duplicate",
        f"the same {what} from {first.sender} to {first.receiver} was dropped before as {first.dropped_as} "
        f"on {first.claimed.isoformat(sep=' ', timespec='minutes')} and is {first.state}{number}",
        "delete it; only if it really is to be sent once more, let it through with retry --anyway",
    )


def _status(file: BinaryIO) -> os.stat_result:
    return os.fstat(file.fileno())
