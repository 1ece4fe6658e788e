"""A section of the configuration: the model that all the others are.

Sections never change, know their keys, and take a key that is `null` (`retry:` with nothing after it) as left out.
"""

import os
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, ClassVar

os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"  # it would look for some among all that is installed

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

TOLD = Field(exclude=True)
"""Of a field that no key sets: its section is told it by its place in the file, and it isn't written there."""


def advise(written: str, known: Iterable[str]) -> str:
    """What to write instead of a word that isn't known."""
    known = tuple(known)
    meant = next(iter(get_close_matches(written, known, n=1)), None)
    if meant:
        return f'did you mean "{meant}"?'
    return f"write one of {', '.join(known)}" if known else "add it, or write another"


class Section(BaseModel):
    """Keys and their values. Each key is one field."""

    # The input stays out of pydantic's own messages because it may be a password.
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    follows: ClassVar[frozenset[str]] = frozenset()
    """Fields that are worked out from other sections where no key sets them."""

    elsewhere: ClassVar[tuple[str, frozenset[str]]] = "", frozenset()
    """Another section, by its place, and its keys, which people write here by mistake."""

    @classmethod
    def keyless(cls) -> frozenset[str]:
        """The fields that no key sets."""
        return frozenset(name for name, field in cls.model_fields.items() if field.exclude)

    @classmethod
    def known(cls) -> tuple[str, ...]:
        """The keys that may be written in this section."""
        return tuple(field.alias or name for name, field in cls.model_fields.items() if not field.exclude)

    @classmethod
    def unknown(cls, keys: Iterable[str]) -> list[str]:
        """Those of the keys that may not be written in this section."""
        return [key for key in keys if key not in cls.keyless() and key not in cls.known()]

    @model_validator(mode="before")
    @classmethod
    def _check_keys(cls, values: Any) -> Any:
        """Refuse unknown keys, all of them at once, each with the key that was probably meant."""
        if values is None:
            return {}
        if not isinstance(values, dict):
            return values  # pydantic says that it wants keys
        if unknown := cls.unknown(values):
            place, keys = cls.elsewhere
            if strayed := [key for key in unknown if key in keys]:
                advice = {"keys": ", ".join(strayed), "place": place}
                error = PydanticCustomError("unknown_key", "{keys}: write this below {place}, not here", advice)
                raise ValidationError.from_exception_data(cls.__name__, [InitErrorDetails(type=error, input=None)])
            raise ValidationError.from_exception_data(cls.__name__, [cls._unknown(key, values) for key in unknown])
        return {key: value for key, value in values.items() if value is not None}

    @classmethod
    def _unknown(cls, key: str, values: dict[str, Any]) -> InitErrorDetails:
        free = [name for name in cls.known() if name not in values]
        meant = next(iter(get_close_matches(key.lower(), free, n=1)), None)
        advice = f'did you mean "{meant}"?' if meant else f"the keys here are {', '.join(cls.known())}"
        error = PydanticCustomError("unknown_key", "unknown key; {advice}", {"advice": advice, "meant": meant})
        return InitErrorDetails(type=error, loc=(key,), input=None)
