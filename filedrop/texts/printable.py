"""Text for people: untrusted text made safe to show, sizes, lists, and what is to be copied: commands, values in YAML.

And names that people compare by eye: a letter such as ü has two forms, one character (composed) or two (decomposed, as
a Mac writes the names of files).
"""

from __future__ import annotations

import os
import re
import shlex
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_NO_BREAK = ("\xa0", "\u202f")
_AROUND_NO_BREAK = re.compile("([\xa0\u202f])")
_PLAIN = re.compile(r"(?!(null|true|false)\Z)[a-z][a-z0-9_.-]*", re.IGNORECASE)  # what is text in any YAML


def composed(text: str) -> str:
    """The text with each letter in its composed form (Unicode NFC)."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def looks_like(text: str, other: str) -> bool:
    """Whether two texts are equal, in whichever form their letters are."""
    return text == other or composed(text) == composed(other)


def forms(text: str) -> list[str]:
    """The text as it is written, then with all letters composed, then with all decomposed; each text once."""
    return list(dict.fromkeys([text, composed(text), unicodedata.normalize("NFD", text)]))


def valid(text: str) -> str:
    """The text with `?` for what isn't Unicode: a file name may have any bytes, but a text in the journal may not."""
    return text.encode("utf-8", "replace").decode()


def printable(text: object) -> str:
    """The text in one line, with escapes for control characters and others that a terminal can't show."""
    said = str(text)
    if said.isprintable():
        return said
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in said)


def printable_sentence(sentence: str) -> str:
    """A sentence of ours, as `printable` has it, with its no-break spaces: French and large numbers have them."""
    return "".join(part if part in _NO_BREAK else printable(part) for part in _AROUND_NO_BREAK.split(sentence))


def one_line(text: object, longest: int) -> str:
    """The text in one line with single blanks, safe to show, and cut after so many letters."""
    return printable(" ".join(str(text).split()))[:longest]


def listed(words: Iterable[str]) -> str:
    """The words as a sentence lists them: `a`, `a and b`, `a, b and c`."""
    *first, last = list(words) or [""]
    return f"{', '.join(first)} and {last}" if first else last


def size(count: int) -> str:
    """A number of bytes in three digits, rounded down (`999 bytes`, `48.2 KB`, `200 MB`); units are powers of 1000."""
    for unit, factor in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("KB", 1000)):
        if count >= factor:
            finest = factor // 100 if count < 10 * factor else factor // 10 if count < 100 * factor else factor
            return f"{count // finest * finest / factor:g} {unit}"
    return f"{count} bytes"


def command(*words: str) -> str:
    """A command line to be copied into a shell; unprintable words are written as bytes (`$'...'`, POSIX 2024)."""
    return " ".join(shlex.quote(word) if word.isprintable() else _in_bytes(word) for word in words)


def in_yaml(text: str) -> str:
    """The text as a value in YAML, in quotation marks where it needs them."""
    return text if _PLAIN.fullmatch(text) else "'" + text.replace("'", "''") + "'"


def _in_bytes(word: str) -> str:
    letters = (
        chr(byte) if chr(byte).isascii() and chr(byte).isprintable() and byte not in b"'\\" else f"\\{byte:03o}"
        for byte in os.fsencode(word)
    )
    return f"$'{''.join(letters)}'"
