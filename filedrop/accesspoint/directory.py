"""Checks of a receiver in the access point's directory before a document is sent (contract 2, `directory`).

A directory that is missing, slow or broken stops no document, and is left alone for a minute, so that it delays few.
Its answer for a receiver is cached for all documents; a negative one only for a minute, since it may be corrected.
"""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from filedrop.errors import AccessPointError
from filedrop.identify import codelist
from filedrop.model.document import local_name, participant_key, without_scheme
from filedrop.model.fault import Fault
from filedrop.model.twins import twin
from filedrop.pauses import EACH_MINUTE
from filedrop.texts import Text
from filedrop.texts.printable import command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import timedelta

    import structlog

    from filedrop.accesspoint import AccessPoint, Pair
    from filedrop.model.document import Ids
    from filedrop.model.fault import Code

UNKNOWN: Code = "receiver-unknown"
NEGATIVE_FOR = 60.0  # seconds after which a negative answer is asked for again
RECEIVERS_KEPT = 10_000  # receivers in the cache
MOST_PAIRS = 100_000  # accepted pairs in the cache
SHOWN = 3  # pairs in a note


@dataclass(frozen=True, slots=True)
class DirectoryAnswer:
    """The directory's answer: whether the receiver is connected, and which pairs it accepts. None: unknown."""

    connected: bool | None = None
    accepts: tuple[Pair, ...] | None = None

    @property
    def is_absent(self) -> bool:
        """Whether the directory has no such receiver."""
        return self.connected is False and not self.accepts


class ReceiverDirectory:
    """One account's directory. Thread-safe. `cache` is the age limit of answers, `steady` a monotonic clock in seconds.

    `account` is the account's name for commands in notes, needed where there are several accounts. `pace`: the seconds
    from one request to the next at least, if only one thread asks. `trouble` is why it gave no answer, "" if it did.
    """

    def __init__(
        self,
        access_point: AccessPoint,
        *,
        cache: timedelta,
        steady: Callable[[], float],
        log: structlog.stdlib.BoundLogger | None = None,
        account: str = "",
        pace: float = 0.0,
    ) -> None:
        self.trouble = ""
        self._access_point = access_point
        self._lookup = ("filedrop", "lookup", *(["--account", account] if account else []))
        self._cache = cache.total_seconds()
        self._steady = steady
        self._log = log
        self._lock = threading.Lock()
        self._asked: dict[tuple[str, str, bool], tuple[float, Future[DirectoryAnswer]]] = {}
        self._pairs = 0
        self._rests_until = -1.0
        self._pace = pace
        self._next = -1.0  # when the next request may be made

    def known(self, receiver: str, kind: str) -> DirectoryAnswer:
        """What it has of a receiver and documents with this local name."""
        return self._answer(receiver, kind, self._cache)[0]

    def objection(self, ids: Ids) -> Fault | None:
        """Why the receiver would not get this document; None where no reason is known.

        The codes are `receiver-unknown` and `not-accepted`; the message is one line. Waits a short time for an answer.
        """
        objection = objection_to(self._known(ids, self._cache), ids, self._lookup)
        if objection and self._cache > NEGATIVE_FOR:
            objection = objection_to(self._known(ids, NEGATIVE_FOR), ids, self._lookup)
        return objection and with_twin(
            objection, ids, lambda other: self._known(replace(ids, receiver=other), self._cache).connected
        )

    def has(self, ids: Ids, *, receiver: str = "", asked_within: float | None = None) -> tuple[bool | None, float]:
        """Whether it has the receiver of `ids`, or this one, and how many seconds old the answer is. None: unknown.

        `asked_within`: the answer is a second one, so many seconds old at most. The first never counts as the second.
        """
        wanted, is_again = replace(ids, receiver=receiver or ids.receiver), asked_within is not None
        oldest = self._cache if asked_within is None else min(asked_within, NEGATIVE_FOR)
        of = wanted.receiver, local_name(wanted.document_id)
        known, age = self._answer(*of, oldest, is_again=is_again)
        if known.is_absent and age > NEGATIVE_FOR:
            known, age = self._answer(*of, NEGATIVE_FOR)
        return False if known.is_absent else known.connected, age

    def has_somebody(self, ids: Ids, others: Iterable[str], *, asked_within: float) -> bool | None:
        """Whether it has another receiver, by an answer so many seconds old at most; None where it doesn't answer.

        If no document has needed such an answer, it is asked for the `others`, until it has one.
        """
        with self._lock:
            now, asked = self._steady(), list(self._asked.items())
        for (receiver, *_), (asked_at, answer) in asked:
            is_other, is_fresh = receiver != participant_key(ids.receiver), now - asked_at <= asked_within
            if is_other and is_fresh and answer.done() and answer.result().connected:
                return True
        found = (self._known(replace(ids, receiver=other), asked_within).connected for other in others)
        return next((connected for connected in found if connected is not False), False)

    def lookup_of(self, receiver: str) -> str:
        """The command that looks a receiver up."""
        return command(*self._lookup, receiver)

    def _known(self, ids: Ids, oldest: float) -> DirectoryAnswer:
        """The directory's answer, at most `oldest` seconds old."""
        return self._answer(ids.receiver, local_name(ids.document_id), oldest)[0]

    def _pause(self) -> None:
        if not self._pace:
            return
        time.sleep(max(0.0, self._next - time.monotonic()))
        self._next = time.monotonic() + self._pace

    def _answer(
        self, receiver: str, kind: str, oldest: float, *, is_again: bool = False
    ) -> tuple[DirectoryAnswer, float]:
        """The directory's answer, at most `oldest` seconds old, and its age; one thread asks, the others wait for it.

        `is_again`: it is asked once more, after a first answer, which is kept by itself.
        """
        key = (participant_key(receiver), kind, is_again)
        with self._lock:
            now = self._steady()
            asked_at, answer = self._asked.get(key, (now, None))
            if answer is not None and now - asked_at <= oldest:
                mine = False
            elif now < self._rests_until:
                return DirectoryAnswer(), 0.0
            else:
                mine, asked_at, answer = True, now, Future()
                if len(self._asked) >= RECEIVERS_KEPT or self._pairs >= MOST_PAIRS:
                    self._asked.clear()
                    self._pairs = 0
                self._asked[key] = (now, answer)
        if mine:
            known = DirectoryAnswer()
            try:
                known = look_up(self._access_point, receiver, kind, pause=self._pause)
                self.trouble = ""
                self._pairs += len(known.accepts or ())
            except AccessPointError as error:
                with self._lock:
                    self._rests_until = self._steady() + EACH_MINUTE.seconds()
                    self._asked.pop(key, None)
                self.trouble = str(error)
                if self._log is not None:
                    self._log.info("directory.away", why=self.trouble)
            finally:  # else waiting threads hang
                answer.set_result(known)
        return answer.result(), now - asked_at


