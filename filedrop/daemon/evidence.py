"""Whether work goes on, by evidence: what is owed, and since when nothing has happened with it.

A row of OBLIGATIONS names what is owed now (`model/obligations.Owed`). What status reports already isn't owed: nothing
is owed by an account that can't be used, by a folder that is unavailable, or by anything while the journal can't be
written.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING

from filedrop.errors import FiledropError
from filedrop.model.document import State
from filedrop.model.obligations import (
    A_MOMENT,
    AN_HOUR,
    COPIED,
    HALF_A_DAY,
    IMPATIENT,
    RESTARTS,
    SLOWEST,
    STANDSTILL,
    Owed,
)
from filedrop.model.report import Kept
from filedrop.process.guard import Guard
from filedrop.times import from_seconds, local

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

    import structlog

    from filedrop.daemon.account import Account
    from filedrop.daemon.daemon import Daemon
    from filedrop.journal import PastDue
    from filedrop.model.report import DaemonReport

EVERY = 30.0  # seconds between two looks,
REST = 20  # and so many times as long as a look took
ADVICE = "restart filedrop; if this comes again, please report it with the log"
_STANDS = {
    State.WAITING: "documents that were claimed aren't sent",
    State.SENDING: "documents are on their way to the access point for too long",
    State.SENT: "the access point isn't asked whether documents were delivered",
    State.DELIVERED: "delivered documents aren't moved to archive/",
    State.FAILED: "failed documents aren't moved to failed/",
    State.UNREACHABLE: "documents whose receivers can't be reached aren't moved to not-on-peppol/",
}


@dataclass(frozen=True)
class Facts:
    """What the rows look at, besides the daemon and its journal.

    `files`: by the path of each available folder, how many documents are in each of its places. `written`: by its name,
    when a file of the status last changed, by its own disk. `looks`: how often the alerts have looked; None where there
    are none.
    """

    daemon: Daemon
    files: Mapping[Path, Mapping[str, int]]
    written: Mapping[str, float | None]
    looks: int | None
    kept: Kept = field(default_factory=Kept)

    @cached_property
    def usable(self) -> Sequence[Account]:
        """The accounts that can be used, and whose work can be recorded."""
        accounts = self.daemon.accounts if not self.daemon.journal.trouble else ()
        return [each for each in accounts if each.breaker.report.condition == "ok" and not each.is_stopped]

    @cached_property
    def progress(self) -> Mapping[str, int]:
        """By company, a number that changes whenever a document or a message gets anywhere. Raises JournalError."""
        found = Counter[str]()
        for total in self.daemon.journal.totals.events():
            found[total.company] += total.number
        return found

    def timeout(self, account: Account) -> float:
        """Within how many seconds each request of an account has ended, whatever its size."""
        return 2 * self.daemon.config.accounts[account.name].read_timeout.total_seconds()


def _steps(facts: Facts) -> Iterator[Owed]:
    """Each step in a folder ends, and each folder is looked through."""
    workers, journal = facts.daemon.workers, facts.daemon.journal
    unassigned = [facts.daemon.unassigned] if facts.daemon.unassigned else []
    for served in [*unassigned, *(served for account in facts.daemon.accounts for served in account.folders)]:
        path = served.folder.path
        if path in facts.files and workers.is_hung(served):  # else status reports that it doesn't answer
            yield Owed(str(path), f"{path}: a step doesn't end", patience=IMPATIENT)
    for account in facts.daemon.accounts if not journal.trouble else ():
        rescan = account.context.rules.rescan.total_seconds()
        reports = *(pipeline.report for pipeline in account.pipelines), *(answers.report for answers in account.answers)
        for report in reports:
            if not (report.trouble or account.is_stopped):
                mark = report.last_scan, report.unclaimed
                yield Owed(str(report.path), f"{report.path} isn't looked through", mark, rescan)


def _outbound(facts: Facts) -> Iterator[Owed]:
    """Files that aren't known to be unready are claimed, and each unfinished document goes on at its time."""
    past_due: defaultdict[str, list[PastDue]] = defaultdict(list)
    for row in facts.daemon.journal.totals.past_due(facts.daemon.now()) if facts.usable else ():
        past_due[row.folder].append(row)
    for account in facts.usable:
        for report in [pipeline.report for pipeline in account.pipelines]:
            path, progress = report.path, facts.progress.get(report.company)
            if report.trouble or report.refused or report.is_held:
                continue
            if (number := facts.files.get(path, {}).get("outbound", 0)) > report.unready:
                yield Owed(str(path), f"{path}: files aren't claimed", (number, progress))
            for row in past_due.get(report.id, ()):
                if what := _STANDS.get(row.state):
                    is_sending = row.state is State.SENDING
                    patience = facts.timeout(account) + row.largest / SLOWEST if is_sending else 0.0
                    yield Owed(str(path), f"{path}: {what}", (row.number, row.oldest, progress), patience)


