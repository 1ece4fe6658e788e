"""Documents in hand are taken as far as they go now: posted, and put where their state belongs.

Mostly that is one; where very many wait, it is several, and what is written of them is written together: first that
they are about to be posted, in one commit, and after the requests what was heard, in another. So each document's own
order stays what it is: row, request, row, sidecar, move.
"""

from __future__ import annotations

import contextlib
from collections import deque
from functools import partial
from typing import TYPE_CHECKING

from filedrop.document import Document, State
from filedrop.errors import Changed, FiledropError
from filedrop.files import InUse
from filedrop.putaway import FileGone, Moved, put_away, put_back
from filedrop.sending import begin, post
from filedrop.turns import TOGETHER, together

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from filedrop.claiming import Claimed
    from filedrop.desk import Desk
    from filedrop.document import Ids
    from filedrop.lane import Lane
    from filedrop.upload import Opened

    Left = dict[str, Opened | None]  # the documents that are in hand still, by id, each with its file

UNRECORDED = 0.5  # seconds after which no further request is made before the answers so far are written


class Onward:
    """Takes the documents of one account further. `ready` says whether any may be posted now. For any thread."""

    def __init__(self, desk: Desk, ready: Callable[[], bool]) -> None:
        self.moved = Moved(desk)
        self._desk = desk
        self._ready = ready
        self._pace = 0.0

    def together(self, waiting: int) -> int:
        """How many documents to take together now: as many as are likely to be posted in a moment, if many wait."""
        quick = int(UNRECORDED / max(self._pace, UNRECORDED / TOGETHER))
        return max(1, min(quick, together(waiting, self._desk.rules.workers)))

    def go(self, lane: Lane, claimed: Sequence[Claimed]) -> None:
        """Take documents that are in hand as far as they go now: post them, and put them where their state belongs.

        The steps of all of them are written in one commit: those before the requests, and those that follow from the
        answers. Whatever is raised, each is given back as it is then: to be posted, sent, or in doubt.
        """
        desk = self._desk
        left = {one.document.id: one.opened for one in claimed}
        try:
            may_post = self.may_post(lane)
            posts = [one.document for one in claimed if may_post and one.can_be_posted]
            others = [one.document for one in claimed if not (may_post and one.can_be_posted)]
            new = [document for document in others if document.revision == 0]
            self._conclude(lane, left, [document for document in others if document.revision], resumed=True)
            self._conclude(lane, left, desk.journal.record_each(new))
            if any(document.state is State.WAITING for document in new) and self._ready():
                lane.look_now()  # it became ready while we were claiming
            if posts:
                self._post(lane, left, begin(desk, posts))
        finally:
            desk.in_hand.give_back(left)

    def _post(self, lane: Lane, left: Left, begun: Sequence[Document | FiledropError]) -> None:
        """Post documents, one after the other, and put away what has an answer."""
        desk, since = self._desk, self._desk.steady()
        posts = [document for document in begun if isinstance(document, Document) and document.state is State.SENDING]
        answered = [document for document in begun if document not in posts]
        files = {document_id: opened for document_id, opened in left.items() if opened}
        turns = deque(posts)
        try:
            self._post_ahead([(files[document.id], document.ids) for document in posts], lane)
            turns = deque(sorted(posts, key=lambda document: not files[document.id].is_posted))
            while turns:
                if not files[turns[0].id].is_posted:  # nor is any of those behind it
                    if desk.steady() - since > UNRECORDED:
                        answered, documents = [], answered
                        self._record(lane, left, documents)
                        since = desk.steady()
                    if len(turns) < len(posts) and not self.may_post(lane):
                        break
                document = turns.popleft()
                if after := self._timed(document, files[document.id], lane):
                    answered.append(after)
                else:
                    with self.refusals(lane):
                        self.put_back(lane, document)
        finally:  # what has been posted by now and isn't recorded may have arrived: so the journal says
            unposted = [document for document in turns if not files[document.id].is_posted]
            now, why = desk.now(), "its turn did not come any more"
            self._record(lane, left, [*answered, *(document.never_arrived(now, why) for document in unposted)])

    def _post_ahead(self, posts: list[tuple[Opened, Ids]], lane: Lane) -> None:
        """Post what can be posted together; each answer waits for its document's turn."""
        start, porter = self._desk.steady(), self._desk.porter
        if len(posts) > 1 and (count := porter.post_ahead(posts, seconds=UNRECORDED, holds=lane.folder.holds)):
            self._pace = (self._desk.steady() - start) / count

    def _timed(self, document: Document, opened: Opened, lane: Lane) -> Document | None:
        start, was_posted = self._desk.steady(), opened.is_posted
        try:
            return post(self._desk, document, opened, lane.folder)
        finally:
            if not was_posted:
                self._pace = self._desk.steady() - start

    def _record(self, lane: Lane, left: Left, answered: Iterable[Document | FiledropError]) -> None:
        errors = [error for error in answered if isinstance(error, FiledropError)]
        documents = [document for document in answered if isinstance(document, Document)]
        with self._desk.turns.one(len(documents)):
            try:
                recorded = self._desk.journal.record_each(documents)
            finally:
                self._desk.heard.give_back(str(document.msg_no) for document in documents)
            self._conclude(lane, left, [*recorded, *errors])

    def _conclude(
        self,
        lane: Lane,
        left: Left,
        recorded: Iterable[Document | FiledropError],
        *,
        resumed: bool = False,
    ) -> None:
        """Put away what belongs elsewhere. Raises JournalError for what could not be recorded."""
        for document in recorded:
            if isinstance(document, Changed):
                continue
            if isinstance(document, FiledropError):
                raise document
            if document.home != document.place:
                del left[document.id]
                with self.refusals(lane), lane.folder.busy():
                    self.put_away(lane, document, resumed=resumed)

    def may_post(self, lane: Lane) -> bool:
        """May a document of this folder be posted now?"""
        return self._ready() and not lane.folder.held()

    def put_away(self, lane: Lane, document: Document, *, resumed: bool = False) -> None:
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

    def put_back(self, lane: Lane, document: Document) -> None:
        """The bytes changed after the claim: back to `outbound/`, where readiness begins again (contract 1)."""
        desk, folder = self._desk, lane.folder
        with folder.busy():
            put_back(folder, document.file, document.dropped_as)
        desk.journal.record(document.taken(desk.now()))
        desk.in_hand.give_back([document.id])
        desk.log.info("document.changed", company=folder.company, file=document.file)
        lane.look_now()

    @contextlib.contextmanager
    def refusals(self, lane: Lane) -> Iterator[None]:
        """What the disk refuses in here is told once, and keeps nothing else from being done."""
        try:
            yield
        except OSError as error:
            company, why = lane.folder.company, f"files can't be moved or written here: {error.strerror or error}"
            if lane.refuses(why):
                self._desk.log.error("folder.refuses", company=company, folder=str(lane.folder.path), why=why)  # noqa: TRY400 - said
