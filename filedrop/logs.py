"""The one place where structlog is configured: what a log line looks like and where it goes."""

from __future__ import annotations

import logging
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO

import structlog

if TYPE_CHECKING:
    from collections.abc import Callable, MutableMapping
    from typing import Any

    from filedrop.config import Log

    Event = MutableMapping[str, Any]


def configure(log: Log, hear: Callable[[Event], None] | None = None) -> structlog.stdlib.BoundLogger:
    """Set up logging as the configuration says. Raises OSError when the log file can't be opened.

    `hear` is told every event, whatever its level: an event's name is in `event`, its facts beside it.
    """
    lowest = logging.getLevelNamesMapping()[log.level.upper()]

    def heard(_logger: Any, method: str, event: Event) -> Event:
        if hear is not None:
            with suppress(OSError):  # it prints: see `_Lines`
                hear(event)
        if logging.getLevelNamesMapping()[method.upper()] < lowest:
            raise structlog.DropEvent
        return event

    stream: TextIO = log.file.open("a", encoding="utf-8", errors="backslashreplace") if log.file else sys.stderr
    console = log.format == "console" or (log.format == "auto" and log.file is None and stream.isatty())
    renderer: structlog.typing.Processor = (
        structlog.dev.ConsoleRenderer(
            exception_formatter=structlog.dev.plain_traceback
        )  # others show variables: secrets
        if console
        else structlog.processors.JSONRenderer()
    )
    structlog.configure(
        processors=[
            heard,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info if not console else _same,
            _one_line,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.DEBUG if hear else lowest),
        logger_factory=lambda *_: _Lines(stream),
        cache_logger_on_first_use=True,
    )
    logger: structlog.stdlib.BoundLogger = structlog.get_logger()
    return logger


class _Lines(structlog.WriteLogger):
    """Where lines go. One that can't be written, for the disk is full or nobody listens, is lost: it stops no work."""

    def msg(self, message: str) -> None:
        with suppress(OSError):
            super().msg(message)

    debug = info = warning = error = critical = exception = msg


def _same(_logger: Any, _method: str, event: Event) -> Event:
    return event


def _one_line(_logger: Any, _method: str, event: Event) -> Event:
    """File names and other people's texts can't forge a line or drive a terminal."""
    for key, value in event.items():
        if isinstance(value, str) and key != "exception" and not value.isprintable():
            event[key] = value.encode("unicode_escape", "backslashreplace").decode()
    return event
