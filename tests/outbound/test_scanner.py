"""The names in an outbound folder: which of them are looked at, and when."""

from __future__ import annotations

from typing import TYPE_CHECKING

from filedrop.files import FileStamp
from filedrop.outbound.mailbox import NAMES, Closed, FileEvents, Touched, Written
from filedrop.outbound.scanner import CLOSED, LISTED, Scanner
from filedrop.storage.company_folders import OutboundFolder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MANY = 2 * LISTED + 1
STAMP = FileStamp(size=1, modified=1, inode=1)


def scanner_of(path: Path, ready_suffix: str | None = None) -> tuple[Scanner, FileEvents]:
    """The scanner of a folder, and the events that wait for it."""
    folder = OutboundFolder(path, company="acme", below=path, patterns=["*"], ready_suffix=ready_suffix)
    events = FileEvents()
    return Scanner(folder, events), events


def test_what_is_closed_while_somebody_looks_is_not_forgotten(tmp_path: Path) -> None:
    """A file that is moved in after the folder was listed goes at the next look, without having to settle."""
    scanner, events = scanner_of(tmp_path)
    for name in ("gone.xml", "there.xml"):
        events.add(Closed(name))

    def names() -> Iterator[str]:
        events.add(Closed("new.xml"))
        yield "there.xml"

    scanner.scan(names(), now=0.0)
    assert scanner.next_ready(16) == ["there.xml"]
    assert scanner.is_closed("there.xml")
    assert scanner.is_closed("new.xml")
    scanner.scan(["new.xml"], now=0.0)
    assert scanner.next_ready(16) == ["new.xml"]


def test_not_all_of_very_many_are_known_as_closed(tmp_path: Path) -> None:
    """However many files are dropped at once, the memory for what their writers did is bounded; each is looked at."""
    (scanner, events), names = scanner_of(tmp_path), [f"{number:05}.xml" for number in range(CLOSED + 1)]
    for name in names:
        events.add(Closed(name))
    assert [name for name in names if scanner.is_closed(name)] == names[:-1]
    scanner.scan(names[-1:], now=0.0)
    assert scanner.next_ready(16) == names[-1:]


def test_what_is_not_ready_is_looked_at_once_and_hides_nothing(tmp_path: Path) -> None:
    """However many files aren't ready, all are looked at in turn, each once: then their folder rests."""
    (scanner, events), names = (
        scanner_of(tmp_path, ready_suffix=".ready"),
        [f"{number:05}.xml" for number in range(MANY)],
    )
    assert sorted(looks(scanner, events, names)) == names
    assert sorted(looks(scanner, events, names)) == names


def test_names_of_a_listing_that_have_not_had_their_turn(tmp_path: Path) -> None:
    """Where the folder is listed again before all of them were looked at, those left come with the others."""
    (scanner, events), names = scanner_of(tmp_path), [f"{number:05}.xml" for number in range(MANY)]
    scanner.scan(reversed(names), now=0.0)
    first = scanner.next_ready(LISTED - 10)
    for name in first:
        scanner.remember(name, STAMP, 0.0, look_again=30.0)
    events.add(Touched())
    assert scanner.due() <= 0.0
    scanner.scan(reversed(names), now=0.0)
    assert scanner.next_ready(12) == names[LISTED - 10 : LISTED + 2]


def test_what_happens_to_a_file_among_many_is_seen(tmp_path: Path) -> None:
    """While the others are looked at, one whose writer closes it, or has its ready file put there, is looked at again.

    So is one whose moment has come.
    """
    (scanner, events), names = (
        scanner_of(tmp_path, ready_suffix=".ready"),
        [f"{number:05}.xml" for number in range(MANY)],
    )
    scanner.scan(names, now=0.0)
    for name in scanner.next_ready(MANY):
        scanner.remember(name, STAMP, 0.0, look_again=3.0 if name == "00002.xml" else 30.0)
    events.add(Touched("00000.xml"))
    events.add(Touched("00001.xml.ready"))
    events.add(Touched("00003.xml.READY"))
    scanner.scan(names, now=5.0)
    assert scanner.next_ready(5) == ["00000.xml", "00001.xml", "00002.xml", "00003.xml", names[LISTED]]


def looks(scanner: Scanner, events: FileEvents, names: list[str]) -> list[str]:
    """The names that scans find ready until the folder rests, none of which can be claimed."""
    found: list[str] = []
    events.add(Touched())
    while scanner.due() <= 0.0 and len(found) <= 2 * len(names):
        scanner.scan(names, now=0.0)
        found += scanner.next_ready(len(names))
    return found


def test_a_write_is_known_although_events_are_lost(tmp_path: Path) -> None:
    """Where there is no room for a write's name, no file is known as closed, but those whose events there was room for.

    A file that is written again would be claimed otherwise.
    """
    scanner, events = scanner_of(tmp_path)
    for name in ("again.xml", "closed.xml"):
        events.add(Closed(name))
        assert scanner.is_closed(name)
    for number in range(NAMES):
        events.add(Closed(f"{number}.xml"))
    events.add(Written("again.xml"))
    assert not scanner.is_closed("again.xml")
    assert not scanner.is_closed("closed.xml")
    assert scanner.is_closed("0.xml")


def test_the_last_event_of_a_file_counts(tmp_path: Path) -> None:
    """A write cancels an earlier close, and a close an earlier write; a write alone has no folder listed."""
    scanner, events = scanner_of(tmp_path)
    scanner.scan([], now=0.0)
    events.add(Written("a.xml"))
    assert not scanner.is_woken
    events.add(Closed("a.xml"))
    events.add(Closed("b.xml"))
    events.add(Written("b.xml"))
    assert scanner.is_closed("a.xml")
    assert not scanner.is_closed("b.xml")
    assert scanner.is_woken
