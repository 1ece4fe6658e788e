"""`filedrop run --once --dry-run`: what would be sent as whom.

It touches nothing: no lock, no marker, no folder, no row.
"""

from __future__ import annotations

from contextlib import closing, nullcontext
from datetime import datetime
from typing import TYPE_CHECKING, Any

from filedrop.cli.identify import prepare_in_memory
from filedrop.cli.opening import journal_if_any
from filedrop.cli.show import say, show_json
from filedrop.cli.tables import show_table
from filedrop.errors import DocumentError, FolderUnavailable, NoVerdict
from filedrop.files.rights import explain
from filedrop.identify.mapping import Rules
from filedrop.journal import Waiver
from filedrop.model.document import LET_THROUGH, Document, Event, Need, State
from filedrop.model.fault import Fault
from filedrop.outbound.context import Identification, identification_of
from filedrop.outbound.identified import identified
from filedrop.outbound.pdfs import MISSING
from filedrop.outbound.preparing import demand_attachment
from filedrop.outbound.sender import duplicate
from filedrop.outbound.upload import Changing, OpenedDocument
from filedrop.outbound.validating import ask, invalid, warnings
from filedrop.storage.folder import NotYetThere
from filedrop.storage.folders import outbound_folder
from filedrop.storage.own_name import own_name, own_name_beside
from filedrop.validation import validator_of

if TYPE_CHECKING:
    from collections.abc import Container, Iterator
    from pathlib import Path

    from filedrop.config import Company, Config
    from filedrop.files import Entry, Where
    from filedrop.journal import Journal
    from filedrop.storage.folders import OutboundFolder
    from filedrop.validation import Validator

SENDS, ASIDE, FAILS, HELD, NOT_READY = "would send", "would be put aside", "would fail", "held", "not ready"


def show_dry_run(config: Config, *, as_json: bool) -> bool:
    """Show what a run would do with each document; False where one would fail or a folder can't be looked into."""
    validator = validator_of(config.validation, passed=config.pass_environment)
    with journal_if_any(config) as journal, closing(validator) if validator is not None else nullcontext():
        rows = list(_rows(config, journal, validator))
    if as_json:
        for row in rows:
            show_json(row)
    elif rows:
        columns = ("company", "file", "verdict", "sender", "receiver", "why")
        show_table([column.capitalize() for column in columns], [[row[column] for column in columns] for row in rows])
    else:
        say("There is nothing to send.")
    return all(row["verdict"] != FAILS for row in rows)


def _rows(config: Config, journal: Journal | None, validator: Validator | None) -> Iterator[dict[str, Any]]:
    rules = Rules(config.mapping, config.tables, source=config.source)
    held_back: set[Path] = set()
    for company in config.companies.values():
        for path in company.outbound:
            folder, by = outbound_folder(config, company, path), identification_of(company, rules)
            try:
                folder.check_ownership(journal)
                held = folder.held_by()
                if held:
                    held_back.add(path)
                for name in sorted(folder.dropped()):
                    document, verdict, why = _judged(config, folder, by, name, journal)
                    if verdict == SENDS:
                        verdict, why, _ = validated(config, validator, document, folder.at() / name, why)
                    there = folder.stamp("", name)
                    if verdict == SENDS and there and (lacks := folder.ready.missing(name, there.modified)):
                        verdict, why = NOT_READY, "; ".join(filter(None, (f"it waits for {lacks}", why)))
                    yield _row(document, HELD if held and verdict == SENDS else verdict, why)
            except NotYetThere:
                continue
            except (FolderUnavailable, OSError) as error:
                nothing = as_dropped(company, folder.id, "", "")
                yield _row(nothing, FAILS, f"{path}: {error}")
    if journal:
        yield from _claimed(journal, held_back)


def _claimed(journal: Journal, held_back: Container[Path | None]) -> Iterator[dict[str, Any]]:
    """What was claimed before, and isn't at the access point for certain."""
    for document in journal.documents.in_state(State.WAITING):
        held = journal.folders.path(document.folder) in held_back
        waits = document.why_without(Need.IDS)
        yield _row(document, NOT_READY if waits else HELD if held else SENDS, waits or "claimed before")
    for document in journal.documents.in_state(State.DOUBT):
        yield _row(document, "doubt", "filedrop would first look for it at the access point")


