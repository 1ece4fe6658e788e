"""STATUS.html in the root, and one in each company's folder, which has nothing of the others.

Each is written when something has changed, by the thread that writes status.json; without a change, the root's page
each minute, and a company's page each quarter of an hour: there may be hundreds. A script shows the age of a page.

A company's folder is the one in the root that has its name, if it is there: nothing is made for the page alone, as
everybody who sees the root might see it then. A folder that hangs keeps a thread of its own, and holds up no other
page. Where that folder is one for documents, none is written: programs would take it for one. What can't be shown costs
its row or its page alone.
"""

from __future__ import annotations

import socket
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from filedrop.errors import Cause, JournalError
from filedrop.files import Directory, Entry, clear_drafts, replace_whole
from filedrop.files.patience import within
from filedrop.files.rights import explain
from filedrop.model.message import UNASSIGNED
from filedrop.process.guard import Guard
from filedrop.status import lately
from filedrop.status.company import of_company
from filedrop.storage.marker import read_marker
from filedrop.storage.names import page_name
from filedrop.texts.languages import ENGLISH

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence
    from datetime import datetime

    import structlog

    from filedrop.config import Config
    from filedrop.journal import Journal
    from filedrop.status.folders import FolderSnapshot
    from filedrop.status.matters import Key
    from filedrop.status.model import Status

NAME = "STATUS.html"
PATIENCE = 3.0  # seconds for a folder to take a page
LATE = 120.0  # seconds for which a page couldn't be written: then that needs attention
WRITTEN_ANYWAY = 55.0  # seconds after which a file in the root is written unchanged: it shows who is alive
PAGE_ANYWAY = 900.0  # seconds after which a company's page is written in the same way


class Pages:
    """Keeps all pages up to date. For one thread."""

    def __init__(self, config: Config, journal: Journal, log: structlog.stdlib.BoundLogger) -> None:
        self._config = config
        self._root = config.root
        self._journal = journal
        self._host = socket.gethostname()
        self._guard = Guard(log)
        folders = {"": config.root, **{name: config.root / name for name in config.companies}}
        self._files = {
            name: _PageFile(config.root, name, journal, log)
            for name, path in folders.items()
            if path not in config.folders
        }
        self._asked: object = None
        self._found: dict[str, lately.Lately] = {}

    @staticmethod
    def prepare() -> None:
        """Load what is needed once, so that it doesn't count as a page's time."""
        from filedrop.status import page  # noqa: F401, PLC0415 - Jinja takes a tenth of a second and 4 MB

    def write(
        self, status: Status, now: datetime, snapshots: Mapping[Path, FolderSnapshot], reported: Container[Key]
    ) -> None:
        """Write those pages that are due; the root is known to be ours.

        `snapshots`: of the status' folders, with those of the `readable` pages that are there. `reported`: what alerts
        have reported.
        """
        from filedrop.status import page  # noqa: PLC0415 - Jinja takes a tenth of a second and 4 MB

        there = frozenset[Path]().union(*(snapshot.there for snapshot in snapshots.values()))
        found = self._lately(now)
        readable = {document: path for document, path in self.readable(now).items() if path in there}
        for name, file in self._files.items():
            happened = found[name] if name else lately.of_all(list(found.values()))
            linked = {document: path for document, path in readable.items() if not name or document[0] == name}
            said = self._guard.make(str(file.path), partial(self._said, status, name, reported), None)
            if file.is_due((without_trifles(said) if said else None, happened, linked)):
                language = self._config.companies[name].language if name else ENGLISH
                file.guard.begin()
                content = said and file.guard.make(
                    str(file.path),
                    partial(
                        page.render, said, happened, guard=file.guard, place=self._root / name, host=self._host,
                        company=name, pages=[page for page, its in self._files.items() if its.is_there and not name],
                        readable=linked, language=language,
                    ),
                    None,
                )  # fmt: skip
                responding = responding_folders(said or status, snapshots)
                file.write(content or page.without_content(name, now, language), responding)

    def troubles(self) -> dict[str, str]:
        """What can't be shown, and pages that couldn't be written for too long: sentences by what they are about."""
        found = dict(self._guard.troubles)
        for file in self._files.values():
            found |= file.guard.troubles
        return found

    def _said(self, status: Status, name: str, reported: Container[Key]) -> Status:
        """What a page says of the status: all of it, or a company's part."""
        return of_company(status, self._config.companies[name], self._config, reported) if name else status

    def readable(self, now: datetime) -> dict[tuple[str, str], Path]:
        """Where the pages of the latest received documents are to lie, by company and name of the document."""
        companies = self._config.companies
        return {
            (received.company, received.file): companies[name].inbound / page_name(received.file)
            for name, happened in self._lately(now).items()
            if name in companies and companies[name].may_receive and companies[name].readable == "html"
            for received in happened.received
        }

    def _lately(self, now: datetime) -> dict[str, lately.Lately]:
        """What happened lately, by company and to messages for nobody; not asked again before something happens."""
        asked = self._journal.commits, now.date()
        if asked != self._asked:
            names = [*self._config.companies, UNASSIGNED]
            try:
                self._found = {name: self._gathered(name, now) for name in names}
            except JournalError:  # the status says so
                return dict.fromkeys(names, lately.nothing(now))
            self._asked = asked if all(found.is_known for found in self._found.values()) else None
        return self._found

    def _gathered(self, company: str, now: datetime) -> lately.Lately:
        """What happened to a company's documents lately. Raises JournalError."""
        what = f"what {company} sent and received lately"
        found = self._guard.make(what, lambda: lately.gather(self._journal, company, now), lately.nothing(now))
        if found.is_known and (of := self._config.companies.get(company)):
            return replace(found, unproven=lately.unproven(self._journal, of, self._config.accounts[of.account]))
        return found


