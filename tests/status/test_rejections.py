"""What a company's people read of rejections, in their language."""

from __future__ import annotations

import pytest

from filedrop.readable import meaning
from filedrop.status.rejections import REJECTED, STATUS, in_words
from filedrop.texts.languages import LANGUAGES

BY_RECEIVER = REJECTED.format(sender="0192:810418052", number=12)
BY_PLATFORM = STATUS.format(number=12, status=meaning("process_condition", "213"), code="213")
STATUT = "le message 12 indique le statut « Rejetée » (213)"


@pytest.mark.parametrize(
    ("why", "french"),
    [
        (BY_RECEIVER, "0192:810418052 l'a rejeté dans le message 12"),
        (f"{BY_RECEIVER}: Too: late; no", "0192:810418052 l'a rejeté dans le message 12 : Too: late; no"),
        (f"{BY_PLATFORM}: VAT rate incorrect; ici", f"{STATUT} : Taux de TVA erroné; ici"),
    ],
)
def test_in_french(why: str, french: str) -> None:
    """Our words and the meanings of codes are French; what a stranger wrote stays as it is."""
    plain = {"\N{NO-BREAK SPACE}": " ", "\N{RIGHT SINGLE QUOTATION MARK}": "'"}
    assert in_words(why, "fr").translate(str.maketrans(plain)) == french


@pytest.mark.parametrize("language", LANGUAGES)
def test_in_each_language(language: str) -> None:
    """Each language has its own words for both, with all their facts; English ones stay as they are."""
    for why in (BY_RECEIVER, f"{BY_PLATFORM}: VAT rate incorrect"):
        said = in_words(why, language)
        assert "12" in said
        assert (said == why) == (language == "en")


def test_of_several_documents() -> None:
    """A rejection that doesn't say which document it is about keeps its words."""
    why = f"{BY_RECEIVER}, but doesn't say which document; it is one of a.xml (message 1) and b.xml (message 2): No"
    assert in_words(why, "fr") == why
