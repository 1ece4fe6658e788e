"""`filedrop hold` and `filedrop release`: the HOLD file in a company's outbound folders (contract 1, Hold)."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import click

from filedrop.cli import FAILED
from filedrop.cli.opening import check_company, journal_if_any, open_config
from filedrop.cli.show import complain, say
from filedrop.errors import FolderUnavailable
from filedrop.files import create_whole, discard
from filedrop.files.rights import explain
from filedrop.storage.company_folders import outbound_folder
from filedrop.storage.hold import HOLD
from filedrop.texts.printable import command
from filedrop.times import local

if TYPE_CHECKING:
    from collections.abc import Callable

    from filedrop.config import Config
    from filedrop.storage.company_folders import OutboundFolder


@click.command(epilog="\b\nExample: filedrop hold acme")
@click.argument("company")
@click.pass_obj
def hold(config_option: str | None, company: str) -> None:
    """Stop sending for COMPANY until you release it.

    filedrop creates a file HOLD in the company's outbound folders. New files wait in sending/. Requests
    under way are finished.
    """
    undo = command("filedrop", "release", company)
    since = local(datetime.now().astimezone())
    note = f"Held since {since}. To send the waiting documents, delete this file or run: {undo}\n"

    def put(folder: OutboundFolder) -> str:
        if by := folder.held_by():
            return f"is already held, by the file {by}"
        create_whole(folder.at() / HOLD, note.encode())
        folder.at().sync()
        return f"is held; to send again: {undo}"

    _in_each(open_config(config_option), company, put)


@click.command(epilog="\b\nExample: filedrop release acme")
@click.argument("company")
@click.pass_obj
def release(config_option: str | None, company: str) -> None:
    """Send again for COMPANY: filedrop deletes all hold files in its outbound folders."""

    def remove(folder: OutboundFolder) -> str:
        names = list(folder.hold_files())
        if not names:
            return "was not held"
        for name in names:
            discard(folder.at() / name)  # by its name: while one is taken to be looked at, nothing would be held
        if name := folder.held_by():
            why = f"{name} can't be deleted; it may be a folder, or a program may have it open"
            raise PermissionError(None, why)
        folder.at().sync()
        return "is released; filedrop sends what waits there"

    _in_each(open_config(config_option), company, remove)


def _in_each(config: Config, name: str, act: Callable[[OutboundFolder], str]) -> None:
    """Act in each of the company's outbound folders, and say what came of it."""
    check_company(config, name)
    company, failed = config.companies[name], False
    for path in company.outbound:
        folder = outbound_folder(config, company, path)
        try:
            with journal_if_any(config) as journal:
                folder.check_ownership(journal)
            say(f"{name}: {path} {act(folder)}")
        except FolderUnavailable as error:
            complain(f"{name}: {path}: {error}")
            failed = True
        except OSError as error:
            complain(f"{name}: {path}: it can't be held or released: {explain(error, path)}")
            failed = True
    if failed:
        raise SystemExit(FAILED)
