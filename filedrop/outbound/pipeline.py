"""The way out of one outbound folder: claim what is ready, hand it to the senders, put away what comes back.

A step takes a batch, of one or more documents, as far as it goes without waiting. The first step claims nothing: it
makes sure that the journal knows all that was sent from the folder. Nothing of an account is posted before each of its
folders has had that step, and a document that is claimed later is read only once. All that a step needs is on the disk
and in the journal. Letters and file events are short cuts: what is lost with them, the next scan finds. Where disk and
journal differ, after a crash or because a person moved a file, `reconcile` repairs that.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Protocol

from filedrop.errors import FolderUnavailable
from filedrop.files.rights import explain
from filedrop.model.document import State
from filedrop.outbound.answers import place_answers
from filedrop.outbound.claim import claim_files
from filedrop.outbound.desk import Desk
from filedrop.outbound.handover import Claim, Handover
from filedrop.outbound.health import FolderHealth
from filedrop.outbound.leftovers import Leftovers
from filedrop.outbound.mailbox import Mailbox
from filedrop.outbound.moves import Moves
from filedrop.outbound.reconcile import Reconciliation, mark
from filedrop.outbound.reporting import Reporter
from filedrop.outbound.responses import write_responses
from filedrop.outbound.retention import Retention
from filedrop.outbound.scanner import Scanner
from filedrop.outbound.stillness import Stillness

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from filedrop.model.report import FolderReport
    from filedrop.outbound.context import Context, Identification
    from filedrop.outbound.mailbox import Letter, Returned
    from filedrop.process.folder_worker import FolderWorkers
    from filedrop.storage.company_folders import OutboundFolder

BATCH = 32  # documents claimed in one step


class EventSource(Protocol):
    """A folder's file events."""

    def begin(self, put: Callable[[Letter], None], *, was_away: bool) -> str:
        """Begin, where they haven't begun or have ended. Returns why there are none; "" where nothing is wrong.

        `put` gets the events, from any thread. `was_away`: the folder was, so that its events have ended.
        """

    def end(self) -> None:
        """End."""


