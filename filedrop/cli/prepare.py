"""`filedrop prepare`: what would be posted in place of a file. Nothing is sent."""

from __future__ import annotations

import errno
import sys
from io import BytesIO
from pathlib import Path

import click

from filedrop.cli import FAILED
from filedrop.cli.identify import A_LINK, company_of, name_of, opened_document, prepare_in_memory
from filedrop.cli.opening import open_config, write_new
from filedrop.cli.show import change_in_words, complain
from filedrop.errors import DocumentError, FiledropError, Unanswered
from filedrop.files.rights import explain
from filedrop.identify import demand
from filedrop.identify.mapping import Rules
from filedrop.outbound.context import identification_of
from filedrop.outbound.preparing import read_of


@click.command(epilog="\b\nExample: filedrop prepare --company acme invoice.xml -o posted.xml")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--company", metavar="NAME", help="Treat the file as a file of this company.")
@click.option("-o", "--output", metavar="FILE", type=click.Path(path_type=Path), help="Write it to this new file.")
@click.pass_obj
def prepare(config_option: str | None, file: Path, *, company: str | None, output: Path | None) -> None:
    """Print what would be posted in place of FILE, by the company's `prepare`.

    If nothing is to be changed, this is the document itself, in UTF-8. What was changed goes to the standard error
    stream. If FILE is -, filedrop reads standard input.
    """
    config = open_config(config_option)
    whose = company_of(file, company, config.companies)
    if whose is None:
        raise click.UsageError("write --company NAME: the file is in no company's outbound folder")
    rules = Rules(config.mapping, config.tables, source=config.source)
    try:
        with opened_document(file, config.outbound.max_size, rules.xpaths) as document:
            reading = read_of(document)
            identity = identification_of(whose, rules).identify(reading, name_of(file))
            demand(identity, reading)
            prepare_in_memory(file, document, identity, whose, config.outbound)
            changed = document.copy.prepared.changed if document.copy else {}
            content = b"".join(document.upload(local=True).chunks())
    except DocumentError as error:
        complain(f"{file}: {error}")
        raise SystemExit(FAILED) from error
    except Unanswered as error:
        raise FiledropError(f"{file}: {error}") from error
    except OSError as error:
        raise FiledropError(f"{file}: {A_LINK if error.errno == errno.ELOOP else explain(error)}") from error
    for what, (before, after) in changed.items():
        complain(change_in_words(what, before, after))
    if not changed:
        why = "nothing is to be changed" if whose.prepare.is_on else f"companies.{whose.name}.prepare is off"
        complain(f"{file}: {why}")
    if output is not None:
        write_new(output, BytesIO(content), "-o")
    else:
        sys.stdout.buffer.write(content)
