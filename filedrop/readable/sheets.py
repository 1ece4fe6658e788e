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
from filedrop.readable.words import Words, clean, decimals, spaced, words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lxml.etree import XSLT, _Element


AMOUNTS = frozenset({"amount", "base_amount", "price", "tax_amount", "taxable_amount"})  # columns without a currency
MOST_ROWS = 2000  # of a table or an outline: a page with more is of no use to anybody
_UBL = re.compile(
    r"\{urn:oasis:names:specification:ubl:schema:xsd:"
    r"(Invoice|CreditNote|Order|OrderResponse|DespatchAdvice|ApplicationResponse)-2\}\1"
)
_CII = "{urn:un:unece:uncefact:data:standard:CrossIndustryInvoice:100}CrossIndustryInvoice"
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

    `facts`, `totals` or `section`: facts; `parties`: parties; `table`: columns (a label, and whether it holds numbers)
    and rows; `texts`: paragraphs; `outline`: entries, each with its depth, its name and a value, "" for what is above
    others. `more`: a sentence about what was left out.
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
    """What a document says; `made_from` has a place for its file's name."""

    language: str
    title: str
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
    name = "ubl.xsl" if _UBL.fullmatch(str(root.tag)) else "cii.xsl" if root.tag == _CII else ""
    if not name:
        return _outline(root, said)
    from lxml import etree  # noqa: PLC0415 - loaded already by the tree

    try:
        result = _stylesheet(name)(etree.ElementTree(root)).getroot()
    except etree.LxmlError as error:
        raise NotReadable(f"can't be shown by {name}: {error}") from error
    return _Filling(result, said).sheet()


def sheet_of(told: Mapping[str, Any]) -> Sheet:
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
        for block in told["blocks"]
    ]
    return Sheet(**{**told, "blocks": blocks, "attached": [Attached(*attached) for attached in told["attached"]]})


@lru_cache
def _stylesheet(name: str) -> XSLT:
    from lxml import etree  # noqa: PLC0415 - likewise

    denied: etree.XSLTAccessControl = etree.XSLTAccessControl.DENY_ALL  # type: ignore[attr-defined] # the stubs lack it
    return etree.XSLT(etree.parse(_FOLDER / name), access_control=denied)


