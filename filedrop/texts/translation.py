"""The English reason of a failed document in another language.

A sidecar has its reason in English, for programs. The forms that it consists of are recognized by their words. Anybody
may have written the sidecar, so the work is limited: it grows with the text's length, and no text makes it grow faster.
"""

from __future__ import annotations

import re
from datetime import datetime
from functools import cache
from string import Formatter
from typing import NamedTuple

from filedrop.texts.faults import FAULTS
from filedrop.texts.form import KINDS, filled

MOST = 10  # messages in a reason; a document fails for two at most
_DATE = "%d %B %Y, %H:%M"  # as `languages.date` writes it in English


class _Pattern(NamedTuple):
    """A message: the words before its first placeholder; then each placeholder, its format and the words after it."""

    form: str
    begins: str
    others: tuple[tuple[str, str, str], ...]

    def values(self, message: str) -> dict[str, str] | None:
        """The values of the placeholders in a message of this form; None for any other text."""
        if not message.startswith(self.begins):
            return None
        values, start = {}, len(self.begins)
        for nth, (name, spec, words) in enumerate(self.others, start=1):
            is_last = nth == len(self.others)  # a value may contain the last words, too
            end = message.rfind(words, start + 1) if is_last else message.find(words, start + 1)
            if end < 0:
                return None
            values[name] = _value(message[start:end], spec)
            start = end + len(words)
        return values if start == len(message) else None


def translation(reason: str, language: str) -> str:
    """A reason that consists of the messages of `FAULTS`, in a language; "" for any other text."""
    parts = _beginning().split(reason)
    if len(parts) > MOST:
        return ""
    translated: dict[int, str] = {len(parts): ""}  # what follows a part, by the part's place
    for first in reversed(range(len(parts))):
        for after in range(first + 1, len(parts) + 1):  # the shortest message first: a value may look like a beginning
            if after in translated and (message := _translated(" ".join(parts[first:after]), language)):
                translated[first] = f"{message} {translated[after]}".rstrip()
                break
    return translated.get(0, "")


def _translated(message: str, language: str) -> str:
    """One message in a language; "" for any other text."""
    for pattern in _patterns():
        values = pattern.values(message)
        if values is not None:
            return filled(pattern.form, values, language)
    return ""


@cache
def _patterns() -> list[_Pattern]:
    """The messages, the longest ones first."""
    messages = sorted({form.message for form in FAULTS.values() if form.message}, key=len, reverse=True)
    return [_pattern(message) for message in messages]


def _pattern(message: str) -> _Pattern:
    words, names = [""], list[tuple[str, str]]()
    for text, name, spec, _ in Formatter().parse(message):
        words[-1] += text
        if name:
            names.append((name, spec or ""))
            words.append("")
    return _Pattern(message, words[0], tuple((*name, after) for name, after in zip(names, words[1:], strict=True)))


@cache
def _beginning() -> re.Pattern[str]:
    """The blank before the first words of a message."""
    beginnings = sorted({re.escape(pattern.begins) for pattern in _patterns()})
    return re.compile(f" (?={'|'.join(beginnings)})")


def _value(shown: str, spec: str) -> str:
    """The value that is shown so."""
    if spec == "date":
        try:
            return datetime.strptime(shown, _DATE).astimezone().isoformat()
        except ValueError:
            return shown
    root = next((root for root, words in KINDS.items() if spec == "kind" and f"{shown} ".startswith(f"{words} ")), "")
    return root + shown.removeprefix(KINDS[root]) if root else shown
