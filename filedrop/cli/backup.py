"""`filedrop backup`: a copy of the journal, made while the daemon works."""

from __future__ import annotations

from pathlib import Path

import click

from filedrop.cli.opening import as_caller, open_config, open_journal
from filedrop.cli.show import busy, say
from filedrop.errors import FiledropError
from filedrop.texts.printable import size


@click.command(epilog="\b\nExample: filedrop backup journal-2026-11-22.sqlite")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False))
@click.pass_obj
def backup(config_option: str | None, file: Path) -> None:
    """Copy the journal to FILE while filedrop runs.

    The copy shows the journal at one moment. FILE must not exist yet; when it appears, it is complete. To put a copy
    back, see: filedrop manual operate
    """
    if file.exists():
        raise FiledropError(f"{file} already exists: name another file, or delete it")
    with open_journal(open_config(config_option)) as journal, as_caller():
        if journal.copies is None:
            raise FiledropError(f"the journal is in {journal.engine.describe()}: copy it with pg_dump")
        try:
            with busy("copying the journal"):
                journal.copies.copy_to(file)
        except OSError as error:
            raise FiledropError(f"{file} can't be written: {error.strerror or error}") from error
        say(f"The journal is copied to {file} ({size(file.stat().st_size)}).")
