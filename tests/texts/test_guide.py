"""The page for accountants is one text, shown in each language by the command and in each company's STATUS.html."""

from __future__ import annotations

import re

import pytest
from support.manual import PAGES

from filedrop.texts import guide
from filedrop.texts.languages import ENGLISH, LANGUAGES


def shape(markdown: str) -> list[tuple[str, int]]:
    """The blocks of a page, without their words: the mark of each and its cells."""
    parts = re.split(r"\n\n+|\n(?=- |\|)", markdown.strip())
    return [(part[: part.index(" ")] if part[0] in "#-|" and " " in part else "", part.count("|")) for part in parts]


@pytest.mark.parametrize("language", LANGUAGES)
def test_page_in_each_language(language: str) -> None:
    """Each language has all blocks of the page, in its words, and the English is the page of the manual."""
    english, shown = PAGES[guide.PAGE], guide.in_markdown(language)
    assert shape(shown) == shape(english)
    assert (shown == english) == (language == ENGLISH)
    assert sorted(set(re.findall("`[^`]+`", shown))) == sorted(set(re.findall("`[^`]+`", english)))
