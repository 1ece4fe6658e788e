"""`filedrop journal move`: the journal from its file into a database, and back. `journal accept`: after a restore."""

from __future__ import annotations

from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from filedrop.cli import FAILED
from filedrop.cli.opening import WHO_MAY, database, has_journal, open_config, open_journal
from filedrop.cli.show import busy, complain, say
from filedrop.cli.tables import show_table
from filedrop.config.values import journal_address
from filedrop.errors import FiledropError
from filedrop.files.patience import within
from filedrop.files.rights import explain
from filedrop.journal import JOURNAL, Database, Journal, NoJournal
from filedrop.journal.moving import move as move_rows
from filedrop.process.lock import held_state
from filedrop.status.folders import HUNG, folders

if TYPE_CHECKING:
    from collections.abc import Iterator

    from filedrop.config import Config

FILE = "file"
PATIENCE = 10.0  # seconds for a folder to answer


@click.group(epilog="\b\nExample: filedrop journal move --dry-run file")
def journal() -> None:
    """Move the journal into a database, or back into its file; go on with a restored database."""


@journal.command(epilog="\b\nExample: filedrop journal move postgresql://filedrop@db.example.com/filedrop")
@click.argument("address")
@click.option("--dry-run", is_flag=True, help="Only count the rows, and see whether the journal can be moved.")
@click.pass_obj
def move(config_option: str | None, address: str, *, dry_run: bool) -> None:
    """Move the journal to ADDRESS: postgresql://... or `file`, which is the file in `state`.

    Stop filedrop first, on all hosts. Afterwards, change `journal` in the configuration: the journal can't be used
    where it was.
    """
    config = open_config(config_option)
    source, target = database(config), _database(config, address)
    if not has_journal(config):
        raise FiledropError(f"there is no journal in {config.state}, or you may not use it: run this as {WHO_MAY}")
    with ExitStack() as stack:
        stack.enter_context(held_state(config.state, has_journal=not dry_run and None in (source, target)))
        come_from = stack.enter_context(_opened(config.state, source, is_new=False, is_dry=dry_run))
        try:
            go_to = stack.enter_context(_opened(config.state, target, is_new=not dry_run, is_dry=dry_run))
        except NoJournal:  # nothing is made for a dry run: an empty journal stands for it
            nowhere = Path(stack.enter_context(TemporaryDirectory()))
            go_to = stack.enter_context(_opened(nowhere, None, is_new=True, is_dry=True))
        with busy("counting the rows" if dry_run else "moving the journal"):
            rows = move_rows(come_from.engine, go_to.engine, is_dry=dry_run)
        here, there = come_from.engine.place, go_to.engine.place
    if rows:
        show_table(["table", "rows"], [[table, str(number)] for table, number in rows.items()])
    if dry_run and rows:
        say("Nothing was changed. Without --dry-run, the journal would be moved.")
        return
    say(f"The journal is in {there} now, and {here} can't be used any more.")
    change = "remove `journal`" if target is None else "set `journal` to this address"
    say(f"Before you start filedrop, {change} in {config.source}.")


@journal.command(epilog="\b\nExample: filedrop journal accept")
@click.pass_obj
def accept(config_option: str | None) -> None:
    """Serve the folders that filedrop has served with another copy of the journal.

    That is so after a database was restored, copied or upgraded, and while two servers work. Make sure first that
    filedrop runs with this journal only. It then learns from the sidecars what was sent, and looks for what waits in
    `sending/` before it sends it.
    """
    config, away = open_config(config_option), dict[Path, str]()
    with open_journal(config) as journal:
        found = dict(_unknown_branches(config, journal, away))
        if found:
            journal.folders.accept(found.values())
    for path in found:
        say(f"{path}: this filedrop serves it, from its next scan on")
    if not found:
        say("No folder waits for this.")
    for path, why in away.items():
        complain(f"{path}: {why}; run this again when the folder is back")
    if away:
        raise SystemExit(FAILED)


def _unknown_branches(config: Config, journal: Journal, away: dict[Path, str]) -> Iterator[tuple[Path, str]]:
    """The folders that wait, each with the branch in its marker; those that don't answer come into `away`."""
    for folder in folders(config):
        try:
            branch = within(PATIENCE, partial(folder.branching.unknown, journal))
        except TimeoutError:
            away[folder.path] = HUNG
        except OSError as error:
            away[folder.path] = explain(error, folder.path)
        else:
            if branch is not None:
                yield folder.path, branch


def _database(config: Config, address: str) -> Database | None:
    """The database at an address; None for the file. Raises UsageError."""
    if address == FILE:
        return None
    try:
        return Database(
            journal_address(address),
            config.read_journal_password if config.journal_password_file and not urlsplit(address).password else None,
        )
    except ValueError as error:
        raise click.UsageError(f"ADDRESS {error}; or write {FILE}") from error


def _opened(state: Path, place: Database | None, *, is_new: bool, is_dry: bool) -> closing[Journal]:
    """A side of the move for a `with`. Raises FiledropError, NoJournal where there is none and it isn't to be made."""
    if place is not None:
        return closing(Journal.in_database(place, creates=is_new, is_moving=True))
    if not is_new and not (state / JOURNAL).exists():
        raise NoJournal(f"there is no journal in {state}")
    return closing(Journal.at(state / JOURNAL, is_daemons=not is_dry, is_moving=True))
