"""Received messages on their way into one folder: a step takes a batch as far as it goes without waiting.

A fetcher downloads a new message. The journal names it, it is placed together with others that have come meanwhile, and
a fetcher marks it as read. A message that was begun before continues where it stands.
"""

from __future__ import annotations

import math
import queue
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from filedrop import files
from filedrop.errors import AccessPointError, Changed, DocumentError, FolderUnavailable
from filedrop.files.disk import free_space
from filedrop.files.rights import explain
from filedrop.inbound.arrival import LookAgain, Refused, mark_read
from filedrop.inbound.fetcher import Fetched, NotTaken, fetch
from filedrop.inbound.placing import Placed, place, resume
from filedrop.inbound.temporary import check_there
from filedrop.journal import changed, is_same
from filedrop.model.report import FolderReport
from filedrop.process.pool import Pace, Task
from filedrop.texts.printable import size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import structlog

    from filedrop.files import Directory
    from filedrop.inbound.arrival import Arrival, Letter
    from filedrop.inbound.context import InboundContext
    from filedrop.journal import Journal, MessageRow
    from filedrop.process.folder_worker import FolderWorkers
    from filedrop.storage.company_folders import InboundFolder

BATCH = 32  # messages in one step; fetched ones and new ones are counted apart
TURN = 0.05  # seconds between steps at most while messages are fetched quickly


class Fetches:
    """The messages of one folder that fetchers have, `under_way`, and those that are back, `whole`. Thread-safe."""

    def __init__(self) -> None:
        self.under_way: set[Arrival] = set()
        self.whole: queue.SimpleQueue[Arrival] = queue.SimpleQueue()
        self._pace = Pace()  # of the requests of the account that the latest message is from

    def begin(self, arrival: Arrival) -> None:
        """Note that a message is to be fetched."""
        self.under_way.add(arrival)
        self._pace = arrival.context.fetchers.pace

    @property
    def room(self) -> int:
        """How many more messages may be fetched now: while that is quick, one batch after the other."""
        return BATCH - (len(self.under_way) if self._pace.is_quick else 0)

    def has_work(self, mailbox: queue.SimpleQueue[Letter]) -> bool:
        """Whether there is a message that was fetched, or a letter and room for it."""
        return not self.whole.empty() or not (mailbox.empty() or self.room <= 0)

    def pop_whole(self) -> list[Arrival]:
        """The next messages that were fetched, up to a batch."""
        return [self.whole.get() for _ in range(min(BATCH, self.whole.qsize()))]

    def are_soon_through(self) -> bool:
        """Whether the next step is to wait for the rest of a batch."""
        return bool(self.under_way) and self._pace.is_quick

    def take_back(self, arrival: Arrival) -> bool:
        """Take back a message that was fetched or not. Returns whether the folder's worker is to look at that."""
        is_first = self.whole.empty()
        if arrival.fetched is not None:
            self.whole.put(arrival)
        self.under_way.discard(arrival)
        return is_first or not self.are_soon_through()


