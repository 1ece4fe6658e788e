"""What `status` shows: what lies in the folders, what the journal knows, and how the accounts stand.

One survey serves the command and the daemon's status.json (contract 5, `status --json`). Counts are what lies in the
folders; what is in doubt or overdue, the journal says.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypedDict

from filedrop.document import State
from filedrop.errors import JournalError
from filedrop.glimpse import LISTED, Lookout

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

    from filedrop.account import Account
    from filedrop.config import Company, Config
    from filedrop.document import Document
    from filedrop.glimpse import Glimpse
    from filedrop.journal import Journal, MessageRow

VERSION = 1


class FolderStatus(TypedDict):
    """One folder of the configuration; `why` says why it isn't available, `warning` what else a person should know."""

    path: str
    use: str
    available: bool
    why: str
    warning: str


class DocumentStatus(TypedDict):
    """A document that somebody may want to look at; `state` is doubt, overdue or failed."""

    state: str
    file: str
    why: str
    id: str | None
    msg_no: int | None


class MessageStatus(TypedDict):
    """A message of the inbox that couldn't be taken."""

    msg_no: int
    sender: str
    why: str


class CompanyStatus(TypedDict):
    """Contract 5's counts, then names, not all where there are many. `why` says why documents wait."""

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
    """How an account stands, as the daemon saw it; None, and login `unknown`, where nobody could tell.

    `surplus` are messages at the access point that we did not mean to send.
    """

    reachable: bool | None
    login: str
    unread: int | None
    for_nobody: int | None
    last_poll: str | None
    why: str
    surplus: list[int]


class Status(TypedDict):
    """The whole. What is said of the accounts and the mapping's tables was `heard` then.

    `tables` says in sentences what is wrong with them, `journal` why that can't be used, "" while it can. `running`:
    does a daemon work with this state? None where we can't tell.
    """

    filedrop: int
    written: str
    heard: str | None
    running: bool | None
    journal: str
    companies: dict[str, CompanyStatus]
    accounts: dict[str, AccountStatus]
    tables: list[str]
    unassigned: FolderStatus | None


UNHEARD = AccountStatus(
    reachable=None, login="unknown", unread=None, for_nobody=None, last_poll=None, why="", surplus=[]
)
_REACHABLE = {"ok": True, "refused": True, "away": False, "wrong address": False}


def account_status(account: Account) -> AccountStatus:
    """How an account of the running daemon stands."""
    report, summary = account.standing.report, account.way_in.summary
    polled = summary.last_poll
    return AccountStatus(
        reachable=_REACHABLE.get(report.condition),
        login=report.condition if report.condition in ("ok", "refused") else "unknown",
        unread=summary.unread if polled else None,
        for_nobody=summary.for_nobody if polled else None,
        last_poll=polled.isoformat(timespec="seconds") if polled else None,
        why=report.why,
        surplus=[],
    )


@dataclass(frozen=True, slots=True)
class Told:
    """What only the daemon can tell, `heard` then. `warnings`: of available folders, by their paths."""

    heard: str | None = None
    accounts: Mapping[str, AccountStatus] = field(default_factory=dict)
    tables: Sequence[str] = ()
    warnings: Mapping[str, str] = field(default_factory=dict)
    journal: str = ""


