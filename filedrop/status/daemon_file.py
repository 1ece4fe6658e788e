"""daemon.json in `state`: the daemon's part of the status, for commands that may read `state`.

No share holds it up, and nobody but the daemon's user may write it. Others read status.json in the root.
"""

from __future__ import annotations

import json
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from filedrop.files import Directory, clear_drafts, replace_whole
from filedrop.model.report import Kept
from filedrop.status.model import CompanyStrays
from filedrop.status.page_file import WRITTEN_ANYWAY
from filedrop.status.reasons import Left
from filedrop.status.survey import DaemonPart

if TYPE_CHECKING:
    from typing import Any

NAME = "daemon.json"
VERSION = 1


class DaemonFile:
    """Keeps the file up to date. For one thread."""

    def __init__(self, state: Path) -> None:
        self._state = state
        self._written: DaemonPart | None = None
        self._next = 0.0

    def write(self, part: DaemonPart) -> None:
        """Write it if something has changed, and each minute: `heard` shows that the daemon works. Raises OSError."""
        news = replace(part, heard=None, kept=Kept())
        if news == self._written and time.monotonic() < self._next:
            return
        state = Directory.open(self._state)
        if self._written is None:
            clear_drafts(state)
        replace_whole(state / NAME, encoded(part).encode() + b"\n")
        self._written, self._next = news, time.monotonic() + WRITTEN_ANYWAY


def read(state: Path) -> DaemonPart:
    """What the daemon wrote last; nothing where it has written nothing, or a later version has."""
    try:
        return decoded((state / NAME).read_bytes())
    except OSError:
        return DaemonPart()


def encoded(part: DaemonPart) -> str:
    """A daemon's part as JSON."""
    waiting = [(str(path), *left) for path, left in part.waiting.items()]
    return json.dumps({"filedrop": VERSION, **asdict(replace(part, waiting={})), "waiting": waiting})


def decoded(said: str | bytes) -> DaemonPart:
    """A daemon's part from JSON; nothing where a later version has written it."""
    try:
        content = json.loads(said)
        return _part(content) if content.pop("filedrop") == VERSION else DaemonPart()
    except (ValueError, KeyError, TypeError, AttributeError):
        return DaemonPart()


def _part(content: dict[str, Any]) -> DaemonPart:
    return DaemonPart(
        **content
        | {
            "kept": Kept(**content["kept"]),
            "waiting": {Path(path): Left(*left) for path, *left in content["waiting"]},
            "strays": {name: CompanyStrays(number, tuple(few)) for name, (number, few) in content["strays"].items()},
        }
    )
