"""Twins: two ParticipantIDs of one company, by two schemes that use the same number. Pure.

A Belgian company is 0208:0123456749 by its enterprise number and 9925:BE0123456749 by its VAT number. A German one is
9930:DE123456788 by its VAT number and, without a suffix, 0246:DE123456788 by its business identification number. A
Slovak one is 0245:2022749619 by its tax number, and 9950:SK2022749619 by its VAT number; a Latvian one is
0218:40003521600 by its registration number, and 9939:LV40003521600.

Twins are one company for duplicates, for responses, and in what is told of messages for nobody. They stay two ids for
`foreign_sender`, and for a document in doubt: a message under the one is never taken for a document under the other.
"""

from __future__ import annotations

import re

from filedrop.model.document import participant_key, same_participant

PAIRS = (
    ("9925:be", "0208:", re.compile("[01][0-9]{9}")),
    ("0246:de", "9930:de", re.compile("[0-9]{9}")),
    ("9950:sk", "0245:", re.compile("[0-9]{10}")),
    ("9939:lv", "0218:", re.compile("[0-9]{11}")),
)
"""How two twins begin, as `participant_key` writes them, and the form of the number that follows in both.

A journal that was made with fewer pairs finds its rows all the same: its indexes have the company last.
"""


def twin(participant: str) -> str | None:
    """The other ParticipantID of a company; None for an id whose scheme has no twin, or that isn't of its form."""
    key = participant_key(participant)
    for first, second, form in PAIRS:
        for mine, other in ((first, second), (second, first)):
            if key.startswith(mine) and form.fullmatch(key, len(mine)):
                return f"{other.upper()}{key.removeprefix(mine)}"
    return None


def same_or_twin(participant: str | None, other: str | None) -> bool:
    """Whether two ParticipantIDs are equal, or twins."""
    return same_participant(participant, other) or same_participant(twin(participant or "") or participant, other)
