"""YAML text -> plain values, and the line of each.

YAML 1.1's surprises are off: what is neither `null`, `true`, `false`, a list nor keys is text as it was written (`NO`,
`9930:12`, `0755`, `1.10`); whoever wants a number makes one of it. No complaint repeats a word of the text but keys,
because the text may be a password.
"""

import re
from dataclasses import dataclass, field
from typing import Any

import yaml

from filedrop.errors import ConfigError

try:
    from yaml import CSafeLoader as SafeLoader
except ImportError:  # PyYAML without libyaml: slower, and otherwise the same
    from yaml import SafeLoader  # type: ignore[assignment]  # the very same methods

Keys = tuple[str | int, ...]
"""A place in the configuration: `("companies", "acme", "participants", 0)`."""

_DEEPEST = 20
_TOO_DEEP = "nested too deep; write the values out"
_MOST_ALIASED = 10_000  # values that aliases stand for
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")  # YAML 1.1, 5.1
_TAG = "tag:yaml.org,2002:"
_BACKSLASH = "a \\ in double quotes has a special meaning; write the path in single quotes or without quotes"
_ADVICE = {
    "mapping values are not allowed": "a colon too many, or a wrong indentation; put text that contains ': ' in quotes",
    "single document": "a second document begins; keep one, without --- between",
    "alias": "an alias that has no anchor; put text that begins with * in quotes",
    "anchor": "an anchor that is defined twice, or has no readable name; put text that begins with & in quotes",
    "tag": "an unknown tag; put text that begins with ! in quotes",
    "unknown escape": _BACKSLASH,
    "hexdecimal number": _BACKSLASH,  # so in libyaml, for the \U of C:\Users
    "quoted": "a quote that is not closed, or text after it; close it, or put the other quotes around the text",
    "flow": "a bracket that is not closed, or a missing comma in it; correct it",
    "cannot start": "text can't begin with this character; put it in quotes",
}
_OTHERWISE = "a colon is missing here or above, or the line is indented wrongly; correct it"


