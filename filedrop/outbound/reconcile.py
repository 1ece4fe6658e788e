"""Comparisons of a folder with the journal: differences after a crash, or because a person moved a file, are repaired.

A comparison is made at the start, when the folder is back, and every `rescan`. The first, one after the folder was
away, and one of a folder whose rows may be incomplete run to their end before anything there is claimed or posted.
Others advance a little in each step, so that new files don't wait for a large `sent/`. The lists of a comparison grow
stale meanwhile, so each difference is checked again before it is repaired. Here, a missing file counts only when two
comparisons in a row miss it: a person may be moving it. At a move, `moves` decides.
"""

from __future__ import annotations

import math
from contextlib import closing, suppress
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

from filedrop.errors import Changed, DocumentError, FolderUnavailable
from filedrop.files import clear_silly, discard_seen, stamps
from filedrop.files.rights import explain
from filedrop.journal import Waiver
from filedrop.model.document import ENDED_UNSENT, State
from filedrop.outbound.claim import let_through
from filedrop.outbound.context import new_document
from filedrop.outbound.filing import lies_at, put_back
from filedrop.outbound.identified import identified_in
from filedrop.outbound.notes import write_notes
from filedrop.outbound.pdf_look import return_pdfs
from filedrop.outbound.pdfs import without_document
from filedrop.outbound.preparing import with_copy, with_pdf
from filedrop.outbound.recovery import restore, suspect_all
from filedrop.outbound.renamed import take_up_renamed, take_up_returned
from filedrop.outbound.sender import log_doubt
from filedrop.outbound.strays import Strays, look_for_strays
from filedrop.outbound.upload import Changing, OpenedDocument
from filedrop.outbound.waiting import retry_needy
from filedrop.storage import sidecar
from filedrop.storage.marker import clear_replaced
from filedrop.storage.names import POSTED, REJECTED_NOTE, Names
from filedrop.storage.own_name import own_name_beside

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Generator, Iterable, Sequence

    from filedrop.model.document import Document
    from filedrop.outbound.context import Context
    from filedrop.outbound.desk import Desk
    from filedrop.storage.company_folders import OutboundFolder
    from filedrop.texts import Text

    Slices = Generator[None, None, None]

T = TypeVar("T")

SLICES = 4  # slices of a comparison in one step
LISTED_AT_ONCE = 1000  # names


class Findings:
    """What the last comparison of a folder has found missing, by kind, and what the notes in `sending/` say, by id.

    `copies`: what was posted for documents that aren't there, and their PDFs, by place. `is_first`: no comparison has
    ended yet. `in_sending`: how many names and rows there were in `sending/`. `strays`: files that nobody will send.
    """

    def __init__(self) -> None:
        self.is_first = True
        self.in_sending = 0
        self.notes: dict[str, Text] = {}
        self.copies: dict[str, frozenset[str]] = {}
        self.strays = Strays()
        self._last: dict[str, frozenset[str]] = {}

    def last(self, what: str) -> frozenset[str]:
        """What the last comparison has found."""
        return self._last.get(what, frozenset())

    def are_none(self) -> bool:
        """Whether the next comparison has nothing to end, to report or to write, unless something changes."""
        strays = self.strays
        is_clean = strays.found == () and not any(candidates for candidates, _ in strays.candidates.values())
        return is_clean and not (self.is_first or self.in_sending or self.notes or any(self._last.values()))

    def twice(self, what: str, found: frozenset[str]) -> frozenset[str]:
        """What both this comparison and the last have found: a person may still be moving the rest."""
        before, self._last[what] = self.last(what), found
        return found & before


