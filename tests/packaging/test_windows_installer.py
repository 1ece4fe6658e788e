"""The Windows installer, built here and run under Wine: from an empty computer to documents sent, upgraded, removed.

The access point and the hands that drop files are on this side, filedrop and its service on the other. Wine starts no
service again by itself: what Windows does after a crash is done by hand here.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from filelock import FileLock
from support.documents import SELLER, invoice
from support.matrix import is_full
from support.world import World

if TYPE_CHECKING:
    from collections.abc import Iterator

PROJECT = Path(__file__).parents[2]
KIT = PROJECT / ".ci" / "wine"
WINE = Path(os.environ.get("FILEDROP_WINE", "/nowhere"))
C = WINE / "prefix" / "drive_c"
PROGRAM, OURS, ROOT = C / "Program Files/filedrop", C / "ProgramData/filedrop", C / "filedrop"
LONGEST = 300  # seconds for a step: the machine may be busy
NOTHING_REMOVED = "so nothing was removed"  # what the uninstaller says that gives up
TOOLS = ("makensis", "x86_64-w64-mingw32-gcc")


def missing() -> str:
    """What isn't there that this takes, "" where all is."""
    if not (C / "Python311/python311.dll").exists():
        return "Windows' Python under Wine (.ci/windows sets it up, and runs this)"
    return ", ".join(f"{tool} (apt install nsis)" for tool in TOOLS if shutil.which(tool) is None)


pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(missing() != "", reason=f"NOT TRIED: THE WINDOWS INSTALLER: it takes {missing()}"),
]


def on_windows(*words: str, status: int = 0, is_heard: bool = True) -> str:
    """Run a Windows program to its end; what it says, if that is heard."""
    output = subprocess.PIPE if is_heard else subprocess.DEVNULL
    done = subprocess.run(
        [KIT / "winpy", "--exec", *words], stdin=subprocess.DEVNULL, stdout=output, stderr=output, timeout=LONGEST,
        check=False,
    )  # fmt: skip
    said = (done.stdout or b"") + (done.stderr or b"")
    text = said.decode("utf-8", "replace").replace("\r\n", "\n")
    assert done.returncode == status, f"{words}: {done.returncode}, not {status}\n{text}\n{log()}"
    return text


def filedrop(*words: str, status: int = 0) -> str:
    return on_windows(r"C:\Program Files\filedrop\filedrop.exe", *words, status=status)


def log() -> str:
    """What the installer has said so far."""
    file = OURS / "install.log"
    return file.read_text() if file.exists() else "nothing was said"


def install(*, status: int = 0) -> None:
    # A window, also one that isn't shown, has Wine start its desktop, which would hold on to a pipe of ours.
    on_windows(r"C:\filedrop-installer.exe", "/S", status=status, is_heard=False)


def uninstall() -> None:
    """Uninstall it; it goes on from a copy of itself, and its folder goes last."""
    before = log().count(NOTHING_REMOVED)
    on_windows(r"C:\Program Files\filedrop\uninstall.exe", "/S", is_heard=False)
    deadline = time.monotonic() + LONGEST
    while PROGRAM.exists():
        assert log().count(NOTHING_REMOVED) == before, log()
        assert time.monotonic() < deadline, f"{list(PROGRAM.iterdir())}\n{log()}"
        time.sleep(0.1)


def path() -> str:
    """Where everybody's commands are looked for."""
    key = r"HKLM\SYSTEM\CurrentControlSet\Control\Session Manager\Environment"
    return on_windows("reg", "query", key, "/v", "Path")


@pytest.fixture(scope="module")
def installer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One that is built for this, or $FILEDROP_INSTALLER."""
    if made := os.environ.get("FILEDROP_INSTALLER"):
        return Path(made)
    done = subprocess.run(
        ["packaging/windows/build", tmp_path_factory.mktemp("dist")], cwd=PROJECT, capture_output=True, text=True,
        check=False, env=os.environ | {"PYTHON": sys.executable, "COMPRESSION": "zlib"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip())


@pytest.fixture
def computer(installer: Path) -> Iterator[None]:
    """A Windows without filedrop, with the installer on its disk."""
    with FileLock(WINE / "installer.lock"):
        clear()
        shutil.copyfile(installer, C / "filedrop-installer.exe")
        yield
        clear()


def clear() -> None:
    """Leave nothing of filedrop, nor of a run of these tests that was cut off while something was removed."""
    if (PROGRAM / "uninstall.exe").exists():
        with suppress(AssertionError):
            uninstall()
    for folder in (PROGRAM, OURS, ROOT):
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """An access point, and the folders of the computer."""
    more = r"log: {file: 'C:\ProgramData\filedrop\filedrop.log'}"
    with World(tmp_path, outbound={"doubt": "2s"}, read_timeout="30s", more=more) as world:
        yield world


def configure(world: World) -> None:
    """Fill in the configuration, for the world's access point; the folders are the computer's from now on."""
    text = world.config_text()
    state = r"C:\ProgramData\filedrop\state"
    for here, on_c in ((world.root, r"C:\filedrop"), (world.state, state), (world.password_file, "password")):
        text = text.replace(str(here), on_c)
    (OURS / "config.yaml").write_text(text)
    (OURS / "password").touch(0o600)
    (OURS / "password").write_text("secret\n")
    world.root, world.state = ROOT, OURS / "state"
    world.outbound, world.inbound = world.root / "acme/outbound", world.root / "acme/inbound"


def of_service() -> int:
    """The process of the service, as this side knows it."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (process / "cmdline").read_bytes()
            if b"\\filedrop.exe\0" in words and b"\0service\0run\0" in words:
                return int(process.name)
    raise AssertionError("no service runs")


