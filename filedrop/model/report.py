"""Reports: what the daemon knows of a folder, an account and itself.

Each owner publishes its report, and replaces it when something has changed. Reports are frozen: any thread may read
them, and gets one that fits together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

    from filedrop.model.message import Message

Condition = Literal["unknown", "ok", "away", "refused", "no password", "wrong address"]
LISTED = 20  # files of each kind by name: enough to act on, little enough to read


@dataclass(frozen=True, slots=True)
class FileReport:
    """A file that isn't sent: why, and since when it is as it is now, in seconds since 1970.

    `is_incomplete`: it waits for another file, which only its people can put there.
    """

    path: Path
    why: str
    since: float
    is_incomplete: bool = False


@dataclass(frozen=True, slots=True)
class StrayReport:
    """How many files nobody will send, and the newest of them, at most LISTED."""

    number: int = 0
    newest: tuple[FileReport, ...] = ()


@dataclass(frozen=True, slots=True)
class FolderReport:
    """What the worker in a folder knows of it.

    `trouble`: why the folder is unavailable, `warnings`: what else is wrong with it, `refused`: the one of these that
    says why files can't be moved or written there; each a sentence, "" where nothing is wrong. `file_system`: what can
    be done there, in words. `is_hung`: a step has not ended for too long.
    `progress`: what takes long there and how far it is, as a sentence, "" where nothing does.

    The rest is of outbound folders. `id` is "" before the folder was first seen. `waiting`: the newest dropped files
    that weren't ready, at most LISTED, of `unready` altogether; `has_faults`: one of them can't be read. `unclaimed`:
    names of the last listing still to be looked at. `last_scan`: when the folder was last listed, by the steady clock.
    `strays` is None until the worker has looked for long enough.
    """

    path: Path
    company: str
    trouble: str = ""
    warnings: tuple[str, ...] = ()
    refused: str = ""
    file_system: str = ""
    progress: str = ""
    is_hung: bool = False
    id: str = ""
    is_held: bool = False
    waiting: tuple[FileReport, ...] = ()
    unready: int = 0
    has_faults: bool = False
    unclaimed: int = 0
    last_scan: float = field(default=-math.inf, compare=False)  # a scan that finds nothing is no news
    strays: StrayReport | None = None


@dataclass(frozen=True, slots=True)
class AccessReport:
    """Whether an account can be used (accesspoint/breaker).

    `why` is a sentence, "" where all is well or nothing is known yet; `next_attempt` is the next probe.
    """

    condition: Condition = "unknown"
    why: str = ""
    next_attempt: datetime | None = None


@dataclass(frozen=True, slots=True)
class InboxReport:
    """What the last poll of an inbox found; `last_poll` is None before the first.

    `for_nobody`: how many messages for none of the companies. `statuses`: how many of these are for access points, and
    name no document of this filedrop. `nobodys`: the first few of the others, each with the company that has the twin
    of its receiver, or None. `stuck`: how many can't be taken, by company; `waiting`: how many others are to be
    received. `unmarked`: how many were still listed that had been delivered or recorded before; `why_unmarked`: of the
    last that could not be marked as read, in this poll or before, why.
    """

    last_poll: datetime | None = None
    unread: int = 0
    for_nobody: int = 0
    statuses: int = 0
    nobodys: tuple[tuple[Message, str | None], ...] = ()
    stuck: Mapping[str, int] = field(default_factory=dict)
    waiting: Mapping[str, int] = field(default_factory=dict)
    unmarked: int = 0
    why_unmarked: str = ""


@dataclass(frozen=True, slots=True)
class AccountReport:
    """What is known of an account and its folders.

    `cut_short`: by name, why a list of the access point could not be read to its end, "" where it could.
    """

    name: str
    access: AccessReport
    inbox: InboxReport
    cut_short: Mapping[str, str]
    outbound: tuple[FolderReport, ...]
    inbound: tuple[FolderReport, ...]


@dataclass(frozen=True, slots=True)
class Kept:
    """What the evidence of work keeps for the next run (daemon/evidence).

    `starts`: when filedrop was started within the last hour, in seconds since 1970. `absences`: by account, for how
    many seconds it was away, by the hours since 1970 of the last day. `marks`: by what is owed, its mark, for how many
    seconds that has been the same while filedrop ran, and since when.
    """

    starts: Sequence[float] = ()
    absences: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    marks: Mapping[str, tuple[str, float, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DaemonReport:
    """All reports of a daemon together, `made` then. `unassigned`: the folder for nobody's messages, if there is one.

    `troubles`: by what they are about, what keeps work from being done that no account or folder reports.
    `standstills`: in the same way, what is owed and stands still. `kept`: for the next run. `journal`: why it can't be
    used, "" while it can. `configured`: when the configuration was last read (ISO 8601).
    """

    made: datetime = field(compare=False)
    accounts: tuple[AccountReport, ...] = ()
    unassigned: FolderReport | None = None
    troubles: Mapping[str, str] = field(default_factory=dict)
    standstills: Mapping[str, str] = field(default_factory=dict)
    kept: Kept = field(default_factory=Kept, compare=False)
    journal: str = ""
    configured: str = ""
