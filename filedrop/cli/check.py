"""`filedrop check`: configuration, state, folders, login, TLS and clock. It leaves nothing behind."""

from __future__ import annotations

import secrets
import threading
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import click

from filedrop.cli import FAILED, MISUSED, UNREACHABLE
from filedrop.cli.opening import has_journal, open_access_point, open_config, open_journal
from filedrop.cli.show import show_json, show_table
from filedrop.disk import file_system, shortage
from filedrop.errors import AccessPointError, ConfigError, FolderUnavailable, JournalError
from filedrop.files import is_missing, may_use
from filedrop.folders import InboundFolder, OutboundFolder
from filedrop.glimpse import NotYetThere, folders, outdated, see_ours
from filedrop.identify.mapping import Rules
from filedrop.journal import Journal
from filedrop.marker import MARKER, read_marker
from filedrop.service import JOURNAL, is_running
from filedrop.watcher import mode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from filedrop.accesspoint import AccessPoint
    from filedrop.config import Account, Config
    from filedrop.folders import Folder

CONFIGURATION = "configuration"
STATE = "state"
PATIENCE = 10.0  # seconds for a folder to answer
SKEW = timedelta(minutes=1)  # between the clocks; more makes the times in sidecars misleading
MEGABYTE = 10**6


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found about one thing; `result` is ok, warning or failed."""

    about: str
    result: str
    says: str


@click.command()
@click.option("--take-over", is_flag=True, help="Make folders ours that another filedrop has marked, or lost our mark.")
@click.option("--json", "as_json", is_flag=True, help="One object a line.")
@click.pass_obj
def check(config_option: str | None, *, take_over: bool, as_json: bool) -> None:
    """Look over configuration, state, folders, login, TLS and clock; it leaves nothing behind."""
    config = open_config(config_option)
    findings = [Finding(CONFIGURATION, "ok", config.source)]
    findings += [Finding(CONFIGURATION, "warning", warning) for warning in config.warnings]
    findings += _mapping(config)
    findings += _state(config)
    with ExitStack() as stack:
        journal = None
        try:
            if take_over:
                config.state.mkdir(parents=True, exist_ok=True, mode=0o700)
                journal = Journal(config.state / JOURNAL)
                stack.callback(journal.close)
            elif has_journal(config):
                journal = stack.enter_context(open_journal(config))
            if journal:
                journal.see_whole()
        except JournalError as error:
            journal = None
            findings.append(Finding(STATE, "failed", str(error)))
        for folder in folders(config):
            if take_over and journal:
                findings += _patiently(folder, _take_over, folder, journal)
            findings += _patiently(folder, _folder, config, folder, journal)
    logins = [finding for account in config.accounts.values() for finding in _account(config, account)]
    findings += logins
    _show(findings, as_json=as_json)
    raise SystemExit(_exit_status(findings, logins))


def _exit_status(findings: Sequence[Finding], logins: Sequence[Finding]) -> int:
    failed = [finding for finding in findings if finding.result == "failed"]
    if any(finding.about == CONFIGURATION for finding in failed):
        return MISUSED
    return UNREACHABLE if any(finding in logins for finding in failed) else FAILED if failed else 0


def _show(findings: Iterable[Finding], *, as_json: bool) -> None:
    if as_json:
        for finding in findings:
            show_json(asdict(finding))
    else:
        show_table(["result", "what was found"], [[one.result, f"{one.about}: {one.says}"] for one in findings])


def _mapping(config: Config) -> Iterator[Finding]:
    try:
        Rules(config.mapping, config.tables, source=config.source)
    except ConfigError as error:
        for complaint in error.complaints:
            yield Finding(CONFIGURATION, "failed", complaint)


def _state(config: Config) -> Iterator[Finding]:
    about, state = STATE, config.state
    if is_missing(state):
        yield Finding(about, "ok", f"{state} isn't there yet; filedrop makes it at its first start")
        return
    lies_on = file_system(state)
    if lies_on.network:
        yield Finding(
            about, "failed", f"{state} lies on a network file system ({lies_on.kind}): it must be on a local disk"
        )
    elif short := shortage(state):
        yield Finding(about, "failed", f"{state} can't be written: {short}")
    elif not may_use(state):
        yield Finding(about, "failed", f"{state} isn't yours to use: run this as filedrop's user, or as root")
    else:
        runs = {True: "a filedrop is running", False: "no filedrop is running", None: "its lock can't be read"}
        yield Finding(about, "ok", f"{state} lies on a local disk ({lies_on.kind}); {runs[is_running(state)]}")


def _patiently(folder: Folder, look: Callable[..., Iterable[Finding]], *arguments: object) -> list[Finding]:
    """What a look at a folder finds; a folder that hangs is one finding."""
    found: list[Finding] = []

    def work() -> None:
        try:
            found.extend(look(*arguments))
        except OSError as error:
            found.append(Finding(str(folder.path), "failed", f"{error.strerror or error}"))

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    if thread.is_alive():
        return [Finding(str(folder.path), "failed", "it does not answer; see whether its server is up")]
    return found


def _take_over(folder: Folder, journal: Journal) -> Iterator[Finding]:
    marker, marked = read_marker(folder.path), (folder.path / MARKER).exists()
    known = journal.folder_at(folder.path) is not None
    if folder.path.is_dir() and (marked or known) and (marker is None or marker.journal != journal.id):
        folder.take_over(journal)
        yield Finding(str(folder.path), "ok", "taken over: it is this filedrop's from now on")


def _folder(config: Config, folder: Folder, journal: Journal | None) -> Iterator[Finding]:
    about = str(folder.path)
    try:
        see_ours(folder, journal)
    except NotYetThere as error:
        yield Finding(about, "ok", str(error))
        return
    except FolderUnavailable as error:
        yield Finding(about, "failed", str(error))
        return
    if short := shortage(folder.path):
        yield Finding(about, "failed", f"nothing can be written there: {short}")
    else:
        yield from _rights(folder)
    if older := outdated(folder, journal):
        yield Finding(about, "warning", older)
    if isinstance(folder, OutboundFolder):
        how, why = mode(folder.path, config.companies[folder.company].watch)
        yield Finding(about, "ok", f"new files are found by {how}: {why}")
    if isinstance(folder, InboundFolder):
        free, least = folder.free_space(), config.inbound.min_free
        enough = "ok" if free >= least else "failed"
        says = f"{free // MEGABYTE} MB free; nothing is fetched below {least // MEGABYTE} MB (inbound.min_free)"
        yield Finding(about, enough, says)


def _rights(folder: Folder) -> Iterator[Finding]:
    """Write and rename there, and remove it again."""
    about = str(folder.path)
    places = [folder.path, *(folder.path / name for name in folder.subfolders if (folder.path / name).is_dir())]
    elsewhere = [place.name for place in places if place.stat().st_dev != folder.path.stat().st_dev]
    if elsewhere:
        said = f"{', '.join(elsewhere)} lies on another file system: files are moved, so all must lie on one"
        yield Finding(about, "failed", said)
        return
    for place in places:
        # A name that filedrop and importers ignore, moved on from folder to folder as documents are.
        probe = folder.path / f".filedrop-check-{secrets.token_hex(8)}.tmp"
        moved = place / f"{probe.name}.tmp"
        try:
            probe.touch(exist_ok=False)
            probe.rename(moved)
        except OSError as error:
            said = f"can't write and rename in {place}: {error.strerror}; give filedrop's user the right to"
            yield Finding(about, "failed", said)
            return
        finally:
            probe.unlink(missing_ok=True)
            moved.unlink(missing_ok=True)
    yield Finding(about, "ok", "there, ours, and may be written to; all on one file system")


def _account(config: Config, account: Account) -> Iterator[Finding]:
    try:
        yield from _login(config, account)
    except ConfigError as error:  # its password or its ca_file can't be read
        yield Finding(CONFIGURATION, "failed", str(error))


def _login(config: Config, account: Account) -> Iterator[Finding]:
    about = f"account {account.name}"
    with open_access_point(account) as access_point:
        try:
            access_point.probe()
        except AccessPointError as error:
            yield Finding(about, "failed", str(error))
        else:
            how = "over TLS" if account.base_url.startswith("https:") else "without TLS, on this computer only"
            yield Finding(about, "ok", f"{account.base_url} lets {account.username} in, {how}")
            yield from _directory(config, account, access_point)
        clock = access_point.clock()
    if clock is not None:
        skew = abs(clock - datetime.now().astimezone())
        said = f"the access point's clock and ours differ by {skew.total_seconds():.0f} s"
        yield Finding(about, "ok" if skew <= SKEW else "warning", said + ("" if skew <= SKEW else ": set ours (NTP)"))


def _directory(config: Config, account: Account, access_point: AccessPoint) -> Iterator[Finding]:
    """Is there a directory to be asked?"""
    ours = [
        one for company in config.companies.values() if company.account == account.name for one in company.participants
    ]
    if config.outbound.directory == "off" or not ours:
        return
    try:
        access_point.directory(ours[0])
    except AccessPointError as error:
        said = f"outbound.directory is {config.outbound.directory}, but the directory gives no answer: {error}"
        yield Finding(f"account {account.name}", "warning", said)