def _judged(
    config: Config, folder: OutboundFolder, by: Identification, name: str, journal: Journal | None
) -> tuple[Document, str, str]:
    company = config.companies[folder.company]
    document = as_dropped(company, folder.id, name, name)
    try:
        document = as_claimed(config, folder, by, folder.at() / name, journal)
    except (Changing, FileNotFoundError):
        return document, NOT_READY, "somebody is writing it, or removed it"
    except DocumentError as error:
        return document, NOT_READY if error.code == "not-xml" else FAILS, error.message
    except OSError as error:
        return document, FAILS, f"it can't be read: {explain(error)}"
    if document.error:
        return document, ASIDE if document.state is State.UNREACHABLE else FAILS, document.error.message
    first = duplicate_of(config, document, journal) if journal else None
    if first:
        return document, FAILS, duplicate(first).message
    waits = document.why_without(Need.IDS)
    return document, NOT_READY if waits else SENDS, waits or "; ".join(document.warnings)


def validated(
    config: Config, validator: Validator | None, document: Document, where: Where, why: str
) -> tuple[str, str, Fault | None]:
    """What would become of a document that would be sent, but for its preparation and the rules.

    `why` is what else is said of it.
    """
    company = config.companies[document.company]
    rules = company.apply_to(config.outbound)
    if not rules.is_judged:
        return SENDS, why, None
    judges = validator if company.validate_ != "off" else None
    refuses = company.validate_ == "refuse"
    try:
        with closing(OpenedDocument.open(where)) as opened:
            opened.read(config.outbound.max_size)
            try:
                prepare_in_memory(where, opened, document, company, config.outbound)
                demand_attachment(document, opened, rules)
            except DocumentError as error:
                fault = Fault.of(*error.texts)
                return NOT_READY if error.texts[0].form == MISSING else FAILS, fault.message, fault
            if judges is None:
                return SENDS, why, None
            verdict = ask(judges, opened, company.name, local=True)
    except (NoVerdict, Changing, DocumentError, OSError) as error:
        said = f"it can't be validated: {error}"
        return (NOT_READY, said, None) if refuses else (SENDS, "; ".join(filter(None, (why, said))), None)
    if refuses and not verdict.is_valid:
        fault = invalid(verdict, company.name)
        return FAILS, fault.message, fault
    return SENDS, "; ".join(filter(None, (why, *warnings(verdict)))), None


def as_claimed(
    config: Config, folder: OutboundFolder, by: Identification, entry: Entry, journal: Journal | None
) -> Document:
    """The document that a file would become; FAILED where its ids don't do. Raises OSError, Changing, DocumentError."""
    with closing(OpenedDocument.open(entry)) as opened:
        reading = opened.read(config.outbound.max_size, by.xpaths)
    company = config.companies[folder.company]
    known = journal.folders.at(folder.path) if journal else None
    if journal is None or known is None:
        document = as_dropped(company, folder.id, entry.name, own_name_beside(entry) or entry.name)
    else:
        own = own_name(entry, folder.ended(), known, journal, reading)
        document = as_dropped(company, folder.id, entry.name, own)
        if journal.waivers.of(known, entry.name) == Waiver(reading.sha256, opened.stamp.modified):
            document = document.but(history=(Event(document.claimed, LET_THROUGH),))
    return identified(by, document, reading, company.apply_to(config.outbound), document.claimed)


def duplicate_of(config: Config, document: Document, journal: Journal) -> Document | None:
    """The document that is, or may be, at the access point, so that this one would fail as its duplicate."""
    rule = config.companies[document.company].duplicates
    if rule == "allow" or document.was_let_through:
        return None
    return journal.documents.duplicate_of(document, by_number=rule == "number")


def as_dropped(company: Company, folder: str, file: str, dropped_as: str) -> Document:
    """A document as the claim would make it, but for its id; `folder` is the folder's id, "" for none."""
    now = datetime.now().astimezone()
    return Document(
        id="",
        company=company.name,
        folder=folder,
        account=company.account,
        file=file,
        dropped_as=dropped_as,
        claimed=now,
    )


def _row(document: Document, verdict: str, why: str) -> dict[str, Any]:
    ids = {name: getattr(document, name) for name in ("sender", "receiver", "document_id", "process_id", "channel")}
    return {"company": document.company, "file": document.file, "verdict": verdict, **ids, "why": why}
