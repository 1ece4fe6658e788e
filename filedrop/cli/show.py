"""How sentences and JSON are shown. File names and other people's texts can't drive a terminal here.

On a terminal, lines are folded between words. No word is broken: ids, paths and names are there to be copied.
"""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sized
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, TypeVar

from filedrop.texts.printable import printable

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from typing import TextIO

T = TypeVar("T")
FEW = 2  # fewer items need no progress


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


def progress(items: Iterable[T], doing: str) -> Iterable[T]:
    """The items, one after the other. A terminal at stderr shows meanwhile how many are done."""
    if not sys.stderr.isatty() or (isinstance(items, Sized) and len(items) < FEW):
        return items
    from rich.console import Console  # noqa: PLC0415 - rich costs 50 ms
    from rich.progress import track  # noqa: PLC0415 - rich costs 50 ms

    return track(items, doing, console=Console(stderr=True), transient=True)


def busy(doing: str) -> AbstractContextManager[object]:
    """A context for a step of unknown length: a terminal at stderr shows that it goes on."""
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console  # noqa: PLC0415 - rich costs 50 ms

    return Console(stderr=True).status(doing)


def show_json(content: Any) -> None:
    """Print one object in one line."""
    print(json.dumps(content), flush=True)


def change_in_words(role: str, before: str, after: str) -> str:
    """A changed id of a role (`sender`, `receiver`), or the `pdf` that was put into it, in English."""
    if role == "pdf":
        return f"{after} is put into the document"
    return f"the {role}'s EndpointID {before or '(none)'} becomes {after}"
