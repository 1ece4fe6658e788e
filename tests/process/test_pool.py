"""The threads that make requests: started when needed, also where the system had none at first."""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING

from filedrop.process.pool import Pool

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager


def test_the_system_has_no_thread(without_threads: Callable[[str], AbstractContextManager[None]]) -> None:
    """A task that came while no thread could be started is done as soon as one can, though no other task comes."""
    done = threading.Event()
    pool = Pool(4, name="fetch", attempt=lambda _, task: task())
    with without_threads("fetch"):
        pool.submit(done.set, lambda: None)
        pool.tick()
    assert not done.is_set()
    pool.tick()
    assert done.wait(60)
    pool.close(60)
    assert pool.has_ended()


def test_companies_take_turns() -> None:
    """A company that comes with its first task waits for one of a company with many, not for all of them."""
    done, may_go_on, ended = list[str](), threading.Event(), threading.Event()
    pool = Pool(1, name="validate", attempt=lambda _, task: task())
    pool.submit(may_go_on.wait, lambda: None, "acme")
    for nth in range(3):
        pool.submit(partial(done.append, f"acme {nth}"), lambda: None, "acme")
    pool.submit(partial(done.append, "fjord"), lambda: None, "fjord")
    pool.submit(ended.set, lambda: None, "last")
    may_go_on.set()
    assert ended.wait(60)
    pool.close(60)
    assert done[0] == "fjord"


def test_no_company_keeps_all_threads_busy() -> None:
    """Whatever a company has under way for how long, a thread is left for the others."""
    hangs, others = threading.Event(), threading.Event()
    pool = Pool(3, name="validate", attempt=lambda _, task: task(), each=2)
    for _ in range(5):
        pool.submit(hangs.wait, lambda: None, "acme")
    pool.submit(others.set, lambda: None, "fjord")
    assert others.wait(60)
    hangs.set()
    pool.close(60)
    assert pool.has_ended()


def test_on_idle() -> None:
    """When the last of several tasks has ended, and not before, the pool says so."""
    done, counted = list[int](), list[int]()
    may_go_on, is_idle = threading.Event(), threading.Event()

    def task(number: int) -> None:
        may_go_on.wait()
        done.append(number)

    def on_idle() -> None:
        counted.append(len(done))
        is_idle.set()

    pool = Pool(3, name="fetch", attempt=lambda _, task: task(), on_idle=on_idle)
    for number in range(7):
        pool.submit(partial(task, number), lambda: None)
    assert not is_idle.is_set()
    may_go_on.set()
    assert is_idle.wait(60)
    assert counted == [7]
    pool.close(60)
