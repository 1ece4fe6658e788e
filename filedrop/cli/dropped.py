"""A file as the document that it would become, for `check FILE` and `retry`. Nothing is moved or written."""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, BinaryIO, cast

from filedrop.cli.opening import as_caller
from filedrop.files import open_regular
from filedrop.journal import Waiver
from filedrop.model.document import LET_THROUGH, Document, Event, new_id
from filedrop.outbound.identified import identified
from filedrop.outbound.preparing import read_of
from filedrop.outbound.upload import OpenedDocument
from filedrop.storage.own_name import own_name, own_name_beside

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from filedrop.config import Company, Config
    from filedrop.files import Where
    from filedrop.journal import Journal
    from filedrop.outbound.context import Identification
    from filedrop.storage.company_folders import OutboundFolder

STDIN = Path("-")


def opened(file: Where) -> BinaryIO:
    """A file, or a copy of the standard input, so that it can be read twice. Raises OSError."""
    if file != STDIN:
        with as_caller():
            return cast("BinaryIO", open_regular(file))
    copy = cast("BinaryIO", TemporaryFile())  # noqa: SIM115 - the caller closes it
    shutil.copyfileobj(sys.stdin.buffer, copy)
    copy.seek(0)
    return copy


@contextmanager
def opened_document(file: Where, max_size: int | None, xpaths: Collection[str] = ()) -> Iterator[OpenedDocument]:
    """A file, or the standard input, opened and read. Raises DocumentError, Changing, OSError."""
    stream = opened(file)
    with closing(OpenedDocument(stream, os.fstat(stream.fileno()))) as document:
        document.read(max_size, xpaths)
        yield document


def as_dropped(company: Company, file: str, dropped_as: str, folder: str = "") -> Document:
    """A document as the claim would make it; `folder` is the folder's id, "" for none."""
    now = datetime.now().astimezone()
    return Document(
        id=new_id(now),
        company=company.name,
        folder=folder,
        account=company.account,
        file=file,
        dropped_as=dropped_as,
        claimed=now,
    )


def as_claimed(
    config: Config,
    by: Identification,
    file: Where,
    opened: OpenedDocument,
    *,
    folder: OutboundFolder | None,
    journal: Journal | None,
) -> Document:
    """The document that a file which was read would become; FAILED where its ids don't do.

    `folder`: the outbound folder that it is from. Raises OSError, JournalError.
    """
    company, reading = config.companies[by.company], read_of(opened)
    known = journal.folders.at(folder.path) if journal and folder else None
    if journal is None or folder is None or known is None:
        with as_caller():  # mapping rules see no name of the standard input
            own = "" if file == STDIN else own_name_beside(file) or file.name
        document = as_dropped(company, file.name, own)
    else:
        document = as_dropped(company, file.name, own_name(file, folder.ended(), known, journal, reading), folder.id)
        if journal.waivers.of(known, file.name) == Waiver(reading.sha256, opened.stamp.modified):
            document = document.but(history=(Event(document.claimed, LET_THROUGH),))
    return identified(by, document, reading, company.apply_to(config.outbound), document.claimed)


def duplicate_of(config: Config, document: Document, journal: Journal) -> Document | None:
    """The document that is, or may be, at the access point, so that this one would fail as its duplicate."""
    rule = config.companies[document.company].duplicates
    if rule == "allow" or document.was_let_through:
        return None
    return journal.documents.duplicate_of(document, by_number=rule == "number")
