"""What one outbound folder's sweeps remember between them. Nothing of it is needed after a start."""

from __future__ import annotations

import contextlib
import math
import threading
from collections import deque
from dataclasses import dataclass, field
from heapq import nsmallest
from typing import TYPE_CHECKING

from filedrop import identify
from filedrop.files import Seal
from filedrop.folders import OutboundFolder
from filedrop.readiness import Seen, unchanged_for

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Collection, Iterable, Iterator
    from pathlib import Path

    from filedrop.config import Company, Config, Watch
    from filedrop.errors import DocumentError
    from filedrop.identify import Identity, Reading
    from filedrop.identify.mapping import Rules
    from filedrop.readiness import Clock

CLOSED = 10_000  # names that are remembered as closed at most: bounds the memory
CLAIMS_AT_ONCE = 2000  # dropped files that are given out to be claimed: bounds the memory, and what comes before a step


@dataclass(slots=True, eq=False)
class Lane:
    """One outbound folder and what is known of it now. All times are of the steady clock.

    `xpaths`: those of the mapping rules, asked of each document while it is read.
    `watch`: how the configuration wants its files found. `swept`: has it been swept since the start, whatever came of
    it? `comparing`: is it being compared with the journal beside the sweeps, or about to be? `closed`: names whose
    writer the system has seen closing them, some of very many.
    `given`: names that jobs are to claim, and `ready`: those that none has taken yet. `claims`: how many such jobs have
    been given out and not begun. `has_more`: not all is given yet, and `looked`: what has had its turn, and comes then
    after the others. `taking`: names in `sending/` that one of these jobs is about to take, before there is a row, each
    with the name it was dropped as.
    `missed`: ids of documents whose file wasn't where it should be, since when. `notes`: what the notes in `sending/`
    say, by the document's id.
    `wake` is called when the folder is to be looked at sooner.
    `not_before` is the moment before which it is left alone, whatever happens there.
    `trouble` is the sentence that says why the folder is unavailable, "" while it isn't; `outdated` the one that says
    why the journal didn't know what lay there, "" where it did; `refused` why files can't be moved or written there, ""
    while they can; `unreconciled` what lies there wrongly; `unwatched` why its files are only found by scanning, though
    the system should tell of them, "" where it does. `jobs` are those that have been given out and are not done.
    """

    folder: OutboundFolder
    participants: tuple[str, ...]
    identify: Callable[[Reading, str], Identity]
    xpaths: Collection[str]
    watch: Watch
    wake: Callable[[], None]
    closed: set[str] = field(default_factory=set)
    seen: dict[str, Seen] = field(default_factory=dict)
    settling: dict[str, float] = field(default_factory=dict)
    given: set[str] = field(default_factory=set)
    ready: deque[str] = field(default_factory=deque)
    claims: int = 0
    looked: set[str] = field(default_factory=set)
    taking: dict[str, str] = field(default_factory=dict)
    missed: dict[str, float] = field(default_factory=dict)
    suspects: dict[str, frozenset[str]] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    woken: bool = True
    sweeping: bool = False
    swept: bool = False
    comparing: bool = False
    next_full: float = 0.0
    next_settled: float = math.inf
    has_more: bool = False
    next_step: float = math.inf
    not_before: float = -math.inf
    trouble: str = ""
    outdated: str = ""
    unreconciled: str = ""
    unwatched: str = ""
    refused: str = ""
    refused_again: bool = False
    jobs: set[object] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def due(self) -> float:
        """When it is to be swept again."""
        if self.woken:
            return self.not_before
        return max(self.not_before, min(self.next_full, self.next_step, self.next_settled))

    def was_closed(self, name: str) -> None:
        """The system tells that this file's writer has closed it. Of very many, the last go when they have settled."""
        if len(self.closed) < CLOSED:
            self.closed.add(name)
        self.look_now(name)

    def look_now(self, name: str = "") -> None:
        """Something has happened there; to this file, where one is named."""
        ready_file = self.folder.ready_file("")
        self.looked -= {name, name.removesuffix(ready_file.name) if ready_file else name}
        self.woken = True
        self.wake()

    def takes_one_more(self, workers: int, together: int) -> bool:
        """Is a job more to be given out, and counted, that claims so many of what is ready together?

        As many wait to begin as there are workers at most; whoever is busy with others has no part in it.
        """
        with self._lock:
            more = self.claims < min(workers, math.ceil(len(self.ready) / together))
            self.claims += more
            return more

    def next_ready(self, most: int) -> list[str]:
        """The next of the files that were given out, for a job that begins: so many at most."""
        names = list[str]()
        with self._lock, contextlib.suppress(IndexError):  # others have taken the rest
            self.claims -= 1
            for _ in range(most):
                names.append(self.ready.popleft())
        return names

    def done_with(self, name: str) -> None:
        """The job of this name is done: whatever it took in `sending/` has a row by now, or was given back."""
        for file in [file for file, taken_by in self.taking.copy().items() if taken_by == name]:
            del self.taking[file]
        self.given.discard(name)
        self._look_then(self.settling.get(name, math.inf))  # sweeps meanwhile have passed it over
        if self.has_more and len(self.given) <= CLAIMS_AT_ONCE // 2:
            self.has_more = False
            self.look_now()

    def refuses(self, why: str) -> bool:
        """The disk doesn't let something be done; is the reason news?"""
        news = why != self.refused
        self.refused, self.refused_again = why, True
        return news

    def see_refused(self) -> None:
        """Before jobs are given out: if all of those before have been done, and none was refused, nothing is now."""
        if not self.jobs:
            self.refused, self.refused_again = self.refused if self.refused_again else "", False

    @property
    def warning(self) -> str:
        """What is wrong with the folder though it is available, in sentences; "" for nothing."""
        return "; ".join(why for why in (self.outdated, self.unreconciled, self.refused, self.unwatched) if why)

    def remember(
        self,
        name: str,
        seal: Seal,
        now: float,
        *,
        look_again: float,
        unchanged: float = 0.0,
        fault: DocumentError | None = None,
    ) -> None:
        """A file that isn't ready: how it looks, for how many seconds already, and in how many it may be."""
        seen = self.seen.get(name)
        since = seen.since if seen and seen.seal == seal else now - unchanged
        self.seen[name] = Seen(seal, since, fault)
        self.settling[name] = moment = now + look_again
        self._look_then(moment)

    def _look_then(self, moment: float) -> None:
        with self._lock:
            is_next = moment < self.next_settled
            self.next_settled = min(self.next_settled, moment)
        if is_next:
            self.wake()

    def unchanged(self, name: str, status: os.stat_result, now: Clock) -> float:
        """For how many seconds this file has been as it is now."""
        seal = Seal.of(status)
        return unchanged_for(self.seen.get(name), seal, status.st_ctime, now, local=self.folder.local)

    def fault(self, name: str, seal: Seal) -> DocumentError | None:
        """Why it wasn't well-formed when it was read before, if it is as it was then: it isn't read for that again."""
        seen = self.seen.get(name)
        return seen.fault if seen and seen.seal == seal and seen.fault and seen.fault.code == "not-xml" else None

    def take_ready(self, names: Iterable[str], now: float) -> list[str]:
        """Of the names that lie there, those that a look is worth while at now; not all at once, if they are many.

        They are sorted, `names` needn't be. What lies there no more is forgotten. Raises what listing the names does.
        """
        room = max(0, CLAIMS_AT_ONCE - len(self.given))
        taken = self._look_through(names, room, now) if room else []
        self.given.update(taken)
        self.ready.extend(taken)
        self.has_more = len(taken) == room
        if self.has_more:
            self.looked.update(taken)
        else:
            self.looked.clear()
        for name in taken:  # a look that comes to nothing leaves none
            self.settling.pop(name, None)
        with self._lock:
            settling = self.settling.copy().values()
            self.next_settled = min((moment for moment in settling if moment > now), default=math.inf)
        return taken

    def _look_through(self, names: Iterable[str], room: int, now: float) -> list[str]:
        gone = self.closed | self.seen.keys()  # before the listing: what comes after it, it needn't show

        def worth_while() -> Iterator[str]:
            for name in names:
                gone.discard(name)
                if name not in self.given and self._is_worth_while(name, now):
                    yield name

        taken = nsmallest(room, worth_while())  # one by one: they may be a hundred thousand
        for name in gone:
            self.forget(name)
        return taken

    def _is_worth_while(self, name: str, now: float) -> bool:
        if name in self.looked:
            return self.settling.get(name, math.inf) <= now
        return self.may_be_ready(name, now) or self.folder.ready_file(name) is not None

    def may_be_ready(self, name: str, now: float) -> bool:
        """Is a look at this file worth while now?"""
        return name in self.closed or self.settling.get(name, -math.inf) <= now

    def waits_for_writers(self) -> bool:
        """May a file become ready by nothing but the passing of `settle`?"""
        if self.folder.ready_file(""):
            return False
        return any(seen.fault is None for seen in list(self.seen.values()))

    def forget(self, name: str) -> None:
        """The file has been claimed, or is gone."""
        self.seen.pop(name, None)
        self.settling.pop(name, None)
        self.closed.discard(name)
        self.looked.discard(name)

    def twice(self, what: str, found: frozenset[str], *, at_once: bool) -> frozenset[str]:
        """What was found now and in the full sweep before: it isn't passing. `at_once`: all of it, at the first."""
        before = self.suspects.get(what)
        self.suspects[what] = found
        if before is None:
            return found if at_once else frozenset()
        return found & before


def lane_of(settings: Config, company: Company, path: Path, mapping: Rules, *, wake: Callable[[], None]) -> Lane:
    """One of a company's outbound folders, as the configuration wants it served."""
    rules = settings.outbound
    folder = OutboundFolder(
        path, company=company.name, below=settings.root, patterns=rules.files, ready_suffix=rules.ready_suffix
    )
    default_sender = company.participants[0] if company.participants else None

    def identified(reading: Reading, name: str) -> Identity:
        return identify.identify(
            reading,
            company=company.name,
            file_name=name,
            default_sender=default_sender,
            channel=company.channel,
            mapping=mapping,
        )

    return Lane(
        folder=folder,
        participants=company.participants,
        identify=identified,
        xpaths=mapping.xpaths,
        watch=company.watch,
        wake=wake,
    )
