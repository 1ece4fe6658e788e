"""What would become of each document if its company dropped it now, and which receivers the directory knows.

A document takes the road of a real run, step by step, as far as nothing is moved, written or posted: it is identified,
prepared, validated, and compared with those that were sent. Each that would be sent goes into a journal of its own, so
that duplicates among them are found. The access point is only asked.
"""

from __future__ import annotations

import csv
import errno
import os
import re
import time
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple, Self

from filedrop.accesspoint.directory import UNKNOWN as ABSENT
from filedrop.accesspoint.directory import DirectoryAnswer, ReceiverDirectory
from filedrop.cli.dropped import STDIN, as_claimed, as_dropped, duplicate_of, opened_document
from filedrop.cli.opening import WHO_MAY, as_caller, has_journal, journal_if_any, open_access_point
from filedrop.config import Company, Config
from filedrop.config.prepare import Prepare
from filedrop.config.rules import load_rules
from filedrop.errors import ConfigError, DocumentError, FiledropError, NoVerdict, Unanswered
from filedrop.files import is_missing
from filedrop.files.rights import explain
from filedrop.identify import participants
from filedrop.identify.identity import contradicted
from filedrop.identify.mapping import Rules
from filedrop.journal import JOURNAL, Journal
from filedrop.model.document import Need, State, local_name, participant_key
from filedrop.model.fault import Fault
from filedrop.model.twins import twin
from filedrop.outbound.context import identification_of
from filedrop.outbound.pdf_look import left_pdfs
from filedrop.outbound.pdfs import pdf_for
from filedrop.outbound.preparing import demand_attachment, in_memory, post_instead, read_of
from filedrop.outbound.reporting import another_version
from filedrop.outbound.sender import duplicate, is_refused, same_number
from filedrop.outbound.unreachable import DELIVERED_TO, PROOF, must_ask
from filedrop.outbound.upload import Changing
from filedrop.outbound.validating import ask, invalid, warnings
from filedrop.outbound.versions import original_of, version_of
from filedrop.storage.company_folders import outbound_folder
from filedrop.texts import Text
from filedrop.texts.printable import command
from filedrop.validation import validator_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from filedrop.config import Outbound
    from filedrop.files import Where
    from filedrop.identify import Identity, Reading
    from filedrop.model.document import Document
    from filedrop.outbound.context import Identification
    from filedrop.outbound.pdfs import FoundPdf
    from filedrop.outbound.upload import OpenedDocument
    from filedrop.storage.company_folders import OutboundFolder
    from filedrop.validation import Verdict

SENDS, ASIDE, FAILS, NOT_READY = "would send", "would be put aside", "would fail", "not ready"
STAYS = "would stay"  # a run leaves it where it was dropped
HAS_IDS = "has its ids"  # the verdict without a configuration, where nothing else is known
REACHABLE, UNREACHABLE, UNKNOWN = "reachable", "unreachable", "unknown"
PAUSE = 0.2  # seconds between two questions, so that they are no burden for an access point
FOREVER = timedelta(days=1)  # for which an answer counts here
ITS_NAME = "because of its name, it is never sent (outbound.files)"
A_LINK = "It is a symbolic link, and filedrop doesn't follow or send links. Name the file itself."
_SEPARATOR = re.compile(r"sep=(.)\s*", re.IGNORECASE)  # the first line, for a spreadsheet


@dataclass(slots=True)
class Rehearsed:
    """A document on the road, and at its end what a run would make of it (`verdict`).

    `reach` is whether its receiver can be reached, "" where nobody was asked. `why` is why it would wait or be put
    aside; `fault` why it would fail, as its note would say it. `contradicts` are the roles whose ids aren't the
    document's EndpointIDs, though the network demands that. `advises_aside`: the directory doesn't have its receiver,
    and nothing is set for that. `judgement` is the validator's. `identity` and `reading`, and the `content` that would
    be posted, are kept where they are wanted.
    """

    file: Path
    document: Document
    verdict: str
    reach: str = ""
    why: str = ""
    fault: Fault | None = None
    contradicts: tuple[str, ...] = ()
    advises_aside: bool = False
    judgement: Verdict | None = None
    identity: Identity | None = None
    reading: Reading | None = None
    content: bytes | None = None

    @property
    def says(self) -> str:
        """All that is said of it, in a line: why it would fail, wait or be put aside, or else its warnings."""
        if self.fault is not None:
            return self.fault.message
        found = warnings(self.judgement) if self.judgement else ()
        return self.why or "; ".join((*self.document.warnings, *found))


