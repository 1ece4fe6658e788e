"""The form of log lines and where they go; the one place where structlog is set up.

All lines have this form, also those about what a library or Python itself reports.

In systemd's journal they have fields of their own (native protocol: systemd.io/JOURNAL_NATIVE_PROTOCOL), by which
`journalctl FILEDROP_COMPANY=acme` and `-p warning` find them. Where the journal doesn't read us, nothing is sent.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import sys
import threading
from contextlib import suppress
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filedrop.errors import FiledropError
from filedrop.files.rights import explain
from filedrop.process.without_rich import structlog
from filedrop.texts.printable import printable

if TYPE_CHECKING:
    from collections.abc import Callable, MutableMapping

    from filedrop.config import Log

    Event = MutableMapping[str, Any]
    from collections.abc import MutableMapping
    from typing import TextIO

_MAY_BE_MOVED = sys.platform != "win32"  # which moves no open file
logging.raiseExceptions = False  # work goes on where a line can't be written

SOCKET = Path("/run/systemd/journal/socket")
PRIORITIES = {"debug": 7, "info": 6, "warning": 4, "error": 3}  # syslog(3)


def open_log(log: Log, listener: Callable[[Event], None] | None = None) -> structlog.stdlib.BoundLogger:
    """The log that the configuration asks for. Raises FiledropError when its file can't be opened.

    `listener` is called with every event of any level: its name is in `event`, its facts are beside it.
    """
    levels = logging.getLevelNamesMapping()
    lowest = levels[log.level.upper()]

    def pass_on(_logger: Any, method: str, event: Event) -> Event:
        if listener is not None:
            with suppress(OSError):  # it prints, and nobody may read that any more
                listener(event)
        if levels[method.upper()] < lowest:
            raise structlog.DropEvent
        return event

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
    console = log.format == "console" or (log.format == "auto" and log.file is None and sys.stderr.isatty())
    renderer: structlog.typing.Processor = (
        # Other formatters show variables, and so secrets (tests/findings/structlog-locals.sh).
        structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
        if console
        else structlog.processors.JSONRenderer(serializer=_in_json)
    )
    if log.file is None:
        renderer = with_fields(renderer, sys.stderr)
    logger: structlog.stdlib.BoundLogger = structlog.wrap_logger(
        _Lines(handler),
        processors=[
            pass_on,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *([] if console else [structlog.processors.format_exc_info]),
            _one_line,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.DEBUG if listener else lowest),
        cache_logger_on_first_use=True,
    )
    return logger


def log_libraries(log: structlog.stdlib.BoundLogger) -> None:
    """Log as events, from now on, what others report: libraries, and Python about what ends a thread or the process."""
    root = logging.getLogger()
    root.handlers = [*(handler for handler in root.handlers if not isinstance(handler, _Libraries)), _Libraries(log)]
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

    def __init__(self, log: structlog.stdlib.BoundLogger) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        level = logging.ERROR if record.levelno >= logging.ERROR else logging.WARNING
        exception = {"exc_info": record.exc_info} if record.exc_info else {}
        self._log.log(level, "library.warned", library=record.name, says=record.getMessage().strip(), **exception)


class _Lines:
    """The output, by one of Python's handlers. A line that it can't write (full disk, closed pipe) is lost."""

    def __init__(self, handler: logging.Handler) -> None:
        self._handler = handler
        self._record = logging.makeLogRecord({})  # the same for each line: making one takes longer than writing it

    def msg(self, message: str) -> None:
        self._handler.acquire()
        try:
            vars(self._record).update(msg=message)
            self._handler.emit(self._record)
        finally:
            self._handler.release()

    debug = info = warning = error = critical = exception = msg


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


def _in_json(event: Event, *, default: Callable[[object], object]) -> str:
    """A line of the log. A JSON encoder with a `default` is made again for each line, and few lines need one."""
    try:
        return json.dumps(event)
    except TypeError:
        return json.dumps(event, default=default)


def _one_line(_logger: Any, _method: str, event: Event) -> Event:
    """Escape what is not printable: file names and other people's texts can't forge a line or drive a terminal."""
    for key, value in event.items():
        if isinstance(value, str) and key != "exception":
            event[key] = printable(value)
    return event


def with_fields(
    render: structlog.typing.Processor, stream: TextIO, *, journal: Path = SOCKET
) -> structlog.typing.Processor:
    """A renderer that sends the rendered line and its facts to the journal, if that is who reads `stream`.

    A line that the journal doesn't take, because it is too long for a datagram, is written to the stream.
    """
    if not hasattr(socket, "AF_UNIX") or not _is_read_by_journal(stream):
        return render
    to = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    to.settimeout(0)  # nothing waits for the journal

    def send(logger: Any, method: str, event: MutableMapping[str, Any]) -> Any:
        fields = {f"FILEDROP_{name.upper()}": value for name, value in event.items() if name != "timestamp"}
        line = render(logger, method, event)
        priority = PRIORITIES.get(method, PRIORITIES["error"])
        fields |= {"MESSAGE": line, "PRIORITY": priority, "SYSLOG_IDENTIFIER": "filedrop"}
        try:
            to.sendto(b"".join(_field(name, str(value)) for name, value in fields.items()), str(journal))
        except OSError:
            return line
        raise structlog.DropEvent

    return send


def _is_read_by_journal(stream: TextIO) -> bool:
    """Whether JOURNAL_STREAM names this stream (systemd.exec(5)): it may have been redirected since the start."""
    try:
        status = os.fstat(stream.fileno())
    except (OSError, ValueError):
        return False
    return os.environ.get("JOURNAL_STREAM") == f"{status.st_dev}:{status.st_ino}"


def _field(name: str, value: str) -> bytes:
    text = value.encode("utf-8", "backslashreplace")
    return name.encode() + b"\n" + len(text).to_bytes(8, "little") + text + b"\n"
