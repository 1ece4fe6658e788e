"""What `status` shows: what lies in the folders, what the journal knows, and how the accounts stand.

One survey serves the command and the daemon's status.json (contract 5, `status --json`). Counts are what lies in the
folders; what is in doubt or overdue, the journal says.

Where filedrop doesn't run, it shows the command that starts it: its service's, by systemd's files or Windows' registry,
or `run`.
"""

from __future__ import annotations

import contextlib
import sys
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from filedrop.config.shown import shown
from filedrop.errors import JournalError
from filedrop.model.document import UNREACHABLE_IN, State
from filedrop.model.message import UNASSIGNED
from filedrop.model.report import AccessReport, AccountReport, InboxReport, Kept
from filedrop.process import systemd
from filedrop.process.guard import Guard
from filedrop.status import matters
from filedrop.status.folders import FolderSurvey
from filedrop.status.model import (
    COUNTS,
    NOT_KNOWN,
    VERSION,
    AccountStatus,
    CompanyStatus,
    CompanyStrays,
    Counts,
    FolderStatus,
    Item,
    Matter,
    RemovedFolder,
    Status,
)
from filedrop.status.reasons import Left, fetched, in_sending, listed_documents, reasons, stuck_messages
from filedrop.status.recorded import Recorded, find_repeated, read_records
from filedrop.status.strays import RemovedFolders, strays_by_company
from filedrop.texts.languages import ENGLISH, Translatable, marked, translated
from filedrop.texts.printable import command
from filedrop.times import from_seconds, stated

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from datetime import datetime

    import structlog

    from filedrop.config import Company, Config
    from filedrop.journal import Journal
    from filedrop.model.report import DaemonReport, FolderReport
    from filedrop.status.folders import FolderSnapshot

_HELD = marked("Sending is on hold, because of a HOLD file. filedrop sends nothing until you delete it.")
_REACHABLE = {"ok": True, "refused": True, "away": False, "wrong address": False}


def account_status(account: AccountReport) -> AccountStatus:
    """How an account of the running daemon stands."""
    access, inbox = account.access, account.inbox
    is_asked = access.condition in ("ok", "unknown")  # else the account's own sentence says why
    incomplete = sorted(account.cut_short.items()) if is_asked else ()
    lists = [f"the list /{name} is incomplete: {why}" for name, why in incomplete if why]
    if inbox.unmarked:
        lists.append(f"{inbox.unmarked} unread messages were already delivered here: {inbox.why_unmarked}")
    return AccountStatus(
        reachable=_REACHABLE.get(access.condition),
        login={"ok": "ok", "refused": "refused", "no password": "refused"}.get(access.condition, "unknown"),
        condition=access.condition,
        unread=inbox.unread if inbox.last_poll else None,
        for_nobody=inbox.for_nobody if inbox.last_poll else None,
        statuses=inbox.statuses if inbox.last_poll else None,
        nobodys=[
            f"message {message.msg_no} from {message.sender or 'an unknown sender'} for "
            f"{message.receiver or 'an unknown receiver'}{f' (the other id of {company})' if company else ''}"
            for message, company in inbox.nobodys
        ],
        last_poll=stated(inbox.last_poll),
        why=access.why,
        next_attempt=stated(access.next_attempt),
        lists=lists,
        left_behind=[],
        surplus=[],
        fetched="",
    )


NO_REPORT = account_status(AccountReport("", AccessReport(), InboxReport(), {}, (), ()))


"""Of an account about which nobody has reported anything."""


@dataclass(frozen=True, slots=True)
class DaemonPart:
    """The daemon's part of a status: what nobody else knows, `heard` then.

    `warnings`: of available folders, by their paths, in the order of their reports. `refused`: of these, why
    files can't be moved or written there.
    `file_systems`: what can be done in a folder, in words, by its path. `progress`: what takes long there, in the same
    way. `server`: that of the journal.
    `waiting`: the dropped files that it has left where they are, and why. `strays`: by company, the files that nobody
    will send, where the daemon has looked for them for long enough.
    """

    heard: str | None = None
    accounts: Mapping[str, AccountStatus] = field(default_factory=dict)
    tables: Sequence[str] = ()
    troubles: Mapping[str, str] = field(default_factory=dict)
    alerts: Sequence[str] = ()
    warnings: Mapping[str, Sequence[str]] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)
    file_systems: Mapping[str, str] = field(default_factory=dict)
    progress: Mapping[str, str] = field(default_factory=dict)
    waiting: Mapping[Path, Left] = field(default_factory=dict)
    strays: Mapping[str, CompanyStrays] = field(default_factory=dict)
    journal: str = ""
    server: str = ""
    configured: str = ""
    kept: Kept = field(default_factory=Kept)


