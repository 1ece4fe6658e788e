"""A document type declaration made harmless: kept in its place, without what it declares.

An entity can be made to stand for gigabytes, and expat resolves those in attributes whatever one asks of it. So the
internal subset is blanked out before the parser sees it, and the declaration says instead that there is more elsewhere,
which is never fetched: then a reference to an entity is skipped, as XML 1.0 section 4.4.3 allows (not in a document
that calls itself standalone, so that is blanked out too). The length and all lines stay as they were.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING
from xml.parsers import expat

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_ELSEWHERE = b' SYSTEM ""'
_STANDALONE = re.compile(rb"""\A(<\?xml\s[^>]*?)(\sstandalone\s*=\s*["']yes["'])""")
_LONGEST = 1 << 20  # bytes; where the prolog is longer than that, the parser meets it as it is


def without_subset(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The same document in UTF-8 with its internal subset, if it has one, blanked out."""
    pieces = iter(pieces)
    prolog = bytearray()
    subset = _Subset()
    for piece in pieces:
        prolog += piece
        subset.look(piece)
        if subset.over or len(prolog) > _LONGEST:
            break
    if subset.end:
        blank = bytes(byte if byte == ord("\n") else ord(" ") for byte in prolog[subset.start : subset.end])
        if not subset.elsewhere and blank.startswith(b" " * len(_ELSEWHERE)):
            blank = _ELSEWHERE + blank[len(_ELSEWHERE) :]
        prolog[subset.start : subset.end] = blank
        prolog[:] = _STANDALONE.sub(lambda found: found[1] + b" " * len(found[2]), prolog)
    return chain([bytes(prolog)], pieces)


class _Subset:
    """Where the internal subset lies: `start` is the offset of its `[`, `end` that of the `>` behind it."""

    def __init__(self) -> None:
        self.start = self.end = 0
        self.elsewhere = False
        self.over = False
        self._parser = parser = expat.ParserCreate("utf-8")
        parser.StartDoctypeDeclHandler = self._begin
        parser.EndDoctypeDeclHandler = self._end
        parser.StartElementHandler = self._root

    def look(self, piece: bytes) -> None:
        """Look at the next piece of the prolog. What is malformed in it is for the parser proper to say."""
        try:
            self._parser.Parse(piece)
        except expat.ExpatError:
            self.over = True

    def _begin(self, _name: str, system_id: str | None, _public_id: str | None, has_subset: int) -> None:
        self.elsewhere = system_id is not None
        self.start = self._parser.CurrentByteIndex if has_subset else 0

    def _end(self) -> None:
        self.end = self._parser.CurrentByteIndex if self.start else 0

    def _root(self, _name: str, _attributes: dict[str, str]) -> None:
        self.over = True
