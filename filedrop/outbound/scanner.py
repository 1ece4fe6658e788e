"""The names in an outbound folder: which may be ready, and what was seen of files that weren't.

The worker in the folder changes it; other threads may look. File events lie in the folder's mailbox until that worker
takes them: at each listing, and right before each claim. None of this is kept: after a start, the first scan finds all.
"""

from __future__ import annotations

import math
from collections import deque
from heapq import nsmallest
from typing import TYPE_CHECKING

from filedrop.files import FileStamp, changed_at
from filedrop.outbound.mailbox import Closed, Written
from filedrop.outbound.readiness import Clock, Seen, unchanged_for
from filedrop.storage.names import stem

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator

    from filedrop.errors import DocumentError
    from filedrop.outbound.mailbox import FileEvents
    from filedrop.storage.company_folders import OutboundFolder

CLOSED = 10_000  # names at most that are known as closed: bounds the memory
FEW = 100  # names left of a listing: with fewer, another listing costs little
LISTED = 2000  # names kept of one listing: bounds the memory, and the time before a batch


class Scanner:
    """The names of one folder. All times are of the steady clock.

    `seen`: what was seen of files that weren't ready. `ready`: names to be claimed. `has_more`: the last listing had
    more names. `last_scan`: when the folder was last listed to its end.
    """

    def __init__(self, folder: OutboundFolder, events: FileEvents) -> None:
        self.seen: dict[str, Seen] = {}
        self.ready: deque[str] = deque()
        self.has_more = False
        self.last_scan = -math.inf
        self.next_settled = math.inf
        self._folder = folder
        self._events = events
        self._closed: set[str] = set()  # names whose writers have closed them, as far as there is room
        self._is_woken = False
        self._settling: dict[str, float] = {}
        self._had_turn: set[str] = set()
        self._pdfs: dict[str, Seen] = {}  # of documents that wait for them
        self._with_news: set[str] = set()  # the stems of PDFs of which events have told

    @property
    def is_woken(self) -> bool:
        """Whether something has happened in the folder since it was listed. Thread-safe."""
        return self._is_woken or self._events.are_urgent

    def wake(self) -> None:
        """Have the folder listed."""
        self._is_woken = True

    def note_unchanged(self, now: float) -> None:
        """Note that a listing would have found what the last one has found."""
        self.last_scan = now

    def is_closed(self, name: str) -> bool:
        """Whether a file's writer has closed it, and nobody has written it since, as far as the system has told."""
        self._pop_events()
        return name in self._closed

    def note_written(self, name: str) -> None:
        """Note that a file has been written since it was closed."""
        self._closed.discard(name)

    def scan(self, names: Iterable[str], now: float) -> None:
        """Fill `ready` with up to LISTED names worth a look, sorted. Forget names not listed. Raises as `names`."""
        self._pop_events()  # before the listing, which may miss what comes later
        self._is_woken = False
        try:
            self._list(names, now)
        except BaseException:
            self._is_woken = True
            raise

    def _pop_events(self) -> None:
        taken = self._events.pop()
        if taken.are_urgent:
            self._is_woken = True
        if taken.are_lost:
            self._closed.clear()
        for event in taken.events:
            name = event.name
            if isinstance(event, Closed) and len(self._closed) < CLOSED:  # beyond, a file has to settle
                self._closed.add(name)
            elif not isinstance(event, Closed):
                self._closed.discard(name)
            if not isinstance(event, Written):
                self._had_turn -= {name, *map(name.removesuffix, self._folder.ready.ends)}
                if self._folder.is_pdf(name) and len(self._with_news) < CLOSED:
                    self._with_news.add(stem(name))

    def _list(self, names: Iterable[str], now: float) -> None:
        self._had_turn.difference_update(self.ready)  # these had no turn
        gone = {name for name in self._closed | self.seen.keys() if not self._folder.is_pdf(name)}

        def worth_while() -> Iterator[str]:
            for name in names:
                gone.discard(name)
                if self._is_worth_while(name, now):
                    yield name

        self.ready = deque(nsmallest(LISTED, worth_while()))  # an iterator: there may be a hundred thousand
        for name in gone:
            self.forget(name)
        self.has_more = len(self.ready) == LISTED
        if self.has_more:
            self._had_turn.update(self.ready)
        else:
            self._had_turn.clear()
        for name in self.ready:  # set again by a look that needs another one
            self._settling.pop(name, None)
        self.next_settled = min((moment for moment in self._settling.values() if moment > now), default=math.inf)
        self._with_news.clear()
        self.last_scan = now

    def due(self) -> float:
        """When to list the folder. Names that are left of the last listing come first, unless they are few."""
        if self.ready:
            return -math.inf if self.is_woken and len(self.ready) < FEW else math.inf
        return -math.inf if self.is_woken or self.has_more else self.next_settled

    def next_ready(self, most: int) -> list[str]:
        """The next names to be claimed, at most `most`."""
        return [self.ready.popleft() for _ in range(min(most, len(self.ready)))]

    def remember(
        self,
        name: str,
        stamp: FileStamp,
        now: float,
        *,
        look_again: float,
        unchanged: float = 0.0,
        fault: DocumentError | None = None,
        waits_for: str = "",
        copy_of: str = "",
    ) -> None:
        """Remember a file that isn't ready: its stamp, `unchanged` for how many seconds, in how many to look again.

        `waits_for`: the PDF that it waits for, after it was read. `copy_of`: the document that it is a version of.
        """
        seen = self.seen.get(name)
        since = seen.since if seen and seen.stamp == stamp else now - unchanged
        self.seen[name] = Seen(stamp, since, fault, waits_for, copy_of)
        self._settling[name] = moment = now + look_again
        self.next_settled = min(self.next_settled, moment)

    def unchanged(self, name: str, status: os.stat_result, now: Clock) -> float:
        """For how many seconds this file has been as it is now."""
        stamp = FileStamp.of(status)
        return unchanged_for(self.seen.get(name), stamp, changed_at(status), now, local=self._folder.local)

    def pdf_unchanged(self, name: str, stamp: FileStamp, changed: float, now: Clock) -> float:
        """For how many seconds a PDF has been as it is now; it is remembered until its document is forgotten."""
        unchanged = unchanged_for(self._pdfs.get(name), stamp, changed, now, local=self._folder.local)
        self._pdfs[name] = Seen(stamp, now.steady - unchanged)
        return unchanged

    def waits_for_pdf(self, name: str, stamp: FileStamp) -> bool:
        """Whether a file was read, and waits for its PDF; False after a change."""
        seen = self.seen.get(name)
        return seen is not None and seen.stamp == stamp and bool(seen.waits_for)

    def stems(self) -> set[str]:
        """The stems of the files that are waiting in the folder, as far as they are known."""
        return set(map(stem, (*self.seen, *self.ready)))

    def fault(self, name: str, stamp: FileStamp) -> DocumentError | None:
        """Why the file wasn't well-formed when it was last read; None after a change. Saves reading it again."""
        seen = self.seen.get(name)
        return seen.fault if seen and seen.stamp == stamp and seen.fault and seen.fault.code == "not-xml" else None

    def waits_for_writers(self) -> bool:
        """Whether a file may become ready just because `settle` passes. Thread-safe."""
        if self._folder.ready.ends:
            return False
        return any(seen.fault is None and not seen.copy_of for seen in self.seen.copy().values())

    def forget(self, name: str) -> None:
        """Forget a file that has been claimed or is gone."""
        seen = self.seen.pop(name, None)
        for pdf in (name, seen.waits_for if seen else ""):
            self._pdfs.pop(pdf, None)
        self._settling.pop(name, None)
        self._closed.discard(name)
        self._had_turn.discard(name)

    def _is_worth_while(self, name: str, now: float) -> bool:
        """Whether a name is to be looked at: it is new, closed, or has waited long enough for its writer.

        With ready files, always: one may have come. A name that had its turn waits until all others have had theirs.
        """
        if self._with_news and stem(name) in self._with_news:
            return True
        if name in self._had_turn:
            return self._settling.get(name, math.inf) <= now
        is_new_or_settled = self._settling.get(name, -math.inf) <= now
        return is_new_or_settled or name in self._closed or bool(self._folder.ready.ends)
