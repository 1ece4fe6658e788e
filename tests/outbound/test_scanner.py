"""The names in an outbound folder: which of them are looked at, and when."""

from __future__ import annotations

from typing import TYPE_CHECKING

from filedrop.files import FileStamp
from filedrop.outbound.scanner import CLOSED, LISTED, Scanner
from filedrop.storage.folders import OutboundFolder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MANY = 2 * LISTED + 1
STAMP = FileStamp(size=1, modified=1, inode=1)


def scanner_of(path: Path, ready_suffix: str | None = None) -> Scanner:
    """The scanner of a folder that nobody wakes."""
    folder = OutboundFolder(path, company="acme", below=path, patterns=["*"], ready_suffix=ready_suffix)
    return Scanner(folder, wake=lambda: None)


def test_what_is_closed_while_somebody_looks_is_not_forgotten(tmp_path: Path) -> None:
    """A file that is moved in after the folder was listed goes at the next look, without having to settle."""
    scanner = scanner_of(tmp_path)
    for name in ("gone.xml", "there.xml"):
        scanner.was_closed(name)

    def names() -> Iterator[str]:
        scanner.was_closed("new.xml")
        yield "there.xml"

    scanner.scan(names(), now=0.0)
    assert scanner.next_ready(16) == ["there.xml"]
    assert scanner.closed == {"there.xml", "new.xml"}
    scanner.scan(["new.xml"], now=0.0)
    assert scanner.next_ready(16) == ["new.xml"]


def test_not_all_of_very_many_are_known_as_closed(tmp_path: Path) -> None:
    """However many files are dropped at once, the memory for what their writers did is bounded; each is looked at."""
    scanner, names = scanner_of(tmp_path), [f"{number:05}.xml" for number in range(CLOSED + 1)]
    for name in names:
        scanner.was_closed(name)
    assert scanner.closed == set(names[:-1])
    scanner.scan(names[-1:], now=0.0)
    assert scanner.next_ready(16) == names[-1:]


def test_what_is_not_ready_is_looked_at_once_and_hides_nothing(tmp_path: Path) -> None:
    """However many files aren't ready, all are looked at in turn, each once: then their folder rests."""
    scanner, names = scanner_of(tmp_path, ready_suffix=".ready"), [f"{number:05}.xml" for number in range(MANY)]
    assert sorted(looks(scanner, names)) == names
    assert sorted(looks(scanner, names)) == names


def test_names_of_a_listing_that_have_not_had_their_turn(tmp_path: Path) -> None:
    """Where the folder is listed again before all of them were looked at, those left come with the others."""
    scanner, names = scanner_of(tmp_path), [f"{number:05}.xml" for number in range(MANY)]
    scanner.scan(reversed(names), now=0.0)
    first = scanner.next_ready(LISTED - 10)
    for name in first:
        scanner.remember(name, STAMP, 0.0, look_again=30.0)
    scanner.look_now()
    assert scanner.due() <= 0.0
    scanner.scan(reversed(names), now=0.0)
    assert scanner.next_ready(12) == names[LISTED - 10 : LISTED + 2]


def test_what_happens_to_a_file_among_many_is_seen(tmp_path: Path) -> None:
    """While the others are looked at, one whose writer closes it, or has its ready file put there, is looked at again.

    So is one whose moment has come.
    """
    scanner, names = scanner_of(tmp_path, ready_suffix=".ready"), [f"{number:05}.xml" for number in range(MANY)]
    scanner.scan(names, now=0.0)
    for name in scanner.next_ready(MANY):
        scanner.remember(name, STAMP, 0.0, look_again=3.0 if name == "00002.xml" else 30.0)
    scanner.look_now("00000.xml")
    scanner.look_now("00001.xml.ready")
    scanner.scan(names, now=5.0)
    assert scanner.next_ready(4) == ["00000.xml", "00001.xml", "00002.xml", names[LISTED]]


def looks(scanner: Scanner, names: list[str]) -> list[str]:
    """The names that scans find ready until the folder rests, none of which can be claimed."""
    found: list[str] = []
    scanner.look_now()
    while scanner.due() <= 0.0 and len(found) <= 2 * len(names):
        scanner.woken = False
        scanner.scan(names, now=0.0)
        found += scanner.next_ready(len(names))
    return found
