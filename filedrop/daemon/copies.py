"""A copy of the journal each day, made beside the work, and checked: so damage is noticed within a day."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from filedrop.errors import FiledropError, JournalError
from filedrop.files.rights import explain

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import date

    import structlog

    from filedrop.journal.copies import Copies
    from filedrop.process.clock import Clockwork

FIRST = 60.0  # seconds after a start, which has enough to do
AGAIN = 3600.0  # seconds until it is tried again after a failure


class DailyCopy:
    """Makes the `copies`, where the journal has any. `trouble` says why today's isn't there, or "".

    `spare`: so many bytes of the disk stay free. `attempt` survives a task's errors.
    """

    def __init__(
        self,
        copies: Copies | None,
        *,
        spare: int,
        clockwork: Clockwork,
        attempt: Callable[[str, Callable[[], None]], object],
        log: structlog.stdlib.BoundLogger,
    ) -> None:
        self.trouble = ""
        self._copies = copies
        self._spare = spare
        self._log = log
        self._clockwork = clockwork
        self._pool = clockwork.pool(1, name="copy", attempt=attempt)
        self._due = clockwork.steady() + FIRST
        self._done: date | None = None

    def tick(self) -> None:
        """Begin today's copy, if it is due. Called each second."""
        self._pool.tick()
        steady = self._clockwork.steady()
        if self._copies and steady >= self._due and self._clockwork.now().date() != self._done:
            self._due = steady + AGAIN
            self._pool.submit(partial(self._copy, self._copies), lambda: None)

    def close(self, patience: float) -> None:
        """Stop. A copy that has begun is given up after `patience` seconds."""
        self._pool.close(patience)

    def _copy(self, copies: Copies) -> None:
        today = self._clockwork.now().date()
        try:
            if copies.copy_daily(today, spare=self._spare):
                self._log.info("journal.copied", folder=str(copies.folder))
        except JournalError as error:
            self._fails(str(error))
        except FiledropError as error:
            self._fails(f"today's copy of the journal wasn't made: {error}")
        except OSError as error:
            folder = copies.folder
            self._fails(f"today's copy of the journal couldn't be made in {folder}: {explain(error, folder)}")
        else:
            self.trouble, self._done = "", today

    def _fails(self, why: str) -> None:
        if why != self.trouble:
            self._log.error("journal.not_copied", why=why)
        self.trouble = why
