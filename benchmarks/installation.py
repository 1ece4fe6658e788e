"""A filedrop with its folders and configuration, and the null access point that it works with."""

from __future__ import annotations

import contextlib
import copy
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Self
from urllib.request import urlopen

from benchmarks.documents import SIZE, drop, participants
from benchmarks.machine import cpu_seconds, family
from benchmarks.processes import PYTHON, Cost, cost_of, living
from tests.support.documents import SELLER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from benchmarks.frame import Bench

PATIENCE = 300.0  # seconds after which what is waited for won't happen any more
START = 60.0  # seconds after which a daemon won't become ready any more
_LEFT_OUT = ("FILEDROP_CONFIG", "NOTIFY_SOCKET", "PYTHONDONTWRITEBYTECODE")  # an installation has its bytecode
WITHOUT_CONFIG = {key: value for key, value in os.environ.items() if key not in _LEFT_OUT}


class NullServer:
    """The null access point, in a process of its own."""

    def __init__(self, url: str, pid: int) -> None:
        self.url = url
        self.pid = pid

    @classmethod
    @contextlib.contextmanager
    def running(cls, *, delay: float = 0.0, inbox: int = 0, size: int = SIZE) -> Iterator[Self]:
        """One that answers after `delay` seconds and has so many unread messages of `size` bytes."""
        options = (f"--delay={delay}", f"--inbox={inbox}", f"--size={size}")
        with cls.started("benchmarks.nullserver", *options) as server:
            yield server

    @classmethod
    @contextlib.contextmanager
    def started(cls, module: str, *options: str) -> Iterator[Self]:
        """One that this module serves."""
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with living(PYTHON, "-m", module, *options, **pipes) as process:
            assert process.stdin
            assert process.stdout
            with process.stdin, process.stdout:
                yield cls(process.stdout.readline().decode().strip(), process.pid)

    def posted(self) -> dict[int, float]:
        """When (time.monotonic) the 201 for each document left, by the document's number."""
        return dict(self.posts())

    def posts(self, first: int = 1) -> list[tuple[int, float]]:
        """The document's number and when the 201 left, of each post from the first, second, ... on."""
        lines = self._ask(f"/times?index={first}").splitlines()
        return [(int(number or 0), float(at)) for number, _, at in (line.partition(" ") for line in lines)]

    def count(self, way: str) -> int:
        """How many documents were posted ("out"), or how many messages are unread ("in")."""
        found = re.search(f'<{way} total="([0-9]+)"', self._ask("/statistics"))
        return int(found[1]) if found else 0

    def made(self, *, stop: bool = False) -> tuple[int, int]:
        """How many messages it has made so far, and how many of them are unread; `stop`: these were the last."""
        made, unread = map(int, self._ask("/stop" if stop else "/made").split())
        return made, unread

    def _ask(self, path: str) -> str:
        with urlopen(self.url + path, timeout=60) as answer:
            said: str = answer.read().decode()
        return said


class Daemon:
    """A running `filedrop run`; `ready` is how many seconds passed from its start to READY."""

    def __init__(self, process: subprocess.Popen[bytes], ready: float) -> None:
        self.pid = process.pid
        self.ready = ready
        self._process = process

    def memory(self, *, peak: bool = False) -> float:
        """What it and its children have resident now, in MB; or the most since `forget_peak`."""
        statuses = [Path(f"/proc/{one}/status").read_text(encoding="utf-8") for one in family(self.pid)]
        found = [re.search(rf"{'VmHWM' if peak else 'VmRSS'}:\s*([0-9]+) kB", status) for status in statuses]
        return sum(int(match[1]) * 1024 / 1e6 for match in found if match)

    def forget_peak(self) -> None:
        """Let the peak of memory begin anew (proc(5), clear_refs)."""
        Path(f"/proc/{self.pid}/clear_refs").write_text("5", encoding="utf-8")

    def descriptors(self) -> int:
        """How many it has open."""
        return len(os.listdir(f"/proc/{self.pid}/fd"))  # noqa: PTH208 - names are enough

    def threads(self) -> int:
        """How many it has."""
        return len(os.listdir(f"/proc/{self.pid}/task"))  # noqa: PTH208 - likewise

    def cpu(self) -> float:
        """How many seconds of CPU it has had."""
        return cpu_seconds(self.pid)

    def stop(self) -> tuple[float, int]:
        """Stop it as systemd would. CPU seconds, and how often a thread of it waited, in its whole life."""
        self._process.send_signal(signal.SIGTERM)
        _, _, usage = os.wait4(self.pid, 0)
        self._process.returncode = 0
        return usage.ru_utime + usage.ru_stime, usage.ru_nvcsw


