"""What was posted in place of a dropped file (contract 1, Preparation)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Prepared:
    """Size and digest of what was posted, and what was changed: each role whose id was written, before and after.

    An id that the document lacked was "" before; so is `pdf`, whose file's name comes after that. Nothing was changed
    in a copy that was only found beside a document: what became of the document while the journal was lost is unknown,
    and the copy isn't posted again.
    """

    size: int
    sha256: str
    changed: dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class PdfFile:
    """The PDF that was dropped with a document: its name then, its size and digest.

    It is next to the document, by the document's name with the suffix of its own.
    """

    name: str
    size: int
    sha256: str
