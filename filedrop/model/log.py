"""The log that every part is given: events by name, with their facts. process/logs writes them down."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable

    Level = Literal["debug", "info", "warning", "error"]
    Facts = dict[str, Any]


class EventLog:
    """Events with facts, passed to `write`, which several threads may call at a time.

    `exc_info` is the error that an event is about; True is the one that is being handled.
    """

    __slots__ = ("_bound", "_write")

    def __init__(self, write: Callable[[Level, Facts], object], bound: Facts | None = None) -> None:
        self._write = write
        self._bound = bound or {}

    def bind(self, **facts: Any) -> EventLog:
        """A log whose events have these facts, too."""
        return EventLog(self._write, {**self._bound, **facts})

    def debug(self, event: str, **facts: Any) -> None:
        """What only somebody who searches for a mistake reads."""
        self._write("debug", {**self._bound, **facts, "event": event})

    def info(self, event: str, **facts: Any) -> None:
        """What happened as it should."""
        self._write("info", {**self._bound, **facts, "event": event})

    def warning(self, event: str, **facts: Any) -> None:
        """What may need attention."""
        self._write("warning", {**self._bound, **facts, "event": event})

    def error(self, event: str, **facts: Any) -> None:
        """What failed."""
        self._write("error", {**self._bound, **facts, "event": event})

    def exception(self, event: str, **facts: Any) -> None:
        """What failed by the error that is being handled, which nobody has foreseen."""
        self.error(event, exc_info=True, **facts)