def _inbound(facts: Facts) -> Iterator[Owed]:
    """Each inbox is listed, its messages are received, each request ends, and answers are sent."""
    poll, answering = facts.daemon.config.inbound.poll.total_seconds(), facts.daemon.journal.answers
    for account in facts.usable:
        about, inbox = f"account {account.name}", account.poller.summary
        yield Owed(about, f"the inbox of account {account.name} isn't read", inbox.last_poll, poll)
        for delivery in account.deliveries:
            path, company = str(delivery.folder.path), delivery.folder.company
            if (number := inbox.waiting.get(company)) and not (delivery.trouble or delivery.refused):
                mark = number, facts.progress.get(company)
                yield Owed(path, f"{company}: unread messages aren't received", mark, poll)
        if under_way := account.poller.under_way:
            what = f"account {account.name}: messages are on their way for too long"
            yield Owed(about, what, sorted(under_way), facts.timeout(account))
        for answers in account.answers:
            path, given = str(answers.folder.path), answering.owed(answers.folder.company)
            if first := [answer.document for answer in given if answering.document_before(answer) is None]:
                yield Owed(path, f"{path}: answers aren't sent", first)


def _accounts(facts: Facts) -> Iterator[Owed]:
    """No account is away for half of a day in all. While it is away, status reports it by itself."""
    for name in [account.name for account in facts.usable]:
        away = facts.kept.absences.get(name, {})
        if (seconds := sum(away.values())) >= HALF_A_DAY:
            what = f"account {name} couldn't be used for {seconds // AN_HOUR:.0f} hours in all"
            advice = "it can be used now, but ask the operator of the access point for the cause"
            yield Owed(f"account {name}", what, None, IMPATIENT, AN_HOUR * min(map(int, away)), advice)


def _chores(facts: Facts) -> Iterator[Owed]:
    """Pages are made, commands are run, the journal is copied each day."""
    daemon, journal = facts.daemon, facts.daemon.journal
    if journal.trouble:
        return
    available = {str(path) for path in facts.files}
    if pages := [(row.msg_no, row.page) for row in journal.messages.owed_pages() if row.folder in available]:
        yield Owed("pages", "pages of received documents aren't made", pages, STANDSTILL)
    commands = [errand.number for errand in journal.errands.first() if daemon.serves_company(errand.company)]
    if commands and not any(about.startswith("commands.") for about in daemon.guard.troubles):
        yield Owed("commands", "commands aren't run", commands, daemon.config.commands.timeout.total_seconds())
    if journal.copies and "backup" not in daemon.guard.troubles:
        yield Owed("backup", "the journal has no new copy", journal.copies.newest_copy(), COPIED)


def _threads(facts: Facts) -> Iterator[Owed]:
    """All threads are alive: the one row that a restart resolves, so systemd's watchdog follows it."""
    if not (facts.daemon.is_stopping or facts.daemon.is_healthy()):
        yield Owed("threads", "a part of filedrop has ended", patience=IMPATIENT)


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
        since = min(at, facts.daemon.now().timestamp())  # its own clock may be ahead
        advice = f"start it again; if it is gone for good: filedrop hosts forget {name}"
        yield Owed(f"host {name}", f"host {name} has given no sign of life", None, IMPATIENT, since, advice)