class _Loader(SafeLoader):
    """YAML in which only null, true and false are more than text."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 -- PyYAML's name and form


_Loader.add_implicit_resolver(_TAG + "null", re.compile(r"(~|null|Null|NULL|)\Z"), ["~", "n", "N", ""])
_Loader.add_implicit_resolver(_TAG + "bool", re.compile(r"(true|True|TRUE|false|False|FALSE)\Z"), list("tTfF"))


@dataclass
class Written:
    """What stands in a configuration file: its values, the line of each, and what is wrong with its form."""

    values: dict[str, Any] = field(default_factory=dict)
    lines: dict[Keys, int] = field(default_factory=dict)
    flaws: list[tuple[Keys, int, str]] = field(default_factory=list)

    def flaw(self, keys: Keys, node: yaml.Node, sentence: str) -> None:
        """Note what is wrong at a node."""
        self.flaws.append((keys, node.start_mark.line + 1, sentence))


def read(text: str, source: str) -> Written:
    """The text's values.

    Raises `ConfigError` where it isn't YAML or holds no keys; lesser flaws are collected.
    """
    if character := _UNPRINTABLE.search(text):
        line = text.count("\n", 0, character.start()) + 1
        raise ConfigError(
            [f"{source}:{line}: a character that can't be printed (U+{ord(character[0]):04X}); delete it"]
        )
    try:
        if complaint := _out_of_bounds(text):
            raise ConfigError([f"{source}:{complaint}"])
        node = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        complaint = _syntax(text, error)
        # Outside of the `except`: PyYAML's error may quote the text.
    else:
        written = Written()
        if node is None or node.tag == _TAG + "null":
            return written
        if isinstance(node, yaml.MappingNode):
            written.values = _mapping(node, (), (), written)
            return written
        complaint = f"{node.start_mark.line + 1}: the file has no keys; write accounts: and companies: with their keys"
    raise ConfigError([f"{source}:{complaint}"])


def _out_of_bounds(text: str) -> str:
    """Where it is nested too deep, or aliases stand for too much, to be made values of: a complaint, or ""."""
    sizes: dict[str | None, int] = {}  # how many values an anchor stands for
    within: list[tuple[str | None, int]] = []
    values = aliased = 0
    for event in yaml.parse(text, Loader=_Loader):
        line = event.start_mark.line + 1 if event.start_mark else 1
        match event:
            case yaml.CollectionStartEvent():
                within.append((event.anchor, values))
                if len(within) > _DEEPEST:
                    return f"{line}: {_TOO_DEEP}"
            case yaml.CollectionEndEvent():
                anchor, before = within.pop()
                sizes[anchor] = values - before
            case yaml.ScalarEvent():
                values += 1
                sizes[event.anchor] = 1
            case yaml.AliasEvent():
                aliased += sizes.get(event.anchor, 1)
                values += sizes.get(event.anchor, 1)
                if aliased > _MOST_ALIASED:
                    return f"{line}: aliases stand for more than {_MOST_ALIASED} values; write the values out"
    return ""


def _syntax(text: str, error: yaml.MarkedYAMLError) -> str:
    said = f"{error.context} {error.problem}"
    mark = error.problem_mark or error.context_mark
    if error.context_mark and ("quoted" in said or "flow" in said):
        mark = error.context_mark  # the other is only where the file ends
    line, column = (mark.line, mark.column) if mark else (0, 0)
    if "nesting depth" in said:  # libyaml's own limit, met first where it reads ahead (since PyYAML 6.0.4)
        return f"{line + 1}: {_TOO_DEEP}"
    indentation = re.match(r"\s*", "".join(text.splitlines()[line : line + 1]))
    if indentation and "\t" in indentation[0]:
        advice = "a tab; indent with spaces"
    else:
        advice = next((advice for sign, advice in _ADVICE.items() if sign in said), _OTHERWISE)
    return f"{line + 1}: not YAML at character {column + 1}: {advice}"


def _plain(node: yaml.Node, keys: Keys, above: tuple[yaml.Node, ...], written: Written) -> Any:
    """A node as a dict, list, str, bool or None; notes the lines and flaws of what is in it."""
    inside = (*above, node)
    if node in above or len(inside) > _DEEPEST:
        written.flaw(keys, node, "nested too deep, or in itself; write the values out")
        return None
    value: Any = None
    match type(node), node.tag.removeprefix(_TAG):
        case yaml.MappingNode, "map":
            value = _mapping(node, keys, inside, written)
        case yaml.SequenceNode, "seq":
            written.lines |= {(*keys, index): item.start_mark.line + 1 for index, item in enumerate(node.value)}
            value = [_plain(item, (*keys, index), inside, written) for index, item in enumerate(node.value)]
        case yaml.ScalarNode, "str":
            value = _text(node, keys, written)
        case yaml.ScalarNode, "bool":
            value = node.value.lower() == "true"
        case yaml.ScalarNode, "null":
            pass
        case _:
            written.flaw(keys, node, _ADVICE["tag"])
    return value


def _text(node: yaml.Node, keys: Keys, written: Written) -> str:
    text = str(node.value)
    if "\n" in text or not text.isprintable():
        path = ", and a path with \\ in single quotes" if getattr(node, "style", None) == '"' else ""
        sentence = f"text of several lines, or with an invisible character; write it in one line{path}"
        written.flaw(keys, node, sentence)
    return text


def _mapping(node: yaml.Node, keys: Keys, above: tuple[yaml.Node, ...], written: Written) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            written.flaw((*keys, "?"), key, "a key that is not text; write a word and a colon")
        elif ":" in key.value and key.end_mark.index == value.start_mark.index:  # the rest may be a password
            here = (*keys, key.value.partition(":")[0])
            written.flaw(here, key, "a space is missing after the colon; add one")
        elif key.value in values:
            here = (*keys, key.value)
            written.flaw(here, key, f"written twice, first in line {written.lines[here]}; keep one")
        else:
            here = (*keys, key.value)
            written.lines[here] = key.start_mark.line + 1
            values[_text(key, (*keys, "?"), written)] = _plain(value, here, above, written)
    return values
