"""Whether work goes on, by evidence: what is owed, and since when nothing has happened with it.

A row of OBLIGATIONS names what is owed now (`model/obligations.Owed`). What status reports already isn't owed: nothing
is owed by an account that can't be used, by a folder that is unavailable, or by anything while the journal can't be
written.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from filedrop.errors import FiledropError
from filedrop.model.document import State
from filedrop.model.obligations import AN_HOUR, AT_ONCE, COPIED, RESTARTS, SLOWEST, STANDSTILL, Owed
from filedrop.process.guard import Guard
from filedrop.times import from_seconds, local

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

    import structlog

    from filedrop.daemon.account import Account
    from filedrop.daemon.daemon import Daemon
    from filedrop.model.report import DaemonReport
    from filedrop.outbound.pipeline import OutboundPipeline

EVERY = 30.0  # seconds between two looks,
REST = 20  # and so many times as long as a look took
ADVICE = "restart filedrop; if this comes again, please report it with the log"
_STANDS = {
    State.WAITING: "documents that were claimed aren't sent",
    State.SENDING: "documents are on their way to the access point for too long",
    State.SENT: "the access point isn't asked whether documents were delivered",
    State.DELIVERED: "delivered documents aren't moved to archive/",
    State.FAILED: "failed documents aren't moved to failed/",
}


@dataclass(frozen=True, slots=True)
class Facts:
    """What the rows look at, besides the daemon and its journal.

    `files`: by the path of each available folder, how many documents are in each of its places. `written`: by its name,
    when a file of the status last changed, by its own disk. `looks`: how often the alerts have looked; None where there
    are none. `starts`: when filedrop was started within the last hour.
    """

    daemon: Daemon
    files: Mapping[Path, Mapping[str, int]]
    written: Mapping[str, float | None]
    looks: int | None
    starts: Sequence[datetime]

    @property
    def usable(self) -> Iterator[Account]:
        """The accounts that can be used, and whose work can be recorded."""
        for account in self.daemon.accounts if not self.daemon.journal.trouble else ():
            if account.breaker.report.condition == "ok" and not account.is_stopped:
                yield account

    @property
    def pipelines(self) -> Iterator[OutboundPipeline]:
        """The outbound folders from which documents are sent."""
        for account in self.usable:
            for pipeline in account.pipelines:
                report = pipeline.report
                if not (report.trouble or report.refused or report.is_held):
                    yield pipeline

    def progress(self) -> Mapping[str, int]:
        """By company, a number that changes whenever a document or a message gets anywhere. Raises JournalError."""
        found: dict[str, int] = {}
        for total in self.daemon.journal.totals.events():
            found[total.company] = found.get(total.company, 0) + total.number
        return found


def _steps(facts: Facts) -> Iterator[Owed]:
    """Each step in a folder ends, and each folder is looked through."""
    workers, journal = facts.daemon.workers, facts.daemon.journal
    unassigned = [facts.daemon.unassigned] if facts.daemon.unassigned else []
    for served in [*unassigned, *(served for account in facts.daemon.accounts for served in account.folders)]:
        path = served.folder.path
        if path in facts.files and workers.is_hung(served):  # else status reports that it doesn't answer
            yield Owed(str(path), f"{path}: a step doesn't end", patience=AT_ONCE)
    for account in facts.daemon.accounts if not journal.trouble else ():
        rescan = account.context.rules.rescan.total_seconds()
        reports = *(pipeline.report for pipeline in account.pipelines), *(answers.report for answers in account.answers)
        for report in reports:
            if not (report.trouble or account.is_stopped):
                mark = report.last_scan, report.unclaimed
                yield Owed(str(report.path), f"{report.path} isn't looked through", mark, rescan)


def _dropped(facts: Facts) -> Iterator[Owed]:
    """Files that aren't known to be unready are claimed."""
    progress = facts.progress()
    for pipeline in facts.pipelines:
        path, report = pipeline.folder.path, pipeline.report
        if (number := facts.files.get(path, {}).get("outbound", 0)) > report.unready:
            yield Owed(str(path), f"{path}: files aren't claimed", (number, progress.get(report.company)))