class _Filling:
    """Makes words of what a stylesheet has given (its form: common.xsl)."""

    def __init__(self, result: _Element, said: Words) -> None:
        self._result = result
        self._said = said
        self._kind = result.get("kind", "")
        self._decimals = max(map(decimals, _amounts(result)), default=0)

    def sheet(self) -> Sheet:
        blocks = [block for part in self._result if (block := self._block(part))]
        said = self._said
        return Sheet(
            said.language,
            said.label(self._kind),
            clean(self._result.get("number")),
            blocks,
            said.label("attachments"),
            list(self._attached()),
            said.label("made_from"),
        )

    def _block(self, part: _Element) -> Block | None:
        key = part.get("key")
        block = Block(str(part.tag), self._said.label(key) if key else "")
        match part.tag:
            case "facts" | "totals" | "section":
                block.facts = self._facts(part)
            case "parties":
                block.parties = list(self._parties(part))
            case "table":
                self._fill_table(part, block)
            case "texts":
                block.paragraphs = [text for p in part if (text := clean(p.text))]
            case _:
                return None
        return block if block.facts or block.parties or block.rows or block.paragraphs else None

    def _facts(self, part: _Element) -> list[Fact]:
        return [
            Fact(self._said.label(fact.get("key", ""), self._kind), value, strong=fact.get("strong") == "yes")
            for fact in part.iterchildren("fact")
            if (value := self._value(fact, clean(fact.text)))
        ]

    def _parties(self, part: _Element) -> Iterator[Party]:
        for party in part:
            lines = [text for line in party.iterchildren("line") if (text := clean(line.text))]
            facts = self._facts(party)
            if lines or facts:
                yield Party(self._said.label(party.get("role", ""), self._kind), lines, facts)

    def _fill_table(self, part: _Element, block: Block) -> None:
        columns = [(column.get("key", ""), column.get("number") == "yes") for column in part.iterchildren("column")]
        stated = part.findall("row")
        are_amounts = [key in AMOUNTS for key, _ in columns]
        rows = [
            [self._cell(cell, is_amount=is_amount) for cell, is_amount in zip(row, are_amounts, strict=True)]
            for row in stated[:MOST_ROWS]
        ]
        filled = [at for at in range(len(columns)) if any(row[at].text or row[at].details for row in rows)]
        block.columns = [(self._said.label(columns[at][0]), columns[at][1]) for at in filled]
        block.rows = [[row[at] for at in filled] for row in rows]
        if len(stated) > MOST_ROWS:
            block.more = self._said.label("more").format(number=len(stated) - MOST_ROWS)

    def _cell(self, cell: _Element, *, is_amount: bool) -> Cell:
        details = [text for detail in cell if (text := self._detail(detail))]
        text = clean(cell.text)
        is_bare = is_amount and cell.get("currency") is None
        said = self._said.number(text, self._decimals) if is_bare else self._value(cell, text)
        return Cell(said, details, int(cell.get("depth", "0")))

    def _detail(self, detail: _Element) -> str:
        stated, key, amount = clean(detail.text), detail.get("key"), detail.get("amount")
        is_amount = bool(detail.get("number"))  # no other number is in a detail
        text = self._said.number(stated, self._decimals) if is_amount else self._value(detail, stated)
        if amount:
            text = f"{text} {self._said.number(clean(amount), self._decimals)}".strip()
        if key == "per":
            return f"{self._said.label(key)} {text}"
        return f"{self._said.label(key)}: {text}" if key and text else text

    def _value(self, element: _Element, text: str) -> str:
        said = self._said
        if not text:
            return ""
        if code_list := element.get("list"):
            return said.code(code_list, text)
        if element.get("currency") is not None:
            return f"{said.number(text, self._decimals)} {clean(element.get('currency'))}".strip()
        if element.get("unit") is not None:
            return f"{said.number(text)} {said.unit(clean(element.get('unit')))}".strip()
        if element.get("percent"):
            return f"{said.number(text)} %"
        return said.number(text) if element.get("number") else text

    def _attached(self) -> Iterator[Attached]:
        for one in self._result.iterfind("attachments/attachment"):
            number = one.get("number", "")
            words = [clean(word) for word in (one.get("id"), one.text, one.get("name"), one.get("uri"))]
            text = " · ".join(dict.fromkeys(word for word in words if word))
            yield Attached(int(number) if number.isdecimal() else None, text)


def _amounts(result: _Element) -> Iterator[str]:
    """The amounts in what a stylesheet has given, as stated: those with a currency, and those in columns of amounts."""
    for element in result.iter():
        if element.get("currency") is not None:
            yield clean(element.text)
        elif element.tag == "table":
            keys = [column.get("key") for column in element.iterchildren("column")]
            for row in element.iterchildren("row"):
                yield from (clean(cell.text) for key, cell in zip(keys, row, strict=True) if key in AMOUNTS)


def _outline(root: _Element, said: Words) -> Sheet:
    block = Block("outline")
    left = 0
    for depth, element in _elements(root):
        value = "" if len(element) else clean(element.text)
        if len(block.entries) == MOST_ROWS:
            left += 1
        elif value or len(element):
            block.entries.append((depth, _name(element), " ".join([value, *_stated(element)]) if value else ""))
    if left:
        block.more = said.label("more").format(number=left)
    attached = [
        Attached(int(element.get(NUMBER, "0")), name)
        for element in root.iter()
        if element.get(NUMBER)
        and (name := next(filter(None, (clean(element.get(key)) for key in ("filename", *TYPE_ATTRIBUTES))), ""))
    ]
    number = next((clean(child.text) for child in root if _name(child) == "ID"), "")
    return Sheet(
        said.language, _name(root), number, [block], said.label("attachments"), attached, said.label("made_from")
    )


def _elements(root: _Element) -> Iterator[tuple[int, Any]]:
    """All elements below the root, in order, each with its depth."""
    depth = 0
    for child in root:
        stack = [(depth, child)]
        while stack:
            at, element = stack.pop()
            yield at, element
            stack += [(at + 1, below) for below in reversed(element)]


def _name(element: _Element) -> str:
    return spaced(clean(str(element.tag).rpartition("}")[2]))


def _stated(element: _Element) -> list[str]:
    """The attributes that say what a value is in."""
    return [
        f"({clean(str(value))})"
        for key, value in element.attrib.items()
        if key in ("currencyID", "unitCode", "schemeID", "listID")
    ]
