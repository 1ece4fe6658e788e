"""Ready files: with `outbound.ready_suffix: .ready`, `X.xml.ready` signals that `X.xml` is whole (contract 1).

A system may use the same names for each export. So a ready file is removed only if it is the one that was seen while
its document was still there: any other one belongs to the next export.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from filedrop.files import replace_whole, stamps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from filedrop.files import Directory, Entry, FileStamp


class ReadyFiles:
    """The ready files of an `outbound/`, which `here` opens. `ends`: how they end, in several cases; () for none."""

    def __init__(self, here: Callable[[], Directory], suffix: str | None) -> None:
        spellings = (suffix, suffix.upper(), suffix.lower(), suffix.title()) if suffix else ()
        self.ends = tuple(dict.fromkeys(spellings))
        self._here = here

    def name(self, document: str) -> str | None:
        """The ready file that a document needs; None where the configuration has no ready_suffix."""
        return f"{document}{self.ends[0]}" if self.ends else None

    def missing(self, document: str, changed_ns: int) -> str | None:
        """The ready file that a document lacks: it is missing, or older than the document was `changed_ns`."""
        if any(found.modified >= changed_ns for _, found in self.seen(document)):
            return None
        return self.name(document)

    def seen(self, *files: str) -> Iterator[tuple[Entry, FileStamp]]:
        """The ready files of these files, each with its stamp when it is looked at."""
        return stamps(self._here() / f"{file}{end}" for file in files for end in self.ends)

    def write(self, document: str, draft_in: Directory) -> None:
        """Write the ready file of a document, if it needs one. Raises OSError."""
        if name := self.name(document):
            replace_whole(self._here() / name, b"", draft_in=draft_in)