class RoadEnds(Exception):
    """A document goes no further: its verdict, and its `why` or its `fault`."""

    def __init__(self, verdict: str, why: str = "", fault: Fault | None = None) -> None:
        super().__init__(verdict, why, fault)


NOBODY = Company.model_construct(  # the company of a file where nothing is configured
    None,
    **dict.fromkeys(("name", "account", "channel"), ""),
    **dict.fromkeys(("participants", "outbound"), ()),
    prepare=Prepare(),
    validate="off",
    directory="off",
    unreachable="directory",
    duplicates="allow",
)
NO_CONFIG = Config.model_construct(None, source="", accounts={}, companies={"": NOBODY})


class Receiver(NamedTuple):
    """A row of a table of receivers: the id ("" where the row has none), whether it can be reached, and why not.

    `account`: the one whose directory was asked.
    """

    row: int
    participant: str
    reach: str
    why: str = ""
    account: str = ""


@dataclass
class Rehearsal:
    """Judges documents one after the other, in a `with`.

    `own_rules`: the folder whose rules count in place of the configuration's; a document that breaks them fails.
    `offline`: no directory is asked. `explains`, `keeps`: each document is kept with its identity, or with what would
    be posted.
    """

    config: Config
    own_rules: Path | None = None
    offline: bool = False
    explains: bool = False
    keeps: bool = False

    def __enter__(self) -> Self:
        config, stack = self.config, ExitStack()
        self._stack = stack
        self.rules = Rules(config.mapping, config.tables, source=config.source)
        self.unopened: dict[str, str] = {}
        self._folders: dict[Path, OutboundFolder] = {}
        self._directories: dict[str, ReceiverDirectory] = {}
        self._journal = stack.enter_context(journal_if_any(config)) if config.source else None
        validation = config.validation
        if self.own_rules is not None:
            load_rules(self.own_rules)  # all of its mistakes, at once
            validation = validation.model_copy(update={"rules": self.own_rules.absolute()})
        self._validator = validator_of(validation, passed=config.pass_environment)
        if self._validator is not None:
            stack.enter_context(closing(self._validator))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @cached_property
    def _sent(self) -> Journal:
        """A journal of those that would be sent."""
        folder = self._stack.enter_context(TemporaryDirectory(prefix="filedrop-check-"))
        return self._stack.enter_context(closing(Journal.at(Path(folder) / JOURNAL)))

    def judge(self, file: Path, company: Company, *, is_named: bool = True) -> Rehearsed:
        """What would become of a file if this company dropped it after those before. Raises JournalError.

        `is_named`: its name is that of a document.
        """
        found = Rehearsed(file, as_dropped(company, file.name, file.name), SENDS if self.config.source else HAS_IDS)
        by = identification_of(company, self.rules)
        try:
            with opened_document(file, self.config.outbound.max_size, by.xpaths) as opened:
                self._go(found, opened, company, by)
        except RoadEnds as end:
            found.verdict, found.why, found.fault = end.args
        except DocumentError as error:
            found.verdict, found.fault = FAILS, Fault.of(*error.texts)
        except (Changing, FileNotFoundError):
            found.verdict, found.why = NOT_READY, "somebody is writing it, or removed it"
        except OSError as error:
            why = A_LINK if error.errno == errno.ELOOP else f"{explain(error)}."
            found.verdict = STAYS if why == A_LINK else FAILS
            found.fault = Fault("unreadable", why)
        if self.config.source and not is_named:
            found.verdict, found.why = STAYS, ITS_NAME
        if found.verdict == SENDS:
            self._sent.documents.record(found.document.sending(found.document.claimed, identity="", clock=None))
        return found

    def _go(self, found: Rehearsed, opened: OpenedDocument, company: Company, by: Identification) -> None:
        """Take a document that was read along the road. Raises RoadEnds, DocumentError, Changing, OSError."""
        file, rules, folder = found.file, company.apply_to(self.config.outbound), self._folder_of(found.file, company)
        found.document = document = as_claimed(self.config, by, file, opened, folder=folder, journal=self._journal)
        self._see_ids(found, read_of(opened), by)
        pdf = self._pdf_of(file, opened, company, rules, folder)
        directory = self._directory_of(document.account)
        objection = directory.objection(document.ids) if directory else None
        found.reach = self.reach(document) if not self.offline else ""
        found.advises_aside = bool(objection and objection.code == ABSENT) and rules.unreachable == "directory"
        if directory and objection and objection.code == ABSENT and must_ask(document, rules):
            delivered = self._journal.documents.delivered_to(company.name, DELIVERED_TO) if self._journal else ()
            if directory.has_somebody(document.ids, (*company.participants, *delivered), asked_within=PROOF):
                raise RoadEnds(ASIDE, objection.message)
        keep = partial(in_memory, rules.max_size, opened.status)
        with as_caller():
            post_instead(opened, document, rules, company.name, keep, pdf=pdf if rules.prepare.puts_pdfs else None)
        if copy := opened.copy:
            found.document = document = document.posted_as(document.claimed, copy.prepared, copy.meaning)
        if self.keeps:
            found.content = b"".join(opened.upload(local=True).chunks())
        demand_attachment(document, opened, rules)
        self._validate(found, opened, rules)
        found.document = self._compare(found.document)
        if objection:
            if is_refused(objection, rules):
                raise RoadEnds(FAILS, fault=objection)
            found.document = found.document.warned(objection.message)
        if folder and (hold := folder.held_by(time.monotonic())):
            release = command("filedrop", "release", company.name)
            found.document = found.document.warned(
                f"it waits while there is {folder.path / hold}; to send it: {release}"
            )
        if folder and (lacks := folder.ready.missing(file.name, opened.stamp.modified)):
            raise RoadEnds(NOT_READY, f"it waits for {lacks}")

    def _see_ids(self, found: Rehearsed, reading: Reading, by: Identification) -> None:
        """See whether a document has its ids, and is no other version of another one. Raises RoadEnds."""
        document = found.document
        if self.explains:
            with suppress(DocumentError, Unanswered):
                found.identity, found.reading = by.identify(reading, document.dropped_as), reading
        if original := self._original_of(document, reading):
            raise RoadEnds(STAYS, another_version(original))
        if document.state is State.UNREACHABLE and document.error:
            found.reach = UNREACHABLE
            raise RoadEnds(ASIDE, document.error.message)
        if document.error:
            raise RoadEnds(FAILS, fault=document.error)
        if waits := document.why_without(Need.IDS):
            raise RoadEnds(NOT_READY, waits)
        found.contradicts = contradicts(document, reading, self.config.companies[document.company])

    def _validate(self, found: Rehearsed, opened: OpenedDocument, rules: Outbound) -> None:
        """Validate a document, as far as its company's documents are validated. Raises RoadEnds."""
        document, strictness = found.document, "refuse" if self.own_rules else rules.validate_
        if self._validator is None or strictness == "off":
            return
        try:
            found.judgement = ask(self._validator, opened, document.company, local=True)
        except (NoVerdict, OSError) as error:
            why = explain(error) if isinstance(error, OSError) else str(error)
            if strictness == "refuse":
                raise RoadEnds(NOT_READY, f"it can't be validated: {why}") from error
            found.document = document.warned(f"it could not be validated: {why}")
            return
        if strictness == "refuse" and not found.judgement.is_valid:
            raise RoadEnds(FAILS, fault=invalid(found.judgement, document.company))

    def _pdf_of(
        self, file: Path, opened: OpenedDocument, company: Company, rules: Outbound, folder: OutboundFolder | None
    ) -> FoundPdf | None:
        """The PDF that would go with a document. Raises DocumentError, OSError."""
        reading, prepare = read_of(opened), rules.prepare

        def left() -> tuple[list[tuple[Where, os.stat_result]], bool]:
            known = self._journal.folders.at(folder.path) if self._journal and folder else None
            if not (known and self._journal and folder):
                return [], False
            return left_pdfs(folder, known, self._journal, file.name, reading, prepare=prepare)

        with as_caller():
            return pdf_for(file, opened.status, reading, company.name, prepare, left=left) if file != STDIN else None

    def _original_of(self, document: Document, reading: Reading) -> str:
        """The name of the document of which this one is another version; "" where there is none."""
        version = version_of(document.file, reading)
        if version is None or not self.config.source or document.file == STDIN.name or document.was_let_through:
            return ""
        journals = filter(None, (self._journal, self._sent))
        known = (journal.documents.versions(document.company, [version.number]) for journal in journals)
        return original_of(version, chain.from_iterable(known))

    def _compare(self, document: Document) -> Document:
        """A document that wasn't sent before, and isn't among these files; warned of its number. Raises RoadEnds."""
        if self._journal and (first := duplicate_of(self.config, document, self._journal)):
            raise RoadEnds(FAILS, fault=duplicate(first))
        if first := duplicate_of(self.config, document, self._sent):
            raise RoadEnds(FAILS, fault=Fault.of(Text.of("duplicate/rehearsed", first=first.dropped_as)))
        if self.config.companies[document.company].duplicates != "refuse" or document.was_let_through:
            return document
        if self._journal and (first := self._journal.documents.same_number_as(document)):
            return document.warned(same_number(first))
        if first := self._sent.documents.same_number_as(document):
            return document.warned(
                f"{first.dropped_as} is among these files, and has its number and date, with another content or for "
                "another receiver: make sure that the receiver doesn't book it twice"
            )
        return document

    def read(self, file: Path, xpaths: Collection[str]) -> Reading:
        """A file's content. Raises DocumentError, Changing, OSError."""
        with opened_document(file, self.config.outbound.max_size, xpaths) as opened:
            return read_of(opened)

    def known(self, account: str, receiver: str, kind: str) -> DirectoryAnswer:
        """What an account's directory has of a receiver and documents with this local name, if it can be asked."""
        directory = self._directory_of(account)
        return directory.known(receiver, kind) if directory else DirectoryAnswer()

    def reach(self, document: Document) -> str:
        """Whether a document's receiver can be reached and takes it."""
        directory = self._directory_of(document.account)
        if directory and directory.objection(document.ids):
            return UNREACHABLE
        known = self.known(document.account, document.receiver or "", local_name(document.document_id))
        return REACHABLE if known.connected else UNKNOWN

    def troubles(self) -> dict[str, str]:
        """By account, why its directory can't be asked."""
        found = {account: directory.trouble for account, directory in self._directories.items() if directory.trouble}
        return self.unopened | found

    @property
    def unread(self) -> str:
        """Why it isn't known what was sent before; "" if it is."""
        config = self.config
        if not config.source or has_journal(config) or is_missing(config.state / JOURNAL):
            return ""
        return f"What was sent before isn't known: you may not use the journal in {config.state}; run this as {WHO_MAY}"

    def _directory_of(self, account: str) -> ReceiverDirectory | None:
        """An account's directory; None if it can't be asked."""
        if self.offline or account in self._directories or account in self.unopened:
            return self._directories.get(account)
        try:
            access_point = self._stack.enter_context(open_access_point(self.config.accounts[account]))
        except ConfigError as error:
            self.unopened[account] = str(error)
            return None
        name = account if len(self.config.accounts) > 1 else ""
        made = ReceiverDirectory(access_point, cache=FOREVER, steady=time.monotonic, account=name, pace=PAUSE)
        return self._directories.setdefault(account, made)

    def _folder_of(self, file: Path, company: Company) -> OutboundFolder | None:
        """The company's outbound folder that the file is in; None where it is in another place."""
        if file == STDIN:
            return None
        within = os.path.realpath(file.parent)
        path = next((path for path in company.outbound if os.path.realpath(path) == within), None)
        if path and path not in self._folders:
            self._folders[path] = outbound_folder(self.config, company, path)
        return self._folders[path] if path else None

    def look_for(self, table: Path, company: Company | None, kind: str) -> Iterator[Receiver]:
        """Whether each receiver of a table can be reached, and accepts this kind. Raises FiledropError.

        The directory is that of the `company`; if None, that of the only account, or of the sender in the row.
        """
        companies = self.config.companies.values()
        accounts = {own.account for own in companies} if company is None else {company.account}
        owners = {participant_key(id_): own.account for own in companies for id_ in own.participants}
        for row, ids in _rows(table):
            if not ids:
                yield Receiver(row, "", UNKNOWN, "no cell of this row is a ParticipantID, such as 0192:123456785")
                continue
            sender = next((id_ for id_ in ids if participant_key(id_) in owners), "") if ids[1:] else ""
            receiver = next((id_ for id_ in ids if id_ != sender), sender)
            account = next(iter(accounts)) if len(accounts) == 1 else owners.get(participant_key(sender))
            if account is None:
                why = "no cell of this row is one of your companies' participants: add the sender, or write --company"
                yield Receiver(row, receiver, UNKNOWN, why)
                continue
            known = self.known(account, receiver, kind)
            doubts = "; ".join(participants.doubts("receiver", receiver))
            if known.is_absent:
                other = twin(receiver)
                is_there = other and self.known(account, other, kind).connected
                also = f"; the same company is in it as {other}" if is_there else ""
                why = "; ".join(filter(None, (f"it is not in the directory{also}", doubts)))
                yield Receiver(row, receiver, UNREACHABLE, why, account)
            elif known.accepts == ():
                yield Receiver(row, receiver, UNREACHABLE, f"it accepts no {kind}", account)
            else:
                yield Receiver(row, receiver, REACHABLE if known.connected else UNKNOWN, doubts, account)


