"""How much of a long matrix is run: a sample of it, another one each time, or all of it.

    FILEDROP_MATRIX=full .venv/bin/pytest -n 6 -m slow tests/faults

A test asks the fixture `sample` for its part. When it fails, it shows its seed; FILEDROP_TEST_SEED repeats a run. The
summary of each run says how many of how many were run (`told`).
"""

from __future__ import annotations

import os
import random
import secrets
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol, TypeVar

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_T = TypeVar("_T")

MATRIX = "FILEDROP_MATRIX"
SEED = "FILEDROP_TEST_SEED"
PROPERTY = "matrix"  # of a test's report, which comes to the summary from whichever process ran the test


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
    drawn, whole = Counter[str](), Counter[str]()
    for report in reports:
        if isinstance(report, pytest.TestReport) and report.when == "call":
            test = report.nodeid.partition("[")[0]
            for run, items in (said for name, said in report.user_properties if name == PROPERTY):
                drawn[test] += run
                whole[test] += items
    return (f"{drawn[test]} of {whole[test]}: {test}" for test in sorted(whole))
