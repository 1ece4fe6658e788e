"""The traffic of `soak`: its documents by number, who drops them, and the accounting system that takes what came in."""

from __future__ import annotations

import os
import time
from functools import lru_cache
from typing import TYPE_CHECKING

from benchmarks.documents import NUMBER, numbered_document, participants
from tests.support.documents import SELLER

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

COMPANIES = 4
SENDERS = (SELLER, *participants(COMPANIES - 1))
MEDIUM, ONE_IN_MEDIUM = 200_000, 200  # bytes; one in so many
LARGE, ONE_IN_LARGE = (2_000_000, 3_500_000, 5_000_000), 2000
HEAD = 8000  # bytes in which a document's number stands


def company(number: int) -> int:
    """Whose document or message it is."""
    return number % COMPANIES


def size(number: int) -> int:
    """How long it is, about: 2 to 20 KB; one in 200 has 200 KB, one in 2,000 2 to 5 MB."""
    if number % ONE_IN_LARGE == ONE_IN_LARGE // 2:
        return LARGE[number // ONE_IN_LARGE % len(LARGE)]
    if number % ONE_IN_MEDIUM == ONE_IN_MEDIUM // 2 + 1:
        return MEDIUM
    return 2000 + 2000 * (number * 7 % 10)


def parts(number: int) -> tuple[bytes, bytes, bytes]:
    """The document of this number, which is unlike any other: up to its number, that, and the rest."""
    before, after = _around(size(number), SENDERS[company(number)])
    return before, b"%010d" % number, after


@lru_cache
def _around(length: int, sender: str) -> tuple[bytes, bytes]:
    return numbered_document(length, sender)


class Dropper:
    """Who drops the documents 1, 2, ...; `closed` says of those not seen accepted yet when they were closed."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self.dropped = 0
        self.closed: dict[int, float] = {}
        self._folders = folders

    def drop(self) -> None:
        """Write the next one."""
        self.dropped += 1
        number = self.dropped
        with (self._folders[company(number)] / f"invoice-{number:010}.xml").open("wb") as file:
            for part in parts(number):
                file.write(part)
            file.flush()
            self.closed[number] = time.monotonic()


class Accounting:
    """An accounting system: takes the documents out of the inbound folders, and counts how often each number came."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self.taken = 0
        self.times: dict[int, int] = {}
        self.spoilt: list[str] = []
        self._folders = folders

    def take(self) -> None:
        """Take what is there: compare it with what was sent, and remove it and its sidecar."""
        for nth, folder in enumerate(self._folders):
            with os.scandir(folder) as entries:
                names = [entry.name for entry in entries if entry.name.endswith(".xml") and entry.name[0] != "."]
            for name in names:
                self._take(folder, name, nth)

    def _take(self, folder: Path, name: str, nth: int) -> None:
        document = (folder / name).read_bytes()
        found = NUMBER.search(document, 0, HEAD)
        number = int(found[1]) if found else 0
        if document != b"".join(parts(number)) or company(number) != nth:
            self.spoilt.append(name)
        self.times[number] = self.times.get(number, 0) + 1
        self.taken += 1
        (folder / name).unlink()
        (folder / f"{name}.json").unlink()
