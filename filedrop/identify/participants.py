"""ParticipantIDs: `0192:987654325`, a scheme's code and a value (Peppol policy for identifiers).

A scheme that was given by name becomes its code by the code list. What the list has removed or doesn't know, and check
digits that don't fit, are warnings: the receiver's registration decides, not we.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

from filedrop.document import PARTICIPANT_PREFIX
from filedrop.identify import codelist

_LONGEST = 130  # 135 characters with the code and its colon: the longest value that a listed scheme (0225) allows
_FORM = re.compile(rf"[0-9]{{4}}:[!-~]{{1,{_LONGEST}}}")  # visible US-ASCII
_CODED = re.compile(r"[0-9]{4}:")
_CODE = re.compile(r"[0-9]{4}")
_EU_VAT = (
    "9910 9914 9920 9925 9926 9928 9929 9930 9931 9933 9934 9935 9937 9938 9939 9943 9944 9945 9946 9947 9949 9950 9957"
)
_CHECKS = {  # the code list's validation rules, by the names that python-stdnum gives them
    "0002": "luhn",
    "0007": "se.orgnr",
    "0009": "fr.siret",
    "0088": "ean",
    "0151": "au.abn",
    "0183": "ch.uid",
    "0184": "dk.cvr",
    "0192": "no.orgnr",
    "0196": "is_.kennitala",
    "0198": "dk.cvr",
    "0199": "lei",
    "0208": "be.vat",
    "0211": "it.iva",
    "9908": "no.orgnr",
    "9918": "iban",
    "9956": "be.vat",
    **dict.fromkeys(_EU_VAT.split(), "eu.vat"),
}


def participant(value: str, scheme: str | None) -> str | None:
    """The ParticipantID that a document means by a value and its scheme; None where it means none (contract 3)."""
    value = value.removeprefix(PARTICIPANT_PREFIX)
    if _CODED.match(value):
        return value if len(value) > len("0192:") else None
    if not value or not scheme:
        return None
    code = scheme if _CODE.fullmatch(scheme) else codelist.scheme_code(scheme)
    return f"{code}:{value}" if code else None


def fault(participant: str) -> str | None:
    """What is wrong with the form of a ParticipantID: half a sentence, or None."""
    if _FORM.fullmatch(participant):
        return None
    code, separator, value = participant.partition(":")
    if not separator or not _CODE.fullmatch(code):
        return "has no scheme: it must begin with four digits and a colon, such as 0192:"
    if not value:
        return "has nothing after its scheme"
    if len(value) > _LONGEST:
        return f"is longer than {_LONGEST} characters"
    return "contains a blank or a character that no ParticipantID may have"


def doubts(role: str, participant: str) -> list[str]:
    """What is doubtful about a ParticipantID in good form; `role` is `sender` or `receiver`."""
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
    if listed is not None and code in _CHECKS and not _fits(_CHECKS[code], value, country=listed.name[:2]):
        said.append(f"{role} {participant}: the check digit does not fit")
    return said


def _fits(check: str, value: str, *, country: str) -> bool:
    try:
        module: Any = import_module(f"stdnum.{check}")
    except ImportError:  # the extra `checkdigits` isn't installed
        return True
    return bool(module.is_valid(value) or (check == "eu.vat" and module.is_valid(f"{country}{value}")))
