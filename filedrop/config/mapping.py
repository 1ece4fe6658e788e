"""Rules that say what an id is where a document doesn't, or not rightly (contract 3).

This room knows their form; what they mean for a document, and whether an XPath is one, is identify's business.
"""

import re
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BeforeValidator

from filedrop.config.section import Section
from filedrop.config.values import participant

_NAMED = re.compile(r"\{(\w+)\}")


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
                raise ValueError(
                    "has a brace that is no {group}; write the name of a group of this rule's file in braces"
                )
            return Template(text)
        case {"xpath": str(text), **rest} if not rest:
            return XPath(text)
        case _:
            raise ValueError(
                "is none of the three forms; write text, {table: customers, key: '{customer}'} or {xpath: '//Note'}"
            )


def _party(value: Value) -> Value:
    """A ParticipantID that is written out has its scheme."""
    return Template(participant(value.text)) if isinstance(value, Template) and not groups_in(value) else value


def _pattern(written: Any) -> Any:
    """The regular expression for a whole name, case-insensitive."""
    if not isinstance(written, str):
        return written
    try:
        return re.compile(written, re.IGNORECASE)
    except re.error as error:
        where = "" if error.pos is None else f" at character {error.pos + 1}"
        raise ValueError(f"is no regular expression: {error.msg}{where}; mend it there") from error


AnyValue = Annotated[Value, BeforeValidator(_value)]
PartyValue = Annotated[AnyValue, AfterValidator(_party)]
Pattern = Annotated[re.Pattern[str], BeforeValidator(_pattern)]


class Rule(Section):
    """One entry of `mapping`: it sets what it sets for the documents that meet all its conditions."""

    told: ClassVar = frozenset({"number", "line"})
    SETS: ClassVar = ("sender", "receiver", "document_id", "process_id", "channel")

    number: int
    """From 1 on: `mapping 1` is how sidecars and complaints name it."""
    line: int
    company: str | None = None
    file: Pattern | None = None
    document: str | None = None
    customization: str | None = None
    sender: PartyValue | None = None
    receiver: PartyValue | None = None
    document_id: AnyValue | None = None
    process_id: AnyValue | None = None
    channel: AnyValue | None = None

    @property
    def values(self) -> dict[str, Value]:
        """What the rule sets."""
        return {field: value for field in self.SETS if (value := getattr(self, field)) is not None}
