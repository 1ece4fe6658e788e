"""The threads that make requests: started when needed, also where the system had none at first."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from filedrop.daemon.pool import Pool

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager


def test_the_system_has_no_thread(without_threads: Callable[[str], AbstractContextManager[None]]) -> None:
    """A task that came while no thread could be started is done as soon as one can, though no other task comes."""
    done = threading.Event()
    pool = Pool(4, name="fetch", attempt=lambda _, task: task())
    with without_threads("fetch"):
        pool.submit(done.set, lambda: None)
        pool.look()
    assert not done.is_set()
    pool.look()
    assert done.wait(60)
    pool.close(60)
    assert pool.has_ended()
