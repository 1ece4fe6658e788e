"""What must be true of a world in which people, the wire and the clocks do what they like: at each step, and at rest.

At each step: every paper lies, unchanged, in exactly one place, and nothing lies there that is nobody's. What filedrop
has put into `sent/` or `archive/` was accepted, under its own number, as its sidecar says. No content was accepted more
often than it may be: once, where duplicates are refused, whatever people do; where they are allowed, as often as it was
dropped or brought back after filedrop had done with it. While HOLD lies there, nothing is posted. A message that is
marked read was delivered, and none twice. A sidecar names only responses that answer its document, and each once.

At rest, when the world is well again: nothing waits or is left over, what failed has a reason that this world gave it,
and every message is delivered and read. The sidecar of a document that nobody has touched names each response to it,
unless journal or access point were lost, or filedrop's clock was set.
"""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
import stat
from collections import Counter, defaultdict
from contextlib import closing
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from support import promises
from support.book import Book
from support.documents import invoice

from filedrop.times import moment

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from support.people import Paper, People
    from support.world import World

    from filedrop.sandbox import Message

TOLD = ("outbound/sending", "outbound/sent", "outbound/archive")
"""Where a document lies of which a new journal learns what has become of it: by its sidecar, or at the access point."""
Key = tuple[int, int]
"""A server, by how many were before it, and a message's number there."""
Lying = dict["Path", "Paper | None"]
"""The documents that lie there, and whose they are: looked at once for a step, in which nothing else happens."""
UNCLEAR_AT_MOST, UNEXPLAINED_AT_MOST = 10, 3  # contract 6, the table of answers


