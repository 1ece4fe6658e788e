"""Logs for what is built by hand in a test."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TextIO

from filedrop.model.log import EventLog
from filedrop.process.logs import with_trace

if TYPE_CHECKING:
    from filedrop.model.log import Facts, Level

NOWHERE = EventLog(lambda _level, _event: None)


def log_into(file: TextIO) -> EventLog:
    """A log of every level, whose lines have the form that a daemon's have, but for the time."""

    def write(level: Level, event: Facts) -> None:
        file.write(json.dumps({**with_trace(event), "level": level}, default=str) + "\n")

    return EventLog(write)
