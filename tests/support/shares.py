"""The file systems that shares are made of, mounted: once for filedrop, and once more as another computer would.

    with mounted(USER_KINDS["sshfs"], tmp_path) as share:
        (share.there / "invoice.xml").write_bytes(...)

A kind is what a mount needs: programs, a server, the command that mounts. Its server can be stopped, its mount killed
and mounted again, and its disk filled. The kinds are in `user_shares` and `kernel_shares`. Root on Linux.
"""

from __future__ import annotations

import errno
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from support.disks import _mount as mount_or_skip

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PATIENCE = 60.0  # seconds for a server or a mount: bounds only what has gone wrong
SIZE = "128m"  # of the disk that a share is made of
# Settings for real storages aren't meant for the tests' own.
_ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "RCLONE_"))}


@dataclass(frozen=True)
class Place:
    """Where a kind may write: `store` is its disk, `own` a folder for keys and caches, `at` where it is mounted."""

    store: Path
    own: Path
    at: Path
    port: int

    def cache(self) -> Path:
        """A cache of this mount's own."""
        cache = self.own / f"cache-{self.at.name}"
        cache.mkdir(exist_ok=True)
        return cache


@dataclass(frozen=True)
class Kind:
    """A file system, and how it is mounted.

    `mount`: the command. It stays in the foreground, except where `stays` is False: then the mount is there when it
    ends. `server`: the command of the server; `port` is its port, if that can't be chosen; `stop` is a command that
    ends it, besides killing its process. `prepare` runs once. `is_shared`: another client may mount it meanwhile.
    `forgets`: the server has lost everything after it was stopped (it is frozen instead), or the mount has.
    `fills`: what is filled: the `store`, the file system `itself`, or "" where nothing can be.

    In docs/shares.md, `row` is its row, `options` are the mount's that the page shows, and `delay` is how long after
    a change the page says that it is seen, in seconds. `refused` is what its refusal names.
    """

    name: str
    programs: tuple[str, ...]
    mount: Callable[[Place], list[object]]
    server: Callable[[Place], list[object]] | None = None
    prepare: Callable[[Place], None] | None = None
    stays: bool = True
    is_shared: bool = True
    forgets: bool = False
    fills: str = "store"
    port: int = 0
    stop: tuple[str, ...] = ()
    row: str = ""
    options: str = ""
    delay: float = 1.0
    refused: str = ""

    def missing(self) -> str:
        """What isn't there that this kind needs, "" where all is."""
        if sys.platform != "linux" or os.geteuid() != 0:
            return "root on Linux"
        gone = [program for program in self.programs if shutil.which(program) is None and not Path(program).exists()]
        return f"{', '.join(gone)} (.ci/prepare installs what Debian has)" if gone else ""


