"""`filedrop show`: a document for reading, in the terminal or as a page of HTML."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import asdict
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, cast

import click

from filedrop import readable
from filedrop.cli.dropped import opened
from filedrop.cli.opening import choose_account, config_if_any, open_access_point, open_config, write_new
from filedrop.cli.show import say, show_json, tell
from filedrop.cli.tables import show_table
from filedrop.errors import FiledropError
from filedrop.files import open_regular
from filedrop.identify import PDF_WITHIN, is_pdf
from filedrop.model.message import Message
from filedrop.storage.withdrawal import attachments_beside
from filedrop.texts.languages import ENGLISH, LANGUAGES
from filedrop.texts.printable import one_line

if TYPE_CHECKING:
    from typing import BinaryIO

    from filedrop.readable import Sheet
    from filedrop.readable.sheets import Block, Fact


@click.command(epilog="\b\nExample: filedrop show invoice.xml")
@click.argument("document", metavar="FILE|MSG_NO", type=click.Path(readable=False))
@click.option(
    "--html", metavar="FILE", type=click.Path(path_type=Path), help="Write it as an HTML page to this new file."
)
@click.option("--language", type=click.Choice(LANGUAGES), help="Default: `language` in the configuration.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--account", metavar="NAME", help="The account of the message. Not needed if there is only one.")
@click.pass_obj
def show(
    config_option: str | None,
    document: str,
    *,
    html: Path | None,
    language: str | None,
    as_json: bool,
    account: str | None,
) -> None:
    """Show an invoice, an order or another document for reading, or write it as a page for printing.

    FILE needs no configuration; - is standard input. For a message number, filedrop first downloads the document from
    the access point.
    """
    path = Path(document)
    is_file = os.path.lexists(path) or not document.isdecimal()
    language = language or _language(config_option)
    name = path.name if is_file else f"{document}.xml"
    renderer = readable.Renderer()
    try:
        with _file(path) if is_file else _fetched(config_option, int(document), account) as file:
            if html is not None:
                is_beside = is_file and html.absolute().parent == path.absolute().parent
                beside = attachments_beside(path) if is_beside else {}
                page = renderer.page(readable.pieces(file), name, language, beside)
            else:
                sheet = renderer.sheet(readable.pieces(file), language)
    except readable.NotReadable as error:
        if is_file and (name_in_pdf := _invoice_in_pdf(path, renderer)):
            why = f"is a PDF with an invoice in it ({name_in_pdf}): to send it, export the XML itself"
            raise FiledropError(f"{document} {why}") from error
        raise FiledropError(f"{document} {error}") from error
    finally:
        renderer.close()
    if html is not None:
        write_new(html, BytesIO(page), "--html")
        say(html)
    elif as_json:
        show_json(asdict(sheet))
    else:
        _show(sheet)


def _language(config_option: str | None) -> str:
    config = config_if_any(config_option)
    return config.language if config else ENGLISH


def _file(path: Path) -> BinaryIO:
    try:
        return opened(path)
    except OSError as error:
        raise FiledropError(f"{path} can't be read: {error.strerror}") from error


def _invoice_in_pdf(path: Path, renderer: readable.Renderer) -> str:
    """The name of the file with an invoice's XML in a PDF; "" where this is no PDF, or has no such file."""
    with suppress(OSError, readable.NotReadable), open_regular(path) as file:
        if is_pdf(file.read(PDF_WITHIN)):
            file.seek(0)
            return one_line(renderer.xml_in(readable.pieces(cast("BinaryIO", file)))[0], 200)
    return ""


def _fetched(config_option: str | None, msg_no: int, account: str | None) -> BinaryIO:
    config = open_config(config_option)
    file = cast("BinaryIO", TemporaryFile())  # noqa: SIM115 - the caller closes it
    with open_access_point(choose_account(config, account)) as access_point:
        access_point.download(Message(msg_no), file, max_size=config.inbound.max_size)
    file.seek(0)
    return file


def _show(sheet: Sheet) -> None:
    say(": ".join(filter(None, (f"{sheet.title} {sheet.number}".strip(), sheet.headline))))
    for block in sheet.blocks:
        say()
        _show_block(block)
        if block.more:
            tell(block.more)
    if sheet.attached:
        say()
        say(sheet.attached_title)
        for attachment in sheet.attached:
            tell(f"  {_line(attachment.text)}", indent="    ")


def _show_block(block: Block) -> None:
    if block.title:
        say(block.title)
    if block.rows:
        show_table(
            [label for label, _ in block.columns],
            [
                ["  " * cell.depth + _line(" · ".join([cell.text, *cell.details]).strip(" ·")) for cell in row]
                for row in block.rows
            ],
        )
    for party in block.parties:
        if party is not block.parties[0]:
            say()
        say(party.role)
        for line in party.lines:
            tell(f"  {_line(line)}", indent="    ")
        _show_facts(party.facts)
    for paragraph in block.paragraphs:
        tell(f"  {_line(paragraph)}", indent="  ")
    for depth, name, value in block.entries:
        tell(f"{'  ' * depth}{name}{': ' if value else ''}{_line(value)}", indent="  " * (depth + 2))
    _show_facts(block.facts)


def _show_facts(facts: list[Fact]) -> None:
    longest = max((len(fact.label) for fact in facts), default=0)
    for fact in facts:
        tell(f"  {fact.label:<{longest}}  {_line(fact.value)}", indent=" " * (longest + 4))


def _line(text: str) -> str:
    return " ".join(text.split())
