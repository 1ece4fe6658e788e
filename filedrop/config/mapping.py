"""Rules that say what an id is where a document doesn't, or not rightly (contract 3).

This room knows their form; what they mean for a document, and whether an XPath is one, is identify's business.
"""

import re
import warnings
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, BeforeValidator, Field, InstanceOf, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from filedrop.config.section import TOLD, Section
from filedrop.config.values import BesideConfiguration, NotBlank, in_words, participant
from filedrop.texts.printable import composed, listed

_NAMED = re.compile(r"\{(\w+)\}")
_PLACEHOLDER = re.compile(r"<[A-Za-z ]+>")  # in the rule that a note proposes (identify/demand); no URI has < or >
_PIECE = re.compile(r"\\N\{[^}]*\}|\\.|\{\d*(?:,\d*)?\}|\[\^?\]?(?:\\.|[^]\\])*\]|.", re.DOTALL)
_MISREAD = re.compile(r"\{|.*\[:\^?\w+:\]", re.DOTALL)  # text in `re`, not in `regex` (tests/findings/regex-fuzzy.sh)
_BACKSLASH = "write a backslash before each character that stands for itself"
_PATIENCE = 1.0  # seconds for one expression and one name; what ends at all has mostly ended in a thousandth of that


@dataclass(frozen=True, slots=True)
class Template:
    """Text in which `{customer}` stands for what the named group of the rule's `file` matched."""

    text: str


@dataclass(frozen=True, slots=True)
class XPath:
    """What an XPath finds in the document."""

    text: str


@dataclass(frozen=True, slots=True)
class Lookup:
    """What a table says about a key, which is itself one of the other two."""

    table: str
    key: Template | XPath


Value = Template | Lookup | XPath


class NamePattern:
    """A regular expression for the whole name of a file, case-insensitive, written as for Python's `re`.

    `re` itself would be at some names for years, and let no other thread work meanwhile. `regex` reads the same
    expressions, sees in nearly all of these cases that nothing is to be found, and stops in the others.

    A name that doesn't match is compared again with all letters composed, in the name and in the pattern. Not at first:
    composing can change what an expression means.
    """

    def __init__(self, pattern: str) -> None:
        """Raise ValueError, which says what is wrong with it."""
        import regex  # noqa: PLC0415 - costs 30 ms and 2 MB, and few have expressions

        try:
            with warnings.catch_warnings(action="error", category=FutureWarning):
                self.groupindex = re.compile(pattern, re.IGNORECASE).groupindex
        except re.error as error:
            where = "" if error.pos is None else f" at character {error.pos + 1}"
            raise ValueError(f"is not a regular expression: {error.msg}{where}; correct it there") from error
        except FutureWarning as warning:
            raise ValueError(f"can be read in two ways: {warning}; {_BACKSLASH}") from warning
        misread = next((piece for piece in _PIECE.finditer(pattern) if _MISREAD.fullmatch(piece[0])), None)
        if misread:
            where = f"{misread[0]} at character {misread.start() + 1}"
            raise ValueError(f"can be read in two ways: {where}; {_BACKSLASH}")
        try:
            self._compiled = regex.compile(pattern, regex.IGNORECASE | regex.VERSION0)
        except regex.error as error:
            raise ValueError(f"can't be used as a regular expression: {error}; write it differently") from error
        self._composed = self._compiled
        with suppress(regex.error):  # composed, it may be no expression: then only the name is composed
            again = regex.compile(composed(pattern), regex.IGNORECASE | regex.VERSION0)
            self._composed = again if again.groups == self._compiled.groups else self._compiled
        self.pattern = pattern

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamePattern) and other.pattern == self.pattern

    def __hash__(self) -> int:
        return hash(self.pattern)

    def __repr__(self) -> str:
        return f"NamePattern({self.pattern!r})"

    def fullmatch(self, name: str) -> dict[str, str | None] | None:
        """What its named groups match in a file's name; None where it doesn't match. Raises TimeoutError."""
        found = self._compiled.fullmatch(name, timeout=_PATIENCE)
        if found is None and not (name.isascii() and self.pattern.isascii()):
            found = self._composed.fullmatch(composed(name), timeout=_PATIENCE)
        return None if found is None else {group: found[number] for group, number in self.groupindex.items()}


def groups_in(value: Value) -> frozenset[str]:
    """The named groups that a value needs."""
    match value:
        case Template(text) | Lookup(_, Template(text)):
            return frozenset(_NAMED.findall(text))
        case _:
            return frozenset()


def xpath_in(value: Value) -> str | None:
    """The XPath that a value needs, or None."""
    match value:
        case XPath(text) | Lookup(_, XPath(text)):
            return text
        case _:
            return None


