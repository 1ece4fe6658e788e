"""What the PEPPOL network behind the sandbox knows: how ids look, what every participant accepts, and its accounts."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from filedrop.errors import FiledropError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_PARTICIPANT = re.compile(r"[0-9]{4}:\S+")  # Participant and document identification 1
FORMS = {
    # The full document type identifier; Peppol code list 9.7 also has sixteen that name no namespace.
    "document_id": re.compile(r"(\S+::[^\s:#]+|urn:peppol:doctype:[^\s#]+)##\S+::\S+"),
    # The interface speaks of a URN, but the Peppol code list 9.7 itself has others, such as `none`.
    "process_id": re.compile(r"[!-~]+"),
    "sender": _PARTICIPANT,
    "receiver": _PARTICIPANT,
}
"""How the ids of a message look."""


def is_participant(text: str) -> bool:
    """Whether a text is a ParticipantID: `<scheme_code>:<identifier>`, the scheme code with 4 digits."""
    return _PARTICIPANT.fullmatch(text) is not None


def accepted(local_name: str) -> list[tuple[str, str]]:
    """The DocumentIDs and ProcessIDs under which every participant takes a document: those of PEPPOL BIS 3."""
    return [
        (f"{namespace}::{local_name}##{customization}::{version}", process)
        for namespace, name, customization, version, process in _BIS_3
        if name == local_name
    ]


def _ubl(name: str, customization: str, process: str, version: str = "2.1") -> tuple[str, str, str, str, str]:
    return f"urn:oasis:names:specification:ubl:schema:xsd:{name}-2", name, customization, version, process


_EN16931 = "urn:cen.eu:en16931:2017#compliant#urn:fdc:peppol.eu:2017:poacc"
_BILLING = f"{_EN16931}:billing:3.0"
_BILLING_PROCESS = "urn:fdc:peppol.eu:2017:poacc:billing:01:1.0"
_SELF_BILLING = f"{_EN16931}:selfbilling:3.0"
_SELF_BILLING_PROCESS = "urn:fdc:peppol.eu:2017:poacc:selfbilling:01:1.0"
_TRANSACTION = "urn:fdc:peppol.eu:poacc:trns"
_PROCESS = "urn:fdc:peppol.eu:poacc:bis"
_CII = "urn:un:unece:uncefact:data:standard:CrossIndustryInvoice:100"

_BIS_3 = (
    _ubl("Invoice", _BILLING, _BILLING_PROCESS),
    _ubl("Invoice", _SELF_BILLING, _SELF_BILLING_PROCESS),
    _ubl("CreditNote", _BILLING, _BILLING_PROCESS),
    _ubl("CreditNote", _SELF_BILLING, _SELF_BILLING_PROCESS),
    (_CII, "CrossIndustryInvoice", _BILLING, "D16B", _BILLING_PROCESS),
    _ubl("Order", f"{_TRANSACTION}:order:3", f"{_PROCESS}:ordering:3"),
    _ubl("Order", f"{_TRANSACTION}:order:3", f"{_PROCESS}:order_only:3"),
    _ubl("Order", f"{_TRANSACTION}:order:3", f"{_PROCESS}:advanced_ordering:3"),
    _ubl("OrderResponse", f"{_TRANSACTION}:order_response:3", f"{_PROCESS}:ordering:3"),
    _ubl("OrderResponse", f"{_TRANSACTION}:order_agreement:3", f"{_PROCESS}:order_agreement:3"),
    _ubl("OrderResponse", f"{_TRANSACTION}:order_response_advanced:3", f"{_PROCESS}:advanced_ordering:3", "2.3"),
    _ubl("OrderChange", f"{_TRANSACTION}:order_change:3", f"{_PROCESS}:advanced_ordering:3", "2.3"),
    _ubl("OrderCancellation", f"{_TRANSACTION}:order_cancellation:3", f"{_PROCESS}:advanced_ordering:3", "2.3"),
    _ubl("DespatchAdvice", f"{_TRANSACTION}:despatch_advice:3", f"{_PROCESS}:despatch_advice:3"),
    _ubl("Catalogue", f"{_TRANSACTION}:catalogue:3", f"{_PROCESS}:catalogue_only:3"),
    _ubl("Catalogue", f"{_TRANSACTION}:catalogue:3", f"{_PROCESS}:catalogue_wo_response:3"),
    _ubl("Catalogue", f"{_TRANSACTION}:punch_out:3", f"{_PROCESS}:punch_out:3"),
    _ubl("ApplicationResponse", f"{_TRANSACTION}:catalogue_response:3", f"{_PROCESS}:catalogue_only:3"),
    _ubl("ApplicationResponse", f"{_TRANSACTION}:invoice_response:3", f"{_PROCESS}:invoice_response:3"),
    _ubl("ApplicationResponse", f"{_TRANSACTION}:mlr:3", f"{_PROCESS}:mlr:3"),
)


@dataclass(frozen=True)
class SandboxAccount:
    """A login, and the ParticipantIDs (`0192:987654325`) of the companies it receives for."""

    name: str
    password: str = field(repr=False)
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
            f"{text!r} is not an account; write NAME:PASSWORD:PARTICIPANT[,PARTICIPANT...], "
            "such as acme:secret:0192:987654325"
        )
    for participant in participants:
        if not is_participant(participant):
            raise ValueError(
                f"{participant!r} in account {name!r} is not a ParticipantID; write four digits, a colon and the "
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