class _PageFile:
    """The page in the root, or in the folder there with a company's `name`. `is_there`: whether it was written.

    `guard`: for what the page shows.
    """

    def __init__(self, root: Path, name: str, journal: Journal, log: structlog.stdlib.BoundLogger) -> None:
        self._root = root
        self._name = name
        self._journal = journal
        self._is_busy = False
        self._said: object = None
        self._next = 0.0
        self.is_there = False
        self.path = root / name / NAME
        self._about = f"writing {self.path}"
        self.guard = Guard(log)

    def is_due(self, said: object) -> bool:
        """Whether the page is to be written. Not while its folder hangs."""
        is_due = not self._is_busy and (said != self._said or time.monotonic() >= self._next)
        if is_due:  # also if it can't be written then: not again and again
            self._said, self._next = said, time.monotonic() + (PAGE_ANYWAY if self._name else WRITTEN_ANYWAY)
        return is_due

    def write(self, content: bytes, folders: Sequence[Path]) -> None:
        """Write it. Where that fails, the log has it. `folders` are the company's, as for `is_at_home`."""

        def work() -> None:
            self._is_busy = True
            try:
                self._write(content, folders)
            finally:
                self._is_busy = False

        try:
            within(PATIENCE, work)
            self.guard.note_success(self._about)
        except FileNotFoundError:  # the company has no folder here
            self.is_there, self._next = False, time.monotonic() + WRITTEN_ANYWAY
            self.guard.note_success(self._about)
        except OSError as error:
            self._next = time.monotonic() + WRITTEN_ANYWAY
            why = explain(error, self.path, to_write=True)
            said = f"{self.path} can't be written, so it shows an older status: {why}"
            self.guard.note(self._about, said, "page.not_written", patience=LATE, company=self._name, why=why)

    def _write(self, content: bytes, folders: Sequence[Path]) -> None:
        folder = Directory.open(self._root)
        folder = folder.folder(self._name) if self._name else folder
        if self._name and not is_at_home(folder / NAME, folders, self._journal):
            return
        if not self.is_there:
            clear_drafts(folder)
        replace_whole(folder / NAME, content)
        self.is_there = True


def responding_folders(status: Status, snapshots: Mapping[Path, FolderSnapshot]) -> list[Path]:
    """The folders of a status' companies, without those that hang."""
    paths = [Path(folder["path"]) for company in status["companies"].values() for folder in company["folders"]]
    hung = {path for path, snapshot in snapshots.items() if snapshot.cause is Cause.HUNG}
    return [path for path in paths if path not in hung]


def is_at_home(file: Entry, folders: Sequence[Path], journal: Journal) -> bool:
    """Whether this file is in a folder of ours.

    No, where all these folders, which responded, belong to another filedrop. Where we know folders and none has a
    marker, the disk isn't mounted: no file is made, but one that is there already is still written. Raises OSError.
    """
    markers = within(PATIENCE, lambda: list(map(read_marker, folders)))  # one may hang since it was looked into
    owners = {marker.journal for marker in markers if marker}
    if owners:
        return journal.id in owners
    known = (path for path in folders if path.is_relative_to(file.directory.path) and journal.folders.at(path))
    return file.exists() or not any(known)


def without_trifles(status: Status) -> object:
    """What is worth writing at once: not the times, nor how much room there is, while there is enough."""
    companies = {
        name: {
            **company,
            "folders": [{**folder, "free": None} for folder in company["folders"]],
            "strays": company["strays"] or [],  # that there are none is no news, a minute after the start
        }
        for name, company in status["companies"].items()
    }
    unassigned = {**(status["unassigned"] or {}), "free": None}
    accounts = {
        name: {**account, "last_poll": account["last_poll"] is not None} for name, account in status["accounts"].items()
    }
    times = {"written": None, "heard": None}
    return {**status, **times, "companies": companies, "accounts": accounts, "unassigned": unassigned}
