"""The ids of the request are written into the document's EndpointIDs where the network's rules demand that (BR-SBDH).

Most documents need no parse for that, since their EndpointIDs are the ids of the request.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple
from xml.sax.saxutils import escape, quoteattr

from filedrop.errors import DocumentError
from filedrop.identify.content import SEPARATOR
from filedrop.identify.identity import contradicted
from filedrop.prepare.edits import Edit
from filedrop.prepare.scan import CAC, CBC, UBL, Names, Scan
from filedrop.texts import Text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from filedrop.identify import Reading

_ENDPOINT, _PARTY = f"{CBC}{SEPARATOR}EndpointID", f"{CAC}{SEPARATOR}Party"
_BEFORE_ENDPOINT = {  # what the XSD has before it in a Party
    f"{CBC}{SEPARATOR}{name}"
    for name in ("MarkCareIndicator", "MarkAttentionIndicator", "WebsiteURI", "LogoReferenceID")
} | {f"{UBL}CommonExtensionComponents-2{SEPARATOR}UBLExtensions"}
_LINE_BREAK = re.compile(rb"\r\n|\r|\n")
_PARTY_DEPTH = 3  # of /Invoice/AccountingSupplierParty/Party


class IdChange(NamedTuple):
    """A role (`sender`, `receiver`), the element around its party, its EndpointID as written, and the one to write.

    An id is `schemeID:value`; as written, it is "" where there is none.
    """

    role: str
    within: str
    before: str
    after: str


def ids_to_write(ids: Mapping[str, str | None], reading: Reading) -> list[IdChange]:
    """The EndpointIDs that the network's rules want to be the ids of the request, and that are others."""
    changes = []
    for role in contradicted(ids, reading):
        endpoint, id_ = reading.endpoints[role], ids[role]
        if id_:
            changes.append(IdChange(role, endpoint.place.partition("/")[0], endpoint.written, id_))
    return changes


def id_edits(pieces: Iterable[bytes], changes: Collection[IdChange], *, company: str) -> list[Edit]:
    """The edits that write these ids into a document, which is given as it goes on the wire.

    `company` is whose document it is. Raises DocumentError (`not-prepared`) where an id can't be written.
    """
    scan = _Parties([change.within for change in changes])
    scan.parse(pieces)
    edits = []
    for change in changes:
        party = scan.parties[change.within]
        if refused := scan.refused or party.problem:
            raise DocumentError(Text.of(f"not-prepared/{refused}", role=change.role, id=change.after, company=company))
        edits.append(party.edit(change.after))
    return edits


@dataclass(slots=True)
class _Party:
    """A party and the place of its EndpointID: the id's own, or where the XSD wants one. -1 while there is none.

    `parties` and `ids` count what there is of them. `scope` has the party's prefixes.
    """

    parties: int = 0
    ids: int = 0
    start: int = -1
    end: int = -1
    line_breaks: int = 0
    scope: Mapping[str, str] = field(default_factory=dict)

    @property
    def problem(self) -> str:
        """Why no id can be written; "" where one can."""
        if self.parties > 1 or self.ids > 1:
            return "twice"
        return "no-party" if self.start < 0 else ""

    def edit(self, id_: str) -> Edit:
        """The edit that writes this id. The line breaks in its place stay, within the tag."""
        scheme, _, value = id_.partition(":")
        names, breaks = Names(self.scope), "\n" * self.line_breaks
        name = names.name(CBC, "EndpointID")
        text = f"<{name}{names.declared} schemeID={quoteattr(scheme)}{breaks}>{escape(value)}</{name}>"
        return Edit(self.start, self.end, (text.encode(),))


class _Parties(Scan):
    """A parse for the parties within these elements below the root."""

    def __init__(self, within: Iterable[str]) -> None:
        super().__init__()
        self.parties = {element: _Party() for element in within}
        self._elements = {f"{CAC}{SEPARATOR}{element}": party for element, party in self.parties.items()}
        self._around: _Party | None = None  # whose element around it is open,
        self._party: _Party | None = None  # and whose Party is
        self._begun: tuple[int, bool] | None = None  # an EndpointID that is open: its line, and whether it is empty

    def begin(self, name: str) -> None:
        """An element begins."""
        if self.depth == _PARTY_DEPTH - 1:
            self._around = self._elements.get(name)
        elif self.depth == _PARTY_DEPTH and self._around is not None and name == _PARTY:
            self._around.parties += 1
            self._around.scope = self.scope
            self._party = None if self.is_empty else self._around
        elif self.depth == _PARTY_DEPTH + 1 and self._party is not None:
            self._step(self._party, name)

    def _step(self, party: _Party, name: str) -> None:
        """Begin an element of a party."""
        if name == _ENDPOINT:
            party.ids += 1
            party.start = party.end = self.offset
            self._begun = self.line, self.is_empty
        elif party.start < 0 and name not in _BEFORE_ENDPOINT:
            party.start = party.end = self.offset

    def end(self, name: str) -> None:
        """An element ends."""
        place, party = self.offset, self._party
        if party is not None and self.depth == _PARTY_DEPTH + 1 and self._begun is not None and name == _ENDPOINT:
            line, is_empty = self._begun
            tag = b"" if is_empty else self.tag  # the end of an empty element is the end of its tag
            party.end = place + len(tag)
            party.line_breaks = self.line - line + len(_LINE_BREAK.findall(tag))
            self._begun = None
        elif party is not None and self.depth == _PARTY_DEPTH:
            if party.start < 0:
                party.start = party.end = place
            self._party = None
