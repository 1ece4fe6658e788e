"""What `status` shows: what lies in the folders, what the journal knows, and how the accounts stand.

One survey serves the command and the daemon's status.json. It only looks. Counts are what lies in the folders; each
folder is looked at by a thread of its own, so that one that hangs holds up nobody.
"""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypedDict

from filedrop.document import State
from filedrop.folders import MARKER, read_marker

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from pathlib import Path

    from filedrop.account import Account
    from filedrop.config import Company, Config
    from filedrop.document import Document
    from filedrop.journal import Journal

PATIENCE = 3.0  # seconds for all folders together to answer
LISTED = 20  # of each kind by name, per company: enough to act on, little enough to read
IGNORED_AFTER = 3600.0  # seconds (contract 1, never documents)
_SILENT = frozenset({"thumbs.db", "desktop.ini", ".ds_store", MARKER})


class FolderStatus(TypedDict):
    """One folder of the configuration; `why` says why it isn't available."""

    path: str
    use: str
    available: bool
    why: str


class DocumentStatus(TypedDict):
    """A document that somebody may want to look at: in doubt, overdue or failed."""

    state: str
    file: str
    why: str
    id: str
    msg_no: int | None


class MessageStatus(TypedDict):
    """A message of the inbox that couldn't be taken."""

    msg_no: int
    sender: str
    why: str


class CompanyStatus(TypedDict):
    """The counts of contract 5, and names to them: at most `LISTED` of each kind. `why`: why documents wait."""

    waiting: int
    sending: int
    doubt: int
    sent: int
    overdue: int
    failed: int
    received: int
    stuck: int
    held: bool
    why: str
    folders: list[FolderStatus]
    documents: list[DocumentStatus]
    messages: list[MessageStatus]
    ignored: list[str]


class AccountStatus(TypedDict):
    """How an account stands; None and `unknown` where only the daemon could tell. `as_of`: when it told."""

    reachable: bool | None
    login: str
    unread: int | None
    for_nobody: int | None
    last_poll: str | None
    why: str
    surplus: list[int]
    as_of: str | None


class Status(TypedDict):
    """The whole. `running`: does a daemon work with this state? None where we can't tell."""

    filedrop: int
    written: str
    running: bool | None
    companies: dict[str, CompanyStatus]
    accounts: dict[str, AccountStatus]
    unassigned: FolderStatus | None


UNKNOWN = AccountStatus(
    reachable=None, login="unknown", unread=None, for_nobody=None, last_poll=None, why="", surplus=[], as_of=None
)
_REACHABLE = {"ok": True, "refused": True, "away": False, "wrong address": False, "unknown": None}
_LOGIN = {"ok": "ok", "refused": "refused"}


def account_status(account: Account, now: datetime) -> AccountStatus:
    """How an account of the running daemon stands."""
    report, summary = account.standing.report, account.way_in.summary
    polled = summary.last_poll
    return AccountStatus(
        reachable=_REACHABLE[report.condition],
        login=_LOGIN.get(report.condition, "unknown"),
        unread=summary.unread if polled else None,
        for_nobody=summary.for_nobody if polled else None,
        last_poll=polled.isoformat(timespec="seconds") if polled else None,
        why=report.why,
        surplus=[],
        as_of=now.isoformat(timespec="seconds"),
    )


def trouble(path: Path, journal: Journal | None) -> str:
    """Why a folder isn't available: a sentence, "" where it is. Only looks. Raises OSError."""
    if not path.is_dir():
        return "it isn't there; filedrop makes it at its start, if what it belongs in is there"
    marker = read_marker(path)
    if journal is None:
        return ""
    if marker is None and journal.folder_at(path) is not None:
        return f"it has no {MARKER} any more: it isn't mounted, or another disk is (else: filedrop check --take-over)"
    if marker is not None and marker[1] != journal.id:
        return "another filedrop serves this folder (if that one is gone for good: filedrop check --take-over)"
    return ""


