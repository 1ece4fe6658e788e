"""`filedrop run`: the daemon; with `--once`, what is there now.

`--once` has progress on a terminal and plain lines elsewhere. What happens is heard from the log's events: the same
words, once.
"""

from __future__ import annotations

import gc
import sys
import threading
import time
from collections import Counter, defaultdict
from contextlib import ExitStack, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from filedrop import config as configuration
from filedrop.cli import FAILED, UNREACHABLE, exit_status
from filedrop.cli.opening import database, open_config
from filedrop.cli.serving import serve, share_of
from filedrop.cli.show import complain, say, tell
from filedrop.daemon.daemon import Daemon
from filedrop.errors import FiledropError
from filedrop.files.patience import UNAVAILABLE_AFTER
from filedrop.model.document import State
from filedrop.process import logs
from filedrop.process.control import Control, reload_on_signal, stop_on_signals
from filedrop.process.lock import locked_state

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rich.progress import Progress

    from filedrop.config import Config
    from filedrop.journal import Journal, MessageRow
    from filedrop.model.report import DaemonReport, FolderReport
    from filedrop.status.model import Count

SENTENCES = {  # by the event's name; for document.put_away, by the document's new state
    "sent": "{company}: {file}: accepted as message {msg_no}",
    "delivered": "{company}: {file}: delivered",
    "document.failed": "{company}: {file}: failed: {why}",
    "document.taken": "{company}: {file}: somebody removed the file",
    "document.undecided": "{company}: {file}: {why}",
    "document.not_validated": "{company}: {file}: could not be validated: {why}",
    "command.failed": "{command}: {why}",
    "document.waits": "{company}: {file}: waits in sending/: {why}",
    "document.doubted": "{company}: {file}: in doubt: {why}",
    "document.found": "{company}: {file}: found at the access point, as message {msg_no}",
    "document.not_found": "{company}: {file}: not found at the access point; it is sent again",
    "document.resolved": "{company}: {file}: {decision}",
    "receiver.doubtful": "{company}: {file}: warning: {why}",
    "message.received": "{company}: received {file}",
    "message.stuck": "{company}: message {msg_no} can't be received: {why}",
    "folder.unavailable": "{company}: {why}",
    "folder.refuses": "{company}: {folder}: {why}",
    "journal.not_copied": "{why}",
    "journal.outdated": "{company}: {folder}: {why}",
    "poll.failed": "{account}: the inbox can't be listed: {why}",
    "account.changed": "{account}: {why}",
    "account.paused": "{account}: {why}",
    "configuration.delayed": "{why}",
    "configuration.refused": "{why}",
    "table.broken": "{why}",
    "work.failed": "{what}: {why}",
}
FAILURES = frozenset(
    {
        "document.failed",
        "message.stuck",
        "folder.unavailable",
        "folder.refuses",
        "table.broken",
        "poll.failed",
        "work.failed",
        "command.failed",
    }
)
ENDS = frozenset({"sent", "document.failed", "document.taken", "message.received", "message.stuck"})
NOT_DONE: tuple[Count, ...] = ("waiting", "sending", "doubt")
OFTEN = 0.2  # seconds between two looks at how much is left


@click.command(epilog="\b\nExample: filedrop run --once")
@click.option("--once", is_flag=True, help="Send and fetch what is there now, then exit.")
@click.pass_obj
def run(config_option: str | None, *, once: bool) -> None:
    """Run the daemon: send, track and receive documents until stopped.

    When it is stopped, requests under way get 20 seconds to finish. A second signal stops it at once. With --once, it
    waits until files are complete (`settle`) and until doubts have ended. It doesn't wait for deliveries, nor for a
    folder that is unavailable. It lists what it leaves, with reasons.
    """
    config = open_config(config_option)
    if once:
        for warning in config.warnings:
            complain(warning)
    control = Control()
    stop_on_signals(control.stopped)
    reload_on_signal(control)  # with --once too, which reads nothing anew, but would be ended
    gc.freeze()  # what is loaded by now stays: looking through it again and again finds nothing
    if once:
        raise SystemExit(run_once(config, control.stopped))
    try:
        serve(config, control, reread=lambda: configuration.load(configuration.find(config_option)))
    except FiledropError as error:
        if config.log.file is None:  # where the log is what one reads, that was it
            raise SystemExit(exit_status(error)) from None
        raise


