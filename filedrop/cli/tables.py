"""Tables, with colours, by rich, which most commands don't load."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from filedrop.texts.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.padding import PaddingDimensions
    from rich.text import TextType

WIDE = 1000  # columns where there is no terminal: a line is a line, for grep
STYLES = {
    "ok": "green", "valid": "green", "delivered": "green", "sent": "green",
    "warning": "yellow", "waiting": "yellow", "held": "yellow", "overdue": "yellow",
    "failed": "red", "invalid": "red", "doubt": "red", "refused": "red", "away": "red",
}  # fmt: skip


def console() -> Console:
    """What tables and trees are printed on."""
    width = None if sys.stdout.isatty() else WIDE
    return Console(markup=False, highlight=False, emoji=False, width=width, soft_wrap=False)


def show_table(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print rows below their headers, or, where a terminal is too narrow for that, each row's cells below each other.

    Words that say how something is have their colour.
    """
    shown = [["" if cell is None else printable(cell) for cell in row] for row in rows]
    wide = console()
    for gap in (2, 1):
        widths = column_widths([list(column) for column in zip(headers, *shown, strict=True)], wide.width, gap)
        if widths:
            coloured = ([Text(cell, STYLES.get(cell, "")) for cell in row] for row in shown)
            wide.print(table(headers, coloured, widths, padding=(0, gap, 0, 0)))
            return
    longest = max(map(cell_len, headers))
    for row in shown:
        for header, cell in zip(headers, row, strict=True):
            if cell:
                line = Text.assemble((f"{header:<{longest}}  ", "bold"), (cell, STYLES.get(cell, "")))
                wide.print(line, soft_wrap=True)
        wide.print()


def table(
    headers: Sequence[TextType], rows: Iterable[Sequence[Text]], widths: Sequence[int], *, padding: PaddingDimensions
) -> Table:
    """A table without lines, whose columns have these widths."""
    made = Table(box=None, pad_edge=False, padding=padding, header_style="bold")
    for header, width in zip(headers, widths, strict=True):
        made.add_column(header, width=width, overflow="fold")
    for row in rows:
        made.add_row(*row)
    return made


def column_widths(columns: Sequence[Sequence[str]], room: int, gap: int, narrow: int = 0) -> list[int]:
    """How wide each column of a table may be, the last ones folded between words; none where a word doesn't fit.

    A text is folded only where it has more than `narrow` columns.
    """
    texts = [max(map(cell_len, column)) for column in columns]
    words = [max((cell_len(word) for cell in column for word in cell.split()), default=0) for column in columns]
    widths = [max(word, min(text, narrow)) for text, word in zip(texts, words, strict=True)]
    left = room - gap * (len(columns) - 1) - sum(widths)
    if left < 0:
        return []
    for index, text in enumerate(texts):
        more = min(left, text - widths[index])
        widths[index] += more
        left -= more
    return widths
