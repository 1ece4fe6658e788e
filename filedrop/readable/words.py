"""Labels, codes and numbers in a language. A code without a word here is shown as it stands."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from filedrop.model.document import without_scheme
from filedrop.readable.codes import LISTS
from filedrop.readable.labels import LABELS
from filedrop.texts.languages import SEPARATORS, catalogue

_NUMBER = re.compile(r"([+-]?)(?=\.?[0-9])([0-9]*)(?:\.([0-9]*))?")
# Letters that show nothing themselves, and turn or hide their neighbours (Unicode Annex 9; control characters). Those
# that join or part letters (ZWJ, ZWNJ) belong to the spelling of Persian, of Indian languages and of emoji.
_HIDDEN = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
_BOOLEANS = {"1": "true", "0": "false"}  # xs:boolean has two words for each
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class Words(NamedTuple):
    """A language: labels by key, words by list and code, and how its numbers are written."""

    language: str
    words: dict[str, str]
    lists: dict[str, dict[str, str]]
    thousands: str
    decimal: str

    def label(self, key: str, kind: str = "") -> str:
        """The word for a key, in a document of this kind; the key in words where there is none."""
        return self.words.get(f"{key}.{kind}") or self.words.get(key) or spaced(key).replace("_", " ")

    def labelled(self, label: str, text: str) -> str:
        """A text behind its label, in one line."""
        return self.words["labelled"].format(label=label, text=text)

    def code(self, list_name: str, code: str) -> str:
        """What a code means, and the code itself, which is what the document says; of a process, what it means."""
        if list_name == "allowance":
            return self.words.get(_BOOLEANS.get(code, code.lower()), code)
        if list_name == "process":
            return self.lists[list_name].get(without_scheme(code), code)
        word = self.lists.get(list_name, {}).get(code)
        return f"{word} ({code})" if word else code

    def unit(self, code: str) -> str:
        """A unit of measure (UN/ECE Recommendation 20)."""
        return self.lists["unit"].get(code, code)

    def number(self, stated: str, decimals: int = 0) -> str:
        """A number as stated, with all its digits, as it is written in this language; `decimals` are the fewest."""
        found = _NUMBER.fullmatch(stated)
        if not found:
            return stated
        sign, whole, fraction = found.groups()
        fraction = (fraction or "").ljust(decimals, "0")
        grouped = f"{int(whole or 0):,}".replace(",", self.thousands) if len(whole) <= len("999999999999999") else whole
        return f"{sign.replace('-', chr(0x2212))}{grouped}{self.decimal + fraction if fraction else ''}"


@lru_cache
def words(language: str) -> Words:
    """The words of a language, one of `LANGUAGES`. In a catalogue, each has its key, or list and code, as context."""
    translated = catalogue(language, "readable").pgettext
    labels = {key: translated(key, label) for key, label in LABELS.items()}
    lists = {
        name: {code: translated(f"{name} {code}", meaning) for code, meaning in codes.items()}
        for name, codes in LISTS.items()
    }
    return Words(language, labels, lists, *SEPARATORS[language])


def meaning(list_name: str, code: str) -> str:
    """What a code means, in English; "" where that isn't known."""
    return LISTS[list_name].get(code, "")


def in_language(list_name: str, text: str, language: str) -> str:
    """What a code means, in another language than English; any other text as it is."""
    code = next((code for code, meaning in LISTS[list_name].items() if meaning == text), "")
    return words(language).lists[list_name].get(code, text)


def notice(key: str, language: str, **values: object) -> str:
    """A sentence on a document's page about what the document itself doesn't say."""
    return words(language).label(key).format(**values)


def reason_in(reason: str, language: str) -> str:
    """The reason of a response, its codes by what they mean in a language; a stranger's words as they are."""
    return "; ".join(in_language("status_reason", part, language) for part in reason.split("; "))


def spaced(name: str) -> str:
    """An element's name as words: `PayableAmount` is "Payable Amount"."""
    return _CAMEL.sub(" ", name)


def clean(text: str | None) -> str:
    """A text without what is hidden in it, and with single blanks; its lines stay."""
    lines = (" ".join(line.split()) for line in _HIDDEN.sub("", (text or "").replace("\r\n", "\n")).split("\n"))
    return "\n".join(lines).strip()
