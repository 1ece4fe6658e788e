"""The manual's page for accountants, in any language.

A block of the page is a heading, a paragraph, an item of a list or a cell of a table: a message of the catalogue
`guide`. The page is read where `filedrop manual` reads it.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt

from filedrop.texts.languages import ENGLISH, GUIDE, catalogue

if TYPE_CHECKING:
    from collections.abc import Callable

PAGE = "docs/accountants.md"
_PACKAGE = Path(__file__).parents[1]
_BETWEEN = re.compile(r"(\n\n+|\n(?=- |\|))")  # two blocks
_CELL = re.compile(r"(?<=\| )[^|]*[^|\s-][^|]*(?= \|)")


def written(path: str) -> str:
    """The Markdown of a page of the manual, by its path in the project: a wheel has it in `filedrop/manual`."""
    wheel = _PACKAGE / "manual"
    return ((wheel if wheel.is_dir() else _PACKAGE.parent) / path).read_text("utf-8")


def blocks() -> list[str]:
    """The blocks of the page in English, each in one line."""
    found: list[str] = []

    def collect(block: str) -> str:
        found.append(block)
        return block

    _in_blocks(collect)
    return found


@cache
def in_markdown(language: str = ENGLISH) -> str:
    """The page in this language, as Markdown: paragraphs are one line each where they are translated."""
    return written(PAGE) if language == ENGLISH else _in_blocks(catalogue(language, GUIDE).gettext)


@cache
def in_html(language: str) -> tuple[str, str]:
    """The title of the page in this language, and all below it as HTML."""
    title, _, text = in_markdown(language).partition("\n")
    return title[2:], MarkdownIt("commonmark").enable("table").render(text)


def _in_blocks(shown: Callable[[str], str]) -> str:
    """The page with each block as `shown` gives it."""

    def one(part: str) -> str:
        if part.startswith("|"):
            return _CELL.sub(lambda cell: shown(cell[0]), part)
        text = part.lstrip("#- ")  # without the mark of a heading or an item
        return part.removesuffix(text) + shown(" ".join(text.split()))

    parts = _BETWEEN.split(written(PAGE).strip())
    return "".join(part if nth % 2 else one(part) for nth, part in enumerate(parts)) + "\n"
