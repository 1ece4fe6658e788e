"""Builds the accounts from the configuration; start and shutdown.

The order of the shutdown: watcher and pages, validators, accounts (each request on the wire gets its time, then each
folder takes its last step), recorder, the other folders, commands; whoever opened the journal closes it. A second
signal ends the process at once, which is safe.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from filedrop.daemon.account import Account, Common
from filedrop.daemon.commands import CommandRunner
from filedrop.daemon.copies import DailyCopy
from filedrop.daemon.recorder import Recorder
from filedrop.daemon.watcher import Watcher
from filedrop.errors import JournalError
from filedrop.identify import codelist, xpath_tree
from filedrop.identify.mapping import Rules
from filedrop.inbound.delivery import InboundDelivery
from filedrop.inbound.pages import OwedPages, PageMaker
from filedrop.model.document import Need
from filedrop.model.report import DaemonReport
from filedrop.outbound.validating import Validating
from filedrop.process.clock import REAL
from filedrop.process.folder_worker import FolderWorkers
from filedrop.process.guard import Guard
from filedrop.process.loop import Loop
from filedrop.process.share import Share
from filedrop.storage.company_folders import NamedFolders, unassigned_folder
from filedrop.storage.former import left_behind
from filedrop.validation import validator_of

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterable, Mapping

    import structlog

    from filedrop.config import Config
    from filedrop.inbound.answers import AnswersByMoving
    from filedrop.journal import Journal
    from filedrop.process.clock import Clockwork
    from filedrop.process.pool import Pool

LAST_WORDS = 20.0  # seconds for requests on the wire at a stop (contract 5, `run`)
A_MOMENT = 5.0  # seconds more to record and put away their documents
A_GLANCE = 0.01  # seconds between looks whether all has ended
SHORTEST_PAUSE, LONGEST_PAUSE = 0.02, 0.1  # seconds between two checks of a single run whether all is done
RESTS = 10  # times as long as such a check took: with many companies, it asks the journal for each
TICK_EVERY = 1.0  # seconds between checks of folders that take long, and reports to status.json


@dataclass(frozen=True, slots=True)
class Configured:
    """When the configuration was last `read` (ISO 8601), and why what was read then isn't in use; "" if it is."""

    read: str
    why: str = ""


