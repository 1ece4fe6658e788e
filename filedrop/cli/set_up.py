"""`filedrop check` without FILE: configuration, state, folders, login, TLS and clock. It leaves nothing behind."""

from __future__ import annotations

import json
import os
import secrets
import sys
from contextlib import ExitStack, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from filedrop import config as configuration
from filedrop.cli import FAILED, MISUSED, UNREACHABLE, reaching
from filedrop.cli.checking import (
    CONFIGURATION,
    CheckResult,
    code_list_found,
    commands_found,
    mapping_found,
    own_settings_found,
    participants_found,
    preparation_found,
    validation_found,
)
from filedrop.cli.opening import WHO_MAY, act_as_owner, has_journal, journal_if_any, new_journal, open_config
from filedrop.cli.service.account import kept_from
from filedrop.cli.sharing import share_found
from filedrop.cli.show import busy, complain, progress, say, show_json
from filedrop.cli.tables import show_table
from filedrop.daemon.watcher import RAISE_THREADS, SPARE, mode, startable
from filedrop.errors import FolderUnavailable, JournalError
from filedrop.files import Directory, create_whole, discard, is_missing, may_use, place, try_folder
from filedrop.files.disk import file_system, free_space, mapped_drive, shortage
from filedrop.files.patience import within
from filedrop.files.rights import explain
from filedrop.journal import JOURNAL, Journal
from filedrop.model.report import LISTED
from filedrop.outbound.health import LEARNS
from filedrop.process.lock import is_running
from filedrop.status.folders import HUNG, folders, outdated
from filedrop.status.lately import unproven
from filedrop.storage.answer_folders import refusals
from filedrop.storage.company_folders import InboundFolder, OutboundFolder
from filedrop.storage.folder import ANOTHERS, NotYetThere
from filedrop.storage.former import left_behind, left_in_folders, served_folders
from filedrop.storage.marker import MARKER, read_marker
from filedrop.texts.printable import size
from filedrop.times import today

if sys.platform == "win32":
    from filedrop.cli.service.inside import ask
else:
    from filedrop.cli.service.account import become_service

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from filedrop.cli.service.installed import Unit
    from filedrop.config import Config
    from filedrop.storage.folder import Folder

STATE = "state"
PATIENCE = 10.0  # seconds for a folder to answer
PER_ACCOUNT = 4  # threads: two that wait, and one for each way


def check_set_up(
    config_option: str | None,
    *,
    take_over: bool,
    folder: Sequence[Path],
    as_service: bool,
    alert: bool,
    all: bool,  # noqa: A002 - the option's name
    as_json: bool,
) -> int:
    """Show whether everything fits, and return the exit status. `folder`: the folders that are to be ours.

    `all`: of many results, those that are ok, too. Raises FiledropError, UsageError.
    """
    left_out = {"take-over": take_over, "alert": alert}
    unit = _become_service(config_option, left_out, as_json=as_json, is_all=all) if as_service else None
    config = open_config(config_option)
    if folder and not take_over:
        raise click.UsageError("--folder works only with --take-over")
    if unknown := [str(path) for path in folder if path not in config.folders]:
        raise click.UsageError(f"{', '.join(unknown)}: the configuration has no such folder; write its full path")
    if take_over and is_missing(config.state):
        act_as_owner(config.root)  # else a state that root makes would be root's
    wanted = frozenset(folder or config.folders) if take_over else frozenset[Path]()
    results = list(_set_up(config, unit, wanted))
    accounts = progress(config.accounts.values(), "accounts")
    logins = [login for account in accounts for login in reaching.account(config, account)]
    results += [*logins, *(reaching.alerts(config) if alert else ())]
    _show(results, as_json=as_json, is_all=all)
    return _exit_status(results, logins)


def _set_up(config: Config, unit: Unit | None, take_over: Collection[Path]) -> Iterator[CheckResult]:
    """All that is found on this computer; `take_over` has the folders that are to be ours."""
    yield CheckResult(CONFIGURATION, "ok", config.source)
    for warning in config.warnings:
        yield CheckResult(CONFIGURATION, "failed" if warning == config.list_trouble else "warning", warning)
    yield from own_settings_found(config)
    yield from preparation_found(config)
    yield from participants_found(config)
    yield code_list_found(config.codelists if config.published_lists else None, today())
    yield from mapping_found(config)
    yield from validation_found(config)
    yield from commands_found(config)
    yield from _threads_found(config)
    for path, why in (kept_from(unit, config) if unit else {}).items():
        yield CheckResult(str(path), "failed", why)
    state = list(_state_found(config))
    yield from state
    yield from _folders(config, take_over=take_over, has_state=all(result.result != "failed" for result in state))


