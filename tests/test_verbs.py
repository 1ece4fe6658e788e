"""Names of functions begin with verbs that mean one thing: the table of docs/design/tour.md."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import filedrop

HOUSE = Path(filedrop.__file__).parent
TOUR = HOUSE.parent / "docs/design/tour.md"
ROW = re.compile(r"^\| (?P<verb>[a-z]+) \| [^|]+ \| (?P<packages>[^|]+) \|$", re.MULTILINE)


def used() -> dict[str, set[str]]:
    """The packages in which functions are defined, by the first word of their names."""
    found = defaultdict[str, set[str]](set)
    for path in HOUSE.rglob("*.py"):
        package = path.relative_to(HOUSE).parts[0].removesuffix(".py")
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("__"):
                found[node.name.strip("_").partition("_")[0]].add(package)
    return found


def test_each_verb_where_its_row_says() -> None:
    """A verb of the table begins names of functions in the packages of its row, and in no other."""
    section = TOUR.read_text("utf-8").partition("\n## The verbs\n")[2].partition("\n## ")[0].replace("\\", "")
    table = {row["verb"]: set(row["packages"].split(", ")) for row in ROW.finditer(section)}
    assert len(table) == 25
    found = used()
    assert {verb: found[verb] for verb in table} == table
