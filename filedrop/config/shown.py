"""A configuration as it may be written (`filedrop config show`), and its form (`filedrop config schema`).

Secrets are hidden. What stands of each key in config.example.yaml is its description in the schema.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import time, timedelta
from pathlib import Path
from typing import Any

import yaml
from pydantic import SecretStr
from pydantic.json_schema import GenerateJsonSchema

from filedrop.config.mapping import Lookup, NamePattern, Template, XPath
from filedrop.config.models import Config
from filedrop.config.section import Section
from filedrop.config.values import size
from filedrop.times import as_duration

HIDDEN = "(hidden)"
_UNITS = (("GB", 10**9), ("GiB", 2**30), ("MB", 10**6), ("MiB", 2**20), ("KB", 10**3), ("KiB", 2**10))
_KEY = re.compile(r"(?P<indent> *)#?(?P<key>\w+):")
_COMMENT = re.compile(r" *# (?P<text>.*)")


def shown(section: Section) -> dict[str, Any]:
    """The keys of a section as they may be written, with all defaults; secrets are hidden."""
    told = {}
    for name, field in type(section).model_fields.items():
        value = getattr(section, name)
        if isinstance(value, int) and any(getattr(one, "func", None) is size for one in field.metadata):
            value = _size(value)
        elif isinstance(value, str) and not field.repr:
            value = re.sub(r"//[^/]*@", f"//{HIDDEN}@", value)
        left_out = value == () and not field.is_required()  # some keys want at least one where they are written
        if name not in section.told:
            told[field.alias or name] = None if left_out else _written(value)
    return told


def as_yaml(keys: dict[str, Any]) -> str:
    """Keys and their values in YAML."""
    return yaml.safe_dump(keys, sort_keys=False, allow_unicode=True, width=1000)


def _written(value: Any) -> Any:  # noqa: C901, PLR0911 - one for each kind of value
    match value:
        case Section():
            return shown(value)
        case SecretStr():
            return HIDDEN
        case timedelta():
            return as_duration(value)
        case time():
            return f"{value:%H:%M}"
        case Path():
            return str(value)
        case NamePattern(pattern=text) | Template(text):
            return text
        case XPath(text):
            return {"xpath": text}
        case Lookup(table, key):
            return {"table": table, "key": _written(key)}
        case dict():
            return {name: _written(one) for name, one in value.items()}
        case tuple():
            return [_written(one) for one in value]
        case _:
            return value


def _size(count: int) -> str:
    unit, one = next(((unit, one) for unit, one in _UNITS if count and count % one == 0), ("B", 1))
    return f"{count // one}{unit}"


def json_schema(example: str) -> dict[str, Any]:
    """The JSON Schema of a configuration file; `example` is the text of config.example.yaml."""
    schema = Config.model_json_schema()
    for section in Section.__subclasses__():
        form = schema if section is Config else schema["$defs"].get(section.__name__)
        if form:
            _as_in_the_file(form, section)
    for path, text in _comments(example):
        _key_at(schema, path)["description"] = text
    return {"$schema": GenerateJsonSchema.schema_dialect} | schema | {"title": "The configuration of filedrop"}


def _as_in_the_file(form: dict[str, Any], section: type[Section]) -> None:
    """A section as people write it: only keys, defaults in their words, and null for what is left out."""
    keys = {field.alias or name for name, field in section.model_fields.items() if name not in section.told}
    optional = keys - set(form.get("required", ())) | section.follows
    form["required"] = [key for key in form.get("required", ()) if key not in section.told | optional]
    form["properties"] = {key: one for key, one in form["properties"].items() if key not in section.told}
    is_complete = not any(field.is_required() for field in section.model_fields.values())
    defaults = shown(section()) if is_complete else {}
    for key in optional:
        one = form["properties"][key]
        one.pop("default", None)
        forms = one.pop("anyOf", None) or [{name: one.pop(name) for name in list(one) if name != "title"}]
        one["anyOf"] = forms if {"type": "null"} in forms else [*forms, {"type": "null"}]
        if key in defaults:
            one["default"] = defaults[key]


def _key_at(form: dict[str, Any], path: Sequence[str]) -> dict[str, Any]:
    """The form of a key in a schema."""
    definitions, at = form["$defs"], form
    for key in path:
        for one in (at, *at.get("anyOf", ())):
            at = definitions[one["$ref"].rpartition("/")[2]] if "$ref" in one else one
            if "properties" in at or isinstance(at.get("additionalProperties"), dict):
                break
        at = at["properties"][key] if key in at.get("properties", ()) else at["additionalProperties"]
    return at


def _comments(example: str) -> Iterator[tuple[list[str], str]]:
    """Each key of the example, by its path, with the comment above it."""
    path: list[tuple[int, str]] = []
    said: list[str] = []
    for line in example.splitlines():
        if found := _COMMENT.fullmatch(line):
            said.append(found["text"])
        elif found := _KEY.match(line):
            path = [*(one for one in path if one[0] < len(found["indent"])), (len(found["indent"]), found["key"])]
            if said and not said[0].startswith("The configuration"):
                yield [key for _, key in path], " ".join(said)
            said = []
        else:
            said = []
