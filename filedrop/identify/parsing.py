"""One parse of a document in UTF-8: is it well-formed, what stands at the places worth keeping, what does it mean.

The parser is expat. It opens nothing and resolves no entity; depth and the length of a tag are bounded, texts are
forgotten as they go by, so memory stays flat.

The *meaning* is a digest of names, attributes and text of the business document: the same for the same document with
other prefixes, in another encoding, indented otherwise, with or without its SBDH envelope. Blanks, comments, processing
instructions and the order of attributes play no part in it.
"""

from __future__ import annotations

import hashlib
from itertools import chain
from typing import TYPE_CHECKING
from xml.parsers import expat

from filedrop.errors import DocumentError
from filedrop.identify.content import HEADER, SEPARATOR, Place, Value, is_envelope, is_header, places
from filedrop.identify.encoding import foreign_byte
from filedrop.identify.pdf import is_pdf, named_invoice
from filedrop.texts import Text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from filedrop.identify.encoding import Form

PIECE = 1 << 16
WRONG_END_TAG = expat.errors.XML_ERROR_TAG_MISMATCH  # the reason for `not-xml`, by expat
_OVERLAP = 8  # bytes: a character that is in two pieces is parsed with the second
_DEEPEST = 256  # elements inside each other; business documents have a dozen
_LONGEST_TAG = 1 << 22  # bytes of one tag or comment, which expat must hold whole
_LONGEST_NAME = 1000
_LONGEST_VALUE = 2000  # characters after which a text at a place is cut; ids have at most 500
_MOST_VALUES = 1000
_BLANKS = b" \t\r\n"
_OPEN, _ATTRIBUTE, _IS, _CLOSE = "\x02", "\x03", "\x04", "\x05"  # in the digest; no XML document can contain them


