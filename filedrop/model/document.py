"""An outbound document, its states, and the legal steps between them.

A `Document` is immutable: each step returns the next one, and an illegal step raises `ValueError`, which is a bug in
the program. There is one document for each *drop*, with an id given at the claim: names repeat (`invoice.xml` every
night), ids are unique. Everything here is pure; the clock comes in as an argument.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from filedrop.texts.printable import valid
from filedrop.times import month

if TYPE_CHECKING:
    from datetime import datetime

    from filedrop.model.fault import Fault
    from filedrop.model.prepared import PdfFile, Prepared

UNCLEAR_AT_MOST = 10  # contract 6: the tenth unclear attempt fails
UNEXPLAINED_AT_MOST = 3  # contract 6: a 400 that names no fault fails the third time
A_PERSON_SAYS = ", a person says"  # ends each event that is a person's decision
NEVER_ARRIVED = "never arrived"
PREPARED = "prepared"
CAME_BACK = "its file came back"
REPLACED = "replaced by a later answer"
LET_THROUGH = f"let through{A_PERSON_SAYS}"
BILLING_WITH_RESPONSE = "urn:peppol:bis:billing_with_response"  # the process of Peppol BIS 66
BILLS = ("Invoice", "CreditNote")  # the roots of the documents that are answered in it
FAILED_IN, UNREACHABLE_IN = ENDED_UNSENT = ("failed", "not-on-peppol")  # the places of what ended and wasn't sent
_FIRST, _LAST = 100, 400  # events that a history keeps: with thousands, its sidecar could not be read any more
_SCHEME = re.compile(
    r"(?:iso6523-actorid-upis|busdox-docid-qns|peppol-doctype-wildcard|cenbii-procid-[a-z]+)::"
    r"|[a-z0-9-]+::(?=urn:|https?:)",  # of other networks
    re.IGNORECASE,
)
_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


class State(StrEnum):
    """The state of a document, in the words of the sidecar (contract 4)."""

    WAITING = "waiting"
    SENDING = "sending"
    DOUBT = "doubt"
    SENT = "sent"
    DELIVERED = "delivered"
    FAILED = "failed"
    UNREACHABLE = "unreachable"
    TAKEN = "taken"

    @property
    def finished(self) -> bool:
        """Only a person takes the document further from this state."""
        return self in (State.DELIVERED, State.FAILED, State.UNREACHABLE, State.TAKEN)


class Need(StrEnum):
    """What a waiting document needs before it can be posted; each value is the event in its history."""

    IDS = "not identified yet"
    VERDICT = "not validated"
    FILE = "not read"
    PREPARED = "not prepared"
    RECEIVER = "not in the directory"


@dataclass(frozen=True, slots=True)
class Ids:
    """The ids of a document: the form fields of `POST /outbox`."""

    sender: str
    receiver: str
    document_id: str
    process_id: str
    channel: str = ""


def without_scheme(written: str) -> str:
    """An id without the name of its scheme, such as `busdox-docid-qns::`, and without blanks around it.

    The name says how participants, documents or processes are identified, and is no part of the id itself (Peppol
    policy for identifiers 4.4).
    """
    written = written.strip()
    scheme = _SCHEME.match(written)
    return written[scheme.end() :] if scheme else written


def same_participant(participant: str | None, other: str | None) -> bool:
    """Whether two ParticipantIDs are equal, ignoring case and scheme prefix (Peppol policy for identifiers 5)."""
    return participant_key(participant or "") == participant_key(other or "")


def participant_key(participant: str) -> str:
    """A ParticipantID in the form in which it is compared."""
    return without_scheme(participant).lower()


def local_name(document_id: str | None) -> str:
    """The local name in a document id, such as `Invoice`; "" where it has none."""
    return (document_id or "").partition("##")[0].rpartition("::")[2]


def expects_answer(process_id: str | None, document_type: str | None) -> bool:
    """Whether the sender of a document of this type expects an answer by its receiver.

    A response has the same process (PEPPOL-T111-R008), and expects none.
    """
    return without_scheme(process_id or "") == BILLING_WITH_RESPONSE and document_type in BILLS


def new_id(now: datetime) -> str:
    """A new id for a drop: 26 letters that sort by time (a ULID: 48 bits of milliseconds, 80 random bits)."""
    number = (int(now.timestamp() * 1000) << 80) | secrets.randbits(80)
    return "".join([_CROCKFORD[(number >> shift) & 31] for shift in range(125, -1, -5)])


@dataclass(frozen=True, slots=True)
class Event:
    """One line of a document's history: when (by our clock), what, and its details."""

    at: datetime
    event: str
    facts: dict[str, Any] = field(default_factory=dict)


