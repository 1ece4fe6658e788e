"""A dropped file that was opened: what was in it, and how it goes to the access point.

What is posted is what was read. A file that changes meanwhile is noticed: while it is read, and until the last bytes of
the request leave.
"""

from __future__ import annotations

import hashlib
import io
import os
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, BinaryIO

from filedrop import files, identify
from filedrop.files import Seal

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from filedrop.accesspoint import AccessPoint, Message
    from filedrop.document import Ids
    from filedrop.identify import Reading

    Busy = Callable[[], AbstractContextManager[None]]

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
            self.content = self.file.read(self.status.st_size + 1)
            stream: BinaryIO = io.BytesIO(self.content)
        else:
            stream = self.file
        try:
            self.reading = identify.read(stream, max_size=max_size, xpaths=xpaths)
        finally:
            if not self.unchanged():
                raise Changing
        return self.reading

    def post(self, access_point: AccessPoint, ids: Ids, busy: Busy) -> Message:
        """Post what was read. Raises as `AccessPoint.send` does; `busy` says that somebody works in its folder."""
        if self.reading is None:
            raise ValueError("nothing was read that could be posted")
        return access_point.send(ids, Upload(busy, self, self.reading))

    @property
    def is_posted(self) -> bool:
        """Has it been posted already, and is its answer there for whoever asks for it to be posted?"""
        return False

    def unchanged(self) -> bool:
        """Does it still look as when it was opened?"""
        return Seal.of(_status(self.file)) == self.seal

    def close(self) -> None:
        """Give the file back."""
        self.file.close()


def close(file: Opened | OSError) -> None:
    """Give a file back, if it could be opened."""
    if isinstance(file, Opened):
        file.close()


class Upload:
    """A document as it goes on the wire: the `Source` of the request's body."""

    def __init__(self, busy: Busy, opened: Opened, reading: Reading) -> None:
        self._busy = busy
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
        with self._busy():
            self._opened.file.seek(0)
        digest = hashlib.sha256()
        yield from identify.wire(_Digested(self._opened.file, digest, self._busy), self._reading)  # type: ignore[arg-type] # it is only read
        self._digest = digest.hexdigest()

    def unchanged(self) -> bool:
        """Asked before the last bytes leave: is what was sent what was read, and does the file still look the same?"""
        with self._busy():
            return self._digest == self._reading.sha256 and self._opened.unchanged()


class _Digested:
    """A file that remembers the digest of what was read from it."""

    def __init__(self, file: BinaryIO, digest: hashlib._Hash, busy: Busy) -> None:
        self._file = file
        self._digest = digest
        self._busy = busy

    def read(self, size: int = -1) -> bytes:
        with self._busy():
            chunk = self._file.read(size)
        self._digest.update(chunk)
        return chunk


def _status(file: BinaryIO) -> os.stat_result:
    return os.fstat(file.fileno())
