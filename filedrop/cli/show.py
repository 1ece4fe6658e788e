"""How sentences and JSON are shown. File names and other people's texts can't drive a terminal here.

On a terminal, lines are folded between words. No word is broken: ids, paths and names are there to be copied.
"""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from typing import TYPE_CHECKING, Any

from filedrop.texts.printable import printable

if TYPE_CHECKING:
    from typing import TextIO


def say(sentence: object = "") -> None:
    """Print a line at once, for whoever follows."""
    print(printable(sentence), flush=True)


def tell(sentence: str, *, indent: str = "  ") -> None:
    """Print a sentence; a terminal has it folded, the further lines with this indent."""
    print(_folded(sentence, sys.stdout, indent), flush=True)


def complain(text: str) -> None:
    """Print an error's sentences on stderr; a terminal has them folded."""
    for line in text.splitlines() or [""]:
        print(_folded(line, sys.stderr), file=sys.stderr, flush=True)


def _folded(line: str, stream: TextIO, indent: str = "  ") -> str:
    shown = printable(line)
    if not stream.isatty():
        return shown
    width = shutil.get_terminal_size().columns
    lines = textwrap.wrap(shown, width, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False)
    return "\n".join(lines)


def show_json(content: Any) -> None:
    """Print one object in one line."""
    print(json.dumps(content), flush=True)


def change_in_words(role: str, before: str, after: str) -> str:
    """A changed id of a role (`sender`, `receiver`), or the `pdf` that was put into it, in English."""
    if role == "pdf":
        return f"{after} is put into the document"
    return f"the {role}'s EndpointID {before or '(none)'} becomes {after}"