class Share:
    """A mounted file system: filedrop works at `here`, another client at `there`, which is `here` where none can."""

    def __init__(self, kind: Kind, base: Path) -> None:
        self.kind = kind
        self.here = base / "root"
        self.there = base / "other" if kind.is_shared else self.here
        self._base = base
        self._store, self._own = base / "store", base / "own"
        for folder in (self.here, self.there, self._store, self._own):
            folder.mkdir(exist_ok=True)
        self._port = kind.port or _free_port()
        self._server: subprocess.Popen[bytes] | None = None
        self._mounts: dict[Path, subprocess.Popen[bytes]] = {}
        self._frozen: list[int] = []
        self._log = (base / "mounts.log").open("ab")
        mount_or_skip("-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(self._store))

    def start(self) -> None:
        """Start the server and mount."""
        if self.kind.prepare:
            self.kind.prepare(self._place(self.here))
        self.start_server()
        for at in {self.here, self.there}:
            self._mount(at)

    def close(self) -> None:
        """Unmount everything and end the server."""
        self.start_server()
        for at in {self.here, self.there}:
            self._kill_mount(at)
        self._kill_server()
        _unmount(self._store)
        self._log.close()

    def kill_mount(self) -> None:
        """Kill filedrop's mount. The empty mount point is left."""
        self._kill_mount(self.here)

    def mount(self) -> None:
        """Mount it for filedrop again."""
        self._mount(self.here)

    def remount(self) -> None:
        """Have filedrop's mount forget what it has cached."""
        if not self.kind.forgets or self.kind.server:
            run("umount", self.here) if not self.kind.stays else None
            self.kill_mount()
            self.mount()

    def stop_server(self) -> None:
        """Have the server be away: kill it; freeze it where it would forget; freeze the mount where there is none."""
        if self._server and not self.kind.forgets:
            self._kill_server()
            return
        process = self._server or self._mounts.get(self.here)
        self._frozen = _tree(process.pid) if process else []
        for number in self._frozen:
            os.kill(number, signal.SIGSTOP)

    def start_server(self) -> None:
        """Have it be back."""
        for number in self._frozen:
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGCONT)
        self._frozen = []
        if self.kind.server and self._server is None:
            self._server = self._start(self.kind.server(self._place(self.here)))
            _until(lambda: _listens(self._port), f"the server of {self.kind.name} answers")

    def fill(self) -> None:
        """Leave no room for a single byte more."""
        with (self._disk() / "filler").open("ab", buffering=0) as filler:
            for size in (1 << 20, 4096, 512, 1):
                try:
                    while filler.write(bytes(size)):
                        os.fsync(filler.fileno())
                except OSError as error:
                    if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                        raise

    def make_room(self) -> None:
        """Remove what fills it."""
        (self._disk() / "filler").unlink()

    def _disk(self) -> Path:
        return self.here if self.kind.fills == "itself" else self._store

    def _place(self, at: Path) -> Place:
        return Place(self._store, self._own, at, self._port)

    def _mount(self, at: Path) -> None:
        command = self.kind.mount(self._place(at))
        if not self.kind.stays:
            run(*command)
            return
        self._mounts[at] = self._start(command)
        _until(lambda: _is_mounted(at), f"{self.kind.name} is mounted\n{self.log()}")

    def _kill_mount(self, at: Path) -> None:
        if process := self._mounts.pop(at, None):
            for number in _tree(process.pid):
                with suppress(ProcessLookupError):
                    os.kill(number, signal.SIGKILL)
            process.wait()
        for number in self._daemons(at):
            os.kill(number, signal.SIGKILL)
        _unmount(at)

    def _daemons(self, at: Path) -> Iterator[int]:
        """The processes of a mount whose command has ended: those of its program that name the mount point."""
        for process in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                words = process.read_text().split("\0")
                if self.kind.programs and words[0].endswith(self.kind.programs[0]) and str(at) in words:
                    yield int(process.parent.name)

    def _kill_server(self) -> None:
        if self._server:
            for number in _tree(self._server.pid):
                with suppress(ProcessLookupError):
                    os.kill(number, signal.SIGKILL)
            self._server.wait()
            self._server = None
            if self.kind.stop:
                run(*self.kind.stop)

    def _start(self, command: list[object]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [*map(str, command)], stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log,
            env=_ENVIRONMENT,
        )  # fmt: skip

    def log(self) -> str:
        """The end of what servers and mounts have printed."""
        return (self._base / "mounts.log").read_text(errors="replace")[-2000:]


@contextmanager
def mounted(kind: Kind, base: Path) -> Iterator[Share]:
    """This file system, mounted below `base` while this lasts."""
    share = Share(kind, base)
    try:
        share.start()
        yield share
    finally:
        share.close()


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def _listens(port: int) -> bool:
    with socket.socket() as client:
        client.settimeout(1)
        return client.connect_ex(("127.0.0.1", port)) == 0


def _is_mounted(at: Path) -> bool:
    return f" {at} " in Path("/proc/self/mountinfo").read_text()


def _unmount(at: Path) -> None:
    while _is_mounted(at):
        run("umount", "--internal-only", "--lazy", at)


def _tree(process: int) -> list[int]:
    """A process and those that it has started, and so on."""
    try:
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:
        return []
    return [process, *(number for child in children for number in _tree(int(child)))]


def _until(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"not within {PATIENCE:.0f} s: {what}"
        time.sleep(0.05)


def run(*words: object, given: str = "") -> None:
    """Run a command to its end. AssertionError: it failed."""
    command = [*map(str, words)]
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False, env=_ENVIRONMENT)
    assert done.returncode == 0, f"{' '.join(map(str, words))}: {done.stderr or done.stdout}"
