"""What filedrop writes to Windows' event log: start, stop, mistakes to correct, failures, alarms; one sentence each.

Each service is a source of its own. Windows makes sentences by a source's table of messages; ours are whole already, so
the table is that of Windows' own eventcreate, in which each message is "%1". It is no file of ours: the event log keeps
these open, and an upgrade couldn't replace them.
"""

from __future__ import annotations

import contextlib
from enum import IntEnum

import pywintypes
import win32evtlog
import win32evtlogutil

TABLE = r"%SystemRoot%\System32\EventCreate.exe"  # it has the numbers 1 to 1000


class Number(IntEnum):
    """By which monitoring tells the events apart."""

    STARTED = 1
    STOPPED = 2
    MISTAKE = 3
    FAILED = 4
    ALARM = 5


KINDS = {
    Number.STARTED: win32evtlog.EVENTLOG_INFORMATION_TYPE,
    Number.STOPPED: win32evtlog.EVENTLOG_INFORMATION_TYPE,
    Number.MISTAKE: win32evtlog.EVENTLOG_ERROR_TYPE,
    Number.FAILED: win32evtlog.EVENTLOG_ERROR_TYPE,
    Number.ALARM: win32evtlog.EVENTLOG_WARNING_TYPE,
}
LONGEST_ENTRY = 30_000  # characters; ReportEvent takes 31,839


def report(source: str, number: Number, sentence: str) -> None:
    """Report it; what can't be told there (a full log, say) stops nothing."""
    with contextlib.suppress(pywintypes.error):
        win32evtlogutil.ReportEvent(source, number, eventType=KINDS[number], strings=[sentence[:LONGEST_ENTRY]])


def add_source(source: str) -> None:
    """Make it known. Raises pywintypes.error."""
    win32evtlogutil.AddSourceToRegistry(source, TABLE, "Application")


def remove_source(source: str) -> None:
    """Make it unknown again; its events stay in the log."""
    with contextlib.suppress(pywintypes.error):
        win32evtlogutil.RemoveSourceFromRegistry(source, "Application")
