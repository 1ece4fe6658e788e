"""Billing with response (Peppol BIS 66): the answers that are owed for too long, by a company or by its receivers."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from filedrop.status.model import Item, message_label
from filedrop.texts.languages import marked
from filedrop.times import stated

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from filedrop.config import Config
    from filedrop.journal import Journal
    from filedrop.status.kinds import Kind

REPORTED = timedelta(days=90)  # for which a silence is reported: nobody tells us of an answer by telephone
OWED = marked("The sender expects an answer")
UNANSWERED = marked("The receiver hasn't answered")


def silences(
    journal: Journal, config: Config, served_by: Mapping[str, str], now: datetime
) -> dict[Kind, list[tuple[str, Item]]]:
    """What is without an answer for too long, each with its company. Raises JournalError.

    `served_by`: the companies that serve folders, by the ids of these.
    """
    return {"owed": list(_owed(journal, config, now)), "unanswered": list(_unanswered(journal, config, served_by, now))}


def _owed(journal: Journal, config: Config, now: datetime) -> Iterator[tuple[str, Item]]:
    """The company with each received document that it hasn't answered for `answer_after`, newest first."""
    for row in journal.answers.owing(now - _longest(config) - REPORTED, now):
        if row.due and _is_reported(config, row.company, row.due, now):
            yield row.company, _item(row.file, row.msg_no, "", OWED, row.due)


def _unanswered(
    journal: Journal, config: Config, served_by: Mapping[str, str], now: datetime
) -> Iterator[tuple[str, Item]]:
    """The company with each document that its receiver was to answer, and hasn't for `answer_after`, newest first.

    The company is the one that serves the document's folder, else the document's own.
    """
    for document, delivered in journal.answers.unanswered(now - _longest(config) - REPORTED, now):
        company = served_by.get(document.folder, document.company)
        if _is_reported(config, company, delivered, now):
            path = str(journal.folders.path_of(document) or "")
            yield company, _item(document.dropped_as, document.msg_no, path, UNANSWERED, delivered)


def _longest(config: Config) -> timedelta:
    return max((company.answer_after for company in config.companies.values()), default=timedelta())


def _is_reported(config: Config, company: str, since: datetime, now: datetime) -> bool:
    """Whether a silence since then is to be reported; not for a company that the configuration no longer has."""
    if company not in config.companies:
        return False
    after = config.companies[company].answer_after
    return after < now - since <= after + REPORTED


def _item(name: str, msg_no: int | None, path: str, why: str, since: datetime) -> Item:
    return Item(
        name=name, known=message_label(msg_no), path=path, why=why, do=[], since=stated(since), order=since.timestamp()
    )
