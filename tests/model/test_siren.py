"""The SIREN of a French company, in each form of its ParticipantIDs."""

from __future__ import annotations

import pytest

from filedrop.model.siren import siren


@pytest.mark.parametrize(
    "participant",
    [
        "0225:100000009",
        "0225:100000009_STATUTS",
        "0225:100000009_10000000900017_COMPTA",
        "iso6523-actorid-upis::0225:100000009_statuts",
        "0002:100000009",
        "0002:10000000900017",
        "0009:10000000900017",
        "9957:FR83100000009",
        "0231:100000009",
        "0231:10000000900017",
        "100000009",
        "10000000900017",
    ],
)
def test_siren(participant: str) -> None:
    """It is read where the scheme and the form of the id have it; without a scheme, its check digit must be right."""
    assert siren(participant) == "100000009"


@pytest.mark.parametrize(
    "participant",
    [
        "",
        None,
        "0225:1000000090",
        "0225:ABC_100000009",
        "0192:100000009",
        "0009:100000009",
        "9957:100000009",
        "0002:",
        "100000008",
        "1000000090",
        "0231:1",
        "ABC_100000009",
    ],
)
def test_no_siren(participant: str | None) -> None:
    """Nothing is guessed where an id has another form or another scheme."""
    assert siren(participant) == ""
