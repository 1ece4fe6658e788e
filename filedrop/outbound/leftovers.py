"""Documents that already lie in `sending/` are continued: left by a crash or an outage, or decided by a person."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from filedrop.errors import DocumentError
from filedrop.files.rights import explain
from filedrop.model.document import A_PERSON_SAYS, Document, Need, State
from filedrop.outbound.filing import put_back
from filedrop.outbound.handover import Claim
from filedrop.outbound.identified import identified_now, keeps_ids
from filedrop.outbound.preparing import has_other_pdf, keep_copy
from filedrop.outbound.sender import NO_TURN, STOPPED, log_doubt
from filedrop.outbound.upload import Changing, OpenedDocument
from filedrop.outbound.waiting import log_need
from filedrop.pauses import LONGEST_ASKED

if TYPE_CHECKING:
    from filedrop.outbound.desk import Desk
    from filedrop.outbound.reconcile import Reconciliation

AFTER_AN_ERROR = 60.0  # seconds until it is tried again
READ_AT_ONCE = 200  # documents read from the journal in one step: bounds the memory


class Leftovers:
    """Continues the documents in one folder's `sending/`.

    `next`: when the next of them are due, by the steady clock. `has_more`: some are due that found no room.
    """

    def __init__(self, desk: Desk, reconciliation: Reconciliation) -> None:
        self.next = math.inf
        self.has_more = False
        self._desk = desk
        self._reconciliation = reconciliation
        self._shared = desk.shared
        self._moves = desk.moves
        self._logged: set[tuple[str, int]] = set()

    def continue_due(self, *, sends: bool) -> None:
        """Continue what a crash, an outage or a hindrance has left, and what a person has decided."""
        desk, shared, room = self._desk, self._shared, self._desk.handover.room if sends else 0
        now = shared.now() if room > 0 else None
        longest = max(shared.retry.longest, LONGEST_ASKED, shared.rules.unreachable_after)
        due = shared.journal.documents.steps_due(desk.folder.id, now, longest=longest, limit=READ_AT_ONCE)
        documents = [document for document in due if not desk.handover.has(document.id)]
        documents.sort(key=lambda document: document.claimed)  # in the order of the drops, as far as known
        self.next, self.has_more = shared.steady() + AFTER_AN_ERROR, False  # else reset below
        reopened: list[Claim] = []
        has_more = sends and room == 0  # not known: waiting documents weren't read
        try:
            for document in documents:
                if document.state is State.WAITING and len(reopened) >= room:
                    has_more = sends
                    continue
                if self._moves.is_missing(document.id) and self._reconciliation.handles(document):
                    continue
                with desk.health.tolerant():
                    claim = self._continue_document(document)
                    if claim is not None:
                        reopened.append(claim)
        finally:
            has_more |= not desk.handover.take_on(reopened, sends=sends)
        if len(due) < READ_AT_ONCE:
            self._moves.end_resuming()
        self.has_more = has_more
        moment = shared.journal.documents.next_due(desk.folder.id) if sends and not has_more else None
        self.next = math.inf
        if len(due) >= READ_AT_ONCE:
            self.next = shared.steady() + 1.0
        elif moment is not None:
            self.next = shared.steady() + max(1.0, (moment - shared.now()).total_seconds())

    def _continue_document(self, document: Document) -> Claim | None:
        """Continue one document. Returns it if it is to be posted."""
        shared = self._shared
        self._desk.handover.forget_put_off([document.id])
        if document.state is State.SENDING:  # no sender has it: an error came before that, or a crash before its answer
            if self._desk.handover.was_never_posted(document):
                shared.journal.documents.record(document.never_arrived(shared.now(), NO_TURN))
            else:
                shared.journal.documents.record(log_doubt(shared, document.doubted(shared.now(), STOPPED)))
            return None
        self._log_resolved(document)
        if document.state is State.WAITING:
            return self._reopened(document)
        self._moves.put_away([document], left=True)
        return None

    def _log_resolved(self, document: Document) -> None:
        """Log once that a person has ended a doubt: the command is another process and can't use our log."""
        key, last = (document.id, document.revision), document.history[-1].event if document.history else ""
        if document.unclear and last.endswith(A_PERSON_SAYS) and key not in self._logged:
            self._logged.add(key)
            self._shared.log.info("document.resolved", **document.log_facts, decision=last, msg_no=document.msg_no)

    def _reopened(self, document: Document) -> Claim | None:
        """A waiting document with its file opened. None if the file is missing, changed, or can't be read now."""
        desk, shared = self._desk, self._shared
        entry = desk.folder.at("sending") / document.file
        opened = claim = None
        try:
            opened = OpenedDocument.open(entry)
            xpaths = () if keeps_ids(document) else desk.identification.xpaths
            reading = opened.read(shared.rules.max_size, xpaths)
            if reading.sha256 == document.sha256 and not has_other_pdf(desk.folder, document):
                if document.needs is Need.FILE:
                    document = shared.journal.documents.record(document.needs_nothing())
                keep_copy(desk.folder, document, opened, shared.rules)
                claim = Claim(identified_now(shared, desk.identification, document, reading), opened)
        except (Changing, DocumentError):
            pass
        except FileNotFoundError:  # a person took it: handled by the comparison, or by the claim if it comes back
            self._moves.note_missing(document.id)
            return None
        except OSError as error:
            now, why = shared.now(), f"the file can't be read: {explain(error, entry)}"
            waits = document.waits_for(now, Need.FILE, why, due=now + shared.retry.longest)
            log_need(shared.log, waits, before=document)
            shared.journal.documents.record(waits)
            return None
        finally:
            if opened and claim is None:
                opened.close()
        if claim is None:
            put_back_changed(desk, document)
        return claim


def put_back_changed(desk: Desk, document: Document) -> None:
    """Move a file that changed after its claim back to `outbound/`, where readiness begins again (contract 1)."""
    shared = desk.shared
    with desk.health.tolerant():
        shared.journal.documents.record(document.taken(shared.now()))  # first: a file without a row is put back
        put_back(desk.folder, document.file, document.dropped_as)
        shared.log.info("document.changed", **document.log_facts)
    desk.scanner.wake()
