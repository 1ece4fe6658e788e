"""Where in a document a finding is: by the XPath of a Schematron report, or by the values that an error quotes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from lxml import etree

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lxml.etree import _Element

_URI = re.compile(r"\{[^}]*\}")
_NAMESPACE = re.compile(r"""\[namespace-uri\(\)=(?:'[^']*'|"[^"]*")\]""")
_ANY = re.compile(r"(@?)\*:([\w.-]+)")
_QUOTED = re.compile(r'"(.*?)"')
_LOCAL_NAME = re.compile(r"""\*\[local-name\(\)=(?:'([^']*)'|"([^"]*)")\]""")
LONGEST_XPATH = 300  # characters of an XPath


def readable(location: str) -> str:
    """An XPath without namespaces and `[1]`: /Invoice/InvoiceLine[2]/Price."""
    bare = _LOCAL_NAME.sub(r"\1\2", _NAMESPACE.sub("", location))
    return _ANY.sub(r"\1\2", bare).replace("[1]", "")[:LONGEST_XPATH]


def line_of(location: str, document: _Element) -> int | None:
    """The line of the element that an XPath leads to, or that has the attribute; None where that can't be told.

    `document` is the root of the business document, to which the XPath is absolute.
    """
    # XPath 1.0 has no *:name.
    steps = _ANY.sub(r"\1*[local-name()='\2']", location).lstrip("/")
    above = document.getparent()
    try:
        found = (document.getroottree() if above is None else above).xpath(f"/{steps}" if above is None else steps)
    except etree.XPathError:
        return None
    if not isinstance(found, list) or not found:
        return None
    place: Any = found[0]
    element = place.getparent() if hasattr(place, "is_attribute") else place
    return getattr(element, "sourceline", None)


def quoted(said: str) -> list[str]:
    """The values that an error of Saxon quotes. Long ones are shortened in the middle."""
    return _QUOTED.findall(said)


def without_values(said: str) -> str:
    """The same error without the values that it quotes."""
    return _QUOTED.sub('""', said)


def place_of(values: Sequence[str], document: _Element) -> tuple[str, int | None]:
    """The path and the line of the element with the first of these values; "" and None where there is none.

    Several values are too many: then it is the second of two elements that stand beside each other and contain them.
    """
    found = [element for element in document.iter(etree.Element) if _says(element, values[0])] if values else []
    if not found:
        return "", None
    place = found[0]
    if len(values) > 1:
        repeated = [again for element in found for again in _repetitions(element, values[1], document)]
        place = max(repeated, key=lambda element: sum(1 for _ in element.iterancestors()), default=place)
    path = _URI.sub("", etree.ElementTree(document).getelementpath(place))
    return f"/{etree.QName(document).localname}/{path}".removesuffix("/."), getattr(place, "sourceline", None)


def _says(element: _Element, value: str) -> bool:
    """Whether this is the text of an element without children."""
    begins, _, ends = value.partition(" ... ")
    text = (element.text or "").strip()
    return not len(element) and (text == value if not ends else text.startswith(begins) and text.endswith(ends))


def _repetitions(element: _Element, value: str, document: _Element) -> Iterator[_Element]:
    """The elements after this one, or after one that contains it, that have its name and the other value."""
    above: _Element | None = element
    while above is not None and above is not document:
        for again in above.itersiblings(above.tag):
            if any(_says(inner, value) for inner in again.iter(element.tag)):
                yield again
                break
        above = above.getparent()
