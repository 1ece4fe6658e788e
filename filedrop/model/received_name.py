"""The name of a received document, by a pattern (`inbound.name`). Pure.

What a stranger wrote gets into a name only in safe letters, and can't choose a folder: a `/` is the pattern's own.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

PLACEHOLDERS = ("date", "number", "msg_no", "type", "sender", "sender_name")
DEFAULT = "{date}-{msg_no}-{type}-{sender}"  # contract 1
# Naming Files, Paths, and Namespaces (Microsoft): the devices, with or without a suffix.
DEVICES = r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³])(\..*)?"
LONGEST_VALUE = 60  # letters of each value in a name
LONGEST_PART = 150  # letters of each folder, and of the name without its suffix and its number
LONGEST_PATTERN = 100
_TAKEN_FOLDERS = ("accepted", "rejected", "queried", "hold")  # of a meaning of their own, in an inbound folder
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_FOREIGN = re.compile(r"[^A-Za-z0-9._/-]")
_UNSAFE = re.compile(r"[^A-Za-z0-9.-]+")
# Letters of European languages that Unicode doesn't take apart into a letter and its mark.
_PLAIN = str.maketrans({
    "Æ": "AE", "æ": "ae", "Œ": "OE", "œ": "oe", "Ø": "O", "ø": "o", "ß": "ss", "ẞ": "SS", "Ð": "D", "ð": "d",
    "Đ": "D", "đ": "d", "Ł": "L", "ł": "l", "Þ": "Th", "þ": "th",
})  # fmt: skip


def name_pattern(written: str) -> str:
    """The pattern, without a `.xml` at its end. Raises ValueError, which says what is wrong with it."""
    pattern = re.sub(r"\.xml$", "", written, flags=re.IGNORECASE)
    known = ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
    found = _PLACEHOLDER.findall(pattern)
    for name in found:
        if name not in PLACEHOLDERS:
            raise ValueError(f'"{{{name}}}" is not a placeholder; write one of {known}')
    if not found:
        raise ValueError(
            f"contains no placeholder, so all documents would have one name; write at least one of {known}"
        )
    if foreign := _FOREIGN.search(_PLACEHOLDER.sub("", pattern)):
        raise ValueError(
            f'contains "{foreign[0]}"; besides placeholders, write only letters from A to Z, digits, and . _ - /'
        )
    if len(pattern) > LONGEST_PATTERN:
        raise ValueError(f"is longer than {LONGEST_PATTERN} characters; write a shorter one")
    parts = pattern.split("/")
    if any(not part or part.startswith(".") or part.endswith(".") for part in parts):
        raise ValueError(
            'has a folder or a name that is empty, or begins or ends with a dot; write one like "{sender}/{number}"'
        )
    if _is_taken(parts[0], is_first=len(parts) > 1) or any(_is_taken(part) for part in parts[1:]):
        raise ValueError(
            "contains the name of a Windows device, or its first folder is accepted, rejected, queried or hold, which "
            "have a meaning of their own; write another name"
        )
    return pattern


def received_name(pattern: str, values: Mapping[str, str]) -> str:
    """The name by a pattern, which may lead through folders: `0192_810418052/1001.xml`. Only of safe letters.

    What is filled into a folder's name has no dots: a folder that ends in `.tmp`, say, looks like another thing.
    """
    plain = {name: safe(value) for name, value in values.items()}
    dotless = {name: value.replace(".", "_") for name, value in plain.items()}
    *folders, last = pattern.split("/")
    parts = [_free(folder.format_map(dotless), is_first=not nth) for nth, folder in enumerate(folders)]
    return "/".join([*parts, f"{_free(last.format_map(plain))}.xml"])


def safe(text: str) -> str:
    """The text in safe letters: `Årsrapport` is Arsrapport."""
    parts = unicodedata.normalize("NFKD", text.translate(_PLAIN))
    plain = "".join(letter for letter in parts if not unicodedata.combining(letter))
    return _UNSAFE.sub("_", plain)[:LONGEST_VALUE].strip("._-") or "unknown"


def _free(part: str, *, is_first: bool = False) -> str:
    """A folder or a name, changed where it has a meaning of its own."""
    part = part[:LONGEST_PART].rstrip(".")
    stem, dot, rest = part.partition(".")
    return f"{stem}_{dot}{rest}" if _is_taken(part, is_first=is_first) else part


def _is_taken(part: str, *, is_first: bool = False) -> bool:
    """Whether this names a device of Windows or, as the first folder, something that filedrop has a use for."""
    stem = part.partition(".")[0].lower()
    return re.fullmatch(DEVICES, part, re.IGNORECASE) is not None or (is_first and stem in _TAKEN_FOLDERS)
