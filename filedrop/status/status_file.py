"""status.json in the root, beside the page: the state of it all, for programs and for who may not read `state`.

It is written by threads of its own, when something has changed and at least each minute, whole or not at all. A share
that is away or hangs costs the daemon nothing but this file: daemon.json in `state` is written by another thread, which
waits for no look at the folders.
"""

from __future__ import annotations

import json
import threading
import time
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, cast

from filedrop.files import Directory, clear_drafts, is_missing, replace_whole
from filedrop.files.patience import within
from filedrop.files.rights import explain
from filedrop.model.report import Kept
from filedrop.process.guard import Guard
from filedrop.process.share import Share
from filedrop.process.systemd import notify
from filedrop.status import daemon_file
from filedrop.status.daemon_file import DaemonFile, encoded
from filedrop.status.matters import in_a_line
from filedrop.status.model import VERSION, Status
from filedrop.status.page_file import NAME as PAGE
from filedrop.status.page_file import WRITTEN_ANYWAY, Pages, is_at_home, responding_folders, without_trifles
from filedrop.status.survey import Survey, part_of
from filedrop.storage import checked

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Sequence
    from pathlib import Path

    import structlog

    from filedrop.config import Config
    from filedrop.journal import Journal
    from filedrop.model.report import DaemonReport
    from filedrop.status.matters import Key
    from filedrop.status.survey import DaemonPart

NAME = "status.json"
LARGEST = 100_000_000  # bytes, some hundred companies in trouble: anybody may write to the share
PATIENCE = 5.0  # seconds for a share, and for the last word at a stop
REST = 20  # times as long as a survey took before the next: it costs a twentieth at most,
LONG_REST = 2000  # much less where we have done and heard nothing since: only a person may have moved something,
SHORT_REST = 1  # and half where an account works again, or doesn't: monitoring waits for that


