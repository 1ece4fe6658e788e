"""What a process has of its system: threads, open descriptors, watched folders (Linux; elsewhere, threads alone)."""

from __future__ import annotations

import gc
import os
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple


class Holdings(NamedTuple):
    """How much a process has of each. Descriptors of the journal don't count: it keeps some connections open."""

    threads: int
    descriptors: int
    watches: int


def our_holdings() -> Holdings:
    """What this process has, but for what nothing refers to, and the threads that serve folders: one more may rest."""
    gc.collect()
    threads = sum(not thread.name.startswith("folders-") for thread in threading.enumerate())
    ours = holdings_of(os.getpid()) if sys.platform == "linux" else Holdings(0, 0, 0)
    return ours._replace(threads=threads)


def holdings_of(process: int) -> Holdings:
    """What a process has (Linux)."""
    here, opened, watches = Path("/proc", str(process)), 0, 0
    for descriptor in (here / "fd").iterdir():
        with suppress(OSError):  # that of this look is closed by now
            opened += "journal.sqlite" not in str(descriptor.readlink())
            watches += (here / "fdinfo" / descriptor.name).read_text().count("inotify wd:")
    return Holdings(len(list((here / "task").iterdir())), opened, watches)
