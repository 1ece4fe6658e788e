"""Why a count of `status` isn't 0, and what comes next or is to be done; and the documents and messages it is made of.

Those are the newest of each kind, each with why a person may want to know of it.
"""

from __future__ import annotations

from collections import Counter
from heapq import nlargest
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from filedrop.model.document import Need
from filedrop.model.question import question
from filedrop.model.report import LISTED
from filedrop.status.kinds import ANOTHER_WAY
from filedrop.status.model import COUNTS, DocumentStatus, MessageStatus
from filedrop.storage.sidecar import ANYWAY, DUPLICATE
from filedrop.texts.printable import command, listed
from filedrop.times import as_duration, from_seconds, local, moment, next_attempt, stated

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from datetime import datetime
    from pathlib import Path

    from filedrop.config import Company, Config
    from filedrop.journal import Journal, MessageRow, Newest
    from filedrop.model.document import Document
    from filedrop.status.folders import FolderSnapshot
    from filedrop.status.model import AccountStatus, CompanyStatus, Count, Counts, FolderStatus

_ORDER = {str(count): place for place, count in enumerate(COUNTS)}


INCOMPLETE = "incomplete"  # the code of a dropped file that waits for another one


class Left(NamedTuple):
    """Why a dropped file wasn't ready, since when it is as it is now (ISO 8601), and if it waits for another one."""

    why: str
    since: str
    is_incomplete: bool = False


class SharedReason(NamedTuple):
    """Why a count isn't 0, and the companies of which it is so; "" where only their documents have reasons."""

    state: Count
    why: str
    companies: dict[str, CompanyStatus]

    @property
    def number(self) -> int:
        """How many documents these are."""
        return sum(company[self.state] for company in self.companies.values())

    @property
    def whose(self) -> str:
        """The companies' names; of many, a few and how many more."""
        more = len(self.companies) - LISTED
        return listed([*list(self.companies)[:LISTED], *([f"{more} more"] if more > 0 else [])])


def shared_reasons(companies: Mapping[str, CompanyStatus], counts: Iterable[Count]) -> list[SharedReason]:
    """Why these counts aren't 0: each reason once."""
    found: dict[tuple[Count, str], SharedReason] = {}
    for (name, company), count in product(companies.items(), counts):
        why = company["reasons"].get(count, "")
        found.setdefault((count, why), SharedReason(count, why, {})).companies[name] = company
    return list(found.values())


def reasons(
    counts: Counts,
    config: Config,
    company: Company,
    documents: Collection[DocumentStatus],
    *,
    waits_for: str,
    sending: str,
    running: bool | None,
    is_left_behind: bool,
) -> dict[Count, str]:
    """The sentence of each count that isn't 0; `documents` are those that are named below it, each with its own.

    `waits_for`: what keeps all that waits from being sent (survey). `sending`: what becomes of what lies in `sending/`.
    `running`: whether a daemon runs. `is_left_behind`: there are documents at the account's former access point.
    """
    checks = "filedrop keeps checking" + (", but not at the former access point" if is_left_behind else "")
    named = {document["state"] for document in documents}
    waits_anyway = (
        "filedrop isn't running. Start it, or send what is ready with: filedrop run --once"
        if running is False
        else "filedrop sends them when they are ready and it is their turn"
    )
    sentences: dict[Count, str] = {
        "waiting": (waits_for or waits_anyway)
        + ("; the files below have reasons of their own" if "waiting" in named else ""),
        "sending": sending,
        "doubt": "filedrop doesn't know yet whether the access point received them. It looks for them there, and sends "
        "them again only if they certainly aren't there. To end it, use the id in brackets: "
        "filedrop resolve ID --sent MSG_NO, or: filedrop resolve ID --send-again",
        "sent": f"accepted by the access point, not delivered yet; {checks}"
        + ("; those below may not arrive: read their warnings" if "sent" in named else ""),
        "overdue": f"accepted more than {as_duration(config.outbound.overdue)} ago (outbound.overdue), not delivered: "
        f"ask the operator of the access point that accepted them; {checks}",
        "failed": _mended(counts["failed"], company, documents),
        "unreachable": ANOTHER_WAY,
        "received": f"in {company.inbound.name}/, ready to be taken",
        "stuck": stuck(company.account, config),
    }
    return {count: sentences[count] for count in COUNTS if counts[count]}


def in_sending(number: int, on_the_wire: int, refused: str, *, running: bool | None) -> str:
    """What becomes of so many documents that lie in `sending/`; `refused`: why nothing can be moved there."""
    others = number - on_the_wire
    if running is False:
        with_us = "filedrop continues with them when it runs again"
        sent = "filedrop looks for them at the access point when it runs again"
    else:
        with_us = f"waiting to be moved{f' ({refused})' if refused else ''}"
        sent = "being sent to the access point now"
    if others and on_the_wire:
        return f"{on_the_wire} {sent}; {others} {with_us}"
    return with_us if others else sent


def fetched(account: AccountStatus, folders: Iterable[FolderStatus], *, running: bool | None) -> str:
    """What becomes of the unread messages for companies here, and what holds them; "" where there are none.

    `folders` are those of the account's companies.
    """
    number = (account["unread"] or 0) - (account["for_nobody"] or 0)
    if number <= 0:
        return ""
    held_by = [
        f"{folder['path']}: {why}"
        for folder in folders
        if folder["use"] == "inbound" and (why := folder["why"] or "; ".join(folder["warnings"]))
    ]
    messages, are, them = ("message", "is", "it") if number == 1 else ("messages", "are", "them")
    if running is False:
        then = f"filedrop fetches {them} when it runs again"
    elif held_by:
        then = f"nothing is fetched into {'; '.join(held_by)}"
    else:
        then = (
            f"filedrop fetches {them}, except what is stuck"
            if number > 1
            else "filedrop fetches it, unless it is stuck"
        )
    return f"{number} unread {messages} at the last poll {are} for your companies: {then}"