class InboundDelivery:
    """The deliveries of one folder. Only the worker in the folder calls `step`; the rest is thread-safe.

    `trouble`: why the folder is unavailable; `refused`: why a message could not be put there; "" if nothing is wrong.
    """

    def __init__(
        self,
        folder: InboundFolder,
        journal: Journal,
        *,
        min_free: int,
        log: structlog.stdlib.BoundLogger,
        workers: FolderWorkers,
    ) -> None:
        self.folder = folder
        self.trouble = self.refused = ""
        self._journal = journal
        self._min_free = min_free
        self._log = log.bind(company=folder.company, folder=str(folder.path))
        self._workers = workers
        self._mailbox: queue.SimpleQueue[Letter] = queue.SimpleQueue()
        self._fetches = Fetches()
        self._next = -math.inf  # when the next step is due while messages are fetched quickly
        self._is_taken_up = False
        self._is_silent = False  # it has not answered a fetcher since the last step: nobody else waits for it
        self._leftovers: set[str] = set()
        self._unnamed: dict[tuple[str, int], Fetched] = {}  # by account and number

    @property
    def report(self) -> FolderReport:
        """What is known of the folder now."""
        folder, found = self.folder, self.folder.trial.found
        warnings = (self.refused,) if self.refused else ()
        return FolderReport(folder.path, folder.company, trouble=self.trouble, warnings=warnings, file_system=found)

    def put(self, letter: Letter) -> None:
        """Leave a letter for the next step."""
        self._mailbox.put(letter)
        self._workers.wake()

    def due(self) -> float:
        """When a step is due: at the start, and when there is a letter, unless fetchers are soon through."""
        if self._is_taken_up and not self._fetches.has_work(self._mailbox):
            return math.inf
        return self._next if self._fetches.are_soon_through() else -math.inf

    def step(self) -> None:
        """Take a batch of queued messages further. Raises JournalError."""
        arrivals = self._read_mail()
        if arrivals:
            self._workers.answers(self)
        pending = set(arrivals)
        self._is_taken_up = True
        try:
            with self.folder.in_use():
                if self._is_available(arrivals):
                    for account in {id(arrival.context): arrival.context for arrival in arrivals}.values():
                        self._deliver(account, [arrival for arrival in arrivals if arrival.context is account], pending)
                    if self._unnamed and self.is_idle() and not self._journal.trouble:
                        self._give_up_unnamed()
        finally:
            for arrival in pending.copy():
                self._end(arrival, None, pending)
            self._next = self._workers.steady() + TURN

    def close(self) -> None:
        """Take the last step: what no row names is removed."""
        with self.folder.in_use():
            self._give_up_unnamed()

    def has_unnamed(self) -> bool:
        """Whether something was fetched that the journal could not name."""
        return bool(self._unnamed)

    def is_idle(self) -> bool:
        """Whether the first step was taken and there is no letter."""
        return self._is_taken_up and self._mailbox.empty() and self._fetches.whole.empty()

    def _read_mail(self) -> list[Arrival]:
        """Read the letters, up to a batch of messages. Returns these."""
        arrivals = self._fetches.pop_whole()
        most = len(arrivals) + self._fetches.room
        while len(arrivals) < most and not self._mailbox.empty():
            match self._mailbox.get():
                case Refused(error):
                    self._note_refusal(error)
                case LookAgain():
                    self.refused = ""
                case arrival:
                    arrivals.append(arrival)
        return arrivals

    def _note_refusal(self, error: Exception) -> None:
        """Note an error that kept a message from being put there; logged when it differs from the last one."""
        said = explain(error, self.folder.path) if isinstance(error, OSError) else error
        why = f"nothing can be put into it now: {said}"
        if self.refused != why:
            self._log.error("folder.unavailable", why=f"{self.folder.path}: {why}")
        self.refused = why

    def _deliver(self, context: InboundContext, arrivals: Sequence[Arrival], pending: set[Arrival]) -> None:
        """Take an account's messages further. What goes on elsewhere, or can't go on now, leaves `pending`."""
        whole: list[tuple[Arrival, Fetched]] = []
        begun: list[Arrival] = []
        new: list[Arrival] = []
        for arrival in arrivals:
            row = arrival.unread.row
            if arrival.fetched is None and (row is None or row.state == "stuck"):
                arrival.note_fetched(_fetched_before(self.folder, self._unnamed, self._leftovers, arrival))
            if arrival.fetched is not None:
                whole.append((arrival, arrival.fetched))
            elif row is None or row.state == "stuck":
                new.append(arrival)
            elif row.state == "read":
                self._mark_read(arrival, row, pending)
            elif self._resume(arrival, row, pending):
                begun.append(arrival)
        self._place(context, begun, pending, resumed=True)
        self._place(context, self._name(context, whole, pending), pending, resumed=False)
        for arrival in new:  # last: fetchers and this thread take turns
            self._fetch(arrival, pending)

    def _resume(self, arrival: Arrival, row: MessageRow, pending: set[Arrival]) -> bool:
        """Continue where an earlier fetch has ended. Returns whether the message is whole, and is to be placed."""
        try:
            progress = resume(arrival.context, self.folder, arrival.unread.message, row)
        except (FolderUnavailable, Changed, OSError) as error:
            self._end(arrival, error, pending)
            return False
        if isinstance(progress, Fetched):
            arrival.note_fetched(progress)
        elif isinstance(progress, Placed):
            self._mark_read(arrival, progress.row, pending)
        elif not arrival.unread.listed:  # another filedrop has delivered it; else it will be listed
            arrival.context.journal.messages.forget(progress)
        else:
            arrival.note_named(progress)
            self._fetch(arrival, pending)
        return arrival.fetched is not None

    def _give_up_unnamed(self) -> None:
        """Remove what was fetched and couldn't be named, and whose messages aren't listed any more."""
        named = self._journal.messages.drafts(str(self.folder.path))
        unnamed = (fetched for fetched in self._unnamed.values() if fetched.row.temporary not in named)
        self._leftovers.update(*(fetched.temporaries() for fetched in unnamed))
        self._unnamed.clear()
        self._clear_leftovers()

    def _name(
        self, context: InboundContext, whole: Sequence[tuple[Arrival, Fetched]], pending: set[Arrival]
    ) -> list[Arrival]:
        """Name whole temporary files in the journal, in one commit. Returns the arrivals named. Raises JournalError."""
        there: list[Arrival] = []
        try:
            here = self.folder.at()
            refused = files.flush([here / fetched.row.temporary for _, fetched in whole if not fetched.is_on_disk])
            for arrival, fetched in whole:
                try:
                    _see_whole(here, fetched, refused)
                    there.append(arrival)
                except (FolderUnavailable, OSError) as error:
                    self._end(arrival, error, pending)
            if there:
                here.sync()
        except OSError as error:  # of the folder, and so of all
            for arrival in pending.intersection(arrival for arrival, _ in whole):
                self._end(arrival, error, pending)
            return []
        # From here on, the temporary files stay: rows may name them, and after an error the next step begins here.
        batch = _fetched_by_number(there)
        self._unnamed |= {_key(fetched.row): fetched for fetched in batch.values()}
        rows = context.journal.messages.record_all([fetched.row for fetched in batch.values()])
        named: list[Arrival] = []
        for arrival, fetched, row in zip(there, batch.values(), rows, strict=True):
            if row is None:
                self._end(arrival, changed(fetched.row), pending)
                continue
            del self._unnamed[_key(row)]
            arrival.note_named(row)  # so `_discard` leaves the file to the row
            arrival.note_fetched(fetched._replace(row=row))
            named.append(arrival)
        return named

    def _place(
        self, context: InboundContext, arrivals: Sequence[Arrival], pending: set[Arrival], *, resumed: bool
    ) -> None:
        results = place(context, self.folder, _fetched_by_number(arrivals), resumed=resumed)
        for arrival in arrivals:
            result = results[arrival.unread.message.msg_no]
            if isinstance(result, Exception):
                if isinstance(result, Changed) and arrival.fetched is not None:
                    self._unnamed[_key(arrival.fetched.row)] = arrival.fetched
                self._end(arrival, result, pending)
            else:
                self.refused = ""
                self._mark_read(arrival, result, pending)

    def _end(self, arrival: Arrival, error: Exception | None, pending: set[Arrival]) -> None:
        pending.discard(arrival)
        self._discard(arrival)
        arrival.ended(arrival.unread, error)

    def _fetch(self, arrival: Arrival, pending: set[Arrival]) -> None:
        pending.discard(arrival)
        self._fetches.begin(arrival)
        arrival.context.fetchers.submit(Task(partial(self._fetched, arrival), partial(self._return, arrival)))

    def _mark_read(self, arrival: Arrival, row: MessageRow, pending: set[Arrival]) -> None:
        pending.discard(arrival)
        placed = replace(arrival, unread=replace(arrival.unread, row=row))
        mark = Task(partial(mark_read, placed), None)  # else an older journal would have it placed again
        arrival.context.fetchers.submit(mark)

    def _fetched(self, arrival: Arrival) -> None:
        """Fetch a message. Called in a fetcher's thread."""
        fetched, error, unread = None, None, arrival.unread
        try:
            if not self._is_silent and arrival.context.breaker.allows():
                arrival.ask(arrival.context.now())
                fetched = fetch(arrival.context, self.folder, unread.message, unread.row, self._leftovers, later=True)
        except (AccessPointError, NotTaken, DocumentError, OSError) as failure:
            error = failure
            self._is_silent |= isinstance(failure, TimeoutError)
        finally:
            arrival.note_fetched(fetched)
            self._return(arrival, error)

    def _return(self, arrival: Arrival, error: Exception | None = None) -> None:
        """Take back a message from a fetcher, or one that no fetcher has begun with. Thread-safe."""
        if arrival.fetched is None:
            arrival.ended(arrival.unread, error)
        if self._fetches.take_back(arrival):
            self._workers.wake()

    def _is_available(self, arrivals: Iterable[Arrival]) -> bool:
        folder, named = self.folder, lambda: self._journal.messages.drafts(str(self.folder.path))
        try:
            folder.take_up(self._journal)
            folder.trial.look(self._log)
            _clear_drafts(folder, arrivals, named)
            self._clear_leftovers()
            _see_space(folder, self._min_free)
        except (FolderUnavailable, OSError) as error:
            if self.trouble != str(error):
                self._log.error("folder.unavailable", why=str(error))
            self.trouble = str(error)
            return False
        self.trouble, self._is_silent = "", False
        return True

    def _discard(self, arrival: Arrival) -> None:
        """Remove a fetched file that no row names; if it can't be removed now, before the next fetch."""
        if arrival.fetched:  # its row may name another, which was removed before this fetch
            rows = arrival.unread.row, *(fetched.row for fetched in self._unnamed.values())
            if not any(row and row.temporary == arrival.fetched.row.temporary for row in rows):
                self._leftovers.update(arrival.fetched.temporaries())
                self._clear_leftovers()

    def _clear_leftovers(self) -> None:
        for name in self._leftovers.copy():  # of fetches that failed while the share was away
            with suppress(OSError):
                (self.folder.at() / name).unlink(missing_ok=True)
                self._leftovers.discard(name)


