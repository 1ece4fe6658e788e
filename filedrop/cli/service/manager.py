"""What is said to Windows' service manager, and what it answers."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pywintypes
import win32security
import win32service
import winerror

from filedrop.errors import FiledropError

if TYPE_CHECKING:
    from collections.abc import Iterator

DESCRIPTION = "Sends and receives invoices and other business documents between folders and a PEPPOL access point."
STARTS = {win32service.SERVICE_AUTO_START: "automatic", win32service.SERVICE_DEMAND_START: "manual",
          win32service.SERVICE_DISABLED: "disabled"}  # fmt: skip
STATES = {win32service.SERVICE_STOPPED: "stopped", win32service.SERVICE_START_PENDING: "starting",
          win32service.SERVICE_STOP_PENDING: "stopping", win32service.SERVICE_RUNNING: "running"}  # fmt: skip
STOPPING = 30  # seconds that a stop may take: daemon.LAST_WORDS and A_MOMENT, and the process' own
STARTING = 90  # seconds: it checks its journal before it works, and that may be large
LEAVING = 10  # seconds for a service that has stopped to be gone
CHECK, CHECKING = 200, "check"  # our own control to a running service, and the word by which it is started for that
REFUSALS = {
    winerror.ERROR_SERVICE_MARKED_FOR_DELETE: "was removed while a program had it open: close the Services window, "
    "and try again",
    winerror.ERROR_SERVICE_DISABLED: "is disabled: run filedrop service install, which enables it",
    winerror.ERROR_SERVICE_REQUEST_TIMEOUT: "did not answer in time: see the event log (Windows Logs, System), and try "
    "again",
    winerror.ERROR_SERVICE_LOGON_FAILED: "can't log on as its account: run filedrop service install with --account "
    "again",
}
SOON, LATER = 5_000, 60_000  # milliseconds
SETTINGS: dict[int, tuple[str, Any]] = {
    win32service.SERVICE_CONFIG_DESCRIPTION: ("its description", DESCRIPTION),
    # Not among the first: shares, network and time are there then.
    win32service.SERVICE_CONFIG_DELAYED_AUTO_START_INFO: ("its delayed start", True),
    # Rights are given to the service, whatever account it runs as.
    win32service.SERVICE_CONFIG_SERVICE_SID_INFO: ("its own identity", win32service.SERVICE_SID_TYPE_UNRESTRICTED),
    # A shutdown otherwise ends services after a few seconds.
    win32service.SERVICE_CONFIG_PRESHUTDOWN_INFO: ("its time limit at a shutdown", STOPPING * 1000),
    # However often it fails: after a night without a disk it is to be there in the morning.
    win32service.SERVICE_CONFIG_FAILURE_ACTIONS: (
        "its restart after a failure",
        {
            "ResetPeriod": 3600,
            "RebootMsg": "",
            "Command": "",
            "Actions": [
                (win32service.SC_ACTION_RESTART, SOON),
                (win32service.SC_ACTION_RESTART, SOON),
                (win32service.SC_ACTION_RESTART, LATER),
            ],
        },
    ),
}


@dataclass(frozen=True, slots=True)
class Registered:
    """A service as the manager knows it; `exit_status` is how it ended, None before its first start."""

    command: str
    account: str
    start: str
    state: str
    exit_status: int | None


def read(name: str) -> Registered | None:
    """The service of this name, None where there is none. Everybody may ask."""
    try:
        with _opened(name, win32service.SERVICE_QUERY_CONFIG | win32service.SERVICE_QUERY_STATUS) as service:
            config = win32service.QueryServiceConfig(service)
            status = win32service.QueryServiceStatusEx(service)
    except NotInstalled:
        return None
    code = status["Win32ExitCode"]
    if code == winerror.ERROR_SERVICE_SPECIFIC_ERROR:
        code = status["ServiceSpecificExitCode"]
    return Registered(
        command=config[3],
        account=config[7],
        start=STARTS.get(config[1], "otherwise"),
        state=STATES.get(status["CurrentState"], "paused"),
        exit_status=None if code == winerror.ERROR_SERVICE_NEVER_STARTED else code,
    )


class NotInstalled(FiledropError):
    """There is no service of this name."""


def register(name: str, command: str, account: str | None, password: str | None) -> list[str]:
    """Register it, or change what is registered; without an account, that of before. Returns what was refused.

    Raises FiledropError.
    """
    kind, start = win32service.SERVICE_WIN32_OWN_PROCESS, win32service.SERVICE_AUTO_START
    severity, no_tag = win32service.SERVICE_ERROR_NORMAL, False
    with _said(name), _connected(win32service.SC_MANAGER_CREATE_SERVICE) as manager:
        if read(name) is None:
            every = win32service.SERVICE_ALL_ACCESS
            who = account or rf"NT SERVICE\{name}"  # an account that Windows makes for it, without a password
            service = win32service.CreateService(
                manager, name, name, every, kind, start, severity, command, None, no_tag, None, who, password
            )
            win32service.CloseServiceHandle(service)
        with _opened(name, win32service.SERVICE_CHANGE_CONFIG | win32service.SERVICE_START) as service:
            win32service.ChangeServiceConfig(
                service, kind, start, severity, command, None, no_tag, None, account, password, name
            )
            return [what for level, (what, value) in SETTINGS.items() if not _is_set(service, level, value)]


def _is_set(service: Any, level: int, value: Any) -> bool:
    try:
        win32service.ChangeServiceConfig2(service, level, value)
    except (pywintypes.error, NotImplementedError):
        return False
    return True


def let_log_on(account: str) -> None:
    """Give an account the right to log on as a service, as the Services window does. Raises FiledropError."""
    with _said(account):
        sid = win32security.LookupAccountName("", account.removeprefix(".\\"))[0]
        policy = win32security.LsaOpenPolicy("", win32security.POLICY_ALL_ACCESS)
        try:
            win32security.LsaAddAccountRights(policy, sid, ["SeServiceLogonRight"])
        finally:
            win32security.LsaClose(policy)


def delete(name: str) -> None:
    """Take it off the list, and wait until it is. Raises FiledropError."""
    with _said(name), _opened(name, win32service.SERVICE_ALL_ACCESS) as service:
        win32service.DeleteService(service)
    until = time.monotonic() + LEAVING
    while read(name):
        if time.monotonic() > until:
            raise FiledropError(f"{name} is still open in another program: close the Services window, and try again")
        time.sleep(0.1)


def names() -> list[str]:
    """The services that may be filedrop's."""
    with _said("filedrop"), _connected(win32service.SC_MANAGER_ENUMERATE_SERVICE) as manager:
        found = win32service.EnumServicesStatus(manager, win32service.SERVICE_WIN32, win32service.SERVICE_STATE_ALL)
    return [name for name, *_ in found if name == "filedrop" or name.startswith("filedrop-")]


