"""Files that can't be read, for root either.

`as_anyone`: a thread may read only what the files' modes let it (Linux). `run_as`: a command of another user, for root;
its Python may lie where only root may read. `opens_unreadable`: a file opens, and its
content can't be read.
"""

from __future__ import annotations

import ctypes
import json
import os
import struct
import subprocess
import sys
import warnings
from contextlib import contextmanager
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

from support.commands import run_here

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_VERSION = 0x20080522  # _LINUX_CAPABILITY_VERSION_3, capget(2)
_OVERRIDES = 1 << 1 | 1 << 2  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH: reading what one has no right to


@contextmanager
def as_anyone() -> Iterator[None]:
    """Give up, for a while, this thread's privilege to read and write everything; nothing where it has none."""
    if sys.platform != "linux" or os.geteuid() != 0:
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header = struct.pack("Ii", _VERSION, 0)  # 0: this thread
    before = ctypes.create_string_buffer(24)  # twice effective, permitted, inheritable
    _succeed(libc.capget(header, before))
    effective, *others = struct.unpack("6I", before)
    _succeed(libc.capset(header, struct.pack("6I", effective & ~_OVERRIDES, *others)))
    try:
        yield
    finally:
        _succeed(libc.capset(header, before))


def run_as(user: int, *words: str) -> subprocess.CompletedProcess[str]:
    """Run `filedrop WORDS` in a child process that has become another user; what it needs is loaded before."""
    run_here(*words)
    with TemporaryFile("w+") as output, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of later Pythons: no thread lives on in the child
        child = os.fork()
        if child == 0:
            try:
                os.setgroups([])
                os.setgid(user)
                os.setuid(user)
                done = run_here(*words)
                json.dump([done.returncode, done.stdout, done.stderr], output)
                output.flush()
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        output.seek(0)
        returncode, stdout, stderr = json.load(output)
    return subprocess.CompletedProcess(words, returncode, stdout, stderr)


def _succeed(result: int) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def opens_unreadable(unreadable: str) -> Callable[..., int]:
    """An `os.open` that opens the file with this name so that it can't be read, as on a bad sector."""
    system = os.open

    def opened(name: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        return system(name, os.O_WRONLY if name == unreadable else flags, mode, dir_fd=dir_fd)

    return opened