@dataclass(slots=True)
class _Glimpse:
    """What lies in a folder. `files` counts by place; `faults` are the first of the failed."""

    trouble: str = ""
    files: Counter[str] = field(default_factory=Counter)
    held: bool = False
    ignored: list[str] = field(default_factory=list)
    faults: list[DocumentStatus] = field(default_factory=list)


class Survey:
    """Looks at everything, as often as it is asked. Without a journal it shows what lies in the folders."""

    def __init__(self, config: Config, journal: Journal | None) -> None:
        self._config = config
        self._journal = journal
        self._looks: dict[Path, threading.Thread] = {}
        self._glimpses: dict[Path, _Glimpse] = {}

    def take(self, accounts: Mapping[str, AccountStatus], *, running: bool | None, now: datetime) -> Status:
        """The status now; `accounts` as the daemon sees them, as far as that is known. Raises JournalError."""
        glimpses = self._look_everywhere(now)
        config, journal = self._config, self._journal
        doubtful = journal.in_state(State.DOUBT) if journal else []
        overdue = journal.overdue(now - config.outbound.overdue) if journal else []
        told = {name: self._account(name, accounts.get(name, UNKNOWN)) for name in config.accounts}
        companies = {
            company.name: self._company(company, glimpses, doubtful, overdue, told[company.account]["why"])
            for company in config.companies.values()
        }
        return Status(
            filedrop=1,
            written=now.isoformat(timespec="seconds"),
            running=running,
            companies=companies,
            accounts=told,
            unassigned=_folder(config.unassigned, "unassigned", glimpses[config.unassigned])
            if config.unassigned
            else None,
        )

    def _account(self, name: str, live: AccountStatus) -> AccountStatus:
        surplus = self._journal.surplus(self._config.accounts[name].identity)[:LISTED] if self._journal else []
        return AccountStatus(**{**live, "surplus": [msg_no for msg_no, _ in surplus]})  # type: ignore[typeddict-item] # the same keys

    def _company(
        self,
        company: Company,
        glimpses: Mapping[Path, _Glimpse],
        doubtful: list[Document],
        overdue: list[Document],
        account_why: str,
    ) -> CompanyStatus:
        journal = self._journal
        rows: Counter[str] = Counter()
        files: Counter[str] = Counter()
        documents: list[DocumentStatus] = []
        for path in company.outbound:
            folder = journal.folder_at(path) if journal else None
            rows += Counter(journal.counts(folder) if journal and folder else {})
            files += glimpses[path].files
            documents += glimpses[path].faults
        mine = [document for document in doubtful if document.company == company.name]
        late = [document for document in overdue if document.company == company.name]
        claimed = min(rows[State.WAITING], files["sending"])
        stuck = [row for row in self._stuck(company) if row.company == company.name]
        held = any(glimpses[path].held for path in company.outbound)
        return CompanyStatus(
            waiting=files["outbound"] + claimed,
            sending=max(0, files["sending"] - claimed - len(mine)),
            doubt=len(mine),
            sent=files["sent"],
            overdue=len(late),
            failed=files["failed"],
            received=glimpses[company.inbound].files["inbound"],
            stuck=len(stuck),
            held=held,
            why="a file HOLD lies in outbound/: nothing is sent until it is removed" if held else account_why,
            folders=[
                *(_folder(path, "outbound", glimpses[path]) for path in company.outbound),
                _folder(company.inbound, "inbound", glimpses[company.inbound]),
            ],
            documents=[
                *(_listed(document, "doubt", _last_why(document)) for document in mine[:LISTED]),
                *(_listed(document, "overdue", _since(document)) for document in late[:LISTED]),
                *documents[:LISTED],
            ],
            messages=[MessageStatus(msg_no=row.msg_no, sender=row.sender, why=row.why) for row in stuck[:LISTED]],
            ignored=[name for path in company.outbound for name in glimpses[path].ignored][:LISTED],
        )
