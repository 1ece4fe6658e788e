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
    """How much a process has of each."""

    threads: int
    descriptors: int
    watches: int


def our_holdings() -> Holdings:
    """What this process has, but for what nothing refers to."""
    gc.collect()
    if sys.platform != "linux":
        return Holdings(threading.active_count(), 0, 0)
    return Holdings(threading.active_count(), *_descriptors(os.getpid()))


def holdings_of(process: int) -> Holdings:
    """What another process has."""
    return Holdings(len(list(Path(f"/proc/{process}/task").iterdir())), *_descriptors(process))


def _descriptors(process: int) -> tuple[int, int]:
    """The open descriptors of a process, and the folders that it watches by one of them."""
    texts = list[str]()
    for descriptor in Path(f"/proc/{process}/fdinfo").iterdir():
        with suppress(OSError):  # that of this look is closed by now
            texts.append(descriptor.read_text())
    return len(texts), sum(line.startswith("inotify wd:") for text in texts for line in text.splitlines())
