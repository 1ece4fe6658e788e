"""How things are shown: tables, sentences, JSON. File names and other people's texts can't drive a terminal here."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from filedrop.wording import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

WIDE = 1000  # columns where there is no terminal: a line is a line, for grep
STYLES = {
    "ok": "green", "delivered": "green", "sent": "green", "would send": "green",
    "warning": "yellow", "waiting": "yellow", "held": "yellow", "overdue": "yellow", "not ready": "yellow",
    "failed": "red", "doubt": "red", "would fail": "red", "refused": "red", "away": "red",
}  # fmt: skip


def console() -> Console:
    """What tables and trees are printed on."""
    width = None if sys.stdout.isatty() else WIDE
    return Console(markup=False, highlight=False, emoji=False, width=width, soft_wrap=False)


def say(*sentences: object) -> None:
    """Print a line at once, for whoever follows."""
    print(*(printable(sentence) for sentence in sentences), flush=True)


def tell(sentence: str) -> None:
    """Print a sentence; a terminal has it folded between words."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else WIDE
    folded = textwrap.wrap(printable(sentence), width, subsequent_indent="  ", break_on_hyphens=False) or [""]
    print(*folded, sep="\n", flush=True)


def complain(text: str) -> None:
    """Print an error's sentences on stderr."""
    for line in text.splitlines() or [""]:
        print(printable(line), file=sys.stderr, flush=True)


def show_table(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print rows below their headers; words that say how something is have their colour."""
    table = Table(*headers, box=None, pad_edge=False, header_style="bold")
    for column in table.columns:
        column.overflow = "fold"
    for row in rows:
        cells = ["" if cell is None else printable(cell) for cell in row]
        table.add_row(*(Text(cell, STYLES.get(cell, "")) for cell in cells))
    console().print(table)


def show_json(content: Any) -> None:
    """Print one object in one line."""
    print(json.dumps(content), flush=True)
