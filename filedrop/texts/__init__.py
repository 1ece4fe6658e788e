"""Sentences for people about a document: one form for each, with placeholders for what differs between documents.

A `Text` is the name of a form and the values of its placeholders, so that it can be given in any language. A value
may be a stranger's words: it is put into the sentence in one line, and never read as a form itself.

    form     Form: what is wrong, what an accountant can do, what the administrator needs to know
    codes    the error codes
    faults   why a document failed, by error code; preparation: why nothing could be put into it
    waits    why a document waits in `sending/`
    unanswered    why a received document is not answered
    note     what every note says
    guide    the manual's page for accountants

    printable    strangers' words, safe to show; sizes, lists, commands
    languages    the languages of what accountants read, their catalogues, and dates
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Self, cast

from filedrop.texts.codes import Code
from filedrop.texts.faults import FAULTS
from filedrop.texts.form import Form, filled
from filedrop.texts.languages import ENGLISH
from filedrop.texts.unanswered import UNANSWERED
from filedrop.texts.waits import WAITS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["FORMS", "Code", "Form", "Text", "joined"]

FORMS: Mapping[str, Form] = FAULTS | WAITS | UNANSWERED


@dataclass(frozen=True, slots=True)
class Text:
    """A form by its name, and the values of its placeholders."""

    form: str
    values: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, form: str, **values: object) -> Self:
        """The text of this form, with these values."""
        return cls(form, {name: _stored(value) for name, value in values.items()})

    @property
    def code(self) -> Code:
        """The error code with which the name of a fault's form begins."""
        return cast("Code", self.form.partition("/")[0])

    @property
    def message(self) -> str:
        """What is wrong."""
        return self.message_in(ENGLISH)

    @property
    def hint(self) -> str:
        """What an accountant can do."""
        return self.hint_in(ENGLISH)

    @property
    def administrator(self) -> str:
        """What only the administrator needs to know, which is in English."""
        return filled(FORMS[self.form].administrator, self.values)

    def message_in(self, language: str) -> str:
        """What is wrong, in a language."""
        return filled(FORMS[self.form].message, self.values, language)

    def hint_in(self, language: str) -> str:
        """What an accountant can do, in a language."""
        return filled(FORMS[self.form].hint, self.values, language)


def joined(parts: Iterable[str], by: str = " ") -> str:
    """The parts that aren't empty, each once."""
    return by.join(dict.fromkeys(filter(None, parts)))


def _stored(value: object) -> str:
    return value.isoformat(timespec="seconds") if isinstance(value, datetime) else str(value)
