"""What receivers and French platforms have rejected."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from filedrop.model.document import participant_key
from filedrop.model.report import LISTED
from filedrop.model.response import AMBIGUOUS
from filedrop.readable import in_language, meaning, reason_in
from filedrop.status.model import Item, message_label
from filedrop.texts.languages import Translatable, marked
from filedrop.texts.printable import listed
from filedrop.times import stated

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from filedrop.config import Config
    from filedrop.journal import Journal
    from filedrop.model.document import Document
    from filedrop.model.response import Response

REJECTED = marked("{sender} rejected it in message {number}")
BY_ACCESS_POINT = marked("the access point {sender} rejected it in message {number}")
STATUS = marked('message {number} reports the status "{status}" ({code})')
_WITH_REASON = marked("{rejection}: {reason}")


def rejected_since(
    journal: Journal, config: Config, served_by: Mapping[str, str], since: datetime
) -> Iterator[tuple[str, Item]]:
    """What was rejected since then, newest first: the company, as it is called now, and the document.

    The company is the one that serves the document's folder, else the document's own, else the one that received the
    response; "" where the configuration has none of these, or the response may be about documents of several.
    `served_by`: the companies that serve folders, by the ids of these.
    """
    responses = journal.responses.rejections(since)
    ids = {response.document for response in responses}
    documents = {document.id: document for document in journal.documents.by_ids(ids)} if ids else {}
    for response in responses:
        if response.document == AMBIGUOUS:
            meant = journal.responses.documents_meant(response)
        else:
            meant = [documents[response.document]] if response.document in documents else []
        companies = {
            next((name for name in names if name in config.companies), "")
            for names in (
                (served_by.get(document.folder, ""), document.company, response.company) for document in meant
            )
        }
        if meant:  # else removed from the archive since
            path = journal.folders.path_of(meant[0]) if len(meant) == 1 else None
            yield companies.pop() if len(companies) == 1 else "", _rejection(response, meant, str(path or ""))


def _rejection(response: Response, meant: Sequence[Document], path: str) -> Item:
    """A rejected document; or a response that doesn't say which of several documents it rejects."""
    named = [f"{document.dropped_as} (message {document.msg_no})" for document in meant[:LISTED]]
    more = f" and {len(meant) - LISTED} more" if len(meant) > LISTED else ""
    unclear = f", but doesn't say which document; it is one of {listed(named)}{more}" if len(meant) > 1 else ""
    return Item(
        name=f"document {response.number}" if unclear else meant[0].dropped_as,
        known="" if unclear else message_label(meant[0].msg_no),
        path=path,
        why=describe(response, _named(response.sender, meant), unclear),
        do=[],
        since=stated(response.at),
        order=response.at.timestamp(),
    )


def _named(sender: str, documents: Sequence[Document]) -> str:
    """The sender of a response, with the name that the document gives it: people don't know its id."""
    document = documents[0]
    is_receiver = len(documents) == 1 and participant_key(document.receiver or "") == participant_key(sender)
    return f"{document.receiver_name} {sender}" if is_receiver and document.receiver_name else sender


def describe(response: Response, sender: str, unclear: str = "") -> str:
    """What a response says, with its reason: codes by what they mean, a stranger's words as they are.

    `unclear`: which documents it may be about, in English.
    """
    if response.is_status:
        means = meaning(response.words, response.code)
        status = Translatable(partial(in_language, response.words, means))
        said = Translatable.of(STATUS, number=response.msg_no, status=status, code=response.code)
    else:
        said = Translatable.of(
            BY_ACCESS_POINT if response.is_by_access_point else REJECTED, sender=sender, number=response.msg_no
        )
    if unclear:
        return f"{said}{unclear}{': ' if response.reason else ''}{response.reason}"
    reason = Translatable(partial(reason_in, response.reason))
    return Translatable.of(_WITH_REASON, rejection=said, reason=reason) if reason else said
