"""The note beside a received document that was moved to be answered."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from filedrop.inbound.moved import announcement
from filedrop.journal import GivenAnswer

QUESTION, ANSWER = (
    GivenAnswer(code, datetime(2026, 11, 27, tzinfo=UTC), is_placed=False, document=None) for code in ("UQ", "AP")
)


@pytest.mark.parametrize(
    ("given", "words"), [([ANSWER], "is being sent"), ([QUESTION, ANSWER], "waits until")], ids=["first", "second"]
)
def test_an_answer_that_is_no_document_yet(given: list[GivenAnswer], words: str) -> None:
    """Only an answer after an earlier one waits for that; a first one is being sent."""
    assert words in announcement(given, "en").content.decode()
