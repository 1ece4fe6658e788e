"""ParticipantIDs: `0192:123456785`, a scheme's code and a value (Peppol policy for identifiers).

A scheme that was given by name becomes its code by the code list. What the list has removed or doesn't know, values
that don't have the form of their scheme, and check digits that don't fit, are warnings: the receiver's registration
decides, not we.
"""

from __future__ import annotations

import re
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from filedrop.identify import codelist
from filedrop.model.document import participant_key, without_scheme
from filedrop.times import today

if TYPE_CHECKING:
    from collections.abc import Iterable

EXAMPLE = "0192:123456785"  # nobody's: organisation numbers begin with 8 or 9; this one shows the check digit
_LONGEST_VALUE = 130  # characters behind the code and its colon, by the Peppol policy for identifiers 4.4
_FORM = re.compile(rf"[0-9]{{4}}:[!-~]{{1,{_LONGEST_VALUE}}}")  # visible US-ASCII
_CODED = re.compile(r"[0-9]{4}:")
_CODE = re.compile(r"[0-9]{4}")
_CHECK_DIGIT = "the check digit does not fit"


def participant(value: str, scheme: str | None) -> str | None:
    """The ParticipantID that a document means by a value and its scheme; None where it means none (contract 3)."""
    value = spelled_out(value)
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


def with_value(value: str, ids: Iterable[str]) -> str | None:
    """The one of these ParticipantIDs that has this value behind its scheme; None where none or several have."""
    found = {participant_key(id_): id_ for id_ in ids if participant_key(id_).partition(":")[2] == value.lower()}
    return next(iter(found.values())) if len(found) == 1 else None


def fault(participant: str) -> str | None:
    """What is wrong with the form of a ParticipantID: half a sentence, or None."""
    if _FORM.fullmatch(participant):
        return None
    code, separator, value = participant.partition(":")
    if not separator or not _CODE.fullmatch(code):
        return f"has no scheme; it must begin with one, like {EXAMPLE}"
    if not value:
        return "has nothing after its scheme"
    if len(value) > _LONGEST_VALUE:
        return f"is longer than {_LONGEST_VALUE} characters"
    return "contains a blank or a character that no ParticipantID may have"


def is_listed(participant: str) -> bool:
    """Whether its scheme is in the Peppol code list, in any state."""
    return codelist.scheme(participant.partition(":")[0]) is not None


def doubts(role: str, participant: str) -> tuple[str, ...]:
    """What is doubtful about a ParticipantID in good form; `role` is `sender` or `receiver`, or where it stands."""
    code, _, value = participant.partition(":")
    said = []
    listed = codelist.scheme(code)
    if listed is None:
        said.append(f"{role} {participant}: the scheme {code} is not in the Peppol code list")
    elif done := (fate := codelist.fate(listed, today())).done:
        use = f"; use {listed.instead} instead" if listed.instead else ""
        said.append(
            f"{role} {participant}: the Peppol code list has {done} the scheme {code} ({listed.name}){use}{fate.when}"
        )
    if listed is not None and (wrong := _wrong(code, listed, value)):
        said.append(f"{role} {participant}: {wrong}")
    return tuple(said)


def wrong_number(participant: str) -> Literal["", "check-digit", "form"]:
    """What is wrong with the value of a ParticipantID, by its scheme; "" where nothing is known to be."""
    code, _, value = participant.partition(":")
    listed = codelist.scheme(code)
    wrong = _wrong(code, listed, value) if listed is not None else ""
    return "check-digit" if wrong == _CHECK_DIGIT else "form" if wrong else ""


@lru_cache(1024)  # the same few, document after document
def _wrong(code: str, scheme: codelist.Scheme, value: str) -> str:
    """What is wrong with a value of a scheme; "" where nothing is."""
    # The form first: a check takes more of them (tests/findings/stdnum-forms.sh).
    no_form = f"it doesn't have the form of the scheme {code} ({scheme.name})"
    if scheme.form and not re.fullmatch(scheme.form, value, re.IGNORECASE):
        return no_form
    errors = [_error(check, value, country=scheme.name[:2]) for check in codelist.checks(code)]
    if not all(errors) or not errors:
        return ""
    if "InvalidChecksum" in errors:
        return _CHECK_DIGIT
    return "" if scheme.form and "InvalidLength" in errors else no_form  # the list knows lengths that the check doesn't


def _error(check: str, value: str, *, country: str) -> str:
    """The name of what python-stdnum says of a value; "" where it is valid."""
    module: Any = import_module(f"stdnum.{check}")
    errors = []
    for written in (value, f"{country}{value}") if check == "eu.vat" else (value,):
        try:
            module.validate(written)
        except ValueError as error:
            errors.append(type(error).__name__)
        else:
            return ""
    return "InvalidChecksum" if "InvalidChecksum" in errors else errors[0]
