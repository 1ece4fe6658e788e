"""status.json in the root, beside the page: the state of it all for programs, and what only the daemon knows.

It is written by a thread of its own, when something has changed and at least each minute, whole or not at all. A share
that is away or hangs costs the daemon nothing but this file.
"""

from __future__ import annotations

import json
import threading
import time
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from filedrop.files import Directory, clear_drafts, replace_whole
from filedrop.files.patience import within
from filedrop.process.loop import attempt
from filedrop.process.systemd import notify
from filedrop.status import strays
from filedrop.status.matters import in_a_line
from filedrop.status.model import NO_REPORT, VERSION, AccountStatus, Status, folders_of
from filedrop.status.page_file import ANYWAY, Pages, is_at_home, without_trifles
from filedrop.status.reasons import Left
from filedrop.status.survey import DaemonPart, Survey, part_of
from filedrop.storage import checked

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence

    import structlog

    from filedrop.config import Config
    from filedrop.journal import Journal
    from filedrop.model.report import DaemonReport
    from filedrop.status.matters import Key

NAME = "status.json"
LARGEST = 100_000_000  # bytes, some hundred companies in trouble: anybody may write to the share
PATIENCE = 5.0  # seconds for the last word
REST = 20  # times as long as a survey took before the next: it costs a twentieth at most,
LONG_REST = 500  # and much less where we have done and heard nothing since: only a person may have moved something


class StatusFile:
    """Keeps status.json up to date while a daemon works. `alerts` says what couldn't be sent of mails and the like.

    `tables` says what is wrong with the mapping's tables, and may take long. `reported`: the matters that an alert has
    reported to the administrator.
    """

    def __init__(
        self,
        config: Config,
        journal: Journal,
        log: structlog.stdlib.BoundLogger,
        *,
        alerts: Callable[[], Sequence[str]] = tuple,
        tables: Callable[[], Sequence[str]] = tuple,
        reported: Callable[[], Container[Key]] = frozenset,
    ) -> None:
        self._alerts = alerts
        self._tables = tables
        self._reported = reported
        self._root = config.root
        self._journal = journal
        self._survey = Survey(config, journal)
        self._log = log
        self._thread: threading.Thread | None = None
        self._next = self._next_anyway = 0.0
        self._news: object = None
        self._last: Status | None = None
        self._written: object = None
        self._written_next = 0.0
        self._pages = Pages(config, journal, log)
        self._told = ""
        self._table_troubles: Sequence[str] = ()

    def follow(self, former: StatusFile) -> None:
        """Write nothing while this one, which a share may hold up, is still writing into the same folder."""
        if former._root == self._root:
            self._thread = former._thread

    def report(self, report: DaemonReport) -> None:
        """Write what has changed, soon; returns at once."""
        news = self._journal.commits, report, self._alerts()
        due = self._next_anyway if news == self._news else self._next
        if (self._thread and self._thread.is_alive()) or time.monotonic() < due:
            return
        self._news = news
        self._start(report, running=True)

    def wait(self) -> None:
        """Wait for what is being written, unless the share hangs."""
        if self._thread:
            self._thread.join(PATIENCE)

    def close(self, report: DaemonReport) -> Status | None:
        """Write the last word, unless the share hangs, and return it."""
        deadline = time.monotonic() + PATIENCE
        self.wait()
        if not (self._thread and self._thread.is_alive()):
            left = max(0.0, deadline - time.monotonic())
            attempt(self._log, NAME, lambda: self._start(report, running=False).join(left))
        return self._last if self._last and not self._last["running"] else None

    def _start(self, report: DaemonReport, *, running: bool) -> threading.Thread:
        work = partial(self._write, report, running=running)
        thread = threading.Thread(target=attempt, args=(self._log, NAME, work), name=NAME, daemon=True)
        thread.start()
        self._thread = thread  # last: where the system has no thread now, there is none to wait for
        return thread

    def _write(self, report: DaemonReport, *, running: bool) -> None:
        self._pages.prepare()
        begun = time.monotonic()
        now = datetime.now().astimezone()
        told = replace(part_of(report), tables=self._troubles_of_tables(), alerts=self._alerts())
        asked_for = self._pages.readable(now).values()
        self._last = status = self._survey.take(told, running=running, now=now, asked_for=asked_for)
        self._tell_manager(status)
        with suppress(OSError):  # the ways in and out say so already, and loud enough
            self._write_down(status, now)
        ended = time.monotonic()
        self._next, self._next_anyway = (ended + min(ANYWAY - 1, rest * (ended - begun)) for rest in (REST, LONG_REST))

    def _write_down(self, status: Status, now: datetime) -> None:
        """Write status.json and the pages, where they are due and the root is ours."""
        root = Directory.open(self._root)
        if not is_at_home(root / NAME, status, self._journal):
            return
        said = without_trifles(status)
        if said != self._written or time.monotonic() >= self._written_next:
            if not self._written:
                clear_drafts(root)
            replace_whole(root / NAME, json.dumps(status, indent=1).encode() + b"\n")
            self._written, self._written_next = said, time.monotonic() + ANYWAY
        there = frozenset[Path]().union(*(snapshot.there for snapshot in self._survey.snapshots.values()))
        self._pages.write(status, now, there, self._reported())

    def _troubles_of_tables(self) -> Sequence[str]:
        """What is wrong with the mapping's tables; what is new of it is logged. They may hang, so it is asked here."""
        before, self._table_troubles = self._table_troubles, self._tables()
        for why in self._table_troubles:
            if why not in before:
                self._log.error("table.broken", why=why)
        return self._table_troubles

    def _tell_manager(self, status: Status) -> None:
        line = in_a_line(status)
        if line != self._told:
            notify(f"STATUS={line}")
            self._told = line


def read(root: Path) -> Status | None:
    """What status.json says; None where there is none that can be read, or its share doesn't answer."""
    try:
        status = within(PATIENCE, lambda: checked.read_object(root / NAME, LARGEST))
    except OSError:
        return None
    if status is None or status.keys() != Status.__annotations__.keys() or status["filedrop"] != VERSION:
        return None
    return cast("Status", status)


def told_in(status: Status | None) -> DaemonPart:
    """What the daemon has told in a status.json; nothing where its form is wrong: anybody may write to the share."""
    if status is None:
        return DaemonPart()
    try:
        documents = [one for company in status["companies"].values() for one in company["documents"]]
        return DaemonPart(
            heard=str(status["written"]),
            accounts={name: one for name, one in status["accounts"].items() if _is_of_an_account(one)},
            tables=[*map(str, status["tables"])],
            troubles={about: str(why) for about, why in status["troubles"].items()},
            alerts=[*map(str, status["alerts"])],
            warnings={str(one["path"]): str(one["warning"]) for _, one in folders_of(status)},
            refused={str(one["path"]): str(one["refused"]) for _, one in folders_of(status)},
            waiting={
                Path(one["path"]): Left(str(one["why"]), str(one["since"]))
                for one in documents
                if one["state"] == "waiting"
            },
            strays=strays.in_companies(status["companies"]),
            journal=str(status["journal"]),
            configured=str(status["configured"]),
        )
    except (KeyError, TypeError, AttributeError, ValueError):
        return DaemonPart()


def _is_of_an_account(told: AccountStatus) -> bool:
    """Whether it has an account's keys, and moments as texts."""
    return told.keys() == NO_REPORT.keys() and isinstance(told["next_attempt"], str | None)
