"""The form of what `status --json` and status.json show (contract 5)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypedDict, get_args

from filedrop.texts.languages import Translatable, marked

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from filedrop.status.folders import FolderSnapshot
    from filedrop.status.kinds import Kind

VERSION = 1
Count = Literal["waiting", "sending", "doubt", "sent", "overdue", "failed", "unreachable", "received", "stuck"]
COUNTS: tuple[Count, ...] = get_args(Count)
COUNTED_IN: dict[str, tuple[Count, ...]] = {  # by what a folder is for, the counts of files in it
    "outbound": ("waiting", "sending", "sent", "failed", "unreachable"),
    "inbound": ("received",),
}


class Counts(TypedDict):
    """Contract 5's counts."""

    waiting: int
    sending: int
    doubt: int
    sent: int
    overdue: int
    failed: int
    unreachable: int
    received: int
    stuck: int


class DocumentStatus(TypedDict):
    """A document that somebody may want to look at, and where it lies, as far as is known.

    `state` is waiting (not ready, or tried in vain), doubt, sent (with warnings), overdue or failed. `since`: when it
    failed, was accepted, was claimed, or last got no clear answer, or since when a file that isn't ready is as it is.
    `code`: of the fault that it failed with, else "". `known`: of one that failed, its number and its receiver's name.
    """

    state: str
    file: str
    path: str
    why: str
    code: str
    known: str
    id: str | None
    msg_no: int | None
    since: str | None


class StrayStatus(TypedDict):
    """A file that nobody will send, why, and since when it is as it is now (ISO 8601, "" where that isn't known)."""

    file: str
    path: str
    why: str
    since: str


class MessageStatus(TypedDict):
    """A message of the inbox that couldn't be taken, and when that is tried again."""

    msg_no: int
    sender: str
    why: str
    again: str | None


class Item(TypedDict):
    """A document or message of a matter, and why it is one; `do` are the commands for it, to choose one from.

    `known`: what tells it from others with its name, its id or its message. `path` is "" where it isn't known. `order`
    is greater for what came later to its matter.
    """

    name: str
    known: str
    path: str
    why: str
    do: list[str]
    since: str | None
    order: float


class Matter(TypedDict):
    """Something that needs attention: of which kind, whose it is ("" for all), and which account or folder it is about.

    `what` is wrong with that account or folder, in a word that programs compare. `title` says what, `advice` what to
    do, `items` are its documents or messages, the newest first. `number` is how many there are, and `newest` is the
    greatest order of them.
    """

    kind: Kind
    company: str
    about: str
    what: str
    title: str
    advice: str
    items: list[Item]
    number: int
    newest: float


class FolderStatus(TypedDict):
    """One folder of the configuration; `why` says why it isn't available, `warnings` what else a person should know.

    `refused`, which is one of the warnings: why files can't be moved or written there.
    `disk` tells the file systems of one computer apart, and `free` are the bytes free on it, where that is known.
    `file_system`: in words, what kind it is, and what can be done there. `progress`: what takes long there, and how far
    it is, "" where nothing does.
    """

    path: str
    use: str
    available: bool
    why: str
    warnings: list[str]
    refused: str
    disk: int | None
    free: int | None
    file_system: str
    progress: str


class CompanyStatus(Counts):
    """Contract 5's counts, and by each that isn't 0 its reason; then names, the newest first.

    Where there are many, some aren't listed; `unlisted` says how many of each kind. `why` says why documents wait.
    `strays` are files that nobody will send; None where no daemon has looked for them yet. `keep_archive`: for how
    long, or `forever`.
    """

    held: bool
    why: str
    reasons: dict[Count, str]
    folders: list[FolderStatus]
    documents: list[DocumentStatus]
    messages: list[MessageStatus]
    strays: list[StrayStatus] | None
    unlisted: dict[str, int]
    keep_archive: str


class AccountStatus(TypedDict):
    """How an account stands, as the daemon saw it; None, and login `unknown`, where nobody could tell.

    `condition`: the circuit breaker's (accesspoint/breaker). `statuses`: how many of those `for_nobody` are for access
    points, and name no document. `nobodys`: the first few of the others, each in a few words. `next_attempt`: when it
    is asked again, where that has failed. `lists` says which of the access point's lists could not be read to their
    end, or name as unread what was delivered before, `left_behind` what is under way where the account was before, both
    in sentences; `surplus` are messages there that we did not mean to send. `fetched`: what becomes of the unread ones
    for companies here.
    """

    reachable: bool | None
    login: str
    condition: str
    unread: int | None
    for_nobody: int | None
    statuses: int | None
    nobodys: list[str]
    last_poll: str | None
    why: str
    next_attempt: str | None
    lists: list[str]
    left_behind: list[str]
    surplus: list[int]
    fetched: str


class Status(TypedDict):
    """The whole. What is said of the accounts and the mapping's tables was `heard` then.

    `tables` says in sentences what is wrong with them, `troubles`, by what they are about, what else keeps work from
    being done, `alerts` what couldn't be sent of mails and the like, `journal` why that can't be used, "" while it can.
    `running`: whether a daemon works with this state; None if unknown. `keep_archive`: for how long, or `forever`,
    where a company has no time of its own. `matters` is what needs attention.
    """

    filedrop: int
    written: str
    heard: str | None
    running: bool | None
    journal: str
    companies: dict[str, CompanyStatus]
    accounts: dict[str, AccountStatus]
    tables: list[str]
    troubles: dict[str, str]
    alerts: list[str]
    unassigned: FolderStatus | None
    configured: str
    keep_archive: str
    matters: list[Matter]


class CompanyStrays(NamedTuple):
    """How many strays a company has, and the newest of them."""

    number: int
    listed: tuple[StrayStatus, ...]

    def still_in(self, snapshots: Iterable[FolderSnapshot]) -> list[StrayStatus]:
        """Those that are listed and still there."""
        files = frozenset[Path]().union(*(snapshot.there for snapshot in snapshots))
        return [stray for stray in self.listed if Path(stray["path"]) in files]


class RemovedFolder(NamedTuple):
    """An `outbound/` that the configuration no longer names, and its files that wait or have failed."""

    path: Path
    files: CompanyStrays


def message_label(msg_no: int | None) -> str:
    """What tells a document with this message number from others of its name; "" without a number."""
    return "" if msg_no is None else Translatable.of(marked("(message {number})"), number=msg_no)


def folders_of(status: Status) -> Iterator[tuple[str, FolderStatus]]:
    """Every folder, with its company's name; that for nobody's messages last, with "" for a company."""
    for name, company in status["companies"].items():
        for folder in company["folders"]:
            yield name, folder
    if status["unassigned"]:
        yield "", status["unassigned"]


NOT_KNOWN = CompanyStatus(
    waiting=0, sending=0, doubt=0, sent=0, overdue=0, failed=0, unreachable=0, received=0, stuck=0, held=False, why="",
    reasons={}, folders=[], documents=[], messages=[], strays=None, unlisted={}, keep_archive="forever",
)  # fmt: skip
"""Of a company about which nothing can be found out."""
