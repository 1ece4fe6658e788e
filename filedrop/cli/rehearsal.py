"""What a rehearsal finds out: what would become of each document, and which receivers the directory knows.

A document is read, identified and validated as a run does it. Each that could be sent goes into a journal of its own,
so that duplicates among them are found. The access point is only asked; nothing is posted.
"""

from __future__ import annotations

import csv
import re
import time
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple, Self

from filedrop.accesspoint.directory import DirectoryAnswer, look_up, objection_to, with_twin
from filedrop.cli.dryrun import ASIDE, FAILS, NOT_READY, SENDS, as_dropped, duplicate_of, validated
from filedrop.cli.opening import journal_if_any, open_access_point
from filedrop.errors import AccessPointError, DocumentError, FiledropError
from filedrop.files.rights import explain
from filedrop.identify import participants
from filedrop.identify.identity import contradicted
from filedrop.identify.mapping import Rules
from filedrop.journal import JOURNAL, Journal
from filedrop.model.document import Document, Need, State, local_name, new_id, participant_key
from filedrop.model.fault import Fault
from filedrop.model.twins import twin
from filedrop.outbound.context import identification_of
from filedrop.outbound.identified import identified
from filedrop.outbound.sender import duplicate
from filedrop.outbound.upload import Changing, OpenedDocument
from filedrop.storage.own_name import own_name_beside
from filedrop.texts import Text
from filedrop.validation import validator_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from filedrop.accesspoint import AccessPoint
    from filedrop.config import Company, Config
    from filedrop.identify import Reading
    from filedrop.outbound.context import Identification

REACHABLE, UNREACHABLE, UNKNOWN = "reachable", "unreachable", "unknown"
_SEPARATOR = re.compile(r"sep=(.)\s*", re.IGNORECASE)  # the first line, for a spreadsheet
PAUSE = 0.2  # seconds between two questions, so that a rehearsal is no burden for an access point


class Rehearsed(NamedTuple):
    """A document, what a run would make of it (`verdict`, as in a dry run), and whether its receiver can be reached.

    `fault` is why it would fail, as its note would say it; `why` is what else is said of it. `contradicts` are the
    roles whose ids aren't the document's EndpointIDs, though the network demands that. `advises_aside`: the directory
    doesn't have its receiver, and nothing is set for that.
    """

    file: Path
    document: Document
    verdict: str
    reach: str
    why: str = ""
    fault: Fault | None = None
    contradicts: tuple[str, ...] = ()
    advises_aside: bool = False


class Receiver(NamedTuple):
    """A row of a table of receivers: the id ("" where the row has none), whether it can be reached, and why not."""

    row: int
    participant: str
    reach: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """What an account's directory said of a receiver and a kind of document."""

    known: DirectoryAnswer
    lookup: tuple[str, ...]

    def objection(self, document: Document) -> Fault | None:
        """Why the receiver would not get this document; None where no reason is known."""
        return objection_to(self.known, document.ids, self.lookup)

    def reach(self, document: Document) -> str:
        """Whether the receiver can be reached and takes this document."""
        if self.objection(document) is not None:
            return UNREACHABLE
        return REACHABLE if self.known.connected else UNKNOWN


class Directories:
    """The directories of all accounts. Each question is asked once, and at most five requests are made a second."""

    def __init__(self, config: Config, stack: ExitStack) -> None:
        """`stack` closes the access points."""
        self.troubles: dict[str, str] = {}
        """By account, why its directory can't be asked; it isn't asked again."""
        self._config = config
        self._stack = stack
        self._access_points: dict[str, AccessPoint] = {}
        self._answers: dict[tuple[str, str, str], DirectoryAnswer] = {}
        self._next = 0.0

    def ask(self, account: str, receiver: str, kind: str) -> Asked:
        """Ask an account's directory about a receiver and documents with this local name. Raises ConfigError."""
        key = account, participant_key(receiver), kind
        if key not in self._answers:
            self._answers[key] = self._look_up(account, receiver, kind)
        several = ["--account", account] if len(self._config.accounts) > 1 else []
        return Asked(self._answers[key], ("filedrop", "lookup", *several))

    def _look_up(self, account: str, receiver: str, kind: str) -> DirectoryAnswer:
        if account in self.troubles:
            return DirectoryAnswer()
        if account not in self._access_points:
            opened = open_access_point(self._config.accounts[account])
            self._access_points[account] = self._stack.enter_context(opened)
        try:
            return look_up(self._access_points[account], receiver, kind, pause=self._pause)
        except AccessPointError as error:
            self.troubles[account] = str(error)
            return DirectoryAnswer()

    def _pause(self) -> None:
        time.sleep(max(0.0, self._next - time.monotonic()))
        self._next = time.monotonic() + PAUSE


