"""The way out: claim what is ready, and take each document one step.

A sweep of an outbound folder looks at what was dropped and gives out jobs: some that claim what may be ready, one for
each document that is due. What it finds on the disk and in the journal is all that it needs to know; where the two
differ, after a crash or because a person moved a file, it mends the difference (`reconcile`).
"""

from __future__ import annotations

import contextlib
import math
from functools import partial
from typing import TYPE_CHECKING

from filedrop.claiming import Claimed, Claiming
from filedrop.disk import is_local
from filedrop.document import Document, State
from filedrop.errors import DocumentError, FolderUnavailable
from filedrop.putaway import lies_at
from filedrop.reconcile import Reconciling
from filedrop.sending import unreadable
from filedrop.upload import Changing, close

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from filedrop.desk import Desk
    from filedrop.folders import OutboundFolder
    from filedrop.lane import Lane
    from filedrop.onward import Onward
    from filedrop.upload import Opened

    Give = Callable[[OutboundFolder, Callable[[], None]], None]

STEPS_AT_ONCE = 200  # documents of one folder that are given out in one sweep: bounds the memory, not the work


class WayOut:
    """The way out of one account's companies. Its methods may be called from several threads.

    `give` has a job done by another thread; `waiting` says how many dropped files wait for one.
    """

    def __init__(self, desk: Desk, onward: Onward, give: Give, waiting: Callable[[], int]) -> None:
        self._desk = desk
        self._waiting = waiting
        self._give = give
        self._onward = onward
        self._claiming = Claiming(desk)
        self._reconciling = Reconciling(desk, self._claiming)

    def sweep(self, lane: Lane) -> None:
        """Look at an outbound folder and give out what is to be done there. Raises JournalError."""
        desk, folder = self._desk, lane.folder
        lane.not_before = self._in_a_rescan()  # unless this sweep comes to its end
        if desk.journal.trouble:
            desk.journal.see_writable()  # what can't be recorded isn't claimed either
        try:
            folder.take_up(desk.journal)
            if lane.trouble and lane.comparing:
                return  # never two at once, and nothing is to be done before the next
            if lane.trouble:
                lane.next_full = desk.steady()  # whatever may have happened there meanwhile
            with folder.busy():
                if desk.steady() >= lane.next_full:
                    self._sweep_fully(lane)
                self._look_through(lane)
        except FolderUnavailable as error:
            if lane.trouble != str(error):
                lane.trouble = str(error)
                desk.log.warning(
                    "folder.unavailable", company=folder.company, folder=str(folder.path), why=lane.trouble
                )
            lane.next_full = self._in_a_rescan()
            return
        if lane.trouble:
            desk.log.info("folder.back", company=folder.company, folder=str(folder.path))
            lane.trouble = ""
        lane.see_refused()
        self._give_claims(lane)
        self._give_steps(lane)
        lane.not_before = -math.inf

    def _look_through(self, lane: Lane) -> None:
        try:
            lane.take_ready(lane.folder.dropped(), self._desk.steady())
        except OSError as error:
            why = f"{lane.folder.path} can't be listed: {error.strerror or error}; see that the service may read it"
            raise FolderUnavailable(why) from error

    def _sweep_fully(self, lane: Lane) -> None:
        """Have the folder compared with the journal: before anything else where it must be, else beside the sweeps."""
        lane.folder.local = is_local(lane.folder.path)
        if not lane.comparing:
            if self._reconciling.comes_first(lane) or lane.trouble:
                self._reconcile(lane)
            else:
                lane.comparing = True
                self._give(lane.folder, partial(self._compare, lane))
        lane.next_full = self._in_a_rescan()  # last: where the journal fails, nothing else is done before it was

    def _compare(self, lane: Lane) -> None:
        """Reconcile while sweeps go on: where very much lies in `sent/`, what is dropped needn't wait for that."""
        try:
            with contextlib.suppress(FolderUnavailable), lane.folder.busy():  # the next sweep says so
                lane.folder.take_up(self._desk.journal)
                lane.next_full = self._in_a_rescan()  # it has waited for a thread: the next follows no sooner
                self._reconcile(lane)
        finally:
            lane.comparing = False

    def _in_a_rescan(self) -> float:
        return self._desk.steady() + self._desk.rules.rescan.total_seconds()

    def _reconcile(self, lane: Lane) -> None:
        try:
            self._reconciling.reconcile(lane)
        except OSError as error:  # one thing that lies there wrongly must not keep the others from being sent
            why = f"{error.filename or lane.folder.path} can't be used: {error.strerror or error}"
            if lane.unreconciled != why:
                self._desk.log.error("folder.not_reconciled", folder=str(lane.folder.path), why=why)  # noqa: TRY400 - said
            lane.unreconciled = why
        else:
            lane.unreconciled = ""

    def _hand_out(self, lane: Lane, job: Callable[[], None]) -> None:
        """Have something done in a folder; each sweep has it tried again, if it is still to be done."""

        def work() -> None:
            try:
                with self._onward.refusals(lane):
                    job()
            finally:
                lane.jobs.discard(work)

        lane.jobs.add(work)
        self._give(lane.folder, work)

    def close(self, lanes: Iterable[Lane]) -> None:
        """The last word: an older copy of the journal that is put back now will be known by the folders' markers."""
        self._onward.moved.settle_all()
        self._reconciling.mark_all(lanes)

    def _give_steps(self, lane: Lane) -> None:
        """Give out the documents that are due; what only waits to be posted, not while nothing can be."""
        desk = self._desk
        sends = self._onward.may_post(lane)
        now, longest = desk.now() if sends else None, desk.rules.retry.longest
        due = desk.journal.steps_due(lane.folder.id, now, longest=longest, limit=STEPS_AT_ONCE)
        for document in due:
            if document.id in lane.missed and self._is_for_others(lane, document):
                continue
            if desk.in_hand.take(document.id):
                self._hand_out(lane, partial(self._step, lane, document))
        if len(due) == STEPS_AT_ONCE:
            lane.next_step = desk.steady() + 1.0
        elif sends and (moment := desk.journal.next_due(lane.folder.id)) is not None:
            lane.next_step = desk.steady() + max(1.0, (moment - desk.now()).total_seconds())
        else:
            lane.next_step = math.inf

    def _is_for_others(self, lane: Lane, document: Document) -> bool:
        """Whose file was missing: does whoever compares see to it, or the claim of the file, where that came back?"""
        with lane.folder.busy():
            if lies_at(lane.folder, document):
                return False
        return (lane.comparing and document.home == document.place) or lane.folder.came_back(document)

    def _give_claims(self, lane: Lane) -> None:
        """Have claimed what is ready; each job gives out the next while there is more."""
        together = self._onward.together(self._waiting())
        while lane.takes_one_more(self._desk.rules.workers, together):
            self._hand_out(lane, partial(self._claim, lane))

    def _claim(self, lane: Lane) -> None:
        """Claim the next files that may be ready, and take the documents that they become as far as they go now."""
        names = lane.next_ready(self._onward.together(self._waiting()))
        closed, claimed = lane.closed & set(names), dict[str, Claimed]()
        files: dict[str, Opened | OSError] = {}
        try:
            try:
                with lane.folder.busy():
                    files = self._claiming.open(lane, names)
                with self._desk.turns.one(len(names)):
                    for name in names:
                        with self._onward.refusals(lane), lane.folder.busy():
                            one = self._claiming.claim(lane, name, files[name])
                            if one is not None:
                                claimed[name] = one
                            else:
                                close(files.pop(name))
            finally:  # whatever came of the last of them
                self._onward.go(lane, list(claimed.values()))
        finally:
            self._give_claims(lane)
            for file in files.values():
                close(file)
            for name in names:
                lane.done_with(name)
                if name in lane.closed and (name in claimed or name not in closed):
                    lane.look_now(name)  # closed or moved in meanwhile: the sweep that was to look at it left it to us

    def _step(self, lane: Lane, document: Document) -> None:
        """One step of a document that lies in `sending/` and is in this thread's hand."""
        desk, folder = self._desk, lane.folder
        try:
            if document.state is State.SENDING:
                # Nobody has it in hand: a crash came between the request and its answer.
                desk.journal.record(document.doubted(desk.now(), "filedrop was stopped before the answer came"))
                desk.in_hand.give_back([document.id])
            elif document.state is not State.WAITING:
                if desk.journal.document(document.id) != document:  # put away between our reading and our taking it
                    desk.in_hand.give_back([document.id])
                    return
                with folder.busy():
                    self._onward.put_away(lane, document, resumed=True)
            else:
                self._resend(lane, document)
        except BaseException:
            desk.in_hand.give_back([document.id])
            raise

    def _resend(self, lane: Lane, document: Document) -> None:
        desk, folder = self._desk, lane.folder
        if not self._onward.may_post(lane):
            desk.in_hand.give_back([document.id])
            return
        path = folder.path / "sending" / document.file
        try:
            with folder.busy():
                opened = desk.porter.open(path, local=lane.folder.local)
        except FileNotFoundError:  # taken by a person: reconcile notices, or the claim of the file that came back
            lane.missed.setdefault(document.id, desk.steady())
            desk.in_hand.give_back([document.id])
            return
        except OSError as error:
            fault = unreadable(path, error)
            desk.log.warning("document.unreadable", company=folder.company, file=document.file, why=fault.message)
            desk.journal.record(document.later(desk.now() + desk.rules.retry.longest))
            desk.in_hand.give_back([document.id])
            return
        with contextlib.closing(opened):
            if self._reads_as(lane, document, opened):
                self._onward.go(lane, [Claimed(document, opened)])
                return
        self._onward.put_back(lane, document)

    def _reads_as(self, lane: Lane, document: Document, opened: Opened) -> bool:
        try:
            with lane.folder.busy():
                return opened.read(self._desk.rules.max_size).sha256 == document.sha256
        except (Changing, DocumentError):
            return False

    def concluded(self, lanes: Mapping[str, Lane], documents: list[Document]) -> None:
        """Put away what doubt or tracking brought to an end; `lanes` by folder id."""
        for document in documents:
            lane = lanes.get(document.folder)
            if lane and document.home != document.place and self._desk.in_hand.take(document.id):
                self._hand_out(lane, partial(self._put_away_in, lane, document))
            elif lane:
                lane.look_now()

    def _put_away_in(self, lane: Lane, document: Document) -> None:
        with lane.folder.busy():
            self._onward.put_away(lane, document)
