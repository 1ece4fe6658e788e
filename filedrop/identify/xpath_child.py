"""The child process that evaluates XPaths in a document."""

from __future__ import annotations

import math
from copy import deepcopy
from functools import lru_cache
from typing import TYPE_CHECKING, Any, BinaryIO

from lxml import etree

from filedrop.identify.content import ENVELOPE, HEADER
from filedrop.identify.xpath_tree import compiled
from filedrop.programs.child import answer_questions

if TYPE_CHECKING:
    from lxml.etree import _ElementTree

_LONGEST = 10_000  # characters of what an XPath finds
_compiled = lru_cache(maxsize=1000)(compiled)


def _answer(asked: dict[str, Any], document: BinaryIO) -> dict[str, Any]:
    if not asked["xpaths"]:  # whether this process has started
        return {"found": {}}
    root = etree.parse(document, etree.XMLParser(huge_tree=True, resolve_entities=False)).getroot()
    if root.tag == ENVELOPE:  # what is inside becomes a document of its own, whose root `/` means
        root = deepcopy(next((child for child in root if child.tag != HEADER), root))
    tree = etree.ElementTree(root)
    return {"found": {xpath: _find(xpath, tree) for xpath in asked["xpaths"]}}


def _find(xpath: str, tree: _ElementTree) -> tuple[str, str]:
    """What it finds, and why that can't be known."""
    try:
        found: Any = _compiled(xpath)(tree)
    except etree.XPathError as error:  # in a condition, such as a function given what it can't take
        return "", str(error)
    if isinstance(found, list):
        found = next(iter(found), "")
    if etree.iselement(found):
        found = etree.tostring(found, method="text", encoding="unicode", with_tail=False)
    if isinstance(found, bool):
        found = "true" if found else ""
    if isinstance(found, float):
        found = "" if math.isnan(found) else f"{found:.15g}"  # number(//Nothing)
    return str(found).strip()[:_LONGEST], ""


def main() -> None:
    """Answer questions until stdin ends."""
    answer_questions(_answer)


if __name__ == "__main__":
    main()
