"""What a document says, as a sheet: blocks of words, ready to be shown as a page or in a terminal.

Our stylesheets say which element of a UBL document or a CII invoice goes where; they can open neither file nor address.
A document of another kind is an outline of its elements.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from filedrop.identify.embedded import TYPE_ATTRIBUTES
from filedrop.readable.tree import NUMBER, NotReadable, tree
from filedrop.readable.values import written
from filedrop.readable.words import Words, clean, spaced, words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from lxml.etree import XSLT, _Element


MOST_ROWS = 2000  # of a table or an outline: a page with more is of no use to anybody
MOST_OTHER = 200  # entries of the other details
LONGEST_VALUE = 2000  # letters of a value in an outline
PLACE = "filedrop-place"  # an attribute that only we set, on each value: by it we know what a stylesheet has shown
_UBL = re.compile(
    r"\{urn:oasis:names:specification:ubl:schema:xsd:"
    r"(Invoice|CreditNote|Order|OrderResponse|DespatchAdvice|ApplicationResponse)-2\}\1"
)
_CII = "{urn:un:unece:uncefact:data:standard:CrossIndustryInvoice:100}CrossIndustryInvoice"
_CDAR = (
    "{urn:un:unece:uncefact:data:standard:CrossDomainAcknowledgementAndResponse:100}"
    "CrossDomainAcknowledgementAndResponse"
)
_D16A, _D16B = (f"ReusableAggregateBusinessInformationEntity:{version}}}" for version in (19, 100))  # of CII
_STYLESHEETS = {_CII: "cii.xsl", _CDAR: "cdar.xsl"}
_LINES = [
    f"{{*}}{name}"
    for name in (
        "InvoiceLine", "CreditNoteLine", "OrderLine", "DespatchLine", "SubInvoiceLine", "SubCreditNoteLine",
        "SubLineItem", "IncludedSupplyChainTradeLineItem",
    )
]  # fmt: skip
_FOLDER = Path(__file__).parent


class Fact(NamedTuple):
    """A label and what is said under it; `strong` for what a reader looks for first."""

    label: str
    value: str
    strong: bool = False


class Party(NamedTuple):
    """Somebody in a role: the lines of name and address, and facts."""

    role: str
    lines: list[str]
    facts: list[Fact]


class Cell(NamedTuple):
    """A cell of a table, with smaller lines below its text, and how many steps it is set in."""

    text: str
    details: list[str]
    depth: int = 0


@dataclass(slots=True)
class Block:
    """A part of the sheet. Its `kind` says what it consists of, besides a title, which may be "".

    `head`, `facts`, `totals` or `section`: facts; `parties`: parties; `table`: columns (a label, and whether it holds
    numbers) and rows; `texts` or `notices`: paragraphs; `outline`: entries, each with its depth, its name and a value,
    "" for what is above others. `more`: a sentence about what was left out.
    """

    kind: str
    title: str = ""
    facts: list[Fact] = field(default_factory=list)
    parties: list[Party] = field(default_factory=list)
    columns: list[tuple[str, bool]] = field(default_factory=list)
    rows: list[list[Cell]] = field(default_factory=list)
    paragraphs: list[str] = field(default_factory=list)
    entries: list[tuple[int, str, str]] = field(default_factory=list)
    more: str = ""


class Attached(NamedTuple):
    """A reference to another document; `number` is that of what is embedded, None where nothing is."""

    number: int | None
    text: str


@dataclass(frozen=True, slots=True)
class Sheet:
    """What a document says. `headline`: a response's answer, or "".

    `made_from` has a place for its file's name.
    """

    language: str
    title: str
    headline: str
    number: str
    blocks: list[Block]
    attached_title: str
    attached: list[Attached]
    made_from: str


def sheet(file: BinaryIO, language: str = "en") -> Sheet:
    """What a document says. `file` is at its beginning.

    Raises NotReadable, OSError.
    """
    root, said = tree(file), words(language)
    name = _STYLESHEETS.get(str(root.tag)) or ("ubl.xsl" if _UBL.fullmatch(str(root.tag)) else "")
    if not name:
        return _outline(root, said)
    from lxml import etree  # noqa: PLC0415 - loaded already by the tree

    left_out = _without_last_lines(root)
    for place, element in enumerate(root.iter()):
        element.tag = str(element.tag).replace(_D16A, _D16B)
        if not len(element) and not element.get(NUMBER):
            element.set(PLACE, str(place))
    try:
        result = _stylesheet(name)(etree.ElementTree(root)).getroot()
    except etree.LxmlError as error:
        raise NotReadable(f"can't be shown by {name}: {error}") from error
    return _Filling(result, said, left_out).sheet(root)


def _without_last_lines(root: _Element) -> int:
    """Remove the lines that no page has room for, which a stylesheet would take long for. Returns how many they are."""
    left_out = list(root.iter(*_LINES))[MOST_ROWS:]
    for line in left_out:
        parent = line.getparent()
        if parent is not None:
            parent.remove(line)
    return len(left_out)


def sheet_of(content: Mapping[str, Any]) -> Sheet:
    """The sheet that was made a dictionary (`asdict`) and JSON."""
    blocks = [
        Block(
            block["kind"],
            block["title"],
            [Fact(*fact) for fact in block["facts"]],
            [Party(role, lines, [Fact(*fact) for fact in facts]) for role, lines, facts in block["parties"]],
            [(label, is_number) for label, is_number in block["columns"]],
            [[Cell(*cell) for cell in row] for row in block["rows"]],
            block["paragraphs"],
            [(depth, name, value) for depth, name, value in block["entries"]],
            block["more"],
        )
        for block in content["blocks"]
    ]
    return Sheet(**{**content, "blocks": blocks, "attached": [Attached(*attached) for attached in content["attached"]]})


@lru_cache
def _stylesheet(name: str) -> XSLT:
    from lxml import etree  # noqa: PLC0415 - loaded already by the tree

    denied: etree.XSLTAccessControl = etree.XSLTAccessControl.DENY_ALL  # type: ignore[attr-defined] # the stubs lack it
    return etree.XSLT(etree.parse(_FOLDER / name), access_control=denied)


class _Filling:
    """Makes words of what a stylesheet has given (its form: common.xsl)."""

    def __init__(self, result: _Element, said: Words, left_out: int) -> None:
        self._result = result
        self._left_out = left_out  # lines
        self._said = said
        self._kind = result.get("kind", "")
        self._currency = clean(result.get("currency"))
        self.shown: set[str] = set()

    def sheet(self, root: _Element) -> Sheet:
        """The sheet of the document that the stylesheet was given."""
        said = self._said
        headline = next((self._headline(place) for place in self._result.iterfind("headline")), "")
        number = next((self._text(place) for place in self._result.iterfind("number")), "")
        blocks = [block for part in self._result if (block := self._block(part))]
        attached = list(self._attached())
        if other := _other_details(root, self.shown, said):
            blocks.append(other)
        return Sheet(
            said.language,
            said.label(self._kind),
            headline,
            number,
            blocks,
            said.label("attachments"),
            attached,
            said.label("made_from"),
        )

    def _headline(self, place: _Element) -> str:
        """What the code in this place means, without the code itself, which a fact states below."""
        code = clean(next((child.text for child in place), ""))
        return self._said.lists[place.get("list", "")].get(code, code)

    def _block(self, part: _Element) -> Block | None:
        key = part.get("key")
        block = Block(str(part.tag), self._said.label(key) if key else "")
        match part.tag:
            case "head" | "facts" | "totals" | "section":
                block.facts = self._facts(part)
            case "parties":
                block.parties = list(self._parties(part))
            case "table":
                self._fill_table(part, block)
            case "texts":
                block.paragraphs = [text for p in part if (text := self._text(p))]
            case "notices":
                block.paragraphs = [self._said.label(p.get("key", "")) for p in part]
            case _:
                return None
        return block if block.facts or block.parties or block.rows or block.paragraphs else None

    def _facts(self, part: _Element) -> list[Fact]:
        return [
            Fact(self._said.label(fact.get("key", ""), self._kind), value, strong=fact.get("strong") == "yes")
            for fact in part.iterchildren("fact", "shown")
            if (value := self._text(fact))
        ]

    def _parties(self, part: _Element) -> Iterator[Party]:
        for party in part:
            lines = [text for line in party.iterchildren("line") if (text := self._text(line))]
            facts = self._facts(party)
            if lines or facts:
                yield Party(self._said.label(party.get("role", ""), self._kind), lines, facts)

    def _fill_table(self, part: _Element, block: Block) -> None:
        columns = [(column.get("key", ""), column.get("number") == "yes") for column in part.iterchildren("column")]
        stated = part.findall("row")
        rows = [[self._cell(cell) for cell in row] for row in stated[:MOST_ROWS]]
        filled = [nth for nth in range(len(columns)) if any(row[nth].text or row[nth].details for row in rows)]
        block.columns = [(self._said.label(columns[nth][0]), columns[nth][1]) for nth in filled]
        block.rows = [[row[nth] for nth in filled] for row in rows]
        left_out = len(stated[MOST_ROWS:]) + (self._left_out if part.get("key") == "lines" else 0)
        if left_out:
            block.more = self._said.label("more").format(number=left_out)
            for row in stated[MOST_ROWS:]:  # they are counted here, and so are not listed once more
                self.shown.update(element.get(PLACE, "") for element in row.iter())

    def _cell(self, cell: _Element) -> Cell:
        details = [text for detail in cell.iterchildren("detail") if (text := self._detail(detail))]
        return Cell(self._text(cell), details, int(cell.get("depth", "0")))

    def _detail(self, detail: _Element) -> str:
        text, key = self._text(detail), detail.get("key")
        if not key or not text:
            return text
        label = self._said.label(key)
        return f"{label} {text}" if key == "per" else self._said.labelled(label, text)

    def _text(self, place: _Element) -> str:
        """What a place holds: values of the document, and words of ours between them, behind the document's label."""
        parts: list[tuple[str, bool]] = [(self._own(place.text, place), True)]
        label = ""
        for child in place:
            if child.tag == "label":
                label = self._text(child)
            elif child.tag == "shown":
                self._text(child)
            elif str(child.tag).startswith("{"):
                self.shown.add(child.get(PLACE, ""))
                parts.append((written(child, place, self._said, self._currency), False))
            parts.append((clean(child.tail), True))
        text = _joined(parts) if place.tag != "shown" else ""
        return self._said.labelled(label, text) if label and text else label or text

    def _own(self, text: str | None, place: _Element) -> str:
        code_list = place.get("list")
        return self._said.code(code_list, clean(text)) if code_list and clean(text) else clean(text)

    def _attached(self) -> Iterator[Attached]:
        for attachment in self._result.iterfind("attachments/attachment"):
            number = attachment.get("number", "")
            words = [self._text_of(child, attachment) for child in attachment]
            words.append(clean(attachment.get("name")))
            text = " · ".join(dict.fromkeys(word for word in words if word))
            yield Attached(int(number) if number.isdecimal() else None, text)

    def _text_of(self, element: _Element, place: _Element) -> str:
        if element.tag == "shown":
            return self._text(element)
        self.shown.add(element.get(PLACE, ""))
        return written(element, place, self._said, self._currency)


