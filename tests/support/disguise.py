"""The same document written otherwise: hypothesis draws prefixes, blanks, comments, encodings and the rest.

What comes out says what went in, in other words: the same elements, attributes and texts, up to blanks around texts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape, quoteattr

from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Callable
    from xml.etree.ElementTree import Element

ENCODINGS = {  # Python's name -> what the declaration says; all of them can write Blåbær
    "utf-8": "UTF-8",
    "utf-8-sig": "utf-8",
    "utf-16": "UTF-16",
    "utf-16-be": "UTF-16BE",
    "utf-32": "UTF-32",
    "utf-32-le": "UTF-32LE",
    "iso8859-1": "ISO-8859-1",
    "iso8859-15": "iso-8859-15",
    "cp1252": "windows-1252",
    "cp850": "IBM850",
    "mac-roman": "macintosh",
    "cp037": "IBM037",
    "cp500": "IBM500",
    "gb18030": "GB18030",
}
_BETWEEN = st.sampled_from(["", " ", "\n", "\r\n\t", "<!-- a > b & <EndpointID>0192:1</EndpointID> -->", "<?note it?>"])
_BLANKS = st.sampled_from(["", " ", "\n   ", "\t\r\n", "&#32;"])
_PREFIXES = st.sampled_from(["", "cbc", "cac", "a", "_x.y-z", "ns0"])


@st.composite
def disguised(draw: Callable[..., object], document: bytes) -> bytes:
    """`document`, which must be UTF-8, in some other form."""
    encoding = draw(st.sampled_from(sorted(ENCODINGS)))
    root = _element(draw, ET.fromstring(document))  # noqa: S314 - our own document
    text = f'<?xml version="1.0" encoding="{ENCODINGS[encoding]}"?>{draw(_BETWEEN)}{root}{draw(_BETWEEN)}'
    return text.encode(encoding)


def _element(draw: Callable[..., str], element: Element) -> str:
    namespace, _, name = element.tag.rpartition("}")
    prefix = draw(_PREFIXES) if namespace else ""
    declaration = f"{f'xmlns:{prefix}' if prefix else 'xmlns'}={quoteattr(namespace.removeprefix('{'))}"
    attributes = [declaration, *(f"{_attribute(key)}={quoteattr(value)}" for key, value in element.items())]
    shuffled = " ".join(draw(st.permutations(attributes)))
    tag = f"{prefix}:{name}" if prefix else name
    inside = _text(draw, element.text or "") if len(element) == 0 else draw(_BETWEEN)
    inside += "".join(_element(draw, child) + draw(_BETWEEN) for child in element)
    return f"<{tag} {shuffled}>{inside}</{tag}>"


def _attribute(name: str) -> str:
    return name.replace("{http://www.w3.org/XML/1998/namespace}", "xml:")


def _text(draw: Callable[..., str], text: str) -> str:
    split = draw(st.integers(0, len(text)))
    written = draw(st.sampled_from([escape, _as_references, _as_cdata]))
    comment = draw(st.sampled_from(["", "<!-- in between -->", "<?and?>"]))
    return f"{draw(_BLANKS)}{escape(text[:split])}{comment}{written(text[split:])}{draw(_BLANKS)}"


def _as_references(text: str) -> str:
    return "".join(f"&#{ord(letter)};" for letter in text)


def _as_cdata(text: str) -> str:
    return f"<![CDATA[{text}]]>" if "]]>" not in text else escape(text)
