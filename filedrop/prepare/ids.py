"""The ids of the request are written into the document's EndpointIDs where the network's rules demand that (BR-SBDH).

The places come from expat's byte offsets in a parse of their own; most documents need none, since their EndpointIDs
are the ids of the request.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from filedrop.errors import DocumentError
from filedrop.identify.content import SEPARATOR, is_envelope
from filedrop.identify.identity import contradicted
from filedrop.prepare.edits import Edit
from filedrop.texts import Text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from filedrop.identify import Reading

_UBL = "urn:oasis:names:specification:ubl:schema:xsd:"
_CAC, _CBC = f"{_UBL}CommonAggregateComponents-2", f"{_UBL}CommonBasicComponents-2"
_ENDPOINT, _PARTY = f"{_CBC}{SEPARATOR}EndpointID", f"{_CAC}{SEPARATOR}Party"
_BEFORE_ENDPOINT = {  # what the XSD has before it in a Party
    f"{_CBC}{SEPARATOR}{name}"
    for name in ("MarkCareIndicator", "MarkAttentionIndicator", "WebsiteURI", "LogoReferenceID")
} | {f"{_UBL}CommonExtensionComponents-2{SEPARATOR}UBLExtensions"}
_SIGNATURES = re.compile(  # the namespaces of signatures: XMLDSig, XAdES, and UBL's frame around them
    r"http://www\.w3\.org/2000/09/xmldsig#|http://uri\.etsi\.org/01903/.*"
    rf"|{re.escape(_UBL)}(CommonSignatureComponents|SignatureAggregateComponents)-2"
)
_SIGNATURE_BESIDE = f"{_CAC}{SEPARATOR}DigitalSignatureAttachment"
_TAG = re.compile(rb"""<(?:[^"'>]|"[^"]*"|'[^']*')*>""")
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

    @property
    def ids(self) -> list[str]:
        """The id as it is written, and the one to write."""
        return [self.before, self.after]


def ids_to_write(ids: Mapping[str, str | None], reading: Reading) -> list[IdChange]:
    """The EndpointIDs that the network's rules want to be the ids of the request, and that are others."""
    changes = []
    for role in contradicted(ids, reading):
        endpoint, id_ = reading.endpoints[role], ids[role]
        if id_:
            changes.append(IdChange(role, endpoint.place.partition("/")[0], endpoint.written, id_))
    return changes


def edits_of(pieces: Iterable[bytes], changes: Collection[IdChange], *, company: str) -> list[Edit]:
    """The edits that write these ids into a document, which is given as it goes on the wire.

    `company` is whose document it is. Raises DocumentError (`not-prepared`) where an id can't be written.
    """
    scan = _Scan([change.within for change in changes])
    for piece in pieces:
        scan.parser.Parse(piece)
    scan.parser.Parse(b"", True)  # noqa: FBT003 - a C function, which takes no keyword
    refused = "envelope" if scan.is_enveloped else "signed" if scan.is_signed else ""
    edits = []
    for change in changes:
        party = scan.parties[change.within]
        if not refused and party.problem:
            refused = party.problem
        if refused:
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
        prefix = next((prefix for prefix, uri in sorted(self.scope.items()) if uri == _CBC), None)
        declared = f" xmlns:cbc={quoteattr(_CBC)}" if prefix is None else ""
        name = ":".join(filter(None, ("cbc" if prefix is None else prefix, "EndpointID")))
        scheme, _, value = id_.partition(":")
        breaks = "\n" * self.line_breaks
        tag = f"<{name}{declared} schemeID={quoteattr(scheme)}{breaks}>"
        return Edit(self.start, self.end, f"{tag}{escape(value)}</{name}>".encode())


class _Scan:
    """A parse for the parties within these elements below the root, and for what forbids every change."""

    def __init__(self, within: Iterable[str]) -> None:
        self.is_enveloped = self.is_signed = False
        self.parties = {element: _Party() for element in within}
        self.parser = parser = expat.ParserCreate("utf-8", SEPARATOR)
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.StartNamespaceDeclHandler, parser.EndNamespaceDeclHandler = self._declare, self._undeclare
        self._elements = {f"{_CAC}{SEPARATOR}{element}": party for element, party in self.parties.items()}
        self._prefixes: dict[str, list[str]] = {}
        self._depth = 0
        self._around: _Party | None = None  # whose element around it is open,
        self._party: _Party | None = None  # and whose Party is
        self._begun: tuple[int, bool] | None = None  # an EndpointID that is open: its line, and whether it is empty
        self._is_signature: dict[str, bool] = {}  # by the name of an element

    def _declare(self, prefix: str | None, uri: str | None) -> None:
        self._prefixes.setdefault(prefix or "", []).append(uri or "")

    def _undeclare(self, prefix: str | None) -> None:
        self._prefixes[prefix or ""].pop()

    def _start(self, name: str, _attributes: object) -> None:
        self._depth += 1
        if (is_signature := self._is_signature.get(name)) is None:
            is_signature = name == _SIGNATURE_BESIDE or bool(_SIGNATURES.fullmatch(name.rpartition(SEPARATOR)[0]))
            self._is_signature[name] = is_signature
        self.is_signed |= is_signature
        if self._depth == 1:
            self.is_enveloped = is_envelope(name)
        elif self._depth == _PARTY_DEPTH - 1:
            self._around = self._elements.get(name)
        elif self._depth == _PARTY_DEPTH and self._around is not None and name == _PARTY:
            self._around.parties += 1
            self._around.scope = {prefix: uris[-1] for prefix, uris in self._prefixes.items() if uris}
            self._party = None if self._is_empty() else self._around
        elif self._depth == _PARTY_DEPTH + 1 and self._party is not None:
            self._step(self._party, name)

    def _step(self, party: _Party, name: str) -> None:
        """Begin an element of a party."""
        if name == _ENDPOINT:
            party.ids += 1
            party.start = party.end = self.parser.CurrentByteIndex
            self._begun = self.parser.CurrentLineNumber, self._is_empty()
        elif party.start < 0 and name not in _BEFORE_ENDPOINT:
            party.start = party.end = self.parser.CurrentByteIndex

    def _end(self, name: str) -> None:
        place, party = self.parser.CurrentByteIndex, self._party
        if party is not None and self._depth == _PARTY_DEPTH + 1 and self._begun is not None and name == _ENDPOINT:
            line, is_empty = self._begun
            tag = b"" if is_empty else self._tag()  # the end of an empty element is the end of its tag
            party.end = place + len(tag)
            party.line_breaks = self.parser.CurrentLineNumber - line + len(_LINE_BREAK.findall(tag))
            self._begun = None
        elif party is not None and self._depth == _PARTY_DEPTH:
            if party.start < 0:
                party.start = party.end = place
            self._party = None
        self._depth -= 1

    def _is_empty(self) -> bool:
        return self._tag().endswith(b"/>")

    def _tag(self) -> bytes:
        """The tag at which the parser is, as it is written."""
        tag = _TAG.match(self.parser.GetInputContext() or b"")
        if tag is None:
            raise AssertionError(self.parser.CurrentByteIndex)  # expat has all of a tag that it reports
        return tag[0]
