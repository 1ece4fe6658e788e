"""The way out: claim what is ready, and take each document one step.

A sweep of an outbound folder looks at what was dropped and gives out jobs: one for each file that may be ready, one for
each document that is due. What it finds on the disk and in the journal is all that it needs to know; where the two
differ, after a crash or because a person moved a file, it mends the difference (`reconcile`).
"""

from __future__ import annotations

import contextlib
import math
import sys
from functools import partial
from typing import TYPE_CHECKING

from filedrop.claiming import Claiming
from filedrop.disk import file_system
from filedrop.document import State
from filedrop.errors import Changed, DocumentError, FolderUnavailable
from filedrop.files import InUse
from filedrop.putaway import FileGone, Moved, put_away
from filedrop.reconcile import Reconciling
from filedrop.sending import Changing, Opened, Upload, send, unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from filedrop.desk import Desk
    from filedrop.document import Document
    from filedrop.folders import OutboundFolder
    from filedrop.lane import Lane

    Give = Callable[[OutboundFolder, Callable[[], None]], None]

STEPS_AT_ONCE = 200  # documents of one folder that are given out in one sweep: bounds the memory, not the work


class WayOut:
    """The way out of one account's companies. Its methods may be called from several threads.

    `give` has a job done by another thread; `ready` says whether documents may be posted now.
    """

    def __init__(self, desk: Desk, give: Give, ready: Callable[[], bool]) -> None:
        self._desk = desk
        self._ready = ready
        self._give = give
        self.moved = Moved(desk)
        self._claiming = Claiming(desk)
        self._reconciling = Reconciling(desk, self._claiming)

    def sweep(self, lane: Lane) -> None:
        """Look at an outbound folder and give out what is to be done there. Raises JournalError."""
        desk, folder = self._desk, lane.folder
        rescan = desk.rules.rescan.total_seconds()
        lane.not_before = desk.steady() + rescan  # unless this sweep comes to its end
        if desk.journal.trouble:
            desk.journal.see_writable()  # what can't be recorded isn't claimed either
        try:
            folder.take_up(desk.journal)
            if lane.trouble:
                lane.next_full = desk.steady()  # whatever may have happened there meanwhile
            with folder.busy():
                if desk.steady() >= lane.next_full:
                    lane.local = sys.platform == "linux" and not file_system(folder.path).network
                    lane.next_full = desk.steady() + rescan  # before: what fails below isn't tried without a pause
                    self._reconcile(lane)
                closed = lane.closed.copy()  # before the listing: what comes after it, it needn't show
                names = self._list(folder)
        except FolderUnavailable as error:
            if lane.trouble != str(error):
                lane.trouble = str(error)
                desk.log.warning(
                    "folder.unavailable", company=folder.company, folder=str(folder.path), why=lane.trouble
                )
            lane.next_full = desk.steady() + rescan
            return
        if lane.trouble:
            desk.log.info("folder.back", company=folder.company, folder=str(folder.path))
            lane.trouble = ""
        lane.forget_all_but(names, closed)
        lane.see_refused()
        for name in lane.take_ready(names, desk.steady()):
            self._hand_out(lane, partial(self._claim, lane, name))
        self._give_steps(lane)
        lane.not_before = -math.inf

    def _list(self, folder: OutboundFolder) -> list[str]:
        try:
            return folder.dropped()
        except OSError as error:
            why = f"{folder.path} can't be listed: {error.strerror or error}; see that the service may read it"
            raise FolderUnavailable(why) from error

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
        """Have something done in a folder. What the disk refuses is told once, and each sweep has it tried again."""

        def work() -> None:
            try:
                job()
            except OSError as error:
                why = f"files can't be moved or written here: {error.strerror or error}"
                if lane.refuses(why):
                    self._desk.log.error("folder.refuses", company=company, folder=str(lane.folder.path), why=why)  # noqa: TRY400 - said
            finally:
                lane.jobs.discard(work)

        company = lane.folder.company
        lane.jobs.add(work)
        self._give(lane.folder, work)

    def close(self, lanes: Iterable[Lane]) -> None:
        """The last word: an older copy of the journal that is put back now will be known by the folders' markers."""
        self.moved.settle_all()
        self._reconciling.mark_all(lanes)

    def _give_steps(self, lane: Lane) -> None:
        """Give out the documents that are due; what only waits to be posted, not while nothing can be."""
        desk = self._desk
        sends = self._ready() and not lane.folder.held()
        now, longest = desk.now() if sends else None, desk.rules.retry.longest
        due = desk.journal.steps_due(lane.folder.id, now, longest=longest, limit=STEPS_AT_ONCE)
        for document in due:
            if document.id in lane.missed and lane.folder.came_back(document):
                continue  # the claim of that file takes it in hand
            if desk.in_hand.take(document.id):
                self._hand_out(lane, partial(self._step, lane, document))
        if len(due) == STEPS_AT_ONCE:
            lane.next_step = desk.steady() + 1.0
        elif sends and (moment := desk.journal.next_due(lane.folder.id)) is not None:
            lane.next_step = desk.steady() + max(1.0, (moment - desk.now()).total_seconds())
        else:
            lane.next_step = math.inf

    def _claim(self, lane: Lane, name: str) -> None:
        was_closed, claimed = name in lane.closed, None
        try:
            with lane.folder.busy():
                claimed = self._claiming.claim(lane, name)
            if claimed is None:
                return
            with contextlib.closing(claimed.opened) if claimed.opened else contextlib.nullcontext():
                self._go_on(lane, claimed.document, claimed.opened)
        finally:
            lane.done_with(name)
            if name in lane.closed and (claimed or not was_closed):
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
                with folder.busy():
                    self._put_away(lane, document, resumed=True)
            else:
                self._resend(lane, document)
        except BaseException:
            desk.in_hand.give_back([document.id])
            raise

    def _resend(self, lane: Lane, document: Document) -> None:
        desk, folder = self._desk, lane.folder
        if folder.held() or not self._ready():
            desk.in_hand.give_back([document.id])
            return
        path = folder.path / "sending" / document.file
        try:
            with folder.busy():
                opened = Opened.open(path)
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
                self._go_on(lane, document, opened)
                return
        self._put_back(lane, document)

    def _reads_as(self, lane: Lane, document: Document, opened: Opened) -> bool:
        try:
            with lane.folder.busy():
                return opened.read(self._desk.rules.max_size).sha256 == document.sha256
        except (Changing, DocumentError):
            return False

    def _go_on(self, lane: Lane, document: Document, opened: Opened | None) -> None:
        """Take a document that is in hand as far as it goes now: post it, and put it where its state belongs."""
        desk, folder = self._desk, lane.folder
        resumed = document.state is not State.WAITING  # one that has come back may have a sidecar at home already
        try:
            if document.state is State.WAITING and opened and opened.reading and self._ready() and not folder.held():
                posted = send(desk, document, Upload(folder, opened, opened.reading))
                if posted is None:
                    self._put_back(lane, desk.journal.document(document.id) or document)
                    return
                document = posted
            elif document.revision == 0:
                document = desk.journal.record(document)
                if document.state is State.WAITING and self._ready():
                    lane.look_now()  # it became ready while we were claiming
        except Changed:
            desk.in_hand.give_back([document.id])
            return
        except BaseException:
            desk.in_hand.give_back([document.id])
            raise
        if document.home == document.place:
            desk.in_hand.give_back([document.id])
            return
        with folder.busy():
            self._put_away(lane, document, resumed=resumed)

    def _put_away(self, lane: Lane, document: Document, *, resumed: bool = False) -> None:
        """Put a document away that is in hand; it is given back when disk and journal know its new place."""
        desk = self._desk
        try:
            spoken_for = partial(desk.journal.speaks_of, document.folder)
            after = put_away(lane.folder, document, is_spoken_for=spoken_for, resumed=resumed)
        except FileGone:
            try:
                self._miss(lane, document)
            finally:
                desk.in_hand.give_back([document.id])
            return
        except InUse as error:  # each sweep tries again; told once, because a missing right looks the same
            desk.in_hand.give_back([document.id])
            if not resumed:
                desk.log.info("document.in_use", company=document.company, file=document.file, why=error.strerror)
            return
        except BaseException:
            desk.in_hand.give_back([document.id])
            raise
        lane.missed.pop(document.id, None)
        facts = {"company": document.company, "file": after.file}
        if document.state is State.FAILED and document.error:
            desk.log.warning("document.failed", **facts, code=document.error.code, why=document.error.message)
        else:
            desk.log.info("document.put_away", **facts, state=document.state.value, msg_no=document.msg_no)
        self.moved.add(lane.folder, document, after)

    def _miss(self, lane: Lane, document: Document) -> None:
        """The file isn't there: once, a person may be moving it, or the share be away; twice, it was taken."""
        desk = self._desk
        lane.folder.take_up(desk.journal)
        first = lane.missed.setdefault(document.id, desk.steady())
        if lane.folder.came_back(document) or desk.steady() - first < desk.rules.rescan.total_seconds():
            return
        del lane.missed[document.id]
        desk.log.warning("document.taken", company=document.company, file=document.file, state=document.state.value)
        desk.journal.record(document.gone(desk.now()))

    def _put_back(self, lane: Lane, document: Document) -> None:
        """The bytes changed after the claim: back to `outbound/`, where readiness begins again (contract 1)."""
        desk, folder = self._desk, lane.folder
        with folder.busy():
            self._claiming.put_back(folder, document.file, document.dropped_as)
        desk.journal.record(document.taken(desk.now()))
        desk.in_hand.give_back([document.id])
        desk.log.info("document.changed", company=folder.company, file=document.file)
        lane.look_now()

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
            self._put_away(lane, document)
