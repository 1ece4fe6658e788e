"""A sheet as a page of HTML that stands on its own: no script, nothing from elsewhere, everything escaped.

The page's own policy lets a browser apply this one style and load nothing (Content Security Policy Level 3). The only
links are those to attachments beside it.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from filedrop.readable.words import clean

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from filedrop.readable.sheets import Block, Cell, Fact, Sheet

_STYLE = (Path(__file__).parent / "page.css").read_text(encoding="utf-8")
_DEEPEST = 5  # steps that are set in, of an outline or of lines below lines
_POLICY = (
    f"default-src 'none'; style-src 'sha256-{b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()}'; "
    "base-uri 'none'; form-action 'none'"
)


def page(sheet: Sheet, file: str, beside: Mapping[int, str]) -> bytes:
    """A sheet as a page, in UTF-8. `file` is the document's name; `beside` are attachments beside the page.

    The keys of `beside` are the numbers of what is embedded; its names are file names, not paths.
    """
    heading = f"{sheet.title} {sheet.number}".strip()
    parts = [
        "<!DOCTYPE html>",
        f'<html lang="{escape(sheet.language)}"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="referrer" content="no-referrer">',
        f"<title>{escape(heading)}</title><style>{_STYLE}</style></head><body><main>",
        f"<header><h1>{escape(sheet.title)}</h1><p>{escape(sheet.number)}</p></header>",
        *(part for block in sheet.blocks for part in _block(block)),
        *_attachments(sheet, beside),
        f"<footer>{escape(sheet.made_from.format(file=clean(file)))}</footer>",
        "</main></body></html>\n",
    ]
    return "\n".join(parts).encode("utf-8", "replace")


def _block(block: Block) -> Iterator[str]:
    if block.title:
        yield f"<h2>{escape(block.title)}</h2>"
    match block.kind:
        case "parties":
            yield '<div class="parties">'
            for party in block.parties:
                lines = "".join(f"<p>{escape(line)}</p>" for line in party.lines)
                yield f"<section><h2>{escape(party.role)}</h2>{lines}{_facts(party.facts)}</section>"
            yield "</div>"
        case "table":
            yield from _table(block)
        case "texts":
            yield from (f"<p>{escape(paragraph)}</p>" for paragraph in block.paragraphs)
        case "outline":
            yield from _outline(block)
        case _:
            yield _facts(block.facts, block.kind)
    if block.more:
        yield f"<p>{escape(block.more)}</p>"


def _facts(facts: list[Fact], kind: str = "") -> str:
    if not facts:
        return ""
    rows = (
        f"<dt{_strong(fact)}>{escape(fact.label)}</dt><dd{_strong(fact)}>{escape(fact.value)}</dd>" for fact in facts
    )
    return f'<dl class="{kind}">{"".join(rows)}</dl>'


def _strong(fact: Fact) -> str:
    return ' class="strong"' if fact.strong else ""


def _table(block: Block) -> Iterator[str]:
    marks = [' class="n"' if is_number else "" for _, is_number in block.columns]
    labels = [escape(label) for label, _ in block.columns]
    heads = (f"<th{mark}>{label}</th>" for mark, label in zip(marks, labels, strict=True))
    yield f'<table class="rows"><thead><tr>{"".join(heads)}</tr></thead><tbody>'
    # Where there is no room for columns, each cell has its label above it.
    for row in block.rows:
        cells = (
            f'<td{_step(cell.depth) or mark} data-label="{label}">{_cell(cell)}</td>'
            for mark, label, cell in zip(marks, labels, row, strict=True)
        )
        yield f"<tr>{''.join(cells)}</tr>"
    yield "</tbody></table>"


def _cell(cell: Cell) -> str:
    return escape(cell.text) + "".join(f"<small>{escape(detail)}</small>" for detail in cell.details)


def _step(depth: int) -> str:
    return f' class="d{min(depth, _DEEPEST)}"' if depth else ""


def _outline(block: Block) -> Iterator[str]:
    yield '<table class="outline"><tbody>'
    for depth, name, value in block.entries:
        step = _step(depth)
        if value:
            yield f"<tr><td{step}>{escape(name)}</td><td>{escape(value)}</td></tr>"
        else:
            yield f'<tr><th{step} colspan="2">{escape(name)}</th></tr>'
    yield "</tbody></table>"


def _attachments(sheet: Sheet, beside: Mapping[int, str]) -> Iterator[str]:
    shown = {one.number for one in sheet.attached}
    items = [(one.text, beside.get(one.number or 0)) for one in sheet.attached]
    items += [("", name) for number, name in beside.items() if number not in shown]
    if not items:
        return
    yield f"<h2>{escape(sheet.attached_title)}</h2><ul>"
    for text, name in items:
        # Behind ./ no name can be an address, such as javascript:
        link = f'<a href="./{escape(quote(name, safe=""))}">{escape(clean(name))}</a>' if name else ""
        yield f"<li>{escape(text)}{': ' if text and link else ''}{link}</li>"
    yield "</ul>"
