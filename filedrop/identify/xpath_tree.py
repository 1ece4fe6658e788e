"""What the XPaths of mapping rules may look at: the business document as a small tree.

Names stand without their namespaces, and prefixes in an XPath are ignored: `/Invoice/OrderReference/ID` and
`/ubl:Invoice/cac:OrderReference/cbc:ID` find the same. So that memory stays flat, a text is cut after 2,000 characters
and the tree ends after 50,000 elements, or ten million characters: an invoice has its references, parties and notes
before its lines.

An expression like `//a[//b]` looks through the whole document for each element that it finds, and libxml2 can't be
interrupted. It works without Python's lock; so a search that takes too long is left to its end, alone: until then no
other is begun.
"""

from __future__ import annotations

import math
import re
import threading
from copy import deepcopy
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from xml.parsers import expat

from filedrop.identify.content import ENVELOPE, HEADER, SEPARATOR

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from lxml.etree import XPath as CompiledXPath
    from lxml.etree import _ElementTree

T = TypeVar("T")

PATIENCE = 5.0  # seconds for one XPath and one document; mostly it takes a thousandth of that
_left = set[threading.Thread]()  # searches that nobody waits for any more
_LONGEST_TEXT = 2000
_MOST_ELEMENTS = 50_000
_MOST_LETTERS = 10_000_000  # of names, values and texts together
_ATTRIBUTE = 100  # letters that an attribute counts for, besides its own
_QUOTED_OR_PREFIX = re.compile(r"""("[^"]*"|'[^']*')|[\w.-]+:(?=[^\W\d]|\*)""")
_QUOTED_OR_CALL = re.compile(r""""[^"]*"|'[^']*'|([^\W\d][\w.-]*)\s*\(""")
_BEFORE_BRACKETS = re.compile(  # XPath 1.0: functions, node types and operators
    "last|position|count|id|local-name|namespace-uri|name|string|concat|starts-with|contains|substring-before|"
    "substring-after|substring|string-length|normalize-space|translate|boolean|not|true|false|lang|number|sum|floor|"
    "ceiling|round|comment|text|processing-instruction|node|and|or|div|mod"
)


def compiled(xpath: str) -> CompiledXPath:
    """An XPath, its prefixes taken out. Raises ValueError, which says what is wrong with it.

    Each reading has its own: lxml lets one thread at a time use it, and a large document may take long.
    """
    from lxml import etree  # noqa: PLC0415 - costs 20 ms, and few have XPaths

    try:
        found = etree.XPath(_QUOTED_OR_PREFIX.sub(lambda quoted: quoted[1] or "", xpath), smart_strings=False)
        found(etree.Element("document"))  # what a function can't take is only noticed now
    except etree.XPathError as error:
        raise ValueError(str(error)) from error
    for call in _QUOTED_OR_CALL.findall(found.path):  # else noticed at a document (tests/findings/lxml-function.sh)
        if call and not _BEFORE_BRACKETS.fullmatch(call):
            raise ValueError(f"XPath 1.0 has no function {call}()")
    return found


class Unfit(NamedTuple):
    """What an XPath gives that can't be worked out in a document: why."""

    why: str


class Outline:
    """The tree, grown from the pieces of a document in UTF-8 on their way to the reader."""

    def __init__(self) -> None:
        from lxml import etree  # noqa: PLC0415 - as above

        self._etree = etree
        self._builder = etree.TreeBuilder()
        self._open: list[str] = []
        self._elements = 0
        self._room = 0
        self._left = _MOST_LETTERS
        self._growing = True
        self._parser = parser = expat.ParserCreate("utf-8", SEPARATOR)
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text

    def watch(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """The same pieces, unchanged. What is malformed in them is for the reader to say."""
        for piece in pieces:
            if self._growing:
                try:
                    self._parser.Parse(piece)
                except expat.ExpatError:
                    self._growing = False
            yield piece

    def find(self, xpaths: Collection[str]) -> dict[str, str | Unfit | None]:
        """What each XPath finds once all pieces have gone by: a string, the text of the first node, or "".

        None where that takes too long; nothing at all where it can't be asked now.
        """
        while self._open:  # the tree ended before the document
            self._builder.end(self._open.pop())
        root = self._builder.close()
        if root.tag == ENVELOPE:  # what is inside becomes a document of its own, whose root `/` means
            root = deepcopy(next((child for child in root if child.tag != HEADER), root))
        tree = self._etree.ElementTree(root)
        return search(xpaths, lambda xpath: self._string(compiled(xpath), tree))

    def _string(self, xpath: CompiledXPath, tree: _ElementTree) -> str | Unfit:
        try:
            found: Any = xpath(tree)
        except self._etree.XPathError as error:  # in a condition, such as a function given what it can't take
            return Unfit(str(error))
        if isinstance(found, list):
            found = next(iter(found), "")
        if self._etree.iselement(found):
            found = self._etree.tostring(found, method="text", encoding="unicode", with_tail=False)
        if isinstance(found, bool):
            return "true" if found else ""
        if isinstance(found, float):
            return "" if math.isnan(found) else f"{found:.15g}"  # number(//Nothing)
        return str(found).strip()

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._elements += 1
        self._room = _LONGEST_TEXT
        if not self._growing:
            return
        local = _local(name)
        self._left -= len(local) + sum(_ATTRIBUTE + len(key) + len(value) for key, value in attributes.items())
        self._growing = self._elements <= _MOST_ELEMENTS and self._left >= 0
        if self._growing:
            self._open.append(local)
            self._builder.start(local, {_local(key): value for key, value in attributes.items()})

    def _end(self, _name: str) -> None:
        self._room = _LONGEST_TEXT
        if self._growing:
            self._builder.end(self._open.pop())

    def _text(self, text: str) -> None:
        if self._growing and self._room > 0:
            kept = text[: self._room]
            self._builder.data(kept)
            self._room -= len(text)
            self._left -= len(kept)


def _local(name: str) -> str:
    return name.rpartition(SEPARATOR)[2]


def search(xpaths: Collection[str], find: Callable[[str], T], *, patience: float = PATIENCE) -> dict[str, T | None]:
    """What each XPath finds; None where it takes too long. Nothing at all while an earlier search is still at work."""
    _left.difference_update([thread for thread in list(_left) if not thread.is_alive()])  # a copy: others add to it
    if _left:
        return {}
    found: dict[str, T | None] = dict.fromkeys(xpaths)

    def work(xpath: str) -> None:
        found[xpath] = find(xpath)

    for xpath in xpaths:
        thread = threading.Thread(target=work, args=(xpath,), name="xpaths", daemon=True)
        thread.start()
        thread.join(patience)
        if thread.is_alive():
            _left.add(thread)
    return found.copy()