class Rehearsal:
    """Judges documents one after the other, in a `with`."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.rules = Rules(config.mapping, config.tables, source=config.source)
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        config, stack = self.config, self._stack
        self.directories = Directories(config, stack)
        self._journal = stack.enter_context(journal_if_any(config))
        own = Path(stack.enter_context(TemporaryDirectory(prefix="filedrop-rehearsal-")))
        self._sent = stack.enter_context(closing(Journal.at(own / JOURNAL)))
        self._validator = validator_of(config.validation, passed=config.pass_environment)
        if self._validator is not None:
            stack.enter_context(closing(self._validator))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def judge(self, file: Path, company: Company) -> Rehearsed:
        """What would become of a file if this company dropped it after those before. Raises ConfigError."""
        document = as_dropped(company, "", file.name, own_name_beside(file) or file.name)
        document = document.but(id=new_id(document.claimed))
        by = identification_of(company, self.rules)
        try:
            reading = self.read(file, by.xpaths)
            document = self.identify(document, reading, by)
            if document.error is None:
                document = self._checked_for_duplicates(document)
        except DocumentError as error:
            document = document.failed(document.claimed, Fault.of(*error.texts))
        except (Changing, FileNotFoundError):
            return Rehearsed(file, document, NOT_READY, UNKNOWN, "somebody is writing it, or removed it")
        except OSError as error:
            document = document.failed(document.claimed, Fault("unreadable", f"{explain(error)}."))
        if document.state is State.UNREACHABLE and document.error:
            return Rehearsed(file, document, ASIDE, UNREACHABLE, document.error.message)
        if document.error:
            return Rehearsed(file, document, FAILS, UNKNOWN, document.error.message, document.error)
        if waits := document.why_without(Need.IDS):
            return Rehearsed(file, document, NOT_READY, UNKNOWN, waits)
        return self._ask_others(file, document, company)._replace(contradicts=contradicts(document, reading, company))

    def read(self, file: Path, xpaths: Collection[str]) -> Reading:
        """A file's content. Raises DocumentError, Changing, OSError."""
        with closing(OpenedDocument.open(file)) as opened:
            return opened.read(self.config.outbound.max_size, xpaths)

    def identify(self, document: Document, reading: Reading, by: Identification) -> Document:
        """A document with what was read of its file and with its ids; FAILED where these don't do."""
        rules = self.config.companies[document.company].apply_to(self.config.outbound)
        return identified(by, document, reading, rules, document.claimed)

    def ask(self, document: Document) -> Asked:
        """What the directory says of a document's receiver. Raises ConfigError."""
        return self.directories.ask(document.account, document.receiver or "", local_name(document.document_id))

    def _checked_for_duplicates(self, document: Document) -> Document:
        if self._journal and (first := duplicate_of(self.config, document, self._journal)):
            return document.failed(document.claimed, duplicate(first))
        if first := duplicate_of(self.config, document, self._sent):
            return document.failed(document.claimed, Fault.of(Text.of("duplicate/rehearsed", first=first.dropped_as)))
        return document

    def _ask_others(self, file: Path, document: Document, company: Company) -> Rehearsed:
        """What validator and directory say of a document that would be sent but for them."""
        warnings = "; ".join(document.warnings)
        asked = self.ask(document)
        reach, objection = asked.reach(document), asked.objection(document)
        if asked.known.is_absent and company.unreachable == "aside":
            verdict, why, fault = ASIDE, "", None
        else:
            verdict, why, fault = validated(self.config, self._validator, document, file, warnings)
        if objection is not None:
            objection = with_twin(
                objection, document.ids, lambda other: self.ask(document.but(receiver=other)).known.connected
            )
        if verdict in (SENDS, ASIDE) and objection is not None:
            if verdict == SENDS and company.directory == "refuse":
                verdict, fault = FAILS, objection
            why = "; ".join(filter(None, (why, objection.message)))
        if verdict == SENDS:
            self._sent.documents.record(document.sending(document.claimed, identity="", clock=None))
        advises = asked.known.is_absent and company.unreachable == "directory"
        return Rehearsed(file, document, verdict, reach, why, fault, advises_aside=advises)

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
            known = self.directories.ask(account, receiver, kind).known
            doubts = "; ".join(participants.doubts("receiver", receiver))
            if known.is_absent:
                other = twin(receiver)
                is_there = other and self.directories.ask(account, other, kind).known.connected
                also = f"; the same company is in it as {other}" if is_there else ""
                why = "; ".join(filter(None, (f"it is not in the directory{also}", doubts)))
                yield Receiver(row, receiver, UNREACHABLE, why)
            elif known.accepts == ():
                yield Receiver(row, receiver, UNREACHABLE, f"it accepts no {kind}")
            else:
                yield Receiver(row, receiver, REACHABLE if known.connected else UNKNOWN, doubts)


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
