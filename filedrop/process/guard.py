"""A whole that is made part by part: an error that nobody foresaw costs the part in which it happens, and no other."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from filedrop.errors import FiledropError
from filedrop.process.loop import log_failure, unforeseen

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import structlog

T = TypeVar("T")
LONGEST_ERROR = 200  # characters of an error


class Guard:
    """Makes parts, in rounds. Without a `log`, the sentence about an error is all that is left of it.

    `troubles`: by its name, the sentence about each part that couldn't be made when it was last tried, in this round or
    the one before. Other threads may read it.
    """

    def __init__(self, log: structlog.stdlib.BoundLogger | None = None) -> None:
        self.troubles: Mapping[str, str] = {}
        self._failed: set[str] = set()  # in this round
        self._log = log

    def begin(self) -> None:
        """Begin a round: parts that the last one no longer had are forgotten."""
        self.troubles = {part: why for part, why in self.troubles.items() if part in self._failed}
        self._failed = set()

    def make(self, part: str, job: Callable[[], T], otherwise: T) -> T:
        """What the job returns; `otherwise` after an unforeseen error, which is logged when it is new.

        Raises FiledropError and OSError as the job does: the caller knows what to do then.
        """
        made: list[T] = []
        error = unforeseen(lambda: made.append(job()))
        if isinstance(error, FiledropError | OSError):
            raise error
        if error is None:
            if part in self.troubles:
                self.troubles = {name: why for name, why in self.troubles.items() if name != part}
            return made[0]
        if self._log and part not in self.troubles:
            log_failure(self._log, part, error)
        what = f"{type(error).__name__}: {error}"[:LONGEST_ERROR]
        self._failed.add(part)
        self.troubles = {**self.troubles, part: f"{part}: an error in filedrop; please report it ({what})"}
        return otherwise
