"""How much of a long matrix is run: a sample of it, another one each time, or all of it.

    FILEDROP_MATRIX=full .venv/bin/pytest -n 6 -m slow tests/faults

A test asks the fixture `sample` for its part; a test whose library draws the sample has the marker `tries`. A test that
fails shows its seed; FILEDROP_TEST_SEED repeats a run. The summary of each run says how many of how many were run
(`told`), and a full run writes these numbers into docs/design/figures.md (`record`).
"""

from __future__ import annotations

import os
import random
import re
import secrets
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import date

_T = TypeVar("_T")

MATRIX = "FILEDROP_MATRIX"
SEED = "FILEDROP_TEST_SEED"
PROPERTY = "matrix"  # of a test's report, which comes to the summary from whichever process ran the test
FIGURES = Path(__file__).parents[2] / "docs" / "design" / "figures.md"
_ROW = re.compile(r"^\| `(tests/[^`]+)` \| .* \|\n", re.MULTILINE)


class Sample(Protocol):
    """Draws so many items of a matrix, in their order, or all of them."""

    def __call__(self, items: Sequence[_T], count: int) -> list[_T]: ...


def is_full() -> bool:
    """Is all of each matrix to be run?"""
    wanted = os.environ.get(MATRIX, "")
    if wanted not in ("", "full"):
        raise ValueError(f"{MATRIX}={wanted}: its only value is full")
    return wanted == "full"


def draw_seed() -> int:
    """The seed of a test's lots, printed for when the test fails."""
    seed = int(os.environ.get(SEED) or secrets.randbits(32))
    print(f"{SEED}={seed}")  # noqa: T201 - pytest shows it when the test fails
    return seed


def sample(items: Sequence[_T], count: int, seed: int) -> list[_T]:
    """So many of the items, in their order: one by lot from each of `count` equal parts. All, in a full run."""
    if is_full() or count >= len(items):
        return list(items)
    chance = random.Random(seed)  # noqa: S311 - it is to be repeated, not secret
    edges = [len(items) * part // count for part in range(count + 1)]
    return [items[chance.randrange(first, end)] for first, end in pairwise(edges)]


def told(reports: Iterable[object]) -> Iterator[str]:
    """Lines for the summary of a run: how much of its matrix each test has run, with all its parameters."""
    drawn, whole = _count(_calls(reports))
    return (f"{drawn[test]} of {whole[test]}: {test}" for test in sorted(whole))


def record(page: str, reports: Iterable[object], day: date) -> str:
    """The page of figures with a row for each test that ran all of its matrix in this full run, and passed.

    A new row replaces the one of the same test, and one that counts all tests of its module together.
    """
    calls = list(_calls(reports))
    failed = {_test(call) for call in calls if not call.passed}
    drawn, whole = _count(calls)
    rows = {row[1]: row[0] for row in _ROW.finditer(page)}
    for test in whole.keys() - failed:
        if drawn[test] == whole[test]:
            rows = {name: row for name, row in rows.items() if not test.startswith(name)}
            rows[test] = f"| `{test}` | {whole[test]:,} | {day.day} {day:%B %Y} |\n"
    first = _ROW.search(page)
    if not first:
        raise ValueError(f"{FIGURES} has no table of matrices")
    rest = _ROW.sub("", page[first.end() :])
    return page[: first.start()] + "".join(rows[test] for test in sorted(rows)) + rest


def _calls(reports: Iterable[object]) -> Iterator[pytest.TestReport]:
    return (report for report in reports if isinstance(report, pytest.TestReport) and report.when == "call")


def _test(call: pytest.TestReport) -> str:
    return call.nodeid.partition("[")[0]


def _count(calls: Iterable[pytest.TestReport]) -> tuple[Counter[str], Counter[str]]:
    """How many items each test has run, and how many its matrix has."""
    drawn, whole = Counter[str](), Counter[str]()
    for call in calls:
        for run, items in (counts for name, counts in call.user_properties if name == PROPERTY):
            drawn[_test(call)] += run
            whole[_test(call)] += items
    return drawn, whole
