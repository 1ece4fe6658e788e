"""`filedrop run --once`: everything that is there now, with progress on a terminal and plain lines elsewhere.

What happens is heard from the log's events: the same words, once.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter, defaultdict
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from filedrop.cli import FAILED, UNREACHABLE
from filedrop.cli.opening import open_log
from filedrop.cli.show import console, say, tell
from filedrop.document import State
from filedrop.service import Service, sole_use
from filedrop.statusfile import StatusFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from filedrop.config import Config
    from filedrop.journal import MessageRow

SENTENCES = {  # what people are told of each event; of a document put away, by the state it has come to
    "sent": "{company}: {file}: accepted as message {msg_no}",
    "delivered": "{company}: {file}: delivered",
    "document.failed": "{company}: {file}: failed: {why}",
    "document.taken": "{company}: {file}: somebody took it away",
    "message.received": "{company}: received {file}",
    "message.stuck": "{company}: message {msg_no} can't be taken: {why}",
    "folder.unavailable": "{company}: {why}",
    "folder.refuses": "{company}: {folder}: {why}",
    "journal.outdated": "{company}: {folder}: {why}",
    "account.paused": "{account}: {why}",
    "table.broken": "{why}",
    "work.failed": "{what}: {why}",
}
FAILURES = frozenset(
    {"document.failed", "message.stuck", "folder.unavailable", "folder.refuses", "table.broken", "work.failed"}
)
ENDS = frozenset({"sent", "document.failed", "document.taken", "message.received", "message.stuck"})
OFTEN = 0.2  # seconds between two looks at how much is left


class Tally:
    """Tells and counts what happens; its methods may be called from several threads."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._stuck: set[tuple[str, int]] = set()
        self._lock = threading.Lock()

    def hear(self, event: Mapping[str, Any]) -> None:
        """One event of the log."""
        name = str(event["state"] if event["event"] == "document.put_away" else event["event"])
        if name in SENTENCES:
            with self._lock:
                self._counts[name] += 1
                if name == "message.stuck":
                    self._stuck.add((event["company"], event["msg_no"]))
                tell(SENTENCES[name].format_map(defaultdict(lambda: "?", event)))

    def hear_of_stuck(self, rows: Iterable[MessageRow]) -> None:
        """What is stuck in the end: those of earlier runs weren't tried in this one if their pause isn't over."""
        for row in rows:
            if (row.company, row.msg_no) not in self._stuck:
                self.hear({"event": "message.stuck", "company": row.company, "msg_no": row.msg_no, "why": row.why})

    @property
    def ended(self) -> int:
        """How many documents and messages have come to an end here."""
        return sum(self._counts[name] for name in ENDS)

    @property
    def failures(self) -> int:
        """How often something failed."""
        return sum(self._counts[name] for name in FAILURES)

    def __str__(self) -> str:
        return ", ".join(
            f"{self._counts[name]} {name.rpartition('.')[2]}"
            for name in ("sent", "document.failed", "message.received", "message.stuck")
            if name != "message.stuck" or self._counts[name]
        )


def run_once(config: Config, stopped: threading.Event) -> int:
    """Send and fetch what is there now, and return the exit status."""
    tally = Tally()
    terminal = sys.stdout.isatty()
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console(),
        transient=True,  # the last line says it all
    )
    task = bar.add_task("documents and messages", total=None)
    looked_at = 0.0

    def progress(service: Service) -> None:
        nonlocal looked_at
        if terminal and time.monotonic() - looked_at > OFTEN:
            looked_at = time.monotonic()
            bar.update(task, completed=tally.ended, total=tally.ended + left(service))

    with bar if terminal else nullcontext():
        # Opened now because the bar has redirected stderr: log lines go above it.
        said_anyway = terminal and config.log.file is None  # the sentences say all but errors
        log = open_log(config.log.model_copy(update={"level": "error"}) if said_anyway else config.log, tally.hear)
        with sole_use(config.state) as journal:
            service = Service(config, journal, stopped=stopped, log=log, watch=False)
            done = service.run_once(progress)
            for account in service.accounts:
                tally.hear_of_stuck(journal.messages_in(account.access_point.identity, "stuck"))
            StatusFile(config, journal, log).close(service)
    say(tally)
    if any(account.standing.report.condition in ("away", "refused", "wrong address") for account in service.accounts):
        return UNREACHABLE
    return 0 if done and not tally.failures else FAILED


def left(service: Service) -> int:
    """How many documents wait, as far as is known."""
    waiting = 0
    for account in service.accounts:
        for lane in account.lanes:
            counts = account.desk.journal.counts(lane.folder.id)
            waiting += len(lane.given.copy() | lane.seen.copy().keys())
            waiting += sum(counts.get(state, 0) for state in (State.WAITING, State.SENDING, State.DOUBT))
    return waiting
