"""Where the folders and the journal differ, after a crash or because a person moved a file, the difference is mended.

Each full sweep has it done, so a start needs nothing of its own: then, and when a folder is back, before anything there
is claimed or posted; later beside the sweeps, never two at once in a folder. What another thread may just be moving
looks like a difference too: of what is missing, only what two in a row have found missing counts.
"""

from __future__ import annotations

from contextlib import closing, suppress
from datetime import timedelta
from typing import TYPE_CHECKING

from filedrop import sidecar
from filedrop.claiming import identified
from filedrop.document import State
from filedrop.errors import Changed, DocumentError
from filedrop.files import InUse, discard, replace_whole
from filedrop.names import Names
from filedrop.putaway import lies_at, put_back
from filedrop.restoring import Restoring
from filedrop.upload import Changing, Opened

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from filedrop.claiming import Claiming
    from filedrop.desk import Desk
    from filedrop.document import Document
    from filedrop.lane import Lane

NOTE_AFTER = timedelta(minutes=5)  # in sending/, then a note says why (contract 1)
NOTES_AT_ONCE = 200
MARKED_AT_ONCE = 8
_ADOPTED = ""  # in Lane.taking, where the name of a dropped file stands otherwise


class Reconciling:
    """Mends the differences in the outbound folders of one account."""

    def __init__(self, desk: Desk, claiming: Claiming) -> None:
        self._desk = desk
        self._claiming = claiming
        self._restoring = Restoring(desk)

    def comes_first(self, lane: Lane) -> bool:
        """Is nothing to be claimed or posted there before it is done? At a start, and where the journal is older."""
        self._restoring.see_outdated(lane)
        return not lane.suspects or not self._desk.journal.is_settled(lane.folder.id)

    def reconcile(self, lane: Lane) -> None:
        """Compare `outbound/`, `sending/`, `sent/` and `failed/` with the journal. Raises OSError, JournalError."""
        folder, journal = lane.folder, self._desk.journal
        known = journal.is_settled(folder.id)
        if not lane.suspects:
            folder.clear_drafts(folder.path / "sending")
        if not known:
            self._restoring.restore(lane)
        sending = set(folder.documents("sending"))
        files = dict(journal.files_in(folder.id, "sending"))
        trouble = self._adopt(lane, sorted(sending - files.keys()), doubtful=not known)
        self._see_gone(lane, "sending", [document_id for name, document_id in files.items() if name not in sending])
        self._write_notes(lane, frozenset(files.values()))
        del files, sending  # each may be of a hundred thousand
        self._see_sent(lane)
        self._clear_notes(lane, "failed", Names(folder.documents("failed")))
        for place in ("", "sending"):  # few have a note there, and very many may lie there
            noted = {document for _, document in folder.notes(place)}
            self._clear_notes(lane, place, noted.intersection(folder.names(place) if noted else ()))
        if trouble is not None:
            raise trouble
        if not known:
            journal.settle(folder.id)
        self.mark(lane)

    def _adopt(self, lane: Lane, names: list[str], *, doubtful: bool) -> OSError | None:
        """Take up what lies in `sending/` without a row; what stood in the way of one of them, if anything did."""
        trouble = None
        for name in filter(lane.folder.names_document, names):
            # What lies there now may be another document's by now, whose claim comes before its row: asked once more,
            # when no claim can take the name.
            if lane.taking.setdefault(name, _ADOPTED) != _ADOPTED:
                continue
            try:
                if not self._desk.journal.speaks_of(lane.folder.id, "sending", name):
                    document = self._adopted(lane, name, doubtful=doubtful)
                    if document is not None:
                        with suppress(Changed):  # one that has come back, and was just taken a step further
                            self._desk.journal.record(document)
            except OSError as error:
                trouble = error
            finally:
                del lane.taking[name]
        return trouble

    def _adopted(self, lane: Lane, file: str, *, doubtful: bool) -> Document | None:
        """The document of a file that lies in `sending/` without a row. `doubtful`: it may have been posted.

        Raises OSError (where that may have been posted, also when it can't be read), JournalError.
        """
        path, desk, claiming = lane.folder.path / "sending" / file, self._desk, self._claiming
        try:
            with closing(Opened.open(path)) as opened:
                reading = opened.read(desk.rules.max_size, lane.xpaths)
        except OSError:
            if path.is_symlink() or not path.is_file():  # gone meanwhile, or nothing that we would have claimed
                return None
            if doubtful:
                raise
            put_back(lane.folder, file, file)  # there it fails in the end, and a note says why
            return None
        except (DocumentError, Changing):  # it was never ready: back, to be judged as it is
            put_back(lane.folder, file, file)
            return None
        for document in desk.journal.open_like(lane.folder.id, reading.sha256):
            if not lies_at(lane.folder, document):  # a person has renamed it here, or moved it in from `sent/`
                return document.at("sending", file)
        document = identified(lane, claiming.document(lane, file, file, opened.seal), reading, desk.rules, desk.now())
        if doubtful and document.state is State.WAITING:
            document = document.suspected(desk.now(), desk.access_point.identity, since=opened.modified)
        return document

    def mark(self, lane: Lane) -> None:
        """Have the folder's marker say how far the journal has come; one that can't be written is trouble enough."""
        with suppress(OSError):
            lane.folder.mark(self._desk.journal)

    def mark_all(self, lanes: Iterable[Lane]) -> None:
        """Likewise in all folders that are there and answer; several at once, which share the journal's commits."""
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - at the end; a start needn't pay for it

        def mark(lane: Lane) -> None:
            if lane.folder.id and not lane.trouble and not lane.folder.stuck():
                with lane.folder.busy():
                    self.mark(lane)

        with ThreadPoolExecutor(MARKED_AT_ONCE) as threads:
            for _ in threads.map(mark, lanes):  # raises what one of them does
                pass

    def _see_gone(self, lane: Lane, place: str, document_ids: list[str]) -> None:
        """Documents whose file a person has taken: they are looked for once more, and end as taken (contract 1)."""
        desk = self._desk
        missing = {
            document.id: document
            for document in (desk.journal.documents(document_ids) if document_ids else ())
            if document.home == place and document.id not in desk.in_hand
        }
        for document_id in lane.twice(f"missing from {place}", frozenset(missing), at_once=False):
            document = missing[document_id]
            if lane.folder.seal(place, document.file) is not None or lane.folder.came_back(document):
                desk.gone.pop(document_id, None)
                continue
            if not desk.in_hand.take(document_id):
                continue
            try:
                self._go_without(document)
            finally:
                desk.in_hand.give_back([document_id])

    def _go_without(self, document: Document) -> None:
        desk = self._desk
        with suppress(Changed):  # somebody has just taken it a step further: the next full sweep sees
            if document.state is State.WAITING or desk.gone.get(document.id):
                desk.journal.record(document.taken(desk.now()))
                desk.log.warning("document.taken", company=document.company, file=document.file)
                desk.gone.pop(document.id, None)
            elif document.id not in desk.gone:
                desk.gone[document.id] = False
                if document.state is State.SENT:
                    desk.journal.record(document.later(desk.now()))  # asked after once more, now

    def _write_notes(self, lane: Lane, there: frozenset[str]) -> None:
        """Say of what has been in `sending/` for long why it is; `there` are the ids of all that is."""
        journal, written = self._desk.journal, 0
        waits = self._why_it_waits(lane)
        for document_id, state in journal.kept_in_sending(lane.folder.id, self._desk.now() - NOTE_AFTER):
            said = lane.notes.get(document_id)
            if written >= NOTES_AT_ONCE or (said == waits and state is not State.DOUBT):
                continue
            document = journal.document(document_id)
            if document is None or said == (why := self._why_in_doubt(document) if state is State.DOUBT else waits):
                continue
            written += 1
            note = lane.folder.path / "sending" / f"{document.file}.why.txt"
            with suppress(InUse):  # somebody reads the older one: the next full sweep writes it
                replace_whole(note, sidecar.waits(document, why), draft=lane.folder.draft(document.id, ".why"))
                lane.notes[document.id] = why
        lane.notes = {document_id: why for document_id, why in lane.notes.items() if document_id in there}

    def _why_in_doubt(self, document: Document) -> str:
        if document.identity != self._desk.access_point.identity:
            return (
                f"it was posted to {document.identity}, which the configuration doesn't name any more, and there was "
                "no clear answer: put that account back, or say what became of it: filedrop resolve"
            )
        return (
            f"it may have arrived at the access point ({document.why_in_doubt}); filedrop looks for it there and "
            "sends it again only when it certainly didn't. To end this yourself: filedrop resolve"
        )

    def _why_it_waits(self, lane: Lane) -> str:
        if lane.folder.held():
            return f"a file HOLD lies in {lane.folder.path}; it is sent when that is removed"
        return self._desk.standing.report.why or "it is waiting for its turn"

    def _see_sent(self, lane: Lane) -> None:
        there, known = Names(lane.folder.documents("sent")), self._desk.journal.files_in(lane.folder.id, "sent")
        self._see_gone(lane, "sent", [document_id for name, document_id in known if name not in there])
        self._clear_notes(lane, "sent", there)

    def _clear_notes(self, lane: Lane, place: str, documents: Container[str]) -> None:
        """Remove the notes and sidecars that lie there without their documents; `documents` are those that do."""
        alone = (note for note, document in lane.folder.notes(place) if document not in documents)
        orphans = lane.twice(f"notes in {place}", frozenset(alone), at_once=True)
        if orphans and not self._desk.in_hand.empty:
            return  # a sidecar comes before its document: somebody may be between the two
        for name in orphans:
            note = lane.folder.path / place / name
            if place == "" and name.endswith(".json") and sidecar.identity_of(note) is None:
                continue  # others than we may write into outbound/
            if not note.with_name(name.removesuffix(".json").removesuffix(".why.txt")).exists():
                discard(note)
