"""Files in `outbound/` that are other versions of documents: copies that a program or a person has made and changed.

After a conflict, a program that synchronizes folders keeps both versions, and names one of them in a person's language.
So they are recognized by what is in them, and by a name that contains the other's.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from filedrop.errors import DocumentError
from filedrop.journal import Version
from filedrop.model.twins import same_or_twin
from filedrop.storage.names import stem

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from filedrop.identify import Reading
    from filedrop.outbound.desk import Desk
    from filedrop.outbound.look import ReadyFile

IS_WRITTEN = 60.0  # seconds since a file that isn't ready has changed, after which no other one waits for it


def originals(desk: Desk, files: Collection[ReadyFile]) -> dict[str, str]:
    """Those of these files that are other versions of a document, each with the name of that. Raises JournalError.

    The document is in the journal, waiting or perhaps accepted; or it is among the files, with a shorter name. "" where
    a file with such a name was just written and isn't ready yet: it may be the document.
    """
    contents = [(ready.name, ready.content) for ready in files if not isinstance(ready.content, DocumentError)]
    read = [version for name, content in contents if (version := version_of(name, content)) is not None]
    known = desk.journal.documents.versions(desk.folder.company, [version.number for version in read])
    lately = desk.steady() - IS_WRITTEN
    shorter = {version.name: shorter_names(version.name) for version in read}
    asked = frozenset[str]().union(*shorter.values())  # few: there may be very many that aren't ready
    unready = asked.intersection(desk.scanner.ready) | {
        name
        for name in asked
        if (seen := desk.scanner.seen.get(name)) is not None
        and seen.since > lately
        and not (seen.fault or seen.waits_for or seen.copy_of)
    }
    waiting = {name: "" for name, names in shorter.items() if not unready.isdisjoint(names)}
    return waiting | {
        version.name: original
        for version in read
        if (original := original_of(version, (*known, *(new for new in read if _is_shorter(new, version)))))
    }


def version_of(name: str, content: Reading) -> Version | None:
    """What tells whether a file of this name is another version of a document; None where too little is stated."""
    if not (content.number and content.issue_date):
        return None
    said = content.found.get("sender")
    sender = said.id if said else None
    return Version(name, content.root_name, content.number, content.issue_date, sender, content.meaning)


def original_of(version: Version, others: Iterable[Version]) -> str:
    """The name of the document among these of which it is another version; "" where there is none."""
    return next((other.name for other in others if _are_versions(version, other)), "")


def _is_shorter(version: Version, other: Version) -> bool:
    return len(stem(version.name)) < len(stem(other.name))


def _are_versions(version: Version, other: Version) -> bool:
    """Whether they are the same document by number, type, date and sender, with other content and related names."""
    is_same = (version.type, version.number, version.issue_date) == (other.type, other.number, other.issue_date)
    from_one = not (version.sender and other.sender) or same_or_twin(version.sender, other.sender)
    return is_same and from_one and version.meaning != other.meaning and _are_related(version.name, other.name)


def shorter_names(name: str) -> set[str]:
    """The names that are related to this one, and shorter: of each part of its stem that has a beginning and an end."""
    whole = stem(name)
    begins = [found.start() for found in re.finditer(r"(?<![^\W_])[^\W_]", whole)]
    ends = [found.end() for found in re.finditer(r"[^\W_](?![^\W_])", whole)]
    parts = {whole[begin:end] for begin in begins for end in ends if begin < end}
    return {f"{part}{name.removeprefix(whole)}" for part in parts} - {name}


def _are_related(name: str, other: str) -> bool:
    """Whether one name has the other's stem in it as a whole, with more around it: `1001` isn't in `10011`."""
    short, long = sorted((stem(name).casefold(), stem(other).casefold()), key=len)
    return short != long and re.search(rf"(?<![^\W_]){re.escape(short)}(?![^\W_])", long) is not None