class Survey:
    """Looks at everything, as often as it is asked. Without a journal it shows what lies in the folders."""

    def __init__(self, config: Config, journal: Journal | None) -> None:
        self._config = config
        self._journal = journal
        self._lookout = Lookout(config, journal)

    def take(self, told: Told, *, running: bool | None, now: datetime) -> Status:
        """The status now, with what the daemon has `told`."""
        try:
            return self._take(self._journal, told, running=running, now=now)
        except JournalError as error:
            return self._take(None, replace(told, journal=str(error)), running=running, now=now)

    def _take(self, journal: Journal | None, told: Told, *, running: bool | None, now: datetime) -> Status:
        config, glimpses = self._config, self._lookout.look(now)
        for path, glimpse in glimpses.items():
            glimpse.warning = glimpse.warning or told.warnings.get(str(path), "")
        doubtful = journal.in_state(State.DOUBT) if journal else []
        overdue = journal.overdue(now - config.outbound.overdue) if journal else []
        stuck: list[MessageRow] = []
        accounts: dict[str, AccountStatus] = {}
        for name, account in config.accounts.items():
            accounts[name] = {**told.accounts.get(name, UNHEARD)}
            if journal:
                stuck += journal.messages_in(account.identity, "stuck")
                accounts[name]["surplus"] = [msg_no for msg_no, _ in journal.surplus(account.identity)][-LISTED:]
        return Status(
            filedrop=VERSION,
            written=now.isoformat(timespec="seconds"),
            heard=told.heard,
            running=running,
            journal=told.journal,
            companies={
                company.name: self._company(
                    journal,
                    company,
                    glimpses,
                    doubtful=[document for document in doubtful if document.company == company.name],
                    overdue=[document for document in overdue if document.company == company.name],
                    stuck=[row for row in stuck if row.company == company.name],
                    account_why=accounts[company.account]["why"],
                )
                for company in config.companies.values()
            },
            accounts=accounts,
            tables=list(told.tables),
            unassigned=_folder("unassigned", config.unassigned, glimpses) if config.unassigned else None,
        )

    def _company(
        self,
        journal: Journal | None,
        company: Company,
        glimpses: Mapping[Path, Glimpse],
        *,
        doubtful: list[Document],
        overdue: list[Document],
        stuck: list[MessageRow],
        account_why: str,
    ) -> CompanyStatus:
        lies: Counter[str] = Counter()
        for path in company.outbound:
            lies += glimpses[path].documents
        claimed = min(_claimed(journal, company), lies["sending"])
        held = any(glimpses[path].held for path in company.outbound)
        return CompanyStatus(
            waiting=lies["outbound"] + claimed,
            sending=max(0, lies["sending"] - claimed - len(doubtful)),
            doubt=len(doubtful),
            sent=lies["sent"],
            overdue=len(overdue),
            failed=lies["failed"],
            received=glimpses[company.inbound].documents["inbound"],
            stuck=len(stuck),
            held=held,
            why="a file HOLD lies in outbound/; what waits is sent when that is removed" if held else account_why,
            folders=[
                *(_folder("outbound", path, glimpses) for path in company.outbound),
                _folder("inbound", company.inbound, glimpses),
            ],
            documents=[
                *(_listed(document, "doubt", document.why_in_doubt) for document in doubtful[:LISTED]),
                *(_listed(document, "overdue", _accepted(document)) for document in overdue[:LISTED]),
                *(
                    DocumentStatus(state="failed", file=name, why=why, id=None, msg_no=None)
                    for path in company.outbound
                    for name, why in glimpses[path].failed.items()
                ),
            ],
            messages=[MessageStatus(msg_no=row.msg_no, sender=row.sender, why=row.why) for row in stuck[:LISTED]],
            ignored=[name for path in company.outbound for name in glimpses[path].ignored],
        )


def _claimed(journal: Journal | None, company: Company) -> int:
    """How many documents have been claimed and wait to be posted."""
    known = [journal.folder_at(path) for path in company.outbound] if journal else []
    return sum(journal.counts(folder).get(State.WAITING, 0) for folder in known if journal and folder)


def _folder(use: str, path: Path, glimpses: Mapping[Path, Glimpse]) -> FolderStatus:
    why = glimpses[path].trouble
    return FolderStatus(path=str(path), use=use, available=not why, why=why, warning=glimpses[path].warning)


def _listed(document: Document, state: str, why: str) -> DocumentStatus:
    return DocumentStatus(state=state, file=document.file, why=why, id=document.id, msg_no=document.msg_no)


def _accepted(document: Document) -> str:
    since = f"{document.accepted:%Y-%m-%d %H:%M}" if document.accepted else "an unknown time"
    return f"accepted at {since}, not delivered yet"
