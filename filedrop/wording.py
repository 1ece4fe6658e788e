"""How strangers' words and file names are shown: in one line, with nothing in it that drives a terminal or hides."""

from __future__ import annotations

import os
import shlex


def printable(text: object) -> str:
    """The text in one line, with escapes for whatever a terminal would obey or can't show."""
    said = str(text)
    if said.isprintable():
        return said
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in said)


def command(*words: str) -> str:
    """A command line to be copied into a shell; what can't be printed is written as bytes (`$'...'`, POSIX 2024)."""
    return " ".join(shlex.quote(word) if word.isprintable() else _in_bytes(word) for word in words)


def _in_bytes(word: str) -> str:
    letters = (
        chr(byte) if chr(byte).isascii() and chr(byte).isprintable() and byte not in b"'\\" else f"\\{byte:03o}"
        for byte in os.fsencode(word)
    )
    return f"$'{''.join(letters)}'"
