"""The accounts of a sandbox: who may log in, and for which companies each receives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from filedrop.errors import FiledropError
from filedrop.sandbox.network import is_participant

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@dataclass(frozen=True)
class SandboxAccount:
    """A login, and the ParticipantIDs (`0192:987654325`) of the companies it receives for."""

    name: str
    password: str
    participants: tuple[str, ...]


# Two companies that don't exist; the organisation numbers have the right check digits (modulus 11).
SAMPLE_ACCOUNTS = (
    SandboxAccount("acme", "acme-secret", ("0192:987654325",)),
    SandboxAccount("fjord", "fjord-secret", ("0192:123456785",)),
)


def parse_account(text: str) -> SandboxAccount:
    """The account in `NAME:PASSWORD:PARTICIPANT[,PARTICIPANT...]`; ValueError says what is missing."""
    name, _, rest = text.partition(":")
    password, _, listed = rest.partition(":")
    participants = tuple(participant.strip() for participant in listed.split(","))
    if not (name and password and listed):
        raise ValueError(
            f"{text!r} is no account; write NAME:PASSWORD:PARTICIPANT[,PARTICIPANT...], "
            "such as acme:secret:0192:987654325"
        )
    for participant in participants:
        if not is_participant(participant):
            raise ValueError(
                f"{participant!r} in account {name!r} is no ParticipantID; write four digits, a colon and the "
                "identifier, such as 0192:987654325 (and no colon in the password)"
            )
    return SandboxAccount(name, password, participants)


def homes(accounts: Iterable[SandboxAccount]) -> Mapping[str, str]:
    """The account of each participant: a company receives on one account only (Several companies on one account)."""
    found: dict[str, str] = {}
    for account in accounts:
        for participant in account.participants:
            if found.setdefault(participant.lower(), account.name) != account.name:
                raise FiledropError(
                    f"{participant} is given to the sandbox accounts {found[participant.lower()]} and {account.name}; "
                    "a company can receive on one account only, so take it from one of them"
                )
    return found