def _documents(facts: Facts) -> Iterator[Owed]:
    """Each unfinished document goes on at its time."""
    progress, pipelines = facts.progress(), {pipeline.folder.id: pipeline for pipeline in facts.pipelines}
    accounts = facts.daemon.config.accounts
    for row in facts.daemon.journal.totals.past_due(facts.daemon.now()):
        if (pipeline := pipelines.get(row.folder)) and (what := _STANDS.get(row.state)):
            patience, path = 0.0, pipeline.folder.path
            if row.state is State.SENDING:
                patience = (
                    2 * accounts[pipeline.desk.shared.account].read_timeout.total_seconds() + row.largest / SLOWEST
                )
            mark = row.number, row.oldest, progress.get(pipeline.folder.company)
            yield Owed(str(path), f"{path}: {what}", mark, patience)


def _tracked(facts: Facts) -> Iterator[Owed]:
    """Each file in sending/ and sent/ has an unfinished document, but for those that a person put there."""
    known, progress = facts.daemon.journal.totals.unfinished(), facts.progress()
    for pipeline in facts.pipelines:
        path, report = pipeline.folder.path, pipeline.report
        for place in ("sending", "sent") if report.strays is not None else ():
            surplus = facts.files.get(path, {}).get(place, 0) - known.get((report.id, place), 0)
            if report.strays is not None and surplus > report.strays.number:
                mark = surplus, progress.get(report.company)
                yield Owed(str(path), f"{path / place}: files there are tracked by nobody", mark)


def _inboxes(facts: Facts) -> Iterator[Owed]:
    """Each inbox is listed, each of its messages for a company here is received, and each request ends."""
    progress, poll = facts.progress(), facts.daemon.config.inbound.poll.total_seconds()
    for account in facts.usable:
        about, inbox = f"account {account.name}", account.poller.summary
        yield Owed(about, f"the inbox of account {account.name} isn't read", inbox.last_poll, poll)
        for delivery in account.deliveries:
            path, company = str(delivery.folder.path), delivery.folder.company
            if (number := inbox.waiting.get(company)) and not (delivery.trouble or delivery.refused):
                what = f"{company}: unread messages aren't received"
                yield Owed(path, what, (number, progress.get(company)), poll)
        if under_way := account.poller.under_way:
            timeout = facts.daemon.config.accounts[account.name].read_timeout
            what = f"account {account.name}: messages are on their way for too long"
            yield Owed(about, what, under_way, 2 * timeout.total_seconds())


def _files(facts: Facts) -> Iterator[Owed]:
    """Pages are made, answers are sent, commands are run."""
    daemon, journal = facts.daemon, facts.daemon.journal
    if journal.trouble:
        return
    available = {str(path) for path in facts.files}
    if pages := tuple((row.msg_no, row.page) for row in journal.messages.owed_pages() if row.folder in available):
        yield Owed("pages", "pages of received documents aren't made", pages, STANDSTILL)
    for account in facts.usable:
        for answers in account.answers:
            given = journal.answers.owed(answers.folder.company)
            if first := tuple(answer.document for answer in given if journal.answers.document_before(answer) is None):
                yield Owed(str(answers.folder.path), f"{answers.folder.path}: answers aren't sent", first)
    if not any(about.startswith("commands.") for about in daemon.guard.troubles):
        first_ones = tuple(errand.number for errand in journal.errands.first() if daemon.serves_company(errand.company))
        if first_ones:
            yield Owed("commands", "commands aren't run", first_ones, daemon.config.commands.timeout.total_seconds())


def _copies(facts: Facts) -> Iterator[Owed]:
    """The journal is copied each day."""
    if (copies := facts.daemon.journal.copies) and "backup" not in facts.daemon.guard.troubles:
        yield Owed("backup", "the journal has no new copy", copies.newest_copy(), COPIED)


