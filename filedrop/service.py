"""Wires the configuration to the accounts; startup, main loop, shutdown.

Every stop sets one event, and every wait waits on it. The order of the end: watcher, loops, crews (each thread ends the
document in its hand; deadlines bound it), journal. A second signal leaves at once, which is safe.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from filedrop.account import Account
from filedrop.clockwork import Clockwork
from filedrop.disk import file_system
from filedrop.errors import ConfigError, FiledropError
from filedrop.folders import InboundFolder
from filedrop.identify.mapping import Rules
from filedrop.journal import Journal
from filedrop.loop import attempt
from filedrop.notify import notify, watchdog_interval
from filedrop.watcher import Watcher

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from types import FrameType

    import structlog

    from filedrop.config import Config

LAST_WORDS = 20.0  # seconds for what is on the wire when a stop comes (contract 5, `run`)
REPORT_EVERY = 2.0  # seconds between two looks at what status.json should say
REAL = Clockwork()  # the computer's own clocks, and threads
JOURNAL = "journal.sqlite"
LOCK = "lock"
A_GLANCE = 1.0  # seconds: the lock may be taken for a moment by somebody who asks `is_running`


class AlreadyRunning(ConfigError):
    """Another daemon works with this state."""


def is_running(state: Path) -> bool | None:
    """Does a filedrop work with this state now? None where the state isn't ours to ask."""
    lock = FileLock(state / LOCK)
    try:
        if not (state / LOCK).exists():
            return False
        lock.acquire(timeout=0)
    except Timeout:
        return True
    except OSError:
        return None
    lock.release()
    return False


@contextmanager
def sole_use(state: Path) -> Iterator[Journal]:
    """The journal of a state folder, for nobody else while this lasts.

    Raises AlreadyRunning; FiledropError where the folder or the journal can't be used.
    """
    try:
        state.mkdir(parents=True, exist_ok=True, mode=0o700)
        with suppress(PermissionError):
            state.chmod(0o700)
            for name in (JOURNAL, LOCK):  # SQLite gives its other files the journal's mode
                (state / name).touch(mode=0o600)
                (state / name).chmod(0o600)
        lies_on = file_system(state)
        if lies_on.network:
            damaged = f"lies on a network file system ({lies_on.kind}), where the journal can be damaged"
            raise ConfigError([f"the state folder {state} {damaged}: set `state` to a folder on a local disk"])
        lock = FileLock(state / LOCK, mode=0o600)
        lock.acquire(timeout=A_GLANCE)
    except Timeout:
        raise AlreadyRunning(
            [f"another filedrop runs with the state {state}: stop that one, or give this one a `state` of its own"]
        ) from None
    except OSError as error:
        raise FiledropError(
            f"the state folder {state} can't be used: {error.strerror or error}; see that it belongs to the service"
        ) from error
    try:
        journal = Journal(state / JOURNAL)
        try:
            journal.see_whole()
            yield journal
        finally:
            journal.close()
    finally:
        lock.release()


class Service:
    """The daemon: every account's two ways over one journal. Setting `stopped` ends it.

    `watch` is False where files are to be found by scanning alone, as for a single run.
    Raises FiledropError when it can't be set up.
    """

    def __init__(
        self,
        config: Config,
        journal: Journal,
        *,
        stopped: threading.Event,
        log: structlog.stdlib.BoundLogger,
        watch: bool = True,
        clockwork: Clockwork = REAL,
    ) -> None:
        self.config = config
        self.journal = journal
        self._stopped = stopped
        self._log = log
        self._watcher = Watcher(log) if watch else None
        unassigned = (
            InboundFolder(config.unassigned, company="unassigned", below=config.root) if config.unassigned else None
        )
        self.mapping = Rules(config.mapping, config.tables, source=config.source)
        self.accounts = [
            Account(
                config,
                account,
                [company for company in config.companies.values() if company.account == account.name],
                journal,
                mapping=self.mapping,
                unassigned=unassigned,
                watcher=self._watcher,
                stopped=stopped,
                clockwork=clockwork,
                log=log,
            )
            for account in config.accounts.values()
        ]

    def run(self, report: Callable[[Service], None]) -> None:
        """Work until stopped; `report` is called at the start, every few seconds, and at the end."""
        self._log.info("service.started", companies=len(self.config.companies), accounts=len(self.accounts))
        self.start()
        attempt(self._log, "report", lambda: report(self))
        notify("READY=1")
        interval = watchdog_interval()
        while not self._stopped.wait(min(REPORT_EVERY, interval or REPORT_EVERY)):
            if interval and self.healthy():
                notify("WATCHDOG=1")
            attempt(self._log, "report", lambda: report(self))
        notify("STOPPING=1")
        self.close()
        attempt(self._log, "report", lambda: report(self))
        self._log.info("service.stopped")

    def run_once(self, progress: Callable[[Service], None]) -> bool:
        """Work until all that is there now is done, or until stopped, which returns False.

        `progress` is called several times a second, and at the end.
        """
        self.start()
        done = False
        while not done and not self._stopped.wait(0.02):
            attempt(self._log, "progress", lambda: progress(self))
            done = all(account.quiet() for account in self.accounts)
        self.close()
        progress(self)
        return done

    def start(self) -> None:
        """Begin to sweep."""
        for account in self.accounts:
            account.start()

    def close(self) -> None:
        """End: what is on the wire gets some seconds, what isn't clear by then is in doubt."""
        self._stopped.set()
        if self._watcher is not None:
            self._watcher.close()
        deadline = time.monotonic() + LAST_WORDS
        for account in self.accounts:
            account.wake()
        for account in self.accounts:
            account.close(deadline)

    def healthy(self) -> bool:
        """Are all loops still taking turns?"""
        return all(account.healthy() for account in self.accounts)


def stop_on_signals(stopped: threading.Event) -> None:
    """Let SIGTERM, SIGINT and Windows' SIGBREAK set the event; the second one leaves at once, which is safe."""

    def stop(number: int, _frame: FrameType | None) -> None:
        if stopped.is_set():
            os._exit(128 + number)
        stopped.set()

    for name in ("SIGTERM", "SIGINT", "SIGBREAK"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), stop)
