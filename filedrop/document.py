"""An outbound document, the states it goes through, and the steps that are legal between them.

A `Document` never changes: each step returns the next one, and a step that makes no sense raises `ValueError`, which is
a mistake in the program. There is one document for each *drop*, with an id given at the claim: names repeat
(`invoice.xml` every night), ids don't. Everything here is pure; the clock comes in as an argument.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from filedrop.moments import month

if TYPE_CHECKING:
    from datetime import datetime

PARTICIPANT_PREFIX = "iso6523-actorid-upis::"
UNCLEAR_AT_MOST = 10  # contract 6: the tenth unclear attempt fails
UNEXPLAINED_AT_MOST = 3  # contract 6: a 400 that names no fault fails the third time
_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


class State(StrEnum):
    """Where a document stands, in the words of the sidecar (contract 4)."""

    WAITING = "waiting"
    SENDING = "sending"
    DOUBT = "doubt"
    SENT = "sent"
    DELIVERED = "delivered"
    FAILED = "failed"
    TAKEN = "taken"

    @property
    def finished(self) -> bool:
        """Nothing more will happen to it, except by a person."""
        return self in (State.DELIVERED, State.FAILED, State.TAKEN)


@dataclass(frozen=True, slots=True)
class Ids:
    """What the access point must be told about a document: the form fields of `POST /outbox`."""

    sender: str
    receiver: str
    document_id: str
    process_id: str
    channel: str = ""


def same_participant(one: str | None, other: str | None) -> bool:
    """ParticipantIDs are compared without case and without their scheme prefix (Peppol policy for identifiers 5)."""
    return participant_key(one or "") == participant_key(other or "")


def participant_key(participant: str) -> str:
    """A ParticipantID in the one form that is compared."""
    return participant.strip().lower().removeprefix(PARTICIPANT_PREFIX)


def local_name(document_id: str | None) -> str:
    """`Invoice` of a document id; "" where it names none."""
    return (document_id or "").partition("##")[0].rpartition("::")[2]


def new_id(now: datetime) -> str:
    """An id for a drop: 26 letters that sort by time (a ULID: 48 bits of milliseconds, 80 of chance)."""
    number = (int(now.timestamp() * 1000) << 80) | secrets.randbits(80)
    return "".join(_CROCKFORD[(number >> shift) & 31] for shift in range(125, -1, -5))


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a document failed: the sidecar's `error`. `code` is one of contract 4's."""

    code: str
    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Event:
    """One line of a document's history: when (our clock), what, and the facts that belong to it."""

    at: datetime
    event: str
    facts: dict[str, Any] = field(default_factory=dict)


_LEGAL: dict[State, frozenset[State]] = {
    State.WAITING: frozenset({State.SENDING, State.FAILED, State.TAKEN}),
    State.SENDING: frozenset({State.SENT, State.WAITING, State.FAILED, State.DOUBT, State.TAKEN}),
    State.DOUBT: frozenset({State.SENT, State.WAITING, State.FAILED, State.TAKEN}),
    State.SENT: frozenset({State.DELIVERED, State.FAILED, State.TAKEN}),
    State.DELIVERED: frozenset(),
    State.FAILED: frozenset(),
    State.TAKEN: frozenset(),
}


