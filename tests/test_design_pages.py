"""docs/design/: what docstrings and comments cite there is there."""

from __future__ import annotations

import ast
import re
from datetime import date
from pathlib import Path

import pytest
from support import matrix

PROJECT = Path(__file__).parents[1]
DESIGN = PROJECT / "docs" / "design"
SOURCES = {
    path.relative_to(PROJECT).as_posix(): " ".join(
        re.sub(r"^\s*#", "", path.read_text("utf-8"), flags=re.MULTILINE).split()
    )
    for folder in ("filedrop", "tests", "benchmarks")
    for path in sorted((PROJECT / folder).rglob("*.py"))
    if path != Path(__file__)
}


def test_sections_of_the_contract() -> None:
    """A citation of the contract names a section that the page has."""
    sections = set(re.findall(r"^## (\d+)\. ", (DESIGN / "contract.md").read_text("utf-8"), re.MULTILINE))
    cited = {(path, number) for path, text in SOURCES.items() for number in re.findall(r"\b[Cc]ontract (\d+)", text)}
    assert len(cited) > 50
    assert {(path, number) for path, number in cited if number not in sections} == set()


def test_topics_of_the_field_notes() -> None:
    """A citation of the field notes names topics that the page has."""
    topics = set(re.findall(r"^\| ([^|]+) \|", (DESIGN / "access-points.md").read_text("utf-8"), re.MULTILINE))
    cited = {
        (path, topic)
        for path, text in SOURCES.items()
        for topics_cited in re.findall(r"\(field notes, ([^):]+)\)", text)
        for topic in topics_cited.split(" and ")
    }
    assert cited
    assert {(path, topic) for path, topic in cited if topic not in topics} == set()


def test_tests_of_the_record() -> None:
    """Each fault of the record names a test that exists."""
    cited = re.findall(r"`(\S+\.py)::(test_\w+)`", (DESIGN / "record.md").read_text("utf-8"))
    assert len(cited) > 20
    missing = [name for path, name in cited if f"def {name}(" not in SOURCES.get(f"tests/{path}", "")]
    assert not missing


def test_pages_that_the_source_cites() -> None:
    """A citation of a page of the manual names a page that exists."""
    cited = {(path, page) for path, text in SOURCES.items() for page in re.findall(r"\bdocs/[\w/-]+\.md\b", text)}
    assert ("tests/support/known.py", "docs/design/record.md") in cited
    assert not [(path, page) for path, page in cited if not (PROJECT / page).exists()]


def test_tests_of_the_figures() -> None:
    """Each figure of a matrix names a test that exists, or a module of them."""
    cited = re.findall(r"^\| `(tests/\S+\.py)(?:::(test_\w+))?` \|", matrix.FIGURES.read_text("utf-8"), re.MULTILINE)
    assert cited
    assert not [path for path, name in cited if f"def {name}" not in SOURCES.get(path, "")]


def test_figures_of_a_full_run() -> None:
    """A full run records each matrix that it ran as a whole, and that passed; other figures stay."""

    def call(test: str, drawn: int, whole: int, *, passed: bool = True) -> pytest.TestReport:
        counts = [(matrix.PROPERTY, (drawn, whole))]
        nodeid = f"tests/faults/{test}"
        return pytest.TestReport(
            nodeid, ("", 0, ""), {}, "passed" if passed else "failed", None, "call", user_properties=counts
        )

    def row(test: str, tried: str, day: str) -> str:
        return f"| `tests/faults/{test}` | {tried} | {day} |\n"

    old, new = "24 November 2026", "1 December 2026"
    known = [row("test_a.py", "7", old), *(row(f"test_b.py::test_{name}", "1", old) for name in "xyz")]
    reports = [
        *(call(f"test_a.py::test_bytes[{part}]", 900, 900) for part in "12"),
        call("test_b.py::test_x", 3, 3),
        call("test_b.py::test_y[1]", 3, 3, passed=False),
        call("test_b.py::test_y[2]", 3, 3),
        call("test_b.py::test_z", 2, 3),
    ]
    page = matrix.record(f"# Title\n\n{''.join(known)}\nText\n", reports, date(2026, 12, 1))
    rows = [row("test_a.py::test_bytes", "1,800", new), row("test_b.py::test_x", "3", new), *known[2:]]
    assert page == f"# Title\n\n{''.join(rows)}\nText\n"


def test_names_of_the_tour() -> None:
    """Each name of the tour is a module, or a class, function, method or constant in one."""
    tour = (DESIGN / "tour.md").read_text("utf-8")
    cited = set(re.findall(r"`((?:[a-z_]+/)+[a-z_]+|pauses)((?:\.\w+)*)`", tour))
    assert len(cited) > 80
    assert sorted(f"{module}{name}" for module, name in cited if not _is_there(f"{module}.py", name)) == []


def test_threads_of_the_tour() -> None:
    """Each thread in the picture of the tour is one that filedrop starts by this name."""
    picture = (DESIGN / "tour.md").read_text("utf-8").partition("```text")[2].partition("```")[0]
    drawn = set(re.findall(r"\b(\w+)-(?:1|ACCOUNT)", picture)) | {"recorder", "pages", "hosting", "alerts"}
    started = "".join(text for path, text in SOURCES.items() if path.startswith("filedrop/"))
    assert {name for name in drawn if not re.search(rf'f?"{name}[-"]', started)} == set()
    assert {name for name in drawn if name not in picture} == set()


def _is_there(path: str, name: str) -> bool:
    """Whether the module has what this name of the tour means: "", ".function", ".Class.method"."""
    file = PROJECT / "filedrop" / path
    if not file.exists():
        return False
    body: list[ast.stmt] = ast.parse(file.read_text("utf-8")).body
    for part in name.removesuffix(".py").split(".")[1:]:
        named = [node for node in body if part in _names(node)]
        if not named:
            return False
        body = getattr(named[0], "body", [])
    return True


def _names(node: ast.stmt) -> list[str]:
    """What a statement defines."""
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Assign(targets=targets):
            return [target.id for target in targets if isinstance(target, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
        case _:
            return []
