"""What the pipelines of an account share, and what each knows of its own folder."""

from __future__ import annotations

import errno
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from filedrop import identify
from filedrop.errors import Changed
from filedrop.files import InUse, is_missing, may_use
from filedrop.files.rights import explain
from filedrop.model.message import is_known
from filedrop.text import listed

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from datetime import datetime, timedelta

    import structlog

    from filedrop.accesspoint import AccessPoint
    from filedrop.accesspoint.breaker import CircuitBreaker
    from filedrop.accesspoint.directory import ReceiverDirectory
    from filedrop.config import Company, Outbound
    from filedrop.errors import FiledropError
    from filedrop.identify import Identity, Reading
    from filedrop.identify.mapping import Rules
    from filedrop.journal import Answer, Journal
    from filedrop.model.document import Document
    from filedrop.model.message import Message
    from filedrop.outbound.scanner import Scanner
    from filedrop.outbound.validating import Validating
    from filedrop.storage.folders import OutboundFolder


class Window:
    """An account's documents that are being sent, at most `size`. Thread-safe.

    They are in doubt after a kill. No folder has more documents under way than that, those in validation included.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._under_way: dict[str, Message | None] = {}
        self._lock = threading.Lock()

    @property
    def room(self) -> int:
        """How many more documents may be sent now."""
        return self.size - len(self._under_way)

    def __contains__(self, document_id: object) -> bool:
        """Whether this document is in it."""
        return document_id in self._under_way

    def take(self, document_id: str) -> bool:
        """Add a document that is about to be sent. Returns False where there is no room for it."""
        with self._lock:
            if self.room > 0:
                self._under_way[document_id] = None
            return document_id in self._under_way

    def tell(self, document_id: str, message: Message) -> bool:
        """Note which message a document became. False where another in the window may have become the same one.

        The journal can't tell: the answers to these documents are not recorded yet.
        """
        with self._lock:
            same_number = [other for other in self._under_way.values() if other and other.msg_no == message.msg_no]
            if is_known(message, [other.received for other in same_number]) is not False:
                return False
            self._under_way[document_id] = message
            return True

    def release(self, document_id: str) -> None:
        """Remove a document that has come back."""
        with self._lock:
            self._under_way.pop(document_id, None)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The answer to a request, still to be recorded; `returned` is called with the recorded document or the error."""

    answer: Answer
    returned: Callable[[Document | FiledropError], None]


@dataclass(frozen=True, slots=True)
class Context:
    """Dependencies shared by the pipelines of one account.

    `now` is the wall clock with its offset, `steady` the monotonic clock in seconds. `ready` says whether documents may
    be posted and looked for now, `is_away` whether a folder (by id) is unavailable. `submit` has a request made by
    another thread, or calls its second argument where the request never begins; the outcome goes to `record`. `gone`
    has the ids of documents whose file was missing in two comparisons, and whether the access point has been asked
    after each since then. `validating` is None where documents aren't validated; `keep_archive` where the archive is
    kept for ever.
    """

    account: str
    access_point: AccessPoint
    breaker: CircuitBreaker
    directory: ReceiverDirectory
    journal: Journal
    rules: Outbound
    now: Callable[[], datetime]
    steady: Callable[[], float]
    log: structlog.stdlib.BoundLogger
    ready: Callable[[], bool]
    submit: Callable[[Callable[[], None], Callable[[], None]], None]
    record: Callable[[Outcome], None]
    window: Window
    is_away: Callable[[str], bool]
    validating: Validating | None
    keep_archive: timedelta | None
    gone: dict[str, bool] = field(default_factory=dict)

    def asked_after(self, document_id: str) -> None:
        """Note that the access point was asked after a document without result: needed if its file is missing."""
        if document_id in self.gone:
            self.gone[document_id] = True


@dataclass(frozen=True, slots=True)
class Identification:
    """How a company's documents are identified: its participants, the mapping rules, and the XPaths in these."""

    participants: tuple[str, ...]
    identify: Callable[[Reading, str], Identity]
    xpaths: Collection[str]


