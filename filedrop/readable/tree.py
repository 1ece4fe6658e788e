"""A document as a small tree, for stylesheets and responses: without what is embedded in it, comments and declarations.

The parser is expat, which opens nothing, behind the same safeguards as when the document was read; lxml only gets
names, attributes and texts. An embedded object keeps its attributes, and gets its number among all of them.
"""

from __future__ import annotations

from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, BinaryIO
from xml.parsers import expat

from filedrop.errors import DocumentError, FiledropError
from filedrop.identify.content import SEPARATOR, business_document
from filedrop.identify.doctype import without_subset
from filedrop.identify.embedded import OBJECTS
from filedrop.identify.encoding import form_of, transcode
from filedrop.identify.parsing import PIECE

if TYPE_CHECKING:
    from lxml.etree import _Element


LARGEST = 2_000_000  # letters, without what is embedded: an invoice with 2,000 lines
_ELEMENT = 20  # letters that an element counts for, besides its text and attributes
_DEEPEST = 256  # elements inside each other, as for documents that are read
_MOST_ATTRIBUTES = 200  # of an element; lxml looks through those that are there for each one more
NUMBER = "filedrop-number"  # an attribute that only we set: one of the document's is left out


class NotReadable(FiledropError):
    """The document can't be shown; the message continues a sentence that begins with its name."""


def tree(file: BinaryIO, largest: int = LARGEST) -> _Element:
    """The business document, without an envelope around it. `file` is at its start.

    Raises NotReadable where it is no XML, too large or nested too deeply.
    """
    growing = _Growing(largest)
    try:
        head = file.read(PIECE)
        pieces = chain([head], iter(partial(file.read, PIECE), b""))
        for piece in without_subset(transcode(pieces, form_of(head))):
            growing.parser.Parse(piece)
        growing.parser.Parse(b"", True)  # noqa: FBT003 - a C function, which takes no keyword
    except expat.ExpatError as error:
        raise NotReadable(f"is not well-formed XML (line {error.lineno}, column {error.offset + 1})") from error
    except DocumentError as error:
        raise NotReadable(f"can't be shown: {error}") from error
    except ValueError as error:  # lxml takes only some of the namespaces that expat does
        raise NotReadable(f"can't be shown: it has a name that can't be used ({error})") from error
    return business_document(growing.builder.close())


class _Growing:
    def __init__(self, largest: int) -> None:
        from lxml import etree  # noqa: PLC0415 - costs 20 ms, and few show documents

        self.builder = etree.TreeBuilder()
        self.parser = parser = expat.ParserCreate("utf-8", SEPARATOR)
        self._room = self._largest = largest
        self._numbers = self._depth = 0
        self._is_embedded = False
        parser.buffer_text = True
        parser.buffer_size = PIECE
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise NotReadable(f"can't be shown: its elements are nested more than {_DEEPEST} deep")
        if len(attributes) > _MOST_ATTRIBUTES:
            raise NotReadable(f"can't be shown: an element has more than {_MOST_ATTRIBUTES} attributes")
        self._count(_ELEMENT + sum(len(key) + len(value) for key, value in attributes.items()))
        named: dict[str | bytes, str | bytes] = {
            _clark(key): value for key, value in attributes.items() if key != NUMBER
        }
        self._is_embedded = name in OBJECTS
        if self._is_embedded:
            self._numbers += 1
            named[NUMBER] = str(self._numbers)
        self.builder.start(_clark(name), named)

    def _end(self, name: str) -> None:
        self._depth -= 1
        self._is_embedded = False
        self.builder.end(_clark(name))

    def _text(self, text: str) -> None:
        if not self._is_embedded:
            self._count(len(text))
            self.builder.data(text)

    def _count(self, size: int) -> None:
        self._room -= size
        if self._room < 0:
            raise NotReadable(
                f"is too large to be shown: it has more than {self._largest} letters besides what is embedded"
            )


def _clark(name: str) -> str:
    namespace, _, local = name.rpartition(SEPARATOR)
    return f"{{{namespace}}}{local}" if namespace else local