def _value(written: Any) -> Value:
    match written:
        case Template() | Lookup() | XPath():
            return written
        case {"table": str(table), "key": key, **rest} if not rest:
            return Lookup(table, _without_table(key))
        case _:
            return _without_table(written)


def _without_table(written: Any) -> Template | XPath:
    match written:
        case str(text):
            if re.search(r"[{}]", _NAMED.sub("", text)):
                raise ValueError("contains a brace that is not a {group}; write a group of this rule's file in braces")
            return Template(text)
        case {"xpath": str(text), **rest} if not rest:
            return XPath(text)
        case _:
            raise ValueError(
                "is none of the three forms; write text, {table: customers, key: '{customer}'} or {xpath: '//Note'}"
            )


def _filled_in(value: Value) -> Value:
    """An id that is written out has none of the placeholders of a note."""
    if isinstance(value, Template) and (left := _PLACEHOLDER.findall(value.text)):
        raise ValueError(f"still contains {listed(left)}; replace it with the value, without < and >")
    return value


def _party(value: Value) -> Value:
    """A ParticipantID that is written out has its scheme."""
    return Template(participant(value.text)) if isinstance(value, Template) and not groups_in(value) else value


def _as_written(value: Value) -> Any:
    match value:
        case Template(text):
            return text
        case XPath(text):
            return {"xpath": text}
        case Lookup(table, key):
            return {"table": table, "key": _as_written(key)}


def _pattern(written: Any) -> Any:
    return NamePattern(written) if isinstance(written, str) else written


_FORMS = {"xpath": {"type": "string"}, "table": {"type": "string"}, "key": {}}
_VALUE = WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "object", "properties": _FORMS}]})

AnyValue = Annotated[Value, BeforeValidator(_value), in_words(_as_written), _VALUE]
IdValue = Annotated[AnyValue, AfterValidator(_filled_in), _VALUE]
PartyValue = Annotated[IdValue, AfterValidator(_party), _VALUE]
Pattern = Annotated[
    InstanceOf[NamePattern],
    BeforeValidator(_pattern),
    in_words(lambda pattern: pattern.pattern),
    WithJsonSchema({"type": "string"}),
]


class TableFile(Section):
    """A CSV file that rules look things up in: a header row, and below it keys and values.

    `key` and `value` name the two columns by their headers; without them, the file has only these two.
    """

    file: Annotated[BesideConfiguration, Field(examples=["customers.csv"])]
    key: NotBlank | None = None
    value: NotBlank | None = None

    @model_validator(mode="after")
    def _names_both(self) -> Self:
        if (self.key is None) != (self.value is None):
            missing = "key" if self.key is None else "value"
            raise ValueError(f"names only one column; write {missing} too, or neither if the file has two columns")
        return self

    @property
    def columns(self) -> tuple[str, str] | None:
        """The headers of the columns with keys and values; None where there are no others."""
        return None if self.key is None or self.value is None else (self.key.strip(), self.value.strip())


def _file_alone(written: Any) -> Any:
    match written:
        case str() | Path():
            return {"file": written}
        case dict() | TableFile():
            return written
        case _:
            raise PydanticCustomError("path_type", "a path is expected")


def _table_as_written(table: TableFile) -> Any:
    if table.columns is None:
        return str(table.file)
    return {"file": str(table.file), "key": table.key, "value": table.value}


_COLUMN = {"type": "string"}
AnyTable = Annotated[
    TableFile,
    BeforeValidator(_file_alone),
    in_words(_table_as_written),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "format": "path"},
                {
                    "type": "object",
                    "properties": {"file": {"type": "string", "format": "path"}, "key": _COLUMN, "value": _COLUMN},
                    "required": ["file"],
                    "additionalProperties": False,
                },
            ]
        }
    ),
]


class Rule(Section):
    """One entry of `mapping`: it sets what it sets for the documents that meet all its conditions."""

    SETS: ClassVar = ("sender", "receiver", "document_id", "process_id", "channel")

    number: Annotated[int, TOLD]
    """From 1 on: `mapping 1` is how sidecars and complaints name it."""
    line: Annotated[int, TOLD]
    company: str | None = None
    file: Pattern | None = None
    document: str | None = None
    customization: str | None = None
    sender: PartyValue | None = None
    receiver: PartyValue | None = None
    document_id: IdValue | None = None
    process_id: IdValue | None = None
    channel: AnyValue | None = None

    def __str__(self) -> str:
        return f"mapping {self.number} (line {self.line})"

    @property
    def values(self) -> dict[str, Value]:
        """What the rule sets."""
        return {field: value for field in self.SETS if (value := getattr(self, field)) is not None}
