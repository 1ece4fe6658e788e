"""What the journal knows that a status shows: documents and messages by their states, and those of the last days."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from filedrop.model.document import State
from filedrop.model.report import LISTED
from filedrop.status.rejections import rejected_since
from filedrop.status.repeated import repeated_since
from filedrop.status.silence import silences
from filedrop.storage.former import left_behind, left_in_folders, served_folders

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from filedrop.config import Config
    from filedrop.journal import Journal, MessageRow, Newest
    from filedrop.model.document import Document
    from filedrop.process.guard import Guard
    from filedrop.status.kinds import Kind
    from filedrop.status.model import Item
    from filedrop.status.repeated import Repeated

LATELY = timedelta(days=7)  # for which a rejection is shown: nobody tells us when it was dealt with. Or a duplicate


@dataclass(frozen=True, slots=True)
class Recorded:
    """What the journal knows; nothing where it can't be read.

    By company: `newest`, its documents of each kind that the journal names, `under_way`, how many of its open documents
    are in each state, and `stuck`, its messages that can't be taken. By account: `stuck_for_nobody`, `left_behind`
    (sentences about documents at its former host) and `surplus` (numbers of documents that the access point has twice).
    `left_in_folders`: the sentence about those in former folders. `doubts`: all documents in doubt. `lately`: what was
    rejected or not answered, each with its company.
    """

    newest: Mapping[str, Mapping[str, Newest]] = field(default_factory=dict)
    under_way: Mapping[str, Counter[str]] = field(default_factory=dict)
    stuck: Mapping[str, list[MessageRow]] = field(default_factory=dict)
    stuck_for_nobody: Mapping[str, list[MessageRow]] = field(default_factory=dict)
    left_behind: Mapping[str, list[str]] = field(default_factory=dict)
    left_in_folders: str = ""
    surplus: Mapping[str, list[int]] = field(default_factory=dict)
    doubts: Sequence[Document] = ()
    lately: Mapping[Kind, list[tuple[str, Item]]] = field(default_factory=dict)


def find_repeated(journal: Journal, config: Config, guard: Guard, now: datetime) -> list[Repeated]:
    """The received documents of the last days that came before. Raises JournalError."""
    found: list[Repeated] = []
    for company in config.companies.values():
        what = f"what {company.name} received twice lately"
        found += guard.make(what, partial(repeated_since, journal, company, now - LATELY), [])
    return found


def read_records(journal: Journal, config: Config, guard: Guard, now: datetime) -> Recorded:
    """What the journal knows now. What can't be made of it is missing, as the guard reports. Raises JournalError."""
    served = served_folders(config, journal)
    companies = config.companies.values()
    served_by = {served[path]: company.name for company in companies for path in company.outbound if path in served}
    stuck, stuck_for_nobody = _stuck(journal, config, guard)
    what = "which documents wait, are in doubt, are overdue or have warnings"
    nothing: dict[str, dict[str, Newest]] = {}
    newest = guard.make(what, partial(_newest, journal, now - config.outbound.overdue), nothing)
    return Recorded(
        newest=newest,
        under_way={
            company.name: sum(
                (Counter(journal.documents.counts(served[path])) for path in company.outbound if path in served),
                Counter[str](),
            )
            for company in companies
        },
        stuck=stuck,
        stuck_for_nobody=stuck_for_nobody,
        left_behind=left_behind(config, journal),
        left_in_folders=left_in_folders(served, journal),
        surplus={
            name: [msg_no for msg_no, _ in journal.numbers.surplus(account.identity)][::-1]
            for name, account in config.accounts.items()
        },
        doubts=journal.documents.in_state(State.DOUBT) if any("doubt" in kinds for kinds in newest.values()) else (),
        lately={
            "rejected": guard.make(
                "what receivers rejected lately",
                lambda: list(rejected_since(journal, config, served_by, now - LATELY)),
                [],
            ),
            **guard.make("which answers are missing", partial(silences, journal, config, served_by, now), {}),
        },
    )


def _newest(journal: Journal, accepted_before: datetime) -> dict[str, dict[str, Newest]]:
    """The documents that the journal names, by company and kind. Raises JournalError."""
    found: dict[str, dict[str, Newest]] = {}
    for (company, kind), newest in journal.documents.newest(accepted_before, LISTED).items():
        found.setdefault(company, {})[kind] = newest
    return found


def _stuck(
    journal: Journal, config: Config, guard: Guard
) -> tuple[dict[str, list[MessageRow]], dict[str, list[MessageRow]]]:
    """The messages that are stuck, by company; and those for none of the companies, by account."""
    by_company: dict[str, list[MessageRow]] = {}
    for_nobody: dict[str, list[MessageRow]] = {}
    for name, account in config.accounts.items():
        read = partial(journal.messages.in_states, account.identity, "stuck")
        rows: list[MessageRow] = guard.make(f"which messages of {name} are stuck", read, [])
        for_nobody[name] = [row for row in rows if row.folder == str(config.unassigned)]
        for row in rows:
            if row.folder != str(config.unassigned):
                by_company.setdefault(row.company, []).append(row)
    return by_company, for_nobody
