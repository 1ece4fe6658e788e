"""Files that a person has renamed in `sent/`, or put back: they are still their documents, and are followed on."""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from typing import TYPE_CHECKING

from filedrop.errors import Changed
from filedrop.outbound.filing import lies_at
from filedrop.storage import sidecar
from filedrop.storage.names import Names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from filedrop.model.document import Document
    from filedrop.outbound.desk import Desk
    from filedrop.storage.company_folders import OutboundFolder


def take_up_renamed(desk: Desk, missing: Sequence[str]) -> list[str]:
    """Record the new names of documents that lie in `sent/` under another one; returns the ids of the others.

    `missing` are the ids of those that aren't there under their own. Raises OSError, JournalError.
    """
    folder, journal, left = desk.folder, desk.journal, list[str]()
    lone = _without_row(desk) if missing else {}
    for document in journal.documents.by_ids(missing):
        names = lone.get(document.size, []) if document.home == document.place == "sent" else []
        name = next((name for name in names if _is_its_own(folder, document, name)), None)
        if name is None or folder.stamp("sent", document.file) is not None:
            left.append(document.id)
            continue
        names.remove(name)
        with suppress(Changed):  # just taken a step further: the next comparison sees it
            journal.documents.record(document.at("sent", name))
    return left


def take_up_returned(desk: Desk) -> None:
    """Follow documents again whose files are in `sent/` after they had counted as taken. Raises OSError, JournalError.

    Each was accepted, and its file is compared byte by byte.
    """
    folder, shared = desk.folder, desk.shared
    taken = shared.journal.documents.taken(folder.id, folder.company)
    lone = _without_row(desk) if taken else {}
    for document in taken:
        names = lone.get(document.size, [])
        name = next((name for name in names if _is_its_own(folder, document, name)), None)
        if name is not None:
            names.remove(name)
            with suppress(Changed):
                shared.journal.documents.record(document.at("sent", name).back(shared.now()))
                shared.log.info("document.back", **document.log_facts)


def _is_its_own(folder: OutboundFolder, document: Document, name: str) -> bool:
    """Whether the file has the document's bytes, and no other's sidecar: a person may have renamed that, too."""
    beside = folder.at("sent") / f"{name}.json"
    return lies_at(folder, document.at("sent", name)) and sidecar.document_id_in(beside) in (None, document.id)


def _without_row(desk: Desk) -> dict[int, list[str]]:
    """The names in `sent/` that the journal doesn't have, by the sizes of their files."""
    known, found = Names(), defaultdict[int, list[str]](list)
    for name, _ in desk.journal.documents.files_in(desk.folder.id, "sent"):
        known.add(name)
    for name in sorted(desk.folder.documents("sent")):
        if name not in known and desk.folder.names_document(name):
            stamp = desk.folder.stamp("sent", name)
            if stamp is not None:
                found[stamp.size].append(name)
    return found
