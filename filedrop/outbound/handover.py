"""Documents are handed to the senders and come back. Those to be validated are handed to another thread first.

The order is the safety: the row "sending" is on the disk before a sender has the document, and the answer is on the
disk before the document comes back as a letter to its folder.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from filedrop.errors import Changed, FiledropError
from filedrop.journal import Duplicate, Outcome
from filedrop.model.document import Document, Need, State
from filedrop.outbound.context import Unrecorded
from filedrop.outbound.identified import is_answer, is_identified
from filedrop.outbound.mailbox import Returned, Validated
from filedrop.outbound.preparing import discard_unsent, judge, must_judge
from filedrop.outbound.sender import NO_TURN, duplicate, log_doubt, same_number, send
from filedrop.outbound.validating import Judgement
from filedrop.process.pool import Task

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from filedrop.journal.engine import Connection
    from filedrop.outbound.context import Context
    from filedrop.outbound.health import FolderHealth
    from filedrop.outbound.mailbox import Letter
    from filedrop.outbound.moves import Moves
    from filedrop.outbound.upload import OpenedDocument
    from filedrop.outbound.validating import Validating
    from filedrop.storage.company_folders import OutboundFolder


_BROKE_OFF = "it was interrupted; the log shows why"  # a document's validation


@dataclass(frozen=True, slots=True, eq=False)  # it is compared with itself alone, not by all of its values
class Claim:
    """A document and its open file, read; `opened` is None where the file can't be read as a document.

    `waived`: the name in `outbound/`, if a waiver was given for it, which is to be ended.
    """

    document: Document
    opened: OpenedDocument | None
    waived: str = ""

    @property
    def can_be_posted(self) -> bool:
        """Whether it is waiting, has all its ids, and was read."""
        waits = self.document.state is State.WAITING and is_identified(self.document)
        return waits and self.opened is not None and self.opened.reading is not None

    @property
    def answers(self) -> tuple[str, str] | None:
        """What a response of the company's own software answers, and its code. filedrop's own answers are recorded."""
        reading = self.opened.reading if self.opened else None
        return reading.answers if reading and not is_answer(self.document) else None

    def as_posted(self, now: datetime) -> Document:
        """The document with what is posted in its place, if that differs."""
        copy = self.opened.copy if self.opened else None
        return self.document.posted_as(now, copy.prepared if copy else None, copy.meaning if copy else None)


class Handover:
    """Hands one folder's documents to senders and validators, and knows which of them are under way.

    Only the worker in that folder changes it. Documents come back as letters, which other threads `put`.
    """

    def __init__(
        self,
        shared: Context,
        folder: OutboundFolder,
        health: FolderHealth,
        moves: Moves,
        put: Callable[[Letter], None],
    ) -> None:
        self._passed: list[Validated] = []  # they may be posted when there is room in the window
        self._under_way: set[str] = set()  # ids of documents that others have, or that wait for room after a verdict
        self._put_off: set[str] = set()  # ids of documents that the access point didn't take, until they are due
        self._begun: dict[str, int] = {}  # ids of documents that no sender has, with the revision that says "sending"
        self._shared = shared
        self._folder = folder
        self._health = health
        self._moves = moves
        self._put = put

    @property
    def room(self) -> int:
        """How many more documents may be handed over now.

        Validation takes no room of the window, which all companies of the account share. It bounds the open files.
        """
        window = self._shared.window
        return window.room if self._shared.validating is None else window.size - len(self._under_way)

    def may_post_passed(self) -> bool:
        """Whether a document that was validated may be posted, since there is room for it now. Thread-safe."""
        return bool(self._passed and self._shared.window.room > 0)

    @property
    def put_off(self) -> frozenset[str]:
        """The ids of documents that the access point didn't take; they are tried again when they are due."""
        return frozenset(self._put_off)

    def has(self, document_id: str) -> bool:
        """Whether this document is under way. Thread-safe."""
        return document_id in self._under_way

    def was_never_posted(self, document: Document) -> bool:
        """Whether a document that is recorded as being sent certainly isn't: an error came before its hand-over."""
        return self._begun.get(document.id) == document.revision

    def is_idle(self) -> bool:
        """Whether no document is under way. Thread-safe."""
        return not self._under_way

    def forget_put_off(self, document_ids: Iterable[str]) -> None:
        """Note that these documents are tried again, or are here no longer."""
        self._put_off.difference_update(document_ids)

    def take_back(self, returned: Returned) -> None:
        """End the way of a document that has come back. What the follower returns may have been handed out since."""
        document = returned.document
        if returned.opened:
            self._under_way.discard(document.id)
            if document.state is State.WAITING and document.due:
                self._put_off.add(document.id)

    def take_on(self, claims: Sequence[Claim], *, sends: bool) -> bool:
        """Record claimed documents, and hand over those that are to be posted. Raises JournalError.

        Returns False if one that could be posted found no room: another folder may have filled the window since.
        """
        ready = [claim for claim in claims if sends and claim.can_be_posted]
        try:
            self._leave([claim for claim in claims if claim not in ready])
        finally:
            handed_over = self._set_out(ready) if ready else 0
        return handed_over == len(ready)

    def _leave(self, claims: Sequence[Claim]) -> None:
        """Record those that aren't posted now, and put away those that are finished."""
        try:
            self._record([claim.document for claim in claims if claim.document.revision == 0])
            self._moves.put_away([claim.document for claim in claims if claim.document.revision], left=True)
        finally:
            _close(claims)

    def _mark_ahead(self) -> None:
        """Write the marker that shows if an older copy of the journal, which lacks what is posted now, is put back."""
        with self._health.tolerant():
            self._folder.mark_ahead(self._shared.journal, self._shared.steady())

    def go_on(self, back: Sequence[Validated], *, sends: bool) -> bool:
        """Post validated documents, and record what keeps others from that. Returns whether one has a verdict.

        What finds no room in the window keeps its verdict, and waits for room. Raises JournalError.
        """
        passed = [letter for letter in (*self._passed, *back) if letter.judgement and letter.judgement.passes]
        others = [letter for letter in back if letter not in passed]
        self._passed = passed if sends else []
        try:
            self._record([after for letter in others if (after := self._unposted(letter)) is not None])
            if not sends:  # their verdict counts no more, but they wait for none now
                self._record([letter.document.needs_nothing() for letter in passed if letter.document.needs])
        finally:
            self._let_go(others if sends else [*others, *passed])
            self._post_passed()
        return any(letter.judgement for letter in back)

    def _unposted(self, validated: Validated) -> Document | None:
        """The document that isn't posted now, as it is to be recorded; None where filedrop is stopping."""
        if validated.judgement is not None:
            return validated.judgement.document
        if validated.never_began:
            return None
        now = self._shared.now()
        return validated.document.waits_for(now, Need.VERDICT, _BROKE_OFF, due=now + self._shared.rules.rescan)

    def _post_passed(self) -> None:
        """Post as many of those that were validated as there is room for."""
        if not self.may_post_passed():
            return
        passed, self._passed = self._passed, []
        try:
            self._mark_ahead()  # before room is taken: the folder may hang, and the room is the other folders', too
        except BaseException:
            self._let_go(passed)
            raise
        claims = list[Claim]()
        for letter in passed:
            if letter.judgement and self._shared.window.admit(letter.document.id):
                self._under_way.discard(letter.document.id)
                claims.append(Claim(letter.judgement.document, letter.opened))
            else:
                self._passed.append(letter)
        self._begin(claims)

    def _let_go(self, back: Iterable[Validated]) -> None:
        """Leave documents as they are in the journal."""
        for letter in back:
            self._under_way.discard(letter.document.id)
            letter.opened.close()

    def _set_out(self, ready: Sequence[Claim]) -> int:
        """Hand over those for which there is room, and leave the others. Returns how many were handed over."""
        is_validated = self._shared.validating is not None
        if is_validated:
            claims = list(ready[: max(0, self.room)])
        else:
            try:
                self._mark_ahead()  # before room is taken: the folder may hang
            except BaseException:
                _close(ready)
                raise
            claims = [claim for claim in ready if self._shared.window.admit(claim.document.id)]
        with contextlib.ExitStack() as each:  # the last comes first, and whichever fails, the others are done
            each.callback(self._validate if is_validated else self._begin, claims)
            each.callback(self._leave, [claim for claim in ready if claim not in claims])
        return len(claims)

    def _validate(self, claims: Sequence[Claim]) -> None:
        """Write a row for each of these that has none, in one commit, and have all validated that must be."""
        kept, documents = list(claims), self._shared.journal.documents
        try:
            new = iter(documents.record_each(claim.document for claim in claims if not claim.document.revision))
            errors: list[FiledropError] = []
            for claim in claims:
                row = claim.document if claim.document.revision else next(new)
                if isinstance(row, Document):
                    kept.remove(claim)
                    self._hand_to_validator(row, claim)
                else:
                    errors.append(row)
            self._file(errors)
        finally:
            _close(kept)

    def _begin(self, claims: Sequence[Claim]) -> None:
        """Record in one commit that these documents are about to be posted, and hand them to senders."""
        shared, kept = self._shared, list(claims)
        self._begun |= {claim.document.id: claim.document.revision + 1 for claim in claims}
        answers = {claim.document.id: claim.answers for claim in claims}

        def note_answer(connection: Connection, document: Document) -> None:
            if answer := answers[document.id]:
                shared.journal.answers.record_sent(connection, document, *answer)

        try:
            identity, clock, now = shared.access_point.identity, shared.access_point.clock(), shared.now()
            begun = shared.journal.documents.record_sending(
                [claim.as_posted(now).sending(now, identity=identity, clock=clock) for claim in claims],
                shared.rules.duplicates,
                warning=same_number,
                also=note_answer,
            )
            failed, errors = list[Document](), list[FiledropError]()
            for claim, row in zip(claims, begun, strict=True):
                if isinstance(row, Document):
                    kept.remove(claim)
                    self._hand_over(row, claim)
                elif isinstance(row, Duplicate):
                    discard_unsent(self._folder, claim.document, claim.opened)
                    failed.append(claim.document.failed(now, duplicate(row.document)))
                else:
                    errors.append(row)
            self._record(failed)
            self._file(errors)
        finally:
            for claim in kept:
                shared.window.release(claim.document.id)
            _close(kept)

    def _record(self, documents: Iterable[Document]) -> None:
        self._file(self._shared.journal.documents.record_each(documents))

    def _file(self, recorded: Iterable[Document | FiledropError]) -> None:
        """Put away the recorded documents. Raises JournalError for one that could not be recorded."""
        results = list(recorded)
        self._moves.put_away([document for document in results if isinstance(document, Document)])
        for error in results:
            if not isinstance(error, Document | Changed):
                raise error

    def _hand_over(self, document: Document, claim: Claim) -> None:
        opened = claim.opened
        if opened is None:
            raise ValueError(f"{document.id} was not opened, so that it can't be posted")
        self._under_way.add(document.id)
        del self._begun[document.id]
        send, give_back = partial(self._send, document, opened), partial(self._give_back, document, opened)
        self._shared.senders.submit(Task(send, give_back, document.company))

    def _hand_to_validator(self, document: Document, claim: Claim) -> None:
        validating, opened = self._shared.validating, claim.opened
        if validating is None or opened is None:
            raise ValueError(f"{document.id} can't be validated")
        self._under_way.add(document.id)
        if must_judge(validating, document, opened, self._shared.rules):
            judge_it = partial(self._judge, validating, document, opened)
            put_back = partial(self._put, Validated(document, opened, None))
            validating.validators.submit(Task(judge_it, put_back, document.company))
        else:
            self._put(Validated(document, opened, Judgement(document, passes=True)))

    def _judge(self, validating: Validating, document: Document, opened: OpenedDocument) -> None:
        """Prepare and validate a document, unless nothing may be posted now. Called in a validator's thread."""
        judgement, broke_off, may_post = None, True, self._shared.account.ready()
        try:
            with self._folder.in_use():
                judgement = judge(self._shared, validating, self._folder, document, opened) if may_post else None
            broke_off = False
        finally:
            self._put(Validated(document, opened, judgement, is_logged=broke_off))

    def _send(self, document: Document, opened: OpenedDocument) -> None:
        """Post a document. Called in a sender's thread."""
        outcome = Outcome(document.doubted(self._shared.now(), "its request was broken off in filedrop"))
        try:
            with self._folder.in_use():
                outcome = send(self._shared, document, opened, self._folder)
        finally:
            self._shared.account.record(Unrecorded(outcome, partial(self._return, outcome.document, opened)))

    def _give_back(self, document: Document, opened: OpenedDocument) -> None:
        """Return a document whose request never began, because the senders were stopped."""
        outcome = Outcome(document.never_arrived(self._shared.now(), NO_TURN))
        self._shared.account.record(Unrecorded(outcome, partial(self._return, outcome.document, opened)))

    def _return(self, document: Document, opened: OpenedDocument, recorded: Document | FiledropError) -> None:
        """Return a document after its answer was recorded or given up. Called in the recorder's thread."""
        after = recorded if isinstance(recorded, Document) else document
        if after.state is State.DOUBT and document.state is not State.DOUBT:
            log_doubt(self._shared, after)  # its message number is another document's
        self._shared.window.release(document.id)
        self._put(Returned(after, opened, is_recorded=after is recorded))


def _close(claims: Iterable[Claim]) -> None:
    for claim in claims:
        if claim.opened:
            claim.opened.close()
