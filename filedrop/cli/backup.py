"""`filedrop backup`: a copy of the journal, made while the daemon works."""

from __future__ import annotations

from pathlib import Path

import click

from filedrop.cli.opening import as_caller, open_config, open_journal
from filedrop.cli.show import say
from filedrop.errors import FiledropError
from filedrop.text import size


@click.command(epilog="\b\nExample: filedrop backup journal-2026-11-22.sqlite")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False))
@click.pass_obj
def backup(config_option: str | None, file: Path) -> None:
    """Copy the journal to FILE, whole and as of one moment, while filedrop runs.

    FILE is complete once it is there, and must not be there before. How a copy is put back, the manual says: filedrop
    manual operations.
    """
    if file.exists():
        raise FiledropError(f"{file} is there already: name another file, or delete that one")
    with open_journal(open_config(config_option)) as journal, as_caller():
        try:
            journal.copy_to(file)
        except OSError as error:
            raise FiledropError(f"{file} can't be written: {error.strerror or error}") from error
        say(f"{file} has the journal, {size(file.stat().st_size)}")
