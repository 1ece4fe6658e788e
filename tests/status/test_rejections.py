"""What a company's people read of rejections, in their language."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.documents import BUYER, SELLER
from support.drops import IDENTITY, NOON

from filedrop.model.response import Response
from filedrop.status.rejections import describe
from filedrop.texts.languages import LANGUAGES, translated

BY_RECEIVER = Response(
    identity=IDENTITY, msg_no=12, received="", nth=0, company="acme", sender=BUYER, receiver=SELLER, number="1",
    type_code="", issue_date="", code="RE", words="response", reason="", at=NOON,
)  # fmt: skip
BY_PLATFORM = replace(BY_RECEIVER, code="213", words="process_condition", reason="VAT rate incorrect")
STATUT = "le message 12 indique le statut « Rejetée » (213)"


@pytest.mark.parametrize(
    ("response", "french"),
    [
        (BY_RECEIVER, "0192:810418052 l'a rejeté dans le message 12"),
        (
            replace(BY_RECEIVER, reason="Too: late; no"),
            "0192:810418052 l'a rejeté dans le message 12 : Too: late; no",
        ),
        (replace(BY_PLATFORM, reason="VAT rate incorrect; ici"), f"{STATUT} : Taux de TVA erroné; ici"),
    ],
)
def test_in_french(response: Response, french: str) -> None:
    """Our words and the meanings of codes are French; what a stranger wrote stays as it is."""
    plain = {"\N{NO-BREAK SPACE}": " ", "\N{RIGHT SINGLE QUOTATION MARK}": "'"}
    assert translated(describe(response, BUYER), "fr").translate(str.maketrans(plain)) == french


@pytest.mark.parametrize("language", LANGUAGES)
def test_in_each_language(language: str) -> None:
    """Each language has its own words for both, with all their facts; English ones stay as they are."""
    for response in (BY_RECEIVER, BY_PLATFORM):
        why = describe(response, BUYER)
        said = translated(why, language)
        assert "12" in said
        assert (said == why) == (language == "en")


def test_of_several_documents() -> None:
    """A rejection that doesn't say which document it is about keeps its words."""
    unclear = ", but doesn't say which document; it is one of a.xml (message 1) and b.xml (message 2)"
    why = describe(replace(BY_RECEIVER, reason="No"), BUYER, unclear)
    assert why == f"{BUYER} rejected it in message 12{unclear}: No"
    assert translated(why, "fr") == why
