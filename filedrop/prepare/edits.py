"""Edits of a document's bytes. Nothing is serialized: what no edit names is posted byte for byte as it was dropped."""

from __future__ import annotations

from collections import deque
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class Edit(NamedTuple):
    """The bytes from `start` up to `end` become `text`, given in pieces; for an insertion, `end` is `start`."""

    start: int
    end: int
    text: Iterable[bytes]


def applied(pieces: Iterable[bytes], edits: Iterable[Edit]) -> Iterator[bytes]:
    """The same bytes with these edits, which don't overlap, and of which none is at the very end. Lazily."""
    left, begin, kept_from = deque(sorted(edits, key=attrgetter("start"))), 0, 0
    for piece in pieces:
        end = begin + len(piece)
        while left and left[0].start < end:
            edit = left.popleft()
            if edit.start > max(begin, kept_from):
                yield piece[max(begin, kept_from) - begin : edit.start - begin]
            yield from edit.text
            kept_from = edit.end
        if kept_from < end:
            yield piece[max(begin, kept_from) - begin :]
        begin = end
