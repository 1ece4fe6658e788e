"""The steps of all threads, read from the source: what the body of a turn calls by name.

A turn is a method `step`, `turn`, `tick`, `look`, `poll` or `report` of what a thread serves, with the private methods
of its class that it calls. Its steps are these methods, the functions of filedrop, and the methods of other classes
whose name only one class has.
"""

from __future__ import annotations

import ast
import importlib
import inspect
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import NamedTuple

import filedrop

HOUSE = Path(filedrop.__file__).parent
TURNS = {"step", "turn", "tick", "look", "poll", "report", "follow", "_tick"}
ROOMS = ("daemon", "inbound", "outbound", "alerts", "status", "cli.serving")  # whose turns
WORK = ("daemon", "inbound", "outbound", "alerts", "status", "journal", "storage", "accesspoint", "validation")
PARTS = tuple(f"filedrop.{room}." for room in (*WORK, "cli", "files", "identify", "process", "readable"))  # no words


class Step(NamedTuple):
    """A function or a method, by the module and the class in which it is looked up."""

    module: str
    owner: str
    name: str

    def __str__(self) -> str:
        return f"{self.module.removeprefix('filedrop.')}.{f'{self.owner}.' if self.owner else ''}{self.name}"

    @property
    def place(self) -> object:
        """The object whose attribute it is."""
        module = importlib.import_module(self.module)
        return getattr(module, self.owner) if self.owner else module


@cache
def steps() -> list[Step]:
    """Each step of each turn, in the order of the modules."""
    modules = {_name(path): ast.parse(path.read_text(encoding="utf-8")) for path in sorted(HOUSE.rglob("*.py"))}
    owners: defaultdict[str, set[Step]] = defaultdict(set)  # by the name of a method
    for module, owner in ((module, node) for module, tree in modules.items() for node in tree.body):
        for method in owner.body if isinstance(owner, ast.ClassDef) else ():
            if isinstance(method, ast.FunctionDef) and not method.decorator_list:
                owners[method.name].add(Step(module, owner.name, method.name))
    found: dict[Step, None] = {}
    for module, owner in ((module, node) for module, tree in modules.items() for node in tree.body):
        if isinstance(owner, ast.ClassDef) and f"{module}.".startswith(tuple(f"filedrop.{room}." for room in ROOMS)):
            for name, is_own in _called(owner):
                function = getattr(importlib.import_module(module), name, None)
                if is_own:
                    found[Step(module, owner.name, name)] = None
                elif inspect.isfunction(function) and function.__module__.startswith(PARTS):
                    found[Step(module, "", name)] = None
                elif len(owners[name]) == 1:
                    found |= dict.fromkeys(step for step in owners[name] if step.module.split(".")[1] in WORK)
    return list(found)


def _called(node: ast.ClassDef) -> list[tuple[str, bool]]:
    """What the turns of a class call by name, and whether that is a method of its own."""
    methods = {method.name: method for method in node.body if isinstance(method, ast.FunctionDef)}
    plain = {name for name, method in methods.items() if not method.decorator_list}
    left, seen, called = [name for name in methods if name in TURNS], set[str](), dict[tuple[str, bool], None]()
    while left:
        name = left.pop(0)
        if name in seen:
            continue
        seen.add(name)
        for call in ast.walk(methods[name]):
            if isinstance(call, ast.Attribute) and isinstance(call.ctx, ast.Load):
                is_own = isinstance(call.value, ast.Name) and call.value.id == "self" and call.attr in plain
                if is_own:
                    left.append(call.attr)
                called[call.attr, is_own] = None
            elif isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
                called[call.func.id, False] = None
    return list(called)


def _name(path: Path) -> str:
    return ".".join(path.relative_to(HOUSE.parent).with_suffix("").parts).removesuffix(".__init__")
