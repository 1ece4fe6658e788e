"""The figures for Prometheus, by name (contract 7). Pure.

What can't be told is left out: the counts of a folder that is unavailable, an account that hasn't been asked yet, all
that the journal knows while it can't be read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from filedrop import __version__
from filedrop.model.document import State
from filedrop.status.model import COUNTED_IN, folders_of
from filedrop.times import moment

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from filedrop.journal import Total, UnderWay
    from filedrop.status.folders import FolderSnapshot
    from filedrop.status.model import CompanyStatus, Count, Status

    Values: TypeAlias = Iterator[tuple[tuple[str, ...], float]]  # each with the values of its labels


class Figure(NamedTuple):
    """What a figure is called, what it says, and by what it is told apart."""

    kind: Literal["gauge", "counter"]
    name: str
    says: str
    labels: tuple[str, ...] = ()


DOCUMENTS = Figure(
    "gauge",
    "filedrop_documents",
    "Documents and messages in this state: waiting, sending, doubt, sent, overdue (included in sent), failed, "
    "unreachable (in not-on-peppol/), received (still in inbound/) or stuck.",
    ("company", "state"),
)
OLDEST = Figure(
    "gauge",
    "filedrop_oldest_timestamp_seconds",
    "When the oldest in this state was claimed, accepted or received, or failed; not for stuck.",
    ("company", "state"),
)
SENT = Figure("counter", "filedrop_sent_total", "Documents that the access point accepted.", ("company",))
DELIVERED = Figure("counter", "filedrop_delivered_total", "Documents that were delivered.", ("company",))
FAILED = Figure("counter", "filedrop_failed_total", "Failures, by error code.", ("company", "code"))
RECEIVED = Figure("counter", "filedrop_received_total", "Messages that were received.", ("company",))
REACHABLE = Figure("gauge", "filedrop_account_reachable", "Whether the access point answered last time.", ("account",))
LOGIN = Figure(
    "gauge",
    "filedrop_account_login_ok",
    "Whether the login was accepted last time; 0 also if the password can't be read, missing while the access point "
    "can't be reached.",
    ("account",),
)
POLLED = Figure(
    "gauge", "filedrop_last_poll_success_timestamp_seconds", "When the inbox was last listed.", ("account",)
)
ACCEPTED = Figure(
    "gauge", "filedrop_last_accepted_timestamp_seconds", "When a document was last accepted.", ("company",)
)
_FOLDER = ("company", "use", "path")
AVAILABLE = Figure(
    "gauge",
    "filedrop_folder_available",
    "Whether the folder can be used; use is outbound, inbound or unassigned.",
    _FOLDER,
)
FREE = Figure("gauge", "filedrop_folder_free_bytes", "Free space on the folder's disk.", _FOLDER)
WRITABLE = Figure(
    "gauge", "filedrop_journal_writable", "Whether the journal can be written; 0 means that nothing is sent."
)
PROBLEMS = Figure(
    "gauge", "filedrop_problems", "Problems that no document, folder or account shows, such as what stands still."
)
BUILD = Figure("gauge", "filedrop_build_info", "The version that runs.", ("version",))

_EVENTS = {"sent": SENT, "delivered": DELIVERED, "received": RECEIVED}
_BY_THE_JOURNAL: tuple[Count, ...] = ("doubt", "overdue", "stuck")
_LYING: tuple[tuple[Count, str], ...] = (("failed", "failed"), ("received", "inbound"))


def figures(
    status: Status,
    snapshots: Mapping[Path, FolderSnapshot],
    totals: Sequence[Total] | None,
    under_way: Sequence[UnderWay],
    companies: Collection[str],
) -> Iterator[tuple[Figure, Values]]:
    """Each figure with its values. `totals` are of these companies; None where another host tells them.

    Where the journal can't be read, `totals` is None, too, and `under_way` empty.
    """
    yield DOCUMENTS, _documents(status)
    yield OLDEST, _oldest(status, snapshots, under_way)
    if totals is not None:
        for event, figure in _EVENTS.items():
            yield figure, _total(totals, event, companies)
        failed = [total for total in totals if total.event == "failed"]
        yield FAILED, (((total.company, total.code), float(total.number)) for total in failed)
        sent = [total for total in totals if total.event == "sent"]
        yield ACCEPTED, (((total.company,), total.accepted.timestamp()) for total in sent if total.accepted)
    yield from _accounts(status)
    folders = [((company, folder["use"], folder["path"]), folder) for company, folder in folders_of(status)]
    yield AVAILABLE, ((labels, float(folder["available"])) for labels, folder in folders)
    free = ((labels, folder["free"]) for labels, folder in folders)
    yield FREE, ((labels, float(number)) for labels, number in free if number is not None)
    yield WRITABLE, iter([((), float(not status["journal"]))])
    yield PROBLEMS, iter([((), float(len(status["troubles"])))])
    yield BUILD, iter([((__version__,), 1.0)])


def _accounts(status: Status) -> Iterator[tuple[Figure, Values]]:
    accounts = status["accounts"].items()
    reachable = ((name, account["reachable"]) for name, account in accounts)
    yield REACHABLE, (((name,), float(is_so)) for name, is_so in reachable if is_so is not None)
    login = ((name, account["login"]) for name, account in accounts)
    yield LOGIN, (((name,), float(state == "ok")) for name, state in login if state != "unknown")
    polled = ((name, moment(account["last_poll"])) for name, account in accounts)
    yield POLLED, (((name,), time.timestamp()) for name, time in polled if time)


def _documents(status: Status) -> Values:
    for name, company in status["companies"].items():
        for count in _known(company, has_journal=not status["journal"]):
            yield (name, count), float(company[count])


def _known(company: CompanyStatus, *, has_journal: bool) -> Iterator[Count]:
    """The counts of a company that can be told."""
    for use, counts in COUNTED_IN.items():
        if all(folder["available"] for folder in company["folders"] if folder["use"] == use):
            yield from counts
    if has_journal:
        yield from _BY_THE_JOURNAL


def _oldest(status: Status, snapshots: Mapping[Path, FolderSnapshot], under_way: Sequence[UnderWay]) -> Values:
    for name, company in status["companies"].items():
        for state in under_way:
            if state.company == name and state.oldest:
                yield (name, state.state.value), state.oldest.timestamp()
                if state.state is State.SENT and company["overdue"]:  # those are the oldest of what is sent
                    yield (name, "overdue"), state.oldest.timestamp()
        paths = {folder["path"] for folder in company["folders"]}
        seen = [snapshot for path, snapshot in snapshots.items() if str(path) in paths]
        for lying, place in _LYING:
            since = [snapshot.oldest[place] for snapshot in seen if place in snapshot.oldest]
            if since:
                yield (name, lying), min(since)


def _total(totals: Sequence[Total], event: str, companies: Collection[str]) -> Values:
    """From 0 on, so that the first one is seen to be one more."""
    numbers = {total.company: total.number for total in totals if total.event == event}
    for company in companies:
        yield (company,), float(numbers.get(company, 0))
