"""What is embedded in a document, base64 decoded piece by piece: memory stays flat however large it is.

UBL has it in EmbeddedDocumentBinaryObject, CII in AttachmentBinaryObject; an envelope around these changes nothing. An
envelope may also have a whole file in place of a document: BinaryContent, such as the PDF of Factur-X.
"""

from __future__ import annotations

import binascii
from functools import partial
from typing import TYPE_CHECKING, BinaryIO, NamedTuple
from xml.parsers import expat

from filedrop.errors import DocumentError
from filedrop.identify.content import COMPONENTS, SEPARATOR
from filedrop.identify.doctype import without_subset
from filedrop.identify.encoding import transcode
from filedrop.identify.parsing import PIECE
from filedrop.texts import Text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from filedrop.identify.encoding import Form

OBJECTS = frozenset(
    f"{namespace}{SEPARATOR}{name}"
    for namespace in COMPONENTS
    for name in ("EmbeddedDocumentBinaryObject", "AttachmentBinaryObject")
) | {f"http://peppol.eu/xsd/ticc/envelope/1.0{SEPARATOR}BinaryContent"}  # Peppol Business Message Envelope 2.0
TYPE_ATTRIBUTES = ("mimeCode", "mimeType")  # that of BinaryContent is the second
_BLANKS = b" \t\r\n"
_FOUR = 4  # letters of base64 for three bytes


class Begun(NamedTuple):
    """The next embedded object begins; file name and media type are as stated, None where they aren't."""

    name: str | None
    media_type: str | None


class Ended(NamedTuple):
    """It has ended; `fault` continues a sentence that says why it can't be decoded, and is "" where it was."""

    fault: str


def embedded(file: BinaryIO, form: Form) -> Iterator[Begun | bytes | Ended]:
    """Each embedded object, in the order of the document: its beginning, its bytes in pieces, its end.

    `file` stands at the beginning of a document that `read` has read, `form` is what that found. Raises DocumentError
    (`not-xml`) where somebody has written into it since.
    """
    return embedded_in(without_subset(transcode(iter(partial(file.read, PIECE), b""), form)))


def embedded_in(pieces: Iterable[bytes]) -> Iterator[Begun | bytes | Ended]:
    """The same of a document as it goes on the wire."""
    parser = _Parser()
    try:
        for piece in pieces:
            yield from parser.feed(piece)
    except expat.ExpatError as error:
        raise DocumentError(Text.of("not-xml/changed", line=error.lineno)) from error


class _Parser:
    """Grows the list of what has been found in each piece."""

    def __init__(self) -> None:
        self._found: list[Begun | bytes | Ended] = []
        self._depth = 0  # elements that are open within an embedded object, with that itself
        self._rest = b""
        self._fault = ""
        self._size = 0
        self._parser = parser = expat.ParserCreate("utf-8", SEPARATOR)
        parser.buffer_text = True
        parser.buffer_size = PIECE
        parser.StartElementHandler = self._start
        parser.SkippedEntityHandler = self._skip

    def feed(self, piece: bytes) -> list[Begun | bytes | Ended]:
        self._parser.Parse(piece)
        found, self._found = self._found, []
        return found

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if self._depth:
            self._depth += 1
            self._fault = self._fault or f'it has an element "{name.rpartition(SEPARATOR)[2]}" in it'
        elif name in OBJECTS:
            self._depth, self._rest, self._fault, self._size = 1, b"", "", 0
            self._parser.EndElementHandler = self._end
            self._parser.CharacterDataHandler = self._text
            stated = next((attributes[name] for name in TYPE_ATTRIBUTES if name in attributes), None)
            self._found.append(Begun(attributes.get("filename"), stated))

    def _text(self, text: str) -> None:
        if self._fault:
            return
        try:
            letters = self._rest + text.encode("ascii").translate(None, _BLANKS)
            whole = len(letters) // _FOUR * _FOUR
            self._rest = letters[whole:]
            self._decode(letters[:whole])
        except ValueError:  # of either: UnicodeEncodeError, binascii.Error
            self._fault = "it is not base64"

    def _decode(self, letters: bytes) -> None:
        if letters:
            if self._size % 3:
                raise ValueError("letters behind the end")  # which `=` or `==` has marked
            found = binascii.a2b_base64(letters, strict_mode=True)
            self._size += len(found)
            self._found.append(found)

    def _end(self, _name: str) -> None:
        self._depth -= 1
        if self._depth:
            return
        if self._rest and not self._fault:  # without the `=` at its end, which tell nothing that isn't known
            self._text("=" * (-len(self._rest) % _FOUR))
        if not self._fault and not self._size:
            self._fault = "it is empty"
        self._found.append(Ended(self._fault))
        self._parser.EndElementHandler = None
        self._parser.CharacterDataHandler = None

    def _skip(self, entity: str, _is_parameter: bool) -> None:  # noqa: FBT001 - expat calls it so
        if self._depth:
            self._fault = self._fault or f"it refers to an entity, &{entity};"