class Installation:
    """Folders, configuration and journal below a `folder` of their own."""

    def __init__(
        self, bench: Bench, server: NullServer, *, companies: int = 1, workers: int = 4, accounts: int = 1
    ) -> None:
        self.settle = 0 if bench.tiny else 2  # seconds; the latter is the default
        self.server = server
        self.filedrop = bench.filedrop
        self.accounts = ["main", *(f"account{nth}" for nth in range(1, accounts))]
        self.use(bench.new_folder())
        self.root = self.folder / "root"
        self.participants = [SELLER, *participants(companies - 1)]
        self.outbound = [self.root / f"c{number:03}" / "outbound" for number in range(companies)]
        self.inbound = self.root / "c000" / "inbound"
        for path in self.outbound:
            path.mkdir(parents=True)
        self.configure(workers)

    def use(self, folder: Path) -> None:
        """Have configuration and state in this folder."""
        self.folder = folder
        self.state = folder / "state"
        self.config = folder / "config.yaml"
        (folder / "password").write_text("secret\n")
        (folder / "password").chmod(0o600)

    def on_another_host(self, folder: Path) -> Self:
        """The same folders of the companies, with a configuration, which isn't written yet, and a state of its own."""
        other = copy.copy(self)
        other.use(folder)
        return other

    def configure(self, workers: int, *, track: str = "1h", more: tuple[str, ...] = ()) -> None:
        """Write the configuration. Nothing is asked after while something is measured, unless `track` says so."""
        outbound = f"outbound: {{workers: {workers}, settle: {self.settle}s, track: {track}}}"
        companies = [
            f'  c{nth:03}: {{participants: ["{id_}"], account: {self.accounts[nth % len(self.accounts)]}}}'
            for nth, id_ in enumerate(self.participants)
        ]
        password = self.folder / "password"
        accounts = [
            f"  {name}: {{base_url: {self.server.url}, username: {name}, password_file: {password}}}"
            for name in self.accounts
        ]
        lines = ("accounts:", *accounts, f"root: {self.root}", f"state: {self.state}", "companies:")
        self.config.write_text("\n".join((*lines, *companies, outbound, *more, "")))

    def drop(self, numbers: Iterable[int], *, size: int = SIZE) -> None:
        """Drop an invoice for each number, the companies in turn, and let them lie still for long enough."""
        shares: dict[int, list[int]] = {}
        for number in numbers:
            shares.setdefault(number % len(self.outbound), []).append(number)
        for company, share in shares.items():
            drop(self.outbound[company], share, size=size, sender=self.participants[company])
        time.sleep(self.settle)

    def remove(self) -> None:
        """It has served."""
        shutil.rmtree(self.folder)

    def sent(self) -> int:
        """How many documents lie in `sent/`."""
        return sum(name.endswith(".xml") for path in self.outbound for name in os.listdir(path / "sent"))  # noqa: PTH208 - names are enough

    def received(self) -> int:
        """How many documents lie in `inbound/`."""
        return sum(name.endswith(".xml") for name in os.listdir(self.inbound))  # noqa: PTH208 - likewise

    def command(self, *arguments: str) -> tuple[str, ...]:
        """A command of filedrop's with this configuration."""
        return (*self.filedrop, "--config", str(self.config), *arguments)

    def run_once(self) -> Cost:
        """`filedrop run --once`, from its start to its exit."""
        return cost_of(*self.command("run", "--once"), folder=self.folder, env=WITHOUT_CONFIG)

    @contextlib.contextmanager
    def daemon(self) -> Iterator[Daemon]:
        """`filedrop run`, once it is ready."""
        address = f"filedrop-{secrets.token_hex(8)}"  # abstract (unix(7)): a path may be too long
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told, (self.folder / "daemon.log").open("wb") as log:
            told.bind(f"\0{address}")
            told.settimeout(START)
            env = WITHOUT_CONFIG | {"NOTIFY_SOCKET": f"@{address}"}
            begun = time.monotonic()
            with living(*self.command("run"), stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env) as process:
                while b"READY=1" not in told.recv(4096):
                    pass
                yield Daemon(process, time.monotonic() - begun)


def until(condition: Callable[[], object], *, every: float = 0.05, patience: float = PATIENCE, what: str) -> None:
    """Wait until something holds. Raises TimeoutError when it won't any more."""
    deadline = time.monotonic() + patience
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {patience:.0f} seconds: {what}")
        time.sleep(every)