class Daemon:
    """All accounts with one journal, until `stopped` is set. Raises FiledropError when it can't be set up.

    `share`: what this host serves; all where none is given. `watch` is False where files are to be found by scanning
    alone, as in a single run. `former`: the mapping rules of the daemon before a reload, whose tables have been read.
    """

    def __init__(
        self,
        config: Config,
        journal: Journal,
        *,
        stopped: threading.Event,
        log: structlog.stdlib.BoundLogger,
        share: Share | None = None,
        watch: bool = True,
        clockwork: Clockwork = REAL,
        former: Rules | None = None,
    ) -> None:
        self.guard = guard = Guard(log, clockwork.steady)
        survive = guard.attempt
        self.config = config
        self.journal = journal
        self.share = share or Share()
        self.configured = Configured(clockwork.now().isoformat())
        self._stopped = stopped
        self.now, self.steady = clockwork.now, clockwork.steady
        self._is_started = False
        self._log = log
        self._named = NamedFolders(config.folders)
        self._watcher = Watcher(log, is_closed=not watch)
        self.workers = FolderWorkers(attempt=survive, progress=lambda: journal.commits, steady=clockwork.steady)
        self.recorder = Recorder(journal, attempt=survive)
        each = 1 if config.validation.rules else config.outbound.workers  # a process that applies rules takes 200 MB
        # One more at once: no company keeps them all busy.
        self.validators = clockwork.pool(each + 1, name="validate", attempt=survive, each=each)
        self.validating = _validating(config, self.validators, clockwork, guard, log)
        self.commands = CommandRunner(
            config.commands, journal, passed=config.pass_environment, pool=clockwork.pool, guard=guard
        )
        self.pages = OwedPages(PageMaker(journal, log), journal, self._named, log)
        self._make_pages = Loop(
            "pages", self.pages.turn, progress=lambda: journal.commits, stopped=stopped, guard=guard
        )
        self.copies = DailyCopy(journal, spare=config.inbound.min_free, clockwork=clockwork, guard=guard, log=log)
        self.mapping = Rules(
            config.mapping, config.tables, source=config.source, settle=config.outbound.settle, former=former
        )
        self.unassigned = None  # the accounts share it
        if (folder := unassigned_folder(config, self._named)) is not None:
            self.unassigned = InboundDelivery(
                folder, journal, min_free=config.inbound.min_free, log=log, workers=self.workers
            )
            self.workers.add([self.unassigned])
            self.pages.add([self.unassigned])
        self._common = Common(
            journal=journal,
            mapping=self.mapping,
            named=self._named,
            unassigned=self.unassigned,
            watcher=self._watcher,
            workers=self.workers,
            recorder=self.recorder,
            validating=self.validating,
            pages=self._make_pages,
            clockwork=clockwork,
            guard=guard,
            log=log,
        )
        self.accounts: list[Account] = []  # replaced, never changed: other threads read it
        for name in filter(self.serves, config.accounts):
            self.serve(self.build(config, name))

    def serves(self, account: str | None) -> bool:
        """Whether this host is to serve an account, or what no account has (None)."""
        return self.share.serves(account)

    def serves_company(self, name: str) -> bool:
        """Whether this host is to serve a company, or one that the configuration no longer has."""
        company = self.config.companies.get(name)
        return self.serves(company.account if company else None)

    def build(self, config: Config, name: str) -> Account:
        """An account by a configuration, which isn't served yet. Raises FiledropError when it can't be set up."""
        return Account(config, config.accounts[name], self._common)

    def use(self, config: Config) -> None:
        """Go by a configuration that has other accounts alone, which are given up and taken."""
        self.config = config
        self._named.replace(config.folders)

    def serve(self, account: Account) -> None:
        """Serve an account. Raises JournalError, and nothing of the account has begun then."""
        order = list(self.config.accounts)
        left = left_behind(self.config, self.journal) if self._is_started else {}
        self.workers.add(account.folders)
        self.pages.add(account.deliveries)
        self.accounts = sorted([*self.accounts, account], key=lambda taken: order.index(taken.name))
        if self._is_started:
            self._start([account], left)

    def give_up(self, account: Account) -> bool:
        """Serve an account no longer, as far as that goes without waiting. Returns whether nothing of it is left.

        Called until it is. No request is begun any more. Those on the wire go on to their answers; these are recorded,
        and their documents are moved. While a folder hangs, its account is not given up.
        """
        is_left = self._has_ended(account)
        if is_left:
            self.accounts = [other for other in self.accounts if other is not account]
        return is_left

    def _has_ended(self, account: Account) -> bool:
        account.stop()
        makes_no_page = self.pages.remove(account.deliveries)
        if not account.has_all_back():
            return False
        self.workers.remove(account.folders)
        if any(map(self.workers.serves, account.folders)) or not makes_no_page:
            return False
        account.close()
        return True

    def run_once(self, progress: Callable[[Daemon], None]) -> bool:
        """Work until all is done; False if stopped. `progress` is called several times a second, and at the end."""
        self.mapping.await_tables(self._stopped)
        self.start()
        done, looked, pause = False, time.monotonic(), SHORTEST_PAUSE
        try:
            while not done and not self._stopped.wait(pause):
                begun = time.monotonic()
                if begun - looked > TICK_EVERY:
                    looked = begun
                    self.tick()
                self.guard.attempt("progress", lambda: progress(self))
                done = self.is_done()
                pause = min(max(SHORTEST_PAUSE, RESTS * (time.monotonic() - begun)), LONGEST_PAUSE)
        finally:
            self.close()
        progress(self)
        return done

    def start(self) -> None:
        """Start all threads."""
        codelist.use(self.config.published_lists)
        self.copies.tick()
        self.commands.start()
        self.recorder.start()
        self._make_pages.start()
        self._is_started = True
        self._start(self.accounts, left_behind(self.config, self.journal))
        self.workers.start()  # last: each folder that they have watched takes a thread

    def _start(self, accounts: Iterable[Account], left: Mapping[str, Iterable[str]]) -> None:
        for account in accounts:
            for why in left.get(account.name, ()):
                self._log.warning("account.changed", account=account.name, why=why)
            account.start()

    def tick(self) -> None:
        """Look each second for folders that take long, what is idle, due commands, and what may be posted now."""
        parts: dict[str, Callable[[], object]] = {
            "file events": self._watcher.tick,
            "folders": self.workers.relieve,
            "validator": self.validating.end_if_idle,
            "validations": self.validators.tick,
            "idle pages": self.pages.end_if_idle,
            "idle searches": xpath_tree.end_if_idle,
            "commands": partial(self.commands.tick, self.serves_company),
            "journal": self.journal.engine.keep_up,
            "backup": self.copies.tick,
        }
        for what, part in (*parts.items(), *((f"account {account.name}", account.tick) for account in self.accounts)):
            self.guard.attempt(what, part)

    def begin_stop(self) -> None:
        """Stop requesting; what is on the wire goes on."""
        self._stopped.set()
        self._watcher.close()
        self.pages.close()
        self._make_pages.wake()
        for account in self.accounts:
            account.stop()

    def is_quiet(self) -> bool:
        """Whether, after `begin_stop`, all requests have ended."""
        return all(account.is_quiet() for account in self.accounts)

    def close(self) -> None:
        """Stop. What is on the wire gets some seconds; what has no clear answer by then is in doubt."""
        self.stop_but_commands()
        self.end_commands()

    def end_commands(self) -> None:
        """End the commands: those that run get a moment, and are run again after the next start."""
        self._log_stage("commands")
        self.commands.close(A_MOMENT)

    def follow(self, former: Daemon) -> None:
        """Take over the commands of a daemon that has given way. Before the start."""
        self.commands, passed = former.commands, self.config.pass_environment
        self.commands.configure(self.config.commands, passed=passed, guard=self.guard)

    def stop_but_commands(self) -> None:
        """Stop all but the commands, which another daemon takes over (`follow`)."""
        self.begin_stop()
        deadline = time.monotonic() + LAST_WORDS
        self._log_stage("validations")
        self.validating.close()
        self.validators.close(A_MOMENT)
        self._log_stage("requests")
        while not self._have_ended() and time.monotonic() < deadline:
            self.workers.relieve()
            time.sleep(A_GLANCE)
        self._log_stage("answers to be recorded")
        self.recorder.close(deadline + A_MOMENT)
        self._log_stage("folders")
        self.workers.close(deadline + A_MOMENT)
        if not self.recorder.is_alive():  # a folder amid a step may have begun requests since, which were never made
            self.guard.attempt("recorder", self.recorder.step)
        self._log_stage("pages and backup")
        self._make_pages.join(A_MOMENT)
        self.copies.close(A_MOMENT)
        for account in self.accounts:
            account.close()

    def _log_stage(self, waits_for: str) -> None:
        """Log a stage of the stop, and what it waits for: of a stop that takes long, the last line says why."""
        self._log.debug("service.stopping", waits_for=waits_for)

    def _have_ended(self) -> bool:
        """Whether all accounts have ended. While the journal can't be written, answers aren't waited for."""
        left = [account for account in self.accounts if not self._has_ended(account)]
        return not left or (bool(self.journal.trouble) and all(account.is_quiet() for account in left))

    def is_done(self) -> bool:
        """Whether all that can be done now is done (`run --once`)."""
        deliveries = self._deliveries()
        if any(map(self.workers.is_serving, deliveries)) or not all(delivery.is_idle() for delivery in deliveries):
            return False
        return (
            all(account.is_done() for account in self.accounts)
            and self.pages.is_done()
            and self.commands.is_done(self.serves_company)
        )

    def report(self) -> DaemonReport:
        """What is known of all that is served now, without a look at a disk but the journal's."""
        return DaemonReport(
            self.now(),
            accounts=tuple(account.report() for account in self.accounts),
            unassigned=self.unassigned.report if self.unassigned else None,
            troubles=_troubles(self),
            journal=self.journal.trouble,
            configured=self.configured.read,
        )

    @property
    def is_stopping(self) -> bool:
        """Whether it is to stop, so that its threads end."""
        return self._stopped.is_set()

    def is_healthy(self) -> bool:
        """Whether folders are served, answers recorded, and all loops alive."""
        is_served = self.workers.is_alive() and self.recorder.is_alive() and self._make_pages.is_alive()
        return is_served and all(account.is_healthy() for account in self.accounts)

    def _deliveries(self) -> list[InboundDelivery | AnswersByMoving]:
        found: list[InboundDelivery | AnswersByMoving] = [self.unassigned] if self.unassigned else []
        for account in self.accounts:
            found += [*account.deliveries, *account.answers]
        return [delivery for delivery in found if not self.workers.is_hung(delivery)]