if sys.platform == "win32":

    def _become_service(option: str | None, left_out: Mapping[str, bool], *, as_json: bool, is_all: bool) -> Unit:
        """Nobody becomes another here: the service looks, and that is all of the command. Raises FiledropError."""
        for name in (name for name, is_wanted in left_out.items() if is_wanted):
            raise click.UsageError(f"--{name} doesn't work with --as-service; run it separately")
        answer = ask(configuration.find(option).absolute())
        results = [CheckResult(**json.loads(line)) for line in answer.stdout.splitlines()]
        _show(results, as_json=as_json, is_all=is_all)
        if answer.stderr:
            complain(answer.stderr)
        raise SystemExit(answer.returncode)

else:

    def _become_service(option: str | None, _: Mapping[str, bool], **__: bool) -> Unit:
        """Become the service's account. Raises FiledropError."""
        return become_service(option, click.get_current_context().call_on_close)


def _exit_status(results: Sequence[CheckResult], logins: Sequence[CheckResult]) -> int:
    failed = [result for result in results if result.result == "failed"]
    if any(result.about == CONFIGURATION for result in failed):
        return MISUSED
    return UNREACHABLE if any(result in logins for result in failed) else FAILED if failed else 0


def _show(results: Sequence[CheckResult], *, as_json: bool, is_all: bool) -> None:
    if as_json:
        for result in results:
            show_json(asdict(result))
        return
    shown = [result for result in results if result.result != "ok"]
    fine = len(results) - len(shown)
    if is_all or fine <= LISTED:
        shown, fine = list(results), 0
    show_table(["result", "what was found"], [[result.result, f"{result.about}: {result.says}"] for result in shown])
    if fine:
        say(f"{fine} results are ok. To see them, run: filedrop check --all")


def _state_found(config: Config) -> Iterator[CheckResult]:
    state = config.state
    there = next(path for path in (state, *state.parents) if not is_missing(path))
    lies_on = file_system(there)
    if not os.path.isdir(there):  # noqa: PTH112 - True only where that is certain
        trouble = f"{there} is not a folder, or you may not look into it: name another, or give yourself the right"
    elif lies_on.network:
        trouble = f"{state} is on a network file system ({lies_on.kind}): move it to a local disk"
    elif short := shortage(there):
        trouble = f"{state} can't be written: {short}"
    elif there != state:
        trouble = _why_not_made(state, there)
    elif not may_use(state):
        trouble = f"you may not use {state}: run this as {WHO_MAY}"
    elif not has_journal(config) and not is_missing(state / JOURNAL):
        trouble = f"you may not use {state / JOURNAL}: run this as {WHO_MAY}"
    else:
        trouble = ""
    runs = {True: "filedrop is running", False: "filedrop isn't running", None: "its lock can't be read"}
    if trouble:
        yield CheckResult(STATE, "failed", trouble)
    elif there != state:
        yield CheckResult(STATE, "ok", f"{state} doesn't exist yet; filedrop creates it when it first starts")
    else:
        yield CheckResult(STATE, "ok", f"{state} is on a local disk ({lies_on.kind}); {runs[is_running(state)]}")


def _why_not_made(state: Path, within: Path) -> str:
    """Why a state folder can't be made there, "" where it can: it is tried, and nothing left."""
    probe = within / f".filedrop-check-{secrets.token_hex(8)}.tmp"
    try:
        probe.mkdir()
        probe.rmdir()
    except OSError as error:
        why = explain(error, within)
        return f"{state} can't be created in {within}: {why}; or create it yourself, owned by filedrop's user"
    return ""