def sentence_of(event: Mapping[str, Any]) -> tuple[str, str]:
    """What an event of the log is called in `SENTENCES`, and what people are told of it; "" where nothing is."""
    name = str(event["state"] if event["event"] == "document.put_away" else event["event"])
    if name not in SENTENCES:
        return name, ""
    error = event.get("exc_info")
    unforeseen = {"why": repr(sys.exception() if error is True else error)} if error else {}
    return name, SENTENCES[name].format_map(defaultdict(lambda: "?", {**unforeseen, **event}))


class Tally:
    """Tells and counts what happens; its methods may be called from several threads."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._stuck: set[tuple[str, int]] = set()
        self._lock = threading.Lock()

    def hear(self, event: Mapping[str, Any]) -> None:
        """One event of the log."""
        name, sentence = sentence_of(event)
        if sentence:
            with self._lock:
                self._counts[name] += 1
                if name == "message.stuck":
                    self._stuck.add((event["company"], event["msg_no"]))
                tell(sentence)

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
    from filedrop.cli.status import lines_of  # noqa: PLC0415 - a daemon doesn't need it
    from filedrop.status.status_file import StatusFile  # noqa: PLC0415 - a daemon loads it when it works already
    from filedrop.status.together import with_others  # noqa: PLC0415 - the same

    tally = Tally()
    terminal = sys.stdout.isatty()
    bar = _progress_bar()
    task = bar.add_task("documents and messages", total=None)
    looked_at = 0.0

    def progress(daemon: Daemon) -> None:
        nonlocal looked_at
        if terminal and time.monotonic() - looked_at > OFTEN:
            looked_at = time.monotonic()
            bar.update(task, completed=tally.ended, total=tally.ended + _left(daemon.report(), daemon.journal))

    with bar if terminal else nullcontext():
        # Opened now because the bar has redirected stderr: log lines go above it.
        said_anyway = terminal and config.log.file is None  # the sentences say all but errors
        how = config.log.model_copy(update={"level": "error"}) if said_anyway else config.log
        log = logs.open_log(how, tally.hear)
        logs.log_libraries(log)
        with ExitStack() as stack:
            journal = stack.enter_context(locked_state(config.state, database(config)))
            share = share_of(config, journal, log)
            stack.enter_context(share.for_one_run(stopped))
            daemon = Daemon(config, journal, stopped=stopped, log=log, share=share, watch=False)
            done = daemon.run_once(progress)
            for account in config.accounts.values():
                tally.hear_of_stuck(journal.messages.in_states(account.identity, "stuck"))
            report = daemon.report()
            tables = lambda: daemon.mapping.troubles  # noqa: E731
            # Its last line tells of the status. Nobody waits for a run as for a stop, so it gets what a folder gets.
            whole = partial(with_others, config, share)
            file = StatusFile(config, journal, log, tables=tables, share=share, whole=whole, patience=UNAVAILABLE_AFTER)
            status = file.close(report)
            is_left = _leaves(report, journal)
    companies = status["companies"] if status else {}
    for line in lines_of(companies, NOT_DONE):
        tell(line)
    not_done = sum(company[count] for company in companies.values() for count in NOT_DONE)
    say(tally if not not_done else f"{tally}, {not_done} left")
    if any(account.access.condition not in ("ok", "unknown") for account in report.accounts):
        return UNREACHABLE
    return 0 if done and not tally.failures and not is_left else FAILED


def _progress_bar() -> Progress:
    """What a terminal shows meanwhile."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    from filedrop.cli.tables import console  # noqa: PLC0415 - rich costs 50 ms and 3 MB, which a daemon saves

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console(),
        transient=True,  # the last line says it all
    )


def _leaves(report: DaemonReport, journal: Journal) -> bool:
    """Whether work is left. What is held doesn't count, nor what waits for its writer."""
    return any(
        folder.is_hung or folder.has_faults or _unfinished(folder, journal)
        for account in report.accounts
        for folder in account.outbound
        if not (folder.trouble or folder.is_held)  # trouble has been logged
    )


def _left(report: DaemonReport, journal: Journal) -> int:
    """How many documents wait, as far as is known."""
    folders = [folder for account in report.accounts for folder in account.outbound]
    return sum(folder.unclaimed + folder.unready + _unfinished(folder, journal) for folder in folders)


def _unfinished(folder: FolderReport, journal: Journal) -> int:
    """How many claimed documents of a folder are still on their way out."""
    counts = journal.documents.counts(folder.id)
    return sum(counts.get(state, 0) for state in (State.WAITING, State.SENDING, State.DOUBT))