def contradicts(document: Document, reading: Reading, company: Company) -> tuple[str, ...]:
    """The roles whose ids aren't what the document states, though a rule of the network demands that.

    None of them, if the ids are written into the document.
    """
    if company.prepare.ids:
        return ()
    return tuple(contradicted({"sender": document.sender, "receiver": document.receiver}, reading))


def _rows(table: Path) -> list[tuple[int, list[str]]]:
    """Each row below the header with its number, and the ParticipantIDs in it. Raises FiledropError.

    The header is the first row of several cells, unless an id is in it or above it. A `sep=;`, titles and empty rows
    are no rows of the table.
    """
    try:
        with as_caller():
            lines = table.read_text("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = explain(error) if isinstance(error, OSError) else "it is not written in UTF-8"
        raise FiledropError(f"{table} can't be read: {why}") from error
    stated = _SEPARATOR.fullmatch(lines[0]) if lines else None
    delimiter = stated[1] if stated else max(",;\t", key=lambda mark: sum(mark in line for line in lines))
    rows = []
    for number, row in enumerate(csv.reader(lines, delimiter=delimiter), 1):
        ids = [id_ for cell in row if participants.fault(id_ := participants.spelled_out(cell.strip())) is None]
        if any(map(str.strip, row)) and not (stated and number == 1):
            rows.append((number, ids, sum(map(bool, row))))
    first = next((nth for nth, (_, ids, _) in enumerate(rows) if ids), len(rows))
    header = next((nth for nth, (*_, cells) in enumerate(rows[:first]) if cells > 1), 0 if first else -1)
    if not rows[header + 1 :]:
        raise FiledropError(f"{table} is empty: write a row with a ParticipantID for each receiver, below a header")
    return [(number, ids) for number, ids, _ in rows[header + 1 :]]
