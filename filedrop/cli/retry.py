"""`filedrop retry`: failed documents back in line."""

from __future__ import annotations

import hashlib
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from filedrop.cli import FAILED
from filedrop.cli.opening import has_journal, open_config, open_journal
from filedrop.cli.show import complain, say, show_json, show_table
from filedrop.errors import FolderUnavailable
from filedrop.files import open_regular, place, sync_folder
from filedrop.folders import OutboundFolder
from filedrop.glimpse import folders, see_ours, why_failed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from filedrop.config import Config
    from filedrop.journal import Journal


@dataclass(frozen=True, slots=True)
class Failed:
    """A document in a `failed/`."""

    folder: OutboundFolder
    name: str

    @property
    def path(self) -> Path:
        """Where it lies."""
        return self.folder.path / "failed" / self.name

    def put_back(self) -> str:
        """Move it to `outbound/`, clear its note and sidecar, and return its name there. Raises OSError."""
        for name in self.folder.free_names(self.folder.path, self.name):
            try:
                place(self.path, self.folder.path / name)
            except FileExistsError:
                continue
            for suffix in (".why.txt", ".json"):
                self.path.with_name(self.name + suffix).unlink(missing_ok=True)
            sync_folder(self.folder.path)
            return name
        raise AssertionError  # free_names never ends


@click.command()
@click.argument("words", nargs=-1, metavar="[COMPANY] [NAME...]")
@click.option("--all", "everything", is_flag=True, help="All that failed (of the company).")
@click.option("--anyway", is_flag=True, help="Send them even though the same content was sent before.")
@click.option("--json", "as_json", is_flag=True, help="One object a line.")
@click.pass_obj
def retry(config_option: str | None, words: Sequence[str], *, everything: bool, anyway: bool, as_json: bool) -> None:
    """Put failed documents back in line, by their names in failed/ or all of them.

    Without names and --all it shows what could be retried.
    """
    config = open_config(config_option)
    company = words[0] if words and words[0] in config.companies else None
    names = words[1:] if company else words
    if names and everything:
        raise click.UsageError("write names or --all, not both")
    with ExitStack() as stack:
        journal = stack.enter_context(open_journal(config)) if anyway or has_journal(config) else None
        failed = [document for document in _failed(config, journal) if company in (None, document.folder.company)]
        if not names and not everything:
            _list(failed, as_json=as_json)
            if not (failed and not as_json and sys.stdin.isatty() and click.confirm("Retry all of them?")):
                return
        chosen = _named(failed, names) if names else failed
        done = 0
        for document in chosen:
            try:
                name = _put_back(document, journal if anyway else None)
            except OSError as error:
                complain(f"{document.path}: it can't be moved: {error.strerror}")
                continue
            done += 1
            if as_json:
                show_json({"company": document.folder.company, "file": document.name, "retried_as": name})
            else:
                say(f"{document.folder.company}: {document.name} is back in outbound/ as {name}")
    if done < (len(names) or len(chosen)):
        raise SystemExit(FAILED)


def _put_back(document: Failed, let_through: Journal | None) -> str:
    if let_through:  # before it is back, so that no sweep comes between
        with open_regular(document.path) as file:
            let_through.let_through(hashlib.file_digest(file, "sha256").hexdigest())
    return document.put_back()


def _failed(config: Config, journal: Journal | None) -> Iterator[Failed]:
    for folder in folders(config):
        if isinstance(folder, OutboundFolder):
            try:
                see_ours(folder, journal)
                names = sorted(folder.names("failed"))
            except (FolderUnavailable, OSError) as error:
                complain(f"{folder.path}: {error}")
                continue
            yield from (Failed(folder, name) for name in names if folder.names_document(name))


def _named(failed: Sequence[Failed], names: Sequence[str]) -> list[Failed]:
    """The one document of each name; a name that none or several have is complained about."""
    chosen = []
    for name in names:
        found = [document for document in failed if document.name == name]
        if len(found) == 1:
            chosen += found
        elif found:
            places = ", ".join(str(one.path.parent) for one in found)
            complain(f"{name}: several have this name, in {places}; name the company")
        else:
            complain(f"{name}: no failed document has this name")
    return chosen


def _list(failed: Sequence[Failed], *, as_json: bool) -> None:
    rows = [{"company": one.folder.company, "file": one.name, "why": why_failed(one.path)} for one in failed]
    if as_json:
        for row in rows:
            show_json(row)
    elif rows:
        show_table(["company", "file", "why"], [list(row.values()) for row in rows])
        say("To put them back in line, write their names or --all.")
    else:
        say("Nothing has failed.")
