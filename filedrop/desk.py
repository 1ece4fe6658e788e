"""What every step of one account's two ways works with."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from filedrop.turns import Turns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import datetime

    import structlog

    from filedrop.accesspoint import AccessPoint
    from filedrop.config import Inbound, Outbound
    from filedrop.directory import Directory
    from filedrop.document import Document
    from filedrop.folders import InboundFolder
    from filedrop.journal import Journal
    from filedrop.porter import Porter
    from filedrop.standing import Standing


class InHand:
    """The documents that a thread is working on, by their ids: a document is in one thread at a time."""

    def __init__(self) -> None:
        self._ids: set[str] = set()
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


@dataclass(frozen=True, slots=True)
class Desk:
    """One account's access point, how it stands, what is to be done and what time it is.

    `now` is the wall clock with its offset, `steady` the monotonic clock in seconds. `heard` holds the numbers of the
    messages that documents have become, until the journal knows them. `gone` holds the ids of documents whose file
    wasn't there in two sweeps: has the access point been asked after them since?
    """

    account: str
    access_point: AccessPoint
    standing: Standing
    directory: Directory
    journal: Journal
    rules: Outbound
    now: Callable[[], datetime]
    steady: Callable[[], float]
    log: structlog.stdlib.BoundLogger
    porter: Porter
    turns: Turns = field(default_factory=Turns)
    in_hand: InHand = field(default_factory=InHand)
    heard: InHand = field(default_factory=InHand)
    gone: dict[str, bool] = field(default_factory=dict)

    def asked_after(self, document: Document) -> None:
        """The access point has been asked after this document, in vain: once more, if a person has taken its file."""
        if document.id in self.gone:
            self.gone[document.id] = True


@dataclass(frozen=True, slots=True)
class InboundDesk:
    """What one account's way in works with. `folders`: by each participant's key; `unassigned`: for nobody here."""

    account: str
    access_point: AccessPoint
    standing: Standing
    journal: Journal
    rules: Inbound
    folders: Mapping[str, InboundFolder]
    unassigned: InboundFolder | None
    porter: Porter
    now: Callable[[], datetime]
    steady: Callable[[], float]
    log: structlog.stdlib.BoundLogger
