"""The threads that make requests: started when needed, also where the system had none at first."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from filedrop.daemon.pool import Pool

if TYPE_CHECKING:
    import pytest


def test_the_system_has_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """A task that came while no thread could be started is done as soon as one can, though no other task comes."""
    done = threading.Event()
    start = threading.Thread.start

    def fails(thread: threading.Thread) -> None:
        if thread.name.startswith("fetch"):
            raise RuntimeError("can't start new thread")
        start(thread)

    pool = Pool(4, name="fetch", attempt=lambda _, task: task())
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", fails)
        pool.submit(done.set, lambda: None)
        pool.look()
    assert not done.is_set()
    pool.look()
    assert done.wait(60)
    pool.close(60)
    assert pool.has_ended()