def with_twin(objection: Fault, ids: Ids, is_connected: Callable[[str], bool | None]) -> Fault:
    """The objection; where the receiver isn't in the directory but its other id is, with that one."""
    other = twin(ids.receiver) if objection.code == UNKNOWN else None
    if other and is_connected(other):
        return Fault.of(*objection.texts, Text.of("receiver-unknown/twin", twin=other))
    return objection


def look_up(
    access_point: AccessPoint, receiver: str, document: str, *, pause: Callable[[], None] = lambda: None
) -> DirectoryAnswer:
    """Ask about a receiver and documents with this local name ("": any). Raises AccessPointError.

    `pause` is called before each request.
    """
    accepts = None
    if document:
        pause()
        accepts = access_point.accepted(receiver, document)
    if accepts:
        return DirectoryAnswer(connected=True, accepts=accepts)
    pause()
    return DirectoryAnswer(access_point.directory(receiver), accepts)


def takes(pair: Pair, document_id: str, process_id: str) -> bool:
    """Whether an accepted `pair` includes documents with these ids.

    A customization that ends with `*` includes all with this beginning (Peppol policy for identifiers, wildcards).
    """
    accepted, process, wanted, wanted_process = map(without_scheme, (*pair, document_id, process_id))
    if process != wanted_process:
        return False
    before, wildcard, behind = accepted.partition("*")
    if not wildcard:
        return accepted == wanted
    return wanted.startswith(before) and wanted.endswith(behind)


def nearest(accepts: Iterable[Pair], document_id: str, process_id: str) -> list[Pair]:
    """The accepted pairs without repetitions, the one most similar to these ids first."""

    def distance(pair: Pair) -> tuple[bool, bool, float]:
        likeness = SequenceMatcher(None, pair[0], document_id, autojunk=False).ratio()
        return pair[0] != document_id, pair[1] != process_id, -likeness

    return sorted(dict.fromkeys(accepts), key=distance)


def objection_to(known: DirectoryAnswer, ids: Ids, lookup: Sequence[str]) -> Fault | None:
    """The objection to sending a document with these ids; `lookup` begins the command that tells more."""
    receiver, kind = ids.receiver, local_name(ids.document_id)
    if known.is_absent:
        return Fault.of(Text.of(UNKNOWN, receiver=receiver, lookup=command(*lookup, receiver)))
    if known.accepts is None or any(takes(pair, ids.document_id, ids.process_id) for pair in known.accepts):
        return None
    if not known.accepts:
        return Fault.of(Text.of("not-accepted/kind", receiver=receiver, kind=kind))
    pairs = nearest(known.accepts, ids.document_id, ids.process_id)
    wanted, nearest_id = called(ids.document_id), pairs[0][0]
    if nearest_id == ids.document_id:
        texts = [Text.of("not-accepted/process", receiver=receiver, wanted=wanted)]
    else:
        texts = [Text.of("not-accepted", receiver=receiver, wanted=wanted, nearest=called(nearest_id))]
    texts += map(_accepted, pairs[:SHOWN])
    if len(pairs) > SHOWN:
        more = command(*lookup, receiver, kind)
        texts.append(Text.of("not-accepted/more", number=len(pairs) - SHOWN, lookup=more))
    return Fault.of(*texts)


def called(document_id: str) -> str:
    """The code list's name for a document id; the id itself where it isn't listed."""
    bare = without_scheme(document_id).replace("*::", "::")
    entry = codelist.document_entry(bare)
    return (entry and entry.name) or document_id


def _accepted(pair: Pair) -> Text:
    document_id, process_id = pair
    name = called(document_id)
    if name == document_id:
        return Text.of("not-accepted/pair", document_id=document_id, process_id=process_id)
    return Text.of("not-accepted/named-pair", name=name, document_id=document_id, process_id=process_id)
