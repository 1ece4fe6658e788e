"""`filedrop manual`: the pages of the manual, in the terminal.

A wheel has them in `filedrop/manual`, with the same paths as in the project's folder (pyproject.toml); where filedrop
runs out of that folder, also in an editable install, they are read there.
"""

from __future__ import annotations

import re
import sqlite3
import sys
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import click
from rich.markdown import CodeBlock, Markdown, MarkdownElement, TableElement
from rich.padding import Padding
from rich.text import Text

from filedrop.cli.show import say
from filedrop.cli.tables import column_widths, console, show_table, table
from filedrop.errors import FiledropError
from filedrop.texts import guide
from filedrop.texts.languages import ENGLISH, LANGUAGES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console, ConsoleOptions, RenderResult

WIDEST = 120  # columns: longer lines are hard to read
NARROW = 24  # columns: a text in a table gets no fewer
GAP = 2
ACCOUNTANTS = "accountants"  # the page that is in all languages
_FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_TITLE = re.compile(r"^#{1,3} (.*)$", re.MULTILINE)
_ROW = re.compile(r"^\| \[(.+)\]\((\S+\.md)\) \| (.+) \|$", re.MULTILINE)  # of the README's table
_MARK = re.compile(r"<!--.*?-->\n+")  # of .ci/reference
_LINK = re.compile(r"!?\[([^\]]+)\]\(([^)\s]+)\)")


@click.command(epilog="\b\nExample: filedrop manual --search stop sending")
@click.argument("words", nargs=-1, metavar="[PAGE|WORD...]", shell_complete=lambda *asked: _begun(asked[-1]))
@click.option("--search", is_flag=True, help="Look for the words in all pages, also if they are the name of one.")
@click.option("--language", type=click.Choice(LANGUAGES), default=ENGLISH, help="The language of the page accountants.")
def manual(words: tuple[str, ...], *, search: bool, language: str) -> None:
    """Show a page of the manual, or the places where it has these words. Without PAGE, list the pages.

    On a terminal, the page is formatted for reading. Otherwise it is printed as Markdown.
    """
    name = words[0].lower() if len(words) == 1 else ""
    if language != ENGLISH and (search or name != ACCOUNTANTS):
        raise click.UsageError("--language works only with the page accountants")
    if not words:
        if search:
            raise click.UsageError("--search needs a word to look for")
        rows = [(name, f"{page.title}: {page.line}") for name, page in pages().items()]
        show_table(("page", "what it is about"), rows)
        say("To read a page: filedrop manual PAGE | less")
        return
    if search or name not in pages():
        found = sections(words)
        if not found:
            raise FiledropError(f"no page of the manual has {' or '.join(words)}; to list the pages: filedrop manual")
        show_table(("page", "section", "text"), found)
        say("To read a page: filedrop manual PAGE | less")
        return
    text = for_terminal(pages()[name].text if language == ENGLISH else guide.in_markdown(language), name)
    if sys.stdout.isatty():
        screen = console()
        screen.print(_Page(text, hyperlinks=False), width=min(screen.width, WIDEST), crop=False)
    else:
        print(text, end="")


class Page(NamedTuple):
    """A page of the manual: where it is, with `/`, its title, and what a reader does with it."""

    path: str
    title: str
    line: str

    @property
    def text(self) -> str:
        """Its Markdown."""
        return guide.written(self.path)


@cache
def pages() -> dict[str, Page]:
    """The pages by their names: the README, and those in its table, which is the only list of them."""
    readme = Page("README.md", "filedrop", "what it is, the demo, the folders")
    rows = (Page(path, title, line) for title, path, line in _ROW.findall(readme.text))
    return {"readme": readme} | {Path(page.path).stem.lower(): page for page in rows}


def sections(words: Iterable[str]) -> list[tuple[str, str, str]]:
    """The ten sections that fit these words best, each with its page, its title and what it says there.

    If no section has all words, it is enough to have one of them. A word in a title counts ten times.
    """
    phrases = ['"' + word.replace('"', '""') + '"' for word in words]
    with closing(sqlite3.connect(":memory:")) as index:
        index.execute("CREATE VIRTUAL TABLE section USING fts5(page UNINDEXED, title, text, tokenize = porter)")
        for name, page in pages().items():
            text = _FENCE.sub(lambda code: re.sub(r"^(```\w*|#+)", "", code[0], flags=re.MULTILINE), page.text)
            parts = _TITLE.split(text)[1:]
            index.executemany(
                "INSERT INTO section VALUES (?, ?, ?)",
                [(name, _plain(title), _plain(text)) for title, text in zip(parts[::2], parts[1::2], strict=True)],
            )
        for wanted in (" ".join(phrases), " OR ".join(phrases)):
            found = index.execute(
                "SELECT page, title, snippet(section, 2, '', '', '...', 12) FROM section"
                " WHERE section MATCH ? ORDER BY bm25(section, 0, 10, 1) LIMIT 10",
                (wanted,),
            ).fetchall()
            if found:
                return found
    return []


def for_terminal(text: str, name: str) -> str:
    """The text of a page where no link can be followed: each names the command that shows its page."""
    names = {Path(page.path).name: name for name, page in pages().items()}

    def tell(link: re.Match[str]) -> str:
        words, target = link.groups()
        if "://" in target:
            return link[0]
        leads = names.get(Path(target.partition("#")[0]).name)
        return words if leads in (None, name) else f"{words} (`filedrop manual {leads}`)"

    parts = _FENCE.split(_MARK.sub("", text))
    return "".join(part if part.startswith("```") else _LINK.sub(tell, part) for part in parts)


def _plain(text: str) -> str:
    marked = _LINK.sub(r"\1", _MARK.sub("", text))
    return " ".join(re.sub(r"[`*]|^[|:-]+$", "", marked, flags=re.MULTILINE).replace("|", " ").split())


def _begun(incomplete: str) -> list[str]:
    return [name for name in pages() if name.startswith(incomplete)]


class _Verbatim(CodeBlock):
    """A block of code, whose lines are never folded: they are there to be copied."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(str(self.text).rstrip(), style="cyan", no_wrap=True, overflow="ignore")


class _Rows(TableElement):
    """A table whose words are never broken; where the terminal is too narrow for that, its cells below each other."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        headers = [cell.content for cell in self.header.row.cells] if self.header and self.header.row else []
        rows = [[cell.content for cell in row.cells] for row in self.body.rows] if self.body else []
        plain = [[cell.plain for cell in column] for column in zip(headers, *rows, strict=True)]
        widths = column_widths(plain, options.max_width, GAP, NARROW)
        if widths:
            yield table(headers, rows, widths, padding=(0, GAP, 1, 0))
            return
        for first, *others in rows:
            yield Text.assemble(first, style="bold")
            for header, cell in zip(headers[1:], others, strict=True):
                if cell:
                    yield Padding(Text.assemble(header, ": " if header else "", cell), (0, 0, 0, 2))
            yield Text()


class _Page(Markdown):
    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "fence": _Verbatim,
        "table_open": _Rows,
    }