def have_check(name: str) -> None:
    """Have it run `filedrop check`, whether it runs or not. Raises FiledropError."""
    rights = win32service.SERVICE_START | win32service.SERVICE_USER_DEFINED_CONTROL
    with _said(name), _opened(name, rights) as service:
        try:
            win32service.ControlService(service, CHECK)
        except pywintypes.error as error:
            if error.winerror != winerror.ERROR_SERVICE_NOT_ACTIVE:
                raise
            win32service.StartService(service, [CHECKING])


def have_reload(name: str) -> None:
    """Have it take up a changed configuration. Raises FiledropError."""
    try:
        with _said(name), _opened(name, win32service.SERVICE_PAUSE_CONTINUE) as service:
            win32service.ControlService(service, win32service.SERVICE_CONTROL_PARAMCHANGE)
    except AsWanted:
        raise FiledropError(f"{name} isn't running: it reads the configuration when it starts") from None


def start(name: str) -> Registered:
    """Start it, and wait until it is up or has ended. Raises AsWanted where it was up before, FiledropError."""
    try:
        with _said(name), _opened(name, win32service.SERVICE_START) as service:
            win32service.StartService(service, None)
    except AsWanted:
        if _wait(name, STARTING, "starting").state == "running":
            raise
    return _wait(name, STARTING, "starting")


def stop(name: str) -> Registered:
    """Stop it, and wait for that. Raises FiledropError."""
    try:
        with _said(name), _opened(name, win32service.SERVICE_STOP) as service:
            if _wait(name, STARTING, "starting").state == "running":  # before, it takes no stop; nor a second one
                win32service.ControlService(service, win32service.SERVICE_CONTROL_STOP)
    except AsWanted:
        pass
    return _wait(name, STOPPING, "running", "stopping")


def _wait(name: str, seconds: float, *states: str) -> Registered:
    until = time.monotonic() + seconds
    while (found := read(name)) and found.state in states:
        if time.monotonic() > until:
            raise FiledropError(f"{name} is still {found.state} after {seconds} seconds: see the event log")
        time.sleep(0.1)
    if found is None:
        raise NotInstalled(f"{name} isn't installed any more")
    return found


class AsWanted(FiledropError):
    """It runs, or has stopped, already."""


@contextmanager
def _said(about: str) -> Iterator[None]:
    """What the system refuses, as a sentence."""
    try:
        yield
    except pywintypes.error as error:
        if error.winerror in (winerror.ERROR_SERVICE_ALREADY_RUNNING, winerror.ERROR_SERVICE_NOT_ACTIVE):
            raise AsWanted(f"{about} is already running, or has already stopped") from error
        if refusal := REFUSALS.get(error.winerror):
            raise FiledropError(f"{about} {refusal}") from error
        raise FiledropError(f"{about}: Windows refused the request: {error.strerror} ({error.winerror})") from error


@contextmanager
def _connected(access: int) -> Iterator[Any]:
    manager = win32service.OpenSCManager(None, None, access)
    try:
        yield manager
    finally:
        win32service.CloseServiceHandle(manager)


@contextmanager
def _opened(name: str, access: int) -> Iterator[Any]:
    with _connected(win32service.SC_MANAGER_CONNECT) as manager:
        try:
            service = win32service.OpenService(manager, name, access)
        except pywintypes.error as error:
            if error.winerror == winerror.ERROR_SERVICE_DOES_NOT_EXIST:
                raise NotInstalled(f"{name} isn't installed: run filedrop service install") from error
            raise
        try:
            yield service
        finally:
            win32service.CloseServiceHandle(service)
