"""How many documents are taken together."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest

from filedrop.onward import Onward
from filedrop.turns import TOGETHER


@pytest.mark.parametrize(("workers", "waiting", "together"), [
    (4, 0, 1), (4, 31, 1), (4, 32, 2), (4, 160, 10), (4, 2000, TOGETHER), (16, 160, 2), (100, 100_000, 2),
])  # fmt: skip
def test_several_only_where_many_wait(workers: int, waiting: int, together: int) -> None:
    """As many as leave enough for each worker, and no more files are open at once than a process may have."""
    desk = SimpleNamespace(rules=SimpleNamespace(workers=workers), steady=time.monotonic)
    assert Onward(desk, ready=lambda: True).together(waiting) == together  # type: ignore[arg-type] # all that is asked
