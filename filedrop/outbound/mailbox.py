"""What other threads have for the worker in a folder. Of all that is the folder's, they change nothing else.

Documents that come back are letters in a queue; the account's window bounds their number. Of a file's events only the
last one counts, and they are hints: where there are too many names, the folder is listed, and its files have to settle.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from filedrop.model.document import Document
    from filedrop.outbound.upload import OpenedDocument
    from filedrop.outbound.validating import Judgement
    from filedrop.process.folder_worker import FolderWorkers

NAMES = 10_000  # files whose events are kept: bounds the memory


class Returned(NamedTuple):
    """A document that comes back to its folder: from its sender, with its file, or from the follower.

    `is_recorded` is False where another step was recorded meanwhile.
    """

    document: Document
    opened: OpenedDocument | None = None
    is_recorded: bool = True


class Validated(NamedTuple):
    """A document that comes back from its validation, with its open file. In the journal it still waits.

    `judgement` is None where the validation was broken off (`is_logged`: the log says why), or never began because
    nothing may be posted now.
    """

    document: Document
    opened: OpenedDocument
    judgement: Judgement | None
    is_logged: bool = False

    @property
    def never_began(self) -> bool:
        """Whether the validation never began, because nothing may be posted now."""
        return self.judgement is None and not self.is_logged


class Closed(NamedTuple):
    """A file's writer has closed it, or it was moved in."""

    name: str


class Written(NamedTuple):
    """A file has been written, and its writer may go on. Wakes nobody: the end of the writing does."""

    name: str


class Touched(NamedTuple):
    """A file has been created or changed, and isn't closed; without a name, something has happened in the folder."""

    name: str = ""


FileEvent = Closed | Written | Touched
Letter = Returned | Validated | FileEvent


class Taken(NamedTuple):
    """File events that were taken.

    `are_lost`: so were others that nobody can name, so that no file is known as closed but by these. `are_urgent`: for
    one of them, the folder is to be listed.
    """

    events: list[FileEvent]
    are_lost: bool
    are_urgent: bool


class FileEvents:
    """The last event of each file since they were taken. Thread-safe; `take` is for the worker alone."""

    def __init__(self) -> None:
        self._last: dict[str, FileEvent] = {}
        self._are_urgent = True  # nobody has listed the folder yet
        self._are_lost = False
        self._lock = threading.Lock()

    @property
    def are_urgent(self) -> bool:
        """Whether something has happened for which the folder is to be listed."""
        return self._are_urgent

    def add(self, event: FileEvent) -> None:
        """Keep an event, in the place of an earlier one of this file."""
        with self._lock:
            before = self._last.get(event.name)
            if isinstance(event, Written) and isinstance(before, Closed | Touched):
                event = Touched(event.name)  # what it cancels has asked for a listing
            if event.name and (before is not None or len(self._last) < NAMES):
                self._last[event.name] = event
            elif event.name and not isinstance(event, Closed):
                self._are_lost = True
            if not isinstance(event, Written):
                self._are_urgent = True

    def pop(self) -> Taken:
        """Take all events."""
        with self._lock:  # at once: what comes in between would be lost
            taken = Taken(list(self._last.values()), self._are_lost, self._are_urgent)
            self._last = {}
            self._are_lost = self._are_urgent = False
        return taken


class Mailbox:
    """The letters of one folder. `put` is for any thread; what takes them, for the worker, which `put` wakes."""

    def __init__(self, workers: FolderWorkers) -> None:
        self.events = FileEvents()
        self._returned: deque[Returned] = deque()
        self._validated: deque[Validated] = deque()
        self._workers = workers

    def put(self, letter: Letter) -> None:
        """Leave a letter. Thread-safe."""
        match letter:
            case Returned():
                self._returned.append(letter)
            case Validated():
                self._validated.append(letter)
            case event:
                self.events.add(event)
        if not isinstance(letter, Written):
            self._workers.wake()

    def has_documents(self) -> bool:
        """Whether documents have come back. Thread-safe."""
        return bool(self._returned or self._validated)

    def pop_returned(self, most: int) -> list[Returned]:
        """The next documents that have come back from senders and follower, at most `most`."""
        return [self._returned.popleft() for _ in range(min(most, len(self._returned)))]

    def pop_validated(self) -> list[Validated]:
        """The documents that have come back from their validation."""
        return [self._validated.popleft() for _ in range(len(self._validated))]
