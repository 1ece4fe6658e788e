"""filedrop as Windows' service manager sees it: started, asked and stopped by it, in this process.

It is told "running" when filedrop is up, and an exit status at the end. Where that is 2 (the configuration must be
corrected first), it is told of the end and leaves it at that. After any other failure the process ends without a word:
the manager takes that alone for a crash, and starts it again.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
from functools import partial
from typing import TYPE_CHECKING, Any

import pywintypes
import servicemanager
import win32service
import winerror

from filedrop import config as configuration
from filedrop.cli import FAILED, MISUSED, exit_status
from filedrop.cli.service.eventlog import Number, report
from filedrop.cli.service.inside import answer
from filedrop.cli.service.manager import CHECK, CHECKING, STARTING, STOPPING
from filedrop.errors import FiledropError
from filedrop.process.control import Control

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, MutableMapping, Sequence
    from pathlib import Path

STOPS = frozenset({win32service.SERVICE_CONTROL_STOP, win32service.SERVICE_CONTROL_PRESHUTDOWN})
WAITS = {win32service.SERVICE_START_PENDING: STARTING, win32service.SERVICE_STOP_PENDING: STOPPING}
ACCEPTED = (
    win32service.SERVICE_ACCEPT_STOP | win32service.SERVICE_ACCEPT_PRESHUTDOWN | win32service.SERVICE_ACCEPT_PARAMCHANGE
)
ALARMS = frozenset(  # what a person has to look at
    {"account.changed", "account.paused", "command.failed", "configuration.delayed", "configuration.refused",
     "document.failed", "document.undecided", "folder.refuses", "folder.unavailable", "journal.not_copied",
     "journal.outdated", "message.stuck", "poll.failed", "table.broken", "work.failed"}
)  # fmt: skip


def host(path: Path) -> None:
    """Serve the service manager until it has stopped us. Raises FiledropError where it hasn't started us."""
    servicemanager.PrepareToHostSingle(partial(Hosted, path))
    try:
        servicemanager.StartServiceCtrlDispatcher()
    except pywintypes.error as error:
        if error.winerror != winerror.ERROR_FAILED_SERVICE_CONTROLLER_CONNECT:
            raise
        raise FiledropError(
            "only Windows' service manager can run this command; to start filedrop by hand: filedrop run"
        ) from error


def work(
    name: str,
    path: Path,
    control: Control,
    hear: Callable[[MutableMapping[str, Any]], None],
    is_up: Callable[[], None],
) -> int:
    """Be the daemon until stopped; the exit status for the manager. The event log is told how it ended."""
    # Not before: the manager waits for the dispatcher for 30 seconds, which loading all may take from a cold disk.
    from filedrop.cli.serving import serve  # noqa: PLC0415

    try:
        config = configuration.load(path)
        gc.freeze()
        serve(config, control, reread=partial(configuration.load, path), hear=hear, is_up=is_up)
    except FiledropError as error:
        is_mistake = exit_status(error) == MISUSED
        report(name, Number.MISTAKE if is_mistake else Number.FAILED, str(error))
        return MISUSED if is_mistake else FAILED
    report(name, Number.STOPPED, f"{name} has stopped.")
    return 0


def alarm(event: Mapping[str, Any]) -> str:
    """The sentence of an event of the log that a person has to look at, "" for others."""
    from filedrop.cli.run import sentence_of  # noqa: PLC0415 - it loads what `serve` has loaded

    name, sentence = sentence_of(event)
    return sentence if name in ALARMS else ""


class Hosted:
    """The service, by the names that servicemanager knows; its methods are called in several threads."""

    def __init__(self, path: Path, arguments: Sequence[str]) -> None:
        self._path = path
        self._name, *words = arguments
        self._only_checks = words == [CHECKING]
        self._wanted = Control()
        self._saying = threading.Lock()
        self._state = win32service.SERVICE_START_PENDING
        self._step = 0
        self._handle = servicemanager.RegisterServiceCtrlHandler(self._name, self._control, True)  # noqa: FBT003 - it has no names

    def SvcRun(self) -> None:  # noqa: N802 - servicemanager's name
        """Work until stopped."""
        self._say(win32service.SERVICE_START_PENDING)
        status = FAILED
        try:
            if self._only_checks:
                answer(self._path)
                status = 0
            else:
                status = work(self._name, self._path, self._wanted, self._hear, self._is_up)
        except BaseException as error:
            sys.excepthook(*sys.exc_info())
            report(self._name, Number.FAILED, f"{self._name} has failed: {error!r}")
            raise
        finally:
            if status == MISUSED or (status and self._only_checks):  # no crash, which would start what isn't to run
                self._say(win32service.SERVICE_STOPPED, exit_status=status)
            if status:  # otherwise servicemanager says "stopped" for us, and would do so a second time
                os._exit(status)

    def _is_up(self) -> None:
        if self._state == win32service.SERVICE_START_PENDING and not self._wanted.stopped.is_set():
            self._say(win32service.SERVICE_RUNNING)
            report(self._name, Number.STARTED, f"{self._name} is running, with the configuration {self._path}.")

    def _hear(self, event: Mapping[str, Any]) -> None:
        """An event of the log: an alarm, perhaps; while it starts, a sign of progress."""
        if self._state == win32service.SERVICE_START_PENDING:
            self._say(self._state)
        if sentence := alarm(event):
            report(self._name, Number.ALARM, sentence)

    def _control(self, control: int, _kind: int, _data: object) -> None:
        """What the service manager wants."""
        if control in STOPS:
            self._say(win32service.SERVICE_STOP_PENDING)
            self._wanted.stopped.set()
        elif control == win32service.SERVICE_CONTROL_PARAMCHANGE:
            self._wanted.ask_reload()
        elif control == CHECK:
            threading.Thread(target=answer, args=(self._path,), name="check", daemon=True).start()
        elif control == win32service.SERVICE_CONTROL_INTERROGATE:
            self._say(self._state)

    def _say(self, state: int, *, exit_status: int = 0) -> None:
        """Tell the service manager how it stands."""
        with self._saying:
            if self._state == win32service.SERVICE_STOP_PENDING != state != win32service.SERVICE_STOPPED:
                return  # it was stopped meanwhile
            self._state = state
            is_pending = state in WAITS
            self._step = self._step + 1 if is_pending else 0
            code = winerror.ERROR_SERVICE_SPECIFIC_ERROR if exit_status else 0
            win32service.SetServiceStatus(
                self._handle,
                (
                    win32service.SERVICE_WIN32_OWN_PROCESS,
                    state,
                    0 if state == win32service.SERVICE_START_PENDING else ACCEPTED,
                    code,
                    exit_status,
                    self._step,
                    WAITS.get(state, 0) * 1000,
                ),
            )
