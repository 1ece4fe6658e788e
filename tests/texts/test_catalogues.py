"""Every word that accountants read is in every catalogue, as the code has it now."""

from __future__ import annotations

import re
import runpy
from datetime import timedelta
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING

import pytest

from filedrop.texts.languages import ENGLISH, GUIDE, LANGUAGES, READABLE, SENTENCES, SEPARATORS, catalogue, lasting

if TYPE_CHECKING:
    from babel.messages import Catalog

CATALOGUES = runpy.run_path(str(Path(__file__).parents[2] / ".ci" / "catalogues"))
DOMAINS = (READABLE, SENTENCES, GUIDE)
TRANSLATED = [(language, domain) for language in LANGUAGES if language != ENGLISH for domain in DOMAINS]


@pytest.fixture(scope="module")
def templates() -> dict[str, Catalog]:
    """What is to be translated, by domain."""
    found: dict[str, Catalog] = CATALOGUES["templates"]()
    assert found.keys() == set(DOMAINS)
    return found


def strings(message: str | tuple[str, ...] | list[str]) -> tuple[str, ...]:
    """The forms of a message: one, or one for each number."""
    return (message,) if isinstance(message, str) else tuple(message)


def placeholders(text: str) -> set[tuple[str, str]]:
    return {(name, form or "") for _, name, form, _ in Formatter().parse(text) if name}


@pytest.mark.parametrize(("language", "domain"), TRANSLATED)
def test_every_sentence_is_translated(language: str, domain: str, templates: dict[str, Catalog]) -> None:
    """A catalogue has each message of the code, translated, and none that the code no longer has."""
    wanted = {(message.context, message.id) for message in templates[domain] if message.id}
    found = {(message.context, message.id): message for message in CATALOGUES["read"](language, domain) if message.id}
    hint = "run .ci/catalogues, and translate what is new"
    assert found.keys() == wanted, hint
    assert not [key for key, message in found.items() if message.fuzzy or not all(strings(message.string))], hint


@pytest.mark.parametrize(("language", "domain"), TRANSLATED)
def test_names_of_every_translation(language: str, domain: str) -> None:
    """A translation has the names in code of its text, and as much in bold."""
    for message in CATALOGUES["read"](language, domain):
        wanted = strings(message.id)[-1] if message.id else ""
        for text in strings(message.string) if message.id else ():
            assert set(re.findall("`[^`]+`", text)) == set(re.findall("`[^`]+`", wanted)), text
            assert text.count("**") == wanted.count("**"), text


@pytest.mark.parametrize(("language", "domain"), TRANSLATED)
def test_placeholders_of_every_translation(language: str, domain: str) -> None:
    """A translation has the placeholders of its sentence; the form for a number may leave the number out."""
    for message in CATALOGUES["read"](language, domain):
        wanted = set().union(*map(placeholders, strings(message.id))) if message.id else set()
        for text in strings(message.string) if message.id else ():
            optional = {("number", "")} if message.pluralizable else set()
            assert wanted - optional <= placeholders(text) <= wanted, text


@pytest.mark.parametrize(("language", "domain"), TRANSLATED)
def test_compiled_catalogues(language: str, domain: str) -> None:
    """Each language has its catalogue, the same whenever it is compiled, and its way of writing numbers."""
    header = catalogue(language, domain).info()
    assert header["language"] == language
    assert header["pot-creation-date"].startswith("1970-"), "not the time of the build, which would differ each time"
    assert len(SEPARATORS[language]) == 2


@pytest.mark.parametrize(
    ("period", "english", "french", "norwegian"),
    [
        (timedelta(days=365), "365 days", "365 jours", "365 dager"),
        (timedelta(days=1), "1 day", "1 jour", "1 dag"),
        (timedelta(hours=36), "36 hours", "36 heures", "36 timer"),
        (timedelta(minutes=15), "15 minutes", "15 minutes", "15 minutter"),
        (timedelta(seconds=90), "90 seconds", "90 secondes", "90 sekunder"),
        (timedelta(milliseconds=1500), "1500ms", "1500ms", "1500ms"),
    ],
)
def test_durations(period: timedelta, english: str, french: str, norwegian: str) -> None:
    """A duration is written in words: `15m` of the configuration would be 15 months to some."""
    assert [lasting(period, language) for language in ("en", "fr", "nb")] == [english, french, norwegian]