def _wrong(folder: FolderReport) -> str:
    """Why the worker can't use a folder, which a look from outside may not find out."""
    return folder.trouble.removeprefix(f"{folder.path}: ")


def _warnings(folder: FolderReport) -> tuple[str, ...]:
    """What is wrong with a folder, though a look from outside may find it available."""
    why = _wrong(folder)
    return (why,) if why else folder.warnings


def part_of(report: DaemonReport) -> DaemonPart:
    """The daemon's part of a status, by its report."""
    outbound = [folder for account in report.accounts for folder in account.outbound]
    inbound = [folder for account in report.accounts for folder in account.inbound]
    inbound += [report.unassigned] if report.unassigned else []
    both = (*outbound, *inbound)
    warnings: dict[str, list[str]] = {}
    for folder in both:  # a folder may have two reports: on what is received, and on answers by moving
        if found := _warnings(folder):
            warnings.setdefault(str(folder.path), []).extend(found)
    return DaemonPart(
        heard=stated(report.made),
        accounts={account.name: account_status(account) for account in report.accounts},
        warnings=warnings,
        refused={str(folder.path): folder.refused or _wrong(folder) for folder in outbound},
        file_systems={str(folder.path): folder.file_system for folder in both if folder.file_system},
        progress={str(folder.path): folder.progress for folder in outbound if folder.progress},
        waiting={
            file.path: Left(file.why, from_seconds(file.since).isoformat(timespec="seconds"), file.is_incomplete)
            for folder in outbound
            for file in folder.waiting
        },
        strays=strays_by_company(outbound),
        troubles={**report.standstills, **report.troubles},
        journal=report.journal,
        configured=report.configured,
        kept=report.kept,
    )