def _mended(number: int, company: Company, documents: Iterable[DocumentStatus]) -> str:
    """What is to be done with what has failed. Some would only fail again until a person lets it through."""
    codes = Counter(document["code"] for document in documents)
    if codes[DUPLICATE] == number:
        return "delete each duplicate if it is the same document again. Its note (.why.txt) names the first one"
    if sum(codes[code] for code in ANYWAY) == number:
        return (
            "follow the note of each file (.why.txt). Delete a duplicate. If the access point certainly doesn't have a "
            f"document, send it again with: {command('filedrop', 'retry', '--anyway', company.name)} NAME"
        )
    some = "delete duplicates. For the others, " if codes[DUPLICATE] else ""
    return (
        f"{some}correct what the note of each file names (.why.txt). Then move the file back to outbound/, or run: "
        f"{command('filedrop', 'retry', company.name)} NAME"
    )


def listed_documents(
    journal: Journal | None,
    left: Mapping[Path, Left],
    outbound: Mapping[Path, FolderSnapshot],
    newest: Mapping[str, Newest],
    now: datetime,
    *,
    is_explained: bool,
) -> list[DocumentStatus]:
    """A company's documents that are listed, by their states: left where they were dropped, known, or failed.

    `is_explained`: a sentence says why nothing is sent, and so why most of them wait.
    """
    documents = _dropped(left, outbound)
    for kind, found in newest.items():
        named = found.documents
        if kind == "waiting" and is_explained:
            named = [document for document in named if document.needs is Need.VERDICT]
        if journal:
            documents += _known(journal, named, kind, now)
    return sorted([*documents, *_failed(outbound)], key=lambda document: _ORDER[document["state"]])


def _dropped(waiting: Mapping[Path, Left], outbound: Mapping[Path, FolderSnapshot]) -> list[DocumentStatus]:
    """The files that the daemon has left where they were dropped, as far as they are still there."""
    return [
        DocumentStatus(
            state="waiting", file=path.name, path=str(path), why=left.why,
            code=INCOMPLETE if left.is_incomplete else "", known="", id=None, msg_no=None, since=left.since,
        )
        for path, left in waiting.items()
        if path.parent in outbound and path in outbound[path.parent].there
    ][:LISTED]  # fmt: skip


def _failed(outbound: Mapping[Path, FolderSnapshot]) -> list[DocumentStatus]:
    """What lies in `failed/`."""
    lying = [(file, path / "failed" / file.name) for path, snapshot in outbound.items() for file in snapshot.failed]
    return [
        DocumentStatus(
            state="failed",
            file=file.name,
            path=str(path),
            why=file.why,
            code=file.code,
            known=file.known,
            id=None,
            msg_no=None,
            since=from_seconds(file.since).isoformat(),  # not to the second: alerts tell by it what is new
        )
        for file, path in nlargest(LISTED, lying)
    ]


def _known(journal: Journal, documents: Iterable[Document], kind: str, now: datetime) -> list[DocumentStatus]:
    """Documents that the journal knows, of one of its kinds (`Journal.newest`)."""
    return [
        DocumentStatus(
            state=kind,
            file=document.file,
            path=str(journal.folders.path_of(document) or ""),
            why=_why(document, kind, now),
            code="",
            known="",
            id=document.id,
            msg_no=document.msg_no,
            since=stated(_since(document, kind)),
        )
        for document in documents
    ]


def _since(document: Document, kind: str) -> datetime | None:
    match kind:
        case "doubt":
            return document.in_doubt_since
        case "waiting":
            return document.claimed
        case _:
            return document.accepted


def stuck(account: str, config: Config) -> str:
    """What becomes of the messages of an account that are stuck, and what can be done."""
    return (
        "filedrop tries again, with growing pauses. If nobody can use a message, mark it as read: "
        f"{command('filedrop', 'read', *config.account_option(account))} MSG_NO"
    )


def stuck_messages(stuck: Iterable[MessageRow]) -> list[MessageStatus]:
    """The messages that are stuck."""
    return [
        MessageStatus(msg_no=row.msg_no, sender=row.sender, why=row.why, again=stated(row.due))
        for row in nlargest(LISTED, stuck, key=lambda row: row.msg_no)
    ]


def _why(document: Document, kind: str, now: datetime) -> str:
    match kind:
        case "doubt":
            return question(document) or document.why_in_doubt
        case "overdue":
            since = local(document.accepted) if document.accepted else "an unknown time"
            return f"accepted at {since}, not delivered yet"
        case "sent":
            return "; ".join(document.warnings)
        case _:
            last = document.needs_why or (document.history[-1].facts.get("why") if document.history else None)
            again = f"; {next_attempt(document.due, now)}" if document.due else ""
            return f"{last or 'it could not be read or sent'}{again}"


def asked_again(account: AccountStatus, now: datetime) -> str:
    """When a running daemon asks an account's access point again, as the end of a sentence; "" where that isn't so."""
    due = moment(account["next_attempt"])
    sooner = ", or as soon as its password file changes" if account["login"] == "refused" else ""
    return f"; {next_attempt(due, now)}{sooner}" if due else ""