class Parse:
    """What a parse leaves behind.

    `root` and `business_root` are expanded names; they differ where there is an SBDH envelope, and `business_root` is
    "" where there is nothing inside it. `size` counts the bytes that were parsed.
    """

    def __init__(self, pieces: Iterable[bytes], form: Form, *, refuse_doctype: bool) -> None:
        """Parse a whole document, in UTF-8 by now; `form` is how it is written. Raises DocumentError.

        The codes are `not-xml`, `doctype` and `unreadable`.
        """
        self.root = ""
        self.business_root = ""
        self.values: list[Value] = []
        self.digest = hashlib.sha256()
        self.size = 0
        self._parts: list[str] = []
        self._say: Callable[[str], None] = self._parts.append
        self._here: Place | None = None
        self._above: list[Place | None] = []
        self._scheme: str | None = None
        self._text = ""
        self._last = b""  # the piece that is parsed, and the last bytes before it
        self._before = 0  # bytes before that
        self._inside = 0  # counts the elements that have places in them
        self._parser = parser = expat.ParserCreate("utf-8", SEPARATOR, None)
        parser.buffer_text = True
        parser.buffer_size = PIECE
        parser.ordered_attributes = True
        parser.StartElementHandler = self._start_root
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._say
        parser.SkippedEntityHandler = self._skip
        if refuse_doctype:
            parser.StartDoctypeDeclHandler = self._refuse
        left = iter(pieces)
        try:
            for piece in left:
                self._feed(piece)
            parser.Parse(b"", True)  # noqa: FBT003 - a C function, which takes no keyword
        except expat.ExpatError as error:
            raise DocumentError(self._not_well_formed(error, form, left)) from error
        finally:
            del self._parser  # its handlers are ours: only the garbage collector would free both, and its buffer

    def _not_well_formed(self, error: expat.ExpatError, form: Form, left: Iterator[bytes]) -> Text:
        """What is wrong; `left` are the pieces behind the one that is parsed. Raises DocumentError from them."""
        if not self.size:
            return Text.of("not-xml/empty")
        if not self.root and self._before == 0 and not self._last.lstrip(_BLANKS).startswith(b"<"):
            if not is_pdf(self._last):
                return Text.of("not-xml/other")
            invoice = named_invoice(chain([self._last], left))
            return Text.of("not-xml/pdf-with-invoice", name=invoice) if invoice else Text.of("not-xml/pdf")
        where = self._parser.ErrorByteIndex - self._before
        foreign = foreign_byte(self._last[where:] if where >= 0 else b"", form)
        kind = "not-xml/foreign-byte" if foreign else "not-xml/web-page" if is_web_page(self.root) else "not-xml"
        why = foreign or expat.ErrorString(error.code)
        return Text.of(kind, line=error.lineno, column=error.offset + 1, why=why)

    def _feed(self, piece: bytes) -> None:
        self._last = self._last[-_OVERLAP:] + piece
        self.size += len(piece)
        self._before = self.size - len(self._last)
        self._parser.Parse(piece)
        self.digest.update(b"".join("".join(self._parts).encode().split()))
        self._parts.clear()
        if self.size - self._parser.CurrentByteIndex > _LONGEST_TAG:
            raise self._unreadable("unreadable/long-tag", _LONGEST_TAG)

    def _start_root(self, name: str, attributes: list[str]) -> None:
        self.root = name
        self._enter(name)
        if is_envelope(name):
            self._above.pop()  # so that nothing of the envelope, not even its end, belongs to what is inside it
            self._parser.StartElementHandler = self._start_in_envelope
        elif not is_header(name):
            self.business_root = name
        self._say(_opening(name, attributes))

    def _start_in_envelope(self, name: str, attributes: list[str]) -> None:
        if self._above or is_header(name):
            self._start(name, attributes)
            return
        if not self.business_root:
            self.business_root = name
            self._parts.clear()
            self.digest = hashlib.sha256()
        self._enter(name)
        self._say(_opening(name, attributes))

    def _enter(self, root: str) -> None:
        if len(root) > _LONGEST_NAME:
            raise self._unreadable("unreadable/long-name", _LONGEST_NAME)
        self._above.append(self._here)
        self._here = places(root)
        self._parser.StartElementHandler = self._start

    def _start(self, name: str, attributes: list[str]) -> None:
        above, here = self._above, self._here
        above.append(here)
        if len(above) > _DEEPEST:
            raise self._unreadable("unreadable/deep", _DEEPEST)
        if here is not None:
            self._here = here = self._step(here, name, attributes)
            if here is not None and here.path:
                self._begin_value(here.path, attributes)
        self._parts.append(_opening(name, attributes) if attributes else f"{_OPEN}{name}{_ATTRIBUTE}")

    def _step(self, here: Place, name: str, attributes: list[str]) -> Place | None:
        place = here.get(name)
        if place is not None and place.named:
            place = place.get(_attribute(attributes, "name") or "")
        if place:
            self._inside += 1
        return place

    def _end(self, _name: str) -> None:
        above = self._above
        if not above:
            return
        self._parts.append(_CLOSE)
        here = self._here
        if here is not None and here.path:
            self._end_value(here.path)
        self._here = above.pop()
        if not above:
            self._parser.StartElementHandler = self._start_in_envelope

    def _begin_value(self, path: str, attributes: list[str]) -> None:
        self._scheme = _attribute(attributes, "Authority" if HEADER in path else "schemeID")
        self._text = ""
        self._parser.CharacterDataHandler = self._listen

    def _listen(self, text: str) -> None:
        self._say(text)
        value = (self._text + text).lstrip()
        cut = "…" if len(value.rstrip()) > _LONGEST_VALUE else ""  # so that it can't pass for a shorter id
        self._text = value[:_LONGEST_VALUE] + cut

    def _end_value(self, path: str) -> None:
        self._parser.CharacterDataHandler = self._say
        text = self._text.strip()
        if text and len(self.values) < _MOST_VALUES:
            self.values.append(Value(path, text, self._scheme, self._inside))

    def _skip(self, entity: str, is_parameter: bool) -> None:  # noqa: FBT001 - expat calls it so
        if not is_parameter:
            self._say(f"&{entity};")

    def _refuse(self, name: str, *_declaration: object) -> None:
        if is_web_page(name):
            raise DocumentError(Text.of("doctype/web-page"))
        raise DocumentError(Text.of("doctype", line=self._parser.CurrentLineNumber))

    def _unreadable(self, form: str, most: int) -> DocumentError:
        return DocumentError(Text.of(form, line=self._parser.CurrentLineNumber, most=most))


def is_web_page(root: str) -> bool:
    """Whether a document with this root element is a web page."""
    return root.rpartition(SEPARATOR)[2].lower() == "html"


def _attribute(attributes: list[str], name: str) -> str | None:
    pairs = zip(attributes[::2], attributes[1::2], strict=True)
    return next((value.strip() for key, value in pairs if key == name), None)


def _opening(name: str, attributes: list[str]) -> str:
    if len(attributes) == 2:  # noqa: PLR2004 - one attribute, as most elements have that have any
        return f"{_OPEN}{name}{_ATTRIBUTE}{attributes[0]}{_IS}{attributes[1]}{_ATTRIBUTE}"
    pairs = sorted(zip(attributes[::2], attributes[1::2], strict=True))
    return f"{_OPEN}{name}{''.join([f'{_ATTRIBUTE}{key}{_IS}{value}' for key, value in pairs])}{_ATTRIBUTE}"
