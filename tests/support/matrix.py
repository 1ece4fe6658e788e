"""How much of a long matrix is run: a sample of it, another one each time, or all of it.

    FILEDROP_MATRIX=full .venv/bin/pytest -n 6 -m slow tests/faults

A test asks the fixture `sample` for its part; a test whose library draws the sample has the marker `tries`. Of a table
of cases the first ones are fast (`quick`), and a run of slow tests draws some of the others (`draw_cases`). All draw by
the seed of the run, which its summary shows and FILEDROP_TEST_SEED repeats. The summary also says how many of how many
were run (`told`), and a full run writes these numbers into tests/figures.md (`record`).
"""

from __future__ import annotations

import os
import random
import re
import secrets
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from zlib import crc32

import pytest
from _pytest.mark import ParameterSet

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import date

_T = TypeVar("_T")

MATRIX = "FILEDROP_MATRIX"
SEED = "FILEDROP_TEST_SEED"
PROPERTY = "matrix"  # of a test's report, which comes to the summary from whichever process ran the test
OF_EACH, SHARE = 1, 8  # a sample of slow tests tries so many cases of each, and so many-th part of them
FIGURES = Path(__file__).parents[1] / "figures.md"
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


def seed_of_run() -> int:
    """The seed of this run; its first caller draws it, for all processes that are started after that."""
    return int(os.environ.setdefault(SEED, str(secrets.randbits(32))))


def draw_seed() -> int:
    """A seed for the test that runs now: its own, made of the run's, which is printed for when the test fails."""
    print(f"{SEED}={seed_of_run()}")  # noqa: T201 - pytest shows it when the test fails
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
    return crc32(f"{seed_of_run()} {test}".encode())


def sample(items: Sequence[_T], count: int, seed: int) -> list[_T]:
    """So many of the items, in their order: one by lot from each of `count` equal parts. All, in a full run."""
    if is_full() or count >= len(items):
        return list(items)
    chance = random.Random(seed)  # noqa: S311 - it is to be repeated, not secret
    edges = [len(items) * part // count for part in range(count + 1)]
    return [items[chance.randrange(first, end)] for first, end in pairwise(edges)]


def quick(cases: Iterable[Any], count: int = 1) -> list[Any]:
    """The cases of a table, all but the first `count` of them slow: these show what the test is about.

    A tuple has the values of several parameters.
    """
    every = list(cases)
    return [*every[:count], *map(_slow, every[count:])]


def _slow(case: Any) -> ParameterSet:
    given = case if isinstance(case, ParameterSet) else pytest.param(*(case if isinstance(case, tuple) else (case,)))
    return pytest.param(*given.values, id=given.id, marks=[*given.marks, pytest.mark.slow])


def draw_cases(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """The cases that a sample of slow tests tries: of each test some, by the seed of the run."""
    families: dict[str, list[pytest.Item]] = {}
    for item in items:
        families.setdefault(_test(item.nodeid), []).append(item)
    drawn: list[pytest.Item] = []
    for test, cases in families.items():
        some = sample(cases, OF_EACH + len(cases) // SHARE, crc32(f"{seed_of_run()} {test}".encode()))
        if len(some) < len(cases):
            some[0].user_properties.append((PROPERTY, (len(some), len(cases))))
        drawn += some
    return drawn


def told(reports: Iterable[object]) -> Iterator[str]:
    """Lines for the summary of a run: how much of its matrix each test has run, with all its parameters."""
    drawn, whole = _count(_calls(reports))
    return (f"{drawn[test]} of {whole[test]}: {test}" for test in sorted(whole))


def record(page: str, reports: Iterable[object], day: date) -> str:
    """The page of figures with a row for each test that ran all of its matrix in this full run, and passed.

    A new row replaces the one of the same test, and one that counts all tests of its module together.
    """
    calls = list(_calls(reports))
    failed = {_test(call.nodeid) for call in calls if not call.passed}
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


def _test(nodeid: str) -> str:
    return nodeid.partition("[")[0]


def _count(calls: Iterable[pytest.TestReport]) -> tuple[Counter[str], Counter[str]]:
    """How many items each test has run, and how many its matrix has."""
    drawn, whole = Counter[str](), Counter[str]()
    for call in calls:
        for run, items in (counts for name, counts in call.user_properties if name == PROPERTY):
            drawn[_test(call.nodeid)] += run
            whole[_test(call.nodeid)] += items
    return drawn, whole
