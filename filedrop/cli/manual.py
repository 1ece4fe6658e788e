"""`filedrop manual`: the pages of the manual, in the terminal.

A wheel has them in `filedrop/manual`, with the same paths as in the project's folder (pyproject.toml); where filedrop
runs out of that folder, also in an editable install, they are read there.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import click
from rich.markdown import CodeBlock, Markdown, MarkdownElement, TableElement
from rich.padding import Padding
from rich.text import Text

from filedrop.cli.show import say
from filedrop.cli.tables import column_widths, console, show_table, table
from filedrop.texts import guide
from filedrop.texts.languages import ENGLISH, LANGUAGES

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

TOPICS = {  # name: its page, and what is on it
    "readme": ("README.md", "What filedrop is, the demo, and the folders."),
    "accountants": ("docs/accountants.md", "One page for people who drop and collect files."),
    "getting-started": ("docs/getting-started.md", "The first document in ten minutes."),
    "install": ("docs/install.md", "Install filedrop on each system; the sandbox."),
    "upgrading": ("docs/upgrading.md", "Upgrade, move to another machine, uninstall."),
    "configuration": ("docs/configuration.md", "Every key, its default and its meaning."),
    "receivers": ("docs/receivers.md", "Look at a file, rehearse, set senders, receivers and ids."),
    "systems": ("docs/systems.md", "What systems export, what countries demand."),
    "mapping": ("docs/mapping.md", "Use a newer Peppol code list."),
    "receive": ("docs/receive.md", "Names, pages, attachments; rejections and answers."),
    "send": ("docs/send.md", "When a file is ready; PDFs in invoices; validation."),
    "operate": ("docs/operate.md", "Status, retry, changes, backup, what to do when."),
    "operations": ("docs/operations.md", "Monitoring, programs that filedrop starts."),
    "shares": ("docs/shares.md", "Which file systems work, and how to mount them."),
    "hosts": ("docs/hosts.md", "Several hosts: one goes on when another fails."),
    "alerts": ("docs/alerts.md", "Mails about what needs attention; metrics."),
    "commands": ("docs/commands.md", "Every command, and the exit statuses."),
    "errors": ("docs/errors.md", "Every error code, and what to do."),
    "troubleshooting": ("docs/troubleshooting.md", "What to do when a document fails."),
    "compatibility": ("docs/compatibility.md", "What can change in a new version."),
    "glossary": ("docs/glossary.md", "The terms of the manual."),
    "promises": ("docs/promises.md", "What filedrop promises, and its limits."),
    "performance": ("docs/performance.md", "How fast filedrop is, and what it needs."),
    "security": ("SECURITY.md", "What filedrop protects, and how to report a flaw."),
    "changelog": ("CHANGELOG.md", "What is new in each version."),
    "contributing": ("CONTRIBUTING.md", "Work on filedrop: tests, benchmarks, code."),
}
WIDEST = 120  # columns: longer lines are hard to read
NARROW = 24  # columns: a text in a table gets no fewer
GAP = 2
_FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"!?\[([^\]]+)\]\(([^)\s]+)\)")


@click.command(epilog="\b\nExample: filedrop manual receivers")
@click.argument("topic", type=click.Choice(list(TOPICS), case_sensitive=False), required=False, metavar="[TOPIC]")
@click.option("--language", type=click.Choice(LANGUAGES), default=ENGLISH, help="The language of the page accountants.")
def manual(topic: str | None, *, language: str) -> None:
    """Show a page of the manual. Without TOPIC, list the pages.

    On a terminal, the page is formatted for reading. Otherwise it is printed as Markdown.
    """
    if language != ENGLISH and topic != "accountants":
        raise click.UsageError("--language works only with the page accountants")
    if topic is None:
        show_table(("topic", "what it is about"), [(name, what) for name, (_, what) in TOPICS.items()])
        say("To read a page: filedrop manual TOPIC | less")
        return
    text = page(topic) if language == ENGLISH else guide.in_markdown(language)
    if sys.stdout.isatty():
        screen = console()
        screen.print(_Page(for_terminal(text, topic), hyperlinks=False), width=min(screen.width, WIDEST), crop=False)
    else:
        print(text, end="")


def page(topic: str) -> str:
    """The Markdown of a topic's page."""
    return guide.written(TOPICS[topic][0])


def for_terminal(text: str, topic: str) -> str:
    """A page for a terminal, where no link can be followed: each names the command that shows its page."""
    topics = {Path(path).name: name for name, (path, _) in TOPICS.items()}

    def tell(link: re.Match[str]) -> str:
        words, target = link.groups()
        if "://" in target:
            return link[0]
        leads = topics.get(Path(target.partition("#")[0]).name)
        return words if leads in (None, topic) else f"{words} (`filedrop manual {leads}`)"

    return "".join(part if part.startswith("```") else _LINK.sub(tell, part) for part in _FENCE.split(text))


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
