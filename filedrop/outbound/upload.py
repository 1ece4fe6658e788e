"""A dropped file that was opened: its content, and its way to the access point.

What is posted is what was read. A change of the file is noticed while it is read, and until the last bytes of the
request leave.
"""

from __future__ import annotations

import hashlib
import io
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

from filedrop import files, identify
from filedrop.errors import DocumentError
from filedrop.files import FileStamp
from filedrop.files.certainty import CERTAINTY
from filedrop.files.patience import LOCALLY, asking
from filedrop.files.rights import denied
from filedrop.model.prepared import Prepared
from filedrop.texts import Text
from filedrop.times import from_seconds

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from datetime import datetime
    from pathlib import Path

    from filedrop.files import Where
    from filedrop.files.patience import Ask
    from filedrop.identify import Reading
    from filedrop.model.fault import Code

LATEST_TIME = 2.0**32  # seconds: a file's time may be any number
IN_USE: Code = "in-use"  # the code of a fault that no document gets: the file is looked at until nobody has it open
IN_MEMORY = 256 * 1024  # bytes: files up to this size are kept in memory; larger ones are read again when sent


class Changing(Exception):
    """The file changed while it was read."""


@dataclass(frozen=True, slots=True)
class Copy:
    """What is posted in place of a dropped file, opened and read, and what was changed in it."""

    opened: OpenedDocument
    prepared: Prepared
    meaning: str


@dataclass(slots=True)
class OpenedDocument:
    """An open file with its status, and what was read of it. `copy` is what is posted in its place, if that differs."""

    file: BinaryIO
    status: os.stat_result
    content: bytes | None = None
    reading: Reading | None = None
    copy: Copy | None = None

    @classmethod
    def open(cls, where: Where) -> OpenedDocument:
        """Open a file. Raises OSError."""
        return cls(*files.open_known(where))

    @property
    def stamp(self) -> FileStamp:
        """The file's stamp when it was opened."""
        return FileStamp.of(self.status)

    @property
    def modified(self) -> datetime:
        """When the file was last written, by the clock of its writer's system."""
        return from_seconds(min(max(0.0, self.status.st_mtime), LATEST_TIME))

    def read(self, max_size: int | None, xpaths: Collection[str] = (), *, ask: Ask = LOCALLY) -> Reading:
        """Read the file whole, once; `xpaths` are the mapping's. Raises DocumentError, Changing, OSError.

        `ask`: for a thread that serves other folders, too.
        """
        if self.status.st_size <= IN_MEMORY:
            self.content = ask(lambda: self.file.read(self.status.st_size + 1))
            stream: BinaryIO = io.BytesIO(self.content)
        else:
            stream = _Asked(self.file, ask)  # type: ignore[assignment] # it is only read
        try:
            self.reading = identify.read(stream, max_size=max_size, xpaths=xpaths)
        finally:
            if not ask(self.unchanged):
                raise Changing
        return self.reading

    def post_instead(self, copy: OpenedDocument, changed: Mapping[str, list[str]]) -> None:
        """Have this copy posted, which was read. `changed`: as `Prepared` has it."""
        if copy.reading is None:
            raise ValueError("the copy was not read")
        prepared = Prepared(copy.reading.size, copy.reading.sha256, dict(changed))
        self.copy = Copy(copy, prepared, copy.reading.meaning)

    def drop_copy(self) -> None:
        """Have the file itself posted again."""
        if self.copy is not None:
            self.copy.opened.close()
            self.copy = None

    def upload(self, *, local: bool) -> Upload:
        """What is posted, as it is sent. `local`: the file is on a disk of this computer."""
        posted = self if self.copy is None else self.copy.opened
        if posted.reading is None:
            raise ValueError("nothing was read that could be posted")
        return Upload(posted, posted.reading, asking(local=local), dropped=self)

    def unchanged(self) -> bool:
        """Whether the file looks as it did when it was opened. Asked after its end was read.

        Only then, sshfs shows its present size and time (tests/findings/sshfs-growth.sh).
        """
        return FileStamp.of(os.fstat(self.file.fileno())) == self.stamp

    def close(self) -> None:
        """Close the file, and its copy."""
        self.drop_copy()
        self.file.close()


class Upload:
    """A document on the wire: the `Source` of the request's body. Each call to the file goes through `ask`."""

    def __init__(self, opened: OpenedDocument, reading: Reading, ask: Ask, *, dropped: OpenedDocument) -> None:
        self._opened = opened
        self._files = (opened,) if dropped is opened else (opened, dropped)
        self._reading = reading
        self._ask = ask
        self._digest = ""
        self.size = reading.wire_size

    def chunks(self) -> Iterator[bytes]:
        """The document in UTF-8; may be called again."""
        if self._opened.content is not None:
            self._digest = self._reading.sha256
            yield from identify.wire(io.BytesIO(self._opened.content), self._reading)
            return
        self._ask(lambda: self._opened.file.seek(0))
        digest = hashlib.sha256()
        yield from identify.wire(_Digested(self._opened.file, digest, self._ask), self._reading)  # type: ignore[arg-type] # it is only read
        self._digest = digest.hexdigest()

    def unchanged(self) -> bool:
        """Whether what was sent is what was read, and the file looks the same, as does the one that was dropped.

        Asked before the last bytes leave.
        """
        is_unchanged = self._digest == self._reading.sha256 and all(self._ask(file.unchanged) for file in self._files)
        CERTAINTY.wait()
        return is_unchanged


class _Asked:
    """A file that is only read, through `ask`."""

    def __init__(self, file: BinaryIO, ask: Ask) -> None:
        self._file = file
        self._ask = ask

    def read(self, size: int = -1) -> bytes:
        return self._ask(lambda: self._file.read(size))


class _Digested(_Asked):
    """A file that computes the digest of what is read from it."""

    def __init__(self, file: BinaryIO, digest: hashlib._Hash, ask: Ask) -> None:
        super().__init__(file, ask)
        self._digest = digest

    def read(self, size: int = -1) -> bytes:
        chunk = super().read(size)
        self._digest.update(chunk)
        return chunk


def unreadable(path: Path, error: OSError) -> DocumentError:
    """The fault of a file that can't be read, or can't be yet (IN_USE)."""
    why, folder = error.strerror or error, path.parent
    if isinstance(error, files.InUse):
        form = "in-use/right" if isinstance(error, PermissionError) else "in-use"
        return DocumentError(Text.of(form, why=why, folder=folder))
    if not isinstance(error, PermissionError):
        return DocumentError(Text.of("unreadable/disk", why=why))
    denial = denied(path)
    if denial is None:
        return DocumentError(Text.of("unreadable/right", why=why, folder=folder))
    facts, remedy = denial.facts, denial.remedy_beside
    return DocumentError(Text.of("unreadable/denied", why=why, facts=facts, folder=folder, remedy=remedy))
