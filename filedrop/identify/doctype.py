"""A document type declaration made harmless: kept in its place, without what it declares.

An entity can be made to stand for gigabytes, and expat resolves those in attributes whatever one asks of it. So the
internal subset is blanked out before the parser sees it, and the declaration says instead that there is more elsewhere,
which is never fetched: then a reference to an entity is skipped, as XML 1.0 section 4.4.3 allows (not in a document
that calls itself standalone, so that is blanked out too). The length stays as it was, and so do the lines.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING
from xml.parsers import expat

from filedrop.errors import DocumentError
from filedrop.texts import Text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_ELSEWHERE = b' SYSTEM ""'
_STANDALONE = re.compile(rb"""\A(<\?xml\s[^>]*?)(\sstandalone\s*=\s*["']yes["'])""")
_STEP = re.compile(rb"[^>]*>|[^>]+")
_LONGEST_PROLOG = 1 << 18  # bytes of a prolog
_MOST_STEPS = 2000


def without_subset(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The same document in UTF-8 with its internal subset, if it has one, blanked out.

    Raises DocumentError (`unreadable`) where what comes before the root element has no end.
    """
    pieces = iter(pieces)
    prolog = bytearray()
    subset = _Subset()
    for piece in pieces:
        prolog += piece
        subset.look(piece)
        if subset.over:
            break
    if subset.end:
        blank = bytearray(byte if byte == ord("\n") else ord(" ") for byte in prolog[subset.start : subset.end])
        if not subset.elsewhere and len(blank) >= len(_ELSEWHERE):
            start = max(blank.find(b" " * len(_ELSEWHERE)), 0)
            blank[start : start + len(_ELSEWHERE)] = _ELSEWHERE
        prolog[subset.start : subset.end] = blank
        prolog[:] = _STANDALONE.sub(lambda found: found[1] + b" " * len(found[2]), prolog)
    return chain([bytes(prolog)], pieces)


class _Subset:
    """Where the internal subset lies: `start` is the offset of its `[`, `end` that of the `>` behind it."""

    def __init__(self) -> None:
        self.start = self.end = 0
        self.elsewhere = False
        self.over = False
        self._steps = self._size = 0
        self._parser = parser = expat.ParserCreate("utf-8")
        parser.StartDoctypeDeclHandler = self._begin
        parser.EndDoctypeDeclHandler = self._end
        parser.StartElementHandler = self._root

    def look(self, piece: bytes) -> None:
        """Look at the next piece of the document, up to the end of its prolog and not a byte further."""
        for step in _STEP.findall(piece):  # the declaration ends with a `>`; entities are resolved only behind it
            self._steps += 1
            self._size += len(step)
            if self._size > _LONGEST_PROLOG or self._steps > _MOST_STEPS:
                line = self._parser.CurrentLineNumber
                raise DocumentError(Text.of("unreadable/prolog", line=line))
            try:
                self._parser.Parse(step)
            except expat.ExpatError:  # what is malformed is for the parser proper to say
                self.over = True
            if self.over:
                return

    def _begin(self, _name: str, system_id: str | None, _public_id: str | None, has_subset: int) -> None:
        self.elsewhere = system_id is not None
        self.start = self._parser.CurrentByteIndex if has_subset else 0

    def _end(self) -> None:
        self.end = self._parser.CurrentByteIndex if self.start else 0
        self.over = True

    def _root(self, _name: str, _attributes: dict[str, str]) -> None:
        self.over = True
