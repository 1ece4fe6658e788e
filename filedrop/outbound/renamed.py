"""Files that a person has renamed in `sent/`: they are still their documents, and are followed on."""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from typing import TYPE_CHECKING

from filedrop.errors import Changed
from filedrop.outbound.filing import lies_at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from filedrop.outbound.context import FolderContext


def take_up_renamed(at: FolderContext, missing: Sequence[str]) -> list[str]:
    """Record the new names of documents that lie in `sent/` under another one; returns the ids of the others.

    `missing` are the ids of those that aren't there under their own. Raises OSError, JournalError.
    """
    folder, journal, left = at.folder, at.shared.journal, list[str]()
    lone = _without_sidecar(at) if missing else {}
    for document in journal.documents(missing):
        names = lone.get(document.size, []) if document.home == document.place == "sent" else []
        name = next((name for name in names if lies_at(folder, document.at("sent", name))), None)
        if name is None or folder.stamp("sent", document.file) is not None:
            left.append(document.id)
            continue
        names.remove(name)
        with suppress(Changed):  # just taken a step further: the next comparison sees it
            journal.record(document.at("sent", name))
    return left


def _without_sidecar(at: FolderContext) -> dict[int, list[str]]:
    """The names in `sent/` beside which no sidecar lies, by the sizes of their files."""
    names, found = frozenset(at.folder.names("sent")), defaultdict[int, list[str]](list)
    for name in sorted(names):
        if f"{name}.json" not in names and at.folder.names_document(name):
            stamp = at.folder.stamp("sent", name)
            if stamp is not None:
                found[stamp.size].append(name)
    return found