def _validating(
    config: Config, pool: Pool, clockwork: Clockwork, guard: Guard, log: structlog.stdlib.BoundLogger
) -> Validating:
    """What prepares and validates the documents of those companies that want it: `reload` may add the first."""
    validator = validator_of(config.validation, config.state, passed=config.pass_environment)
    retry = clockwork.backoff(config.outbound.retry.first, config.outbound.retry.longest)
    return Validating(validator, pool, retry=retry, now=clockwork.now, guard=guard, log=log)


def _unvalidated(accounts: Iterable[Account], journal: Journal) -> str:
    """The sentence about documents that have no verdict; "" where there are none."""
    pipelines = (pipeline for account in accounts for pipeline in account.pipelines)
    folders = [pipeline.folder.id for pipeline in pipelines if pipeline.desk.shared.validating]
    try:
        number, first = journal.documents.first_without(Need.VERDICT, folders) if folders else (0, None)
    except JournalError:  # which is reported by itself
        number, first = 0, None
    if first is None:
        return ""
    more = f", and {number - 1} more" if number > 1 else ""
    return f"documents can't be validated, and wait: {first.company}: {first.file}: {first.needs_why}{more}"


def _troubles(daemon: Daemon) -> dict[str, str]:
    """What keeps work from being done that no account or folder says, each as a sentence, by what it is about."""
    unvalidated = _unvalidated(daemon.accounts, daemon.journal)
    troubles = {"validation": unvalidated, "configuration": daemon.configured.why, "host": daemon.share.trouble}
    troubles["code list"] = daemon.config.list_trouble
    return {**daemon.guard.troubles, **{about: why for about, why in troubles.items() if why}}
