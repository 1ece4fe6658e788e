"""The form of a text, and how values are put into it."""

from __future__ import annotations

from string import Formatter
from typing import TYPE_CHECKING, Any, NamedTuple

from filedrop.text import printable
from filedrop.times import moment, spelled_out

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Form(NamedTuple):
    """A text in English, with `{placeholders}`; `{when:date}` is a moment as people write it.

    `message` says what is wrong, and `hint` what an accountant can do. Only `administrator` may have commands, keys of
    the configuration, XPaths, and the like. Each consists of whole sentences.
    """

    message: str = ""
    hint: str = ""
    administrator: str = ""


class _Filling(Formatter):
    """Puts values into a form: each in one line, so that a stranger's words can't pass for a line of ours."""

    def get_value(self, key: int | str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:  # noqa: ARG002 - Formatter's
        return printable(kwargs[str(key)])

    def format_field(self, value: str, format_spec: str) -> str:
        if format_spec == "date":
            when = moment(value)
            return spelled_out(when) if when else value
        return value


def filled(form: str, values: Mapping[str, str]) -> str:
    """The form with these values in the place of its placeholders."""
    return _Filling().vformat(form, (), values)
