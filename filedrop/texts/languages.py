"""The languages of what accountants read. Each catalogue (gettext) is loaded when it is first needed.

English is in the code. Another language has its words in `locale/LANGUAGE/LC_MESSAGES/DOMAIN.po`, from which a build
makes the `.mo` that is read here. What a catalogue lacks is given in English.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from collections.abc import Mapping
    from gettext import NullTranslations

Language = Literal["en", "nb", "sv", "da", "de"]
LANGUAGES: tuple[Language, ...] = get_args(Language)
ENGLISH: Language = "en"
SEPARATORS: Mapping[str, tuple[str, str]] = {  # between thousands, and before decimals
    "en": (",", "."),
    "nb": ("\xa0", ","),
    "sv": ("\xa0", ","),
    "da": (".", ","),
    "de": (".", ","),
}
_FOLDER = Path(__file__).parent / "locale"


@cache
def catalogue(language: str, domain: str) -> NullTranslations:
    """The words of a language: of the domain `readable` (pages of documents)."""
    import gettext  # noqa: PLC0415 - only what writes in another language needs it

    return gettext.translation(domain, _FOLDER, [language], fallback=True)
