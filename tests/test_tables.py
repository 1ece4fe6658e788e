"""Every table whose keys are words of a closed list has all of them, or is only read so that a missing one is no error.

A closed list is an enumeration of this package, or a `Literal`. The tables and the lists are found in the source: a new
state, kind or code that one of its tables lacks fails here, and not on a page that people read.
"""

from __future__ import annotations

import ast
import importlib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import pytest

import filedrop
from filedrop.texts import FORMS, Code

if TYPE_CHECKING:
    from types import ModuleType

HOME = Path(filedrop.__file__).parent
CAREFUL = {"get", "items", "keys", "values"}  # methods that may be called on a table with gaps
FEWEST = 2  # keys by which a list is recognized


@cache
def modules() -> dict[str, tuple[ModuleType, ast.Module]]:
    """The modules that this system can import, each with its source."""
    found = {}
    for path in sorted(HOME.rglob("*.py")):
        name = ".".join(path.relative_to(HOME.parent).with_suffix("").parts).removesuffix(".__init__")
        if path.name == "__main__.py":
            continue
        try:
            found[name] = importlib.import_module(name), ast.parse(path.read_text(encoding="utf-8"))
        except ImportError:  # of Windows' own, or of a child process with libraries of its own
            continue
    return found


def closed_lists() -> set[frozenset[str]]:
    """The words of each enumeration, and of each `Literal` of texts."""
    found = set()
    for module, source in modules().values():
        for node in ast.walk(source):
            if isinstance(node, ast.Subscript) and getattr(node.value, "id", "") == "Literal":
                found.add(frozenset(word.value for word in ast.walk(node.slice) if isinstance(word, ast.Constant)))
        for thing in vars(module).values():
            if isinstance(thing, type) and issubclass(thing, Enum) and thing.__module__ == module.__name__:
                found.add(frozenset(str(member.value) for member in thing))
    return {words for words in found if len(words) > FEWEST and all(isinstance(word, str) for word in words)}


def tables() -> dict[tuple[str, str], frozenset[str]]:
    """The tables of all modules by module and name, each with its keys."""
    found = {}
    for name, (module, source) in modules().items():
        for node in source.body:
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            for target in targets:
                table = vars(module).get(target.id) if isinstance(target, ast.Name) else None
                if isinstance(table, Mapping) and len(table) >= FEWEST and all(isinstance(key, str) for key in table):
                    found[name, target.id] = frozenset(map(str, table))  # type: ignore[union-attr] - a Name
    return found


def careless_uses() -> Iterator[tuple[tuple[str, str], str]]:
    """Each use of a name at which a missing key would be an error, or that can't be followed: the name, and where."""
    for name, (module, source) in modules().items():
        parents = {child: node for node in ast.walk(source) for child in ast.iter_child_nodes(node)}
        imported = {
            alias.asname or alias.name: (node.module or "", alias.name)
            for node in ast.walk(source)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        for node in ast.walk(source):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                table = imported.get(node.id, (name, node.id))
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                table = ".".join(imported.get(node.value.id, ("", ""))), node.attr
            else:
                continue
            if not is_careful(node, parents[node]):
                yield table, f"{module.__name__}:{node.lineno}"


def is_careful(node: ast.expr, parent: ast.AST) -> bool:
    """Whether a table is used here so that a key that it lacks is no error."""
    match parent:
        case ast.Attribute(attr=method):
            return method in CAREFUL
        case ast.Compare(comparators=[compared]):
            return compared is node
        case ast.Subscript(slice=ast.Constant()):
            return True
        case ast.Subscript(slice=ast.Name(id=name)):
            return name.isupper()
        case ast.For(iter=listed) | ast.comprehension(iter=listed) | ast.Starred(value=listed):
            return listed is node
    return False


def test_tables_are_complete() -> None:
    """A table by words of a closed list has each of them, or nobody relies on it."""
    lists, found = closed_lists(), tables()
    gaps: dict[tuple[str, str], set[str]] = {}
    for table, keys in found.items():
        fitting = [words for words in lists if keys <= words]
        if fitting and keys not in fitting:
            gaps[table] = set(min(fitting, key=len) - keys)
    uses = defaultdict(list)
    for table, place in careless_uses():
        uses[table].append(place)
    missing = [
        f"{'.'.join(table)} lacks {', '.join(sorted(words))}, and is relied on at {', '.join(uses[table])}"
        for table, words in gaps.items()
        if table in uses
    ]
    assert len(lists) > 10, "the lists are not found"
    assert len(found) > 50, "the tables are not found"
    assert missing == []


@pytest.mark.parametrize("code", get_args(Code))
def test_every_code_has_its_words(code: str) -> None:
    """A document can fail with a code only if there are words for it."""
    assert any(form.partition("/")[0] == code for form in FORMS)