@pytest.mark.usefixtures("computer")
def test_from_an_empty_computer(world: World) -> None:
    """Killed and upgraded while it works, and removed in the end, it loses nothing, and sends nothing twice."""
    install()
    assert "is a new example" in log()
    assert r"C:\Program Files\filedrop" in path()
    assert "it is stopped" in filedrop("service", "status", status=1)

    configure(world)
    mine = (OURS / "config.yaml").read_text()
    assert "Started filedrop." in filedrop("service", "install", "--now")
    called = r'"C:\Program Files\filedrop\filedrop.exe" --config C:\ProgramData\filedrop\config.yaml service run'
    assert called in filedrop("service", "status")
    world.until((world.outbound / ".filedrop").exists, LONGEST, what="the folders are there")

    out, inward = (200, 50) if is_full() else (60, 16)
    numbers = iter(range(1, out + 1))

    def load(share: int) -> None:
        for _ in range(out // share):
            number = next(numbers)
            world.drop(f"{number}.xml", invoice(str(number)))
        for number in range(len(world.received), len(world.received) + inward // share):
            world.receive(invoice(f"in {number}", receiver=SELLER))

    load(2)
    world.until(lambda: len(world.accepted()) > 5, LONGEST, what="some of them are accepted")
    os.kill(of_service(), signal.SIGKILL)
    filedrop("service", "start")
    load(4)
    before = len(world.accepted())
    world.until(lambda: len(world.accepted()) > before, LONGEST, what="it goes on")
    load(4)
    stray = PROGRAM / "Lib/site-packages/stray.py"
    stray.touch()
    install()  # over what runs
    assert not stray.exists(), "files of the version before are gone"
    assert "filedrop is stopped for now" in log()
    assert (OURS / "config.yaml").read_text() == mine
    filedrop("service", "status")
    world.until(world.settled, LONGEST, what="all is sent, and all received")
    filedrop("service", "stop")
    world.invariants()
    assert len(world.accepted()) == out
    assert set(world.accepted().values()) == {1}

    uninstall()
    assert r"Program Files\filedrop" not in path()
    assert (OURS / "config.yaml").read_text() == mine
    assert (world.state / "journal.sqlite").exists()

    install()  # by the configuration that is there already, it starts by itself
    filedrop("service", "status")
    world.drop("last.xml", invoice("last"))
    world.until(world.settled, LONGEST, what="it goes on with what it knew")
    filedrop("service", "stop")
    world.invariants()
    assert set(world.accepted().values()) == {1}


@pytest.mark.usefixtures("computer")
def test_what_can_not_be_replaced(world: World) -> None:
    """While a program of filedrop's runs, nothing is replaced or removed, and that is said; the service runs on."""
    OURS.mkdir()
    configure(world)
    install()
    filedrop("service", "status")
    at_work = [KIT / "winpy", "--exec", r"C:\Program Files\filedrop\filedrop.exe", "sandbox", "--state", r"C:\sandbox"]
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([*at_work, "--port", "0"], **streams) as sandbox:  # never a file: `kill` would miss it
        try:
            assert sandbox.stdout
            sandbox.stdout.readline()
            stray = PROGRAM / "Lib/stray.py"
            stray.touch()
            install(status=1)
            assert stray.exists()
            on_windows(r"C:\Program Files\filedrop\uninstall.exe", "/S", is_heard=False)  # a copy of it goes on
            world.until(lambda: NOTHING_REMOVED in log(), LONGEST, what="it gives up, and says so")
            assert "so nothing was replaced" in log()
            assert stray.exists()
        finally:
            sandbox.kill()
    filedrop("service", "status")
    world.until((world.outbound / ".filedrop").exists, LONGEST, what="the folders are there")
    world.drop("1.xml", invoice("1"))
    world.until(world.settled, LONGEST, what="it works")
    filedrop("service", "stop")
    world.invariants()


@pytest.mark.usefixtures("computer")
def test_a_windows_that_is_too_old() -> None:
    """There, nothing is installed."""
    key = r"HKCU\Software\Wine\AppDefaults\filedrop-installer.exe"  # for this program alone
    on_windows("reg", "add", key, "/v", "Version", "/d", "win81", "/f")
    try:
        install(status=1)
    finally:
        on_windows("reg", "delete", key, "/f")
    assert not PROGRAM.exists()
    assert not OURS.exists()
