"""The temporary files of a message: its document, `.{id}.{owner}.part`, and its pieces, `.{id}.{owner}.{number}.tmp`.

The owner is the account, of which several write into the folder of nobody's messages. Pieces are what was embedded in
the document. Only the document is named in the journal. The pieces are made again of it, and whatever a killed process
of the same account left is removed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

from filedrop import files
from filedrop.errors import FolderUnavailable
from filedrop.storage.company_folders import draft_owner

if TYPE_CHECKING:
    from collections.abc import Iterator

    from filedrop.files import Directory
    from filedrop.files.directory import Entry
    from filedrop.files.patience import Ask

DRAFT = ".part"


def temporary_name(id_: str, account: str) -> str:
    """The temporary name of a document, which an account (by its identity) has received."""
    return f".{id_}.{draft_owner(account)}{DRAFT}"


def id_in(temporary: str) -> str:
    """The id in a temporary name."""
    return temporary[1:].partition(".")[0]


def check_there(temporary: Entry) -> None:
    """Check that a temporary file still exists. Raises FolderUnavailable."""
    if files.is_missing(temporary):
        raise FolderUnavailable(f"somebody has removed {temporary}")


def discard(temporary: Entry, leftovers: set[str], ask: Ask) -> None:
    """Remove an incomplete file. If its share has gone away, the next fetch into that removes it."""
    try:
        ask(lambda: temporary.unlink(missing_ok=True))
    except OSError:
        leftovers.add(temporary.name)


def piece_name(temporary: str, number: int) -> str:
    """The temporary name of what is embedded in a document, the first of which has the number 1."""
    return f"{temporary.removesuffix(DRAFT)}.{number}.tmp"


def pieces_of(here: Directory, temporary: str) -> Iterator[Entry]:
    """What lies there that was embedded in the document with this temporary name. Raises OSError."""
    beginning = f"{temporary.removesuffix(DRAFT)}."
    return (here / name for name in here.names() if name.startswith(beginning) and name.endswith(".tmp"))


class Asked:
    """A temporary file to write and read again; calls that may hang go through `ask`."""

    def __init__(self, file: BinaryIO, ask: Ask) -> None:
        self._file = file
        self._ask = ask

    def tell(self) -> int:
        """Where it stands."""
        return self._file.tell()

    def seek(self, position: int) -> int:
        """Go to a position. Raises OSError."""
        return self._ask(lambda: self._file.seek(position))  # flushes the write buffer, which may hang

    def truncate(self) -> int:
        """Cut it off where it stands. Raises OSError."""
        return self._ask(self._file.truncate)

    def read(self, size: int = -1) -> bytes:
        """The next bytes. Raises OSError."""
        return self._ask(lambda: self._file.read(size))

    def write(self, data: bytes) -> int:
        """Write all of the bytes. Raises OSError."""
        return self._ask(lambda: self._file.write(data))
