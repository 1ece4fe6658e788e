"""The name of a received document, by a pattern (`inbound.name`). Pure.

What a stranger wrote gets into a name only in safe letters, and can't choose a folder: a `/` is the pattern's own.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT = "{date}-{msg_no}-{type}-{sender}"  # contract 1
# Naming Files, Paths, and Namespaces (Microsoft): the devices, with or without a suffix.
DEVICES = r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³])(\..*)?"
LONGEST_VALUE = 60  # letters of each value in a name
LONGEST_PART = 150  # letters of each folder, and of the name without its suffix and its number
_TAKEN_FOLDERS = ("accepted", "rejected", "queried", "hold")  # of a meaning of their own, in an inbound folder
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_UNSAFE = re.compile(r"[^A-Za-z0-9.-]+")
# Letters of European languages that Unicode doesn't take apart into a letter and its mark.
_PLAIN = str.maketrans({
    "Æ": "AE", "æ": "ae", "Œ": "OE", "œ": "oe", "Ø": "O", "ø": "o", "ß": "ss", "ẞ": "SS", "Ð": "D", "ð": "d",
    "Đ": "D", "đ": "d", "Ł": "L", "ł": "l", "Þ": "Th", "þ": "th",
})  # fmt: skip


def received_name(pattern: str, values: Mapping[str, str]) -> str:
    """The name by a pattern, which may lead through folders: `0192_810418052/1001.xml`. Only of safe letters."""
    *folders, name = _PLACEHOLDER.sub(lambda found: safe(values[found[1]]), pattern).split("/")
    parts = [_free(folder, is_folder=not nth) for nth, folder in enumerate(folders)]
    return "/".join([*parts, f"{_free(name)}.xml"])


def safe(text: str) -> str:
    """The text in safe letters: `Årsrapport` is Arsrapport."""
    parts = unicodedata.normalize("NFKD", text.translate(_PLAIN))
    plain = "".join(letter for letter in parts if not unicodedata.combining(letter))
    return _UNSAFE.sub("_", plain)[:LONGEST_VALUE].strip("._-") or "unknown"


def _free(part: str, *, is_folder: bool = False) -> str:
    """A folder or a name, changed where its own meaning would be another."""
    part = part[:LONGEST_PART].rstrip(".")
    stem, dot, rest = part.partition(".")
    return f"{stem}_{dot}{rest}" if _is_taken(part, is_folder=is_folder) else part


def _is_taken(part: str, *, is_folder: bool = False) -> bool:
    """Whether this names a device of Windows or, as the first folder, something that filedrop has a use for."""
    stem = part.partition(".")[0].lower()
    return re.fullmatch(DEVICES, part, re.IGNORECASE) is not None or (is_folder and stem in _TAKEN_FOLDERS)
