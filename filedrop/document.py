"""An outbound document, the states it goes through, and the steps that are legal between them.

A `Document` never changes: each step returns the next one, and a step that makes no sense raises `ValueError`, which is
a mistake in the program. There is one document for each *drop*, with an id given at the claim: names repeat
(`invoice.xml` every night), ids don't. Everything here is pure; the clock comes in as an argument.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

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


def new_id(now: datetime) -> str:
    """An id for a drop: 26 letters that sort by time (a ULID: 48 bits of milliseconds, 80 of chance)."""
    number = (int(now.timestamp() * 1000) << 80) | secrets.randbits(80)
    return "".join(_CROCKFORD[(number >> shift) & 31] for shift in range(125, -1, -5))


def backoff(attempts: int, first: timedelta, longest: timedelta) -> timedelta:
    """How long to leave something alone after its n-th attempt: doubling from `first`, at most `longest`."""
    return min(longest, first * 2 ** min(max(attempts - 1, 0), 40))
