"""Disks and shares of a test's own, which can be full, read-only, gone, or hang. For Linux, where we may mount."""

from __future__ import annotations

import ctypes
import errno
import itertools
import os
import struct
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

HOW = "these tests mount things: run them as root, or like this: unshare -rm .venv/bin/pytest tests/faults"


class Disk:
    """A file system in memory, mounted at `path`, which must be there."""

    def __init__(self, path: Path, *, size: str, inodes: int) -> None:
        self.path = path
        self._options = f"size={size},nr_inodes={inodes},mode=755"
        self._fillers = itertools.count()
        self.mount()

    def mount(self) -> None:
        """Mount it, empty."""
        _mount("-t", "tmpfs", "-o", self._options, "tmpfs", str(self.path))

    def turn(self, *, read_only: bool = True) -> None:
        """Let nobody write there, or anybody again."""
        _run("mount", "-o", f"remount,{'ro' if read_only else 'rw'}", str(self.path)).check_returncode()

    def fill(self) -> None:
        """Leave no room for a single byte more."""
        with (self.path / f"filler-{next(self._fillers)}").open("wb", buffering=0) as filler:
            try:
                while filler.write(bytes(4096)):
                    pass
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise

    def use_up_names(self) -> None:
        """Leave no room for a single file more."""
        try:
            while True:
                (self.path / f"filler-{next(self._fillers)}").touch(exist_ok=False)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise

    def make_room(self) -> None:
        """Remove what fills it."""
        for filler in self.path.glob("filler-*"):
            filler.unlink()


@contextmanager
def mounted(path: Path, *, size: str = "4m", inodes: int = 500) -> Iterator[Disk]:
    """A disk at this path, which is made, while this lasts."""
    path.mkdir(parents=True, exist_ok=True)
    try:
        yield Disk(path, size=size, inodes=inodes)
    finally:
        _unmount_all(path)


class Share:
    """A folder, `server`, that is mounted at `path`, and may be unmounted and mounted again. Both are made."""

    def __init__(self, path: Path, server: Path) -> None:
        self._path, self._server = path, server
        server.mkdir(parents=True, exist_ok=True)
        path.mkdir(parents=True, exist_ok=True)

    def mount(self) -> None:
        """Bring it (back)."""
        _mount("--bind", str(self._server), str(self._path))

    def unmount(self) -> None:
        """Take it away at once, whoever works there: the empty mount point is left."""
        _run("umount", "--lazy", str(self._path)).check_returncode()


@contextmanager
def share(path: Path, server: Path) -> Iterator[Share]:
    """A share that is not mounted yet, and not any more when this is over."""
    try:
        yield Share(path, server)
    finally:
        _unmount_all(path)


@contextmanager
def foreign(path: Path, kind: str, *, answers: bool) -> Iterator[None]:
    """A file system of this kind (`fuse.sshfs`), empty; or one that never `answers`, until this is over."""
    _only_on_linux()
    path.mkdir(parents=True, exist_ok=True)
    with open_device() as device:
        options = f"fd={device},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()}"
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mount(b"test", os.fsencode(path), kind.encode(), 0, options.encode()):
            pytest.skip(f"{HOW} ({os.strerror(ctypes.get_errno())})")
        if answers:
            threading.Thread(target=_serve, args=(device,), daemon=True).start()
        try:
            yield
        finally:
            _unmount_all(path)


@contextmanager
def open_device() -> Iterator[int]:
    """The kernel's end of a file system of ours; closing it ends whatever waits for an answer."""
    try:
        device = os.open("/dev/fuse", os.O_RDWR)
    except OSError as error:
        pytest.skip(f"{HOW} ({error})")
    try:
        yield device
    finally:
        os.close(device)


_INIT, _GETATTR, _SETATTR, _FORGET = 26, 3, 4, 2  # include/uapi/linux/fuse.h


def _serve(device: int) -> None:
    """Answer for an empty folder in which nothing may be changed, until the device is closed."""
    owner = os.getuid(), os.getgid()
    folder = struct.pack("<QII" + "6Q10I", 3600, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0o40755, 2, *owner, 0, 0, 0)
    try:
        while True:
            _, operation, unique = struct.unpack_from("<IIQ", os.read(device, 1 << 17))
            if operation == _INIT:
                body, code = struct.pack("<4I2H2I2H8I", 7, 31, 0, 0, 1, 1, 4096, 1, 1, 0, *[0] * 8), 0
            elif operation == _GETATTR:
                body, code = folder, 0
            else:
                body, code = b"", -(errno.EPERM if operation == _SETATTR else errno.ENOSYS)
            if operation != _FORGET:
                os.write(device, struct.pack("<IiQ", 16 + len(body), code, unique) + body)
    except OSError:  # unmounted
        return


def _mount(*arguments: str) -> None:
    _only_on_linux()
    done = _run("mount", *arguments)
    if done.returncode:
        pytest.skip(f"{HOW} ({done.stderr.strip()})")


def _unmount_all(path: Path) -> None:
    while f" {path} " in Path("/proc/self/mountinfo").read_text():
        _run("umount", "--lazy", str(path)).check_returncode()


def _only_on_linux() -> None:
    if sys.platform != "linux":
        pytest.skip("these tests mount things as Linux can")


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)
