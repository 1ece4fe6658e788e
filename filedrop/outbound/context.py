"""What the pipelines of an account share."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from filedrop import identify
from filedrop.model.document import Document, Event, new_id
from filedrop.model.message import is_known

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from datetime import datetime, timedelta

    import structlog

    from filedrop.accesspoint import AccessPoint
    from filedrop.accesspoint.breaker import CircuitBreaker
    from filedrop.accesspoint.directory import ReceiverDirectory
    from filedrop.config import Company, Outbound
    from filedrop.errors import FiledropError
    from filedrop.identify import Identity, Reading
    from filedrop.identify.mapping import Rules
    from filedrop.journal import Journal, Outcome
    from filedrop.model.message import Message
    from filedrop.outbound.validating import Validating
    from filedrop.pauses import Backoff
    from filedrop.process.guard import Guard
    from filedrop.process.pool import Pool
    from filedrop.storage.company_folders import OutboundFolder


NUMBERS_KEPT = 1000  # numbers that are kept; answers overtake each other, but not so many


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

    def admit(self, document_id: str) -> bool:
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


class NewNumbers:
    """Which numbers of messages no document of an account has, without a question for each. Thread-safe.

    An access point counts its messages: a number above all that the journal has at first is new, once.
    """

    def __init__(self) -> None:
        self._highest: int | None = None  # that the journal may have without our knowing of it
        self._latest: set[int] = set()  # those above it
        self._lock = threading.Lock()

    def use(self, number: int, recorded: Callable[[], int]) -> bool:
        """Whether a number is new; False where a document may have it. It is new no more.

        `recorded` returns the highest number in the journal; it is called once, and its errors are raised.
        """
        with self._lock:
            if self._highest is None:
                self._highest = recorded()
            if number <= self._highest or number in self._latest:
                return False
            self._latest.add(number)
            if len(self._latest) > NUMBERS_KEPT:
                self._highest = sorted(self._latest)[NUMBERS_KEPT // 2]
                self._latest = {other for other in self._latest if other > self._highest}
            return True


class MissingDocuments:
    """Documents whose file two comparisons have missed, and after which of them the access point was asked since.

    Thread-safe: comparisons note and forget, the follower asks.
    """

    def __init__(self) -> None:
        self._was_asked: dict[str, bool] = {}
        self._lock = threading.Lock()

    def __contains__(self, document_id: object) -> bool:
        """Whether the document's file is missing."""
        return document_id in self._was_asked

    def note(self, document_id: str) -> None:
        """Note that a document's file is missing: the access point is to be asked after it."""
        with self._lock:
            self._was_asked.setdefault(document_id, False)

    def note_asked(self, document_id: str) -> None:
        """Note that the access point was asked after a document without result."""
        with self._lock:
            if document_id in self._was_asked:
                self._was_asked[document_id] = True

    def was_asked(self, document_id: str) -> bool:
        """Whether the access point was asked after a document since its file is missing."""
        return self._was_asked.get(document_id, False)

    def forget(self, document_id: str) -> None:
        """Forget a document whose file is there, or which has ended."""
        with self._lock:
            self._was_asked.pop(document_id, None)


@dataclass(frozen=True, slots=True)
class Unrecorded:
    """The outcome of a request, still to be recorded; `returned` is called with the recorded document or the error."""

    outcome: Outcome
    returned: Callable[[Document | FiledropError], None]


class RunningAccount(Protocol):
    """What the pipelines of an account ask it and tell it: `daemon.account.Account`. Thread-safe."""

    name: str

    def ready(self) -> bool:
        """Whether documents may be posted and looked for. First, the journal must know what was sent before."""

    def record(self, outcome: Unrecorded) -> None:
        """Have the outcome of a request recorded; it is then returned, by the recorder's thread."""

    def end_step(self, *, has_news: bool) -> None:
        """Go on with what may be done after a step in a folder.

        `has_news`: a document came back or was put away, and senders have no other document of this folder.
        """


@dataclass(frozen=True, slots=True)
class Context:
    """Dependencies shared by the pipelines of one account.

    `senders` are the threads that make its requests. `now` is the wall clock with its offset, `steady` the monotonic
    clock in seconds. `guard` survives the errors of what nothing else depends on.
    `retry`: the pauses of probes, and of a document that never arrived. `validating` is None where documents are
    neither prepared, nor validated, nor asked for attachments, nor put aside; `keep_archive` where the archive is kept
    for ever. `participants`: the company's.
    After `stopped`, what comes back is put away, and nothing else begins.

    The account itself has the common settings, each pipeline those of its company (`of_company`).
    """

    account: RunningAccount
    senders: Pool
    access_point: AccessPoint
    breaker: CircuitBreaker
    directory: ReceiverDirectory
    journal: Journal
    rules: Outbound
    retry: Backoff
    now: Callable[[], datetime]
    steady: Callable[[], float]
    guard: Guard
    log: structlog.stdlib.BoundLogger
    window: Window
    validating: Validating | None
    stopped: threading.Event
    keep_archive: timedelta | None = None
    participants: tuple[str, ...] = ()
    missing: MissingDocuments = field(default_factory=MissingDocuments)
    numbers: NewNumbers = field(default_factory=NewNumbers)

    def of_company(self, company: Company) -> Context:
        """The same for one company, with its settings."""
        rules = company.apply_to(self.rules)
        return replace(
            self,
            rules=rules,
            validating=self.validating if rules.is_judged else None,
            keep_archive=company.keep.archive_for(),
            participants=company.participants,
        )


@dataclass(frozen=True, slots=True)
class Identification:
    """How a company's documents are identified: by its participants and the mapping rules.

    `prepares`: the ids are written into the documents.
    """

    company: str
    participants: tuple[str, ...]
    channel: str
    mapping: Rules
    prepares: bool = False

    @property
    def xpaths(self) -> Collection[str]:
        """The XPaths in the mapping rules for the company."""
        return self.mapping.xpaths_of(self.company)

    def identify(self, reading: Reading, file_name: str) -> Identity:
        """The ids of a document that was read, by its content and the name of its file."""
        return identify.identify(
            reading,
            company=self.company,
            file_name=file_name,
            participants=self.participants,
            channel=self.channel,
            mapping=self.mapping,
            prepares=self.prepares,
        )


def identification_of(company: Company, mapping: Rules) -> Identification:
    """The identification of one company's documents."""
    return Identification(company.name, company.participants, company.channel, mapping, prepares=company.prepare.ids)


def new_document(shared: Context, folder: OutboundFolder, name: str, file: str, size: int) -> Document:
    """A new document without a row yet: it was dropped as `name` and lies in `sending/` as `file`."""
    now = shared.now()
    return Document(
        id=new_id(now),
        company=folder.company,
        folder=folder.id,
        account=shared.account.name,
        file=file,
        dropped_as=name,
        claimed=now,
        size=size,
        history=(Event(now, "claimed"),),
    )
