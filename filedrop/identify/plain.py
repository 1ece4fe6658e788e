"""The parse of a plain document: what `Parse` finds, for a third of its time.

A document is plain if it is small, and has no DOCTYPE, comment, CDATA section, processing instruction, envelope or
namespace that is declared below its root. expat, without handlers, shows that it is well-formed; then each `<` begins a
tag, and the document is split there into *pieces*: a tag and the text behind it. Most pieces repeat, in one document
and from one to the next. So what each contributes is worked out once, and looked up from then on.

What isn't plain, and every fault, is for `Parse`.
"""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple, TypeVar
from xml.parsers import expat

from filedrop.identify.content import SEPARATOR, Value, is_envelope, is_header, places
from filedrop.identify.parsing import (
    BLANKS,
    CLOSE,
    DEEPEST,
    LONGEST_NAME,
    MOST_VALUES,
    attribute,
    opening,
    shortened,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from filedrop.identify.content import Place

T = TypeVar("T")

_KEPT = 1000  # pieces of documents with one root tag
_LONGEST_KEPT = 200  # bytes of a piece: with the number, this bounds the memory
_BLANK = "[ \t\r\n]"
_NAME = r"[^ \t\r\n=>/?!]+"
_QUOTED = """(?:"[^"\t\r\n]*"|'[^'\t\r\n]*')"""
_ATTRIBUTE = re.compile(f"({_NAME}){_BLANK}*={_BLANK}*({_QUOTED})")
_TAG = re.compile(f"({_NAME})((?:{_BLANK}+{_NAME}{_BLANK}*={_BLANK}*{_QUOTED})*){_BLANK}*(/?)")
_REFERENCE = re.compile(r"&(?:#x([0-9a-fA-F]+)|#([0-9]+)|([a-z]+));")
_CHARACTERS = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_XML = {"xml": "http://www.w3.org/XML/1998/namespace"}


class NotPlain(Exception):
    """The document isn't plain."""


class Tag(NamedTuple):
    """A tag: what it adds to the digest and to the depth; its name, where a value may be there, and its attributes."""

    digested: bytes
    deeper: int
    name: str = ""
    attributes: Sequence[str] = ()


class Piece(NamedTuple):
    """What a piece adds to the digest and to the depth; its tag, where a value may be there."""

    digested: bytes
    deeper: int
    tag: Tag | None


class Pieces(dict[bytes, Piece]):
    """The known pieces of documents with the same first tag; `root` is its expanded name."""

    def __init__(self, tag: bytes) -> None:
        """The pieces of documents that begin with this tag. Raises NotPlain."""
        super().__init__()
        name, attributes, _ = _split(tag)
        declared = {prefix: uri for key, uri in attributes if (prefix := _declared(key)) is not None}
        self._namespaces = _XML | declared
        self.root = self._expanded(name)
        if is_envelope(self.root) or is_header(self.root) or len(self.root) > LONGEST_NAME:
            raise NotPlain
        self.places = places(self.root)
        self._begun, self._ended = _names(self.root)
        self._first = tag
        self._tags = dict[bytes, Tag]()

    def __missing__(self, raw: bytes) -> Piece:
        written, _, text = raw.partition(b">")
        tag = self._tags.get(written) or self._keep(self._tags, written, self._tag(written))
        if b"&" in text:
            text = _resolved(text.decode()).encode()
        piece = Piece(tag.digested + text.translate(None, BLANKS), tag.deeper, tag if tag.name else None)
        return self._keep(self, raw, piece)

    def _keep(self, known: dict[bytes, T], raw: bytes, new: T) -> T:
        if len(raw) <= _LONGEST_KEPT:
            if len(known) >= _KEPT:
                known.clear()
            known[raw] = new
        return new

    def _tag(self, written: bytes) -> Tag:
        if written.startswith(b"/"):
            name = self._expanded(written[1:].rstrip().decode())
            return Tag(CLOSE.encode(), -1, name if name in self._ended else "")
        name, pairs, is_empty = _split(written)
        name, attributes = self._expanded(name), list[str]()
        for key, value in pairs:
            if _declared(key) is None:
                attributes += self._expanded(key) if ":" in key else key, value
            elif written != self._first:
                raise NotPlain
        digested = (opening(name, attributes) + (CLOSE if is_empty else "")).encode().translate(None, BLANKS)
        return Tag(digested, 0 if is_empty else 1, name if name in self._begun else "", attributes)

    def _expanded(self, name: str) -> str:
        prefix, _, local = name.rpartition(":")
        namespace = self._namespaces.get(prefix)
        return f"{namespace}{SEPARATOR}{local}" if namespace else local


class Plain:
    """What the parse of a plain document leaves behind; the attributes are those of `Parse`."""

    def __init__(self, document: bytes) -> None:
        """Parse a whole document, in UTF-8. Raises NotPlain."""
        if b"<!" in document:
            raise NotPlain
        try:
            expat.ParserCreate("utf-8", SEPARATOR).Parse(document, True)  # noqa: FBT003 - it takes no keyword
        except expat.ExpatError as error:
            raise NotPlain from error
        raw = document.split(b"<")
        del raw[: 2 if raw[1].startswith(b"?xml") and b"?>" in raw[1] else 1]
        pieces = _pieces(raw[0].partition(b">")[0])
        digested, deeper, tags = zip(*map(pieces.__getitem__, raw), strict=True)
        depths = list(accumulate(deeper))
        if max(depths) >= DEEPEST:  # an empty element may be below
            raise NotPlain
        self.root = self.business_root = pieces.root
        self.values = _values(pieces.places, raw, tags, depths)
        self.digest = hashlib.sha256(b"".join(digested))
        self.size = len(document)


_pieces = lru_cache(maxsize=16)(Pieces)


def _values(root: Place, raw: Sequence[bytes], tags: Sequence[Tag | None], depths: Sequence[int]) -> list[Value]:
    """The texts at the places. Raises NotPlain for an element within a text."""
    values, above, inside = list[Value](), [root], 0
    for nth, tag in [(nth, tag) for nth, tag in enumerate(tags) if tag]:
        depth = depths[nth]
        if tag.deeper < 0:
            if depth == len(above) - 1:
                above.pop()
            continue
        is_empty = tag.deeper == 0
        place = above[-1].get(tag.name) if depth + is_empty == len(above) + 1 else None
        if place is not None and place.named:
            place = place.get(attribute(tag.attributes, "name") or "")
        if place:
            inside += 1
        if place is None or is_empty:
            continue
        if not place.path:
            above.append(place)
        elif place or depths[nth + 1] >= depth:
            raise NotPlain
        elif (text := shortened(_resolved(raw[nth].partition(b">")[2].decode())).strip()) and len(values) < MOST_VALUES:
            values.append(Value(place.path, text, attribute(tag.attributes, "schemeID"), inside))
    return values


@lru_cache(maxsize=256)
def _names(root: str) -> tuple[set[str], set[str]]:
    """The names of all elements on the way to a value, and of those that have others in them."""
    begun, ended, above = set[str](), set[str](), [places(root)]
    while above:
        for name, place in above.pop().items():
            begun.add(name)
            if place:
                ended.add(name)
                above.append(place)
    return begun, ended


def _split(tag: bytes) -> tuple[str, list[tuple[str, str]], bool]:
    """The name of an element that begins, its attributes, and whether it also ends. Raises NotPlain."""
    found = _TAG.fullmatch(tag.decode())
    if found is None:  # such as a tag with a `>` in an attribute, where it was cut
        raise NotPlain
    return found[1], [(key, _resolved(value[1:-1])) for key, value in _ATTRIBUTE.findall(found[2])], bool(found[3])


def _declared(key: str) -> str | None:
    """The prefix that an attribute declares; "" for the default namespace, None for any other attribute."""
    return "" if key == "xmlns" else key[6:] if key.startswith("xmlns:") else None


def _resolved(text: str) -> str:
    """A text as XML reports it: line ends and references resolved."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _REFERENCE.sub(_character, text) if "&" in text else text


def _character(reference: re.Match[str]) -> str:
    hexadecimal, decimal, name = reference.groups()
    return _CHARACTERS[name] if name else chr(int(hexadecimal, 16) if hexadecimal else int(decimal))
