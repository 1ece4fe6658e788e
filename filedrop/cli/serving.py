"""The daemon as a process: what tells of it beside it, the main loop, and a changed configuration taken up.

A reload that changes only accounts and their companies gives up these accounts, and takes them as they are now; the
others go on untouched. Any other reload is a start: what is on the wire ends, and a daemon by the new configuration
goes on with the same journal. Nothing is dropped: what is asked for meanwhile waits in its folder. Where the new
configuration can't be used, the daemon that is there goes on.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from filedrop.cli.opening import database, host_name, shared
from filedrop.config.codelists import FORMER_COUNTS, OWN_COUNTS
from filedrop.daemon.change import Change, change_to, check_changed_files, hung_folder
from filedrop.daemon.daemon import TICK_EVERY, Configured, Daemon
from filedrop.daemon.evidence import Evidence, Facts
from filedrop.daemon.hosting import Hosting
from filedrop.errors import ConfigError, FiledropError
from filedrop.model.hosts import CHORES, lease_of
from filedrop.process import logs
from filedrop.process.heap import Heap
from filedrop.process.lock import boot_id, locked_state, state_id
from filedrop.process.share import Share
from filedrop.process.systemd import notify, watchdog_interval
from filedrop.times import now

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, MutableMapping

    import structlog

    from filedrop.alerts.teller import Teller
    from filedrop.config import Config
    from filedrop.daemon.account import Account
    from filedrop.journal import Journal
    from filedrop.model.report import DaemonReport
    from filedrop.process.control import Control
    from filedrop.status.status_file import StatusFile

    Hear = Callable[[MutableMapping[str, Any]], None]

A_GLANCE = 0.05  # seconds between checks whether what is on the wire has ended
ALL = "all"  # accounts
_CORRECT = "correct it, and run: filedrop reload"


def serve(
    config: Config,
    control: Control,
    *,
    reread: Callable[[], Config],
    hear: Hear | None = None,
    is_up: Callable[[], None] | None = None,
) -> None:
    """The daemon, until stopped. Raises FiledropError, which has been logged.

    `reread` returns the configuration as it is written now, or raises FiledropError. `hear` is told every event of the
    log; `is_up` is called when all works, and every few seconds from then on.
    """
    heap = Heap()
    log = logs.open_log(config.log, hear)
    _begin_log(log, config)
    try:
        with locked_state(config.state, database(config), is_checked=False) as journal:
            share = share_of(config, journal, log)
            if not share.enter(control.stopped):
                return
            daemon = Daemon(config, journal, stopped=threading.Event(), log=log, share=share)
            Process(Serving(config, daemon, log), control, heap, reread, hear, is_up).run()
    except FiledropError as error:
        log.error("service.failed", why=str(error))  # noqa: TRY400 - a sentence says it
        raise


def share_of(config: Config, journal: Journal, log: structlog.stdlib.BoundLogger) -> Share:
    """What this host serves: its part among those that share the journal, or all where the journal is in a file."""
    if config.journal is None:
        return Share()
    from filedrop.journal.postgres_hosts import hosts_among  # noqa: PLC0415 - an extra

    name, takeover = host_name(config), config.takeover.total_seconds()
    hosts = hosts_among(shared(journal), name, takeover=takeover, state=state_id(config.state), boot=boot_id())
    return Hosting(hosts, config, log)


def _begin_log(log: structlog.stdlib.BoundLogger, config: Config) -> None:
    logs.log_libraries(log)
    for warning in config.warnings:
        log.warning("configuration.doubtful", why=warning)


@dataclass
class Serving:
    """A daemon by one configuration, and what tells of it, which is loaded when the daemon works already."""

    config: Config
    daemon: Daemon
    log: structlog.stdlib.BoundLogger

    def __post_init__(self) -> None:
        """Serve what the daemon serves."""
        self.share = self.daemon.share

    @cached_property
    def _evidence(self) -> Evidence:
        from filedrop.status.daemon_file import read  # noqa: PLC0415 - after READY

        return Evidence(self.log, self.daemon.now, self.daemon.steady, read(self.config.state).kept)

    @cached_property
    def _teller(self) -> Teller:
        from filedrop.alerts.teller import Teller  # noqa: PLC0415 - after READY

        return Teller(self.config, self.daemon.journal, self.log, share=self.share)

    @cached_property
    def _status_file(self) -> StatusFile:
        from filedrop.status.status_file import StatusFile  # noqa: PLC0415 - the same
        from filedrop.status.together import with_others  # noqa: PLC0415 - the same

        return StatusFile(
            self.config,
            self.daemon.journal,
            self.log,
            alerts=lambda: self._teller.troubles(),  # noqa: PLW0108 - of the teller that is there by then
            tables=lambda: self.daemon.mapping.troubles,
            reported=lambda: self._teller.reported(),  # noqa: PLW0108 - the same
            share=self.share,
            whole=partial(with_others, self.config, self.share),
        )

    def start(self) -> None:
        """Start all threads."""
        self.log.info("service.started", companies=len(self.config.companies), accounts=len(self.config.accounts))
        self.daemon.start()

    def report(self) -> None:
        """Tell how it stands, and tell whom it concerns."""
        guard = self.daemon.guard
        guard.attempt("evidence", lambda: self._evidence.look(self._facts))
        guard.attempt("report", lambda: self._pass_on(self._evidence.added_to(self.daemon.report())))

    def _facts(self) -> Facts:
        teller, status = self._teller, self._status_file
        looks = teller.turns if teller.is_wanted else None
        return Facts(self.daemon, status.files, status.written, looks)

    def _pass_on(self, report: DaemonReport) -> None:
        self.daemon.guard.attempt("status.json", lambda: self._status_file.report(report))
        with_pages = replace(report, troubles={**report.troubles, **self._status_file.troubles()})
        self.daemon.guard.attempt("alerts", lambda: self._teller.report(with_pages))

    def keep_share(self, *, but: Container[str] = ()) -> None:
        """Serve what this host has among several, and give up what it isn't to serve. Called each second.

        `but`: accounts that a reload is changing. An account whose giving up has begun is given up to the end, even if
        this host is to serve it again: then it is taken anew.
        """
        daemon, share, mine = self.daemon, self.share, self.share.mine
        self._offer_spare(but)
        for account in daemon.accounts:
            if account.name not in but and (account.is_stopped or not share.serves(account.name)):
                daemon.give_up(account)
        served = {account.name for account in daemon.accounts}
        for name in self.config.accounts:
            if share.serves(name) and name not in served and name not in but:
                daemon.serve(daemon.build(self.config, name))
        wanted = {name for name in self.config.accounts if name in but or share.serves(name)}
        left = {lease_of(name) for name in wanted.union(account.name for account in daemon.accounts)}
        for lease in mine - left - {CHORES}:
            share.give_back(lease)
        self._share_chores()

    def _offer_spare(self, but: Container[str]) -> None:
        """Offer the others one of the accounts that this host is to give up; none of which a folder hangs."""
        spare = [account for account in self.daemon.accounts if lease_of(account.name) in self.share.spare]
        for account in reversed(spare):
            if account.name not in but and not hung_folder([account], self.daemon):
                self.share.offer(lease_of(account.name))
                return

    def _share_chores(self) -> None:
        """Give up the chores where this host is drained, or another one is to tell."""
        if CHORES in self.share.mine and (self.share.is_draining or self._teller.is_closed):
            self._teller.close()
            if self._teller.has_ended():  # else it would send again, and remember, what is another host's by then
                del self._teller  # a new one is made
                self.share.give_back(CHORES)

    def close(self) -> None:
        """Stop."""
        self.daemon.close()
        self._teller.close()
        self._status_file.close(replace(self.daemon.report(), kept=self._evidence.kept))
        self.share.close(is_clean=not self.daemon.workers.is_alive())
        self.log.info("service.stopped")

    def follow(self, former: Serving) -> None:
        """Take over from a former one: its commands run on.

        Tell only when its telling has ended: a server or a share may hold it up.
        """
        if self.daemon is not former.daemon:
            self.daemon.follow(former.daemon)
        self._evidence = former._evidence
        former._teller.close()
        self._teller.follow(former._teller)
        self._status_file.follow(former._status_file)

    def stop_but_commands(self) -> None:
        """Leave folders, journal and commands to another daemon, when all requests have ended. Raises FiledropError."""
        self.daemon.stop_but_commands()
        self._status_file.wait()
        if self.daemon.workers.is_alive():
            self.daemon.end_commands()
            raise FiledropError(
                "a folder doesn't answer while filedrop changes its configuration, so filedrop stops. A service starts "
                "it again; if you started it by hand, start it again"
            )


@dataclass
class Process:
    """The main loop; the rest is as `serve` has it. `interval`: seconds between signs of life that systemd expects."""

    current: Serving
    control: Control
    heap: Heap
    reread: Callable[[], Config]
    hear: Hear | None
    is_up: Callable[[], None] | None
    interval: float | None = field(default_factory=watchdog_interval)
    _looked: float = field(default=0.0, init=False)  # time.monotonic

    def run(self) -> None:
        """Look round each second until stopped, and reload when asked. Raises FiledropError."""
        self.current.start()
        notify("READY=1")
        self._show_life()
        self.current.report()
        while not self.control.stopped.wait(min(TICK_EVERY, self.interval or TICK_EVERY)):
            self._tick()
            if self.control.pop_reload():
                self._reload()
        notify("STOPPING=1")
        self.current.close()

    def _tick(self, changing: Container[str] = ()) -> None:
        self._looked, guard = time.monotonic(), self.current.daemon.guard
        self.current.daemon.tick()
        guard.attempt("share", partial(self.current.keep_share, but=changing))
        guard.attempt("signs of life", self._show_life)
        self.current.report()
        guard.attempt("memory", self.heap.trim)

    def _show_life(self) -> None:
        if self.interval and self.current.daemon.is_healthy() and self.current.share.is_alive():
            notify("WATCHDOG=1")
        if self.is_up:
            self.is_up()

    def _reload(self) -> None:
        current, read = self.current, now().isoformat()
        found: list[Serving | Change | FiledropError] = []
        current.daemon.guard.attempt("reload", lambda: found.append(self._looked_for()))
        following = found[0] if found else FiledropError("an unexpected error, which is in the log; report it")
        if isinstance(following, FiledropError):
            wrong = "; ".join([*following.complaints, _CORRECT]) if isinstance(following, ConfigError) else following
            why = f"the old configuration stays in use, because the changed one can't be used: {wrong}"
            current.daemon.configured = Configured(read, why)
            current.log.error("configuration.refused", why=why)
            return
        if following is current:
            current.daemon.configured = Configured(read)
            current.log.info("configuration.unchanged")
            return
        if isinstance(following, Change):
            self._change(following, read)
        else:
            self._replace(following)

    def _change(self, change: Change, read: str) -> None:
        """Give up the accounts that are changed, and take them as they are now; the others go on."""
        current, daemon, left = self.current, self.current.daemon, change.given_up
        changing = {account.name for account in (*change.given_up, *change.taken)}
        current.log.info("configuration.changed", accounts=str(change))
        while left := tuple(account for account in left if not daemon.give_up(account)):
            if self.control.stopped.wait(A_GLANCE):
                return
            if time.monotonic() - self._looked >= min(TICK_EVERY, self.interval or TICK_EVERY):
                self._say_if_hung(left, read)
                self._tick(changing)
        daemon.use(change.config)
        for account in change.taken:
            if daemon.serves(account.name):  # still: else this host was drained meanwhile
                daemon.serve(account)
        daemon.configured = Configured(read)
        self._follow(Serving(change.config, daemon, current.log))
        self.current.report()

    def _say_if_hung(self, left: Iterable[Account], read: str) -> None:
        """Say that an account which is to be given up waits for a folder."""
        daemon = self.current.daemon
        why = ""
        if hung := hung_folder(left, daemon):
            why = (
                f"the changed configuration is not in use yet: {hung} doesn't answer. The account of this folder sends "
                "and receives nothing until the folder answers. Then filedrop uses the changed configuration. Or "
                "restart filedrop now"
            )
            if why != daemon.configured.why:
                self.current.log.warning("configuration.delayed", why=why)
        if why or daemon.configured.why:
            daemon.configured = Configured(read, why)

    def _replace(self, following: Serving) -> None:
        """Have a new daemon go on. Raises FiledropError."""
        current = self.current
        current.log.info("configuration.changed", accounts=ALL)
        current.daemon.begin_stop()
        while not current.daemon.is_quiet():
            if self.control.stopped.wait(A_GLANCE):
                return
            current.daemon.workers.relieve()  # a round would begin new work
            if self.interval:
                notify("WATCHDOG=1")  # its loops are to end, so none is asked whether it is alive
            current.report()
        current.stop_but_commands()
        self._follow(following)
        following.start()
        following.report()

    def _follow(self, following: Serving) -> None:
        following.share.configure(following.config)
        following.follow(self.current)
        self.current = following
        _begin_log(following.log, following.config)

    def _looked_for(self) -> Serving | Change | FiledropError:
        try:
            return self._following()
        except FiledropError as error:
            return error

    def _following(self) -> Serving | Change:
        """What serves by the configuration as written now; `current` where nothing is new. Raises FiledropError."""
        current, daemon = self.current.config, self.current.daemon
        config = _with_former_list(self.reread(), current)
        if config == current:
            return self.current
        if config.state != current.state:
            why = f"state: {config.state} is another folder; stop filedrop, move {current.state} there, and start again"
            raise ConfigError([why])
        for name in ("journal", "host", "takeover"):
            if getattr(config, name) != getattr(current, name):
                why = f"{name}: it can't be changed while filedrop runs; stop filedrop, and start it again"
                raise ConfigError([why])
        if complaints := list(_moved_too_early(config, daemon)):
            raise ConfigError(complaints)
        if daemon.journal.trouble:
            raise FiledropError(f"the journal can't be written now, so reload again later: {daemon.journal.trouble}")
        change = change_to(config, daemon)
        hung = daemon.workers.hung() if change is None else hung_folder(change.given_up, daemon)
        if hung:
            raise FiledropError(f"{hung} doesn't answer; reload again when it does, or restart filedrop now")
        if change:
            check_changed_files(change.taken, config, current)
            return change
        log = logs.open_log(config.log, self.hear)
        following = Daemon(
            config, daemon.journal, stopped=threading.Event(), log=log, share=daemon.share, former=daemon.mapping
        )
        check_changed_files(following.accounts, config, current)
        return Serving(config, following, log)


def _with_former_list(config: Config, former: Config) -> Config:
    """A configuration whose code list can't be used, with the list of the former one, if that has one: it is newer."""
    if not config.list_trouble or former.published_lists is None:
        return config
    trouble = config.list_trouble.removesuffix(OWN_COUNTS) + FORMER_COUNTS
    warnings = tuple(trouble if warning == config.list_trouble else warning for warning in config.warnings)
    lists = former.published_lists
    return config.model_copy(update={"published_lists": lists, "list_trouble": trouble, "warnings": warnings})


def _moved_too_early(config: Config, daemon: Daemon) -> Iterator[str]:
    """A complaint for each company that another host still serves for its former account: two would serve it."""
    for name, company in config.companies.items():
        before = daemon.config.companies.get(name)
        if before is None or before.account == company.account:
            continue
        host = daemon.share.host_that_keeps(name, before.account, company.account)
        if host:
            why = f"host {host} still serves it for account {before.account}: run first there, and then here"
            yield f"companies.{name}.account: {why}: filedrop reload"
        elif host is not None:
            yield f"companies.{name}.account: no host serves account {before.account} now: reload when one does"