def _starts(facts: Facts) -> Iterator[Owed]:
    """Filedrop isn't started again and again."""
    lately = [start for start in facts.kept.starts if facts.daemon.now().timestamp() - start < AN_HOUR]
    if len(lately) > RESTARTS:
        advice = "the log shows why the earlier ones have ended"
        yield Owed("starts", f"filedrop has started {len(lately)} times", None, IMPATIENT, lately[0], advice)


OBLIGATIONS: tuple[Callable[[Facts], Iterable[Owed]], ...] = (
    _steps, _outbound, _inbound, _accounts, _chores, _threads, _status, _hosts, _starts,
)  # fmt: skip


class Evidence:
    """Watches what is owed. For one thread; `standstills`: about what, and the sentence about what stands still.

    `kept`: for the next run. `before`: by an earlier one, so that nothing begins again with a restart.
    """

    def __init__(
        self,
        log: structlog.stdlib.BoundLogger,
        now: Callable[[], datetime],
        steady: Callable[[], float],
        before: Kept,
    ) -> None:
        self.standstills: Mapping[str, str] = {}
        self._log = log
        self._now = now
        self._steady = steady
        self._guard = Guard(log, steady)
        self._began = self._looked = steady()
        start = now().timestamp()
        lately = (earlier for earlier in before.starts if start - earlier < AN_HOUR)
        self.kept = replace(before, starts=(*lately, start))
        self._next = -math.inf

    def look(self, facts: Callable[[], Facts]) -> None:
        """Look at everything that is owed, now and then."""
        begun, now = self._steady(), self._now().timestamp()
        if begun < self._next:
            return
        passed, self._looked = begun - self._looked, begun
        known = replace(facts(), kept=self.kept)
        is_young = begun - self._began < A_MOMENT  # it may not know yet all that is owed
        marks = dict(self.kept.marks) if is_young else {}
        found: dict[str, str] = {}
        for owed in (owed for row in OBLIGATIONS for owed in self._owed(row, known)):
            mark = blake2b(ascii(owed.mark).encode(), digest_size=8).hexdigest()
            before, age, since = self.kept.marks.get(owed.what, ("", 0.0, now))
            age, since = (age + passed, since) if before == mark else (0.0, now)
            marks[owed.what] = mark, age, since
            if owed.since is not None:
                age, since = now - owed.since, owed.since
            patience = STANDSTILL + owed.patience
            # What stood still before a restart gets a moment after it.
            if age >= patience and begun - self._began >= min(patience, A_MOMENT):
                why = f"since {local(from_seconds(since))}, {owed.what}: {owed.advice or ADVICE}"
                found.setdefault(owed.about, why)  # one cause stops several: the first row names it best
        for about in found.keys() - self.standstills.keys():
            self._log.error("work.stands_still", what=about, why=found[about])
        self.kept = replace(self.kept, marks=marks, absences=self._absences(known, passed, int(now // AN_HOUR)))
        self.standstills = {**found, **self._guard.troubles}
        self._next = begun + max(EVERY, REST * (self._steady() - begun))

    def added_to(self, report: DaemonReport) -> DaemonReport:
        """A report with what stands still, and what is kept for the next run."""
        return replace(report, standstills=self.standstills, kept=self.kept)

    def _absences(self, facts: Facts, passed: float, hour: int) -> Mapping[str, Mapping[str, float]]:
        """For how many seconds each account was away, by the hours of the last day."""
        found: dict[str, dict[str, float]] = {}
        for account in facts.daemon.accounts:
            before = self.kept.absences.get(account.name, {})
            found[account.name] = away = {at: before[at] for at in before if int(at) > hour - 24}
            if account.breaker.report.condition not in ("ok", "unknown"):
                away[str(hour)] = away.get(str(hour), 0.0) + passed
        return found

    def _owed(self, row: Callable[[Facts], Iterable[Owed]], facts: Facts) -> Sequence[Owed]:
        try:
            return self._guard.make(f"evidence of {row.__name__.strip('_')}", lambda: tuple(row(facts)), ())
        except (FiledropError, OSError):  # which is reported by itself
            return ()
