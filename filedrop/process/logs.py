"""The form of log lines and where they go.

All lines have this form, also those about what a library or Python itself reports.
"""

from __future__ import annotations

import json
import logging
import os
import re
import sys
import threading
import traceback
from contextlib import suppress
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from typing import TYPE_CHECKING

from filedrop.errors import FiledropError
from filedrop.files.rights import explain
from filedrop.model.log import EventLog
from filedrop.process import journald
from filedrop.text import printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from filedrop.config import Log
    from filedrop.model.log import Facts, Level


_MAY_BE_MOVED = sys.platform != "win32"  # which moves no open file
_COLOURS, _PLAIN = {"warning": "\033[33m", "error": "\033[31m"}, "\033[0m"
logging.raiseExceptions = False  # work goes on where a line can't be written


def open_log(log: Log, listener: Callable[[Facts], None] | None = None) -> EventLog:
    """The log that the configuration asks for. Raises FiledropError when its file can't be opened.

    `listener` is called with every event of any level: its name is in `event`, its facts are beside it.
    """
    levels = logging.getLevelNamesMapping()
    lowest = levels[log.level.upper()]
    try:
        handler = (
            _Rotated(log.file, maxBytes=log.max_size, backupCount=log.keep, encoding="utf-8", errors="backslashreplace")
            if log.file
            else logging.StreamHandler(sys.stderr)
        )
    except OSError as error:
        # No ConfigError: the disk may come later, and with it, the service is started again.
        said = explain(error, log.file, to_write=True)
        why = f"log.file can't be written: {log.file}: {said}; create its folder, or name another file"
        raise FiledropError(why) from error
    is_terminal = log.file is None and sys.stderr.isatty()
    for_people = log.format == "console" or (log.format == "auto" and is_terminal)
    is_coloured = is_terminal and sys.platform != "win32" and "NO_COLOR" not in os.environ
    send_to_journal = journald.sender(sys.stderr) if log.file is None else None

    def write(level: Level, event: Facts) -> None:
        if listener is not None:
            with suppress(OSError):  # it prints, and nobody may read that any more
                listener(event)
        if levels[level.upper()] < lowest:
            return
        event |= {"level": level, "timestamp": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")}
        event = one_line(with_trace(event))
        line = _for_people(event, coloured=is_coloured) if for_people else json.dumps(event, default=str)
        if send_to_journal is None or not send_to_journal(line, level, event):
            handler.handle(logging.makeLogRecord({"msg": line}))  # a full disk or a closed pipe loses the line

    return EventLog(write)


def with_trace(event: Facts) -> Facts:
    """An event with the trace of the error that it is about, as text."""
    error = event.pop("exc_info", None)
    if error is True:
        error = sys.exception()
    if isinstance(error, tuple):  # what Python's logging has
        error = error[1]
    if error is not None:  # no trace that shows variables: they may be secrets
        event["exception"] = "".join(traceback.format_exception(error)).rstrip("\n")
    return event


def one_line(event: Facts) -> Facts:
    """Escape what is not printable: file names and other people's texts can't forge a line or drive a terminal."""
    for key, value in event.items():
        if isinstance(value, str) and key != "exception":
            event[key] = printable(value)
    return event


def _for_people(event: Facts, *, coloured: bool) -> str:
    """An event as a person reads it: when, how serious, what, the facts; a trace below it."""
    facts = dict(event)
    when, level, name, trace = (facts.pop(key, "") for key in ("timestamp", "level", "event", "exception"))
    shown = f"{_COLOURS.get(level, '')}{level:<7}{_PLAIN}" if coloured else f"{level:<7}"
    texts = (
        f"{key}={value if _is_a_word(value) else json.dumps(value, default=str, ensure_ascii=False)}"
        for key, value in facts.items()
    )
    return " ".join([when, shown, f"{name:<24}", *texts]).rstrip() + (f"\n{trace}" if trace else "")


def _is_a_word(value: object) -> bool:
    return bool(re.fullmatch(r"[^\s\"'=]+", str(value)))


def hear_others(log: EventLog) -> None:
    """Log as events, from now on, what others report: libraries, and Python about what ends a thread or the process."""
    root = logging.getLogger()
    root.handlers = [*(one for one in root.handlers if not isinstance(one, _Libraries)), _Libraries(log)]
    logging.captureWarnings(capture=True)

    def failed(what: str, error: BaseException | None) -> None:
        log.error("work.failed", what=what, exc_info=error)

    def ended(thread: threading.ExceptHookArgs) -> None:
        if thread.exc_type is not SystemExit:
            failed(thread.thread.name if thread.thread else "a thread", thread.exc_value)

    threading.excepthook = ended
    sys.unraisablehook = lambda ignored: failed(ignored.err_msg or repr(ignored.object), ignored.exc_value)
    sys.excepthook = lambda _kind, error, _trace: failed("filedrop", error)


class _Libraries(logging.Handler):
    """Logs what libraries report by Python's logging: warnings and worse, as Python does without a handler."""

    def __init__(self, log: EventLog) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        log = self._log.error if record.levelno >= logging.ERROR else self._log.warning
        exception = {"exc_info": record.exc_info} if record.exc_info else {}
        log("library.warned", library=record.name, says=record.getMessage().strip(), **exception)


class _Rotated(RotatingFileHandler):
    """Python's rotated file. Where it can't be renamed (on Windows, because it is being read), it goes on growing.

    Where somebody else has moved it away, logrotate for one, another is begun.
    """

    def shouldRollover(self, record: logging.LogRecord) -> bool:  # noqa: N802 - its name in Python
        if _MAY_BE_MOVED and self.stream is not None and self._is_moved(self.stream.fileno()):
            with suppress(OSError):  # its folder is away, too: it goes on where it is
                moved, self.stream = self.stream, self._open()
                moved.close()
        return bool(super().shouldRollover(record))

    def _is_moved(self, opened: int) -> bool:
        try:
            return not os.path.samestat(os.fstat(opened), os.stat(self.baseFilename))  # noqa: PTH116 - no Path
        except OSError:  # opening it tells
            return True

    def doRollover(self) -> None:  # noqa: N802 - its name in Python
        try:
            if self.stream is not None:
                self.stream.close()
                self.stream = None  # where it can't be opened either, the next line tries again
            # First, to itself: else each line would move the older files on, and remove the last, until none is left.
            os.rename(self.baseFilename, self.baseFilename)  # noqa: PTH104 - no Path
            super().doRollover()
        except OSError:
            self.stream = self._open()