def _fetched_before(
    folder: InboundFolder, unnamed: dict[tuple[str, int], Fetched], leftovers: set[str], arrival: Arrival
) -> Fetched | None:
    """What is left of a message from a step that could not name it in the journal; None: fetch it."""
    message, row = arrival.unread.message, arrival.unread.row
    key = arrival.context.access_point.identity, message.msg_no
    fetched = unnamed.get(key)
    if fetched is None:
        return None
    # Another message has this number where the server was set up anew since.
    if is_same(message, fetched.row) and not files.is_missing(folder.at() / fetched.row.temporary):
        return fetched._replace(row=replace(fetched.row, revision=row.revision if row else 0))
    leftovers.update(unnamed.pop(key).temporaries())
    return None


def _clear_drafts(folder: InboundFolder, arrivals: Iterable[Arrival], named: Callable[[], frozenset[str]]) -> None:
    """Remove, once for each account, what a process that was killed has left. Raises OSError."""
    contexts = (arrival.context for arrival in arrivals)
    owners = {context.access_point.identity: context.other_identities for context in contexts}
    for account, others in (owners | dict([folder.owner] if folder.owner else ())).items():
        folder.clear_drafts_once(account, others, named)


def _see_space(folder: InboundFolder, least: int) -> None:
    """Raise FolderUnavailable where the folder's disk has less space left than `inbound.min_free`, in bytes."""
    free = free_space(folder.path)
    if free is not None and free < least:
        raise FolderUnavailable(
            f"the disk of {folder.path} has less than {size(least)} left (inbound.min_free): make room"
        )


def _see_whole(here: Directory, fetched: Fetched, refused: Mapping[str, OSError]) -> None:
    """Check that a document may be named: its temporary file is still in the folder that is here now, and on the disk.

    `refused`: the errors of those that the disk didn't take.
    """
    if fetched.whereabouts != here.whereabouts():
        raise FolderUnavailable(f"{here.path} was unavailable while messages were fetched into it, and is back")
    check_there(here / fetched.row.temporary)
    if fetched.row.temporary in refused:
        raise refused[fetched.row.temporary]


def _key(row: MessageRow) -> tuple[str, int]:
    return row.identity, row.msg_no


def _fetched_by_number(arrivals: Sequence[Arrival]) -> dict[int, Fetched]:
    return {arrival.unread.message.msg_no: arrival.fetched for arrival in arrivals if arrival.fetched}