def _joined(parts: Iterable[tuple[str, bool]]) -> str:
    """Values and words of ours in one line, with blanks between them but for those within our brackets."""
    joined, is_open = "", True
    for text, is_ours in parts:
        if text:
            joined += text if is_open or (is_ours and text.startswith(")")) else f" {text}"
            is_open = is_ours and text.endswith("(")
    return joined


def _other_details(root: _Element, shown: set[str], said: Words) -> Block | None:
    """What the document says besides what is shown, with the names that it has in the document."""
    above: set[_Element] = set()
    for element in root.iter():
        if element.get(PLACE) and element.get(PLACE) not in shown and clean(element.text):
            above.add(element)
            for ancestor in element.iterancestors():
                if ancestor in above:
                    break
                above.add(ancestor)
    block = Block("outline", said.label("other_details"))
    _list_entries(block, ((depth, element) for depth, element in _elements(root) if element in above), MOST_OTHER, said)
    return block if block.entries else None


def _outline(root: _Element, said: Words) -> Sheet:
    block = Block("outline")
    _list_entries(block, _elements(root), MOST_ROWS, said)
    attached = [
        Attached(int(element.get(NUMBER, "0")), name)
        for element in root.iter()
        if element.get(NUMBER)
        and (name := next(filter(None, (clean(element.get(key)) for key in ("filename", *TYPE_ATTRIBUTES))), ""))
    ]
    number = next((clean(child.text) for child in root if _name(child) == "ID"), "")
    return Sheet(
        said.language,
        said.words.get(root.tag.rpartition("}")[2], _name(root)),
        "",
        number,
        [block],
        said.label("attachments"),
        attached,
        said.label("made_from"),
    )


def _list_entries(block: Block, elements: Iterable[tuple[int, Any]], most: int, said: Words) -> None:
    """Fill an outline with these elements, the first so many of them."""
    left = 0
    for depth, element in elements:
        value = "" if len(element) else clean(element.text)
        if len(block.entries) == most:
            left += 1
        elif value or len(element):
            text = " ".join([value, *_stated(element)])[:LONGEST_VALUE] if value else ""
            block.entries.append((depth, _name(element), text))
    if left:
        block.more = said.label("more").format(number=left)


def _elements(root: _Element) -> Iterator[tuple[int, Any]]:
    """All elements below the root, in order, each with its depth."""
    for child in root:
        stack = [(0, child)]
        while stack:
            depth, element = stack.pop()
            yield depth, element
            stack += [(depth + 1, below) for below in reversed(element)]


def _name(element: _Element) -> str:
    return spaced(clean(str(element.tag).rpartition("}")[2]))


def _stated(element: _Element) -> list[str]:
    """The attributes that say what a value is in."""
    return [
        f"({clean(str(value))})"
        for key, value in element.attrib.items()
        if key in ("currencyID", "unitCode", "schemeID", "listID")
    ]