_NEEDS_NOTHING: dict[str, Any] = {"needs": None, "needs_why": "", "needs_since": None}
_LEGAL: dict[State, frozenset[State]] = {
    State.WAITING: frozenset({State.SENDING, State.FAILED, State.UNREACHABLE, State.TAKEN}),
    State.SENDING: frozenset({State.SENT, State.WAITING, State.FAILED, State.DOUBT, State.TAKEN}),
    State.DOUBT: frozenset({State.SENT, State.WAITING, State.FAILED, State.TAKEN}),
    State.SENT: frozenset({State.DELIVERED, State.FAILED, State.UNREACHABLE, State.TAKEN}),
    State.DELIVERED: frozenset(),
    State.FAILED: frozenset(),
    State.UNREACHABLE: frozenset(),
    State.TAKEN: frozenset({State.SENT}),
}


@dataclass(frozen=True, kw_only=True)
class Document:
    """A dropped file on its way out, in its state after its last step.

    `folder` is the id in the marker of its outbound folder; `place` and `file` are its last folder and name there.
    `identity` is the account that it was posted to (`username@host`), "" before the first request. `receiver_name` is
    as the document writes it. `type` is the root element, `type_code` the code by which the document itself states what
    it is (UNCL1001). `first_attempt` is the access point's own clock at the first request that may have reached it.
    `pdf` was dropped with it. `prepared` was posted in place of the file, None where that was the file;
    `posted_meaning` is of that. Before `due`, the document is left alone. `needs` is what it waits for, why, and since
    when, if that is its own: what keeps all documents of a folder or account isn't recorded here. `revision` counts the
    journal's records of it.
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
    pdf: PdfFile | None = None
    prepared: Prepared | None = None
    posted_meaning: str | None = None
    sender: str | None = None
    receiver: str | None = None
    document_id: str | None = None
    process_id: str | None = None
    channel: str = ""
    sources: dict[str, str] = field(default_factory=dict)
    type: str | None = None
    number: str | None = None
    issue_date: str | None = None
    type_code: str | None = None
    receiver_name: str | None = None
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
    needs: Need | None = None
    needs_why: str = ""
    needs_since: datetime | None = None
    revision: int = 0

    def but(self, **changes: Any) -> Document:
        """A copy with these changes."""
        # As `dataclasses.replace`, in a tenth of its time; each document is copied about eight times.
        changed = object.__new__(Document)
        object.__setattr__(changed, "__dict__", self.__dict__ | changes)
        return changed

    @property
    def home(self) -> str:
        """The place below the outbound folder for the document's state."""
        match self.state:
            case State.SENT:
                return "sent"
            case State.DELIVERED:
                return f"archive/{month(self.delivered, self.accepted or self.claimed)}"
            case State.FAILED:
                return FAILED_IN
            case State.UNREACHABLE:
                return UNREACHABLE_IN
            case State.TAKEN:
                return self.place
            case _:
                return "sending"

    @property
    def log_facts(self) -> dict[str, str]:
        """What each line of the log about it has, so that its id finds all of them."""
        return {"company": self.company, "file": self.file, "document": self.id}

    @property
    def ids(self) -> Ids:
        """The ids for the access point. Raises ValueError where one is missing."""
        if not (self.sender and self.receiver and self.document_id and self.process_id):
            raise ValueError(f"{self.id} can't be sent without all its ids")
        return Ids(self.sender, self.receiver, self.document_id, self.process_id, self.channel)

    @property
    def may_be_accepted(self) -> bool:
        """Whether the access point may have it; the same content isn't sent again then (contract 2, duplicates)."""
        if self.state is State.FAILED:
            return self.error is not None and self.error.code == "no-answer"
        if self.state is State.UNREACHABLE:
            return False
        if self.state is State.TAKEN:
            return self.msg_no is not None or self.unclear > 0
        return self.state is not State.WAITING

    @property
    def meanings(self) -> set[str]:
        """The meaning of the dropped file, and of what was posted in its place."""
        return {self.meaning, *([self.posted_meaning] if self.posted_meaning else ())}

    @property
    def was_posted(self) -> bool:
        """Whether a request with it has begun."""
        return any(event.event == "sending" for event in self.history)

    @property
    def was_let_through(self) -> bool:
        """Whether a person has decided to send it even if it is a duplicate."""
        return any(event.event == LET_THROUGH for event in self.history)

    @property
    def why_in_doubt(self) -> str:
        """The reason why it was last put in doubt; "" where it never was."""
        reasons = [event.facts.get("why", "") for event in self.history if event.event == "in doubt"]
        return reasons[-1] if reasons else ""

    @property
    def in_doubt_since(self) -> datetime | None:
        """When it was last put in doubt; None where it never was."""
        return next((event.at for event in reversed(self.history) if event.event == "in doubt"), None)

    @property
    def is_replaced(self) -> bool:
        """Whether it is an answer that a later answer has replaced."""
        return any(event.event == REPLACED for event in self.history)

    def why_without(self, need: Need) -> str:
        """Why the document waits for this; "" where it doesn't."""
        return self.needs_why if self.needs is need else ""

    def waits_for(self, now: datetime, need: Need, why: str, *, due: datetime) -> Document:
        """The same document, waiting until `due` for something of its own; a new reason becomes an event.

        The reason may quote a file name that isn't Unicode.
        """
        why = valid(why)
        if self.why_without(need) == why:
            return self.later(due)
        since = self.needs_since if self.needs is need else now
        history = (*self.history, Event(now, need.value, {"why": why}))
        return self.but(due=due, needs=need, needs_why=why, needs_since=since, history=history)

    def needs_nothing(self) -> Document:
        """The same document, with what it waited for. Each step does the same."""
        return self.but(**_NEEDS_NOTHING) if self.needs else self

    def warned(self, warning: str) -> Document:
        """The same document with this warning; each warning is kept once."""
        return self if warning in self.warnings else self.but(warnings=(*self.warnings, warning))

    def sending(self, now: datetime, *, identity: str, clock: datetime | None) -> Document:
        """The document is about to be posted; `clock` is the access point's own time, if known."""
        again = self.identity == identity
        facts = {"clock": clock.isoformat()} if again and clock else {}
        first = self.first_attempt if again else clock
        return self._step(State.SENDING, now, "sending", facts, identity=identity, first_attempt=first, due=None)

    def posted_as(self, now: datetime, prepared: Prepared | None, meaning: str | None) -> Document:
        """The document with what is posted in its place, and the meaning of that; None where it is posted as it is."""
        history = self.history
        if prepared is not None and prepared != self.prepared:
            history = (*history, Event(now, PREPARED, {"what": ", ".join(prepared.changed)}))
        return self.but(prepared=prepared, posted_meaning=meaning, history=history)

    def requested(self, clock: datetime | None) -> Document:
        """The request is made, by the access point's clock: later than `sending` said, since a batch waits its turn."""
        last = self.history[-1]
        if clock is None:
            return self
        if "clock" in last.facts:
            again = Event(last.at, last.event, last.facts | {"clock": clock.isoformat()})
            return self.but(history=(*self.history[:-1], again))
        is_first = [step.event for step in self.history].count("sending") == 1
        return self.but(first_attempt=clock) if is_first else self

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
        return self._step(State.WAITING, now, NEVER_ARRIVED, {"why": why}, attempts=self.attempts + 1, due=due)

    def doubted(self, now: datetime, why: str, *, unexplained: bool = False) -> Document:
        """The request got no clear answer."""
        counts = {"unclear": self.unclear + 1, "unexplained": self.unexplained + unexplained}
        return self._step(State.DOUBT, now, "in doubt", {"why": why}, **counts)

    def suspected(self, now: datetime, identity: str, *, since: datetime | None = None) -> Document:
        """The document may have been posted to this account, though the journal has no record of it.

        `since` is the earliest possible time of the claim, where that is unknown too.
        """
        if self.state not in (State.WAITING, State.DOUBT):
            raise ValueError(f"{self.id}: only what waits or is in doubt is suspected, not what is {self.state}")
        why = "the journal has lost what was done with it: it may have been posted"
        return self.but(
            state=State.DOUBT,
            identity=identity,
            claimed=min(self.claimed, since or self.claimed),
            unclear=max(1, self.unclear),
            due=None,
            history=(*self.history, Event(now, "in doubt", {"why": why})),
            **_NEEDS_NOTHING,
        )

    def not_found(self, now: datetime, *, event: str = "not found at the access point") -> Document:
        """Two complete searches at the access point found nothing, or a person says so: it may be sent again."""
        return self._step(State.WAITING, now, event, due=None)

    def delivered_at(self, now: datetime, delivered: str, uuid: str | None) -> Document:
        """The access point reports the document as delivered; `delivered` is the timestamp as written there."""
        return self._step(State.DELIVERED, now, "delivered", delivered=delivered, uuid=uuid or self.uuid, due=None)

    def failed(self, now: datetime, fault: Fault) -> Document:
        """The document failed: a person has to look at it."""
        return self._step(State.FAILED, now, "failed", {"code": fault.code}, error=fault, due=None)

    def unreachable(self, now: datetime, fault: Fault) -> Document:
        """The receiver can't be reached over Peppol: a person sends the document another way."""
        return self._step(State.UNREACHABLE, now, "unreachable", {"code": fault.code}, error=fault, due=None)

    def taken(self, now: datetime) -> Document:
        """Its file is no longer here: somebody took or replaced it, or it has changed and is claimed anew."""
        return self._step(State.TAKEN, now, "taken", due=None)

    def back(self, now: datetime) -> Document:
        """Its file is in `sent/` again: it is followed again."""
        return self._step(State.SENT, now, CAME_BACK, due=None, asked=0)

    def replaced(self, now: datetime) -> Document:
        """A later answer replaces this one, which never left."""
        return self._step(State.TAKEN, now, REPLACED, due=None)

    def gone(self, now: datetime) -> Document:
        """The file has disappeared. A finished document counts as put away; any other was taken."""
        return self.at(self.home, self.file) if self.state.finished else self.taken(now)

    def at(self, place: str, file: str) -> Document:
        """The same document at another place."""
        return self.but(place=place, file=file)

    def asked_after(self, due: datetime) -> Document:
        """The access point was asked, and the document isn't delivered yet: leave it alone until `due`."""
        return self.but(asked=self.asked + 1, due=due)

    def later(self, due: datetime) -> Document:
        """The same document, left alone until `due`."""
        return self.but(due=due)

    def _step(
        self, state: State, now: datetime, event: str, facts: dict[str, Any] | None = None, **changes: Any
    ) -> Document:
        if state not in _LEGAL[self.state]:
            raise ValueError(f"{self.id}: no step leads from {self.state} to {state}")
        kept = (*self.history[:_FIRST], *self.history[_FIRST:][-_LAST:])
        return self.but(state=state, history=(*kept, Event(now, event, facts or {})), **_NEEDS_NOTHING, **changes)
