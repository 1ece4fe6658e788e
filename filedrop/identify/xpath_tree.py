"""What the XPaths of mapping rules may look at: the business document as a small tree.

Names stand without their namespaces, and prefixes in an XPath are ignored: `/Invoice/OrderReference/ID` and
`/ubl:Invoice/cac:OrderReference/cbc:ID` find the same. So that memory stays flat, a text is cut after 2,000 characters
and the tree ends after 50,000 elements, or ten million characters: an invoice has its references, parties and notes
before its lines.

An expression like `//a[//b]` looks through the whole document for each element that it finds, and libxml2 can't be
interrupted. So a child process evaluates the XPaths (xpath_child), and is killed when it is late. There are as many
processes as documents that are searched at once: no search waits for another one.
"""

from __future__ import annotations

import re
from collections import deque
from typing import TYPE_CHECKING, NamedTuple
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from filedrop.identify.content import SEPARATOR
from filedrop.programs.children import Child, Ended, Late, NoAnswer

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from lxml.etree import XPath as CompiledXPath

PATIENCE = 5.0  # seconds for one XPath and one document; mostly it takes a thousandth of that
_BEGINNING = 60.0  # seconds for a process to start; mostly it takes a fifth of one
_MEMORY = 300_000_000  # bytes; the largest trees take 60 MB
_LARGEST = 50_000_000  # bytes of an answer
_idle = deque[Child]()  # processes that search nothing now; the last one is warm
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
    """An XPath, its prefixes taken out. Raises ValueError, which says what is wrong with it."""
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
    """An XPath gives nothing for a document, and why. `is_lasting`: another attempt gives nothing either."""

    why: str
    is_lasting: bool = True


class Outline:
    """The tree, grown from the pieces of a document in UTF-8 on their way to the reader."""

    def __init__(self) -> None:
        self._written: list[str] = []
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

        None where that takes too long.
        """
        while self._open:  # the tree ended before the document
            self._written.append(f"</{self._open.pop()}>")
        return search(xpaths, "".join(self._written).encode())

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
            unique = {_local(key): quoteattr(value) for key, value in attributes.items()}
            unique.pop("xmlns", None)  # it would declare a namespace
            self._written.append(f"<{local}{''.join(f' {key}={value}' for key, value in unique.items())}>")

    def _end(self, _name: str) -> None:
        self._room = _LONGEST_TEXT
        if self._growing:
            self._written.append(f"</{self._open.pop()}>")

    def _text(self, text: str) -> None:
        if self._growing and self._room > 0:
            kept = text[: self._room]
            self._written.append(escape(kept, {"\r": "&#13;"}))
            self._room -= len(text)
            self._left -= len(kept)


def _local(name: str) -> str:
    return name.rpartition(SEPARATOR)[2]


def search(xpaths: Collection[str], tree: bytes, *, patience: float = PATIENCE) -> dict[str, str | Unfit | None]:
    """What each XPath finds in a tree, which is XML without namespaces; None where it takes too long."""
    child = _idle.pop() if _idle else Child("filedrop.identify.xpath_child", memory=_MEMORY, largest=_LARGEST)
    has_started = False
    try:
        child.ask({"xpaths": []}, seconds=_BEGINNING)
        has_started = True
        found = child.ask({"xpaths": list(xpaths)}, [tree], seconds=patience)["found"]
        return {xpath: Unfit(why) if why else text for xpath, (text, why) in found.items()}
    except NoAnswer as error:
        if not has_started or not isinstance(error, Late):  # that says nothing about an XPath
            whose = "the process that evaluates XPaths " if isinstance(error, (Late, Ended)) else ""
            return dict.fromkeys(xpaths, Unfit(f"{whose}{error}", is_lasting=False))
        if len(xpaths) == 1:
            return dict.fromkeys(xpaths)
    finally:
        _idle.append(child)
    return {key: value for xpath in xpaths for key, value in search([xpath], tree, patience=patience).items()}


def end_if_idle() -> None:
    """End the processes that have searched nothing for a while. Called now and then."""
    for child in list(_idle):
        child.end_if_idle()