def _folders(config: Config, *, take_over: Collection[Path], has_state: bool) -> Iterator[CheckResult]:
    """The journal, as far as there is one, and each folder; `take_over` has those that are to be ours."""
    with ExitStack() as stack:
        journal = None
        try:
            if not has_state:
                pass  # that has been said
            elif take_over:
                config.state.mkdir(parents=True, exist_ok=True, mode=0o700)
                journal = stack.enter_context(new_journal(config))
            else:
                journal = stack.enter_context(journal_if_any(config))
            if journal:
                yield from _journal(config, journal)
            if journal and config.journal:
                yield from share_found(config, journal)
            elif config.journal and has_state:
                yield CheckResult(STATE, "ok", "the journal's database is empty; filedrop fills it when it starts")
            yield from _unproven(config, journal) if has_state else ()
        except JournalError as error:
            journal = None
            yield CheckResult(STATE, "failed", str(error))
        for folder in progress(list(folders(config)), "folders"):
            if drive := mapped_drive(folder.path):
                why = f"{drive} is a drive of one user, and a service doesn't have it; write \\\\server\\share\\..."
                yield CheckResult(str(folder.path), "warning", why)
            if folder.path in take_over and journal:
                yield from _patiently(folder, _take_over, folder, journal)
            yield from _patiently(folder, _folder_found, config, folder, journal)


def _threads_found(config: Config) -> Iterator[CheckResult]:
    """The result for the threads that watch folders: as many are started, and end at once."""
    watched = sum(len(company.outbound) for company in config.companies.values() if company.watch != "scan")
    others = 2 * SPARE + PER_ACCOUNT * len(config.accounts)
    if (most := startable(watched + others)) < watched + others:
        number = max(0, most - others)
        says = f"there are threads to watch {number} of {watched} folders; the others are scanned"
        yield CheckResult("folders", "warning", f"{says}, every `rescan`: {RAISE_THREADS}")


def _journal(config: Config, journal: Journal) -> Iterator[CheckResult]:
    """The journal itself, and what it knows of that nobody serves."""
    with busy("checking the journal"):
        journal.check_integrity()
    intact = f"the journal is intact ({journal.engine.describe()})"
    yield CheckResult(STATE, "ok", "; ".join(filter(None, (intact, _newest_copy(journal)))))
    yield from (CheckResult(STATE, "warning", why) for why in journal.engine.doubts())
    for name, sentences in left_behind(config, journal).items():
        yield from (CheckResult(f"account {name}", "warning", why) for why in sentences)
    if why := left_in_folders(served_folders(config, journal), journal):
        yield CheckResult("folders", "warning", why)


def _unproven(config: Config, journal: Journal | None) -> Iterator[CheckResult]:
    """Which accounts have never received anything for a company: it may be that they can't. Raises JournalError."""
    for company in config.companies.values():
        account = config.accounts[company.account]
        if why := unproven(journal, company, account):
            yield CheckResult(f"account {account.name}", "ok", why)


def _newest_copy(journal: Journal) -> str:
    if journal.copies is None:
        return ""
    path = journal.copies.newest_copy()
    return f"the newest daily copy is {path}" if path else "there is no daily copy yet"


def _patiently(folder: Folder, look: Callable[..., Iterable[CheckResult]], *arguments: object) -> list[CheckResult]:
    """What a look at a folder finds; a folder that hangs is one result."""
    try:
        return within(PATIENCE, lambda: list(look(*arguments)))
    except TimeoutError:
        return [CheckResult(str(folder.path), "failed", HUNG)]
    except OSError as error:
        return [CheckResult(str(folder.path), "failed", explain(error, folder.path))]


def _take_over(folder: Folder, journal: Journal) -> Iterator[CheckResult]:
    try:
        here = Directory.open(folder.path)
    except (FileNotFoundError, NotADirectoryError):
        return
    marker, marked = read_marker(here), not is_missing(here / MARKER)
    known = journal.folders.at(folder.path) is not None
    if (marked or known) and (marker is None or marker.journal != journal.id):
        folder.take_over(journal)
        yield CheckResult(str(folder.path), "ok", "from now on, this filedrop serves this folder")


