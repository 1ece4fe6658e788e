"""SIREN: the nine digits that French companies have, in each form of their ParticipantIDs. Pure.

`0225:100000009` is the electronic address of a company, and may have a suffix: `0225:100000009_STATUTS`. `0002` and
`0231` are the SIREN, `0009` the SIRET (the SIREN and five digits for the establishment), `9957` the VAT number (`FR`,
two characters, the SIREN). Some software writes SIREN or SIRET without a scheme.
"""

from __future__ import annotations

import re

from filedrop.model.document import participant_key

_FORMS = re.compile(
    r"(?:0225:(\d{9})(?:_.*)?|(?:0002|0231):(\d{9})(?:\d{5})?|0009:(\d{9})\d{5}|9957:fr[0-9a-z]{2}(\d{9}))", re.ASCII
)
_WITHOUT_SCHEME = re.compile(r"(\d{9})(?:\d{5})?", re.ASCII)


def siren(participant: str | None) -> str:
    """The SIREN in a ParticipantID, or in a number without a scheme with its check digit; "" where there is none."""
    key = participant_key(participant or "")
    if found := _FORMS.fullmatch(key):
        return str(next(filter(None, found.groups())))
    bare = _WITHOUT_SCHEME.fullmatch(key)
    return bare[1] if bare and _has_check_digit(bare[1]) else ""


def _has_check_digit(number: str) -> bool:
    from stdnum.luhn import is_valid  # noqa: PLC0415 - few documents need it, and it takes long to load

    return is_valid(number)
