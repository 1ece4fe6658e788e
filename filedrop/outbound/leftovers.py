"""Documents that already lie in `sending/` are continued: left by a crash or an outage, or decided by a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from filedrop.errors import DocumentError
from filedrop.files.rights import explain
from filedrop.model.document import A_PERSON_SAYS, Document, Event, State
from filedrop.outbound.claim import Claimed
from filedrop.outbound.filing import put_back_changed
from filedrop.outbound.identified import identified_now, keeps_ids
from filedrop.outbound.sender import STOPPED, log_doubt
from filedrop.outbound.upload import Changing, OpenedDocument

if TYPE_CHECKING:
    from filedrop.outbound.context import FolderContext
    from filedrop.outbound.moves import Moves


NOT_READ = "not read"  # the event


class Leftovers:
    """Continues the documents in one folder's `sending/`."""

    def __init__(self, at: FolderContext, moves: Moves) -> None:
        self._at = at
        self._shared = at.shared
        self._moves = moves
        self._logged: set[tuple[str, int]] = set()

    def take_up(self, document: Document) -> Claimed | None:
        """Continue a document that lies in `sending/`. Returns it if it is to be posted."""
        shared = self._shared
        self._at.put_off.discard(document.id)
        if document.state is State.SENDING:  # no sender has it: a crash came before its answer
            shared.journal.record(log_doubt(shared, document.doubted(shared.now(), STOPPED)))
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
            facts = {"company": document.company, "file": document.file}
            self._shared.log.info("document.resolved", **facts, decision=last, msg_no=document.msg_no)

    def _reopened(self, document: Document) -> Claimed | None:
        """A waiting document with its file opened. None if the file is missing, changed, or can't be read now."""
        at, shared = self._at, self._shared
        entry = at.folder.at("sending") / document.file
        opened = claimed = None
        try:
            opened = OpenedDocument.open(entry)
            xpaths = () if keeps_ids(document) else at.identification.xpaths
            reading = opened.read(shared.rules.max_size, xpaths)
            if reading.sha256 == document.sha256:
                claimed = Claimed(identified_now(at, document, reading), opened)
        except (Changing, DocumentError):
            pass
        except FileNotFoundError:  # a person took it: handled by the comparison, or by the claim if it comes back
            at.missed.setdefault(document.id, shared.steady())
            return None
        except OSError as error:
            at.put_off.add(document.id)
            why = f"the file can't be read: {explain(error, entry)}"
            shared.log.warning("document.unreadable", company=document.company, file=document.file, why=why)
            if why_not_read(document) != why:  # one event for each reason
                event = Event(shared.now(), NOT_READ, {"why": why})
                document = document.but(history=(*document.history, event))
            shared.journal.record(document.later(shared.now() + shared.rules.retry.longest))
            return None
        finally:
            if opened and claimed is None:
                opened.close()
        if claimed is None:
            put_back_changed(at, document)
        return claimed


def why_not_read(document: Document) -> str:
    """Why a waiting document's file could not be read when that was last tried; "" for any other."""
    last = document.history[-1] if document.history else None
    return str(last.facts["why"]) if document.state is State.WAITING and last and last.event == NOT_READ else ""
