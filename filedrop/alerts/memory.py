"""What has been told, and what is still to be sent: one small file in `state`, or a row of a journal that hosts share.

It is on the disk before anything is sent: a process that is killed between the two sends it after its next start. One
that is killed between sending and writing sends it once too often, under the same Message-ID.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from filedrop.alerts.bundling import Known
from filedrop.errors import FiledropError, JournalError
from filedrop.files import Directory, clear_drafts, replace_whole
from filedrop.status.matters import Key

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from filedrop.journal import Journal

NAME = "alerts.json"
VERSION = 1


class NotSent(FiledropError):
    """A letter couldn't be sent, or not to all: the sentence says why, `had` who has it."""

    def __init__(self, why: str, *, had: Sequence[str] = ()) -> None:
        super().__init__(why)
        self.had = tuple(had)


@dataclass(frozen=True, slots=True)
class Letter:
    """A letter to be sent to the addresses of `reader`, a company or "" for who is told of everything.

    `by` is mail or urls; `had` are those who have it: mail addresses, or digests of the others. `made` and `due` are in
    seconds since 1970; `why` is why it couldn't be sent the last time.
    """

    id: str
    reader: str
    by: str
    what: str
    subject: str
    plain: str
    html: str
    made: float
    had: tuple[str, ...] = ()
    attempts: int = 0
    due: float = 0.0
    why: str = ""


@dataclass(frozen=True, slots=True)
class Memory:
    """What each reader has been told; the unsent letters; when the last digest was made, and the totals by then.

    `digest` is in seconds since 1970, `totals` are by company and event (digest.totals).
    """

    known: Mapping[str, Mapping[Key, Known]] = field(default_factory=dict)
    unsent: tuple[Letter, ...] = ()
    digest: float | None = None
    totals: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


class InState:
    """The memory in a file of the state folder. Each call raises OSError where it can't be read or written."""

    def __init__(self, state: Path) -> None:
        self.path = state / NAME

    def save(self, memory: Memory) -> None:
        """Write it; where that fails, the former one stays."""
        replace_whole(Directory.open(self.path.parent) / NAME, _encoded(memory))

    def load(self) -> Memory:
        """Read it; an empty one where there is none, or it isn't ours. What is unsent is tried at once."""
        clear_drafts(Directory.open(self.path.parent))
        try:
            return _decoded(self.path.read_bytes())
        except FileNotFoundError:
            return Memory()


class InJournal:
    """The memory in the journal that several hosts share: one of them tells, now this one, then another."""

    def __init__(self, journal: Journal) -> None:
        self.path = NAME
        self._journal = journal

    def save(self, memory: Memory) -> None:
        """Write it. Raises OSError."""
        with _as_files_do():
            self._journal.engine.keep(NAME, _encoded(memory).decode())

    def load(self) -> Memory:
        """Read it; an empty one where there is none. Raises OSError."""
        with _as_files_do():
            said = self._journal.engine.kept(NAME)
        return _decoded(said) if said else Memory()


@contextmanager
def _as_files_do() -> Iterator[None]:
    try:
        yield
    except JournalError as error:
        raise OSError(None, str(error)) from error


def _encoded(memory: Memory) -> bytes:
    content = {
        "filedrop": VERSION,
        "known": {
            reader: [[*key, asdict(matter)] for key, matter in known.items()] for reader, known in memory.known.items()
        },
        "unsent": [asdict(letter) for letter in memory.unsent],
        "digest": memory.digest,
        "totals": {company: dict(totals) for company, totals in memory.totals.items()},
    }
    return json.dumps(content, indent=1).encode() + b"\n"


def _decoded(said: str | bytes) -> Memory:
    try:
        content = json.loads(said)
        return _memory(content) if content["filedrop"] == VERSION else Memory()
    except (ValueError, KeyError, TypeError, AttributeError):  # at most, something is told once more
        return Memory()


def _memory(content: Any) -> Memory:
    return Memory(
        known={
            reader: {Key(*key): Known(**fields) for *key, fields in known} for reader, known in content["known"].items()
        },
        unsent=tuple(
            replace(Letter(**letter | {"had": tuple(letter["had"])}), due=0.0) for letter in content["unsent"]
        ),
        digest=content["digest"],
        totals=content["totals"],
    )
