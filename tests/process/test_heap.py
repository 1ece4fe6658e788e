"""The heap: what isn't needed any more is the system's again."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from filedrop.process.heap import Heap

BLOCKS, SIZE = 20_000, 2_000  # malloc's own blocks, too small for a mapping of theirs


def resident() -> int:
    """How many bytes of memory this process has."""
    return int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1]) * 4096


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the heap of glibc")
def test_memory_after_a_burst() -> None:
    """What a burst needed is given back, although a part of it is still needed, and the heap can't shrink."""
    heap = Heap()
    before, burst = resident(), [bytes(SIZE) for _ in range(BLOCKS)]
    del burst[:-1]
    heap.trim()
    assert resident() - before < BLOCKS * SIZE / 4
