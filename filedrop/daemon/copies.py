"""Checks of the journal, beside the work: after a start that follows no proper end, and of a copy each day.

So damage is noticed within a day, and what a kill or a power cut may have damaged, before anything is posted.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

from filedrop.errors import FiledropError, JournalError
from filedrop.files.rights import explain
from filedrop.process.pool import Task

if TYPE_CHECKING:
    from datetime import date

    import structlog

    from filedrop.journal import Journal
    from filedrop.journal.sqlite import Copies
    from filedrop.process.clock import Clockwork
    from filedrop.process.guard import Guard

AFTER_START = 60.0  # seconds after a start, which has enough to do
CHECK_AGAIN = 60.0  # seconds until a check that could not be made is tried again
AGAIN = 3600.0  # seconds until it is tried again after a failure


class DailyCopy:
    """Checks a journal that is held (`Engine.is_held`), and copies it each day, where it can be copied.

    `spare`: so many bytes of the disk stay free. `guard` reports why today's copy isn't there.
    """

    def __init__(
        self,
        journal: Journal,
        *,
        spare: int,
        clockwork: Clockwork,
        guard: Guard,
        log: structlog.stdlib.BoundLogger,
    ) -> None:
        self._guard = guard
        self._copies = journal.copies
        self._engine = journal.engine
        self._check_due = -math.inf
        self._spare = spare
        self._log = log
        self._clockwork = clockwork
        self._pool = clockwork.pool(1, name="copy", attempt=guard.attempt)
        self._due = clockwork.steady() + AFTER_START
        self._done: date | None = None

    def tick(self) -> None:
        """Begin a check or today's copy, if it is due. Called each second."""
        self._pool.tick()
        steady = self._clockwork.steady()
        if self._engine.is_held:
            if steady >= self._check_due and self._pool.is_idle():
                self._check_due = steady + CHECK_AGAIN
                self._pool.submit(Task(self._engine.check_integrity, lambda: None))
        elif self._copies and steady >= self._due and self._clockwork.now().date() != self._done:
            self._due = steady + AGAIN
            self._pool.submit(Task(partial(self._copy, self._copies), lambda: None))

    def close(self, patience: float) -> None:
        """Stop. A copy that has begun is given up after `patience` seconds."""
        self._pool.close(patience)

    def _copy(self, copies: Copies) -> None:
        today = self._clockwork.now().date()
        try:
            if copies.copy_daily(today, spare=self._spare):
                self._log.info("journal.copied", folder=str(copies.folder))
        except JournalError as error:
            if str(error) != self._engine.trouble:  # which is reported by itself
                self._fails(str(error))
        except FiledropError as error:
            self._fails(f"today's copy of the journal wasn't made: {error}")
        except OSError as error:
            folder = copies.folder
            self._fails(f"today's copy of the journal couldn't be made in {folder}: {explain(error, folder)}")
        else:
            self._done = today
            self._guard.note_success("backup")

    def _fails(self, why: str) -> None:
        self._guard.note("backup", why, "journal.not_copied")
