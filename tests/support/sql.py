"""All SQL of the journal, found in its modules."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

from filedrop import journal

JOURNAL = Path(journal.__file__).parent
_OF_ONE_ENGINE = re.compile(r"sharing|sqlite|postgres|__init__")
_IS_STATEMENT = re.compile(
    r"\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\s(?!.*sqlite_master)"
)  # which is asked by its engine


def statements() -> dict[str, str]:
    """Each statement by the name of its constant; where that has several, with their numbers."""
    sources = {path.stem: path.read_text("utf-8") for path in JOURNAL.glob("*.py")}
    used = {module: _used(source) for module, source in sources.items()}
    found: dict[str, str] = {}
    for module in sorted(sources):
        if _OF_ONE_ENGINE.match(module):
            continue
        for constant, value in vars(importlib.import_module(f"{journal.__name__}.{module}")).items():
            users = used.values() if constant[0] != "_" else [used[module]]
            if not constant.isupper() or not any(constant in names for names in users):
                continue
            name = constant.removeprefix("_")
            parts = (
                {f"{name} {nth}": part for nth, part in enumerate(value)} if isinstance(value, tuple) else {name: value}
            )
            for part, text in parts.items():
                if isinstance(text, str) and _IS_STATEMENT.match(text):
                    whole = re.sub(r"{(files|names)}", r":\1", text)  # one parameter where its caller puts several
                    assert found.setdefault(part, whole) == whole, f"two statements have the name {part}"
    return found


def _used(source: str) -> set[str]:
    """The names that functions of a module use. A constant that none uses is a fragment of others."""
    functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
    nodes = [node for function in functions for node in ast.walk(function)]
    return {node.id for node in nodes if isinstance(node, ast.Name)} | {
        node.attr for node in nodes if isinstance(node, ast.Attribute)
    }