class Survey:
    """Looks at everything, as often as it is asked. Without a journal it shows what lies in the folders.

    `snapshots`: what the last look has found in each folder; with its `ages`, if these are asked for.
    """

    def __init__(
        self,
        config: Config,
        journal: Journal | None,
        *,
        ages: bool = False,
        log: structlog.stdlib.BoundLogger | None = None,
    ) -> None:
        self.snapshots: Mapping[Path, FolderSnapshot] = {}
        self._config = config
        self._journal = journal
        self._folders = FolderSurvey(config, journal, ages=ages)
        self._removed = RemovedFolders(config)
        self._guard = Guard(log)

    def look(
        self, part: DaemonPart, *, running: bool | None, now: datetime, asked_for: Collection[Path] = ()
    ) -> Status:
        """The status now, with the daemon's `part` of it. `snapshots` say which of the files `asked_for` are there."""
        try:
            return self._status(self._journal, part, asked_for, running=running, now=now)
        except JournalError as error:
            return self._status(None, replace(part, journal=str(error)), asked_for, running=running, now=now)

    def _status(
        self,
        journal: Journal | None,
        part: DaemonPart,
        asked_for: Collection[Path],
        *,
        running: bool | None,
        now: datetime,
    ) -> Status:
        config, guard = self._config, self._guard
        guard.begin()
        repeated = find_repeated(journal, config, guard, now) if journal else []
        strays = (Path(stray["path"]) for found in part.strays.values() for stray in found.listed)
        twice = (path for document in repeated for path in document.paths())
        self._look_into_folders(part, [*part.waiting, *strays, *twice, *asked_for])
        known = read_records(journal, config, guard, now) if journal else Recorded()
        accounts = {name: _account(name, part, known, running=running) for name in config.accounts}
        companies = {
            company.name: guard.make(
                f"the status of {company.name}",
                partial(
                    self._company,
                    journal,
                    company,
                    known,
                    part,
                    why_account=accounts[company.account]["why"],
                    running=running,
                    now=now,
                ),
                _not_known(company),
            )
            for company in config.companies.values()
        }
        for name, account in accounts.items():
            own = (company for company in config.companies.values() if company.account == name)
            folders = [folder for company in own for folder in companies[company.name]["folders"]]
            account["fetched"] = fetched(account, folders, running=running)
        status = Status(
            filedrop=VERSION,
            written=now.isoformat(timespec="seconds"),
            heard=part.heard,
            running=running,
            journal=part.journal,
            companies=companies,
            accounts=accounts,
            tables=list(part.tables),
            troubles=_troubles(part, known.left_in_folders),
            alerts=list(part.alerts),
            unassigned=self._folder(UNASSIGNED, config.unassigned, part) if config.unassigned else None,
            configured=part.configured,
            keep_archive=shown(config.keep)["archive"],
            matters=[],
        )
        duplicates = [(document.company.name, item) for document in repeated if (item := document.item(self.snapshots))]
        status["matters"] = self._matters(journal, status, known, duplicates, now)
        return status

    def _matters(
        self,
        journal: Journal | None,
        status: Status,
        known: Recorded,
        duplicates: Sequence[tuple[str, Item]],
        now: datetime,
    ) -> list[Matter]:
        """What needs attention; what of the status couldn't be made becomes one of its troubles."""
        config, guard = self._config, self._guard
        of_companies = {
            name: guard.make(
                f"what needs attention at {name}",
                partial(matters.of_company, status, name, known.doubts, config, now, aside=self._aside(company)),
                list[Matter](),
            )
            for name, company in config.companies.items()
        }
        removed: list[RemovedFolder] = []
        if journal:
            removed = guard.make("which folders no company has", partial(self._removed.look, journal), removed)
        status["troubles"] |= guard.troubles
        return matters.find(
            status,
            of_companies,
            {**known.lately, "repeated": duplicates},
            config,
            now,
            for_nobody=known.stuck_for_nobody,
            removed=removed,
            causes={str(path): snapshot.cause for path, snapshot in self.snapshots.items() if snapshot.cause},
            start=start_command(Path(config.source)) if status["running"] is False else "",
        )

    def _look_into_folders(self, part: DaemonPart, asked_for: Iterable[Path]) -> None:
        """Look into the folders, also for these files; what the daemon knows of folders is included."""
        self.snapshots = self._folders.look(asked_for)
        for path, snapshot in self.snapshots.items():
            snapshot.warnings = tuple(dict.fromkeys((*snapshot.warnings, *part.warnings.get(str(path), ()))))
            snapshot.refused = snapshot.refused or part.refused.get(str(path), "")

    def _company(
        self,
        journal: Journal | None,
        company: Company,
        known: Recorded,
        part: DaemonPart,
        *,
        why_account: str,
        running: bool | None,
        now: datetime,
    ) -> CompanyStatus:
        newest, stuck = known.newest.get(company.name, {}), known.stuck.get(company.name, [])
        under_way = known.under_way.get(company.name, Counter[str]())
        outbound = {path: self.snapshots[path] for path in company.outbound}
        lies = sum((snapshot.counts for snapshot in outbound.values()), Counter[str]())
        claimed = min(under_way[State.WAITING], lies["sending"])
        many = Counter({kind: found.total for kind, found in newest.items()})
        held = _why_held(outbound)
        refused = "; ".join(f"{path}: {snapshot.refused}" for path, snapshot in outbound.items() if snapshot.refused)
        why = held or why_account or (refused if running else "")
        counts = Counts(
            waiting=lies["outbound"] + claimed,
            sending=max(0, lies["sending"] - claimed - many["doubt"]),
            doubt=many["doubt"],
            sent=lies["sent"],
            overdue=many["overdue"],
            failed=lies["failed"],
            unreachable=sum(len(snapshot.aside) for snapshot in outbound.values()),
            received=self.snapshots[company.inbound].counts["inbound"] if company.may_receive else 0,
            stuck=len(stuck),
        )
        on_the_wire = min(under_way[State.SENDING], counts["sending"])
        documents = listed_documents(journal, part.waiting, outbound, newest, now, is_explained=bool(why))
        messages = stuck_messages(stuck)
        reported = part.strays.get(company.name, CompanyStrays(0, ()))
        strays = reported.still_in(outbound.values())
        listed = Counter(document["state"] for document in documents)
        listed.update(stuck=len(messages), strays=len(strays))
        there = {str(count): counts[count] for count in COUNTS}
        there |= {"sent": many["sent"]}  # of what is sent, that with warnings is listed
        there["strays"] = reported.number - (len(reported.listed) - len(strays))
        return CompanyStatus(
            **counts,
            held=bool(held),
            why=why,
            reasons=reasons(
                counts,
                self._config,
                company,
                documents,
                waits_for=part.journal or why,
                sending=part.journal or in_sending(counts["sending"], on_the_wire, refused, running=running),
                running=running,
                is_left_behind=company.account in known.left_behind,
            ),
            folders=[
                *(self._folder("outbound", path, part) for path in company.outbound),
                *([self._folder("inbound", company.inbound, part)] if company.may_receive else []),
            ],
            documents=documents,
            messages=messages,
            strays=strays if company.name in part.strays else None,
            unlisted={kind: there[kind] - number for kind, number in listed.items() if there[kind] > number},
            keep_archive=shown(company.keep)["archive"],
        )

    def _aside(self, company: Company) -> list[tuple[float, Path]]:
        """The files in a company's `not-on-peppol/`, each since when."""
        found = ((path / UNREACHABLE_IN, self.snapshots[path].aside) for path in company.outbound)
        return [(file.since, path / file.name) for path, aside in found for file in aside]

    def _folder(self, use: str, path: Path, part: DaemonPart) -> FolderStatus:
        snapshot = self.snapshots[path]
        return FolderStatus(
            path=str(path),
            use=use,
            available=not snapshot.trouble,
            why=snapshot.trouble,
            warnings=list(snapshot.warnings),
            refused=snapshot.refused,
            disk=snapshot.disk,
            free=snapshot.free,
            file_system=part.file_systems.get(str(path), ""),
            progress=part.progress.get(str(path), ""),
        )


