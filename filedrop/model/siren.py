"""SIREN: the nine digits that French companies have, in each form of their ParticipantIDs. Pure.

`0225:100000009` is the electronic address of a company, and may have a suffix: `0225:100000009_STATUTS`. `0002` is the
SIREN, `0009` the SIRET (the SIREN and five digits for the establishment), `9957` the VAT number (`FR`, two characters,
the SIREN).
"""

from __future__ import annotations

import re

from filedrop.model.document import participant_key

_FORMS = re.compile(
    r"(?:0225:(\d{9})(?:_.*)?|0002:(\d{9})(?:\d{5})?|0009:(\d{9})\d{5}|9957:fr[0-9a-z]{2}(\d{9}))", re.ASCII
)


def siren(participant: str | None) -> str:
    """The SIREN in a ParticipantID; "" where it has none."""
    found = _FORMS.fullmatch(participant_key(participant or ""))
    return next(filter(None, found.groups()), "") if found else ""