@dataclass
class Ledger:
    """What is known of a world. `refuses`: duplicates are refused.

    `heard`: what the uploads of each document were answered, and how often. `ended`: how often filedrop was ended,
    which may have been in the middle of any upload. `delivered`: the files that each message was seen as. `lost`: how
    often the access point was set up anew while a document wasn't delivered, or the journal was while the folders told
    nothing of it, which it may then be sent once more. `again`: likewise, how often a message may come once more.

    `answers`: which document each message answers that is a response. `loses_answers`: some may never be tied.

    What was accepted and received is known by the server and the number: one that is set up anew gives the same again.
    """

    world: World
    people: People
    refuses: bool
    heard: dict[int, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    ended: int = 0
    delivered: dict[Key, set[int]] = field(default_factory=lambda: defaultdict(set))
    lost: Counter[int] = field(default_factory=Counter)
    again: Counter[Key] = field(default_factory=Counter)
    answers: dict[int, int] = field(default_factory=dict)
    loses_answers: bool = False
    _books: list[Book] = field(default_factory=list)
    _told: set[Paper] = field(default_factory=set)  # of what a new journal may have to learn from the folders yet
    _numbers: dict[Key, int] = field(default_factory=dict)
    _before: dict[Key, Message] = field(default_factory=dict)
    _read: int = 0
    _posts: int = 0
    _was_held: bool = False

    def set_up_anew(self) -> None:
        """The access point loses all that it has."""
        self._look()
        self._before |= self._sent()
        self.loses_answers = True
        for path, paper in self.people.lying().items():
            if paper is not None and "archive" not in path.parts:
                self.lost[paper.number] += 1
        self.world.received.clear()  # what was unread is lost with it
        self.world.set_up_anew(deliver_after=self.world.deliver_after)

    def knows_less(self) -> None:
        """The folders are another journal's now, which knows only what folders and access point tell it.

        What it can't know, docs/reliability.md names among the limits.
        """
        self._look()
        self.ended += 1  # nobody knows what was under way
        self.loses_answers = True
        self._told = told = self._that_is_told(self.people.lying())
        known = {paper.number for paper in told} if self.refuses else set()
        accepted = self._accepted(self._before | self._sent())
        for paper in (*self.people.papers.values(), *self.people.gone):
            if paper not in told and paper.number not in known:
                self.lost[paper.number] += accepted[paper.number] > 0 or self.heard[paper.number]["unclear"] > 0
        for msg_no in self._book().inbox:
            self.again[self._here(msg_no)] += bool(self.delivered[self._here(msg_no)])

    def _that_is_told(self, lying: Lying) -> set[Paper]:
        return {
            paper
            for path, paper in lying.items()
            if paper is not None and path not in (paper.laid, paper.meddled) and self._tells(path)
        }

    def _tells(self, path: Path) -> bool:
        """Whether a new journal learns of a document that lies there: what has no sidecar must be read for that."""
        place = self._place(path)
        return place.startswith(TOLD) and (place != "outbound/sending" or path.stat().st_mode & stat.S_IRUSR != 0)

    def _never_learnt(self, lying: Lying) -> None:
        """What people took away before the new journal had learnt of it may be sent once more."""
        for paper in self._told - self._that_is_told(lying) if self._told else ():
            self._told.discard(paper)
            self.lost[paper.number] += not self._is_in_journal(paper)

    def _is_in_journal(self, paper: Paper) -> bool:
        digest = hashlib.sha256(paper.content).hexdigest()
        found = "SELECT EXISTS (SELECT 1 FROM documents WHERE sha256 = ?)"
        try:
            with closing(sqlite3.connect(f"file:{self.world.state}/journal.sqlite?mode=ro", uri=True)) as journal:
                return bool(journal.execute(found, (digest,)).fetchone()[0])
        except sqlite3.OperationalError:  # there is none yet
            return False

    def _sent(self) -> dict[Key, Message]:
        return {self._here(msg_no): message for msg_no, message in self._book().sent.items()}

    def _look(self) -> None:
        """At what the access point holds, and those that it was before."""
        for sandbox in self.world.servers[len(self._books) :]:
            self._books.append(Book(sandbox.store))
        for book in self._books:
            book.look()

    def _book(self, server: int = -1) -> Book:
        return self._books[server]

    def close(self) -> None:
        """Let go of the access points' files."""
        for book in self._books:
            book.close()

    def broken(self) -> Iterator[str]:
        """What is wrong at this step."""
        self._look()
        lying = self.people.lying()
        self._never_learnt(lying)
        sent = self._before | self._sent()
        yield from self._of_papers(lying, sent)
        yield from self._of_hold()
        yield from self._of_messages()
        yield from self._of_responses(lying)
        yield from self._of_log()

    def unsettled(self) -> Iterator[str]:
        """What is wrong at rest, besides."""
        self._look()
        lying = self.people.lying()
        for path, paper in lying.items():
            place = self._place(path)
            by_hand = paper is not None and path in (paper.laid, paper.meddled)
            if place in ("outbound", "outbound/sending") or (place == "outbound/sent" and not by_hand):
                yield f"{path.name} still lies in {place}"
            elif place == "outbound/failed" and paper is not None and not by_hand:
                yield from self._of_failed(path, paper)
        for msg_no in self._book().inbox:
            yield f"message {msg_no} isn't marked read"
        for number in self.world.received:
            if not self.delivered[self._here(number)]:
                yield f"message {number} was never delivered"
        if not self.loses_answers:
            yield from self._of_answers(lying)
        for problem in promises.leftovers(self.world):
            if not problem.startswith("acme/outbound/archive/"):  # what a person leaves of a pair there is theirs
                yield problem

    def _here(self, msg_no: int) -> Key:
        return len(self.world.servers) - 1, msg_no

    def _accepted(self, sent: Iterable[Key]) -> Counter[int]:
        """How often the document of each number was accepted."""
        for server, msg_no in sent:
            if (server, msg_no) not in self._numbers:
                content = self._book(server).content(msg_no)
                self._numbers[server, msg_no] = number_of(content)
        return Counter(self._numbers.values())

    def _server(self, said: dict[str, Any], content: bytes, sent: Mapping[Key, Message]) -> int:
        """The server that gave the number in a sidecar."""
        at = moment(said.get("received"))
        for (server, msg_no), message in sent.items():
            if msg_no != said.get("msg_no"):
                continue
            if at and abs(at - message.received) < timedelta(seconds=1):
                return server
            there = self._book(server).content(msg_no)
            if not at and promises.meaning(there) == promises.meaning(content):
                return server
        return len(self.world.servers) - 1

    def _of_papers(self, lying: Lying, sent: Mapping[Key, Message]) -> Iterator[str]:
        places: dict[Paper, list[Path]] = defaultdict(list)
        for path, paper in lying.items():
            if paper is None:
                yield f"{path} is nobody's"
            else:
                places[paper].append(path)
        owners: Counter[Key] = Counter()
        for paper in self.people.papers.values():
            if len(places[paper]) != 1:
                yield f"document {paper.number} lies in {len(places[paper])} places: {places[paper]}"
                continue
            (path,) = places[paper]
            if path.read_bytes() != paper.content:
                yield f"{path} was changed"
            place = self._place(path).removeprefix("outbound/")
            if (place == "sent" or place.startswith("archive/")) and path not in (paper.laid, paper.meddled):
                said = promises.sidecar(path)
                server = self._server(said, paper.content, sent)
                owners[server, said.get("msg_no", 0)] += 1
                of_server = {msg_no: message for (where, msg_no), message in sent.items() if where == server}
                holds = self._book(server).content
                for problem in promises.of_accepted(holds, said, place, paper.content, of_server):
                    yield f"{path.name} in {place}: {problem}"
        yield from (f"message {msg_no} is {owned} documents'" for msg_no, owned in owners.items() if owned > 1)
        yield from self._of_accepted(sent)

    def _of_accepted(self, sent: Iterable[Key]) -> Iterator[str]:
        allowed: Counter[int] = Counter()
        for paper in [*self.people.papers.values(), *self.people.gone]:
            allowed[paper.number] += paper.allowed
        for number, times in self._accepted(sent).items():
            if times > (1 if self.refuses else allowed[number]) + self.lost[number]:
                yield f"document {number} was accepted {times} times"

    def _place(self, path: Path) -> str:
        """`outbound/sent`, `desk`."""
        return path.parent.relative_to(self.world.base).as_posix().removeprefix("root/acme/")

    def _of_failed(self, path: Path, paper: Paper) -> Iterator[str]:
        code = promises.sidecar(path).get("error", {}).get("code")
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
            "not-delivered": self.lost[paper.number] > 0,
        }
        if not reasons.get(str(code)):
            yield f"{path.name} (document {paper.number}) failed as {code}, for no reason: {dict(heard)}"
        if not path.with_name(f"{path.name}.why.txt").exists():
            yield f"{path.name} failed, and no note says why"

    def _of_hold(self) -> Iterator[str]:
        posts, held = len(self.world.front.asked("POST /outbox")), (self.world.outbound / "HOLD").exists()
        if held and self._was_held and posts > self._posts:
            yield f"{posts - self._posts} documents were posted while HOLD lay there"
        self._posts, self._was_held = posts, held

    def _of_messages(self) -> Iterator[str]:
        unread = self._book().inbox
        for path in self.world.delivered():
            said = promises.sidecar(path)
            if not said:
                yield f"{path.name} has no sidecar"
                continue
            key = self._came_from(said)
            self.delivered[key].add(path.stat().st_ino)
            if path.read_bytes() != self._book(key[0]).content(key[1]):
                yield f"message {key} was delivered as something else"
        for key, files in self.delivered.items():
            if len(files) > 1 + self.again[key]:
                yield f"message {key} was delivered {len(files)} times"
        for number in self.world.received:
            if number not in unread and not self.delivered[self._here(number)]:
                yield f"message {number} is marked read, and was never delivered"

    def _of_responses(self, lying: Lying) -> Iterator[str]:
        for path, paper in self._untouched(lying):
            told = Counter((one["msg_no"], one["code"]) for one in promises.sidecar(path).get("responses", []))
            for (msg_no, code), times in told.items():
                if times > 1:
                    yield f"{path.name} was answered {code} {times} times by message {msg_no}"
                if not self.loses_answers and self.answers.get(msg_no) != paper.number:
                    yield f"{path.name} (document {paper.number}) has the answer to another, message {msg_no}"

    def _of_answers(self, lying: Lying) -> Iterator[str]:
        """The responses that are missing where only one document can be meant."""
        papers: Counter[int] = Counter()
        for paper in [*self.people.papers.values(), *self.people.gone]:
            papers[paper.number] += 1 if self.refuses else paper.allowed  # what is sent again is a document of its own
        for path, paper in self._untouched(lying):
            told = {one["msg_no"] for one in promises.sidecar(path).get("responses", [])}
            for msg_no, number in self.answers.items():
                if number == paper.number and papers[number] == 1 and msg_no not in told:
                    yield f"{path.name} (document {number}) doesn't say that message {msg_no} answers it"

    def _untouched(self, lying: Lying) -> Iterator[tuple[Path, Paper]]:
        """What was accepted, and lies where filedrop has put it, with its sidecar."""
        for path, paper in lying.items():
            place = self._place(path).removeprefix("outbound/")
            if paper is None or not (place == "sent" or place.startswith("archive/")) or not promises.sidecar(path):
                continue
            if path not in (paper.laid, paper.meddled):
                yield path, paper

    def _came_from(self, said: dict[str, Any]) -> Key:
        """The server and number of a received message, by its sidecar."""
        at = moment(said["received"])
        for server in range(len(self.world.servers)):
            message = self._book(server).all.get(said["msg_no"])
            if message and at and abs(at - message.received) < timedelta(seconds=1):
                return server, message.msg_no
        return self._here(said["msg_no"])

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
