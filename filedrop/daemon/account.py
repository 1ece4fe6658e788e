"""One account: its access point, the pipelines and deliveries of its companies, its follower and its poller."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from filedrop.accesspoint import AccessPoint
from filedrop.accesspoint.breaker import CircuitBreaker
from filedrop.accesspoint.directory import ReceiverDirectory
from filedrop.daemon.follower import Follower
from filedrop.errors import AccessPointError
from filedrop.inbound.answers import AnswersByMoving
from filedrop.inbound.context import InboundContext
from filedrop.inbound.delivery import InboundDelivery
from filedrop.inbound.poller import InboxPoller
from filedrop.model.document import participant_key
from filedrop.model.report import AccountReport
from filedrop.outbound.context import Context, Window, identification_of
from filedrop.outbound.pipeline import OutboundPipeline
from filedrop.process.loop import Loop
from filedrop.storage.company_folders import inbound_folder, outbound_folder

if TYPE_CHECKING:
    from collections.abc import Container
    from pathlib import Path

    import structlog

    from filedrop import config
    from filedrop.daemon.recorder import Recorder
    from filedrop.daemon.watcher import Watcher
    from filedrop.identify.mapping import Rules
    from filedrop.journal import Journal
    from filedrop.outbound.context import Unrecorded
    from filedrop.outbound.validating import Validating
    from filedrop.process.clock import Clockwork
    from filedrop.process.folder_worker import FolderWorkers
    from filedrop.process.guard import Guard
    from filedrop.storage.company_folders import OutboundFolder

UNDER_WAY = 32  # documents that may be on their way: they share commits and flushes; a kill leaves them in doubt
EACH = 2  # but at least so many for each sender: one on the wire, and the next one
WHILE_BUSY = 1.0  # seconds between checks whether all messages have ended


@dataclass(frozen=True, slots=True)
class Common:
    """What all accounts share.

    `named` are the folders that the configuration names. `workers` serve the folders, `validating` judges documents,
    `recorder` records the answers to requests, and `pages` makes pages.
    """

    journal: Journal
    mapping: Rules
    named: Container[Path]
    unassigned: InboundDelivery | None
    watcher: Watcher
    workers: FolderWorkers
    recorder: Recorder
    validating: Validating
    pages: Loop
    clockwork: Clockwork
    guard: Guard
    log: structlog.stdlib.BoundLogger


class Account:
    """One account of the daemon, until it is stopped. Raises FiledropError when it can't be set up."""

    def __init__(self, settings: config.Config, account: config.Account, common: Common) -> None:
        journal, workers, clockwork = common.journal, common.workers, common.clockwork
        self.name = account.name
        log = common.log.bind(account=account.name)
        self._stopped = stopped = threading.Event()
        self._watcher, self._workers, self._recorder = common.watcher, workers, common.recorder
        self._steady = clockwork.steady
        self._poll_every = settings.inbound.poll.total_seconds()
        self._next_poll = -math.inf
        self._knows_all = False
        self.journal = journal
        companies = [company for company in settings.companies.values() if company.account == account.name]
        self.access_point = AccessPoint(
            account,
            stopped=stopped,
            retry=clockwork.retry,
            monotonic=clockwork.steady,
            wall=lambda: clockwork.now().timestamp(),
        )
        rules = settings.outbound
        retry = clockwork.backoff(rules.retry.first, rules.retry.longest)
        self.breaker = CircuitBreaker(
            self.access_point.probe,
            retry=retry,
            steady=clockwork.steady,
            now=clockwork.now,
            login_changed=self.access_point.login_changed,
            log=log,
        )
        pool = partial(clockwork.pool, rules.workers, attempt=common.guard.attempt, on_lull=common.recorder.note_lull)
        self.senders, self.fetchers = pool(name=f"send-{account.name}"), pool(name=f"fetch-{account.name}")
        one_of_several = account.name if len(settings.accounts) > 1 else ""
        self.context = Context(
            account=self,
            senders=self.senders,
            access_point=self.access_point,
            breaker=self.breaker,
            directory=ReceiverDirectory(
                self.access_point, cache=rules.directory_cache, steady=clockwork.steady, log=log, account=one_of_several
            ),
            journal=journal,
            rules=rules,
            retry=retry,
            now=clockwork.now,
            steady=clockwork.steady,
            guard=common.guard,
            log=log,
            window=Window(max(UNDER_WAY, EACH * rules.workers)),
            validating=common.validating,
            stopped=stopped,
        )
        self.pipelines = [
            self._pipeline(company, outbound_folder(settings, company, path, common.named), common.mapping)
            for company in companies
            for path in company.outbound
        ]
        loop = partial(Loop, progress=lambda: journal.commits, stopped=stopped, guard=common.guard)
        self._follow, self._poll = loop(f"follow-{account.name}", self.follow), loop(f"poll-{account.name}", self.poll)
        self.follower = Follower(self.context, self.pipelines, workers)
        inbound = {
            company.name: InboundDelivery(
                inbound_folder(settings, company, common.named),
                journal,
                min_free=settings.inbound.min_free,
                log=log,
                workers=workers,
            )
            for company in companies
            if company.may_receive
        }
        self.deliveries = list(inbound.values())
        self.answers = [
            AnswersByMoving(
                delivery.folder,
                journal,
                rescan=rules.rescan.total_seconds(),
                now=clockwork.now,
                steady=clockwork.steady,
                log=log,
            )
            for company, delivery in inbound.items()
            if settings.companies[company].answers == "move"
        ]
        self.poller = InboxPoller(
            InboundContext(
                account=account.name,
                access_point=self.access_point,
                breaker=self.breaker,
                journal=journal,
                rules=settings.inbound,
                now=clockwork.now,
                log=log,
                fetchers=self.fetchers,
                record=common.recorder.put,
                pages=common.pages,
                config=settings,
            ),
            {
                participant_key(participant): inbound[company.name]
                for company in companies
                for participant in company.participants
            },
            common.unassigned,
            workers=workers,
            loop=self._poll,
        )

    def _pipeline(self, company: config.Company, folder: OutboundFolder, mapping: Rules) -> OutboundPipeline:
        return OutboundPipeline(
            self.context.of_company(company),
            folder,
            identification_of(company, mapping),
            events=self._watcher.watch_of(folder, company.watch),
            workers=self._workers,
        )

    @property
    def folders(self) -> list[OutboundPipeline | InboundDelivery | AnswersByMoving]:
        """What is to be served in its folders."""
        return [*self.pipelines, *self.deliveries, *self.answers]

    def start(self) -> None:
        """Start the follower and the poller."""
        self._follow.start()
        self._poll.start()

    def ready(self) -> bool:
        """Whether documents may be posted and looked for. First, the journal must know what was sent before."""
        is_running = not self.journal.trouble and not self._stopped.is_set()
        return self.breaker.ready and is_running and self._knows_all_sent()

    def record(self, outcome: Unrecorded) -> None:
        """Have the outcome of a request recorded and returned. Thread-safe."""
        self._recorder.put(outcome)

    def end_step(self, *, has_news: bool) -> None:
        """Go on after a step in a folder: documents may be posted or followed. Thread-safe."""
        if has_news or not self._knows_all:
            self._wake_if_ready()
        if has_news:
            self._follow.wake()

    def tick(self) -> None:
        """Look for work that can be done now. Called each second. Thread-safe."""
        self.senders.tick()
        self.fetchers.tick()
        self._wake_if_ready()
        if self.context.window.room < self.context.window.size:  # no step has news for it meanwhile
            self._follow.wake()

    def _wake_if_ready(self) -> None:
        """Wake pipelines and follower that could not go on when they asked, if they can now."""
        if self._knows_all_sent():
            self._knows_all = True  # also if a folder that hangs now, and so isn't waited for, answers later
        if self.ready():
            if any(pipeline.is_hindered for pipeline in self.pipelines):
                self._workers.wake()
            if self.follower.is_hindered:
                self._follow.wake()

    def follow(self) -> float:
        """Follow documents as far as that is due. Returns the seconds until it is due again."""
        wait = self.follower.turn()
        self._wake_if_ready()
        return wait

    def poll(self) -> float:
        """Poll the inbox if that is due. Returns the seconds until it is due again."""
        if self.poller.is_to_poll_again and self.poller.is_idle:
            self._next_poll = -math.inf
        if self._steady() < self._next_poll:
            return self._next_poll - self._steady() if self.poller.is_idle else WHILE_BUSY
        if not self.breaker.allows():
            return max(self.breaker.rest(), 0.1)
        self._wake_if_ready()
        try:
            self.poller.poll()
        except AccessPointError as error:
            self.follower.failed(error, "poll.failed")
        self._next_poll = self._steady() + self._poll_every
        return WHILE_BUSY

    def report(self) -> AccountReport:
        """What is known of the account and its folders now. Thread-safe."""
        # What is wrong with a delivery counts for more.
        outbound, inbound = self._workers.reports(self.pipelines), self._workers.reports(self.answers)
        inbound += self._workers.reports(self.deliveries)
        cut_short = self.access_point.cut_short.copy()
        return AccountReport(self.name, self.breaker.report, self.poller.summary, cut_short, outbound, inbound)

    def is_healthy(self) -> bool:
        """Whether both loops are alive, or were stopped."""
        return self._stopped.is_set() or (self._follow.is_alive() and self._poll.is_alive())

    @property
    def is_stopped(self) -> bool:
        """Whether it is being given up: it begins nothing any more."""
        return self._stopped.is_set()

    def stop(self) -> None:
        """Begin no more requests, for good; those on the wire go on."""
        self._stopped.set()
        for pool in (self.senders, self.fetchers):
            pool.close(0.0)
        self._follow.wake()
        self._poll.wake()

    def is_quiet(self) -> bool:
        """Whether, after a stop, no request is under way any more."""
        is_over = self.senders.has_ended() and self.fetchers.has_ended()
        return is_over and not self._follow.is_alive() and not self._poll.is_alive()

    def has_all_back(self) -> bool:
        """Whether, after a stop, each document and message is back in its folder, and no thread is in a folder."""
        return (
            self.is_quiet()
            and not any(map(self._workers.is_in, self.folders))  # a step from before the stop may still begin requests
            and all(pipeline.has_all_back() for pipeline in self.pipelines)
            and self.poller.has_all_back()
        )

    def close(self) -> None:
        """Close the connections, after a stop."""
        self.access_point.close()

    def is_done(self) -> bool:
        """Whether all that can be done now is done (`run --once`).

        Files that wait for their writers and documents in doubt are not done. Documents count as done that are held or
        incomplete, or that wait for the access point, for the journal, or for a table that doesn't answer.
        """
        if not (self.senders.is_idle() and self.fetchers.is_idle()):
            return False
        if self.journal.trouble:
            return True
        if self.breaker.report.condition == "unknown":
            return False
        if not self.breaker.ready:
            return not any(map(self._workers.is_serving, self.pipelines)) and all(
                self._workers.is_hung(pipeline) or pipeline.has_claimed() for pipeline in self.pipelines
            )
        is_polled = self.poller.is_idle and not self.poller.is_to_poll_again and self._next_poll > self._steady()
        if not is_polled:  # with or without success: an inbox may be refused alone
            return False
        # The follower between two looks at the folders: a doubt that it has just ended may be a document to be sent.
        return self._are_folders_done() and self.follower.is_done() and self._are_folders_done()

    def _are_folders_done(self) -> bool:
        """Whether all that can be done in the folders is done; amid a step, nobody can tell."""
        return all(
            self._workers.is_hung(pipeline) or (pipeline.is_done() and not self._workers.is_serving(pipeline))
            for pipeline in self.pipelines
        )

    def _knows_all_sent(self) -> bool:
        """Whether the journal knows all that was sent from the folders, but for those that are unavailable."""
        is_hung = self._workers.is_hung
        return self._knows_all or all(pipeline.is_accounted_for or is_hung(pipeline) for pipeline in self.pipelines)
