"""tests/README.md: each promise of docs/promises.md has a test that every change runs."""

from __future__ import annotations

import ast
import re
from pathlib import Path

TESTS = Path(__file__).parent
PAGE = (TESTS.parent / "docs" / "promises.md").read_text("utf-8")
ROWS = re.findall(r"^\| (.+) \| (`.+`) \|$", (TESTS / "README.md").read_text("utf-8"), re.MULTILINE)
NO_PROMISE = {
    "A connection can break after the upload and before the answer.",
    "The access point may then have the document, or not.",
    "Security says more.",
}


def promises() -> list[str]:
    """Each sentence of the page from its title to its limits, but for what it says of itself."""
    title, _, rest = PAGE.partition("\n## The promises\n")
    first = title.split("\n\n")[1]
    text = re.sub(
        r"\[([^]]+)\]\([^)]+\)", r"\1", f"{first}\n\n{rest.partition(chr(10) + '## The limits')[0]}".replace("**", "")
    )
    paragraphs = re.split(r"\n\n|\n(?=\d\. |- )", re.sub(r"^#.*$", "", text, flags=re.MULTILINE))
    sentences = [
        sentence
        for paragraph in paragraphs
        for sentence in re.split(
            r"(?<=\.) (?=[A-Z`a-z])", " ".join(re.sub(r"^(\d\.|-) ", "", paragraph.strip()).split())
        )
    ]
    return [sentence for sentence in sentences if sentence and sentence not in NO_PROMISE]


def test_each_promise() -> None:
    """The table has each sentence of the page that promises something, in its order."""
    assert len(ROWS) > 30
    assert [promise for promise, _ in ROWS] == promises()


def test_each_test_of_the_table() -> None:
    """Each test that the table names exists and is fast."""
    named = {tuple(test.split("::")) for _, tests in ROWS for test in re.findall(r"`(\S+::\w+)`", tests)}
    assert len(named) > 20
    assert [f"{path}::{name}" for path, name in sorted(named) if not is_fast(TESTS / path, name)] == []


def is_fast(path: Path, name: str) -> bool:
    """Whether this module has this test, and neither is slow as a whole; of a table, the first cases never are."""
    module = ast.parse(path.read_text("utf-8"))
    marks = [
        ast.unparse(node.value)
        for node in module.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"
    ]
    for node in module.body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return "pytest.mark.slow" not in " ".join([*marks, *map(ast.unparse, node.decorator_list)])
    return False
