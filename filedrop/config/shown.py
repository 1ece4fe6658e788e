"""A configuration as it may be written (`filedrop config show`), and its form (`filedrop config schema`).

Secrets are hidden. What stands of each key in config.example.yaml is its description in the schema.
"""

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

import yaml
from pydantic.json_schema import GenerateJsonSchema

from filedrop.config.models import Config
from filedrop.config.prepare import Prepare
from filedrop.config.section import Section

_KEY = re.compile(r"(?P<indent> *)(?P<off>#?)(?P<key>\w+):(?: (?P<value>.*))?")
_COMMENT = re.compile(r" *# (?P<text>.*)")


def shown(section: Section) -> dict[str, Any]:
    """The keys of a section as they may be written, with all defaults; secrets are hidden."""
    return section.model_dump(mode="json", by_alias=True)


def own_settings(config: Config) -> dict[str, dict[str, Any]]:
    """By company, its settings that differ from the common ones, as they may be written."""
    said = shown(config)
    common = said["outbound"] | said["inbound"] | {"language": said["language"]} | _kept(said)
    return {
        name: {
            key: _brief(value) if key == "prepare" else value
            for key, value in (company | _kept(company)).items()
            if common.get(key, value) != value
        }
        for name, company in said["companies"].items()
    }


def _brief(prepare: dict[str, Any]) -> dict[str, Any]:
    """What is written of `prepare`, without the defaults."""
    defaults = shown(Prepare())
    return {key: value for key, value in prepare.items() if value != defaults[key]}


def _kept(section: dict[str, Any]) -> dict[str, Any]:
    return {f"keep.{key}": value for key, value in section["keep"].items()}


def as_yaml(keys: dict[str, Any]) -> str:
    """Keys and their values in YAML."""
    return yaml.safe_dump(keys, sort_keys=False, allow_unicode=True, width=1000)


def in_a_line(keys: dict[str, Any]) -> str:
    """Keys and their values as YAML in one line: `prepare: {ids: true}, directory: refuse`."""
    flow = yaml.safe_dump(keys, sort_keys=False, allow_unicode=True, width=math.inf, default_flow_style=True)
    return flow.strip().removeprefix("{").removesuffix("}")


def json_schema(example: str) -> dict[str, Any]:
    """The JSON Schema of a configuration file; `example` is the text of config.example.yaml."""
    schema = Config.model_json_schema()
    for section in Section.__subclasses__():
        form = schema if section is Config else schema["$defs"].get(section.__name__)
        if form:
            _as_in_the_file(form, section)
    for path, _, text in explained(example):
        _key_at(schema, path)["description"] = text
    return {"$schema": GenerateJsonSchema.schema_dialect} | schema | {"title": "The configuration of filedrop"}


def _as_in_the_file(form: dict[str, Any], section: type[Section]) -> None:
    """A section as people write it: only keys, defaults in their words, and null for what is left out."""
    keys = {field.alias or name for name, field in section.model_fields.items() if not field.exclude}
    optional = keys - set(form.get("required", ())) | section.follows
    form["required"] = [key for key in form.get("required", ()) if key not in section.keyless() | optional]
    form["properties"] = {key: value for key, value in form["properties"].items() if key not in section.keyless()}
    is_complete = not any(field.is_required() for field in section.model_fields.values())
    defaults = shown(section()) if is_complete else {}
    for key in optional:
        field = form["properties"][key]
        field.pop("default", None)
        forms = field.pop("anyOf", None) or [{name: field.pop(name) for name in list(field) if name != "title"}]
        field["anyOf"] = forms if {"type": "null"} in forms else [*forms, {"type": "null"}]
        if key in defaults:
            field["default"] = defaults[key]


def _key_at(form: dict[str, Any], path: Sequence[str]) -> dict[str, Any]:
    """The form of a key in a schema."""
    definitions, level = form["$defs"], form
    for key in path:
        for branch in (level, *level.get("anyOf", ())):
            level = definitions[branch["$ref"].rpartition("/")[2]] if "$ref" in branch else branch
            if "properties" in level or isinstance(level.get("additionalProperties"), dict):
                break
        level = level["properties"][key] if key in level.get("properties", ()) else level["additionalProperties"]
    return level


def explained(example: str) -> Iterator[tuple[list[str], str | None, str]]:
    """Each key of the example, by its path, with its default, if the line is one, and the comment above it."""
    path: list[tuple[int, str]] = []
    said: list[str] = []
    for line in example.splitlines():
        if found := _COMMENT.fullmatch(line):
            said.append(found["text"])
        elif found := _KEY.match(line):
            path = [*(outer for outer in path if outer[0] < len(found["indent"])), (len(found["indent"]), found["key"])]
            if said and not said[0].startswith("The configuration"):
                yield [key for _, key in path], found["value"] if found["off"] else None, " ".join(said)
            said = []
        else:
            said = []
