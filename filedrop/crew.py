"""The threads that take steps. Folders take turns, and a folder that hangs holds up only the thread that is in it.

Jobs wait in one queue for each folder, and the queues are served in turn: a company with a hundred thousand documents
does not keep another one's single invoice waiting. A thread that a hung folder holds is written off, another is hired
in its place, and no further job of that folder is begun until it is back.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from filedrop.folders import Folder

    Job = Callable[[], object]


class Crew:
    """Up to `workers` threads. `attempt` runs a job and survives it; `on_idle` is called when nothing is left to do."""

    def __init__(
        self, workers: int, *, name: str, attempt: Callable[[str, Job], bool], on_idle: Callable[[], None]
    ) -> None:
        self._workers = workers
        self._name = name
        self._attempt = attempt
        self._on_idle = on_idle
        self._queues: dict[Folder | None, deque[Job]] = {}
        self._turns: deque[Folder | None] = deque()
        self._threads: dict[threading.Thread, Folder | None] = {}
        self._resting = 0
        self._busy: dict[int, Folder | None] = {}
        self._stopped = False
        self._change = threading.Condition()

    def give(self, folder: Folder | None, job: Job) -> None:
        """Have a job done that belongs to this folder (None: to no folder, but to the account)."""
        with self._change:
            if self._stopped:
                return
            queue = self._queues.setdefault(folder, deque())
            queue.append(job)
            if len(queue) == 1:
                self._turns.append(folder)
            self._hire()
            self._change.notify()

    def idle(self) -> bool:
        """Is nothing left to do, but for what hung folders hold?"""
        with self._change:
            waiting = any(folder is None or not folder.stuck() for folder in self._turns)
            return not waiting and len(self._busy) <= self._held_up()

    def relieve(self) -> None:
        """Hire for the threads that hung folders hold, if there is work. To be called now and then."""
        with self._change:
            self._hire()

    def close(self, patience: float) -> bool:
        """Begin no further job, and give those in hand so many seconds. True when all have ended."""
        deadline = time.monotonic() + patience
        with self._change:
            self._stopped = True
            self._turns.clear()
            self._queues.clear()
            self._change.notify_all()
        for thread in list(self._threads):
            thread.join(max(0.0, deadline - time.monotonic()))
        return not self._busy

    def _hire(self) -> None:
        if self._turns and not self._resting and len(self._threads) - self._held_up() < self._workers:
            thread = threading.Thread(target=self._work, name=f"{self._name}-{len(self._threads) + 1}", daemon=True)
            with contextlib.suppress(RuntimeError):  # the system has none to give: `relieve` asks it again
                thread.start()
                self._threads[thread] = None

    def _held_up(self) -> int:
        return sum(folder is not None and thread in folder.stuck() for thread, folder in self._busy.items())

    def _work(self) -> None:
        me = threading.get_ident()
        try:
            while (given := self._next(me)) is not None:
                folder, job = given
                try:
                    self._attempt(str(folder.path) if folder else self._name, job)
                finally:
                    with self._change:
                        del self._busy[me]
                        idle = not self._busy and not self._turns and not self._stopped
                if idle:
                    self._on_idle()
        finally:
            with self._change:
                del self._threads[threading.current_thread()]

    def _next(self, me: int) -> tuple[Folder | None, Job] | None:
        with self._change:
            while not self._stopped:
                if len(self._threads) - self._held_up() > self._workers:
                    self._change.notify()  # the folder is back: whoever rests takes what waits there
                    return None  # one was hired in our place while a folder held us
                for _ in range(len(self._turns)):
                    folder = self._turns.popleft()
                    if folder is not None and folder.stuck():
                        self._turns.append(folder)
                        continue
                    queue = self._queues[folder]
                    job = queue.popleft()
                    if queue:
                        self._turns.append(folder)
                    else:
                        del self._queues[folder]
                    self._busy[me] = folder
                    self._hire()
                    return folder, job
                self._resting += 1
                self._change.wait()
                self._resting -= 1
        return None
