"""What every step of one account's way out works with."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime

    import structlog

    from filedrop.accesspoint import AccessPoint
    from filedrop.config import Outbound
    from filedrop.document import Document
    from filedrop.journal import Journal
    from filedrop.standing import Standing


class InHand:
    """The documents that a thread is working on: a document is in one thread at a time."""

    def __init__(self) -> None:
        self._ids: set[str] = set()
        self._wire: dict[str, Document] = {}
        self._lock = threading.Lock()

    def take(self, document_id: str) -> bool:
        """Take a document in hand; False when another thread has it."""
        with self._lock:
            if document_id in self._ids:
                return False
            self._ids.add(document_id)
            return True

    def give_back(self, document_ids: Iterable[str]) -> None:
        """Let others have them."""
        with self._lock:
            self._ids.difference_update(document_ids)

    @property
    def empty(self) -> bool:
        """Is no document in any thread's hand?"""
        return not self._ids

    def __contains__(self, document_id: str) -> bool:
        return document_id in self._ids

    def posting(self, document: Document) -> None:
        """A request for this document is about to leave."""
        with self._lock:
            self._wire[document.id] = document

    def posted(self, document: Document) -> None:
        """What came of it is in the journal."""
        with self._lock:
            self._wire.pop(document.id, None)

    def on_the_wire(self) -> dict[str, Document]:
        """Documents whose request may be at the access point while its answer isn't in the journal yet, by id."""
        with self._lock:
            return dict(self._wire)


@dataclass(frozen=True, slots=True)
class Desk:
    """One account's access point, how it stands, what is to be done and what time it is.

    `now` is the wall clock with its offset, `steady` the monotonic clock in seconds. `gone` holds the ids of documents
    whose file a person has taken.
    """

    account: str
    access_point: AccessPoint
    standing: Standing
    journal: Journal
    rules: Outbound
    now: Callable[[], datetime]
    steady: Callable[[], float]
    log: structlog.stdlib.BoundLogger
    in_hand: InHand = field(default_factory=InHand)
    gone: set[str] = field(default_factory=set)
