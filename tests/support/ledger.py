"""What must be true of a world in which people, the wire and the clocks do what they like: at each step, and at rest.

At each step: every paper lies, unchanged, in exactly one place, and nothing lies there that is nobody's. What filedrop
has put into `sent/` or `archive/` was accepted, under its own number, as its sidecar says. No content was accepted more
often than it may be: once, where duplicates are refused, whatever people do; where they are allowed, as often as it was
dropped or brought back after filedrop had done with it. A message that is marked read was delivered, and none twice.

At rest, when the world is well again: nothing waits or is left over, what failed has a reason that this world gave it,
and every message is delivered and read.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from support import promises
from support.documents import invoice

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from support.people import Paper, People
    from support.world import World

    from filedrop.sandbox import Message

UNCLEAR_AT_MOST, UNEXPLAINED_AT_MOST = 10, 3  # contract 6, the table of answers


@dataclass
class Ledger:
    """What is known of a world. `refuses`: duplicates are refused.

    `heard`: what the uploads of each document were answered, and how often. `ended`: how often filedrop was ended,
    which may have been in the middle of any upload. `delivered`: the files that each message was seen as.
    """

    world: World
    people: People
    refuses: bool
    heard: dict[int, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    ended: int = 0
    delivered: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    _numbers: dict[int, int] = field(default_factory=dict)
    _read: int = 0

    def broken(self) -> Iterator[str]:
        """What is wrong at this step."""
        sent = {message.msg_no: message for message in self.world.sandbox.store.sent("acme")}
        yield from self._of_papers(sent)
        yield from self._of_messages()
        yield from self._of_log()

    def unsettled(self) -> Iterator[str]:
        """What is wrong at rest, besides."""
        for path, paper in self.people.lying().items():
            place = self._place(path)
            by_hand = paper is not None and path in (paper.laid, paper.meddled)
            if place in ("outbound", "outbound/sending") or (place == "outbound/sent" and not by_hand):
                yield f"{path.name} still lies in {place}"
            elif place == "outbound/failed" and paper is not None and not by_hand:
                yield from self._of_failed(path, paper)
        for message in self.world.sandbox.store.inbox("acme"):
            yield f"message {message.msg_no} isn't marked read"
        for number in self.world.received:
            if not self.delivered[number]:
                yield f"message {number} was never delivered"
        for problem in promises.leftovers(self.world):
            if not problem.startswith("acme/outbound/archive/"):  # what a person leaves of a pair there is theirs
                yield problem

    def _accepted(self, sent: Iterable[int]) -> Counter[int]:
        """How often the document of each number was accepted."""
        for msg_no in sent:
            if msg_no not in self._numbers:
                self._numbers[msg_no] = number_of(self.world.sandbox.store.content(msg_no))
        return Counter(self._numbers.values())

    def _of_papers(self, sent: Mapping[int, Message]) -> Iterator[str]:
        places: dict[Paper, list[Path]] = defaultdict(list)
        for path, paper in self.people.lying().items():
            if paper is None:
                yield f"{path} is nobody's"
            else:
                places[paper].append(path)
        owners: Counter[int] = Counter()
        for paper in self.people.papers.values():
            if len(places[paper]) != 1:
                yield f"document {paper.number} lies in {len(places[paper])} places: {places[paper]}"
                continue
            (path,) = places[paper]
            if path.read_bytes() != paper.content:
                yield f"{path} was changed"
            place = self._place(path).removeprefix("outbound/")
            if (place == "sent" or place.startswith("archive/")) and path not in (paper.laid, paper.meddled):
                said = sidecar(path)
                owners[said.get("msg_no", 0)] += 1
                for problem in promises.of_accepted(self.world, said, place, paper.content, sent):
                    yield f"{path.name} in {place}: {problem}"
        yield from (f"message {msg_no} is {owned} documents'" for msg_no, owned in owners.items() if owned > 1)
        yield from self._of_accepted(sent)

    def _of_accepted(self, sent: Iterable[int]) -> Iterator[str]:
        allowed: Counter[int] = Counter()
        for paper in [*self.people.papers.values(), *self.people.gone]:
            allowed[paper.number] += paper.allowed
        for number, times in self._accepted(sent).items():
            if times > (1 if self.refuses else allowed[number]):
                yield f"document {number} was accepted {times} times"

    def _place(self, path: Path) -> str:
        """`outbound/sent`, `desk`."""
        return path.parent.relative_to(self.world.base).as_posix().removeprefix("root/acme/")

    def _of_failed(self, path: Path, paper: Paper) -> Iterator[str]:
        code = sidecar(path).get("error", {}).get("code")
        heard, accepted = self.heard[paper.number], paper.number in self._numbers.values()
        unclear = heard["unclear"] + heard["unexplained"] + self.ended
        refused = heard["refused"] > 0 or heard["unexplained"] >= UNEXPLAINED_AT_MOST
        reasons = {
            "duplicate": self.refuses and (accepted or unclear),
            "rejected": refused,
            "no-answer": unclear >= UNCLEAR_AT_MOST,
            "not-xml": paper.half,
            "unreadable": paper.closed,
            "no-receiver": paper.number == 0,
        }
        if not reasons.get(str(code)):
            yield f"{path.name} (document {paper.number}) failed as {code}, for no reason: {dict(heard)}"
        if not path.with_name(f"{path.name}.why.txt").exists():
            yield f"{path.name} failed, and no note says why"

    def _of_messages(self) -> Iterator[str]:
        unread = {message.msg_no for message in self.world.sandbox.store.inbox("acme")}
        for path in self.world.delivered():
            number = promises.number(path)
            if number is None:
                yield f"{path.name} has no sidecar"
                continue
            self.delivered[number].add(path.stat().st_ino)
            if path.read_bytes() != self.world.received[number]:
                yield f"message {number} was delivered as something else"
        for number in self.world.received:
            if len(self.delivered[number]) > 1:
                yield f"message {number} was delivered {len(self.delivered[number])} times"
            if number not in unread and not self.delivered[number]:
                yield f"message {number} is marked read, and was never delivered"

    def _of_log(self) -> Iterator[str]:
        self.world._log_file.flush()
        with (self.world.base / "log").open() as log:
            log.seek(self._read)
            for line in log.read().splitlines():
                if "exception" in json.loads(line):
                    yield f"filedrop is at its wits' end: {json.loads(line)['exception']}"
            self._read = log.tell()


def number_of(content: bytes) -> int:
    """Which of this world's documents it is."""
    found = re.search(rb">out-([0-9]+)<", content)
    assert found, "the access point accepted what nobody dropped"
    return int(found[1])


def document(number: int) -> bytes:
    """One of this world's documents; the first one can't be sent."""
    return invoice(f"out-{number}", **({} if number else {"receiver": None}))


def sidecar(document: Path) -> dict[str, Any]:
    """What is written beside a document; nothing where no sidecar lies."""
    beside = document.with_name(f"{document.name}.json")
    content: dict[str, Any] = json.loads(beside.read_bytes()) if beside.exists() else {}
    return content
