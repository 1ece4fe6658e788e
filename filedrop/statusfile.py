"""status.json in the root: the state of it all, for whoever opens the share, and what only the daemon knows.

It is written by a thread of its own, only when something has changed, whole or not at all. A share that is away or
hangs costs the daemon nothing but this file.
"""

from __future__ import annotations

import json
import threading
import time
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from filedrop.files import replace_whole
from filedrop.loop import attempt
from filedrop.marker import read_marker
from filedrop.notify import notify
from filedrop.status import UNHEARD, VERSION, Status, Survey, Told, account_status

if TYPE_CHECKING:
    from pathlib import Path

    import structlog

    from filedrop.account import Account
    from filedrop.config import Config
    from filedrop.journal import Journal
    from filedrop.service import Service
    from filedrop.status import AccountStatus

NAME = "status.json"
LARGEST = 10_000_000  # bytes: anybody may write to the share
PATIENCE = 5.0  # seconds for the last word
REST = 20  # times as long as a survey took before the next: it costs a twentieth at most,
LONG_REST = 500  # and much less where we have done and heard nothing since: only a person may have moved something


class StatusFile:
    """Keeps status.json up to date while a daemon works."""

    def __init__(self, config: Config, journal: Journal, log: structlog.stdlib.BoundLogger) -> None:
        self._root = config.root
        self._companies = tuple(config.companies.values())
        self._journal = journal
        self._survey = Survey(config, journal)
        self._log = log
        self._thread: threading.Thread | None = None
        self._next = self._next_anyway = 0.0
        self._news: object = None
        self._written: dict[str, Any] = {}
        self._told = ""
        self._troubles: list[str] = []

    def report(self, service: Service) -> None:
        """Write what has changed, soon; returns at once."""
        news = service.journal.commits, service.journal.trouble, [_standing(account) for account in service.accounts]
        due = self._next_anyway if news == self._news else self._next
        if (self._thread and self._thread.is_alive()) or time.monotonic() < due:
            return
        self._news = news
        self._start(service, running=True)

    def close(self, service: Service) -> None:
        """Write the last word, unless the share hangs."""
        deadline = time.monotonic() + PATIENCE
        if self._thread:
            self._thread.join(PATIENCE)
        if not (self._thread and self._thread.is_alive()):
            self._start(service, running=False).join(max(0.0, deadline - time.monotonic()))

    def _start(self, service: Service, *, running: bool) -> threading.Thread:
        def work() -> None:
            with suppress(OSError):  # the ways in and out say so already, and loud enough
                self._write(service, running=running)

        self._thread = threading.Thread(target=attempt, args=(self._log, NAME, work), name=NAME, daemon=True)
        self._thread.start()
        return self._thread

    def _write(self, service: Service, *, running: bool) -> None:
        begun = time.monotonic()
        now = datetime.now().astimezone()
        warnings = [(str(lane.folder.path), lane.warning) for account in service.accounts for lane in account.lanes]
        warnings += [(str(path), why) for account in service.accounts for path, why in account.way_in.trouble().items()]
        told = Told(
            heard=now.isoformat(timespec="seconds"),
            accounts={account.name: account_status(account) for account in service.accounts},
            tables=self._tables(service),
            warnings=dict(warnings),
            journal=service.journal.trouble,
        )
        status = self._survey.take(told, running=running, now=now)
        self._tell_manager(status)
        ended = time.monotonic()
        self._next, self._next_anyway = (ended + rest * (ended - begun) for rest in (REST, LONG_REST))
        said = {key: value for key, value in status.items() if key not in ("written", "heard")}
        if said == self._written or not self._at_home():
            return
        content = json.dumps(status, indent=1).encode() + b"\n"
        replace_whole(self._root / NAME, content, draft=self._root / f".{NAME}.tmp")
        self._written = said

    def _at_home(self) -> bool:
        """Is this our root? Not where all folders belong to another filedrop, nor where those we know aren't mounted.

        Where nothing is mounted, nothing is made; but one that is there already goes on telling how it stands.
        """
        paths = [path for company in self._companies for path in (*company.outbound, company.inbound)]
        owners = {marker.journal for path in paths if (marker := read_marker(path))}
        if owners:
            return self._journal.id in owners
        known = (path for path in paths if path.is_relative_to(self._root) and self._journal.folder_at(path))
        return (self._root / NAME).exists() or not any(known)

    def _tables(self, service: Service) -> list[str]:
        """What is wrong with the mapping's tables; what is new of it is told. They may hang, so it is asked here."""
        before, self._troubles = self._troubles, service.mapping.troubles
        for why in self._troubles:
            if why not in before:
                self._log.error("table.broken", why=why)
        return self._troubles

    def _tell_manager(self, status: Status) -> None:
        line = in_a_line(status)
        if line != self._told:
            notify(f"STATUS={line}")
            self._told = line


def _standing(account: Account) -> object:
    """What has changed where this has."""
    troubles = [(lane.trouble, lane.warning) for lane in account.lanes]
    return account_status(account), troubles, account.way_in.trouble()


def in_a_line(status: Status) -> str:
    """The whole in one line, as `systemctl status` shows it."""
    parts = [status["journal"]] if status["journal"] else []
    for count in ("waiting", "sending", "doubt", "overdue", "failed", "stuck"):
        number = sum(company[count] for company in status["companies"].values())
        if number:
            parts.append(f"{number} {count}")
    parts += [f"{name}: {account['why']}" for name, account in status["accounts"].items() if account["why"]]
    parts += [
        f"{folder['path']}: {folder['why'] or folder['warning']}"
        for company in status["companies"].values()
        for folder in company["folders"]
        if not folder["available"] or folder["warning"]
    ]
    parts += status["tables"]
    return "; ".join(parts) or "all is well"


def read(root: Path) -> Status | None:
    """What status.json says; None where there is none that can be read, or its share doesn't answer."""
    found: list[Any] = []

    def look() -> None:
        with suppress(OSError, ValueError, RecursionError), (root / NAME).open("rb") as file:
            found.append(json.loads(file.read(LARGEST)))

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    status = found[0] if found else None
    if not isinstance(status, dict) or status.keys() != Status.__annotations__.keys() or status["filedrop"] != VERSION:
        return None
    return cast("Status", status)


def told_in(status: Status | None) -> Told:
    """What the daemon has told in a status.json, as far as it is in good form: anybody may write to the share."""
    if status is None:
        return Told()
    told: Any = status
    tables, accounts = told["tables"], told["accounts"]
    try:
        folders = [folder for company in told["companies"].values() for folder in company["folders"]]
        warnings = {str(folder["path"]): str(folder["warning"]) for folder in folders}
    except (KeyError, TypeError, AttributeError):
        warnings = {}
    accounts = accounts.items() if isinstance(accounts, dict) else ()
    return Told(
        heard=str(told["written"]),
        accounts={
            name: cast("AccountStatus", one)
            for name, one in accounts
            if isinstance(one, dict) and one.keys() == UNHEARD.keys()
        },
        tables=[why for why in tables if isinstance(why, str)] if isinstance(tables, list) else [],
        warnings=warnings,
        journal=str(told["journal"]),
    )
