"""The languages of what accountants read. Each catalogue (gettext) is loaded when it is first needed.

English is in the code. Another language has its words in `locale/LANGUAGE/LC_MESSAGES/DOMAIN.po`, from which a build
makes the `.mo` that is read here. What a catalogue lacks is given in English.
"""

from __future__ import annotations

from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self, get_args

from filedrop.times import as_duration, here

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime
    from gettext import NullTranslations

Language = Literal["en", "nb", "sv", "da", "de", "nl", "fr", "fi"]
LANGUAGES: tuple[Language, ...] = get_args(Language)
ENGLISH: Language = "en"
SEPARATORS: Mapping[str, tuple[str, str]] = {  # between thousands, and before decimals
    "en": (",", "."),
    "nb": ("\xa0", ","),
    "sv": ("\xa0", ","),
    "da": (".", ","),
    "de": (".", ","),
    "nl": (".", ","),
    "fr": ("\u202f", ","),
    "fi": ("\xa0", ","),
}
# The catalogues: sentences; words on the pages of documents; the manual's page for accountants.
SENTENCES, READABLE, GUIDE = "filedrop", "readable", "guide"
MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
SHORT_MONTHS = tuple(month[:3] for month in MONTHS)
DATES = {  # by what they are for
    "moment": "{day} {month} {year}, {hour}:{minute}",
    "moment in a table": "{day} {month} {year}, {hour}:{minute}",
    "day": "{day} {month}",
}
MONTH, SHORT_MONTH = "month", "month in a table"
_FOLDER = Path(__file__).parent / "locale"


@cache
def catalogue(language: str, domain: str) -> NullTranslations:
    """The words of a language in a domain: `SENTENCES`, `READABLE` or `GUIDE`."""
    import gettext  # noqa: PLC0415 - only what is written in another language needs it

    return gettext.translation(domain, _FOLDER, [language], fallback=True)


class Translatable(str):
    """An English text that consists of several, or has values in it: `into` gives it in any language.

    It is a string, since most of what reads it is in English: status.json, the commands, the log. Whatever is made of
    it, a part or a copy, is English alone.
    """

    __slots__ = ("into",)
    into: Callable[[str], str]

    def __new__(cls, into: Callable[[str], str]) -> Self:
        """The text that this function returns for English; it returns it for each other language, too."""
        text = super().__new__(cls, into(ENGLISH))
        text.into = into
        return text

    @classmethod
    def of(cls, form: str, **values: object) -> Self:
        """An English form with these values; one that is itself translatable is given in the same language."""

        def into(language: str) -> str:
            given = {
                name: translated(value, language) if isinstance(value, Translatable) else value
                for name, value in values.items()
            }
            return translated(form, language).format(**given)

        return cls(into)

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)


def translated(text: str, language: str) -> str:
    """An English text in a language. A text of strangers stays as it is."""
    if not text or language == ENGLISH:  # of "", gettext would return the catalogue's header
        return text
    return text.into(language) if isinstance(text, Translatable) else catalogue(language, SENTENCES).gettext(text)


def counted(number: int, singular: str, plural: str, language: str, **values: object) -> str:
    """An English text about a `{number}` of things, in a language; `values` are those of other placeholders."""
    if language == ENGLISH:
        form = singular if number == 1 else plural
    else:
        form = catalogue(language, SENTENCES).ngettext(singular, plural, number)
    return form.format(number=grouped(number, language), **values)


def grouped(number: int, language: str) -> str:
    """A whole number as it is written in a language."""
    return f"{number:,}".replace(",", SEPARATORS[language][0])


def marked(text: str) -> str:
    """The text itself, which is translated where it is shown."""
    return text


def plural(singular: str, plural: str) -> tuple[str, str]:
    """Both texts, for `counted`."""
    return singular, plural


_UNITS = (
    (timedelta(days=1), plural("{number} day", "{number} days")),
    (timedelta(hours=1), plural("{number} hour", "{number} hours")),
    (timedelta(minutes=1), plural("{number} minute", "{number} minutes")),
    (timedelta(seconds=1), plural("{number} second", "{number} seconds")),
)


def lasting(period: timedelta, language: str = ENGLISH) -> str:
    """A duration as people write it (`15 minutes`), in the largest unit that gives a whole number."""
    for unit, words in _UNITS:
        if period >= unit and not period % unit:
            return counted(period // unit, *words, language)
    return as_duration(period)


def date(when: datetime, language: str = ENGLISH, form: str = "moment") -> str:
    """A moment as people write it, in this computer's time zone (`25 November 2026, 19:07`); `form`: of `DATES`."""
    local = here(when)
    month = (SHORT_MONTHS if form == "moment in a table" else MONTHS)[local.month - 1]
    pattern = DATES[form]
    if language != ENGLISH:
        pgettext = catalogue(language, SENTENCES).pgettext
        month = pgettext(SHORT_MONTH if form == "moment in a table" else MONTH, month)
        pattern = pgettext(form, pattern)
    return pattern.format(day=local.day, month=month, year=local.year, hour=f"{local:%H}", minute=f"{local:%M}")