@dataclass(slots=True)
class FolderHealth:
    """What is wrong with a folder, in sentences; "" where nothing is.

    `trouble`: why it is unavailable. `outdated`: why the journal is older than the folder. `refused`: why files can't
    be moved or written there. `unreconciled`: what in it can't be used. `unwatched`: why its files are found by
    scanning alone, although file events were expected.
    """

    trouble: str = ""
    outdated: str = ""
    refused: str = ""
    unreconciled: str = ""
    unwatched: str = ""

    @property
    def warning(self) -> str:
        """What is wrong with the folder although it is available."""
        return "; ".join(why for why in (self.outdated, self.unreconciled, self.refused, self.unwatched) if why)


@dataclass(frozen=True, slots=True)
class FolderContext:
    """One outbound folder and the state of its pipeline. Only the worker in that folder changes it; other threads read.

    `under_way`: ids of documents that senders or validators have, or that wait for room in the window after their
    validation. `put_off`: ids of documents that the access point didn't take; they are tried again when they are due.
    `names_in_failed`: by document id, the name that a document had in `failed/` before it was moved back; its note may
    still lie there. `missed`: by document id, since when (steady) the file has been missing. `refusals`: what the disk
    has refused since the last scan; `told`: what of that was logged since the last scan without any.
    """

    shared: Context
    folder: OutboundFolder
    identification: Identification
    scanner: Scanner
    health: FolderHealth = field(default_factory=FolderHealth)
    under_way: set[str] = field(default_factory=set)
    put_off: set[str] = field(default_factory=set)
    names_in_failed: dict[str, str] = field(default_factory=dict)
    missed: dict[str, float] = field(default_factory=dict)
    refusals: set[str] = field(default_factory=set)
    told: set[str] = field(default_factory=set)

    @contextmanager
    def tolerant(self) -> Iterator[None]:
        """Log what the disk refuses in this block. Ignore `Changed`: a person's command has taken the step."""
        try:
            yield
        except Changed:
            pass
        except OSError as error:
            self.refuses(error)

    def refuses(self, error: OSError) -> None:
        """Note an error of the disk; logged when it differs from those before."""
        why = f"files can't be moved or written {_where_and_why(error, self.folder)}"
        if why not in self.told:
            facts = {"company": self.folder.company, "folder": str(self.folder.path)}
            self.shared.log.error("folder.refuses", **facts, why=why)
        self.told.add(why)
        self.health.refused = why
        self.refusals.add(why)

    def forget_refusals(self) -> None:
        """Note that all is tried again from now on. `health.refused` ends after a scan without refusals."""
        if not self.refusals:
            self.health.refused = ""
            self.told.clear()
        self.refusals.clear()


def _where_and_why(error: OSError, folder: OutboundFolder) -> str:
    """What the disk refuses in which folders, and what is to be done, where that can be told."""
    why = error.strerror or str(error)
    if error.errno == errno.ENOSPC:
        return f"here: {why}; make room on this disk"
    if error.errno not in (errno.EACCES, errno.EPERM) or isinstance(error, InUse):
        return f"here: {why}"
    paths = [Path(name) for name in (error.filename, error.filename2) if isinstance(name, str)]
    named = [path.parent for path in paths if path.is_absolute()]  # of some, only the name is told
    ours = [folder.path, *(folder.path / name for name in folder.subfolders)]
    closed = [path for path in dict.fromkeys([*ours, *named]) if not (may_use(path) or is_missing(path))]
    places = closed or list(dict.fromkeys(named))  # a server, or Windows, refuses also what the modes allow
    where = f"in {listed(map(str, places))}" if places else "here"
    said = explain(error, places[0]) if closed else f"{why}; give filedrop's user the right to"
    return f"{where}: {said}"


def identification_of(company: Company, mapping: Rules) -> Identification:
    """The identification of one company's documents."""
    identified = partial(
        identify.identify,
        company=company.name,
        default_sender=company.participants[0] if company.participants else None,
        channel=company.channel,
        mapping=mapping,
    )
    return Identification(
        company.participants, lambda reading, name: identified(reading, file_name=name), mapping.xpaths
    )
