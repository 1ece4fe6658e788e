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

import json
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from support import promises
from support.known import Known

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from support.known import Key, Lying
    from support.people import Paper

    from filedrop.sandbox import Message

UNCLEAR_AT_MOST, UNEXPLAINED_AT_MOST = 10, 3  # contract 6, the table of answers


@dataclass
class Ledger(Known):
    """What is wrong with a world, by what is known of it."""

    _read: int = 0
    _posts: int = 0
    _was_held: bool = False

    def people_moved(self) -> None:
        """Note what a new journal can't learn any more, since a person has just moved a file."""
        self._never_learnt(self.people.lying())

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
            by_hand = paper is not None and self._is_by_hand(path, paper)
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

    def _of_papers(self, lying: Lying, sent: Mapping[Key, Message]) -> Iterator[str]:
        places: dict[Paper, list[Path]] = defaultdict(list)
        for path, paper in lying.items():
            if paper is None:
                yield f"{path} is nobody's"
            else:
                places[paper].append(path)
        owners: dict[Key, list[Paper]] = defaultdict(list)
        for paper in self.people.papers.values():
            if len(places[paper]) != 1:
                yield f"document {paper.number} lies in {len(places[paper])} places: {places[paper]}"
                continue
            (path,) = places[paper]
            if path.read_bytes() != paper.content:
                yield f"{path} was changed"
            place = self._place(path).removeprefix("outbound/")
            by_hand = self._is_by_hand(path, paper) or self._is_in_anothers_place(paper)
            if (place == "sent" or place.startswith("archive/")) and not by_hand:
                said = promises.sidecar(path)
                server = self._server(said, paper.content, sent)
                owners[server, said.get("msg_no", 0)].append(paper)
                of_server = {msg_no: message for (where, msg_no), message in sent.items() if where == server}
                holds = self._book(server).content
                for problem in promises.of_accepted(holds, said, place, paper.content, of_server):
                    yield f"{path.name} in {place}: {problem}"
        for key, papers in owners.items():
            if len({paper.content for paper in papers} if self.takes_turns else papers) > 1:
                yield f"message {key} is {len(papers)} documents'"
        yield from self._of_accepted(sent)

    def _is_by_hand(self, path: Path, paper: Paper) -> bool:
        """Whether a person has laid it there, or meddled with what tells of it: with the sidecar of its like, too."""
        likes = (one for one in self.people.papers.values() if one is not paper and one.content == paper.content)
        return path in (paper.laid, paper.meddled) or any(one.meddled for one in likes)

    def _is_in_anothers_place(self, paper: Paper) -> bool:
        """Whether it may count as another document, since it could not be read (the limits)."""
        return paper.closed and (_was_laid_in_sent(paper) or self.takes_turns)

    def _of_accepted(self, sent: Iterable[Key]) -> Iterator[str]:
        allowed: Counter[int] = Counter()
        for paper in [*self.people.papers.values(), *self.people.gone]:
            allowed[paper.number] += paper.allowed
        for number, times in self._accepted(sent).items():
            if times > (1 if self.refuses else allowed[number]) + self.lost[number]:
                yield f"document {number} was accepted {times} times"

    def _of_failed(self, path: Path, paper: Paper) -> Iterator[str]:
        said = promises.sidecar(path)
        code = said.get("error", {}).get("code")
        heard, accepted = self.heard[paper.number], paper.number in self._numbers.values()
        unclear = heard["unclear"] + heard["unexplained"] + self.ended
        refused = heard["refused"] > 0 or heard["unexplained"] >= UNEXPLAINED_AT_MOST
        reasons = {
            "duplicate": self.refuses and (accepted or unclear or self._was_like_one_under_way(said, paper)),
            "rejected": refused,
            "no-answer": unclear >= UNCLEAR_AT_MOST,
            "not-xml": paper.half,
            "unreadable": paper.closed or self.takes_turns,
            "no-receiver": paper.number == 0,
            "not-delivered": self._is_formers(said, paper.content),
            "changed": _was_laid_in_sent(paper),
        }
        if not reasons.get(str(code)):
            yield f"{path.name} (document {paper.number}) failed as {code}, for no reason: {dict(heard)}"
        if not path.with_name(f"{path.name}.why.txt").exists():
            yield f"{path.name} failed, and no note says why"

    def _was_like_one_under_way(self, said: Mapping[str, Any], paper: Paper) -> bool:
        """Whether a like document was just being posted when this one failed: it may have been refused since (limits).

        No document is like itself.
        """
        others = [one for one in (*self.people.papers.values(), *self.people.gone) if one is not paper]
        is_told = said.get("error", {}).get("message", "").endswith(" and is sending")
        return is_told and any(one.number == paper.number for one in others)

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
            content, file = path.read_bytes(), path.stat().st_ino
            listed = self._came_from(said)
            key = self._fetched_anew(listed, content, said)
            if key != listed and file not in self.delivered[key]:  # its own sidecar's may come yet, by another list
                self.again[key] += 1
            self.delivered[key].add(file)
            if content != self._book(key[0]).content(key[1]):
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
            if path not in (paper.laid, paper.meddled) and not self._is_in_anothers_place(paper):
                yield path, paper

    def _of_log(self) -> Iterator[str]:
        self.world._log_file.flush()
        with (self.world.base / "log").open() as log:
            log.seek(self._read)
            for line in log.read().splitlines():
                if "exception" in json.loads(line):
                    yield f"filedrop is at its wits' end: {json.loads(line)['exception']}"
            self._read = log.tell()


def _was_laid_in_sent(paper: Paper) -> bool:
    """Whether a person has laid it in `sent/`, perhaps in another's place."""
    return paper.laid is not None and paper.laid.parent.name == "sent"
