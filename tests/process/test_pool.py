"""The threads that make requests: started when needed, also where the system had none at first."""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING

import pytest

from filedrop.process import pool as pool_module
from filedrop.process.pool import LATEST_TASKS, QUICK, Pace, Pool, Task

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from contextlib import AbstractContextManager


def test_the_system_has_no_thread(without_threads: Callable[[str], AbstractContextManager[None]]) -> None:
    """A task that came while no thread could be started is done as soon as one can, though no other task comes."""
    done = threading.Event()
    pool = Pool(4, name="fetch", attempt=lambda _, task: task())
    with without_threads("fetch"):
        pool.submit(Task(done.set, None))
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
    pool.submit(Task(may_go_on.wait, None, "acme"))
    for nth in range(3):
        pool.submit(Task(partial(done.append, f"acme {nth}"), None, "acme"))
    pool.submit(Task(partial(done.append, "fjord"), None, "fjord"))
    pool.submit(Task(ended.set, None, "last"))
    may_go_on.set()
    assert ended.wait(60)
    pool.close(60)
    assert done[0] == "fjord"


def test_no_company_keeps_all_threads_busy() -> None:
    """Whatever a company has under way for how long, a thread is left for the others."""
    hangs, others = threading.Event(), threading.Event()
    pool = Pool(3, name="validate", attempt=lambda _, task: task(), each=2)
    for _ in range(5):
        pool.submit(Task(hangs.wait, None, "acme"))
    pool.submit(Task(others.set, None, "fjord"))
    assert others.wait(60)
    hangs.set()
    pool.close(60)
    assert pool.has_ended()


def test_on_lull() -> None:
    """When the last of several tasks has ended, the pool says so: nothing more is to be waited for."""
    done, are_done = list[int](), threading.Event()

    def on_lull() -> None:
        if len(done) == 7:
            are_done.set()

    pool = Pool(3, name="fetch", attempt=lambda _, task: task(), on_lull=on_lull)
    for number in range(7):
        pool.submit(Task(partial(done.append, number), None))
    assert are_done.wait(60)
    pool.close(60)


def test_lull_while_others_are_under_way() -> None:
    """Nor is anything waited for after a task that took long, while another goes on."""
    hangs, is_lull = threading.Event(), threading.Event()
    pool = Pool(2, name="fetch", attempt=lambda _, task: task(), on_lull=is_lull.set)
    pool.submit(Task(hangs.wait, None))
    pool.submit(Task(partial(threading.Event().wait, 2 * QUICK), None))
    assert is_lull.wait(60)
    assert not pool.is_idle()
    hangs.set()
    pool.close(60)


def test_quick_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Quick tasks are done one after the other, however many threads there are."""
    monkeypatch.setattr(pool_module, "QUICK", 60.0)
    inside, most, ended = list[int](), list[int](), threading.Semaphore(0)
    pool = Pool(4, name="fetch", attempt=lambda _, task: task())

    def task(number: int) -> None:
        inside.append(number)
        most.append(len(inside))
        inside.remove(number)
        ended.release()

    for number in range(2):  # two are enough to know
        pool.submit(Task(partial(task, number), None))
        assert ended.acquire(timeout=60)
        while not pool.is_idle():
            pass
    for number in range(2, 200):
        pool.submit(Task(partial(task, number), None))
    assert all(ended.acquire(timeout=60) for _ in range(2, 200))
    assert set(most) == {1}
    pool.close(60)


def test_a_task_that_takes_long_among_quick_ones() -> None:
    """If one of many quick tasks takes long, other threads do those that wait behind it."""
    hangs, others = threading.Event(), threading.Semaphore(0)
    pool = Pool(2, name="fetch", attempt=lambda _, task: task())
    for _ in range(10):
        pool.submit(Task(others.release, None))
    assert all(others.acquire(timeout=60) for _ in range(10))
    pool.submit(Task(hangs.wait, None))
    for _ in range(10):
        pool.submit(Task(others.release, None))
    assert all(others.acquire(timeout=60) for _ in range(10))
    hangs.set()
    pool.close(60)


def modes(tasks: Iterable[tuple[float, float]]) -> list[bool]:
    """Whether threads take turns, at first and after each change, by how long each task waited and worked."""
    pace = Pace()
    found = [pace.is_quick]
    for waited, worked in tasks:
        pace.note(waited + worked, worked)
        found += [pace.is_quick] if pace.is_quick is not found[-1] else []
    return found


@pytest.mark.parametrize("worked", [0.0003, 0.02])
def test_pace(worked: float) -> None:
    """Threads take turns as long as tasks wait for little: their own work doesn't count, and few long waits don't."""
    little, long, hung = QUICK / 4, 5 * QUICK, 1.0
    quick = [(little, worked)] * 100
    slow = [(long, worked)] * 100
    for wait in (long, hung):
        one_of_ten = [(wait if number % 10 == 0 else little, worked) for number in range(1200)]
        assert modes([*one_of_ten, *[(wait, worked)] * 6, *quick]) == [False, True]
    one_of_ten = [(little if number % 10 == 0 else long, worked) for number in range(1200)]
    assert modes(one_of_ten) == [False]
    assert modes([*quick, *slow, *quick]) == [False, True, False, True]


@pytest.mark.parametrize("worked", [0.0, 0.02])
def test_held_up(worked: float) -> None:
    """A task is held up only when it takes longer than twice the work of the latest ones."""
    pace = Pace()
    for _ in range(LATEST_TASKS):
        pace.note(worked, worked)
    assert pace.held_up == QUICK + 2 * worked
