"""The English reason of a failed document in another language.

A sidecar has its reason in English, for programs. The form that it was made of is recognized by its words.
"""

from __future__ import annotations

import re
from datetime import datetime
from functools import cache
from string import Formatter

from filedrop.texts.faults import FAULTS
from filedrop.texts.form import KINDS, filled

_DATE = "%d %B %Y, %H:%M"  # as `languages.date` writes it in English


def translation(message: str, language: str) -> str:
    """A reason that consists of the messages of `FAULTS`, in a language; "" for any other text."""
    for form, _, begins in _patterns():
        if (found := begins.fullmatch(message)) and (rest := translation(found["rest"], language)):
            return f"{_filled(form, found, language)} {rest}"
    for form, whole, _ in _patterns():
        if found := whole.fullmatch(message):
            return _filled(form, found, language)
    return ""


@cache
def _patterns() -> list[tuple[str, re.Pattern[str], re.Pattern[str]]]:
    """Each message with what it looks like alone, and with a `rest` behind it. The longest ones come first."""
    messages = sorted({form.message for form in FAULTS.values() if form.message}, key=len, reverse=True)
    looks = [
        "".join(
            re.escape(text) + (f"(?P<{name}>.+?)" if name else "") for text, name, _, _ in Formatter().parse(message)
        )
        for message in messages
    ]
    return [
        (message, re.compile(look), re.compile(f"{look} (?P<rest>.+)"))
        for message, look in zip(messages, looks, strict=True)
    ]


def _filled(form: str, found: re.Match[str], language: str) -> str:
    kinds = {name: spec for _, name, spec, _ in Formatter().parse(form) if name}
    values = {name: _value(found[name], spec or "") for name, spec in kinds.items()}
    return filled(form, values, language)


def _value(shown: str, spec: str) -> str:
    """The value that is shown so."""
    if spec == "date":
        try:
            return datetime.strptime(shown, _DATE).astimezone().isoformat()
        except ValueError:
            return shown
    root = next((root for root, words in KINDS.items() if spec == "kind" and f"{shown} ".startswith(f"{words} ")), "")
    return root + shown.removeprefix(KINDS[root]) if root else shown
