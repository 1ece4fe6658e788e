"""Documents are put away in batches: what is written beside them, and the moves, are brought to the disk together.

Until then the journal has the place before the move, and the next start looks there first.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from filedrop.errors import FolderUnavailable, JournalError
from filedrop.files import Drafts, InUse
from filedrop.model.document import ENDED_UNSENT, Document, State
from filedrop.model.fault import Fault
from filedrop.outbound.context import new_document
from filedrop.outbound.filing import FileGone, begin
from filedrop.storage import sidecar
from filedrop.storage.names import shortened
from filedrop.storage.own_name import clear_left
from filedrop.texts import Text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from filedrop.files import FileStamp
    from filedrop.outbound.context import Context
    from filedrop.outbound.filing import Move
    from filedrop.outbound.health import FolderHealth
    from filedrop.storage.company_folders import OutboundFolder

MOVES_A_FLUSH = 32  # moves that are brought to the disk together


class Moves:
    """Moves of one folder's files that disk and journal don't have yet. `total` counts all moves.

    It knows whose files are missing, and which names documents had that were moved back.
    """

    def __init__(self, shared: Context, folder: OutboundFolder, health: FolderHealth) -> None:
        self.total = 0
        self._shared = shared
        self._folder = folder
        self._health = health
        self._may_resume = True  # an earlier process may have begun moves that are still to be made
        self._missed: dict[str, float] = {}  # by document id, since when (steady) its file has been missing
        self._names_left: dict[str, str] = {}  # by document id; its note may still be where it had ended
        self._begun: set[str] = set()  # ids of documents whose move has failed, or isn't in the journal
        self._moved: list[tuple[Document, Document]] = []  # before and after each move

    def end_resuming(self) -> None:
        """Note that all moves that an earlier process may have begun were read once."""
        self._may_resume = False

    def note_missing(self, document_id: str) -> None:
        """Note that a document's file is missing."""
        self._missed.setdefault(document_id, self._shared.steady())

    def note_found(self, document_id: str) -> None:
        """Note that a document's file is there."""
        self._missed.pop(document_id, None)

    def is_missing(self, document_id: str) -> bool:
        """Whether a document's file was missing when it was looked for last."""
        return document_id in self._missed

    def note_left(self, document_id: str, name: str) -> None:
        """Note the name that a document had where it had ended, before it was moved back."""
        self._names_left[document_id] = name

    def put_away(
        self, documents: Iterable[Document], *, left: bool = False, posted: Mapping[str, FileStamp] | None = None
    ) -> None:
        """Put away those of a batch that belong to another place. What the disk refuses is logged.

        `left`: they were found in the journal, where an earlier process may have left them. `posted`: by document id,
        the stamp of the file that was just posted.
        """
        moves: list[Move] = []
        for document in documents:
            if document.home != document.place:
                with self._moving(document):
                    # Not of each document that is left: what was begun is looked for among all names of the new place.
                    resumed = (left and self._may_resume) or document.id in self._begun or document.id in self._missed
                    move = self._begin(document, (posted or {}).get(document.id), resumed=resumed)
                    if isinstance(move, Document):  # not resumed: read from the journal, before its letter was read
                        self._made(document, move, is_logged=not resumed)
                    else:
                        moves.append(move)
        if moves:
            with self._health.tolerant(), Drafts(self._folder.at("sending")) as drafts:
                self._make(moves, drafts)

    def flush(self) -> None:
        """Bring the moves to the disk, then to the journal. After an error, a later scan does both again."""
        if not self._moved:
            return
        moved, self._moved = self._moved, []
        try:
            bring_to_disk(self._folder, {document.place for move in moved for document in move})
            self._shared.journal.documents.record_places(after for _, after in moved)
        except (OSError, JournalError) as error:
            self._begun |= {document.id for document, _ in moved}  # another file may lie where the journal has theirs
            self._shared.log.warning("moves.not_flushed", folder=str(self._folder.path), why=str(error))

    def _begin(self, document: Document, posted: FileStamp | None, *, resumed: bool) -> Move | Document:
        """The move of a document; the document in its new place, where an earlier attempt has made it."""
        self._clear_left(document)
        return begin(self._folder, document, resumed=resumed, posted=posted)

    def _make(self, moves: list[Move], drafts: Drafts) -> None:
        """Make the moves; where a name is taken after all, again with the next one. Raises OSError, JournalError."""
        taken: set[tuple[str, str]] = set()
        while moves:
            written: list[Move] = []
            for move in moves:
                with self._moving(move.document):
                    move.write(drafts, taken)
                    written.append(move)
            drafts.flush()
            reserved, moves = self._reserve(written, drafts)
            spoken_of = self._spoken_of(reserved)
            for move in reserved:
                with self._moving(move.document):
                    after = move.complete(is_spoken_for=move.target in spoken_of)
                    if after is None:
                        moves.append(move)
                    else:
                        self._made(move.document, after)

    def _reserve(self, moves: Iterable[Move], drafts: Drafts) -> tuple[list[Move], list[Move]]:
        """Reserve the names of these moves. Returns those that have them, and those whose names are taken after all."""
        reserved: list[Move] = []
        taken: list[Move] = []
        for move in moves:
            with self._moving(move.document):
                (reserved if move.reserve(drafts) else taken).append(move)
        return reserved, taken

    def _spoken_of(self, moves: Sequence[Move]) -> set[tuple[str, str]]:
        """Those of the moves' targets that may be other documents', although no files lie there."""
        try:
            return self._shared.journal.documents.spoken_of(self._folder.id, [move.target for move in moves])
        except JournalError:
            self._begun |= {move.document.id for move in moves}
            raise

    def _made(self, document: Document, after: Document, *, is_logged: bool = False) -> None:
        self.note_found(document.id)
        self._begun.discard(document.id)
        if not is_logged:
            _log_move(self._shared, document, after)
        self._moved.append((document, after))
        self.total += 1
        if len(self._moved) >= MOVES_A_FLUSH:
            self.flush()

    @contextmanager
    def _moving(self, document: Document) -> Iterator[None]:
        """A part of a document's move: what goes wrong is logged, and the next scan tries again."""
        with self._health.tolerant():
            try:
                yield
            except FileGone:
                self._miss(document)
            except InUse as error:  # retried by each scan, logged once: a missing permission looks the same
                if document.id not in self._begun:
                    self._shared.log.info("document.in_use", **document.log_facts, why=error.strerror)
                self._begun.add(document.id)
            except (OSError, JournalError):
                self._begun.add(document.id)
                raise

    def _clear_left(self, document: Document) -> None:
        """Free the name that a document had before it was moved back: if it ends unsent again, it takes it again."""
        name, folder = self._names_left.pop(document.id, None), self._folder
        if name is not None and document.home in ENDED_UNSENT:
            for place in folder.ended():
                clear_left(place / name, folder.id, self._shared.journal)
                folder.names_are_free_again(place, shortened(document.dropped_as))

    def _miss(self, document: Document) -> None:
        """Note a missing file: a person may be moving it, or the share is away.

        After `rescan`, a finished document counts as put away, and any other as taken. What lies in its place has
        failed.
        """
        shared, folder = self._shared, self._folder
        try:
            folder.take_up(shared.journal)
        except FolderUnavailable:  # the next step reports it
            return
        self.note_missing(document.id)
        missing_for = shared.steady() - self._missed[document.id]
        if folder.came_back(document) or missing_for < shared.rules.rescan.total_seconds():
            return
        self.note_found(document.id)
        shared.journal.documents.record(document.gone(shared.now()))
        shared.log.warning("document.taken", **document.log_facts, state=document.state.value)
        if (changed := _changed(shared, folder, document)) is not None:
            shared.journal.documents.record(changed)  # the next step puts it into failed/


