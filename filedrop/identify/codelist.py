"""What the Peppol code lists say: documents and their processes, participant schemes, and which party sends.

The facts are files in codelists/, made by tests/support/codelists.py; a new code list is a change of data. The list in
a folder that the configuration names counts instead (`use`). What they leave open stands beside ours, written by hand
from the specifications: roles.csv (who sends and who receives), versions.csv (specifications with documents that aren't
listed), checks.csv (schemes with check digits) and forms.csv (schemes whose values have another form than the list
gives, by the rules of Peppol BIS 3 or the list's own examples). Each file is read when it is first asked for.
"""

from __future__ import annotations

import csv
import json
from datetime import date, timedelta
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from filedrop.config.codelists import CodeLists

_OLD = timedelta(days=274)
_FOLDER = Path(__file__).parent / "codelists"
_counting: list[CodeLists | None] = [None]  # the one that `use` has named


class Version(NamedTuple):
    """One entry of the document list: a version of a document type, its processes, and what the list calls it.

    `removal` is the day of its removal from the network, as ISO 8601 writes it; None where the list has none.
    """

    version: str
    state: str
    processes: list[str]
    name: str
    removal: str | None


class Scheme(NamedTuple):
    """One entry of the participant scheme list; `instead` is the code that has taken its place.

    `form`: what a value looks like, as a regular expression for upper and lower case; None where the list doesn't say.
    `removal`: as of a document type.
    """

    name: str
    state: str
    instead: str | None
    form: str | None
    removal: str | None


class Edition(NamedTuple):
    """The version of the code list, and the day on which it was published; None where that isn't known."""

    version: str
    published: date | None

    def __str__(self) -> str:
        return f"{self.version} of {_in_words(self.published)}" if self.published else self.version

    def is_old(self, today: date) -> bool:
        """Whether it was published more than nine months ago; a new one comes out every two to four months."""
        return self.published is not None and today - self.published > _OLD

    def is_older_than(self, other: Edition) -> bool:
        """Whether its version is a smaller one: 9.7 comes before 10.0."""
        own, others = ([int(part) for part in edition.version.split(".")] for edition in (self, other))
        return own < others


class Fate(NamedTuple):
    """What the list has done with an entry (`deprecated`, `removed`), and when, in brackets; both empty for nothing."""

    done: str
    when: str


class Roles(NamedTuple):
    """Where a document type says who sends and who receives; paths below its root.

    They count where the customization or the type code is one of these, or where neither is asked for. The paths are
    empty where a type doesn't fix who sends it: a Peppol waybill goes to the carrier and comes back confirmed, a report
    names its reporter by a certificate.
    """

    customization: str
    type_codes: str
    sender: str
    receiver: str

    def fit(self, customization: str, type_code: str) -> bool:
        """Whether they are those of a document with this CustomizationID and this type code (UNTDID 1001)."""
        if not self.customization and not self.type_codes:
            return True
        return fnmatchcase(customization.lower(), self.customization) or type_code in self.type_codes.split()


def versions(document: str) -> list[Version]:
    """The listed versions of `root namespace::local name##customization`, the one to use first."""
    return [Version(*entry) for entry in _list("documents").get(document, [])]


def version(document: str) -> str | None:
    """The version of `root namespace::local name##customization` to use, if the list or versions.csv knows it."""
    listed = versions(document)
    if listed:
        return listed[0].version
    customization = document.partition("##")[2]
    unlisted = (row["version"] for row in _rows("versions") if fnmatchcase(customization, row["customization"]))
    return next(unlisted, None)


def document_entry(document_id: str) -> Version | None:
    """The list's entry of a whole document id."""
    document, _, version = document_id.rpartition("::")
    return next((entry for entry in versions(document) if entry.version == version), None)


def knows_document(document_id: str) -> bool:
    """Whether the list or versions.csv knows a whole document id."""
    return document_entry(document_id) is not None or version(document_id.rpartition("::")[0]) is not None


def process_state(process_id: str) -> str | None:
    """`active`, `deprecated`, `removed`; None for a process that isn't listed."""
    state: str | None = _list("processes").get(process_id)
    return state


def scheme(code: str) -> Scheme | None:
    """What the list says of a participant scheme's code, such as `0192`."""
    entry = _list("schemes").get(code)
    if not entry:
        return None
    name, state, instead, form, removal = entry
    own_form = next((row["form"] for row in _rows("forms") if row["scheme"] == code), form)
    return Scheme(name, state, instead, own_form, removal)


def fate(entry: Version | Scheme, today: date) -> Fate:
    """What has become of an entry by today: a list calls an entry deprecated until its day of removal is over."""
    removal = date.fromisoformat(entry.removal) if entry.removal else None
    if removal is None:
        return Fate("" if entry.state == "active" else entry.state, "")
    if removal <= today:
        return Fate("removed", f" (removed on {_in_words(removal)})")
    return Fate("deprecated", f" (it will be removed on {_in_words(removal)})")


def use(lists: CodeLists | None) -> None:
    """Have this code list count from now on, in the whole process; None: the one that filedrop contains."""
    _counting[:] = [lists]


def edition() -> Edition:
    """Which code list counts."""
    return _edition(_file("documents"))


def own_edition() -> Edition:
    """Which code list filedrop contains."""
    return _edition(_own_file("documents"))


def _edition(about: Mapping[str, Any]) -> Edition:
    published = about["published"]
    return Edition(about["version"], date.fromisoformat(published) if published else None)


def _in_words(day: date) -> str:
    return f"{day.day} {day:%B %Y}"


def scheme_code(name: str) -> str | None:
    """The code of a scheme given by name, such as `NO:ORGNR`; where it was replaced, of the one that replaced it."""
    schemes = ((code, *entry) for code, entry in _list("schemes").items())
    return next((instead or code for code, listed, _, instead, *_ in schemes if listed.upper() == name.upper()), None)


def checks(code: str) -> list[str]:
    """The modules of python-stdnum of which one must find the participants of a scheme valid; none for most codes."""
    return next((row["checks"].split() for row in _rows("checks") if row["scheme"] == code), [])


def roles(document: str) -> tuple[Roles, ...]:
    """Where documents of this local name may say who sends and who receives; the first that fits counts."""
    table = _roles()
    return table.get(document) or table["*"]


def roles_of(document: str, customization: str, type_code: str) -> Roles:
    """The roles of one document. The last row of a document has no condition."""
    return next(row for row in roles(document) if row.fit(customization, type_code))


def _list(name: str) -> dict[str, Any]:
    entries: dict[str, Any] = _file(name)["entries"]
    return entries


def _file(name: str) -> Mapping[str, Any]:
    (lists,) = _counting
    return _own_file(name) if lists is None else lists[name]


@lru_cache
def _own_file(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((_FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return content


@lru_cache
def _rows(name: str) -> list[dict[str, str]]:
    with (_FOLDER / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@lru_cache
def _roles() -> dict[str, tuple[Roles, ...]]:
    table: dict[str, tuple[Roles, ...]] = {}
    for row in _rows("roles"):
        roles = Roles(row["customization"], row["type_codes"], row["sender"], row["receiver"])
        table[row["document"]] = (*table.get(row["document"], ()), roles)
    return table
