"""What was posted in place of a dropped file (contract 1, Preparation)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Prepared:
    """Size and digest of what was posted, and what was changed: each role whose id was written, before and after.

    An id that the document lacked was "" before. Nothing was changed in a copy that was only found beside a document:
    what became of the document while the journal was lost is unknown, and the copy isn't posted again.
    """

    size: int
    sha256: str
    changed: dict[str, list[str]]
