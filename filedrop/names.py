"""What files are called: which names can be a document's, which are free, what a received document is named."""

from __future__ import annotations

import os
import re
from array import array
from bisect import bisect_left
from typing import TYPE_CHECKING

from filedrop.document import local_name

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from filedrop.accesspoint import Message

LONGEST_NAME = 200  # bytes (contract 1)
LONGEST_SUFFIX = 20  # letters that are kept of it in a name that is too long
HOLDS = ("HOLD", "HOLD.txt")  # contract 1, Hold
BESIDE = (".why.txt", ".json")  # ends of the names of what lies beside a document
LONGEST_PART = 60  # letters of each part of an inbound name
_IGNORED_BEGINNINGS = (".", "~")
_IGNORED_ENDINGS = (".tmp", ".part", ".partial", ".filepart", ".crdownload", ".swp", ".lock", "~", *BESIDE)
_IGNORED_NAMES = frozenset({"thumbs.db", "desktop.ini", ".ds_store"})
_UNSAFE = re.compile(r"[^A-Za-z0-9.-]+")


class Names:
    """Very many names, of which nothing is kept but whether one is among them: eight bytes each.

    Names are told from one another by their hash: of 100,000, once in three thousand million times two are the same.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._hashes = array("q", sorted(map(hash, names)))

    def __contains__(self, name: object) -> bool:
        wanted = hash(name)
        index = bisect_left(self._hashes, wanted)
        return index < len(self._hashes) and self._hashes[index] == wanted


def names_document(name: str) -> bool:
    """Can a file of this name be a document at all? (contract 1, "Never documents")"""
    lower = name.lower()
    return not (
        name.startswith(_IGNORED_BEGINNINGS)
        or lower.endswith(_IGNORED_ENDINGS)
        or lower in _IGNORED_NAMES
        or name.startswith("HOLD")
    )


def numbered(name: str, number: int) -> str:
    """The n-th name for a file: `invoice.xml`, `invoice-2.xml`, `invoice-3.xml`."""
    stem, suffix = os.path.splitext(name)  # noqa: PTH122 - a name, not a path
    return name if number == 1 else f"{stem}-{number}{suffix}"


def shortened(name: str) -> str:
    """A name of at most 200 bytes with the same suffix."""
    stem, suffix = os.path.splitext(name)  # noqa: PTH122 - likewise
    while len(os.fsencode(stem + suffix)) > LONGEST_NAME:
        stem, suffix = stem[:-1], suffix[:LONGEST_SUFFIX]
    return stem + suffix


def is_taken(path: Path) -> bool:
    """Does the name, or the name of its sidecar or note, lie there?"""
    name = os.fspath(path)
    return os.path.lexists(name) or os.path.lexists(name + ".json") or os.path.lexists(name + ".why.txt")


def inbound_name(message: Message, document: str) -> str:
    """`{received day}-{msg_no}-{document}-{sender}.xml`, of safe letters only (contract 1).

    `document` is the name of its root element, for a message that doesn't say its document id.
    """
    day = (message.received or "")[:10].replace("-", "")
    if not (len(day) == 8 and day.isdecimal() and day.isascii()):  # noqa: PLR2004 - the length of 20261120
        day = "00000000"
    of_document = local_name(message.document_id) or document
    parts = [day, str(message.msg_no), _safe(of_document), _safe(message.sender or "unknown")]
    return "-".join(parts) + ".xml"


def _safe(text: str) -> str:
    return _UNSAFE.sub("_", text)[:LONGEST_PART].strip("._-") or "unknown"
