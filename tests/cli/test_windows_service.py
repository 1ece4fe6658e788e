"""filedrop as a service of Windows, from `install` to `remove`; the account that runs this may change services.

Wine can't tell of recovery, delayed start, rights and the event log: here it is tried what Windows is told of these.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import sysconfig
import threading
import time
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from support.documents import SELLER, invoice
from support.faults import Exchange, answered
from support.systems import WINE

from filedrop.errors import FiledropError

if sys.platform != "win32":
    pytest.skip("it is Windows' service", allow_module_level=True)

import winreg

import win32api
import win32con
import win32evtlog
import win32evtlogutil
import win32service

from filedrop.cli.run import FAILURES, SENTENCES
from filedrop.cli.service import eventlog, hosted, manager, windows
from filedrop.cli.service.eventlog import Number
from filedrop.daemon.daemon import A_MOMENT, LAST_WORDS
from filedrop.process.control import Control

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cli.conftest import Done, Filedrop
    from support.world import World

INSTANCE = f"test.{os.getpid()}"
NAME = f"filedrop-{INSTANCE}"


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    return make_world(read_timeout="30s")


@pytest.fixture
def ask(filedrop: Filedrop) -> Iterator[Callable[[str], Done]]:
    """`filedrop service`, for a service of our own, which is gone in the end."""
    # A service knows neither the tests' folder nor their PYTHONPATH.
    hint = Path(sysconfig.get_path("purelib"), f"{NAME}.pth")
    hint.write_text(f"{Path(__file__).parents[2]}\n")
    yield lambda verb: filedrop("service", verb, INSTANCE)
    with suppress(FiledropError):
        manager.stop(NAME)
        manager.delete(NAME)
    hint.unlink()


def state() -> str:
    found = manager.read(NAME)
    return found.state if found else "not installed"


def process_id() -> int:
    with manager._opened(NAME, win32service.SERVICE_QUERY_STATUS) as service:
        number: int = win32service.QueryServiceStatusEx(service)["ProcessId"]
        return number


def test_a_service(world: World, filedrop: Filedrop, ask: Callable[[str], Done]) -> None:
    """It is up when `start` says so, a stop loses nothing, and a configuration to be mended is its end."""
    config = world.base / "config.yaml"
    config.write_text(f"{config.read_text()}log: {{file: '{world.base / 'filedrop.log'}'}}\n")
    done = ask("install")
    assert done.returncode == 0, done.stderr
    registered = manager.read(NAME)
    assert registered
    assert (registered.start, registered.state, registered.exit_status) == ("automatic", "stopped", None)
    assert registered.command.endswith(f"-m filedrop --config {config} service run")
    assert ask("status").returncode == 1
    looked = filedrop("check", "--as-service")
    assert (looked.returncode, looked.stderr) == (0, "")
    assert f"{world.outbound}: this filedrop serves it and can write to it" in looked.stdout
    assert "filedrop isn't running" in looked.stdout
    assert state() == "stopped"

    assert f"Start it: filedrop service start {INSTANCE}\n" in filedrop("status").stdout
    done = ask("start")
    assert done.stdout == f"Started {NAME}.\n", done.stderr
    assert ask("status").returncode == 0
    assert "filedrop is running" in filedrop("check", "--as-service").stdout
    world.drop("first.xml", invoice("1"))
    world.receive(invoice("2", receiver=SELLER))
    world.until(world.settled, what="one sent, one received")

    def held(exchange: Exchange) -> None:
        on_the_wire.set()
        stopping.wait(30)
        answered(exchange)

    on_the_wire, stopping = threading.Event(), threading.Event()
    world.front.next("POST /outbox", held)
    world.drop("last.xml", invoice("3"))
    assert on_the_wire.wait(30)
    command = [sys.executable, "-m", "filedrop", "--config", str(config), "service", "stop", INSTANCE]
    with subprocess.Popen(command, cwd=Path(__file__).parents[2]) as stop:
        world.until(lambda: state() == "stopping", what="it is told to stop")
        stopping.set()
        assert stop.wait(60) == 0
    ended = manager.read(NAME)
    assert ended
    assert (ended.state, ended.exit_status) == ("stopped", 0)
    assert world.places()["last.xml"] in ("sent", "archive")
    world.invariants()

    config.write_text("accounts: {}\n")
    done = ask("start")
    assert (done.returncode, "config.yaml" in done.stderr) == (2, True)
    ended = manager.read(NAME)
    assert ended
    assert (ended.state, ended.exit_status) == ("stopped", 2)

    assert ask("remove").returncode == 0
    assert manager.read(NAME) is None
    assert "nothing to do" in ask("remove").stdout


def test_a_reload(world: World, filedrop: Filedrop, ask: Callable[[str], Done]) -> None:
    """A changed configuration is taken up by the service that runs, which another start doesn't claim to do."""
    config = world.base / "config.yaml"
    assert ask("install").returncode == 0
    done = ask("start")
    assert done.stdout == f"Started {NAME}.\n", done.stderr
    assert ask("start").stdout == f"{NAME} is already running.\n"
    folder = world.root / "newcomer" / "outbound"
    folder.mkdir(parents=True)
    config.write_text(config.read_text().replace("companies:", "companies:\n  newcomer: {participants: []}"))
    done = filedrop("reload")
    assert (done.returncode, done.stderr) == (0, "")
    world.until((folder / ".filedrop").exists, what="the new company is taken up")


