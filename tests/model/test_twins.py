"""Which two ParticipantIDs are those of one company."""

from __future__ import annotations

import pytest

from filedrop.model.twins import same_or_twin, twin


@pytest.mark.parametrize(
    ("participant", "other"),
    [
        ("0208:0123456749", "9925:BE0123456749"),
        ("0208:1000000061", "9925:BE1000000061"),
        ("9930:DE123456788", "0246:DE123456788"),
        ("0245:2022749619", "9950:SK2022749619"),
        ("0218:40003521600", "9939:LV40003521600"),
        ("iso6523-actorid-upis::9930:de123456788", "0246:DE123456788"),
    ],
)
def test_twins(participant: str, other: str) -> None:
    """Each of the two names the other, however it is written."""
    assert twin(participant) == other
    assert same_or_twin(participant, other)
    assert same_or_twin(other.lower(), participant.upper())
    assert same_or_twin(twin(other), participant)


@pytest.mark.parametrize(
    "participant",
    [
        "0208:2123456749",
        "0208:123456749",
        "9925:0123456749",
        "0246:DE123456788-00001",
        "9930:12345678",
        "0192:1",
        "0245:202274961",
        "9950:2022749619",
        "0218:400035216",
        "9939:LV400035216",
    ],  # Latvia's media have nine digits
)
def test_an_id_without_a_twin(participant: str) -> None:
    """An id of another scheme, of another form or with a suffix has none, and is only itself."""
    assert twin(participant) is None
    assert same_or_twin(participant, participant.upper())


@pytest.mark.parametrize(
    ("participant", "other"),
    [
        ("0208:0123456749", "9925:BE0123456748"),
        ("0246:DE123456788-00001", "9930:DE123456788"),
        ("0246:DE123456788-00001", "9930:DE123456788-00001"),
        ("9930:DE123456788", "9925:DE123456788"),
        (None, "0208:0123456749"),
    ],
)
def test_two_companies(participant: str | None, other: str) -> None:
    """Another number, another country and a part of a company are another company."""
    assert not same_or_twin(participant, other)
    assert not same_or_twin(other, participant)
