"""ParticipantIDs: `0192:123456785`, a scheme's code and a value (Peppol policy for identifiers).

A scheme that was given by name becomes its code by the code list. What the list has removed or doesn't know, and check
digits that don't fit, are warnings: the receiver's registration decides, not we.
"""

from __future__ import annotations

import re
from functools import lru_cache
from importlib import import_module
from typing import Any

from filedrop.identify import codelist
from filedrop.model.document import without_scheme

EXAMPLE = "0192:123456785"  # nobody's: organisation numbers begin with 8 or 9; this one shows the check digit
_LONGEST = 130  # characters behind the code and its colon, by the Peppol policy for identifiers 4.4
_FORM = re.compile(rf"[0-9]{{4}}:[!-~]{{1,{_LONGEST}}}")  # visible US-ASCII
_CODED = re.compile(r"[0-9]{4}:")
_CODE = re.compile(r"[0-9]{4}")


def participant(value: str, scheme: str | None) -> str | None:
    """The ParticipantID that a document means by a value and its scheme; None where it means none (contract 3)."""
    value = without_scheme(value)
    if _CODED.match(value):
        return value if len(value) > len("0192:") else None
    if not value or not scheme:
        return None
    code = scheme if _CODE.fullmatch(scheme) else codelist.scheme_code(scheme)
    return f"{code}:{value}" if code else None


def spelled_out(written: str) -> str:
    """A ParticipantID as a rule or a table may write it: without a prefix, the code in place of a scheme's name.

    What begins with no scheme is returned as it is.
    """
    bare = without_scheme(written)
    ends = [place for place, letter in enumerate(bare) if letter == ":"]  # names have colons in them: NO:ORGNR
    codes = ((codelist.scheme_code(bare[:end]), bare[end:]) for end in reversed(ends))
    return next((f"{code}{value}" for code, value in codes if code), bare)


def fault(participant: str) -> str | None:
    """What is wrong with the form of a ParticipantID: half a sentence, or None."""
    if _FORM.fullmatch(participant):
        return None
    code, separator, value = participant.partition(":")
    if not separator or not _CODE.fullmatch(code):
        return f"has no scheme; it must begin with one, like {EXAMPLE}"
    if not value:
        return "has nothing after its scheme"
    if len(value) > _LONGEST:
        return f"is longer than {_LONGEST} characters"
    return "contains a blank or a character that no ParticipantID may have"


def is_listed(participant: str) -> bool:
    """Whether its scheme is in the Peppol code list, in any state."""
    return codelist.scheme(participant.partition(":")[0]) is not None


@lru_cache(1024)  # the same few, document after document
def doubts(role: str, participant: str) -> tuple[str, ...]:
    """What is doubtful about a ParticipantID in good form; `role` is `sender` or `receiver`, or where it stands."""
    code, _, value = participant.partition(":")
    said = []
    listed = codelist.scheme(code)
    if listed is None:
        said.append(f"{role} {participant}: the scheme {code} is not in the Peppol code list")
    elif listed.state != "active":
        use = f"; use {listed.instead} instead" if listed.instead else ""
        said.append(
            f"{role} {participant}: the Peppol code list has {listed.state} the scheme {code} ({listed.name}){use}"
        )
    checks = codelist.checks(code)
    if listed is not None and checks and not any(_fits(check, value, country=listed.name[:2]) for check in checks):
        said.append(f"{role} {participant}: the check digit does not fit")
    return tuple(said)


def _fits(check: str, value: str, *, country: str) -> bool:
    module: Any = import_module(f"stdnum.{check}")
    return bool(module.is_valid(value) or (check == "eu.vat" and module.is_valid(f"{country}{value}")))
