"""The threads that touch folders: one serves them all, with one more for each folder that keeps a thread busy.

A folder is served by one thread at a time, and folders take turns. A folder that takes long, because its share is slow
or hangs, keeps its thread, and a new thread serves the others. After `wake`, each folder is asked when its step is due.
Otherwise only the folder that was just served is asked again: with hundreds of folders, asking all costs more than a
step.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import threading
import time
from collections import deque
from dataclasses import replace
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Protocol

from filedrop.errors import JournalError
from filedrop.files.patience import UNAVAILABLE_AFTER
from filedrop.pauses import Pausing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from filedrop.model.report import FolderReport
    from filedrop.storage.folder import Folder

    Attempt = Callable[[str, Callable[[], None]], Exception | None]

UNKNOWN = 30.0  # seconds until a folder is asked again that could not tell when its next step is due
BUSY = 2.0  # seconds after which a new thread serves the other folders
ASKED_EVERY = 60.0  # seconds at most until all folders are asked again when their next step is due
A_GLANCE = 0.1  # seconds between checks, at the end, whether a folder keeps the last thread busy


class Served(Protocol):
    """Work in a folder: `step` does some of it, `due` says when the next step is due (steady), `close` is the last."""

    @property
    def folder(self) -> Folder:
        """The folder."""

    @property
    def report(self) -> FolderReport:
        """What was known of the folder after the last step."""

    def due(self) -> float:
        """When the next step is due."""

    def step(self) -> None:
        """Take a step."""

    def close(self) -> None:
        """Take the last step."""


class FolderWorkers:
    """Serves folders. `steady` is the clock of `due`.

    `attempt` runs a step, survives its error and returns it. `progress`: a number that changes with what steps record.
    After errors, and where nothing comes of steps that are due again at once, the steps of a folder pause for longer
    and longer. Those of the journal are no such errors: when it can be written again, a step is due at once.
    """

    busy_after = BUSY
    hung_after = UNAVAILABLE_AFTER

    def __init__(self, *, attempt: Attempt, progress: Callable[[], int], steady: Callable[[], float]) -> None:
        self._attempt = attempt
        self._progress = progress
        self.steady = steady
        self._turns: deque[Served] = deque()
        self._unasked = 0  # the first so many of the turns: since `wake`, they weren't asked when they are due
        self._later: list[tuple[float, int, Served]] = []  # a heap of the others, by when they are due (steady)
        self._numbers = itertools.count()  # so that the heap never compares folders
        self._all_asked = -math.inf  # when all were asked last (steady)
        self._leaving: set[Served] = set()  # of these: their next step is the last
        self._busy: dict[Served, float] = {}  # since when (time.monotonic)
        self._answered: dict[Served, float] = {}  # of these: when the folder has last answered amid its step
        self._pausing: dict[Served, Pausing] = {}  # by the clock of `due`
        self._threads: set[threading.Thread] = set()
        self._is_woken = False
        self._is_closed = False
        self._change = threading.Condition()

    def add(self, served: Iterable[Served]) -> None:
        """Serve these folders, too. Thread-safe."""
        with self._change:
            self._turns.extend(served)
            self._wake()

    def remove(self, served: Iterable[Served]) -> None:
        """Let these folders take their last step, and serve them no longer. Thread-safe.

        One that hangs is served until it answers.
        """
        with self._change:
            self._leaving.update(leaving for leaving in served if leaving in self._turns)
            self._wake()

    def serves(self, served: Served) -> bool:
        """Whether a folder was added, and has not taken its last step. Thread-safe."""
        with self._change:
            return served in self._turns

    def start(self) -> None:
        """Start."""
        with self._change:
            self._start()

    def wake(self) -> None:
        """Note that a step may be due. Thread-safe."""
        if not self._is_woken:
            with self._change:
                self._wake()

    def _wake(self) -> None:
        self._is_woken = True
        self._change.notify()

    def relieve(self) -> None:
        """Start a thread if folders that take long keep all others busy. Called now and then. Thread-safe."""
        with self._change:
            if not self._is_closed and len(self._threads) <= self._kept_busy():
                self._start()
                self._wake()

    def is_hung(self, served: Served) -> bool:
        """Whether this folder has not answered for so long that it is unavailable. Thread-safe."""
        since = self._busy.get(served)
        return since is not None and time.monotonic() - max(since, self._answered.get(served, since)) > self.hung_after

    def answers(self, served: Served) -> None:
        """Note that a folder answers, and something comes of its step, which may take long. Called amid that step."""
        self._answered[served] = time.monotonic()

    def reports(self, folders: Iterable[Served]) -> tuple[FolderReport, ...]:
        """What is known of these folders, and whether they hang, which their own workers can't tell. Thread-safe."""
        hung = {served for served in list(self._busy) if self.is_hung(served)}
        return tuple(replace(served.report, is_hung=True) if served in hung else served.report for served in folders)

    def hung(self) -> Path | None:
        """A folder that has not answered for so long, if there is one. Thread-safe."""
        return next((served.folder.path for served in list(self._busy) if self.is_hung(served)), None)

    def is_in(self, served: Served) -> bool:
        """Whether a thread is in this folder, which may hang. Thread-safe."""
        return served in self._busy

    def is_serving(self, served: Served) -> bool:
        """Whether a thread is in this folder, and the folder doesn't hang. Thread-safe."""
        return served in self._busy and not self.is_hung(served)

    def is_alive(self) -> bool:
        """Whether there is a thread that serves. Thread-safe."""
        return any(thread.is_alive() for thread in list(self._threads))

    def due(self, served: Served) -> float:
        """When the next step of a folder is due (steady). The last one is due at once."""
        if served in self._leaving:
            return -math.inf
        found: list[float] = []
        if self._attempt(f"the next step in {served.folder.path}", lambda: found.append(served.due())) is not None:
            return self.steady() + UNKNOWN
        return max(found[0], self._pausing[served].until) if served in self._pausing else found[0]

    def serve(self, served: Served) -> None:
        """Take a step in a folder whose turn has come."""
        is_last, before = served in self._leaving, self._progress()
        try:
            error = self._attempt(str(served.folder.path), served.close if is_last else served.step)
            is_idle = served not in self._answered and self._progress() == before
            self._pause(served, error, is_idle=is_idle)
        finally:
            with self._change:
                del self._busy[served]
                self._answered.pop(served, None)
                if is_last and served in self._turns:  # else `close` waits for it no longer
                    self._turns.remove(served)
                    self._leaving.discard(served)
                    self._wake()
                    self._change.notify_all()
                elif not self._is_woken:
                    due = self.due(served)
                    if due <= self.steady():  # the others have their turn first
                        self._wake()
                    else:
                        self._keep(served, due)

    def _pause(self, served: Served, error: Exception | None, *, is_idle: bool) -> None:
        pausing, has_failed = self._pausing.pop(served, None), error is not None and not isinstance(error, JournalError)
        if has_failed or (is_idle and self.due(served) <= self.steady()):
            self._pausing[served] = pausing = pausing or Pausing()
            pausing.note(self.steady(), has_failed=has_failed, is_idle=is_idle)

    def close(self, deadline: float) -> None:
        """Let all folders take their last step, until `deadline` (monotonic), which leaves out those that hang."""
        deadline = max(time.monotonic() + BUSY, deadline)
        with self._change:
            self._is_closed = True
            self._leaving.update(self._turns)
            self._is_woken = True
            self._change.notify_all()
            while self._turns and time.monotonic() < deadline:
                if len(self._threads) <= len(self._busy):
                    self._start()
                self._change.wait(A_GLANCE)
            self._turns.clear()
            self._leaving.clear()
            self._change.notify_all()
        for thread in list(self._threads):
            thread.join(max(0.0, deadline - time.monotonic()))

    def _next(self) -> Served | float:
        """The folder whose turn has come, which is busy from now on; or the seconds until a step is due."""
        now = self.steady()
        if self._is_woken or now >= self._all_asked + ASKED_EVERY:
            self._is_woken, self._all_asked = False, now
            self._unasked = len(self._turns)
            self._later.clear()
        while self._unasked:
            self._unasked -= 1
            served = self._turns[0]
            self._turns.rotate(-1)
            if self._is_due(served, now):
                return served
        while self._later and self._later[0][0] <= now:
            _, _, served = heappop(self._later)
            if served in self._turns and self._is_due(served, now):
                return served
        return min(self._later[0][0] if self._later else math.inf, self._all_asked + ASKED_EVERY) - now

    def _is_due(self, served: Served, now: float) -> bool:
        """Whether a folder is to be served now, and so is busy from now on."""
        if served in self._busy:  # it is asked when its step has ended
            return False
        due = self.due(served)
        if due <= now:
            self._busy[served] = time.monotonic()
        else:
            self._keep(served, due)
        return due <= now

    def _keep(self, served: Served, due: float) -> None:
        if due < math.inf:
            heappush(self._later, (due, next(self._numbers), served))

    def _kept_busy(self) -> int:
        now = time.monotonic()
        return sum(now - since > self.busy_after for since in self._busy.values())

    def _start(self) -> None:
        thread = threading.Thread(target=self._work, name=f"folders-{len(self._threads) + 1}", daemon=True)
        with contextlib.suppress(RuntimeError):  # the system has no thread now: `relieve` tries again
            thread.start()
            self._threads.add(thread)

    def _work(self) -> None:
        this_thread = threading.current_thread()
        while True:
            with self._change:
                is_replaced = len(self._threads) > self._kept_busy() + 1
                if not self._turns if self._is_closed else is_replaced:
                    self._threads.discard(this_thread)
                    self._change.notify()  # a waiting thread takes what is due
                    return
                found = self._next()
                if isinstance(found, float):
                    self._change.wait(max(found, 0.0))
                    continue
            self.serve(found)
