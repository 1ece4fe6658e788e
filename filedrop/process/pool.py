"""The threads that make requests, validate and run programs.

Unlike those of concurrent.futures, they let the process end.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import threading
import time
from collections import Counter, deque
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

QUICK = 0.002  # seconds that a task waits at most, beside its own work, while taking turns is faster
LATEST_TASKS = 8  # of so many tasks, two must be so: any may wait for Python, or for the rest of the computer


class Task(NamedTuple):
    """What a pool is to do for a company; "" is for all of them.

    `run` is called in a thread of the pool. Where the pool is closed before, `never_began` is called instead: by the
    thread that closes the pool, or in `submit`. Where that is None, the task is done all the same: by a thread of the
    pool, or in `submit`. Either is called once, perhaps after its submitter was closed: what both change must
    be thread-safe.
    """

    run: Callable[[], object]
    never_began: Callable[[], object] | None
    company: str = ""


class Pace:
    """How long the latest tasks waited, and worked (CPU). Thread-safe.

    `is_quick`: threads that work one after the other are faster than several at the same time, which would spend most
    of it on passing Python to each other. `held_up`: seconds after which a task waits for something; then the next one
    begins beside it.
    """

    def __init__(self) -> None:
        self.is_quick = False
        self.held_up = QUICK
        self._latest = ((math.inf, 0.0),) * LATEST_TASKS

    def note(self, seconds: float, worked: float) -> None:
        """Note how long a task took, and how much of that was its own work."""
        self._latest = (*self._latest[1:], (seconds - worked, worked))
        waits, works = map(sorted, zip(*self._latest, strict=True))
        self.is_quick = waits[1] <= QUICK
        self.held_up = QUICK + 2 * works[LATEST_TASKS // 2]


class Pool:
    """Up to `workers` threads, started when needed. `attempt` runs a task and survives its errors; `pace` of the tasks.

    While tasks are quick, one thread does them all, and the others begin as soon as it is held up. `on_lull` is called
    when all tasks have ended, and after each while they aren't quick: the next one may take as long.

    Companies take turns: the next task is one of the company with the fewest running, and of these, of the one that has
    waited longest for its turn. At most `each` tasks of a company run at the same time.
    """

    def __init__(
        self,
        workers: int,
        *,
        name: str,
        attempt: Callable[[str, Callable[[], object]], object],
        each: int | None = None,
        on_lull: Callable[[], object] = lambda: None,
    ) -> None:
        self._workers = workers
        self._each = workers if each is None else each
        self._name = name
        self._attempt = attempt
        self._on_lull = on_lull
        self._tasks: dict[str, deque[Task]] = {}  # by company; none is empty
        self._running: Counter[str] = Counter()
        self._turn = itertools.count(1)
        self._turns: dict[str, int] = {}  # by company: its last one
        self._threads: list[threading.Thread] = []
        self._idle = 0
        self._begun = 0.0  # when the latest task began (time.monotonic)
        self.pace = Pace()
        self._is_watched = False  # the only thread at work, by one that waits
        self._is_closed = False
        self._change = threading.Condition()

    def submit(self, task: Task) -> None:
        """Queue a task. Thread-safe."""
        with self._change:
            if not self._is_closed:
                if not (self._tasks and self.pace.is_quick):  # else a thread is awake
                    self._change.notify()
                self._tasks.setdefault(task.company, deque()).append(task)
                self._start_if_needed()
                return
        if task.never_began is None:
            self._attempt(self._name, task.run)
        else:
            task.never_began()

    def tick(self) -> None:
        """Start a thread for what is queued, where the system had none before. Called each second. Thread-safe."""
        with self._change:
            self._start_if_needed()

    def is_idle(self) -> bool:
        """Whether no task is queued or running. Thread-safe."""
        with self._change:
            return not self._tasks and self._idle == len(self._threads)

    def has_ended(self) -> bool:
        """Whether, after a `close`, all threads have ended. Thread-safe."""
        return not any(thread.is_alive() for thread in list(self._threads))

    def close(self, patience: float) -> None:
        """Cancel what has not begun and may be cancelled, and wait `patience` seconds at most for the rest."""
        deadline = time.monotonic() + patience
        with self._change:
            self._is_closed = True
            not_begun = [task.never_began for tasks in self._tasks.values() for task in tasks if task.never_began]
            left = {name: deque(task for task in tasks if not task.never_began) for name, tasks in self._tasks.items()}
            self._tasks = {name: tasks for name, tasks in left.items() if tasks}
            self._change.notify_all()
        for never_began in not_begun:
            never_began()
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _start_if_needed(self) -> None:
        waiting = sum(map(len, self._tasks.values()))
        if waiting > self._idle and len(self._threads) < self._workers:
            thread = threading.Thread(target=self._work, name=f"{self._name}-{len(self._threads) + 1}", daemon=True)
            with contextlib.suppress(RuntimeError):  # the system has no thread now: the next look tries again
                thread.start()
                self._threads.append(thread)

    def _work(self) -> None:
        company, begun = None, 0.0
        while True:
            with self._change:
                if company is not None:
                    self._running[company] -= 1
                while (company := self._next_company()) is None:
                    if self._is_closed:
                        return
                    self._rest()
                task, begun = self._begin(company), self._begun
            worked = time.thread_time()
            self._attempt(f"{self._name} for {company}" if company else self._name, task.run)
            self.pace.note(time.monotonic() - begun, time.thread_time() - worked)
            if not self.pace.is_quick:
                self._on_lull()

    def _rest(self) -> None:
        """Wait for a task; or watch, as one of those that wait, whether the only thread at work is held up."""
        watches = self.pace.is_quick and bool(self._tasks) and not self._is_watched
        self._is_watched |= watches
        self._idle += 1
        if self.is_idle():
            self._on_lull()
        self._change.wait(self.pace.held_up if watches else None)
        self._idle -= 1
        if watches:
            self._is_watched = False

    def _next_company(self) -> str | None:
        """Whose turn it is; None where nobody has a task that may run now."""
        is_held_up = time.monotonic() - self._begun >= self.pace.held_up
        if self.pace.is_quick and self._running.total() and not is_held_up:
            return None
        may_run = [company for company in self._tasks if self._running[company] < self._each]
        return min(may_run, key=lambda company: (self._running[company], self._turns.get(company, 0)), default=None)

    def _begin(self, company: str) -> Task:
        tasks = self._tasks[company]
        task = tasks.popleft()
        if not tasks:
            del self._tasks[company]
        self._running[company] += 1
        self._turns[company] = next(self._turn)
        self._begun = time.monotonic()
        if self._tasks and not self._is_watched:
            self._change.notify()
        return task