class Reconciliation:
    """The comparisons of one folder. `next`: when one is due (steady). `answers` is called after each slice."""

    def __init__(self, desk: Desk, answers: Callable[[], None]) -> None:
        self.next = -math.inf
        self._answers = answers
        self._desk = desk
        self._begun: Slices | None = None
        self._findings = Findings()

    @property
    def strays(self) -> Strays:
        """The files in the folder that nobody will send."""
        return self._findings.strays

    @property
    def has_found_nothing(self) -> bool:
        """Whether the last comparison has ended, and left nothing to the next one."""
        return self._begun is None and self._findings.are_none()

    def put_off(self) -> None:
        """Leave out the comparison that is due: nothing has changed.

        The next one is due at the same moment for all folders, so that one thread wakes up once for all.
        """
        rescan = self._desk.rules.rescan.total_seconds()
        self.next = (self._desk.steady() // rescan + 1) * rescan

    @property
    def is_under_way(self) -> bool:
        """Whether a comparison has begun and not ended."""
        return self._begun is not None

    def handles(self, document: Document) -> bool:
        """Whether a comparison, or the claim of a file that came back, handles a document whose file was missing."""
        folder = self._desk.folder
        try:
            if lies_at(folder, document):
                return False
            return (self.is_under_way and document.home == document.place) or folder.came_back(document)
        except OSError:  # the next step in `sending/` reports it
            return False

    def give_up(self) -> None:
        """Drop what was begun: the next step begins anew."""
        self._begun, self.next = None, -math.inf

    def step(self, *, comes_first: bool, only_rows: bool = False) -> None:
        """Advance a comparison, if one is due; to its end where it `comes_first`. Raises JournalError.

        `only_rows`: none is begun where the journal already knows all that was sent from the folder.
        """
        desk, steady = self._desk, self._desk.steady
        comes_first |= suspect_all(desk)
        if self._begun is None or comes_first:
            if steady() < self.next and not comes_first:
                return
            desk.folder.trial.look(desk.log.bind(company=desk.folder.company, folder=str(desk.folder.path)))
            is_settled = desk.journal.folders.is_settled(desk.folder.id)
            if only_rows and is_settled and not comes_first:
                return
            comes_first |= self._findings.is_first or not is_settled
            self._begun = _compare(desk, self._findings)
        try:
            for number, _ in enumerate(self._begun, 1):
                self._answers()
                if number == SLICES and not comes_first:
                    return
            desk.health.report_unreconciled("")
        except OSError as error:  # one unusable entry must not keep the others from being sent
            why = f"{error.filename or desk.folder.path} can't be used: {explain(error, desk.folder.path)}"
            desk.health.report_unreconciled(why)
        except BaseException:
            self._begun = None
            raise
        self._begun, self._findings.is_first = None, False
        self.next = steady() + desk.rules.rescan.total_seconds()


def _compare(desk: Desk, findings: Findings) -> Slices:
    """Compare `outbound/`, `sending/`, `sent/` and what ended unsent with the journal. Raises OSError, JournalError."""
    folder, journal = desk.folder, desk.journal
    if findings.is_first:
        journal.folders.hand_to(folder.id, folder.company)
        retry_needy(journal, desk.log, folder.id, desk.now())
    known = journal.folders.is_settled(folder.id)
    uncleared = _uncleared(folder, failed=bool(desk.health.trouble or desk.health.refused))
    unread = (yield from restore(desk)) if not known else None
    lone, unadopted, unwritten = yield from _compare_sending(desk, findings, doubtful=not known)
    if not folder.local:
        clear_replaced(folder.at(), folder.id)
    has_lone = yield from _compare_sent(desk, findings)
    folder.look_for_aside()
    for place in ENDED_UNSENT:
        pdfs = list[str]()
        there = yield from _names(folder.documents(place), folder.may_be_pdf, pdfs)
        _clear_notes(desk, findings, place, there, pdfs)
    _end_waivers(desk, findings)
    for place in ("", "sending"):  # few files have a note there, and there may be very many files
        noted = {document for _, document in folder.notes(place)}
        _clear_notes(desk, findings, place, noted.intersection(folder.names(place) if noted else ()))
        yield
    copies = {place: names for place, names in findings.copies.items() if place}  # outbound/ is looked at by itself
    strays = look_for_strays(desk, findings.strays, lone, copies, sent=has_lone, archive=not findings.is_first)
    what = f"{folder.path}: files that nobody will send"
    while not desk.shared.guard.make(what, lambda: bool(next(strays, True)), otherwise=True):
        yield
    if (trouble := unread or unadopted) is not None:
        raise trouble
    if not known:
        journal.folders.settle(folder.id)
    mark(desk)
    if (trouble := unwritten or uncleared) is not None:
        raise trouble


def _compare_sending(
    desk: Desk, findings: Findings, *, doubtful: bool
) -> Generator[None, None, tuple[list[str], OSError | None, OSError | None]]:
    """Compare `sending/` with the journal. Returns the names that are no documents, in order, and two last errors.

    The errors are those of files without a row, which may have been posted where `doubtful`, and of notes.
    """
    folder, put_off = desk.folder, desk.handover.put_off  # not what is put off meanwhile
    there = set((yield from _listed(folder.documents("sending"))))
    there -= (pdfs := set(filter(folder.may_be_pdf, there)))
    files = yield from _listed(desk.journal.documents.files_in(folder.id, "sending"))
    findings.in_sending = len(there) + len(files)
    unknown = there - {name for name, _ in files}
    unadopted = yield from _adopt(desk, sorted(unknown), doubtful=doubtful)
    _end_gone(desk, findings, "sending", [document_id for name, document_id in files if name not in there])
    lying = {document_id: name for name, document_id in files if name in there}
    unwritten = yield from write_notes(desk, findings.notes, lying)
    desk.handover.forget_put_off(put_off - {document_id for _, document_id in files})
    lone = sorted(name for name in unknown if not folder.names_document(name))
    lone_pdfs = without_document(pdfs, there | {name for name, _ in files})  # a move may have been cut off before it
    twice = findings.twice("PDFs in sending", lone_pdfs)
    if folder.has_pdfs and (returned := lone_pdfs if findings.is_first else twice):
        return_pdfs(desk, returned)
    lone += sorted(name for name in lone_pdfs if folder.stamp("sending", name) is not None)
    if desk.handover.is_idle():  # nobody has them open
        clear_silly(folder.at("sending"), lone)
    return lone, unadopted, unwritten


def _uncleared(folder: OutboundFolder, *, failed: bool) -> OSError | None:
    """What keeps a killed process's drafts from being removed, which keeps nothing else from being compared."""
    try:
        folder.clear_drafts_once(failed=failed)
    except OSError as error:
        return error
    return None


def _listed(names: Iterable[T]) -> Generator[None, None, list[T]]:
    """All items in a list, which may become very long."""
    listed = []
    for name in names:
        listed.append(name)
        if len(listed) % LISTED_AT_ONCE == 0:
            yield
    return listed


def _names(
    names: Iterable[str], is_left_out: Callable[[str], bool], left_out: list[str]
) -> Generator[None, None, Names]:
    """All names, in a set that takes little memory, but for those that go to `left_out`."""
    found = Names()
    for number, name in enumerate(names, 1):
        if is_left_out(name):
            left_out.append(name)
        else:
            found.add(name)
        if number % LISTED_AT_ONCE == 0:
            yield
    return found


def _adopt(desk: Desk, names: list[str], *, doubtful: bool) -> Generator[None, None, OSError | None]:
    """Write rows for files in `sending/` that have none. Returns the last error of the disk, if any."""
    trouble = None
    for name in filter(desk.folder.names_document, names):
        try:
            if not desk.journal.documents.spoken_of(desk.folder.id, [("sending", name)]):
                document = _adopted(desk, name, doubtful=doubtful)
                if document is not None:
                    with suppress(Changed):  # a document that came back was just taken a step further
                        desk.journal.documents.record(document)
        except OSError as error:
            trouble = error
        yield
    return trouble


def _adopted(desk: Desk, file: str, *, doubtful: bool) -> Document | None:
    """The document of a file in `sending/` that has no row. `doubtful`: it may have been posted.

    Raises OSError (for a doubtful file also when it can't be read), JournalError.
    """
    entry, shared = desk.folder.at("sending") / file, desk.shared
    own = own_name_beside(entry) or file
    if desk.folder.has_pdfs and not doubtful:  # its claim was cut off, perhaps before it was compared
        with suppress(FileNotFoundError):
            put_back(desk.folder, file, own)
        desk.scanner.wake()
        return None
    try:
        with closing(OpenedDocument.open(entry)) as opened:
            reading = opened.read(shared.rules.max_size, desk.identification.xpaths)
    except OSError:
        if not entry.is_file():  # gone meanwhile, or not a regular file
            return None
        if doubtful:
            raise
        put_back(desk.folder, file, own)  # in outbound/ it fails in the end, and a note says why
        return None
    except (DocumentError, Changing):  # it was never ready: readiness begins again
        put_back(desk.folder, file, own)
        return None
    for document in shared.journal.numbers.open_like(desk.folder.id, reading.sha256):
        if not lies_at(desk.folder, document):  # a person has renamed it here, or moved it in from `sent/`
            return document.at("sending", file)
    waiver = Waiver(reading.sha256, opened.stamp.modified)
    document, _ = let_through(desk, new_document(shared, desk.folder, own, file, opened.stamp.size), own, waiver)
    document = identified_in(shared, desk.identification, document, reading)
    if doubtful and document.state is State.WAITING:
        document = with_pdf(desk.folder, with_copy(desk.folder, document, shared.rules))
        suspect = document.suspected(shared.now(), shared.access_point.identity, since=opened.modified)
        document = log_doubt(shared, suspect)
    return document


def mark(desk: Desk) -> None:
    """Write into the folder's marker how far the journal has counted; what keeps that is reported by the next step."""
    with suppress(OSError, FolderUnavailable):
        desk.folder.mark(desk.journal)


def _end_gone(desk: Desk, findings: Findings, place: str, document_ids: list[str]) -> None:
    """End documents whose file a person has taken, after the access point was asked once more (contract 1)."""
    shared, what = desk.shared, f"missing from {place}"
    missing = {
        document.id: document
        for document in shared.journal.documents.by_ids(document_ids)
        if document.home == place and not desk.handover.has(document.id) and not shared.journal.answers.owes(document)
    }
    for document_id in findings.last(what) - missing.keys():
        shared.missing.forget(document_id)  # it was put back
    for document_id in findings.twice(what, frozenset(missing)):
        document = missing[document_id]
        if desk.folder.stamp(place, document.file) is not None or desk.folder.came_back(document):
            shared.missing.forget(document_id)
            continue
        _end_or_ask(shared, document)


def _end_or_ask(shared: Context, document: Document) -> None:
    with suppress(Changed):  # just taken a step further: the next comparison sees it
        elsewhere = document.identity not in ("", shared.access_point.identity)  # another account: not asked from here
        if document.state is State.WAITING or elsewhere or shared.missing.was_asked(document.id):
            shared.journal.documents.record(document.taken(shared.now()))
            shared.log.warning("document.taken", **document.log_facts)
            shared.missing.forget(document.id)
        elif document.id not in shared.missing:
            shared.missing.note(document.id)
            if document.state is State.SENT:
                shared.journal.documents.record(document.later(shared.now()))  # asked after once more: due now


def _compare_sent(desk: Desk, findings: Findings) -> Generator[None, None, bool]:
    """Compare `sent/` with the journal. Returns whether there are files without a row."""
    folder, pdfs, missing, number = desk.folder, list[str](), list[str](), 0
    there = yield from _names(folder.documents("sent"), folder.may_be_pdf, pdfs)
    for number, (name, document_id) in enumerate(desk.journal.documents.files_in(desk.folder.id, "sent"), 1):
        if name not in there:
            missing.append(document_id)
        if number % LISTED_AT_ONCE == 0:
            yield
    _end_gone(desk, findings, "sent", take_up_renamed(desk, missing))
    _clear_notes(desk, findings, "sent", there, pdfs)
    has_lone = len(there) > number - len(missing)
    if has_lone:
        take_up_returned(desk)
    return has_lone


def _end_waivers(desk: Desk, findings: Findings) -> None:
    """End the waivers of files that were let through and taken away before their claim."""
    folder, journal = desk.folder, desk.journal
    gone = (name for name in journal.waivers.waived(folder.id) if folder.stamp("", name) is None)
    journal.waivers.end(folder.id, findings.twice("let through", frozenset(gone)))


def _clear_notes(desk: Desk, findings: Findings, place: str, there: Container[str], pdfs: Sequence[str] = ()) -> None:
    """Remove notes and sidecars whose document isn't `there`. Note the copies, and those of the `pdfs`, that are alone.

    The PDF of what ended unsent may have its document in `outbound/`: a person has moved that back.
    """
    folder = desk.folder
    alone = frozenset(note for note, document in folder.notes(place) if document not in there)
    copies = frozenset(name for name in alone if name.endswith(POSTED))  # evidence of what was sent
    alone -= copies
    if pdfs:
        returned = folder.dropped() if place in ENDED_UNSENT else ()
        documents = (name for name in folder.documents(place) if not folder.may_be_pdf(name))
        copies |= without_document(pdfs, chain(documents, returned))
    findings.copies[place] = copies
    orphans = findings.twice(f"notes in {place}", alone)
    for note, seen in stamps(folder.at(place) / name for name in (alone if findings.is_first else orphans)):
        if place == "" and note.name.endswith(".json") and sidecar.read(note) is None:
            continue  # not ours: others write into outbound/, too
        if note.name.endswith(REJECTED_NOTE) and not sidecar.is_rejection_note(note):
            continue
        document = note.name.removesuffix(".json").removesuffix(".why.txt").removesuffix(REJECTED_NOTE)
        if place in ENDED_UNSENT and desk.folder.stamp("", document) is not None:
            continue  # moved back: the claim reads in these the name that it was dropped with
        if not note.with_name(document).exists():
            discard_seen(note, seen)
