"""What is known of a world in which people, the wire and the clocks do what they like: what was heard, lost, delivered.

It is what the ledger goes by (support.ledger).
"""

from __future__ import annotations

import hashlib
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
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from support.people import Paper, People
    from support.world import World

    from filedrop.sandbox import Message

TOLD = ("outbound/sending", "outbound/sent", "outbound/archive")
"""Where a document lies of which a new journal learns what has become of it: by its sidecar, or at the access point."""
DOUBTED = "SELECT min(state IN ('sending', 'doubt')) FROM documents WHERE sha256 = ?"
UNDELIVERED = "SELECT max(open AND state IN ('sending', 'doubt', 'sent')) FROM documents WHERE sha256 = ?"
Key = tuple[int, int]
"""A server, by how many were before it, and a message's number there."""
Lying = dict["Path", "Paper | None"]
"""The documents that lie there, and whose they are: looked at once for a step, in which nothing else happens."""


@dataclass
class Known:
    """What is known of a world. `refuses`: duplicates are refused.

    `heard`: what the uploads of each document were answered, and how often. `ended`: how often filedrop was ended,
    which may have been in the middle of any upload. `delivered`: the files that each message was seen as. `lost`: how
    often the access point was set up anew while a document wasn't delivered, or the journal was while the folders told
    nothing of it, which it may then be sent once more. `again`: likewise, how often a message may come once more.

    `answers`: which document each message answers that is a response. `loses_answers`: some may never be tied.
    `takes_turns`: the folders went to a filedrop whose journal was of before, which may take a file for another one of
    its name and length, and one message for each of two documents with the same content.

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
    takes_turns: bool = False
    _books: list[Book] = field(default_factory=list)
    _told: set[Paper] = field(default_factory=set)  # of what a new journal may have to learn from the folders yet
    _only_told: set[Paper] = field(default_factory=set)  # likewise, and the access point can't tell it any more
    _numbers: dict[Key, int] = field(default_factory=dict)
    _before: dict[Key, Message] = field(default_factory=dict)

    def set_up_anew(self) -> None:
        """The access point loses all that it has."""
        self._look()
        self._before |= self._sent()
        self.loses_answers = True
        lying = self.people.lying().items()
        undelivered = [paper for path, paper in lying if paper is not None and "archive" not in path.parts]
        self.lost.update(paper.number for paper in undelivered)
        # Likewise what was taken before it was delivered: the same, dropped again, is that document.
        self.lost.update({paper.number for paper in self.people.gone if self._asked(UNDELIVERED, paper)})
        self._only_told |= self._told - set(undelivered)
        self.world.received.clear()  # what was unread is lost with it
        self.world.set_up_anew(deliver_after=self.world.deliver_after)

    def knows_less(self, *, takes_turns: bool) -> None:
        """The folders are another journal's now, which knows only what folders and access point tell it.

        What it can't know, docs/design/record.md names among the limits.
        """
        self._look()
        self.ended += 1  # nobody knows what was under way
        self.loses_answers = True
        self.takes_turns |= takes_turns
        lying = self.people.lying()
        self._told = told = self._that_is_told(lying)
        accepted = self._accepted(self._before | self._sent())
        # What waits in sending/ tells nothing of a like one that was sent: only the access point can.
        waiting = {paper for path, paper in lying.items() if self._place(path) == "outbound/sending"}
        telling = {paper.number for paper in told - waiting} | {self._numbers[key] for key in self._sent()}
        known = {paper.number for paper in told if paper.number in telling} if self.refuses else set()
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
        """What people took away before the new journal had learnt of it may be sent once more.

        Where that journal is a former one, and in doubt of it, only when the access point doesn't tell it either.
        """
        for paper in self._told - self._that_is_told(lying) if self._told else ():
            is_doubted = self._is_doubted(paper)
            if not is_doubted or paper in self._only_told:
                self._told.discard(paper)
                self.lost[paper.number] += is_doubted is not False

    def content_of(self, document_id: str) -> bytes:
        """What was dropped as the document with this id. Raises KeyError."""
        with closing(sqlite3.connect(f"file:{self.world.state}/journal.sqlite?mode=ro", uri=True)) as journal:
            ((digest,),) = journal.execute("SELECT sha256 FROM documents WHERE id = ?", (document_id,))
        contents = (paper.content for paper in (*self.people.papers.values(), *self.people.gone))
        return {hashlib.sha256(content).hexdigest(): content for content in contents}[digest]

    def _is_doubted(self, paper: Paper) -> bool | None:
        """Whether the journal knows no more of these bytes than that they may have been posted; None: not even that."""
        return self._asked(DOUBTED, paper)

    def _asked(self, question: str, paper: Paper) -> bool | None:
        """What the journal says to this of the rows with a paper's bytes; None: it has none, or isn't there yet."""
        digest = hashlib.sha256(paper.content).hexdigest()
        try:
            with closing(sqlite3.connect(f"file:{self.world.state}/journal.sqlite?mode=ro", uri=True)) as journal:
                (answer,) = journal.execute(question, (digest,)).fetchone()
        except sqlite3.OperationalError:
            return None
        return None if answer is None else bool(answer)

    def _look(self) -> None:
        """At what the access point holds, and those that it was before."""
        for sandbox in self.world.servers[len(self._books) :]:
            self._books.append(Book(sandbox.store))
        for book in self._books:
            book.look()

    def _sent(self) -> dict[Key, Message]:
        return {self._here(msg_no): message for msg_no, message in self._book().sent.items()}

    def _book(self, server: int = -1) -> Book:
        return self._books[server]

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

    def _is_formers(self, said: dict[str, Any], content: bytes) -> bool:
        """Whether the number in a sidecar was given by a server that isn't there any more."""
        return self._server(said, content, self._before) < len(self.world.servers) - 1

    def _came_from(self, said: dict[str, Any]) -> Key:
        """The server and number of a received message, by its sidecar."""
        at = moment(said["received"])
        for server in range(len(self.world.servers)):
            message = self._book(server).all.get(said["msg_no"])
            if message and at and abs(at - message.received) < timedelta(seconds=1):
                return server, message.msg_no
        return self._here(said["msg_no"])

    def _fetched_anew(self, listed: Key, content: bytes, said: dict[str, Any]) -> Key:
        """The message that was fetched by the number of one that was listed, on a server that was set up anew since.

        The number is all that a message can be asked for by, a limit by name (docs/design/record.md). Where both hold
        the same, it was the later one if that was there when the document was fetched.
        """
        fetched = moment(said["fetched"])
        for server in range(listed[0] + 1, len(self.world.servers)):
            book = self._book(server)
            message = book.all.get(listed[1])
            if message and fetched and message.received <= fetched and book.content(listed[1]) == content:
                return server, listed[1]
        return listed

    def _place(self, path: Path) -> str:
        """`outbound/sent`, `desk`."""
        return path.parent.relative_to(self.world.base).as_posix().removeprefix("root/acme/")

    def close(self) -> None:
        """Let go of the access points' files."""
        for book in self._books:
            book.close()


def number_of(content: bytes) -> int:
    """Which of this world's documents it is."""
    found = re.search(rb">out-([0-9]+)<", content)
    assert found, "the access point accepted what nobody dropped"
    return int(found[1])


def document(number: int) -> bytes:
    """One of this world's documents; the first one can't be sent."""
    return invoice(f"out-{number}", **({} if number else {"receiver": None}))