def _not_known(company: Company) -> CompanyStatus:
    return {**NOT_KNOWN, "keep_archive": shown(company.keep)["archive"]}


def _account(name: str, part: DaemonPart, known: Recorded, *, running: bool | None) -> AccountStatus:
    """How an account stands by the daemon's `part`, and by the journal."""
    status: AccountStatus = {
        **part.accounts.get(name, NO_REPORT),
        "left_behind": known.left_behind.get(name, []),
        "surplus": known.surplus.get(name, []),
    }
    return {**status, "next_attempt": None} if running is False else status


def _troubles(part: DaemonPart, in_folders: str) -> dict[str, str]:
    others = {about: why for about, why in part.troubles.items() if about != "folders"}  # that may be an older one
    return others | ({"folders": in_folders} if in_folders else {})


def _why_held(outbound: Mapping[Path, FolderSnapshot]) -> str:
    """Which files hold these folders, and what to do; "" where none does."""
    files = "; ".join(f"the file {there.held_by} is in {path}" for path, there in outbound.items() if there.held_by)
    why = f"{files}; filedrop sends nothing from there until you delete it"
    return Translatable(lambda language: why if language == ENGLISH else translated(_HELD, language)) if files else ""


if sys.platform == "win32":
    import winreg

    from filedrop.config import default_folder

    SERVICES = r"SYSTEM\CurrentControlSet\Services"

    def start_command(configuration: Path) -> str:
        """The command that starts the filedrop of this configuration: its service's, where one is installed."""
        named = f"{configuration.absolute()}"
        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, SERVICES) as services:
            for number in range(winreg.QueryInfoKey(services)[0]):
                with contextlib.suppress(OSError):  # removed meanwhile, or no program
                    name = winreg.EnumKey(services, number)
                    program, _, instance = name.partition("-")
                    if program == "filedrop" and named in _called(services, name):
                        return command("filedrop", "service", "start", *filter(None, (instance,)))
        return _by_hand(configuration.absolute(), default_folder() / "config.yaml")

    def _called(services: winreg.HKEYType, name: str) -> str:
        """The command line of a service. Raises OSError."""
        with winreg.OpenKey(services, name) as service:
            return str(winreg.QueryValueEx(service, "ImagePath")[0])

else:

    def start_command(configuration: Path) -> str:
        """The command that starts the filedrop of this configuration: its service's, where one is installed."""
        path, usual = configuration.absolute(), systemd.ETC / "config.yaml"
        instance = systemd.instance_by(path)
        unit = "filedrop@.service" if instance else "filedrop.service"
        is_services = instance or path == usual or systemd.is_the_only_ones(path)
        if is_services and systemd.BOOTED.is_dir() and any((folder / unit).exists() for folder in systemd.FOLDERS):
            return command("filedrop", "service", "start", *filter(None, (instance,)))
        return _by_hand(path, usual)


def _by_hand(configuration: Path, usual: Path) -> str:
    named = () if configuration == usual else ("--config", str(configuration))
    return command("filedrop", *named, "run")
