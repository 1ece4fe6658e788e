"""A parse for the places of edits, as offsets of bytes, and for what forbids every edit."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from filedrop.identify.content import SEPARATOR, is_envelope

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

UBL = "urn:oasis:names:specification:ubl:schema:xsd:"
CAC, CBC = f"{UBL}CommonAggregateComponents-2", f"{UBL}CommonBasicComponents-2"
_SIGNATURES = re.compile(  # the namespaces of signatures: XMLDSig, XAdES, and UBL's frame around them
    r"http://www\.w3\.org/2000/09/xmldsig#|http://uri\.etsi\.org/01903/.*"
    rf"|{re.escape(UBL)}(CommonSignatureComponents|SignatureAggregateComponents)-2"
)
_SIGNATURE_BESIDE = f"{CAC}{SEPARATOR}DigitalSignatureAttachment"
_TAG = re.compile(rb"""<(?:[^"'>]|"[^"]*"|'[^']*')*>""")


class Scan:
    """A parse of a document as it goes on the wire. What looks for places overrides `begin` and `end`.

    `refused` is why no edit may be made, as the end of a form's name: `envelope`, `signed`, "" for no reason. `depth`
    is 1 for the root.
    """

    def __init__(self) -> None:
        self.depth = 0
        self._is_enveloped = self._is_signed = False
        self._prefixes: dict[str, list[str]] = {}
        self._is_signature: dict[str, bool] = {}  # by the name of an element
        self._parser = parser = expat.ParserCreate("utf-8", SEPARATOR)
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.StartNamespaceDeclHandler, parser.EndNamespaceDeclHandler = self._declare, self._undeclare

    def parse(self, pieces: Iterable[bytes]) -> None:
        """Parse all of a document, which was read before."""
        for piece in pieces:
            self._parser.Parse(piece)
        self._parser.Parse(b"", True)  # noqa: FBT003 - a C function, which takes no keyword

    @property
    def refused(self) -> str:
        """Why no edit may be made."""
        return "envelope" if self._is_enveloped else "signed" if self._is_signed else ""

    def begin(self, name: str) -> None:
        """An element begins, whose expanded name this is."""

    def end(self, name: str) -> None:
        """An element ends."""

    @property
    def offset(self) -> int:
        """Where the parser is, in bytes: at the beginning of a tag."""
        return self._parser.CurrentByteIndex

    @property
    def line(self) -> int:
        """The line in which the parser is."""
        return self._parser.CurrentLineNumber

    @property
    def tag(self) -> bytes:
        """The tag at which the parser is, as it is written."""
        tag = _TAG.match(self._parser.GetInputContext() or b"")
        if tag is None:
            raise AssertionError(self.offset)  # expat has all of a tag that it reports
        return tag[0]

    @property
    def scope(self) -> dict[str, str]:
        """The namespace of each prefix ("" for the default one) in the element that has begun."""
        return {prefix: uris[-1] for prefix, uris in self._prefixes.items() if uris}

    @property
    def is_empty(self) -> bool:
        """Whether the element that begins has no end tag."""
        return self.tag.endswith(b"/>")

    def _declare(self, prefix: str | None, uri: str | None) -> None:
        self._prefixes.setdefault(prefix or "", []).append(uri or "")

    def _undeclare(self, prefix: str | None) -> None:
        self._prefixes[prefix or ""].pop()

    def _start(self, name: str, _attributes: object) -> None:
        self.depth += 1
        if (is_signature := self._is_signature.get(name)) is None:
            is_signature = name == _SIGNATURE_BESIDE or bool(_SIGNATURES.fullmatch(name.rpartition(SEPARATOR)[0]))
            self._is_signature[name] = is_signature
        self._is_signed |= is_signature
        if self.depth == 1:
            self._is_enveloped = is_envelope(name)
        self.begin(name)

    def _end(self, name: str) -> None:
        self.end(name)
        self.depth -= 1


class Names:
    """The names of elements to be written where these prefixes are in scope ("" is the default one).

    `declared` are the attributes that declare what isn't; they belong into the outermost of the elements.
    """

    def __init__(self, scope: Mapping[str, str]) -> None:
        self.declared = ""
        self._prefixes = {uri: prefix for prefix, uri in sorted(scope.items(), reverse=True)}
        self._taken = set(scope)

    def name(self, namespace: str, local: str) -> str:
        """An element's name with its prefix."""
        if namespace not in self._prefixes:
            prefix = {CAC: "cac", CBC: "cbc"}.get(namespace, "ram")
            while prefix in self._taken:
                prefix += "1"
            self._prefixes[namespace] = prefix
            self._taken.add(prefix)
            self.declared += f" xmlns:{prefix}={quoteattr(namespace)}"
        prefix = self._prefixes[namespace]
        return f"{prefix}:{local}" if prefix else local