def bring_to_disk(folder: OutboundFolder, places: Iterable[str]) -> None:
    """Bring moves between these places to the disk. Raises OSError.

    Where documents went comes first: their old sidecars are gone for good once the place they came from is on the disk.
    """
    for name in sorted(places, key=lambda name: {"sent": 1, "sending": 2}.get(name, 0)):
        folder.at(name).sync()


def _log_move(shared: Context, document: Document, after: Document) -> None:
    if document.state is State.FAILED and document.error:
        shared.log.warning("document.failed", **after.log_facts, code=document.error.code, why=document.error.message)
    else:
        shared.log.info("document.put_away", **after.log_facts, state=document.state.value, msg_no=document.msg_no)


def _changed(shared: Context, folder: OutboundFolder, document: Document) -> Document | None:
    """What lies under a finished document's name, with its sidecar, and isn't what was sent; None where nothing is."""
    stamp = folder.stamp(document.place, document.file)
    beside = folder.at(document.place) / f"{document.file}.json"
    if stamp is None or sidecar.document_id_in(beside) != document.id:
        return None
    place, msg_no = document.place, document.msg_no
    if document.error:
        text = Text.of("changed/not-delivered", place=place, msg_no=msg_no, why=document.error.message)
    else:
        text = Text.of("changed/delivered", place=place, msg_no=msg_no)
    here = new_document(shared, folder, document.dropped_as, document.file, stamp.size)
    return here.at(document.place, document.file).failed(shared.now(), Fault.of(text))
