"""The thread that writes answers into the journal: all that have piled up, in one commit.

While the access point answers quickly, senders and folders take turns: a batch is recorded and filed when its last
answer is there. If both worked at the same time, they would pass Python to each other some 40 times a document.

What can't be written is kept and tried again. Meanwhile nothing is handed over, since the journal is in trouble.
"""

from __future__ import annotations

import queue
import threading
import time
from typing import TYPE_CHECKING

from filedrop.errors import Changed, JournalError
from filedrop.inbound.context import MarkedRead
from filedrop.outbound.context import Unrecorded
from filedrop.pauses import RECORD

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from filedrop.journal import Journal

    Result = Unrecorded | MarkedRead

ANSWERS_A_COMMIT = 256  # answers in one commit: bounds how long others wait for it
LONGEST_LULL = 0.1  # seconds that an answer waits for others at most


class Recorder:
    """Records what came of requests, and returns it. `attempt` runs a step and survives its errors."""

    def __init__(self, journal: Journal, *, attempt: Callable[[str, Callable[[], None]], Exception | None]) -> None:
        self._journal = journal
        self._attempt = attempt
        self._queue: queue.SimpleQueue[Result | None] = queue.SimpleQueue()
        self._unwritten: list[Result] = []
        self._thread = threading.Thread(target=self._work, name="recorder", daemon=True)
        self._closing = threading.Event()
        self._is_lull = threading.Event()

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def is_alive(self) -> bool:
        """Whether the thread is alive."""
        return self._thread.is_alive()

    def put(self, result: Result) -> None:
        """Queue an answer, to be recorded and then returned. Thread-safe."""
        self._queue.put(result)

    def note_lull(self) -> None:
        """Note that no answer is to be expected soon: those that have come are written now. Thread-safe."""
        self._is_lull.set()

    def step(self) -> None:
        """Write what has piled up. Raises JournalError; what can't be written is kept."""
        while len(self._unwritten) < ANSWERS_A_COMMIT and not self._queue.empty():
            result = self._queue.get()
            if result is not None:
                self._unwritten.append(result)
        batch, self._unwritten = self._unwritten, []
        try:
            self._write_answers([answer for answer in batch if isinstance(answer, Unrecorded)])
        finally:
            self._write_marks([mark for mark in batch if isinstance(mark, MarkedRead)])

    def close(self, deadline: float) -> None:
        """Write what is left, until `deadline` (monotonic) at the latest."""
        self._closing.set()
        self._queue.put(None)
        self._thread.join(max(0.0, deadline - time.monotonic()))

    def _write_answers(self, answers: Sequence[Unrecorded]) -> None:
        failure: JournalError | None = None
        try:
            recorded = self._journal.numbers.record_answers([answer.outcome for answer in answers])
        except BaseException:
            self._unwritten += answers
            raise
        for answer, document in zip(answers, recorded, strict=True):
            if isinstance(document, JournalError) and not isinstance(document, Changed):
                self._unwritten.append(answer)
                failure = document
            else:
                answer.returned(document)
        if failure is not None:
            raise failure

    def _write_marks(self, marks: Sequence[MarkedRead]) -> None:
        try:
            self._journal.messages.record_all(
                [mark.row for mark in marks]
            )  # what has changed is listed, or taken up, anew
        except BaseException:
            self._unwritten += marks
            raise
        for mark in marks:
            mark.returned()

    def _work(self) -> None:
        failures = 0
        while self._unwritten or not (self._closing.is_set() and self._queue.empty()):
            if not self._unwritten:
                result = self._queue.get()
                if result is not None:
                    self._unwritten.append(result)
                    self._is_lull.wait(LONGEST_LULL)
                    self._is_lull.clear()
            if self._attempt("recorder", self.step) is None:
                failures = 0
            elif self._closing.is_set():
                return
            else:
                failures += 1
                self._closing.wait(RECORD.seconds(failures))