class StatusFile:
    """Keeps status.json up to date while a daemon works. `alerts` says what couldn't be sent of mails and the like.

    `tables` says what is wrong with the mapping's tables, and may take long. `reported`: the matters that an alert has
    reported to the administrator. `share`: what this host serves; of several, the one that does the chores writes into
    the root, for all: the `whole` of its part and theirs. `patience`: the seconds for a share, and for the last word.
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
        share: Share | None = None,
        whole: Callable[[DaemonPart], DaemonPart] = lambda own: own,
        patience: float = PATIENCE,
    ) -> None:
        self._patience = patience
        self._alerts = alerts
        self._tables = tables
        self._reported = reported
        self._share = share or Share()
        self._whole = whole
        self._config = config
        self._root = config.root
        self._journal = journal
        self._survey = Survey(config, journal, log=log)
        self._log = log
        self._thread: threading.Thread | None = None
        self._writer: threading.Thread | None = None  # into the root, which may hang
        self._reporter: threading.Thread | None = None  # of daemon.json
        self._daemon_file = DaemonFile(config.state)
        self._next_report = 0.0
        self._took = self._ended = 0.0  # the last survey
        self._reported_news: object = None
        self._news: object = None
        self._access: object = None
        self._last: Status | None = None
        self._written: object = None
        self._written_next = 0.0
        self._pages = Pages(config, journal, log)
        self._seen: Mapping[str, float | None] = dict.fromkeys((NAME, PAGE))
        self._told = ""
        self._table_troubles: Sequence[str] = ()
        self._guard = Guard(log)

    def follow(self, former: StatusFile) -> None:
        """Write nothing while this one is still writing; a share may hold it up."""
        self._thread, self._reporter, self._daemon_file = former._thread, former._reporter, former._daemon_file
        if former._root == self._root:
            self._writer = former._writer

    def report(self, report: DaemonReport) -> None:
        """Write what has changed, soon; returns at once."""
        now = time.monotonic()
        said = report, self._alerts(), self.troubles()
        if not _is_alive(self._reporter) and (said != self._reported_news or now >= self._next_report):
            self._reporter = self._start(daemon_file.NAME, partial(self._report, report))
            self._reported_news, self._next_report = said, now + WRITTEN_ANYWAY
        news = self._journal.commits, report, self._alerts(), self._table_troubles
        access = [account.access.condition for account in report.accounts]
        rest = SHORT_REST if access != self._access else LONG_REST if news == self._news else REST
        is_due = self._share.does_chores and now >= self._ended + min(WRITTEN_ANYWAY - 1, rest * self._took)
        if is_due and not _is_alive(self._thread):
            self._thread = self._start(NAME, partial(self._survey_all, report, running=True))
            self._news, self._access = news, access

    @property
    def files(self) -> Mapping[Path, Mapping[str, int]]:
        """How many documents the last look has found in each place of each available folder."""
        return {path: there.counts for path, there in self._survey.snapshots.items() if not there.trouble}

    @property
    def written(self) -> Mapping[str, float | None]:
        """When the files in the root were last written, by their own disk; none where another host writes them.

        Nor where it is reported why they can't be written.
        """
        return self._seen if self._share.does_chores and not self.troubles() else {}

    def troubles(self) -> dict[str, str]:
        """What can't be shown or written, in sentences by what it is about."""
        return {**self._guard.troubles, **self._pages.troubles()}

    def wait(self) -> None:
        """Wait for what is being written, unless the share hangs."""
        deadline = time.monotonic() + self._patience
        for thread in filter(None, (self._reporter, self._thread)):
            thread.join(max(0.0, deadline - time.monotonic()))

    def close(self, report: DaemonReport) -> Status | None:
        """Write the last word, unless the share hangs, and return it."""
        deadline = time.monotonic() + self._patience
        self.wait()
        if not _is_alive(self._thread) and not _is_alive(self._reporter):
            left = max(0.0, deadline - time.monotonic())
            self._guard.attempt(NAME, lambda: self._start(NAME, partial(self._write_last, report)).join(left))
        return self._last if self._last and not self._last["running"] else None

    def _start(self, name: str, work: Callable[[], None]) -> threading.Thread:
        thread = threading.Thread(target=self._guard.attempt, args=(name, work), name=name, daemon=True)
        thread.start()
        return thread

    def _write_last(self, report: DaemonReport) -> None:
        self._report(report)
        if self._share.does_chores:
            self._survey_all(report, running=False)

    def _report(self, report: DaemonReport) -> None:
        """Write daemon.json, and have the other hosts know the same."""
        self._look_at_tables()
        part = self._part_of(report)
        with suppress(OSError):  # the journal, which is there, too, reports a disk that is full
            self._daemon_file.write(part)
        self._share.report(encoded(replace(part, kept=Kept())))

    def _part_of(self, report: DaemonReport) -> DaemonPart:
        part = part_of(report)
        troubles = {**part.troubles, **self.troubles()}
        server = self._journal.engine.server
        return replace(part, tables=self._table_troubles, alerts=self._alerts(), troubles=troubles, server=server)

    def _survey_all(self, report: DaemonReport, *, running: bool) -> None:
        self._pages.prepare()
        begun = time.monotonic()
        now = datetime.now().astimezone()
        part = self._whole(self._part_of(report))
        try:
            self._guard.make("the status", partial(self._survey_and_write, part, now, running=running), None)
        finally:
            self._ended = time.monotonic()
            self._took = self._ended - begun

    def _survey_and_write(self, part: DaemonPart, now: datetime, *, running: bool) -> None:
        asked_for = self._pages.readable(now).values()
        self._last = status = self._survey.look(part, running=running, now=now, asked_for=asked_for)
        self._tell_manager(status)
        if not (self._writer and self._writer.is_alive()):
            writer = threading.Thread(
                target=self._write_into_root, args=(status, now), name=f"{NAME}-root", daemon=True
            )
            writer.start()
            self._writer = writer
            writer.join(self._patience)

    def _write_into_root(self, status: Status, now: datetime) -> None:
        def write() -> None:
            with suppress(OSError):  # the ways in and out report a root that is away
                self._write_down(status, now)

        self._guard.attempt(NAME, write)

    def _write_down(self, status: Status, now: datetime) -> None:
        """Write status.json and the pages, where they are due and the root is ours. Raises OSError."""
        root = Directory.open(self._root)
        self._seen = {name: _changed(self._root / name) for name in self._seen}
        if is_at_home(root / NAME, responding_folders(status, self._survey.snapshots), self._journal):
            self._write_status(root, status)
            self._pages.write(status, now, self._survey.snapshots, self._reported())

    def _write_status(self, root: Directory, status: Status) -> None:
        news = without_trifles(status)
        if news == self._written and time.monotonic() < self._written_next:
            return
        try:
            if not self._written:
                clear_drafts(root)
            replace_whole(root / NAME, json.dumps(status).encode() + b"\n")
        except OSError as error:
            why = explain(error, self._root, to_write=True)
            self._guard.note(f"{NAME} in root", f"{self._root / NAME} can't be written: {why}")
        else:
            self._guard.note_success(f"{NAME} in root")
            self._written, self._written_next = news, time.monotonic() + WRITTEN_ANYWAY

    def _look_at_tables(self) -> None:
        """Ask what is wrong with the mapping's tables, which may hang; what is new of it is logged."""
        before, self._table_troubles = self._table_troubles, self._tables()
        for why in self._table_troubles:
            if why not in before:
                self._log.error("table.broken", why=why)

    def _tell_manager(self, status: Status) -> None:
        line = in_a_line(status)
        if line != self._told:
            notify(f"STATUS={line}")
            self._told = line


def _is_alive(thread: threading.Thread | None) -> bool:
    return thread is not None and thread.is_alive()


def _changed(path: Path) -> float | None:
    """When a file was last written, in seconds since 1970. Raises OSError."""
    return None if is_missing(path) else path.stat().st_mtime


def read(root: Path) -> Status | None:
    """What status.json says; None where there is none that can be read, or its share doesn't answer."""
    try:
        status = within(PATIENCE, lambda: checked.read_object(root / NAME, LARGEST))
    except OSError:
        return None
    if status is None or status.keys() != Status.__annotations__.keys() or status["filedrop"] != VERSION:
        return None
    return cast("Status", status)