@dataclass(frozen=True, kw_only=True)
class Document:
    """A dropped file on its way out, as it stands after its last step.

    `folder` is the id in the marker of its outbound folder; `place` and `file` say where below that folder it was last
    known to lie. `identity` is the account it was posted to (`username@host`), "" before the first request.
    `first_attempt` is the access point's own clock at the first request that may have reached it.
    `due` is the moment before which nothing is to be done with it. `revision` counts the journal's records of it.
    """

    id: str
    company: str
    folder: str
    account: str
    identity: str = ""
    state: State = State.WAITING
    place: str = "sending"
    file: str
    dropped_as: str
    claimed: datetime
    size: int = 0
    sha256: str = ""
    meaning: str = ""
    sender: str | None = None
    receiver: str | None = None
    document_id: str | None = None
    process_id: str | None = None
    channel: str = ""
    sources: dict[str, str] = field(default_factory=dict)
    type: str | None = None
    number: str | None = None
    issue_date: str | None = None
    warnings: tuple[str, ...] = ()
    attempts: int = 0
    unclear: int = 0
    unexplained: int = 0
    due: datetime | None = None
    first_attempt: datetime | None = None
    msg_no: int | None = None
    uuid: str | None = None
    received: str | None = None
    delivered: str | None = None
    accepted: datetime | None = None
    asked: int = 0
    error: Fault | None = None
    history: tuple[Event, ...] = ()
    revision: int = 0

    def but(self, **changes: Any) -> Document:
        """The same document but for these changes: as `dataclasses.replace`, in a tenth of its time.

        Each document goes through about eight of them.
        """
        changed = object.__new__(Document)
        changed.__dict__.update(self.__dict__ | changes)
        return changed

    @property
    def home(self) -> str:
        """The place below the outbound folder where its state belongs."""
        match self.state:
            case State.SENT:
                return "sent"
            case State.DELIVERED:
                return f"archive/{month(self.delivered, self.accepted or self.claimed)}"
            case State.FAILED:
                return "failed"
            case State.TAKEN:
                return self.place
            case _:
                return "sending"

    @property
    def ids(self) -> Ids:
        """What to tell the access point. Raises ValueError where an id is missing."""
        if not (self.sender and self.receiver and self.document_id and self.process_id):
            raise ValueError(f"{self.id} can't be sent without all its ids")
        return Ids(self.sender, self.receiver, self.document_id, self.process_id, self.channel)

    @property
    def may_be_accepted(self) -> bool:
        """The access point has it, or may have it: the same content must not be sent again (contract 2, duplicates)."""
        if self.state is State.FAILED:
            return self.error is not None and self.error.code == "no-answer"
        if self.state is State.TAKEN:
            return self.msg_no is not None or self.unclear > 0
        return self.state is not State.WAITING

    @property
    def why_in_doubt(self) -> str:
        """The reason for which it was last put in doubt, "" where it never was."""
        reasons = [event.facts.get("why", "") for event in self.history if event.event == "in doubt"]
        return reasons[-1] if reasons else ""

    def warned(self, warning: str) -> Document:
        """The same document with a warning, which is said once."""
        return self if warning in self.warnings else self.but(warnings=(*self.warnings, warning))

    def sending(self, now: datetime, *, identity: str, clock: datetime | None) -> Document:
        """About to be posted; `clock` is the access point's own time, if it has told it."""
        first = self.first_attempt if self.identity == identity and self.first_attempt else clock
        return self._step(State.SENDING, now, "sending", identity=identity, first_attempt=first, due=None)

    def sent(
        self, now: datetime, msg_no: int, *, received: str | None, uuid: str | None, event: str = "accepted"
    ) -> Document:
        """The access point has accepted it under this number."""
        return self._step(
            State.SENT,
            now,
            event,
            {"msg_no": msg_no},
            msg_no=msg_no,
            received=received,
            uuid=uuid,
            accepted=now,
            due=None,
            attempts=0,
        )

    def never_arrived(self, now: datetime, why: str, *, due: datetime | None = None) -> Document:
        """The request certainly did not reach the access point, or was refused for no fault of the document."""
        return self._step(State.WAITING, now, "never arrived", {"why": why}, attempts=self.attempts + 1, due=due)

    def doubted(self, now: datetime, why: str, *, unexplained: bool = False) -> Document:
        """There was no clear answer."""
        return self._step(
            State.DOUBT,
            now,
            "in doubt",
            {"why": why},
            unclear=self.unclear + 1,
            unexplained=self.unexplained + unexplained,
        )

    def suspected(self, now: datetime, identity: str, *, since: datetime | None = None) -> Document:
        """It may have been posted to this account, though the journal doesn't know of it.

        `since`: not before then, where it was claimed at a time that we don't know either.
        """
        if self.state is not State.WAITING:
            raise ValueError(f"{self.id}: only what waits to be posted is suspected, not what is {self.state}")
        why = "the journal has lost what was done with it: it may have been posted"
        return self.but(
            state=State.DOUBT,
            identity=identity,
            claimed=min(self.claimed, since or self.claimed),
            unclear=max(1, self.unclear),
            due=None,
            history=(*self.history, Event(now, "in doubt", {"why": why})),
        )

    def not_found(self, now: datetime, *, event: str = "not found at the access point") -> Document:
        """Two complete looks have not found it at the access point, or a person says so: it may be sent again."""
        return self._step(State.WAITING, now, event, due=None)

    def delivered_at(self, now: datetime, delivered: str, uuid: str | None) -> Document:
        """The access point reports it as delivered; `delivered` as written there."""
        return self._step(State.DELIVERED, now, "delivered", delivered=delivered, uuid=uuid or self.uuid, due=None)

    def failed(self, now: datetime, fault: Fault) -> Document:
        """A person has to look at it."""
        return self._step(State.FAILED, now, "failed", {"code": fault.code}, error=fault, due=None)

    def taken(self, now: datetime) -> Document:
        """A person took the file away."""
        return self._step(State.TAKEN, now, "taken", due=None)

    def gone(self, now: datetime) -> Document:
        """Its file isn't here any more. One that had come to its end has done so all the same."""
        return self.at(self.home, self.file) if self.state.finished else self.taken(now)

    def at(self, place: str, file: str) -> Document:
        """The same document, known to lie elsewhere."""
        return self.but(place=place, file=file)

    def asked_after(self, due: datetime) -> Document:
        """Asked after and not delivered yet: leave it alone until then."""
        return self.but(asked=self.asked + 1, due=due)

    def later(self, due: datetime) -> Document:
        """The same document, to be left alone until then."""
        return self.but(due=due)

    def _step(
        self, state: State, now: datetime, event: str, facts: dict[str, Any] | None = None, **changes: Any
    ) -> Document:
        if state not in _LEGAL[self.state]:
            raise ValueError(f"{self.id}: no step leads from {self.state} to {state}")
        return self.but(state=state, history=(*self.history, Event(now, event, facts or {})), **changes)
