"""All SQL of the journal, found in its modules."""

from __future__ import annotations

import importlib
import pkgutil
import re

from filedrop import journal

_OF_ONE_ENGINE = re.compile(r"\.(migration|sqlite\w*|postgres\w*)$")
_IS_STATEMENT = re.compile(
    r"\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\s(?!.*sqlite_master)"
)  # which is asked by its engine


def _whole(text: str) -> str:
    """A statement with one parameter where its caller puts several."""
    return re.sub(r"{(files|names)}", r":\1", text)


def statements() -> dict[str, str]:
    """Each statement by the name of its constant; where that has several, with their numbers."""
    found = {}
    for module in pkgutil.iter_modules(journal.__path__, f"{journal.__name__}."):
        if _OF_ONE_ENGINE.search(module.name):
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            if name.startswith("_") or not name.isupper():
                continue
            parts = (
                {f"{name} {nth}": part for nth, part in enumerate(value)} if isinstance(value, tuple) else {name: value}
            )
            found |= {
                part: re.sub(r"{(files|names)}", r":\1", text)
                for part, text in parts.items()
                if isinstance(text, str) and _IS_STATEMENT.match(text)
            }
    return found
