"""The form of a text, and how values are put into it."""

from __future__ import annotations

from string import Formatter
from typing import TYPE_CHECKING, Any, NamedTuple

from filedrop.texts.languages import ENGLISH, date, translated
from filedrop.texts.printable import printable
from filedrop.times import moment

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


KINDS = {  # of documents, by the name of their root; others have no words
    "Invoice": "Invoice",
    "CreditNote": "Credit note",
    "CrossIndustryInvoice": "Invoice",
    "Order": "Order",
    "OrderResponse": "Order response",
    "DespatchAdvice": "Despatch advice",
    "ApplicationResponse": "Response",
    "document": "document",
}


class Form(NamedTuple):
    """A text in English, with `{placeholders}`.

    `{when:date}` is a moment as people write it, and `{document:kind}` begins with the kind of a document.
    `message` says what is wrong, and `hint` what an accountant can do. Only `administrator` may have commands, keys of
    the configuration, XPaths, and the like. Each consists of whole sentences.
    """

    message: str = ""
    hint: str = ""
    administrator: str = ""

    @property
    def placeholders(self) -> frozenset[str]:
        """The names of all its placeholders."""
        return frozenset(name for part in self for _, name, _, _ in Formatter().parse(part) if name)


class _Filling(Formatter):
    """Puts values into a form: each in one line, so that a stranger's words can't pass for a line of ours."""

    def __init__(self, language: str) -> None:
        self._language = language

    def get_value(self, key: int | str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:  # noqa: ARG002 - Formatter's
        return printable(kwargs[str(key)])

    def format_field(self, value: str, format_spec: str) -> str:
        if format_spec == "date":
            when = moment(value)
            return date(when, self._language) if when else value
        if format_spec == "kind":
            return kind(value, self._language)
        return value


def filled(form: str, values: Mapping[str, str], language: str = ENGLISH) -> str:
    """The form in a language, with these values in the place of its placeholders."""
    return _Filling(language).vformat(translated(form, language), (), values)


def kind(document: str, language: str) -> str:
    """A document in words: its kind, which is the name of its root, and behind it, perhaps, its number."""
    root, blank, number = document.partition(" ")
    words = translated(KINDS[root], language) if root in KINDS else root
    return f"{words}{blank}{number}"
