"""Complaints about a configuration: every one at once, each a sentence with its place.

To find them all, what is wrong is taken out and the rest is checked again, until it is sound: only then can be seen
whether its parts agree. A complaint that follows from another one stays unsaid.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from filedrop.config.account import Account
from filedrop.config.alerts import Mail
from filedrop.config.mapping import TableFile
from filedrop.config.models import Company, Config, ExceptedRule
from filedrop.config.reading import Keys, Written
from filedrop.errors import ConfigError

_TEXT = "text is expected; write text, in quotes if necessary"
_NUMBER = "a whole number is expected; write one like 4"
_KEYS = "keys are expected; write them below it, indented, one in each line"
_ENTRIES = 'a list is expected; write "- " before the first key of each entry'
_OTHER = "something else is expected; write it as in config.example.yaml"
_WANTED = {  # by the type of pydantic's error
    "string_type": _TEXT,
    "is_instance_of": _TEXT,
    "int_type": _NUMBER,
    "path_type": f"a path is expected; write one like {Path('/srv/filedrop').absolute()}",
    "time_delta_type": "a duration is expected; write one like 30s",
    "time_type": 'a time of day is expected; write one like "07:00"',
    "tuple_type": 'a list is expected; write one like ["one", "two"]',
    "dict_type": _KEYS,
    "mapping_type": _KEYS,
    "model_type": _KEYS,
}


class Complaints:
    """What has been said about one configuration file."""

    def __init__(self, source: str, written: Written) -> None:
        self._source = source
        self._lines = written.lines
        self._said: list[tuple[int, str]] = []
        self._doubtful: set[Keys] = set()
        self._left: dict[Keys, list[int]] = {}  # of lists: which entries haven't been taken out
        for keys, line, sentence in written.flaws:
            self._doubtful.add(keys)
            self._said.append((line, f"{shown(keys)}: {sentence}"))

    def where(self, keys: Keys) -> str:
        """`file:line: key`, the line being that of the section where the key isn't written."""
        return f"{self._source}:{self._line(keys)}: {shown(keys)}"

    def add(self, sentence: str, *about: Keys) -> None:
        """Complain about the first of these places, unless one of them is already known to be wrong."""
        if not any(keys[:length] in self._doubtful for keys in about for length in range(len(keys) + 1)):
            self._said.append((self._line(about[0]), f"{shown(about[0])}: {sentence}"))

    def add_error(self, details: ErrorDetails) -> None:
        """Complain about what pydantic has found."""
        self.add(_sentence(details), self.written(_keys_of(details)))

    def written(self, keys: Keys) -> Keys:
        """The place in the file of what stands at this one by now: entries before it may have been taken out."""
        place: Keys = ()
        for key in keys:
            left = self._left.get(place)
            place = (*place, left[key] if left and isinstance(key, int) else key)
        return place

    def flawed(self, keys: Keys) -> bool:
        """Whether something at this place or below it could not be used as it was written."""
        return any(place[: len(keys)] == keys for place in self._doubtful)

    def check(self, values: dict[str, Any], folder: Path, tell: Callable[[str], None]) -> Config:
        """The configuration made of all that is sound in `values`, which keeps only that.

        `tell` tells the sections below a key of the file what they know by their place.
        """
        while True:
            try:
                return Config.model_validate(values, context={"folder": folder})
            except ValidationError as error:
                wrong = error.errors(include_url=False)
            for details in wrong:
                self.add_error(details)
            # The last entry of a list first, so that the others keep their numbers.
            for details in sorted(wrong, key=_keys_of, reverse=True):
                keys, meant = _keys_of(details), details.get("ctx", {}).get("meant")
                self._correct(values, keys, meant)
                if meant and len(keys) == 1:  # as misspelt, it was the place of no section
                    tell(meant)

    def _correct(self, values: dict[str, Any], keys: Keys, meant: str | None) -> None:
        """Remove what is wrong, or the section that lacks it. A misspelt key is put right."""
        place = self.written(keys)
        self._doubtful.add(place)
        *above, last = keys
        section: Any = values
        for key in above:
            if isinstance(section, dict) and key not in section:
                return  # gone already
            section = section[key]
        if section is None or isinstance(section, str):  # nothing is written there, or one instead of a list
            self._correct(values, tuple(above), None)
            return
        if isinstance(section, dict) and last not in section:
            if above:
                self._correct(values, tuple(above), None)
            else:
                section[last] = {}  # accounts or companies: that there are none has been said
            return
        if isinstance(last, int):
            self._left.setdefault(place[:-1], list(range(len(section)))).pop(last)
        value = section.pop(last)
        if section == []:
            self._doubtful.add(place[:-1])  # that nothing is left in it is our doing
        if meant:
            section[meant] = value
            end = len(keys)
            lines = [(other[end:], line) for other, line in self._lines.items() if other[:end] == place]
            self._lines |= {(*place[:-1], meant, *rest): line for rest, line in lines}

    def raise_any(self) -> None:
        """Raise `ConfigError` with all of them, in the order of the file."""
        if self._said:
            raise ConfigError([f"{self._source}:{line}: {sentence}" for line, sentence in sorted(self._said)])

    def _line(self, keys: Keys) -> int:
        return next((self._lines[keys[:n]] for n in range(len(keys), 0, -1) if keys[:n] in self._lines), 1)


def shown(keys: Keys) -> str:
    """`companies.acme.participants` for each of them, `mapping 1.file` for the first rule's."""
    if len(keys) > len(("mapping", 0)) and isinstance(keys[-1], int):
        keys = keys[:-1]
    return "".join(f" {key + 1}" if isinstance(key, int) else f".{key}" for key in keys).removeprefix(".")


def _keys_of(details: ErrorDetails) -> Keys:
    """Where the error is. The name of a company is the key that it stands under."""
    match details["loc"]:
        case ("companies", name, "name"):
            return ("companies", name)
        case keys:
            return keys


def _sentence(details: ErrorDetails) -> str:
    kind, context = details["type"], details.get("ctx", {})
    match kind:
        case "unknown_key":
            return details["msg"]
        case "value_error":
            return str(context["error"])
        case "missing":
            key = str(details["loc"][-1])
            return f"missing; write {key}: {''.join(_examples(key))}"
        case "literal_error":
            return f"is not one of the possible values; write {context['expected']}"
        case "greater_than" | "greater_than_equal":
            return "too small; write a larger one"
    wanted = _ENTRIES if kind == "tuple_type" and isinstance(details["input"], dict) else _WANTED.get(kind, _OTHER)
    return f"{_kind(details['input'])} where {wanted}"


def _examples(key: str) -> Iterator[str]:
    for section in (Config, Account, Company, Mail, TableFile, ExceptedRule):
        for name, field in section.model_fields.items():
            if key == (field.alias or name):
                yield from field.examples or ()


def _kind(value: Any) -> str:
    """What a value is. Never the value itself: it may be a password."""
    match value:
        case None:
            return "nothing"
        case bool():
            return str(value).lower()
        case str():
            return "text"
        case list() | tuple():
            return "a list"
        case _:
            return "keys with values"