def _folder_found(config: Config, folder: Folder, journal: Journal | None) -> Iterator[CheckResult]:
    about = str(folder.path)
    try:
        folder.check_ownership(journal)
    except NotYetThere as error:
        why = _why_unfit(folder.missing_folders()[0].parent)
        yield CheckResult(about, "failed" if why else "ok", why or str(error))
        return
    except FolderUnavailable as error:
        yield CheckResult(about, "failed", str(error))
        return
    if (
        config.journal is None and is_missing(config.state / JOURNAL) and read_marker(Directory.open(folder.path))
    ):  # a new one won't know it
        yield CheckResult(about, "failed", ANOTHERS)
        return
    abilities = folder.abilities
    with suppress(OSError):  # what keeps files from being made is said below
        abilities = try_folder(folder.at())
    if why := abilities.refusal or _why_not_writable(folder):
        yield CheckResult(about, "failed", why)
    else:
        says = f"this filedrop serves it and can write to it; it is on one file system: {abilities}"
        yield CheckResult(about, "ok", says)
    if older := outdated(folder, journal):
        yield CheckResult(about, "warning", older)
    if isinstance(folder, OutboundFolder):
        yield from _outbound(config, folder, journal)
    if isinstance(folder, InboundFolder):
        yield from _answers(config, folder)
        free, least = free_space(folder.path), config.inbound.min_free
        if free is None:
            yield CheckResult(
                about, "ok", "its file system doesn't show how much is free, so inbound.min_free has no effect"
            )
        elif free < least:
            says = f"only {size(free)} free; below {size(least)} (inbound.min_free), nothing is fetched: make room"
            yield CheckResult(about, "failed", says)
        else:
            limit = f"; below {size(least)} (inbound.min_free), nothing is fetched" if least else ""
            yield CheckResult(about, "ok", f"{size(free)} free{limit}")


def _why_not_writable(folder: Folder) -> str:
    """Why nothing can be written and renamed there, "" where it can: it is tried, and nothing left."""
    if short := shortage(folder.path):
        return f"nothing can be written there: {short}"
    here = folder.at()
    missing = folder.missing_in(here)
    places = [here, *(folder.at(name) for name in folder.subfolders if name not in missing)]
    elsewhere = [directory.path.name for directory in places if directory.identity[0] != here.identity[0]]
    if elsewhere:
        return f"{', '.join(elsewhere)}: on another file system; move it to the one of its parent folder"
    for directory in places:
        try:
            _write_and_rename(here, directory)
        except OSError as error:
            return f"can't write and rename in {directory.path}: {explain(error, directory.path)}"
    return ""


def _write_and_rename(here: Directory, there: Directory) -> None:
    """Raises OSError where that can't be done."""
    # A name that filedrop and importers ignore, moved on from folder to folder as documents are.
    probe = here / f".filedrop-check-{secrets.token_hex(8)}.tmp"
    moved = there / f"{probe.name}.tmp"
    try:
        with suppress(FileNotFoundError):  # a daemon that has just taken up the folder clears drafts away: once more
            create_whole(probe, b"")
        if not probe.exists():
            create_whole(probe, b"")
        place(probe, moved)
    finally:
        discard(probe)
        discard(moved)


def _why_unfit(within: Path) -> str:
    """Why a folder that is created in this one couldn't be used, "" where it could: it is tried, and nothing left."""
    try:
        refusal = try_folder(Directory.open(within)).refusal
    except OSError as error:
        return f"it doesn't exist yet, and can't be created: {explain(error, within)}"
    return refusal and f"it doesn't exist yet, and couldn't be used: in {within}, {refusal}"


def _outbound(config: Config, folder: OutboundFolder, journal: Journal | None) -> Iterator[CheckResult]:
    """How new files are found, and that nothing is sent yet."""
    about, marker = str(folder.path), read_marker(folder.at())
    if journal and marker and not journal.folders.is_settled(marker.folder):
        yield CheckResult(about, "ok", f"{LEARNS}; nothing is sent before that: see filedrop status")
    how, why = mode(folder.path, config.companies[folder.company].watch)
    yield CheckResult(about, "ok", f"new files are found by {how}: {why}")


def _answers(config: Config, folder: InboundFolder) -> Iterator[CheckResult]:
    """The folders by which received documents are answered."""
    company = config.companies.get(folder.company)
    if company is not None and company.answers == "move":
        here = Directory.open(folder.path)
        marker = read_marker(here)
        for why in refusals(here, marker.folder) if marker else ():
            yield CheckResult(str(folder.path), "warning", why)