def _threads(facts: Facts) -> Iterator[Owed]:
    """All threads are alive: the one row that a restart resolves, so systemd's watchdog follows it."""
    if not (facts.daemon.is_stopping or facts.daemon.is_healthy()):
        yield Owed("threads", "a part of filedrop has ended", patience=AT_ONCE)


def _status(facts: Facts) -> Iterator[Owed]:
    """The files of the status are written, and the alerts look."""
    for name, written in facts.written.items():
        yield Owed(name, f"{name} isn't written", written, 60.0)
    if facts.looks is not None:
        yield Owed("alerts", "alerts, heartbeat and metrics stand still", facts.looks, 60.0)


def _hosts(facts: Facts) -> Iterator[Owed]:
    """Each host gives signs of life until it is stopped, or forgotten."""
    share = facts.daemon.share
    for name, at in share.missing.items() if share.does_chores else ():
        since = min(from_seconds(at), facts.daemon.now())  # its own clock may be ahead
        advice = f"start it again; if it is gone for good: filedrop hosts forget {name}"
        yield Owed(f"host {name}", f"host {name} has given no sign of life", None, AT_ONCE, since, advice)


def _starts(facts: Facts) -> Iterator[Owed]:
    """Filedrop isn't started again and again: marks begin again with each start."""
    lately = [start for start in facts.starts if facts.daemon.now() - start < AN_HOUR]
    if len(lately) > RESTARTS:
        advice = "the log shows why the earlier ones have ended"
        yield Owed("starts", f"filedrop has started {len(lately)} times", None, AT_ONCE, lately[0], advice)


OBLIGATIONS: tuple[Callable[[Facts], Iterable[Owed]], ...] = (
    _steps, _dropped, _documents, _tracked, _inboxes, _files, _copies, _threads, _status, _hosts, _starts,
)  # fmt: skip


class Evidence:
    """Watches what is owed. For one thread; `standstills`: about what, and the sentence about what stands still."""

    def __init__(
        self, log: structlog.stdlib.BoundLogger, now: Callable[[], datetime], steady: Callable[[], float]
    ) -> None:
        self.standstills: Mapping[str, str] = {}
        self._log = log
        self._now = now
        self._steady = steady
        self._guard = Guard(log, steady)
        self._marks: dict[tuple[str, str], tuple[object, float, datetime]] = {}  # since when, by both clocks
        self._next = -math.inf

    def look(self, facts: Callable[[], Facts]) -> None:
        """Look at everything that is owed, now and then."""
        begun = self._steady()
        if begun < self._next:
            return
        marks: dict[tuple[str, str], tuple[object, float, datetime]] = {}
        found: dict[str, str] = {}
        known = facts()
        for row in OBLIGATIONS:
            for owed in self._owed(row, known):
                key = owed.about, owed.what
                mark, steady, since = self._marks.get(key, (owed.mark, begun, self._now()))
                if mark != owed.mark:
                    steady, since = begun, self._now()
                marks[key] = owed.mark, steady, since
                age = begun - steady if owed.since is None else (self._now() - owed.since).total_seconds()
                if age >= STANDSTILL + owed.patience:
                    why = f"since {local(owed.since or since)}, {owed.what}: {owed.advice or ADVICE}"
                    found.setdefault(owed.about, why)  # one cause stops several: the first row names it best
        for about in found.keys() - self.standstills.keys():
            self._log.error("work.stands_still", what=about, why=found[about])
        self._marks, self.standstills = marks, {**found, **self._guard.troubles}
        self._next = begun + max(EVERY, REST * (self._steady() - begun))

    def added_to(self, report: DaemonReport) -> DaemonReport:
        """A report with what stands still."""
        return replace(report, standstills=self.standstills)

    def _owed(self, row: Callable[[Facts], Iterable[Owed]], facts: Facts) -> Sequence[Owed]:
        try:
            return self._guard.make(f"evidence of {row.__name__.strip('_')}", lambda: tuple(row(facts)), ())
        except (FiledropError, OSError):  # which is reported by itself
            return ()
