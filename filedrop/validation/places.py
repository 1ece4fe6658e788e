"""Where in a document a finding is: the XPath of a Schematron report, as people read it, and its line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from lxml import etree

if TYPE_CHECKING:
    from lxml.etree import _Element

_NAMESPACE = re.compile(r"""\[namespace-uri\(\)=(?:'[^']*'|"[^"]*")\]""")
_ANY = re.compile(r"(@?)\*:([\w.-]+)")
_LOCAL_NAME = re.compile(r"""\*\[local-name\(\)=(?:'([^']*)'|"([^"]*)")\]""")
LONGEST = 300  # characters of an XPath


def readable(location: str) -> str:
    """An XPath without namespaces and `[1]`: /Invoice/InvoiceLine[2]/Price."""
    bare = _LOCAL_NAME.sub(r"\1\2", _NAMESPACE.sub("", location))
    return _ANY.sub(r"\1\2", bare).replace("[1]", "")[:LONGEST]


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