def test_a_hard_end(world: World, ask: Callable[[str], Done]) -> None:
    """Killed while it sends, and started again, it loses nothing and sends nothing twice."""
    assert ask("install").returncode == 0
    assert ask("start").returncode == 0
    for number in range(10, 40):
        world.drop(f"{number}.xml", invoice(str(number)))
    world.until(lambda: len(world.accepted()) > 3, what="some of thirty are accepted")
    os.kill(process_id(), signal.SIGTERM)  # a hard end, on Windows
    assert ask("start").returncode == 0  # which Windows does by itself
    world.until(world.settled, what="all thirty are sent")
    world.invariants()


def test_a_stop_while_it_stops(world: World, ask: Callable[[str], Done], monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever stops what is being stopped waits for its end, as an upgrade does after a click in Services."""

    def held(exchange: Exchange) -> None:
        on_the_wire.set()
        stopping.wait(30)
        answered(exchange)

    def waiting(seconds: float) -> None:
        stopping.set()
        time.sleep(seconds)

    on_the_wire, stopping = threading.Event(), threading.Event()
    assert ask("install").returncode == 0
    assert ask("start").returncode == 0
    world.front.next("POST /outbox", held)
    world.drop("held.xml", invoice("3"))
    assert on_the_wire.wait(30)
    with manager._opened(NAME, win32service.SERVICE_STOP) as service:
        win32service.ControlService(service, win32service.SERVICE_CONTROL_STOP)
    assert state() == "stopping"
    monkeypatch.setattr(manager, "time", SimpleNamespace(monotonic=time.monotonic, sleep=waiting))
    assert manager.stop(NAME).state == "stopped"
    assert stopping.is_set()


def test_a_check_without_an_answer(world: World, filedrop: Filedrop, ask: Callable[[str], Done]) -> None:
    """A service that can't write to its state is told of, and isn't taken for one that has crashed and must run."""
    assert ask("install").returncode == 0
    world.state.rmdir()
    world.state.write_text("in the way")
    looked = filedrop("check", "--as-service")
    assert (looked.returncode, "doesn't answer" in looked.stderr) == (1, True)
    found = manager.read(NAME)
    assert found
    assert (found.state, found.exit_status) == ("stopped", 1)


def test_what_windows_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The service starts late, is started again when it fails, has an identity of its own and time at a shutdown."""
    told: dict[int, Any] = {}
    monkeypatch.setattr(win32service, "ChangeServiceConfig2", lambda _, level, value: told.update({level: value}))
    try:
        assert manager.register(NAME, "filedrop.exe", None, None) == []
        registered = manager.read(NAME)
    finally:
        manager.delete(NAME)
    assert registered
    assert registered.account == rf"NT SERVICE\{NAME}"
    assert told[win32service.SERVICE_CONFIG_DELAYED_AUTO_START_INFO] is True
    assert told[win32service.SERVICE_CONFIG_SERVICE_SID_INFO] == win32service.SERVICE_SID_TYPE_UNRESTRICTED
    assert told[win32service.SERVICE_CONFIG_PRESHUTDOWN_INFO] / 1000 > LAST_WORDS + A_MOMENT
    actions = told[win32service.SERVICE_CONFIG_FAILURE_ACTIONS]["Actions"]
    assert {what for what, _ in actions} == {win32service.SC_ACTION_RESTART}
    # Without it, an end with an exit status, as of a configuration that must be mended first, is no failure.
    assert win32service.SERVICE_CONFIG_FAILURE_ACTIONS_FLAG not in told


def test_what_is_refused_is_said() -> None:
    """A service that isn't there can't be started, and the sentence says what to do."""
    assert manager.read(NAME) is None
    with pytest.raises(FiledropError, match=f"{NAME} isn't installed: run filedrop service install"):
        manager.start(NAME)


def test_a_program_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An administrator who installs the service from a share runs none of the programs that lie there."""
    (tmp_path / "icacls.exe").write_text("a stranger's")
    monkeypatch.chdir(tmp_path)
    windows._icacls([str(tmp_path)])
    assert capsys.readouterr().out == f"Rights set on {tmp_path}.\n"


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int, int, str]]:
    """What Windows is given for the event log: source, number, kind, sentence."""
    events: list[tuple[str, int, int, str]] = []

    def take(source: str, number: int, *, eventType: int, strings: list[str]) -> None:  # noqa: N803 - pywin32's name
        events.append((source, number, eventType, *strings))

    monkeypatch.setattr(win32evtlogutil, "ReportEvent", take)
    return events


def test_a_configuration_to_be_mended(tmp_path: Path, told: list[tuple[str, int, int, str]]) -> None:
    """Every mistake, with its line, is one error in the event log, and the exit status is 2."""
    path = tmp_path / "config.yaml"
    path.write_text("rot: here\naccounts: {}\n")
    control = Control()
    assert hosted.work(NAME, path, control, lambda _: None, control.stopped.set) == 2
    ((source, number, kind, sentence),) = told
    assert (source, number, kind) == (NAME, 3, win32evtlog.EVENTLOG_ERROR_TYPE)
    assert f"{path}:1: rot: unknown key" in sentence
    assert len(sentence.splitlines()) > 1


def test_what_a_restart_may_mend(world: World, told: list[tuple[str, int, int, str]]) -> None:
    """A state that can't be used is told, and is exit status 1; a stop is told, too, and is 0."""
    path, control = world.config_file(), Control()
    world.state.write_text("in the way")
    assert hosted.work(NAME, path, control, lambda _: None, control.stopped.set) == 1
    assert told[0][1:3] == (4, win32evtlog.EVENTLOG_ERROR_TYPE)
    assert str(world.state) in told[0][3]
    world.state.unlink()
    assert hosted.work(NAME, path, control, lambda _: None, control.stopped.set) == 0
    assert told[1:] == [(NAME, 2, win32evtlog.EVENTLOG_INFORMATION_TYPE, f"{NAME} has stopped.")]


def test_alarms() -> None:
    """What a person has to look at is an alarm, in the words of `run --once`; what goes well is none."""
    event = {"event": "document.failed", "company": "acme", "file": "1.xml", "why": "no receiver"}
    assert hosted.alarm(event) == "acme: 1.xml: failed: no receiver"
    assert hosted.alarm({**event, "event": "sent", "msg_no": 7}) == ""
    unforeseen = {"event": "work.failed", "what": "filedrop", "exc_info": ValueError("odd")}
    assert hosted.alarm(unforeseen) == "filedrop: ValueError('odd')"
    assert SENTENCES.keys() >= hosted.ALARMS >= FAILURES


def test_the_table_of_messages() -> None:
    """What the source names as its table of messages is none of our files, which the event log would keep open."""
    eventlog.add_source(NAME)
    try:
        key = rf"SYSTEM\CurrentControlSet\Services\EventLog\Application\{NAME}"
        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, key) as source:
            table, kind = winreg.QueryValueEx(source, "EventMessageFile")
    finally:
        eventlog.remove_source(NAME)
    assert kind == winreg.REG_EXPAND_SZ
    path = Path(winreg.ExpandEnvironmentStrings(table))
    assert path.parent == Path(win32api.GetSystemDirectory())
    if WINE:  # which has no such program
        return
    library = win32api.LoadLibraryEx(str(path), 0, win32con.LOAD_LIBRARY_AS_DATAFILE)
    how = win32con.FORMAT_MESSAGE_FROM_HMODULE | win32con.FORMAT_MESSAGE_ARGUMENT_ARRAY
    for number in Number:
        assert win32api.FormatMessageW(how, library, number.value, 0, ["acme: 100%1"]).strip() == "acme: 100%1"


def test_there_is_time_to_stop() -> None:
    """Windows is told of more time than filedrop takes for what is on the wire, and for its journal."""
    assert LAST_WORDS + A_MOMENT < manager.STOPPING