class OutboundPipeline:
    """The pipeline of one folder. `step` is for the worker in it, `close` for the end; the rest is thread-safe.

    What others have for it comes by `put`. `events` are its file events. `was_scanned`: a scan was tried since
    the start, with or without success. `is_accounted_for`: since then, the journal was found to know all that was sent
    from the folder, or the folder was found to be unavailable. `is_hindered`: nothing could be posted when the worker
    last asked; as soon as something can, a step is due.
    """

    def __init__(
        self,
        shared: Context,
        folder: OutboundFolder,
        identification: Identification,
        *,
        events: EventSource,
        workers: FolderWorkers,
    ) -> None:
        # The folder, and what all that works in it shares.
        self.folder = folder
        self._shared = shared
        self._mailbox = mailbox = Mailbox(workers)
        self._file_events = events
        self._answers = partial(workers.answers, self)
        self.health = health = FolderHealth(folder, shared.log)
        self.scanner = Scanner(folder, mailbox.events)
        self._moves = Moves(shared, folder, health)
        self._handover = Handover(shared, folder, health, self._moves, mailbox.put)
        self.desk = desk = Desk(
            shared,
            folder,
            identification,
            scanner=self.scanner,
            health=health,
            moves=self._moves,
            handover=self._handover,
        )
        # What has its own time, which `due` asks for.
        self.reconciliation = Reconciliation(desk, self._show_progress)
        self._stillness = Stillness(desk, self.reconciliation)  # whether a comparison can be put off
        self._reporter = Reporter(desk, self.reconciliation.strays)
        self._leftovers = Leftovers(desk, self.reconciliation)
        self._retention = Retention(desk)
        # What else `due` decides by: set and reset by steps.
        self.is_hindered = False
        self._is_woken = False  # documents may have become due
        self._not_before = -math.inf  # after an error
        # What is known of the folder since the start.
        self.was_scanned = self.is_accounted_for = False
        self._moved_before = 0  # moves up to the scan that last forgot refusals

    @property
    def report(self) -> FolderReport:
        """What the worker knew of the folder after its last step."""
        return self._reporter.report

    def put(self, letter: Letter) -> None:
        """Leave a letter for the worker in the folder. Thread-safe."""
        self._mailbox.put(letter)

    def due(self) -> float:
        """When the next step is due, by the steady clock. The first row that holds decides; 3 and 4 wait after errors.

        1. at once: documents have come back, or something can be posted that couldn't be
        2. never: the account was stopped
        3. at once: documents may wait to be sent or may be claimed, or a comparison has begun
        4. at the next scan, comparison, try of what waits in `sending/`, clearing of the archive, or report
        """
        if self._has_mail():
            return -math.inf
        if self._shared.stopped.is_set():
            return math.inf
        if self._is_woken or self._may_claim() or self.reconciliation.is_under_way:
            return self._not_before
        others = (self.reconciliation.next, self._leftovers.next, self._retention.next, self._reporter.next)
        return max(self._not_before, min(self.scanner.due(), *others))

    def step(self) -> None:
        """Take the folder's documents one batch further. Raises JournalError."""
        has_news, moved, journal = False, self._moves.total, self._shared.journal
        try:
            with self.folder.in_use():
                if not self.health.trouble and (why := self.folder.branching.look(journal, self._shared.steady())):
                    self.health.report_unavailable(why)  # what comes back stays where it is
                has_news = self._read_mail()
                if self.due() <= self._shared.steady():
                    self._step_on()
        except FolderUnavailable as error:  # as `look` finds it, but just before a post
            self.health.report_unavailable(str(error))
        except BaseException:
            self.is_hindered |= not self._shared.account.ready()
            raise
        finally:
            self._reporter.renew()
        has_news = (has_news or self._moves.total > moved) and self._handover.is_idle()
        self._shared.account.end_step(has_news=has_news)

    def _step_on(self) -> None:
        if self._shared.steady() >= self.reconciliation.next and self._stillness.holds():
            self.reconciliation.put_off()
            self.scanner.note_unchanged(self._shared.steady())
            return
        # After an error; else reset below.
        self._not_before = self._shared.steady() + self._shared.rules.rescan.total_seconds()
        is_known = False
        try:
            is_available = self._take_up_folder()
            is_known = self.folder.branching.rest == 0.0
            if is_available:
                self._go_further()
                if not self.reconciliation.is_under_way:
                    self._stillness.note()
                self._not_before = -math.inf
            elif not is_known:
                self._not_before = self._shared.steady() + self.folder.branching.rest
        except BaseException:
            self.reconciliation.give_up()  # what was just claimed may have no row: the next step looks for that
            raise
        finally:
            self.was_scanned = True
            self.is_accounted_for |= is_known  # last: what was left in `sending/` is in doubt by now
            self._moves.flush()

    def close(self) -> None:
        """Take the last step: the marker gets the journal's count, which will show if an older copy is put back."""
        try:
            with self.folder.in_use():
                self._read_mail()
                if self.folder.id and not self.health.trouble:
                    mark(self.desk)
        finally:
            self._file_events.end()
            self._reporter.renew()

    def has_all_back(self) -> bool:
        """Whether no other thread has a document of this folder, and none waits to be put away."""
        return self._handover.is_idle() and not self._mailbox.has_documents()

    def has_claimed(self) -> bool:
        """Whether all that was dropped is claimed, as far as it can be; what waits for its writer isn't."""
        is_through = not (self.scanner.ready or self.scanner.waits_for_writers())
        return self.was_scanned and (is_through or bool(self.health.trouble))

    def is_done(self) -> bool:
        """Whether all that can be done now is done.

        A file that waits for its writer isn't done; a held document is, and one that is put off.
        """
        steady = self._shared.steady()
        if not (self.was_scanned and self.has_all_back()) or self._has_mail():
            return False
        if self.health.trouble:
            return True
        if self.due() <= steady or self._reporter.is_stale or self.scanner.ready or self.scanner.waits_for_writers():
            return False
        counts = self._shared.journal.documents.counts(self.folder.id)
        if not self.is_accounted_for or counts.get(State.SENDING):
            return False
        waits = len(self._handover.put_off) + self._shared.journal.documents.needy(self.folder.id, self._shared.now())
        try:
            return counts.get(State.WAITING, 0) <= waits or bool(self.folder.held_by(steady))
        except OSError:  # the share is away, or fails: the next scan reports it
            return True

    def _has_mail(self) -> bool:
        return self._mailbox.has_documents() or self._handover.may_post_passed() or self._may_go_on()

    def _may_go_on(self) -> bool:
        return self.is_hindered and self._shared.account.ready()

    def _may_claim(self) -> bool:
        """Whether something is to be claimed or sent again, and there is room for half a window.

        Any room is enough for a folder that has nothing under way, and while nothing can be sent.
        """
        if not (self.scanner.ready or self._leftovers.has_more):
            return False
        room, half = self._handover.room, self._shared.window.size // 2
        return room > 0 and (room >= half or self._handover.is_idle() or not self._shared.account.ready())

    def _show_progress(self) -> None:
        self._answers()
        self._reporter.renew()

    def _take_up_folder(self) -> bool:
        """Take up the folder, compare and scan it as far as due. False if it is unavailable; a change is logged."""
        health, shared = self.health, self._shared
        if shared.journal.trouble:
            shared.journal.check_writable()  # before anything is claimed
        try:
            self.folder.take_up(shared.journal)
            if shared.steady() >= self.reconciliation.next:
                if not self.reconciliation.is_under_way:
                    self._stillness.begin()
                self.scanner.wake()
            self.reconciliation.step(comes_first=bool(health.trouble), only_rows=not self.is_accounted_for)
            if self.scanner.due() <= shared.steady():
                self._scan()
        except FolderUnavailable as error:
            self.reconciliation.give_up()  # it begins anew when the folder is back
            health.report_unavailable(str(error))
            return False
        health.report_available()
        return True

    def _scan(self) -> None:
        has_moved = self._moves.total > self._moved_before
        if has_moved or self._handover.is_idle():  # else the disk was asked for nothing since
            self.health.forget_refusals()
            self._moved_before = self._moves.total
        try:
            self.scanner.scan(self.folder.dropped(self._shared.steady()), self._shared.steady())
        except OSError as error:
            path = self.folder.path
            raise FolderUnavailable(f"{path} can't be listed: {explain(error, path)}") from error
        self._is_woken = True
        self._aside("responses of receivers", partial(write_responses, self.desk))
        self._aside("file events", self._watch)

    def _watch(self) -> None:
        self.health.report_unwatched(self._file_events.begin(self.put, was_away=bool(self.health.trouble)))

    def _aside(self, what: str, job: Callable[[], object]) -> None:
        """Do what must not keep documents from being sent, whatever happens in it."""
        self._shared.guard.make(f"{self.folder.path}: {what}", job, None)

    def _go_further(self) -> None:
        is_woken, self._is_woken = self._is_woken, False
        sends = self._may_send()
        if is_woken:  # by a scan, or by a document that waits again: it may be an answer that a later one replaces
            self._aside("answers by moving", partial(place_answers, self.desk))
        if is_woken or self._leftovers.has_more or self._leftovers.next <= self._shared.steady():
            self._aside("documents that wait in sending/", partial(self._leftovers.continue_due, sends=sends))
        if not self.is_accounted_for:  # the first steps of the other folders come first
            return
        self._claim(sends=sends)
        if self._retention.next <= self._shared.steady():
            self._aside("keep.archive", self._retention.step)

    def _may_send(self) -> bool:
        try:
            is_ready = self._shared.account.ready()
            self.is_hindered |= not is_ready
            return is_ready and not self.folder.held_by(self._shared.steady())
        except OSError as error:
            self.health.report_refusal(error)
            return False

    def _claim(self, *, sends: bool) -> None:
        """Claim the next files that may be ready; no more than there is room for if they are to be sent."""
        claims: list[Claim] = []
        try:
            if names := self.scanner.next_ready(min(BATCH, self._handover.room) if sends else BATCH):
                self._answers()
            for claim in claim_files(self.desk, names):
                claims.append(claim)  # also those before one that fails
                self._answers()  # a batch of large files takes long on a slow share
        finally:
            self._is_woken |= not self._handover.take_on(claims, sends=sends)
        waived = [claim.waived for claim in claims if claim.waived]
        if waived:  # after the rows, which tell by themselves that a person has let these through
            self._shared.journal.waivers.end(self.folder.id, waived)

    def _read_mail(self) -> bool:
        """Put away what has come back, and post what was validated. Returns whether there was any."""
        mailbox = self._mailbox
        if self._may_go_on():
            self.is_hindered = False
            self._is_woken, self._not_before = True, -math.inf  # after an error, too
        has_news = mailbox.has_documents() or self._handover.may_post_passed()
        while batch := mailbox.pop_returned(BATCH):
            self._put_away(batch)
        if mailbox.has_documents() or self._handover.may_post_passed():
            sends = not self.health.trouble and self._may_send()
            # Where none has a verdict, they may break off again at once: the next scan tries.
            validated = mailbox.pop_validated()
            self.is_hindered |= any(letter.never_began for letter in validated)
            self._is_woken |= self._handover.go_on(validated, sends=sends)
        self._moves.flush()
        return has_news

    def _put_away(self, batch: Sequence[Returned]) -> None:
        """Put away what came back; not while the folder is away: then it is found in the journal (`steps_due`)."""
        for returned in batch:
            if returned.opened:  # before its move: some servers move no open file
                returned.opened.close()
        try:
            if not self.health.trouble:
                posted = {returned.document.id: returned.opened.stamp for returned in batch if returned.opened}
                recorded = [returned.document for returned in batch if returned.is_recorded]
                self._moves.put_away(recorded, posted=posted)
        finally:
            for returned in batch:
                self._handover.take_back(returned)
                if returned.document.state is State.WAITING:
                    self._is_woken = True
